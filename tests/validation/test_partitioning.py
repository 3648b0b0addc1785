"""Coordinate partitioning against projection, against directors, and against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, SolverError, prepare, simulate
from kingpost.equations.partition import Partition, chosen_columns
from kingpost.mechanism.closures import Closure
from kingpost.plugins.models.four_bar import coupler_and_rocker
from kingpost.symbols.linear_solvers import householder
from tests.validation.machines import model

#: Length of a run (s), step of rk4, and what is to be independent by itself.
MACHINES = {
    "four-bar": (1.0, 1e-3, ["crank-pivot.angle"]),
    "slider-crank": (0.1, 1e-4, ["shaft.angle"]),
    "luffing-crane": (0.1, 1e-3, ["slew.angle", "boom-foot.angle", "rope.across", "rope.along"]),
}


def run(machine, t_end, plugins, formulation="kane", **options):
    """Run in the interpreter, except where compiled code is the point: a C compiler would take longer than the runs."""
    return simulate(machine, t_end, formulation=formulation, plugins=plugins, **{"backend": "vm", **options})


@pytest.mark.parametrize("name", [*list(MACHINES)[:2], pytest.param("luffing-crane", marks=pytest.mark.slow)])
def test_motion_and_loads_are_those_of_projection(name, plugins):
    t_end, step, independent = MACHINES[name]
    machine = model(plugins, name)
    options = {"step": step, "output_step": t_end / 10, "loads": "all", "monitors": True}
    projected = run(machine, t_end, plugins, **options)
    for formulation in ("kane", "recursive") if name == "slider-crank" else ("kane",):
        history = run(machine, t_end, plugins, f"{formulation}:independent=auto", **options)
        assert history.provenance["independent"] == independent
        states = len(machine.coordinates) + len(machine.speeds)
        # Both are rk4 with errors of fourth order, which are below 1e-9 at these steps.
        np.testing.assert_allclose(history.values[:, :states], projected.values[:, :states], atol=2e-9)
        for joint in (*machine.joints, *machine.closures):
            one, other = (which.loads(joint.name).total for which in (history, projected))
            np.testing.assert_allclose(one, other, atol=1e-8 * (1 + np.abs(other).max()))
        assert history["constraints.position"].max() < 1e-14
        assert history["constraints.speed"].max() < 1e-13


def test_motion_and_loads_are_those_of_directors(plugins):
    """Thirty-six coordinates of three bodies instead of the crank's angle."""
    machine = model(plugins, "four-bar")
    options = {"step": 1e-3, "output_step": 0.1, "loads": "all"}
    ours, theirs = (run(machine, 0.5, plugins, f, **options) for f in ("kane:independent=auto", "directors"))
    for axis in "xyz":
        np.testing.assert_allclose(ours[f"coupler-mid.{axis}"], theirs[f"coupler-mid.{axis}"], atol=1e-9)
    for name in ("rocker-pin", "crank-pivot", "rocker-pivot"):
        one, other = (which.loads(name, frame="world").total for which in (ours, theirs))
        # Forces in the plane; what holds the rods in it is shared otherwise by directors, with their redundant pins.
        np.testing.assert_allclose(one[:, [3, 5]], other[:, [3, 5]], atol=1e-6)


def test_a_crank_turns_round_and_round_with_its_geometry(plugins):
    """Compiled, since it is also to stop in compiled code elsewhere; the rocker's pin is found anew at every evaluation."""
    history = run(model(plugins, "four-bar"), 5.0, plugins, "kane:independent=crank-pivot.angle", backend="auto")
    crank, pin, rocker = (history[f"{name}.angle"] for name in ("crank-pivot", "crank-pin", "rocker-pivot"))
    assert np.ptp(crank) > 2 * np.pi
    exact = np.array([coupler_and_rocker(angle, 1.0, 3.0, 2.5, 3.0) for angle in crank])
    np.testing.assert_allclose(np.sin((crank + pin - exact[:, 0]) / 2), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.sin((rocker - exact[:, 1]) / 2), 0.0, atol=1e-13)


@pytest.mark.parametrize("integrator", ["rk4", "euler-symplectic", "radau2", "dop853", "lsoda"])
def test_every_integrator_for_odes_advances_them(integrator, plugins):
    machine = model(plugins, "slider-crank")
    fixed = {"step": 1e-4} if integrator in ("rk4", "euler-symplectic", "radau2") else {}
    history = run(machine, 0.05, plugins, "kane:independent=auto", integrator=integrator, output_step=0.01, **fixed)
    reference = run(machine, 0.05, plugins, "kane", step=1e-4, output_step=0.01)
    # euler-symplectic has an error of first order, h times accelerations of some 100 rad/s^2 over 0.05 s.
    allowed = 1e-3 if integrator == "euler-symplectic" else 1e-6
    np.testing.assert_allclose(history["shaft.angle"], reference["shaft.angle"], atol=allowed)
    r, l, angle = 0.1, 0.3, history["shaft.angle"]
    stroke = r * np.cos(angle) + np.sqrt(l**2 - (r * np.sin(angle)) ** 2)
    np.testing.assert_allclose(history["bore.displacement"], stroke, atol=1e-15)


