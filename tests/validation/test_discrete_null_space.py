"""The discrete null-space method: the energy-momentum method in natural coordinates with as few unknowns as freedoms."""

import itertools

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, simulate
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.directors.bodies import angular_momentum
from kingpost.plugins.formulations.directors.discrete_null_space import allowed_between
from kingpost.plugins.formulations.directors.formulation import DirectorModel
from kingpost.plugins.integrators.energy_momentum import EnergyMomentum
from kingpost.plugins.integrators.implicit import Interval, Parts
from kingpost.plugins.integrators.reduced import ReducedStep
from kingpost.symbols.joints import JOINT_KINDS
from tests.validation.natural import CASE_A, CASE_B, PLUGINS, SATELLITE, derive, joint_start, model, numbers, plane_loop

#: Newton's method leaves some 1e-15 of the size of the unknowns in each of up to 50 steps, and machines may magnify it.
SAME = 1e-10
#: Kinds of joints between bodies; joints whose motion is given have no place in natural coordinates.
KINDS = [kind for kind in JOINT_KINDS if kind not in ("free", "given")]


def advance(mechanism, t_end, steps, formulation, **options):
    h = t_end / steps
    given = {"integrator": "energy-momentum", "step": h, "output_step": h, "plugins": PLUGINS, "backend": "vm"} | options
    return simulate(mechanism, t_end, formulation=formulation, **given)


def assert_same_motion(one, other, tolerance=SAME):
    names = [name for name in one.names if name in other.names and name.split(".")[-1] not in ("qw", "qx", "qy", "qz")]
    assert any(".d3." in name for name in names)
    for name in names:
        difference = np.abs(one[name] - other[name]).max() / max(1.0, np.abs(one[name]).max())
        assert difference <= tolerance, f"{name}: {difference:.2e}"


def pair(kind):
    """Return two bodies, the second one carried by the first through a joint of a kind."""
    values = {"axis": (0.3, -0.5, 0.8), "axis2": (0.8, 0.0, -0.3), "pitch": 0.2, "sequence": "zxz"}
    return Mechanism(
        f"pair-{kind}",
        bodies=(
            Body("a", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1.2, 1.4, 0.1, 0.2, 0)),
            Body("b", mass=2.0, com=(0, 0.2, 0.1), inertia=(1, 1.1, 0.9)),
        ),
        joints=(
            Joint("base", "free", "world", "a", start=(0.5, 0, 0, 1, 0, 0, 0), start_rate=(0.5, 1.0, -0.8, 0.3, 0.2, 0)),
            Joint(
                "tested",
                kind,
                "a",
                "b",
                position=(0, 1, 0),
                rotation=(0.4, 0, 1),
                child_position=(0.2, 0, 0),
                **({"start": (0.3, 0.6, 0.2)} if kind == "gimbal" else {}),
                **{name: values[name] for name in JOINT_KINDS[kind].needs},
            ),
        ),
        forces=(ForceElement("gravity"),),
    )


def rolling_ball():
    return Mechanism(
        "ball",
        bodies=(Body("ball", mass=2.0, com=(0.1, 0, 0.05), inertia=(0.2, 0.3, 0.25)),),
        joints=(Joint("motion", "free", "world", "ball", start=(0, 0, 0.5, 1, 0, 0, 0), start_rate=(1, 2, 0.5, 1.0, -0.5, 0)),),
        closures=(Closure("contact", "rolling", "world", "ball", radius=0.5),),
        forces=(ForceElement("gravity"),),
    )


def random_place(mechanism, space, rng):
    """Return random joint coordinates, away from gimbal lock."""
    count = len(mechanism.coordinates)
    joints = rng.uniform(0.3, 1.2, count)
    joints[3:7] /= np.linalg.norm(joints[3:7])
    if mechanism.joints[1].kind == "spherical":
        joints[7:11] /= np.linalg.norm(joints[7:11])
    return joints


@pytest.mark.parametrize("kind", KINDS)
def test_the_null_space_is_one_between_any_two_places_and_joints_stay_whole(kind):
    mechanism = pair(kind)
    full, space = derive(mechanism, "directors"), derive(mechanism, "nullspace").structure.discrete
    rows = [i for i in range(full.constraints.count) if not (kind == "screw" and i == full.constraints.count - 1)]
    A = ca.Function("A", [full.q, full.p], [ca.densify(full.constraints.A[rows, :])])
    phi = ca.Function("phi", [full.q, full.p], [full.constraints.phi])
    rng = np.random.default_rng(4)
    for _ in range(4):
        joints = random_place(mechanism, space, rng)
        increments = rng.normal(size=len(mechanism.speeds))
        q0, q1 = (numbers(space.moved(joints, amount * increments, [])) for amount in (0.0, 1.0))
        assert np.abs(numbers(phi(q1, []))).max() < 1e-13
        assert np.abs(q1 - q0).max() > 0.1
        P = np.asarray(space.motions((q0 + q1) / 2, []))
        # Directors up to 1 and arms up to 3 m; P has a column for each freedom, and one more for the thread of a screw.
        assert np.abs(np.asarray(A((q0 + q1) / 2, [])) @ P).max() < 1e-13
        assert P.shape[1] == len(mechanism.speeds) + (kind == "screw") == np.linalg.matrix_rank(P)


