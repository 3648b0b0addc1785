"""Unit quaternions against joint coordinates, natural coordinates and closed forms (document 001, chapter 5)."""

import dataclasses
import functools

import casadi as ca
import numpy as np
import pytest

from kingpost import (
    Body,
    Closure,
    Force,
    ForceElement,
    Input,
    Joint,
    Loads,
    MechanismError,
    PluginError,
    PluginSet,
    SolverError,
    prepare,
    simulate,
)
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.load_request import LoadRequest
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.quaternions.bodies import convective, left, quaternion_mass_matrix, spatial
from kingpost.registry.registry import Origin
from kingpost.registry.selection import select
from kingpost.symbols.screws import rotation_of_quaternion
from kingpost.testing import FORMULATION_CHECKS
from kingpost.testing import formulations as kit
from kingpost.testing.formulations import check_no_degrees_of_freedom
from kingpost.testing.problems import random_tree
from tests.validation.natural import numbers


class Drive(Force):
    """Efforts along the generalized speeds of a joint, one of them from a Python function; and a spring on a coordinate."""

    name = "drive"

    def loads(self, kinematics):
        (joint,) = (joint for joint in kinematics.mechanism.joints if joint.name == "joint1")
        first, last = joint.speeds[0].name, joint.speeds[-1].name
        pull = kinematics.call(lambda w: -0.3 * w**3, kinematics.rate(first), size=1)
        efforts = {first: pull, last: 0.7 * kinematics.coordinate(joint.positions[1].name)}
        return Loads(efforts=efforts, signals={"pull": (2 * pull, "N.m")})


PLUGINS = PluginSet(entry_points=False)
PLUGINS.forces.add(Drive, Origin("file", __file__, "tests", "local"))
SCALE = [1.0]


def derive(mechanism, formulation="quaternions"):
    return select(PLUGINS.formulations, formulation).derive(assemble(mechanism, PLUGINS))


def random_bodies(seed, bodies=2):
    """Return bodies of random shape, each on the world by a spherical or free joint, with gravity."""
    tree = random_tree(seed, bodies, ("spherical", "free"))
    return dataclasses.replace(tree, joints=tuple(dataclasses.replace(joint, parent="world") for joint in tree.joints))


def states(mechanism, ours, seed, count=3):
    """Yield random joint coordinates and speeds, and the quaternions and rates that belong to them."""
    rng = np.random.default_rng(seed)
    rows = quaternion_rows(mechanism)
    for _ in range(count):
        q, v = rng.normal(size=len(mechanism.coordinates)), rng.normal(size=len(mechanism.speeds))
        for row in rows:
            q[row : row + 4] /= np.linalg.norm(q[row : row + 4])
        yield (q, v, *ours.split(numbers(ours.coordinates.initial(q, v, SCALE))))


def test_the_algebra_of_the_document():
    rng = np.random.default_rng(1)
    q, rate = rng.normal(size=(2, 4))
    q /= np.linalg.norm(q)
    rate -= q * (q @ rate)
    E1, E2, Q = (np.asarray(make(ca.DM(q))) for make in (spatial, convective, left))
    R = np.asarray(rotation_of_quaternion(ca.DM(q)))
    assert np.abs(E1 @ E2.T - R).max() < 1e-15  # (5.9)
    # (5.10): omega = 2 E1 q' is the spatial angular velocity, Omega = 2 E2 q' the convective one, from differences of R.
    turned = [np.asarray(rotation_of_quaternion(ca.DM(q + sign * 1e-6 * rate))) for sign in (1, -1)]
    R_rate = (turned[0] - turned[1]) / 2e-6
    for found, skew in ((2 * E1 @ rate, R_rate @ R.T), (2 * E2 @ rate, R.T @ R_rate)):
        assert found == pytest.approx([skew[2, 1], skew[0, 2], skew[1, 0]], abs=1e-9)
    # (5.15)-(5.18): M4 is what the directors' mass matrix becomes on d_i(q), and has the inverse Ql J4^-1 Ql' / 4.
    J = np.array([[1.0, 0.1, 0.2], [0.1, 1.2, -0.1], [0.2, -0.1, 0.9]])
    symbol = ca.SX.sym("q", 4)
    directors = ca.vec(spatial(symbol) @ convective(symbol).T)
    P = np.asarray(ca.Function("P", [symbol], [ca.jacobian(directors, symbol)])(q))
    M4 = np.asarray(quaternion_mass_matrix(ca.DM(q), ca.DM(J)))
    E = np.trace(J) / 2 * np.eye(3) - J
    assert P.T @ np.kron(E, np.eye(3)) @ P == pytest.approx(M4, abs=1e-14)
    J4 = np.zeros((4, 4))
    J4[0, 0], J4[1:, 1:] = np.trace(J) / 2, J
    assert Q @ np.linalg.solve(J4, Q.T) / 4 @ M4 == pytest.approx(np.eye(4), abs=1e-14)
    Omega = 2 * E2 @ rate
    assert rate @ M4 @ rate == pytest.approx(Omega @ J @ Omega, rel=1e-14)


