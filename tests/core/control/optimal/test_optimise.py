"""Optimal control from a task to an optimum: starts, limits, refusals, interrupts, and the record of what was found."""

import re
import signal
from dataclasses import replace
from math import inf, pi

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Input,
    Joint,
    Mechanism,
    MechanismError,
    OptimalTask,
    RunSettings,
    SolverError,
    SolverOptions,
    inverse,
    optimise,
    simulate,
)
from kingpost.control.optimal import ranks
from kingpost.control.optimal.optimise import prepare_optimisation
from kingpost.control.optimal.phases import Piece
from kingpost.control.optimal.ranks import End
from kingpost.control.optimal.record import history_of
from kingpost.mechanism.optimal_tasks import CostPart
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")
END = {"pivot.angle": pi / 2, "pivot.angle.rate": 0.0}


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def swung(pendulum, plugins):
    def solve(*, how=VM, **changes):
        keys = ("intervals", "transcription", "starts", "options", "horizon", "watch", "settings")
        others = {key: changes.pop(key) for key in keys if key in changes}
        task = replace(pendulum.optimal_task("001"), **changes)
        return optimise(pendulum.mechanism, task, how=how, plugins=plugins, **others)

    return solve


@pytest.fixture(scope="module")
def plain(swung):
    return swung()


def test_a_longer_horizon_costs_less(swung, plain):
    found = swung(horizon=4.0)
    assert found.horizon == 4.0
    assert found.cost < plain.cost


def test_bounds_on_inputs_bite_and_are_told(swung, plain):
    limit = 0.9 * np.abs(plain.inputs).max()
    found = swung(bounds={"torque": (-limit, limit)})
    assert np.abs(found.inputs).max() <= limit
    assert found.cost > plain.cost
    assert {item["name"] for item in found.active} == {"torque"}


def test_bounds_on_speeds_measures_and_joint_loads_are_kept(swung, plain):
    """A variable, a row of the configuration, and a joint load, which jumps with the torque, at both ends of intervals."""
    fastest = np.abs(plain.states[:, 1]).max()
    found = swung(bounds={"pivot.angle.rate": (-0.9 * fastest, 0.9 * fastest)})
    assert np.abs(found.states[:, 1]).max() <= 0.9 * fastest + 1e-9
    history = history_of(swung(how=replace(VM, loads=("pivot",))), 0.0)
    force = np.abs(history["pivot.Fz"]).max()
    limited = swung(bounds={"pivot.Fz": (-0.95 * force, 0.95 * force), "bob.z": (-2.0, 2.0)})
    seen = history_of(limited, 0.0)
    assert np.abs(seen["pivot.Fz"]).max() <= 0.95 * force * (1 + 1e-7)
    assert limited.cost > plain.cost
    assert "pivot.Fz" in {item["name"] for item in limited.active}


def test_lengths_of_vectors_are_kept(swung, plain):
    """A limit of |F| is tighter than one of a component, and is kept at both ends of intervals."""
    history = history_of(swung(how=replace(VM, loads=("pivot",))), 0.0)
    largest = np.hypot(history["pivot.Fx"], history["pivot.Fz"]).max()
    name = "norm(pivot.Fx, pivot.Fz)"
    limited = swung(bounds={name: (0.0, 0.95 * largest)})
    seen = history_of(limited, 0.0)
    # Of the square of a number near one the tolerance of the solver, 1e-9, is twice that of the number.
    assert np.hypot(seen["pivot.Fx"], seen["pivot.Fz"]).max() <= 0.95 * largest * (1 + 1e-8)
    assert limited.cost > plain.cost
    assert (name, "upper") in {(item["name"], item["limit"]) for item in limited.active}


@pytest.mark.parametrize("limits", [(1.0, 2.0), (0.0, float("inf")), (-1.0, 0.0)])
def test_lengths_have_upper_limits_alone(swung, limits):
    with pytest.raises(MechanismError, match=r"a length has an upper limit alone: give 0 and a positive number"):
        swung(bounds={"norm(pivot.Fx, pivot.Fz)": limits})