def test_the_printed_direction_of_a_slide_is_in_no_null_space():
    # Document 001, eq. (4.69), takes the mean axis n; the rows m1 . d, m2 . d want the cross product of the mean m1, m2.
    mechanism = pair("prismatic")
    full = derive(mechanism, "directors")
    space = derive(mechanism, "nullspace").structure.discrete
    rng = np.random.default_rng(4)
    joints, increments = random_place(mechanism, space, rng), rng.normal(size=7)
    q0, q1 = (numbers(space.moved(joints, amount * increments, [])) for amount in (0.0, 1.0))
    directors = DirectorModel(assemble(mechanism, PLUGINS))
    place, body = directors.at.places["tested"], directors.at.bodies["b"]
    printed = ca.vertcat(ca.SX(3, 1), place.R_WF @ place.geometry.axis)
    columns = [ca.vertcat(ca.SX(12, 1), body.motions @ motion) for motion in (allowed_between(place), printed)]
    value = ca.Function("P", [directors.state], columns)
    A = np.asarray(ca.Function("A", [full.q], [ca.densify(full.constraints.A)])((q0 + q1) / 2))
    ours, theirs = (A @ numbers(column) for column in value((q0 + q1) / 2))
    assert np.abs(ours).max() < 1e-13
    assert np.abs(theirs).max() > 1e-3


@pytest.mark.parametrize(
    "kind",
    ["universal", "screw"]
    + [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind not in ("universal", "screw")],
)
def test_every_joint_moves_as_with_multipliers(kind):
    one, other = (advance(pair(kind), 0.5, 10, formulation) for formulation in ("directors", "nullspace"))
    assert_same_motion(one, other)
    assert np.ptp(other["energy.total"]) < 1e-12 * np.abs(other["energy.potential"]).max()


@pytest.mark.quick("screw", "spherical", "plane-loop", "ball")
@pytest.mark.parametrize(
    "mechanism",
    [*(pair(kind) for kind in KINDS), plane_loop("revolute"), rolling_ball()],
    ids=lambda mechanism: mechanism.name.removeprefix("pair-"),
)
def test_the_equations_in_the_next_state_are_those_in_increments_of_the_joints(mechanism):
    """Any increments, solution or not, lead to a state of which all other rows hold; the residual is the same."""
    reduced, method = derive(mechanism, "nullspace"), EnergyMomentum()
    step, natural = method.problem(reduced), reduced.structure.discrete.natural
    stated = step.unscaled.stated()
    rng, h, m = np.random.default_rng(8), 0.1, natural.constraints.count
    p = [item.default for item in mechanism.parameters]
    joints = joint_start(mechanism)
    count = len(mechanism.coordinates)
    x = numbers(reduced.coordinates.initial(joints[:count], joints[count:], p))
    x = np.concatenate([x, numbers(method.start_memory(reduced, 0.0, *map(ca.DM, (x, [], p)), h))])
    known = (0.0, x, [], p, h)
    factors = numbers(step.guess(*known)[1])
    y = rng.uniform(-0.3, 0.3, step.residual.numel_in(0))
    share = factors[1 + reduced.nv + reduced.structure.discrete.kept :][:m]
    lam = y[reduced.nv : reduced.nv + m] * share * factors[0] / h**2
    residual, after = (numbers(function(y, *known, factors)) for function in (step.residual, step.following))
    rows = numbers(stated.rows(after, lam, *known, factors))
    assert len(rows) == len(after) + m == len(step.rows) + len(stated.names)
    # Rates of some 10 /s, of arms of 1 m, in units of round-off.
    assert np.abs(rows[len(residual) :]).max() < 1e-12
    assert rows[: len(residual)] == pytest.approx(residual, abs=1e-12 * np.abs(residual).max())
    # Each of them says something: no state but this one keeps them all.
    slope = stated.rows.factory("slope", stated.rows.name_in(), ["jac:o0:i0"])
    J = np.asarray(slope(after, lam, *known, factors))[len(residual) :]
    assert np.linalg.matrix_rank(J) == len(J) == len(after) - reduced.nv - reduced.nz


def rates_at_nodes(reduced, history, p):
    """Return all rates v of a run, from its places alone: v1 = 2 (q1 - q0)/h - v0 (document 001, eq. 3.33)."""
    natural = reduced.structure.discrete.natural
    q = history.values[:, : natural.nq]
    nu = history.values[0, natural.nq : natural.nq + reduced.nv]
    v = [numbers(reduced.structure.discrete.rates(q[0], nu, p))]
    h = history.time[1] - history.time[0]
    for before, after in itertools.pairwise(q):
        v.append(2 * (after - before)[: natural.nv] / h - v[-1])
    return q, np.array(v)