class Bodies(kit.Subject):
    """The conformance kit on machines that this formulation is for."""

    def trees(self):
        return self.made

    @functools.cached_property
    def made(self):
        found = []
        for seed in range(4):
            mechanism = random_bodies(seed, 1 + seed % 3)
            equations = self.derive(mechanism)
            places = [(Q, V) for _, _, Q, V in states(mechanism, equations, seed)]
            found.append((equations, self.assemble(mechanism), places))
        return found


def test_the_conformance_kit():
    subject = Bodies(PLUGINS.formulations.get("quaternions"), PLUGINS)
    assert {joint.kind for equations, _, _ in subject.trees() for joint in equations.mechanism.joints} == {"spherical", "free"}
    for check in FORMULATION_CHECKS:
        if check is not check_no_degrees_of_freedom:  # there is always some
            check(subject)


def with_everything(mechanism):
    """Return bodies with every kind of force that can act on them."""
    stiffness = [[float(i == j) * (5 + i) for j in range(6)] for i in range(6)]
    stiffness[2][4] = stiffness[4][2] = 0.7
    forces = (
        ForceElement("body-wrench", name="push", body="body0", moment=(1, "u0", 3), force=(3, -1, 2), at=(0.1, 0.2, 0.3)),
        ForceElement("body-wrench", name="world-push", body="body1", moment=(1, 2, 3), force=("cos(t)", 1, 0), frame="world"),
        ForceElement("hydrostatic", body="body1", matrix=stiffness, position=(0.1, 0, 0.2)),
        ForceElement("drive"),
        ForceElement(
            "point-spring", body="body1", other="body0", at=(0.1, 0.5, 0.3), other_at=(1, 2, 0), length=0.3,
            stiffness=(20.0, 3.0), damping=3.0,
        ),
    )  # fmt: skip
    return dataclasses.replace(mechanism, inputs=(Input("u0", "N.m"),), forces=(*mechanism.forces, *forces))


@pytest.mark.parametrize("seed", [1, 2])
def test_forces_motion_and_joint_loads_are_those_of_joint_coordinates(seed):
    mechanism = with_everything(random_bodies(seed))
    assembly = assemble(mechanism, PLUGINS)
    requests = [LoadRequest(joint.name) for joint in mechanism.joints]
    kane, ours = derive(mechanism, "kane"), derive(mechanism)
    theirs_loads = derive_loads(assembly, kane, select(PLUGINS.joint_loads, "recursive"), requests)
    own_loads = [
        derive_loads(assembly, ours, select(PLUGINS.joint_loads, method), requests)
        for method in ("recursive", "auxiliary-speeds")
    ]
    shown = len(kane.output_channels)
    assert ours.output_channels[:shown] == kane.output_channels
    t, u = 0.4, [0.8]
    for q, v, Q, V in states(mechanism, ours, seed):
        assert numbers(ours.constraint_residuals(t, Q, V, SCALE)[0]) == pytest.approx(0.0, abs=1e-15)
        assert numbers(ours.constraint_residuals(t, Q, V, SCALE)[1]) == pytest.approx(0.0, abs=1e-15)
        vdot = ours.accelerations(t, Q, V, u, SCALE)
        joints, speeds, rates = (numbers(part) for part in ours.coordinates.joint_state(Q, V, vdot, SCALE))
        expected = numbers(kane.accelerations(t, q, v, u, SCALE))
        assert joints == pytest.approx(q, abs=1e-13)
        assert speeds == pytest.approx(v, abs=1e-13)
        assert rates == pytest.approx(expected, rel=1e-10, abs=1e-10)
        theirs, own = (
            numbers(equations.observations(t, *state, u, SCALE)) for equations, state in ((kane, (q, v)), (ours, (Q, V)))
        )
        # Outputs, motions of the free joint, and what the drive shows.
        assert own[:shown] == pytest.approx(theirs[:shown], abs=1e-12)
        assert own[-3:] == pytest.approx(theirs[-3:], rel=1e-12)
        exact = numbers(theirs_loads.function(t, q, v, expected, [], u, SCALE))
        for loads in own_loads:
            found = numbers(loads.function(t, Q, V, vdot, ours.multipliers(t, Q, V, u, SCALE), u, SCALE))
            assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)
    with pytest.raises(PluginError, match="does not say what its multipliers amount to in joint"):
        derive_loads(assembly, ours, select(PLUGINS.joint_loads, "multipliers"), requests)


TOP = PLUGINS.models.get("heavy-top")().build()


def springy():
    """A free body that tumbles on a spring with a damper, and one that swings on a ball joint beside it."""
    return dataclasses.replace(
        TOP,
        name="springy",
        parameters=(),
        bodies=(
            Body("hull", mass=2.0, com=(0.1, 0, 0.05), inertia=(0.3, 0.5, 0.7, 0.02, 0, 0.03)),
            Body("bob", mass=1.0, com=(0, 0, -0.4), inertia=(0.02, 0.03, 0.01)),
        ),
        joints=(
            Joint("float", "free", "world", "hull", position=(0, 0, 1), start_rate=(0.5, 2.0, 0.3, 0.2, 0.0, 0.4)),
            Joint("ball", "spherical", "world", "bob", position=(1, 0, 1), start_rate=(1.0, 2.0, 3.0)),
        ),
        forces=(
            ForceElement("gravity"),
            ForceElement(
                "point-spring", body="hull", other="world", at=(0.3, 0.1, 0), other_at=(0, 0, 2.0), length=0.6, stiffness=30.0,
                damping=0.5,
            ),
            ForceElement(
                "point-spring", name="link", body="hull", other="bob", at=(0, 0.2, 0), other_at=(0, 0, -0.4), length=0.5,
                stiffness=8.0,
            ),
        ),
        outputs=(),
    )  # fmt: skip