def test_channels_in_a_length_must_be_shown(swung):
    with pytest.raises(MechanismError, match="shows nothing called 'pivot.Fq'"):
        swung(bounds={"norm(pivot.Fx, pivot.Fq)": (0.0, 1.0)})


def test_rates_of_inputs_are_limited(swung, plain):
    steepest = np.abs(np.diff(plain.inputs[:, 0])).max() / plain.h
    found = swung(rates={"torque": (-0.8 * steepest, 0.8 * steepest)})
    assert np.abs(np.diff(found.inputs[:, 0])).max() / found.h <= 0.8 * steepest * (1 + 1e-7)


def test_free_parameters_are_found(swung, plain):
    """A lighter bob needs less torque: the mass goes to its lower limit."""
    found = swung(free={"mass": (0.5, 2.0)})
    assert found.free["mass"] == pytest.approx(0.5, abs=1e-6)
    assert found.cost < plain.cost


def test_costs_can_be_weighed(swung, plain):
    costs = (CostPart("effort"), CostPart("swing", 50.0, {"channels": ("pivot.angle.rate",)}))
    found = swung(costs=costs)
    assert np.abs(found.states[:, 1]).max() < np.abs(plain.states[:, 1]).max()


def test_found_inputs_move_the_machine_to_the_end(swung, pendulum):
    """Held from node to node in a run with the same steps: to round-off of Newton's method, some 60 steps of 1e-10."""
    found = swung(intervals=60)
    history = history_of(found, 0.0)
    run = simulate(
        pendulum.mechanism, t_end=3.0, step=0.05, output_step=0.05, integrator="midpoint", inputs={"torque": history["torque"]}
    )
    assert run["pivot.angle"][-1] == pytest.approx(pi / 2, abs=1e-7)
    assert run["pivot.angle"] == pytest.approx(history["pivot.angle"], abs=1e-7)


def test_the_history_says_how_it_was_found(plain):
    history = history_of(plain, 1.0)
    record = history.provenance
    assert record["status"] == "optimal"
    assert record["cost"] == pytest.approx(6.7581414, abs=1e-7)
    assert record["horizon"] == 3.0
    assert record["hamiltonian"]["min"] < record["hamiltonian"]["max"]
    assert record["optimal"]["starts"][0]["start"] == "constant"
    assert record["optimal"]["course"]["iteration"] == list(range(record["iterations"] + 1))
    assert history["torque"][-1] == history["torque"][-2]
    assert {"optimal.hamiltonian", "optimal.switching.torque", "optimal.costate.pivot.angle"} <= {
        channel.name for channel in history.channels
    }
    # The physical torque is the costate of the momentum.
    assert history["optimal.costate.pivot.angle"] == pytest.approx(history["torque"], abs=1e-7)


def test_several_starts_are_listed(swung):
    found = swung(starts=3)
    assert [attempt.start for attempt in found.attempts] == ["constant", "line", "random:1"]
    assert found.cost == min(attempt.cost for attempt in found.attempts if attempt.status == "optimal")


def test_a_solution_is_a_start_on_a_finer_grid(swung, plain):
    found = swung(intervals=40, starts=[plain.path])
    assert found.cost == pytest.approx(6.5152160, abs=6e-8)
    assert found.solution.iterations <= 8


def test_a_history_is_a_start(swung, plain):
    again = swung(starts=[history_of(plain, 0.0)])
    assert [attempt.start for attempt in again.attempts] == ["history"]
    assert again.cost == pytest.approx(plain.cost, rel=1e-8)
    assert again.solution.iterations < plain.solution.iterations


@pytest.mark.slow
def test_a_servo_solution_is_a_start_for_a_crane(plugins):
    """Inverse dynamics along a line brings the crane to the same end, from which the optimum is found."""
    crane = open_model("overhead-crane", plugins)
    along = inverse(crane.mechanism, crane.task("001-7.2"), how=VM, plugins=plugins)
    found = optimise(crane.mechanism, crane.optimal_task("001"), starts=[along], how=VM, plugins=plugins)
    assert [attempt.start for attempt in found.attempts] == ["history"]
    assert found.cost == pytest.approx(83355.886, abs=0.006)


