"""Joint coordinates as coordinates of their own: the crane of document 000 with 42 coordinates, work, ranks and momenta."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, PluginError, PluginSet, simulate
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, parameter_row

PLUGINS = PluginSet(entry_points=False)
ANGLE = "directors:effort=angle"
AS_PRINTED = "directors:effort=angle,points=true"
EPS = np.finfo(float).eps


def crane():
    return select(PLUGINS.models, "rotary-crane:form=rope").build()


def in_coordinates(mechanism, formulation):
    return derive(assemble(mechanism, PLUGINS), formulation, PLUGINS)


def jacobian_at(formulation, slew, winch):
    """Return the constraints of the crane, and their Jacobian, at two angles, with its load straight below the trolley."""
    mechanism = crane()
    equations = in_coordinates(mechanism, formulation)
    p = parameter_row(mechanism, resolve_values(mechanism, {}))
    s = 2.5
    load = {"hook.x": s * np.cos(slew), "hook.y": s * np.sin(slew), "hook.z": -(5.0 + 0.1 * winch)}
    joints = {"slew.angle": slew, "travel.displacement": s, "winch-axle.angle": winch, **load}
    q = [joints[item.name] for item in mechanism.coordinates]
    own = equations.split(np.asarray(equations.coordinates.initial(q, np.zeros(len(q)), p)).ravel())[0]
    held = equations.constraints
    parts = ca.Function("parts", [equations.t, equations.q, equations.p], [held.phi, ca.densify(held.A)])
    return tuple(np.asarray(part) for part in parts(0, own, p))


def test_the_crane_of_document_000_has_42_coordinates_and_37_constraints():
    """Eqs. (2.92)-(2.116): 36 of three bodies, three of the load, two angles and s; 18 + 5 + 5 + 5 + 1 + 3 rows."""
    equations = in_coordinates(crane(), AS_PRINTED)
    assert (equations.nq, equations.nv, equations.constraints.count) == (42, 42, 37)
    names = [item.name for item in equations.position_quantities]
    assert names[36:] == [
        *("load.r.x", "load.r.y", "load.r.z"),
        *("slew.angle.driven", "travel.displacement.driven", "winch-axle.angle.driven"),
    ]
    owners = equations.constraints.owners
    assert {owner: owners.count(owner) for owner in owners} == {
        **{"girder.directors": 6, "trolley.directors": 6, "winch.directors": 6, "slew": 5, "travel": 5, "winch-axle": 5},
        **{"winding": 1, "slew.angle.driven": 1, "travel.displacement.driven": 1, "winch-axle.angle.driven": 1},
    }
    # Eq. (2.114): M = diag(M1, M2, M3, m4 I3, 0, 0, 0), constant.
    mass = np.asarray(ca.DM(ca.substitute(equations.M, equations.p, [p.default for p in equations.mechanism.parameters])))
    directors = {"girder": (8.335, 8.335, 208.335), "trolley": (1.04, 1.04, 1.04), "winch": (0.01, 0.25, 0.01)}
    bodies = [
        [m] * 3 + [E for E in directors[name] for _ in range(3)] for name, m in (("girder", 100), ("trolley", 50), ("winch", 3))
    ]
    assert np.abs(mass - np.diag([*np.concatenate(bodies), 10, 10, 10, 0, 0, 0])).max() < 1e-12


def test_constraints_are_of_full_rank_at_every_angle():
    for slew, winch in ((0.3, 0.2), (3 * np.pi / 4, 0.2), (0.3, 3 * np.pi / 4), (-np.pi / 4, -13 * np.pi / 4), (1.0, -30.0)):
        phi, A = jacobian_at(AS_PRINTED, slew, winch)
        assert np.abs(phi).max() < 1e-12
        assert np.linalg.matrix_rank(A) == 37


def test_the_angle_closure_that_document_000_prints_loses_a_rank_at_three_quarters_of_pi():
    """Eq. (2.104): at 3 pi/4 + k pi of either angle; its own manoeuvre ends at 3 pi/4."""
    printed = "directors:effort=printed,points=true"
    for slew, winch, rank in (
        (0.3, 0.2, 37),
        (3 * np.pi / 4, 0.2, 36),
        (0.3, 3 * np.pi / 4, 36),
        (-np.pi / 4, 0.2, 36),
        (0.3, -13 * np.pi / 4, 36),
        (3 * np.pi / 4, -np.pi / 4, 35),
    ):
        phi, A = jacobian_at(printed, slew, winch)
        assert np.abs(phi).max() < 1e-12
        assert np.linalg.matrix_rank(A, tol=1e-9) == rank


@pytest.mark.quick("directors:effort=angle,points=true")
@pytest.mark.parametrize("formulation", [ANGLE, AS_PRINTED, "directors:points=true"])
def test_the_crane_moves_as_in_joint_coordinates(formulation):
    options = {"step": 1e-3, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "loads": "all"}
    inputs = {"slew_torque": 30.0, "trolley_force": -20.0, "winch_torque": -4.0}
    one, other = (simulate(crane(), 0.2, formulation=f, inputs=inputs, **options) for f in ("kane", formulation))
    channels = ("load.x", "load.y", "load.z", "slew.angle", "travel.displacement", "winch-axle.angle", "winding.tension")
    channels += ("slew.Mz", "slew.actuator.Mz", "winch-axle.My", "travel.Fx", "winch-axle.closure.My")
    for channel in channels:
        assert other[channel] == pytest.approx(one[channel], rel=1e-7, abs=1e-7), channel


def test_torques_do_exactly_the_work_of_their_angles_at_large_steps():
    """u dtheta in every step of the energy-momentum method, whatever its length; as wrenches they do it only in the mean."""
    torques = {"slew_torque": 40.0, "trolley_force": -15.0, "winch_torque": -6.0}
    angles = {"slew_torque": "slew.angle", "trolley_force": "travel.displacement", "winch_torque": "winch-axle.angle"}
    options = {"step": 0.05, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "integrator": "energy-momentum"}
    missing = {}
    for formulation in (AS_PRINTED, "directors:points=true"):
        history = simulate(crane(), 1.0, formulation=formulation, inputs=torques, **options)
        work = sum(torque * (history[angles[name]] - history[angles[name]][0]) for name, torque in torques.items())
        gained = history["energy.total"] - history["energy.total"][0]
        assert np.abs(work).max() > 50.0
        missing[formulation] = np.abs(gained - work).max()
        if formulation == AS_PRINTED:
            driven = [history[f"{name}.driven"] - history[name] for name in angles.values()]
            assert np.abs(driven).max() < 1e-9
    size = 1e3  # J of kinetic and potential energy
    assert missing[AS_PRINTED] < 20 * 1000 * EPS * size
    assert missing["directors:points=true"] > 1e3 * missing[AS_PRINTED]


def test_without_drives_energy_and_angular_momentum_stay_at_large_steps():
    """The winch turns by some 20 rad: through 3 pi/4 and on."""
    options = {"step": 0.02, "output_step": 0.02, "plugins": PLUGINS, "backend": "vm", "integrator": "energy-momentum"}
    history = simulate(crane(), 0.8, formulation=AS_PRINTED, monitors=True, **options)
    assert np.ptp(history["winch-axle.angle"]) > 20.0
    assert np.ptp(history["energy.total"]) < 40 * 1000 * EPS * 1e3
    momentum = history["momentum.angular.z"]
    assert momentum[0] == pytest.approx(160.76, abs=0.005)
    assert np.ptp(momentum) < 40 * 1000 * EPS * momentum[0]


def everything():
    """Return a machine with drives, springs and a gear on joints of all kinds whose coordinates have rates of their own."""
    kinds = {
        "revolute": {"axis": (0.2, 1, 0.1)},
        "universal": {"axis": (1, 0, 0), "axis2": (0, 0.8, 0.6)},
        "cylindrical": {"axis": (0, 0.6, 0.8)},
        "gimbal": {"sequence": "zxz"},
        "planar": {"axis": (0, 0, 1), "axis2": (1, 0, 0)},
        "screw": {"axis": (0, 1, 0.3), "pitch": 0.2},
        "prismatic": {"axis": (1, 0.2, 0)},
        "cardan": {},
        "translational": {},
        "planar-translational": {"axis": (0, 1, 0), "axis2": (0, 0, 1)},
    }
    rng = np.random.default_rng(11)
    bodies, joints, forces = [], [], [ForceElement("gravity")]
    push = Input("push", "N", 0.7)
    for i, (kind, fields) in enumerate(kinds.items()):
        bodies.append(Body(f"body{i}", 1.0 + 0.1 * i, tuple(rng.uniform(-0.2, 0.2, 3)), (0.3, 0.4, 0.35, 0.02, 0.01, 0.03)))
        parent = "world" if i % 4 == 0 else f"body{i - 1}"
        joint = Joint(f"joint{i}", kind, parent, f"body{i}", position=tuple(rng.uniform(-0.5, 0.5, 3)), **fields)
        joints.append(joint)
        for k, item in enumerate(joint.positions):
            name = item.name.replace(".", "-")
            forces.append(ForceElement("joint-effort", name=f"{name}-drive", coordinate=item.name, effort=push * (1 + 0.3 * k)))
            spring = {"stiffness": (8.0, 1.0), "damping": 0.4, "rest": 0.2}
            forces.append(ForceElement("joint-spring", name=f"{name}-spring", coordinate=item.name, **spring))
    forces.append(
        ForceElement("joint-inertia", coordinates=("joint0.angle", "joint6.displacement"), ratios=(2.0, -3.0), inertia=0.2)
    )
    gear = Closure("gear", "gear", coordinates=("joint5.angle", "joint4.angle"), ratio=-1.5, offset=0.4)
    return Mechanism("everything", bodies=bodies, joints=joints, forces=forces, closures=(gear,), inputs=(push,))


def test_every_kind_of_joint_accelerates_as_in_joint_coordinates():
    mechanism = everything()
    plain, ours = (in_coordinates(mechanism, formulation) for formulation in ("kane", ANGLE))
    rng = np.random.default_rng(3)
    names = [item.name for item in mechanism.coordinates]
    for _ in range(3):
        q = rng.uniform(0.3, 1.0, len(names))
        v = rng.uniform(-1, 1, len(names))
        first, second = names.index("joint5.angle"), names.index("joint4.angle")
        q[first], v[first] = -1.5 * q[second] + 0.4, -1.5 * v[second]
        own = ours.split(np.asarray(ours.coordinates.initial(q, v, [])).ravel())
        held = [np.abs(np.asarray(part)).max() for part in ours.constraint_residuals(0, *own, [])]
        assert max(held) < 1e-12
        vdot = ours.coordinates.joint_state(*own, ours.accelerations(0, *own, [0.7], []), [])[2]
        expected = np.asarray(plain.accelerations(0, q, v, [0.7], [])).ravel()
        assert np.asarray(vdot).ravel() == pytest.approx(expected, rel=1e-8, abs=1e-8 * np.abs(expected).max())


def test_what_does_not_go_together_is_refused():
    with pytest.raises(PluginError, match="planar=true and effort=angle do not go together"):
        select(PLUGINS.formulations, "directors:planar=true,effort=angle")
    with pytest.raises(PluginError, match="planar=true and points=true do not go together"):
        select(PLUGINS.formulations, "directors:planar=true,points=true")
