"""Natural coordinates in a plane, six for each body, against those in space and against joint coordinates."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, LoadRequest, Mechanism, MechanismError, simulate
from kingpost.equations.consistency import consistent_start
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from tests.validation.natural import PLUGINS, TOLERANCE, assert_close, derive, joint_start, model, numbers

PLANAR = "directors:planar=true"


def assert_moves_and_carries_as_in_joint_coordinates(mechanism, count=2, tolerance=TOLERANCE):
    """Compare accelerations and all loads, those across the plane, too, at random consistent states."""
    kane, ours = derive(mechanism, "kane"), derive(mechanism, PLANAR)
    p = np.array([item.default for item in mechanism.parameters])
    u = np.full(len(mechanism.inputs), 2.0)
    start = joint_start(mechanism)
    kane = without_redundant_rows(kane, 0.0, start, p)
    begin = consistent_start(kane, 0.0, start, p, far=True).x
    ours = without_redundant_rows(ours, 0.0, numbers(ours.coordinates.initial(*kane.split(begin), p)), p)
    assembly, requests = assemble(mechanism, PLUGINS), [LoadRequest(joint.name) for joint in mechanism.joints]
    way = select(PLUGINS.joint_loads, "recursive")
    loads = [derive_loads(assembly, equations, way, requests) for equations in (kane, ours)]
    compared = [i for i, channel in enumerate(loads[0].channels) if ".pose.e" not in channel.name]
    rng = np.random.default_rng(0)
    for _ in range(count):
        q, v = kane.split(consistent_start(kane, 0.0, begin + 0.05 * rng.normal(size=len(begin)), p, far=True).x)
        Q, V = ours.split(numbers(ours.coordinates.initial(q, v, p)))
        for residual in ours.constraint_residuals(0, Q, V, p):
            assert_close(numbers(residual), 0.0, "constraints", 1e-9)
        vdot, own = numbers(kane.accelerations(0, q, v, u, p)), ours.accelerations(0, Q, V, u, p)
        assert_close(numbers(ours.coordinates.joint_state(Q, V, own, p)[2]), vdot, "accelerations", tolerance)
        theirs = numbers(loads[0].function(0, q, v, vdot, kane.multipliers(0, q, v, u, p), u, p))
        found = numbers(loads[1].function(0, Q, V, own, ours.multipliers(0, Q, V, u, p), u, p))
        assert_close(found[compared], theirs[compared], "loads", tolerance)
    return ours


@pytest.mark.parametrize(
    "name",
    ["double-pendulum", "slider-crank"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("four-bar", "andrews-squeezer", "three-link-manipulator")],
)
def test_models_in_a_plane_move_and_carry_as_in_joint_coordinates(name):
    mechanism = model(name)
    ours = assert_moves_and_carries_as_in_joint_coordinates(mechanism)
    bodies = len(mechanism.bodies)
    assert ours.nv == 6 * bodies
    assert not ca.depends_on(ours.M, ca.vertcat(ours.q, ours.v))
    # Three rows for the directors of each body, two for each of its joints, and the closures; nothing is left over.
    loops = sum(owner in {closure.name for closure in mechanism.closures} for owner in ours.constraints.owners)
    assert ours.constraints.count == 5 * bodies + loops
    assert len(mechanism.speeds) == bodies


def skew_machine(closures=(), kinds=("revolute", "prismatic")):
    """Return a machine in a skew plane, with bodies beside it, full inertias and skew frames."""
    inertia = (1.0, 1.2, 1.4, 0.1, 0.2, -0.1)
    hinge, slide = kinds
    return Mechanism(
        "skew",
        bodies=(
            Body("a", mass=1.0, com=(0.5, 0.1, 0.3), inertia=inertia),
            Body("b", mass=2.0, com=(0.2, -0.4, 0.2), inertia=inertia),
            Body("c", mass=0.5, com=(0.3, 0.0, -0.6), inertia=inertia),
            Body("d", mass=0.7, com=(0.1, 0.1, 0.1), inertia=inertia),
        ),
        joints=(
            Joint("base", hinge, "world", "a", axis=(0, 0, 1), rotation=(0.3, 0.5, 0.7), start=0.4, start_rate=1.0),
            # The hinge of b is the same axis seen from a turned frame.
            Joint("elbow", hinge, "a", "b", axis=(0, 1, 0), rotation=(np.pi / 2, 0, 0), position=(1, 0, 0.2), start=0.5),
            Joint("slide", slide, "b", "c", axis=(0.6, 0, 0.8), position=(0.5, 0, 0), start=0.3, start_rate=0.7),
            Joint("fixed", "weld", "c", "d", rotation=(0.2, 0.9, 0.1), position=(0.1, 0.2, 0.3)),
        ),
        closures=tuple(closures),
        forces=(ForceElement("gravity"),),
    )


def test_a_plane_may_be_skew_and_bodies_beside_it():
    ours = assert_moves_and_carries_as_in_joint_coordinates(skew_machine())
    assert ours.nv - ours.constraints.count == 3


CLOSURES = {
    "point-on-line": {"axis": (0, 1, 0)},
    "revolute": {"axis": (0, 1, 0)},
    "prismatic": {"axis": (1, 0, 0)},
    "weld": {},
    "distance": {"length": 1.0},
    "rope": {"length": 0.8, "coordinates": ("turn.angle",), "radius": 0.2},
    "gear": {"coordinates": ("turn.angle", "other.angle"), "ratio": -1.5, "offset": 0.1},
}


@pytest.mark.parametrize("kind", CLOSURES)
def test_closures_in_a_plane(kind):
    ends = {} if kind == "gear" else {"parent": "arm", "child": "plate", "position": (1, 0, 0), "child_position": (0, 0, -0.1)}
    mechanism = Mechanism(
        f"closed-{kind}",
        bodies=(
            Body("arm", mass=2.0, com=(0.5, 0, 0.1), inertia=(0.5, 0.6, 0.7)),
            Body("plate", mass=1.0, com=(0.1, 0, 0.2), inertia=(0.4, 0.3, 0.35)),
            Body("wheel", mass=1.5, com=(0, 0, 0.1), inertia=(0.1, 0.2, 0.15)),
        ),
        joints=(
            Joint("turn", "revolute", "world", "arm", axis=(0, 1, 0), start=0.3, start_rate=0.5),
            Joint("float", "planar", "world", "plate", axis=(0, 1, 0), axis2=(1, 0, 0), start=(0.9, 0.6, 0.2)),
            Joint("other", "revolute", "arm", "wheel", axis=(0, 1, 0), position=(0.4, 0, 0)),
        ),
        closures=(Closure("tie", kind, **ends, **CLOSURES[kind]),),
        forces=(ForceElement("gravity"),),
    )
    ours = assert_moves_and_carries_as_in_joint_coordinates(mechanism, count=1, tolerance=1e-8)
    rows = {"weld": 3, "distance": 1, "rope": 1, "gear": 1}.get(kind, 2)
    assert sum(owner == "tie" for owner in ours.constraints.owners) == rows


def floating_machine(friction):
    """Return two bodies in the plane that nothing outside acts on."""
    # A spring of no length: its potential is quadratic. Of others the method keeps the energy, and linear momentum alone.
    forces = [
        ForceElement("point-spring", body="a", other="b", at=(0.3, 0, 0), other_at=(0.8, 0, 0.1), stiffness=4.0, length=0.0)
    ]
    if friction:
        forces.append(ForceElement("joint-friction", coordinate="hinge.angle", viscous=2.0))
    return Mechanism(
        "floating",
        bodies=(
            Body("a", mass=1.0, com=(0.2, 0, 0.1), inertia=(1, 1.2, 0.9)),
            Body("b", mass=2.0, com=(0.5, 0, 0), inertia=(0, 1, 1)),
        ),
        joints=(
            Joint("base", "planar", "world", "a", axis=(0, -1, 0), axis2=(1, 0, 0), start_rate=(1.0, 0.5, 2.0)),
            Joint("hinge", "revolute", "a", "b", axis=(0, -1, 0), position=(1, 0, 0), start_rate=-3.0),
        ),
        forces=tuple(forces),
    )


@pytest.mark.parametrize("friction", [False, True])
def test_energy_and_momenta_are_kept_at_large_steps(friction):
    mechanism = floating_machine(friction)
    options = {"integrator": "energy-momentum", "step": 0.1, "output_step": 0.1, "plugins": PLUGINS, "backend": "vm"}
    history = simulate(mechanism, 3.0, formulation=PLANAR, **options)
    ours = derive(mechanism, PLANAR)
    momentum = ca.Function("m", [ours.v], [ours.M @ ours.v])
    rows = []
    for row in history.values:
        y, w = row[: ours.nv].reshape(-1, 2), row[ours.nq : ours.nq + ours.nv]
        mv = numbers(momentum(w)).reshape(-1, 2)
        # Of the centres of mass, and the sum of y x (M v) over all vectors of the plane.
        rows.append([*mv[::3].sum(axis=0), float(np.sum(y[:, 0] * mv[:, 1] - y[:, 1] * mv[:, 0]))])
    rows = np.array(rows)
    assert np.abs(rows[0]).min() > 0.1
    assert np.abs(rows - rows[0]).max() < 1e-12
    energy = history["energy.total"]
    if friction:
        assert (np.diff(energy) < 0).all()
    else:
        assert np.ptp(history["energy.kinetic"]) > 0.1
        assert np.ptp(energy) < 1e-12 * energy[0]


def test_the_motion_is_that_of_directors_in_space():
    options = {"integrator": "energy-momentum", "step": 0.02, "output_step": 0.1, "plugins": PLUGINS, "backend": "vm"}
    one, other = (simulate(model("four-bar"), 0.5, formulation=f, **options) for f in ("directors", PLANAR))
    shared = [name for name in one.names if name in other.names]
    assert len(shared) > 10
    for name in shared:
        assert_close(other[name], one[name], name, 1e-11)
    exact, found = (simulate(model("four-bar"), 0.2, formulation=f, plugins=PLUGINS, backend="vm") for f in ("kane", PLANAR))
    for name in exact.names:
        assert_close(found[name], exact[name], name, 1e-8)


def test_machines_that_leave_the_plane_are_refused_by_name():
    with pytest.raises(MechanismError, match=r"joint 'tip' is spherical, which leaves any plane"):
        derive(model("heavy-top"), PLANAR)
    skew = skew_machine()
    tilted = dataclasses.replace(skew.joints[1], rotation=(np.pi / 2 + 0.1, 0, 0))
    with pytest.raises(MechanismError, match=r"joint 'elbow' turns about an axis that is off by 5.73 degrees"):
        derive(dataclasses.replace(skew, joints=(skew.joints[0], tilted, *skew.joints[2:])), PLANAR)
    beside = Closure("pin", "spherical", "world", "b", position=(1, 0, 0), child_position=(0, 0.1, 0))
    with pytest.raises(MechanismError, match=r"'pin' asks for something across the plane of the machine that is off by"):
        derive(dataclasses.replace(skew, closures=(beside,)), PLANAR)
    sideways = dataclasses.replace(skew.joints[2], axis=(0.0, 1.0, 0.0))
    with pytest.raises(MechanismError, match=r"joint 'slide' slides along an axis that is off by 90 degrees"):
        derive(dataclasses.replace(skew, joints=(*skew.joints[:2], sideways, skew.joints[3])), PLANAR)