def test_rk4_keeps_its_order(plugins):
    machine = model(plugins, "slider-crank")
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        total = run(machine, 0.4, plugins, "kane:independent=auto", step=step, output_step=step)["energy.total"]
        errors.append(np.abs(total - total[0]).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize(("integrator", "backend"), [("rk4", "auto"), ("radau2", "vm"), ("dop853", "vm"), ("bdf", "vm")])
def test_a_run_stops_before_a_dead_centre_of_what_was_chosen(integrator, backend, plugins):
    """The crank turns towards the inner dead centre, pi; where the measure is 0.01 times what the start had, it stops."""
    with pytest.raises(SolverError) as stopped:
        run(
            model(plugins, "slider-crank"), 1.0, plugins, "kane:independent=bore.displacement", integrator=integrator,
            output_step=0.001, backend=backend,
        )  # fmt: skip
    message = str(stopped.value)
    assert "'bore.displacement', which is independent, is at a dead centre near t = 0.11" in message
    assert "does not determine 'shaft.angle'. Choose shaft.angle (independent=shaft.angle)" in message
    history = stopped.value.history
    assert 0.1 < history.time[-1] < 0.12
    angle = history["shaft.angle"]
    assert 2.9 < angle[-1] < np.pi
    exact = 0.1 * np.cos(angle) + np.sqrt(0.09 - (0.1 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(history["bore.displacement"], exact, atol=1e-12)  # nothing but the truth until then


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_another_reason_to_stop_is_not_called_a_dead_centre(integrator, plugins):
    machine = model(plugins, "slider-crank")
    bad = ForceElement("joint-effort", name="bad", coordinate="shaft.angle", effort="sqrt(0.0205 - t)")
    machine = replace(machine, forces=(*machine.forces, bad))
    with pytest.raises(SolverError) as stopped:
        run(machine, 0.1, plugins, "kane:independent=auto", integrator=integrator, output_step=0.01)
    assert "dead centre" not in str(stopped.value)
    assert stopped.value.history.time[-1] == pytest.approx(0.02)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_disc_rolls_in_a_steady_circle(formulation, plugins):
    """One constraint on the height and two on speeds alone; closed form as in test_closure_motions.py."""
    m, r, a, W, g = 2.0, 0.5, 1.2, 1.5, 9.81
    A, C = m * r**2 / 4, m * r**2 / 2
    spin = np.cos(a) * (A * W**2 * np.sin(a) - m * g * r) / (W * np.sin(a) * (C + m * r**2))
    machine = Mechanism(
        "disc",
        bodies=[Body("disc", mass=m, inertia=(A, A, C))],
        joints=[Joint("motion", "free", "world", "disc")],
        forces=[ForceElement("gravity")],
        closures=[Closure("edge", "rolling-disc", "world", "disc", axis=(0, 0, 1), radius=r)],
    )
    start = {
        "motion.z": r * np.sin(a), "motion.qw": np.cos(a / 2), "motion.qy": np.sin(a / 2),
        "motion.wx": -W * np.sin(a), "motion.wz": spin, "motion.vy": -r * spin,
    }  # fmt: skip
    options = {"settings": start, "step": 0.002, "output_step": 0.1, "loads": "all", "monitors": True}
    history = run(machine, 2.0, plugins, f"{formulation}:independent=auto", **options)
    # Axes that turn with the disc: all three angular velocities, so that no quarter of a turn is a dead centre.
    assert history.provenance["independent"] == ["motion.wx", "motion.wy", "motion.wz"]
    radius, t = -r * spin / W, history.time
    # rk4 with turns of some 3 rad/s: (0.006)^5 / 120 for each of 1000 steps.
    np.testing.assert_allclose(history["motion.x"], radius * (np.cos(W * t) - 1), atol=1e-8)
    np.testing.assert_allclose(history["motion.z"], r * np.sin(a), atol=1e-8)
    contact = history.loads("edge", frame="world").total
    np.testing.assert_allclose(contact[:, 5], m * g, atol=1e-6)
    assert history["constraints.position"].max() < 1e-14
    assert history["constraints.speed"].max() < 1e-13


def test_a_machine_that_closures_hold_still(plugins):
    """No coordinate is left to be independent: a triangle of three rods."""
    machine = Mechanism(
        "triangle",
        bodies=[Body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)) for name in ("one", "two")],
        joints=[
            Joint("left", "revolute", "world", "one", axis=(0, 0, 1), start=np.pi / 3),
            Joint("right", "revolute", "world", "two", axis=(0, 0, 1), position=(1, 0, 0), start=2 * np.pi / 3),
        ],
        closures=[Closure("top", "point-on-line", "one", "two", axis=(0, 0, 1), position=(1, 0, 0), child_position=(1, 0, 0))],
        forces=[ForceElement("gravity", acceleration=(0, -9.81, 0))],
    )
    history = run(machine, 0.1, plugins, "kane:independent=auto", loads="all")
    np.testing.assert_allclose(history["left.angle"], np.pi / 3, atol=1e-14)
    assert history.provenance["independent"] == []


# --- the parts


def test_solved_states_keep_what_is_independent(plugins):
    simulation = prepare(model(plugins, "four-bar"), 1.0, formulation="kane:independent=auto", plugins=plugins, backend="vm")
    equations = simulation.equations
    assert isinstance(equations.treatment, Partition)
    x = simulation.x0 + np.array([0.0, 0.02, -0.03, 0.0, 5.0, -5.0])
    q, v, measure, left = (np.asarray(part).ravel() for part in equations.solution(0.0, x[:3], x[3:], simulation.p))
    np.testing.assert_allclose([*q, *v], simulation.x0, atol=1e-10)  # 3e-2 after three squarings
    assert q[0] == x[0]
    assert v[0] == x[3]
    assert left < 1e-11
    assert measure / equations.treatment.quality == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_householder_solves_and_tells_the_sign(size):
    rng = np.random.default_rng(size)
    function = householder(size, 2)
    for _ in range(4):
        A, B = rng.standard_normal((size, size)), rng.standard_normal((size, 2))
        X, sign = function(A, B)
        np.testing.assert_allclose(np.asarray(X), np.linalg.solve(A, B), atol=1e-12 * np.linalg.cond(A))
        assert float(sign) == np.sign(np.linalg.det(A))
    swap = np.eye(size)[::-1]  # elimination in a fixed order would divide by zero
    np.testing.assert_allclose(np.asarray(function(swap, np.ones((size, 2)))[0]), 1.0)


def test_columns_that_move_constraints_most_become_dependent():
    A = np.array([[1.0, 5.0, 0.1, 4.9], [0.0, 0.1, 3.0, 0.1]])
    assert chosen_columns(A, 2, []) == (1, 2)
    assert chosen_columns(A, 2, [1]) == (3, 2)
    # The second row is on speeds alone: the first chooses first.
    assert chosen_columns(np.array([[1.0, 0.5, 0.0], [9.0, 0.0, 2.0]]), 1, []) == (0, 1)


@pytest.mark.parametrize(
    ("formulation", "integrator", "message"),
    [
        ("kane:independent=shaft.angel", "rk4", r"no coordinate 'shaft.angel' .*did you mean 'shaft.angle'.* Choose from"),
        ("kane:independent=shaft.angle/bore.displacement", "rk4", r"2 coordinates are to be independent .* leave 1 free"),
        ("kane:independent=auto,baumgarte=5", "rk4", r"leaves no constraint errors, so that baumgarte means nothing"),
        ("recursive:independent=auto,projection=false", "rk4", r"so that projection=false means nothing with it"),
        ("kane:independent=auto", "energy-momentum", r"imposes the constraints itself .* take one of .*rk4"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(formulation, integrator, message, plugins):
    with pytest.raises(KingpostError, match=message):
        run(model(plugins, "slider-crank"), 0.1, plugins, formulation, integrator=integrator)


def test_a_choice_that_is_at_a_dead_centre_at_the_start_is_refused(plugins):
    machine = model(plugins, "slider-crank")
    start = {"shaft.angle": 0.0, "crank-pin.angle": 0.0, "bore.displacement": 0.4}
    with pytest.raises(
        KingpostError, match=r"bore.displacement cannot be independent at the start .* Choose shaft.angle \(ind"
    ):
        run(machine, 0.1, plugins, "kane:independent=bore.displacement", settings=start)
    assert len(run(machine, 0.1, plugins, "kane:independent=auto", settings=start)) > 1


def test_a_tree_has_nothing_to_choose(plugins):
    tree = model(plugins, "double-pendulum")
    assert "independent" not in run(tree, 0.1, plugins, "kane:independent=auto").provenance
    with pytest.raises(KingpostError, match=r"has no closures, so that all of its coordinates are independent"):
        run(tree, 0.1, plugins, "kane:independent=anything")