def seen(history, mechanism):
    """Return joint coordinates, speeds and energies."""
    names = [item.name for item in (*mechanism.coordinates, *mechanism.speeds)]
    return np.array([history[name] for name in (*names, "energy.kinetic", "energy.potential")])


@pytest.mark.parametrize(
    ("mechanism", "t_end", "step"), [(TOP, 0.05, 5e-5), (springy(), 0.5, 1e-3)], ids=lambda item: getattr(item, "name", item)
)
def test_a_converged_motion_and_its_loads_are_those_of_kane_and_directors(mechanism, t_end, step):
    options = {"step": step, "output_step": t_end / 5, "plugins": PLUGINS, "backend": "vm", "loads": "all"}
    kane, ours = (simulate(mechanism, t_end, formulation=name, **options) for name in ("kane", "quaternions"))
    scale = np.abs(seen(kane, mechanism)).max()
    assert np.abs(seen(ours, mechanism) - seen(kane, mechanism)).max() < 1e-8 * scale
    for joint in mechanism.joints:
        exact, found = (history.loads(joint.name).total for history in (kane, ours))
        assert np.abs(found - exact).max() < 1e-8 * max(1.0, np.abs(exact).max())
    natural = simulate(mechanism, t_end, formulation="directors", **options)
    # Directors tell a quaternion up to its sign.
    assert np.abs(np.abs(seen(natural, mechanism)) - np.abs(seen(kane, mechanism))).max() < 1e-8 * scale


#: Method and order, on positions, speeds and multipliers alike.
ORDERS = {
    "backward-euler": 1,
    "midpoint": 2,
    "energy-momentum": 2,
    "quaternion-energy-momentum": 2,
    "variational": 2,
    "generalized-alpha": 2,
    "bdf2": 2,
    "radau2": 3,
    "rk4": 4,
}


@pytest.fixture(scope="module")
def reference():
    """Joint coordinates and speeds after 0.4 s, of kane."""
    history = simulate(springy(), 0.4, step=5e-4, output_step=0.4, plugins=PLUGINS, backend="vm")
    return seen(history, springy())[:-2, -1]


@pytest.mark.parametrize("name", ORDERS)
def test_every_integrator_has_its_order_on_quaternions(name, reference):
    errors = []
    for steps in (20, 40):
        options = {"step": 0.4 / steps, "output_step": 0.4, "plugins": PLUGINS, "backend": "vm"}
        simulation = prepare(springy(), 0.4, formulation="quaternions", integrator=name, **options)
        history, ours = simulation.run(), simulation.equations
        gap = ours.constraint_residuals(0.4, *ours.split(history.values[-1, : ours.nq + ours.nv]), [])[0]
        assert np.abs(numbers(gap)).max() < 1e-14
        q, v = ours.split(history.values[-1, : ours.nq + ours.nv])
        exact = ours.split(numbers(ours.coordinates.initial(*np.split(reference, [11]), [])))
        lam, exact_lam = (numbers(ours.multipliers(0.4, *state, [], [])) for state in ((q, v), exact))
        errors.append([np.abs(part).max() for part in (q - exact[0], v - exact[1], lam - exact_lam)])
    orders = np.log2(errors[0]) - np.log2(errors[1])
    # Larger than its order by chance, smaller only by what is left of higher terms.
    assert orders.min() > ORDERS[name] - 0.25, orders
    assert orders.max() < ORDERS[name] + 1.0, orders


def test_what_is_no_set_of_single_bodies_is_refused():
    chain = dataclasses.replace(springy(), joints=(springy().joints[0], Joint("ball", "spherical", "hull", "bob")))
    with pytest.raises(MechanismError, match="is for bodies that hang on the world; 'bob' hangs on 'hull'"):
        derive(chain)
    with pytest.raises(MechanismError, match=r"takes no revolute joint \('shoulder'\), revolute joint \('elbow'\)"):
        derive(PLUGINS.models.get("double-pendulum")().build())
    tied = dataclasses.replace(springy(), closures=(Closure("rod", "distance", "hull", "bob", length=1.0),))
    with pytest.raises(MechanismError, match=r"takes no distance closure \('rod'\)"):
        derive(tied)
    for formulation in ("kane", "directors"):
        with pytest.raises(
            SolverError, match=rf"unit quaternions.*formulation '{formulation}'. Take the formulation 'quaternions'"
        ):
            prepare(TOP, 1.0, integrator="quaternion-energy-momentum", formulation=formulation, plugins=PLUGINS, backend="vm")