@pytest.mark.quick("A20")
@pytest.mark.parametrize(
    ("settings", "steps"),
    [(CASE_B, 5), (CASE_A, 20), pytest.param(CASE_B, 20, marks=pytest.mark.slow)],
    ids=["B5", "A20", "B20"],
)
def test_the_satellite_keeps_its_momentum_with_nine_unknowns(settings, steps):
    reduced, full = derive(SATELLITE, "nullspace"), derive(SATELLITE, "directors")
    p = [settings.get(item.name, item.default) for item in SATELLITE.parameters]
    method = EnergyMomentum()
    assert ReducedStep(method, reduced, reduced.structure.discrete).unknowns == method.problem(reduced).guess.numel_out(0) == 9
    assert method.problem(full).guess.numel_out(0) == 48 + 39
    history = advance(SATELLITE, 5.0, steps, "nullspace", settings=settings)
    assert_same_motion(advance(SATELLITE, 5.0, steps, "directors", settings=settings), history)
    q, v = rates_at_nodes(reduced, history, p)
    momentum = ca.Function("J", [full.q, full.v, full.p], [angular_momentum(full.q, full.v, full.M)])
    J = np.array([numbers(momentum(*state, p)) for state in zip(q, v, strict=True)])
    assert np.abs(J - J[0]).max() < 2e-11
    kinetic = ca.Function("T", [full.q, full.v, full.p], [full.kinetic])
    T = np.array([float(kinetic(*state, p)) for state in zip(q, v, strict=True)])
    # What is observed is the energy of these rates, which friction or torques change.
    assert history["energy.kinetic"] == pytest.approx(T, rel=1e-11)
    if settings is CASE_B:
        assert T[-1] == pytest.approx({5: 913.381, 20: 841.425}[steps], abs=5e-4)


def test_the_heavy_top_keeps_energy_and_has_the_multipliers_of_the_full_method():
    top, steps = model("heavy-top"), 50
    history = advance(top, 0.5, steps, "nullspace")
    assert np.ptp(history["energy.total"]) < 1e-12
    reduced, full = derive(top, "nullspace"), derive(top, "directors")
    p, h = [item.default for item in top.parameters], 0.5 / steps
    q, v = rates_at_nodes(reduced, history, p)
    assert_same_motion(advance(top, 0.5, steps, "directors"), history)
    # The full balance without multipliers is in the span of the rows of G at the mean place, and gives them back.
    parts, method = Parts(full), EnergyMomentum()
    sizes = (1, 1, full.nq, full.nv, full.nq, full.nv, full.constraints.count)
    t, length, q0, v0, q1, v1, lam = symbols = [ca.MX.sym("i", size) for size in sizes]
    s = Interval(t, length, q0, v0, ca.MX(0, 1), ca.MX(0, 1), ca.MX(0, 1), ca.MX(p), ca.MX(0, 1))
    balance = ca.Function("balance", symbols, [method.balance(parts, s, q1, v1, lam), parts.A(s, s.start, (q0 + q1) / 2)])
    for k in range(0, steps, 7):
        state = (0.0, h, q[k], v[k], q[k + 1], v[k + 1])
        missing, G = (np.asarray(part) for part in balance(*state, np.zeros(lam.numel())))
        found = np.linalg.lstsq(h * G.T, -missing.ravel(), rcond=None)[0]
        left = numbers(balance(*state, found)[0])
        assert np.abs(left).max() < 1e-12 * np.abs(missing).max()


def four_bar():
    """Return a plane loop closed by a hinge: three of the closure's rows are redundant."""
    return plane_loop("revolute")


@pytest.mark.parametrize("mechanism", [four_bar(), rolling_ball()], ids=lambda mechanism: mechanism.name)
def test_loops_keep_their_multipliers(mechanism):
    one, other = (advance(mechanism, 0.5, 25, f, close_loops=True) for f in ("directors", "nullspace"))
    assert_same_motion(one, other)
    assert np.ptp(other["energy.total"]) < 1e-11 * np.abs(other["energy.kinetic"]).max()


@pytest.mark.parametrize("name", ["double-pendulum", pytest.param("rotary-crane", marks=pytest.mark.slow)])
def test_bodies_without_volume_and_angles_that_are_followed(name):
    one, other = (advance(model(name), 0.5, 50, f) for f in ("directors", "nullspace"))
    assert_same_motion(one, other)


def test_large_turns_in_a_step_are_found_where_the_full_method_fails():
    # Joint coordinates are a better guess than straight directors: 1.5 rad in a step.
    wheel = Mechanism(
        "wheel",
        bodies=(Body("wheel", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.15, 0.2)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1), start_rate=15.0),),
    )
    history = advance(wheel, 1.0, 10, "nullspace")
    assert np.ptp(history["energy.total"]) < 1e-12 * history["energy.total"][0]


def test_machine_code_gives_the_same_as_the_interpreter():
    one, other = (advance(model("heavy-top"), 0.1, 10, "nullspace", backend=backend) for backend in ("vm", "auto"))
    assert np.abs(one.values - other.values).max() < 1e-11