def test_a_history_of_another_machine_is_no_start(swung, plugins):
    other = open_model("double-pendulum", plugins).simulate(t_end=0.01, backend="vm")
    with pytest.raises(MechanismError, match="shows no coordinate of 'mathematical-pendulum', such as pivot.angle"):
        swung(starts=[other])


def test_the_best_motion_is_kept_at_the_time_limit(swung, plain):
    found = swung(starts=[plain.path], options=SolverOptions(time_limit=0.0))
    assert found.status == "time limit"
    assert found.solution.violation < 1e-6
    record = history_of(found, 0.0).provenance
    assert record["outcome"] == "stopped"
    assert "not the least" in record["warnings"][0]


def test_an_interrupt_keeps_the_best_motion(swung, plain):
    def press(step):
        if step.number == 0:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    found = swung(starts=[plain.path], watch=press, options=SolverOptions(tolerance=1e-15))
    assert found.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_told_after_every_iteration(swung):
    steps = []
    found = swung(watch=steps.append)
    assert [step.number for step in steps] == list(range(found.solution.iterations + 1))
    assert steps[-1].violation < 1e-9
    assert steps[-1].cost == pytest.approx(found.cost, rel=1e-9)


def test_an_end_out_of_reach_is_told_with_the_worst_constraint(swung):
    with pytest.raises(SolverError, match=r"no motion was found.*The worst constraint is the .* at t = .*Try a longer horizon"):
        swung(bounds={"torque": (-1e-3, 1e-3)}, end={"pivot.angle": -pi / 2, "pivot.angle.rate": 0.0}, starts=["line"])


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"torque": (-0.01, 0.01)}, "'torque' is at its (lower|upper) limit -?0.01 for .* s"),
        ({"pivot.angle.rate": (-0.2, 0.2)}, "'pivot.angle.rate' is at its upper limit 0.2 for 2.* s"),
    ],
)
def test_limits_that_stand_in_the_way_are_told(swung, bounds, words):
    with pytest.raises(SolverError, match=f"On the way that comes nearest, .*{words}.* Try a longer"):
        swung(bounds=bounds, starts=["line"])


def test_too_few_intervals_are_refused(swung):
    with pytest.raises(MechanismError, match=r"2 values are prescribed at the end, and 1 intervals .* take at least 2"):
        swung(intervals=1)
    with pytest.raises(MechanismError, match="0 intervals: at least one"):
        swung(intervals=0)


def test_redundant_end_conditions_are_named(swung):
    """The height of the bob follows from the angle."""
    with pytest.raises(MechanismError, match=r"1 of the 3 end conditions follow from the others.*'pivot.angle'.*'bob.x'"):
        swung(end={**END, "bob.x": 0.0})


def spring_machine(stiffness):
    """Two masses with a spring between them, of which one is pushed."""
    force = Input("force", "N")
    slides = (
        Joint("pushed", "prismatic", "world", "pushed", axis=(1, 0, 0), coordinates=("x",)),
        Joint("pulled", "prismatic", "pushed", "pulled", axis=(1, 0, 0), coordinates=("x",)),
    )
    return Mechanism(
        name="two-masses",
        inputs=(force,),
        bodies=(Body("pushed", mass=1.0), Body("pulled", mass=1.0)),
        joints=slides,
        forces=(
            ForceElement("joint-effort", name="drive", coordinate="pushed.x", effort=force),
            ForceElement("joint-spring", name="spring", coordinate="pulled.x", stiffness=stiffness),
        ),
    )


