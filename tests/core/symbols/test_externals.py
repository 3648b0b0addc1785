"""Forces written in plain Python and NumPy: the same motion as with CasADi operations."""

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from kingpost import Force, ForceElement, Loads, SolverError, prepare, simulate
from kingpost.mechanism.trajectories import Sampled
from kingpost.multibody.assembly import assemble
from kingpost.testing import random_tree
from kingpost.testing.problems import pendulum
from tests.core.symbols.python_forces import ANGLE, FORMULATIONS, INTEGRATORS, effort_of, run, swinging, with_forces


def accelerations(plugins, mechanism, formulation, t, q, v):
    equations = plugins.formulations.get(formulation)().derive(assemble(mechanism, plugins))
    return np.asarray(equations.accelerations(t, q, v, [], [1.0] * equations.np)).ravel()


@dataclass(frozen=True)
class DriveOptions:
    python: bool = True


class Drive(Force):
    """A driven, damped joint, in either language."""

    name = "drive"
    Options = DriveOptions

    def loads(self, kinematics):
        angle, rate, t = kinematics.coordinate(ANGLE), kinematics.rate(ANGLE), kinematics.t
        if not self.options.python:
            return Loads(efforts={ANGLE: 3 * ca.cos(2 * t) - ca.sin(3 * angle) - 0.8 * rate * ca.fabs(rate)})

        def effort(angle, rate, t):
            return 3 * np.cos(2 * t) - np.sin(3 * angle) - 0.8 * rate * np.abs(rate)

        return Loads(efforts={ANGLE: kinematics.call(effort, angle, rate, t, size=1)})


class Wind(Force):
    """A wrench and a potential that depend on pose and twist of a body, in either language."""

    name = "wind"
    Options = DriveOptions

    def loads(self, kinematics):
        pose, twist = kinematics.pose("body1"), kinematics.twist("body1")
        if not self.options.python:
            force = pose.R.T @ ca.vertcat(2, -1, ca.sin(pose.p[0])) - 0.5 * twist[3:]
            return Loads(
                wrenches={"body1": ca.vertcat(ca.cross(ca.DM([0.1, 0.2, 0.3]), force), force)}, potential=ca.cos(pose.p[0])
            )

        def wrench(R, p, twist):
            assert R.shape == (3, 3)
            assert p.shape == (3,)
            assert twist.shape == (6,)
            force = R.T @ [2, -1, np.sin(p[0])] - 0.5 * twist[3:]
            return np.concatenate([np.cross([0.1, 0.2, 0.3], force), force])

        return Loads(
            wrenches={"body1": kinematics.call(wrench, pose.R, pose.p, twist, size=6)},
            potential=kinematics.call(lambda p: np.cos(p[0]), pose.p, size=1),
        )


