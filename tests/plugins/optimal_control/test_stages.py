"""Programs in stages: machine code gives what CasADi differentiates, tells of its iterations, and can be stopped."""

import signal
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import RunSettings, SolverOptions, optimise, prepare_optimisation
from kingpost.control.optimal import solving
from kingpost.control.optimal.transcribing import rule_of, transcribe
from kingpost.control.optimal.transcription import Grid
from kingpost.kernel.compiler import find_compiler
from kingpost.modelfiles.opened import open_model
from kingpost.plugins.optimal_control.compiled_stages import CompiledStages
from kingpost.plugins.optimal_control.stages import Stages

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
C = RunSettings(backend="c")
#: Everything that a stage may have: rows of the start, since the integrator remembers something, and of the end, of what is no
#: state; a node with the horizon, a parameter and the input before; limits of states, inputs and channels.
FULL = {
    "horizon": (2.0, 4.0),
    "bounds": {"torque": (-4.0, 4.0), "bob.x": (-2.0, 2.0), "pivot.angle": (-3.0, 3.0)},
    "rates": {"torque": (-20.0, 20.0)},
    "free": {"mass": (0.5, 2.0)},
    "end": {"bob.x": 0.0, "pivot.angle.rate": 0.0},
}


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def swung(pendulum, plugins):
    """Return what fatrop finds for the pendulum in machine code."""

    def find(changes=None, **choices):
        task = replace(pendulum.optimal_task("001"), **(changes or {}))
        return optimise(pendulum.mechanism, task, plugins=plugins, solver="fatrop", **{"how": C, **choices})

    return find


def program_of(pendulum, plugins, changes, integrator, intervals):
    task = replace(pendulum.optimal_task("001"), **changes)
    how = replace(C, integrator=integrator)
    ready = prepare_optimisation(pendulum.mechanism, task, how=how, plugins=plugins)
    grid = Grid(intervals)
    return replace(transcribe(ready.problem, rule_of(ready.problem, ready.transcription, grid), grid), cost_scale=3.0)


@pytest.mark.parametrize(
    ("changes", "integrator"), [({}, "midpoint"), (FULL, "generalized-alpha")], ids=["plain", "everything"]
)
def test_machine_code_is_what_casadi_differentiates(pendulum, plugins, changes, integrator):
    """Functions, slopes and curvatures at random places, to round-off of numbers up to some thousands: 1e-11 of the largest."""
    program = program_of(pendulum, plugins, changes, integrator, 4)
    stages = Stages(program)
    assert bool(program.blocks.first_rows) == bool(program.blocks.last_rows) == bool(changes)
    compiled = CompiledStages(stages)
    interpreted = Stages(replace(program, blocks=program.blocks.source)).differentiable()
    x, p, f, g = (interpreted[name] for name in "xpfg")
    sigma, lam = ca.MX.sym("sigma"), ca.MX.sym("lam", g.numel())
    lagrangian = sigma * f + ca.dot(lam, g)
    curved, slopes = ca.hessian(lagrangian, x)
    wanted = {
        "nlp_f": (["x", "p"], ["f"], [f]),
        "nlp_g": (["x", "p"], ["g"], [g]),
        "nlp_grad_f": (["x", "p"], ["grad:f:x"], [ca.gradient(f, x)]),
        "nlp_jac_g": (["x", "p"], ["g", "jac:g:x"], [g, ca.jacobian(g, x)]),
        "nlp_hess_l": (["x", "p", "lam:f", "lam:g"], ["grad:gamma:x", "hess:gamma:x:x"], [slopes, curved]),
    }
    rng = np.random.default_rng(3)
    numbers = [rng.uniform(0.3, 1.2, stages.size), program.theta, 0.7, rng.normal(size=g.numel())]
    for name, (inputs, outputs, results) in wanted.items():
        symbols = [x, p, sigma, lam][: len(inputs)]
        ours = compiled.oracle.factory(name, inputs, outputs)(*numbers[: len(inputs)])
        theirs = ca.Function(name, symbols, results)(*numbers[: len(inputs)])
        for one, other in zip(*(item if isinstance(item, tuple) else (item,) for item in (ours, theirs)), strict=True):
            one, other = np.asarray(one.full()), np.asarray(other.full())
            assert np.abs(one - other).max() <= 1e-11 * (1 + np.abs(other).max()), name
            assert other.any(), name


@pytest.mark.parametrize("changes", [{}, {key: FULL[key] for key in ("horizon", "end")}], ids=["plain", "ends"])
def test_machine_code_finds_what_ipopt_finds(swung, pendulum, plugins, changes):
    found = swung(changes)
    assert found.program.blocks.library
    task = replace(pendulum.optimal_task("001"), **changes)
    other = optimise(pendulum.mechanism, task, plugins=plugins, how=C)
    assert found.cost == pytest.approx(other.cost, rel=1e-6)
    assert found.hamiltonian == pytest.approx(other.hamiltonian, abs=1e-4 * (1 + np.abs(other.hamiltonian).max()))


def test_progress_is_told_after_every_iteration(swung):
    steps = []
    found = swung(watch=steps.append)
    assert [step.number for step in steps] == list(range(found.solution.iterations + 1))
    assert steps[-1].violation < 1e-9
    assert steps[-1].cost == pytest.approx(found.cost, rel=1e-9)


def test_two_programs_of_one_library_do_not_meet(pendulum, plugins):
    """A library has its numbers once, so that each program has a copy of its own."""
    many, few = (CompiledStages(Stages(program_of(pendulum, plugins, {}, "midpoint", N))) for N in (6, 3))
    assert many.oracle.numel_in(0) > few.oracle.numel_in(0)
    for stages in (many, few):
        rows = stages.oracle.factory("nlp_g", ["x", "p"], ["g"])
        assert rows.numel_out(0) == len(stages.oracle(x=0.0)["g"].full())


def test_the_best_motion_is_kept_at_the_time_limit(swung):
    plain = swung()
    found = swung(starts=[plain.path], options=SolverOptions(time_limit=0.0))
    assert (found.status, found.solution.words) == ("time limit", "stopped")
    assert found.cost == pytest.approx(plain.cost, rel=1e-6)
    assert not found.costates.any()


def test_an_interrupt_keeps_the_best_motion(swung):
    def press(step):
        if step.number == 0:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    plain = swung()
    found = swung(starts=[plain.path], watch=press, options=SolverOptions(tolerance=1e-14))
    assert found.status == "interrupted"
    assert found.cost == pytest.approx(plain.cost, rel=1e-6)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_whoever_watches_is_passed_on(swung):
    def fail(step):
        raise ZeroDivisionError("at the first iteration")

    with pytest.raises(ZeroDivisionError, match="at the first iteration"):
        swung(watch=fail)


def test_an_interrupt_in_the_interpreter_waits_for_the_end(pendulum, plugins, monkeypatch):
    """Nothing is heard there, and to disturb a call would leave wrong numbers behind."""
    plain = solving._carried_out

    def disturbed(*given):
        signal.raise_signal(signal.SIGINT)
        return plain(*given)

    monkeypatch.setattr(solving, "_carried_out", disturbed)
    how, task = RunSettings(backend="vm"), pendulum.optimal_task("001")
    found = optimise(pendulum.mechanism, task, plugins=plugins, solver="fatrop", how=how)
    assert found.status == "interrupted"
    assert found.cost == pytest.approx(6.7581414, rel=1e-7)
    assert len(found.attempts) == 1