def test_ends_that_hardly_move_are_told_with_the_margin(plugins):
    """All four values of a stiff pair of masses can be prescribed, but its strain and the rate of it only just."""
    end = {"pushed.x": 1.0, "pulled.x": 0.0, "pushed.x.rate": 0.0, "pulled.x.rate": 0.0}
    task = OptimalTask(("force",), 1.0, end=end, intervals=8)
    found = optimise(spring_machine(100.0), task, how=VM, plugins=plugins)
    assert found.notes == ()
    problem, program = found.problem, found.program
    slopes = np.diag([1.0, 1.0, 1.0, 1.0])
    slopes[3] = slopes[2] + 1e-7 * slopes[3]
    ends = [End(name, 0) for name in end]
    margin = ranks._dependence(slopes)
    assert margin.missing == 0
    told = ranks._told_margin(ends, margin)
    assert re.search(r"can hardly change 'pushed.x.rate' and 'pulled.x.rate'|can hardly change 'pushed.x.rate', 'pulled", told)
    assert "5.0e-08" in told or "e-08" in told
    slopes[3] = slopes[2] + 1e-12 * np.eye(4)[3]
    gap = ranks._dependence(slopes)
    assert gap.missing == 1
    with pytest.raises(
        MechanismError, match=r"1 of the 4 end conditions follow.*smallest singular value .*e-1.* of the largest"
    ):
        ranks._refuse(problem, ends, gap)
    assert ranks.check_end(problem, [Piece(problem, found.rule, program, found.solution.w)]) == ""


def test_it_is_told_where_the_end_could_not_be_looked_at(swung, monkeypatch):
    monkeypatch.setattr(ranks, "NEWTON", 0)
    found = swung()
    assert "could not be looked at: no motion near the start was found" in found.notes[0]
    assert found.notes[0] in history_of(found, 0.0).provenance["warnings"]


def test_ends_that_no_input_changes_are_named(plugins):
    force = Input("force", "N")
    slides = [Joint(name, "prismatic", "world", name, axis=(1, 0, 0), coordinates=("x",)) for name in ("pushed", "left")]
    machine = Mechanism(
        name="two-masses",
        inputs=(force,),
        bodies=(Body("pushed", mass=1.0), Body("left", mass=1.0)),
        joints=tuple(slides),
        forces=(ForceElement("joint-effort", coordinate="pushed.x", effort=force),),
    )
    task = OptimalTask(("force",), 1.0, end={"pushed.x": 1.0, "left.x": 1.0})
    with pytest.raises(MechanismError, match=r"no input changes 'left.x' at the end of 'two-masses'.*Inputs: force"):
        optimise(machine, task, how=VM, plugins=plugins)


def test_names_that_nothing_shows_are_refused(swung):
    with pytest.raises(MechanismError, match=r"end: .* shows nothing called 'pivot.angel'.*pivot.angle"):
        swung(end={"pivot.angel": 1.0})
    with pytest.raises(MechanismError, match=r"bounds: .* shows nothing called 'tork'.*torque"):
        swung(bounds={"tork": (0.0, 1.0)})
    with pytest.raises(MechanismError, match=r"cost 'swing': .* shows nothing called 'sway'"):
        swung(costs=(CostPart("swing", 1.0, {"channels": ("sway",)}),))


def test_a_start_outside_of_its_bounds_is_refused(swung):
    with pytest.raises(MechanismError, match=r"'pivot.angle' starts at 0, outside of its bounds from 0.1 to inf"):
        swung(bounds={"pivot.angle": (0.1, inf)})


def test_free_parameters_that_move_the_start_are_refused(plugins):
    crane = open_model("overhead-crane", plugins)
    task = replace(crane.optimal_task("001"), free={"rope_length": (3.0, 5.0)})
    with pytest.raises(MechanismError, match=r"the start of 'overhead-crane' depends on the parameter 'rope_length'"):
        optimise(crane.mechanism, task, how=VM, plugins=plugins)


def test_starts_that_there_are_not_are_refused(swung):
    with pytest.raises(MechanismError, match="there is no start 'spiral'; take one of constant, line"):
        swung(starts=["spiral"])
    with pytest.raises(MechanismError, match="0 starts: at least one"):
        swung(starts=0)