# The same numbers as with CasADi operations


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_python_force_moves_a_machine_as_the_same_force_in_casadi_does(integrator, formulation):
    plugins = with_forces(Drive)
    arguments = {"integrator": integrator, "formulation": formulation, "step": 0.005 if integrator == "rk4" else None}
    python, casadi = (
        simulate(swinging(ForceElement("drive", python=python)), 2.0, plugins=plugins, **arguments) for python in (True, False)
    )
    # rk4 does the same operations; NumPy's and C's functions differ in the last bit, some 1e3 times. The solvers may choose
    # other steps, since the Jacobian of a Python function comes from differences: then their tolerances count, over 1e2 steps.
    tolerance = {"rk4": 1e-12, "dop853": 1e-9 * 1e2}.get(integrator, 1e-8 * 1e2)
    assert python.values == pytest.approx(casadi.values, rel=tolerance, abs=tolerance)
    assert np.ptp(python["pivot.angle"]) > 1.0
    assert [history.provenance["backend"]["name"] for history in (python, casadi)] == ["vm", "c"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_python_gets_matrices_and_vectors_and_gives_wrenches_and_energies(formulation):
    tree = random_tree(3)
    plugins = with_forces(Wind)
    python, casadi = (
        plugins.formulations.get(formulation)().derive(
            assemble(dataclasses.replace(tree, forces=(*tree.forces, ForceElement("wind", python=python))), plugins)
        )
        for python in (True, False)
    )
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = rng.uniform(0.3, 1.2, python.nq), rng.uniform(-1, 1, python.nv)
        for name in ("accelerations", "observations"):
            value, exact = (np.asarray(getattr(equations, name)(0, q, v, [], [1.0])) for equations in (python, casadi))
            assert np.abs(value - exact).max() < 1e-10 * max(1.0, np.abs(exact).max())  # as in the conformance kit


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_jacobian_of_a_python_force_comes_from_differences(formulation):
    plugins = with_forces(Drive)
    python, casadi = (
        plugins.formulations.get(formulation)().derive(assemble(swinging(ForceElement("drive", python=python)), plugins))
        for python in (True, False)
    )
    x = [0.7, -1.1]
    exact = np.asarray(casadi.rhs_jacobian(0.3, x, [], []))
    # Differences have a rounding error of the square root of 2e-16 at worst, and entries are of order 1 to 10.
    assert np.asarray(python.rhs_jacobian(0.3, x, [], [])) == pytest.approx(exact, abs=10 * 1.5e-8)
    assert abs(exact[1, 0]) > 1.0 and abs(exact[1, 1]) > 0.1


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_several_python_functions_do_not_get_in_each_others_way(formulation):
    class Two(Force):
        """Two functions of the same argument, and one of the result of another."""

        name = "two"

        def loads(self, kinematics):
            double = kinematics.call(lambda t: 2 * t, kinematics.t, size=1)
            triple = kinematics.call(lambda t: 3 * t, kinematics.t, size=1)
            square = kinematics.call(lambda x: x**2, kinematics.call(lambda t: 4 * t, kinematics.t, size=1), size=1)
            return Loads(efforts={ANGLE: double + 10 * triple + 100 * square})

    # The names of the two elements differ only in what an identifier cannot hold.
    mechanism = swinging(ForceElement("two", name="a-b"), ForceElement("two", name="a_b"))
    still = accelerations(with_forces(Two), swinging(), formulation, 0.5, [0.2], [0.0])
    moved = accelerations(with_forces(Two), mechanism, formulation, 0.5, [0.2], [0.0])
    inertia = pendulum().bodies[0].com[2] ** 2
    assert (moved - still) * inertia == pytest.approx([2 * (1.0 + 10 * 1.5 + 100 * 4.0)], rel=1e-13)


def test_a_function_may_keep_and_change_what_it_gets():
    kept = []

    def effort(angle):
        kept.append(angle)
        angle += 1.0
        return -angle

    history = run(effort_of(effort), step=0.01)
    exact = run(effort_of(lambda angle: -angle - 1.0), step=0.01)
    assert history.values.tolist() == exact.values.tolist()
    assert kept[0] == pytest.approx([2.0 + 1.0])


def test_outputs_that_need_no_python_do_not_call_it():
    calls = []

    def effort(angle):
        calls.append(angle)
        return 0.0

    simulation = prepare(swinging(ForceElement("own")), 1.0, step=0.01, output_step=0.1, plugins=effort_of(effort))
    calls.clear()
    simulation.kernel.sample(np.zeros(1), simulation.x0[None, :], np.zeros((1, 0)), simulation.p)
    assert calls == []


# What is said about it


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_run_says_which_forces_are_plain_python(formulation):
    plugins = with_forces(Drive)
    first, second = ForceElement("drive", name="mine"), ForceElement("drive", name="yours")
    simulation = prepare(swinging(first, second), 1.0, formulation=formulation, plugins=plugins)
    assert simulation.kernel.backend == "vm"
    assert (
        simulation.kernel.note == "interpreter: plain Python inside, in mine, yours; write it with CasADi operations for speed"
    )
    mixed = swinging(first, ForceElement("drive", name="yours", python=False))
    assert "in mine; write" in prepare(mixed, 1.0, formulation=formulation, plugins=plugins).kernel.note


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_machine_code_is_refused_with_the_list_of_culprits(formulation):
    forces = ForceElement("drive", name="mine"), ForceElement("drive", name="yours"), ForceElement("drive", python=False)
    with pytest.raises(SolverError) as error:
        prepare(swinging(*forces), 1.0, formulation=formulation, backend="c", plugins=with_forces(Drive))
    assert str(error.value) == (
        "backend 'c' was asked for, but these forces are plain Python: mine, yours. Write them with CasADi operations, or use "
        "backend 'vm'"
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_casadi_function_stays_compiled(formulation):
    times = np.linspace(-1, 4, 200)
    table = Sampled(times, np.sin(times), "cubic").function()
    plugins = effort_of(table, seen=("time",))
    histories = [
        run(plugins, ForceElement("own"), step=0.005, formulation=formulation, backend="c"),
        run(effort_of(np.sin, seen=("time",)), ForceElement("own"), step=0.005, formulation=formulation),
    ]
    assert [history.provenance["backend"]["name"] for history in histories] == ["c", "vm"]
    # A cubic spline through samples 0.025 s apart is off by 5/384 0.025^4 = 5.2e-9 of a fourth derivative of 1, and by more
    # only near its ends, which the run does not reach. The pendulum, with an inertia of 6 kg m^2, makes less of it in a second.
    assert np.abs(histories[0]["pivot.angle"] - histories[1]["pivot.angle"]).max() < 5.2e-9
    assert histories[0]["pivot.angle"][-1] != histories[1]["pivot.angle"][-1]


def test_a_callback_of_casadi_counts_as_python():
    class Sine(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.construct("sine", {"enable_fd": True})

        def eval(self, arguments):
            return [ca.sin(arguments[0])]

    sine = Sine()
    with pytest.raises(SolverError, match="these forces are plain Python: own. Write them"):
        run(effort_of(sine), backend="c")
    assert run(effort_of(sine), step=0.01).values == pytest.approx(run(effort_of(np.sin), step=0.01).values, rel=1e-13)