def test_choices_that_there_are_not_are_refused(pendulum):
    with pytest.raises(TypeError, match="optimal control has no choice 'intervalls'; did you mean 'intervals'"):
        prepare_optimisation(pendulum.mechanism, pendulum.optimal_task("001"), intervalls=3)


def test_solvers_with_steps_of_their_own_are_refused(swung):
    with pytest.raises(MechanismError, match="needs a fixed-step integrator, and 'dop853' chooses its own steps"):
        swung(how=replace(VM, integrator="dop853"))


def test_every_integrator_of_ours_leads_to_the_same_motion(swung):
    """Of second order and more, at 40 intervals: each is within its error of the limit, most of it that of held inputs."""
    for integrator in ("rk4", "radau2", "variational", "generalized-alpha", "bdf2", "energy-momentum"):
        found = swung(how=replace(VM, integrator=integrator), intervals=40)
        assert found.status == "optimal", integrator
        assert found.cost == pytest.approx(6.4369, rel=0.05), integrator


def test_code_does_not_grow_with_the_number_of_intervals(pendulum, plugins):
    """One interval is differentiated, whatever the number of intervals is."""
    from kingpost.control.optimal.transcribing import transcribe

    sizes = []
    for N in (10, 200):
        prepared = prepare_optimisation(pendulum.mechanism, pendulum.optimal_task("001"), intervals=N, how=VM, plugins=plugins)
        program = transcribe(prepared.problem, prepared.transcription.rule(prepared.problem, prepared.grid), prepared.grid)
        sizes.append([item.n_nodes() for item in (program.blocks.value, program.blocks.slope, program.blocks.curvature)])
    assert sizes[0] == sizes[1]


def test_derivatives_agree_with_finite_differences(pendulum, plugins):
    """Gradient, Jacobian and Hessian of the gathered program against central differences of it: errors and noise of 1e-10."""
    from kingpost.control.optimal.starts import guessed, lifted
    from kingpost.control.optimal.transcribing import transcribe

    task = replace(
        pendulum.optimal_task("001"),
        horizon=(2.0, 4.0),
        rates={"torque": (-9.0, 9.0)},
        free={"mass": (0.5, 2.0)},
        bounds={"bob.x": (-2.0, 2.0)},
    )
    prepared = prepare_optimisation(pendulum.mechanism, task, intervals=3, how=replace(VM, integrator="bdf2"), plugins=plugins)
    rule = prepared.transcription.rule(prepared.problem, prepared.grid)
    program = transcribe(prepared.problem, rule, prepared.grid)
    rng = np.random.default_rng(3)
    w = lifted(prepared.problem, rule, program.layout, guessed(prepared.problem, 3, "line"))
    x = w / program.scales + 0.05 * rng.normal(size=len(w))
    lam = rng.normal(size=program.rows)
    functions, theta = program.functions, program.theta

    def lagrange_slope(x):
        return np.asarray(functions.gradient(x, theta)[1]).ravel() + np.asarray(functions.jacobian(x, theta)[1].T @ lam).ravel()

    J = np.asarray(functions.jacobian(x, theta)[1].full())
    H = np.asarray(functions.hessian(x, theta, 1.0, lam).full())
    H = H + np.triu(H, 1).T
    gradient = np.asarray(functions.gradient(x, theta)[1]).ravel()
    for i in range(len(x)):
        ahead, behind = (x + sign * 1e-5 * np.eye(len(x))[i] for sign in (1, -1))
        rows = [np.asarray(functions.jacobian(item, theta)[0]).ravel() for item in (ahead, behind)]
        assert J[:, i] == pytest.approx((rows[0] - rows[1]) / 2e-5, rel=1e-6, abs=1e-7)
        costs = [float(functions.gradient(item, theta)[0]) for item in (ahead, behind)]
        assert gradient[i] == pytest.approx((costs[0] - costs[1]) / 2e-5, rel=1e-6, abs=1e-7)
        assert H[:, i] == pytest.approx((lagrange_slope(ahead) - lagrange_slope(behind)) / 2e-5, rel=1e-5, abs=1e-6)
