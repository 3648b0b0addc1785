"""Closures: their equations, what they carry, and what is refused."""

import re
import sys
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, MechanismError, PluginSet, simulate
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.load_request import LoadRequest
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import ClosurePlace, efforts_of, tree_constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.selection import select
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLUGINS = PluginSet(entry_points=False)
#: Degrees of freedom that each kind leaves two bodies that were free of each other; a gear, of two coordinates.
FREEDOM = {
    "weld": 0, "revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3, "rolling": 3,
    "rolling-disc": 3, "point-on-line": 4, "distance": 5, "rope": 5, "gear": 5,
}  # fmt: skip
FIELDS = {
    "axis": (0.3, -0.5, 0.8), "axis2": (0.8, 0.48, 0.0), "length": 0.7, "radius": 0.25, "ratio": -1.7,
}  # fmt: skip
PLACES = {
    "position": (0.2, -0.1, 0.3), "rotation": (0.3, -0.4, 0.9), "child_position": (-0.2, 0.15, 0.1),
    "child_rotation": (-0.7, 0.2, 0.4),
}  # fmt: skip
#: Kinds that are both: a joint of the tree can be cut and closed again.
SHARED = [kind for kind in CLOSURE_KINDS if kind in JOINT_KINDS]


def closure_of(kind, **changes):
    needs = CLOSURE_KINDS[kind].needs
    fields = {name: value for name, value in FIELDS.items() if name in needs}
    if kind == "universal":
        fields["axis2"] = (0.5, 0.3, 0.0)
    if "parent" in needs:
        fields |= {"parent": "one", "child": "two", **PLACES}
    if "coordinates" in needs:
        fields["coordinates"] = ("spin1.angle", "spin2.angle")[: CLOSURE_KINDS[kind].coordinates]
    return Closure("tie", kind, **(fields | changes))


def floating(closure):
    """Return two bodies that float, two that spin, and a closure."""
    inertia = (0.4, 0.5, 0.6, 0.02, -0.03, 0.05)
    return Mechanism(
        "floating",
        bodies=[Body(name, mass=2.0, com=(0.1, 0.05, -0.2), inertia=inertia) for name in ("one", "two", "wheel1", "wheel2")],
        joints=[
            Joint("free1", "free", "world", "one"),
            Joint("free2", "free", "world", "two"),
            Joint("spin1", "revolute", "one", "wheel1", axis=(0, 1, 0)),
            Joint("spin2", "revolute", "world", "wheel2", axis=(0, 0, 1)),
        ],
        forces=[ForceElement("gravity")],
        closures=[closure],
    )


def random_state(mechanism, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, len(mechanism.coordinates)), rng.uniform(-1, 1, len(mechanism.speeds))


def constraints_of(mechanism):
    tree = TreeKinematics(assemble(mechanism, PLUGINS))
    return tree, tree_constraints(tree, mechanism.closures)


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_rows_are_what_a_kind_takes_away(kind):
    tree, constraints = constraints_of(floating(closure_of(kind)))
    assert len(constraints.owners) == 6 - FREEDOM[kind]
    A = np.asarray(ca.Function("A", [tree.q], [ca.densify(constraints.A)])(random_state(tree.mechanism, 1)[0]))
    assert np.linalg.matrix_rank(A) == 6 - FREEDOM[kind]


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_speed_rows_are_the_rate_of_the_positions(kind):
    tree, constraints = constraints_of(floating(closure_of(kind)))
    rate = constraints.A @ tree.v + constraints.b
    function = ca.Function(
        "f", [tree.q, tree.v], [constraints.phi, rate[: constraints.phi.numel()], tree.velocity_map() @ tree.v]
    )
    for seed in range(4):
        q, v = random_state(tree.mechanism, seed)
        qdot = np.asarray(function(q, v)[2]).ravel()
        h = 1e-5
        ahead, behind = (np.asarray(function(q + s * h * qdot, v)[0]).ravel() for s in (1, -1))
        exact = np.asarray(function(q, v)[1]).ravel()
        # Central differences: h^2 / 6 times a third derivative of some 10 to 100, and rounding of 1e-16 / h.
        np.testing.assert_allclose((ahead - behind) / (2 * h), exact, atol=2e-8 * (1 + np.abs(exact).max()))


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_reactions_do_the_work_of_the_multipliers(kind):
    """-lam' A v = wrench . relative twist + efforts . rates, for any speeds: also where loops are open."""
    closure = closure_of(kind)
    tree, constraints = constraints_of(floating(closure))
    place = ClosurePlace(tree, closure)
    power = -ca.dot(constraints.lam, constraints.A @ tree.v)
    ours = ca.SX(0)
    if closure.child:
        ours += ca.dot(constraints.reactions["tie"], place.t_FM)
    for i, name in enumerate(closure.coordinates):
        ours += constraints.reactions[efforts_of("tie")][i] * tree.rate(name)
    function = ca.Function("f", [tree.q, tree.v, constraints.lam], [power, ours])
    rng = np.random.default_rng(3)
    for seed in range(4):
        q, v = random_state(tree.mechanism, seed)
        one, other = function(q, v, rng.uniform(-1, 1, constraints.lam.numel()))
        assert float(one) == pytest.approx(float(other), rel=1e-12, abs=1e-13)
        assert abs(float(one)) > 1e-6


@pytest.mark.parametrize("kind", SHARED)
def test_closed_where_a_joint_of_the_kind_would_be_and_no_work_on_its_motions(kind):
    closure = replace(closure_of(kind), parent="world", **dict.fromkeys(PLACES, (0, 0, 0)))
    axes = {"axis": closure.axis} if closure.axis else {}
    if kind in ("universal", "planar"):
        axes["axis2"] = (0.5, 0.3, 0.0)  # of a planar joint, perpendicular to its axis
    joint = Joint("j", kind, "world", "two", **axes)
    pair = Mechanism("pair", bodies=[Body("two", mass=1.0)], joints=[Joint("j", "free", "world", "two")], closures=[closure])
    tree, constraints = constraints_of(pair)
    wrenches = ca.jacobian(constraints.reactions["tie"], constraints.lam)
    equations = ca.Function("f", [tree.q], [constraints.phi, ca.densify(wrenches)])
    joint_kind, geometry = JOINT_KINDS[kind], tree.geometry(joint)
    own = ca.SX.sym("own", len(joint.positions))
    X_FM = joint_kind.pose_FM(own, geometry)
    allowed = ca.Function("g", [own], [ca.densify(m) for m in (X_FM.R, X_FM.p, joint_kind.motion_subspace(own, geometry))])
    for seed in range(3):
        values = np.random.default_rng(seed).uniform(-1.2, 1.2, len(joint.positions))
        R, p, S = (np.asarray(part) for part in allowed(values))
        phi, matrix = (np.asarray(part) for part in equations(np.concatenate([p.ravel(), quaternion(R)])))
        assert np.abs(phi).max() < 1e-14
        assert np.abs(S.T @ matrix).max(initial=0.0) < 1e-14
        assert np.linalg.matrix_rank(matrix) == 6 - FREEDOM[kind]


def quaternion(R):
    """Return the unit quaternion (w, x, y, z) of a rotation matrix."""
    values, vectors = np.linalg.eigh(
        np.array([
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1]],
        ])
    )  # fmt: skip
    return vectors[:, np.argmax(values)]


def cut_and_closed(kind):
    """Return an arm with a tool on a joint, and the same with the tool floating and a closure in the joint's place."""
    inertia = (0.4, 0.5, 0.6, 0.02, -0.03, 0.05)
    axes = {"axis": (0.3, -0.5, 0.8)} if CLOSURE_KINDS[kind].needs != ("parent", "child") else {}
    second = {"axis2": (0.5, 0.3, 0.0)} if kind in ("universal", "planar") else {}
    bodies = [Body(name, mass=2.0, com=(0.1, 0.05, -0.2), inertia=inertia) for name in ("arm", "tool")]
    hinge = Joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0.2))
    forces = [
        ForceElement("gravity"),
        ForceElement("body-wrench", body="tool", moment=(0.3, -0.2, 0.5), force=(1.0, 2.0, -1.5)),
        ForceElement("joint-spring", coordinate="hinge.angle", stiffness=3.0, damping=0.4),
    ]
    joint = Joint("tie", kind, "arm", "tool", **axes, **second, **PLACES)
    tree = Mechanism("tree", bodies, [hinge, joint], forces)
    # A planar joint's second axis only names its coordinates.
    own = {} if kind == "planar" else second
    closure = Closure("tie", kind, "arm", "tool", **axes, **own, **PLACES)
    return tree, Mechanism("cut", bodies, [hinge, Joint("free", "free", "world", "tool")], forces, closures=[closure])


def observer(mechanism, formulation, method, frame="child", side="child"):
    """Return the function of a state that gives loads and motions by channel."""
    assembly = assemble(mechanism, PLUGINS)
    equations = select(PLUGINS.formulations, formulation).derive(assembly)
    requests = [LoadRequest(name, frame, side) for name in ("hinge", "tie")]
    derived = derive_loads(assembly, equations, select(PLUGINS.joint_loads, method), requests)

    def observed(q, v):
        vdot = equations.accelerations(0.0, q, v, [], [])
        lam = equations.multipliers(0.0, q, v, [], []) if equations.lam.numel() else []
        numbers = np.asarray(derived.function(0.0, q, v, vdot, lam, [], [])).ravel()
        return dict(zip((channel.name for channel in derived.channels), numbers, strict=True))

    return observed


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize(
    ("formulation", "method", "frame", "side"),
    [
        ("kane", "auxiliary-speeds", "child", "child"),
        ("kane", "recursive", "parent", "parent"),
        ("recursive", "recursive", "world", "parent"),
        ("recursive", "auxiliary-speeds", "body", "child"),
    ],
)
def test_a_joint_cut_and_closed_again_moves_and_carries_the_same(kind, formulation, method, frame, side):
    tree, cut = cut_and_closed(kind)
    kinematics = TreeKinematics(assemble(tree, PLUGINS))
    X = kinematics.pose("tool")
    tool = ca.Function("tool", [kinematics.q, kinematics.v], [X.R, X.p, kinematics.twist("tool")])
    of_tree, of_cut = observer(tree, "kane", "recursive", frame, side), observer(cut, formulation, method, frame, side)
    for seed in range(2):
        q, v = random_state(tree, seed)
        R, p, twist = (np.asarray(part) for part in tool(q, v))
        cut_q = np.concatenate([q[:1], p.ravel(), quaternion(R)])
        cut_v = np.concatenate([v[:1], twist.ravel()])
        exact, ours = of_tree(q, v), of_cut(cut_q, cut_v)
        scale = max(abs(value) for value in exact.values())
        for name, value in exact.items():
            if not name.startswith(("tool.pose.e", "tie.constraint")):  # a quaternion has two signs
                # Round-off of some 1e-16 in each of a few hundred operations, times the condition of M, up to 1e2.
                assert ours[name] == pytest.approx(value, abs=1e-11 * scale), name


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_formulations_agree(kind):
    mechanism = floating(closure_of(kind))
    assembly = assemble(mechanism, PLUGINS)
    kane, recursive = (select(PLUGINS.formulations, name).derive(assembly) for name in ("kane", "recursive"))
    for seed in range(3):
        q, v = random_state(mechanism, seed)
        for function in ("accelerations", "multipliers"):
            one, other = (np.asarray(getattr(item, function)(0.0, q, v, [], [])).ravel() for item in (kane, recursive))
            np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())


def test_formulations_agree_on_a_long_chain_with_its_end_tied():
    """Above ten degrees of freedom the recursive equations stay a graph of functions."""
    links = [f"link{i}" for i in range(12)]
    chain = Mechanism(
        "tied",
        bodies=[Body(name, mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.03, 0.03)) for name in links],
        joints=[
            Joint(
                f"j{i}", "revolute", links[i - 1] if i else "world", name, axis=(0, 1, 0) if i % 2 else (0, 0, 1),
                position=(0.5, 0, 0) if i else (0, 0, 0), start=0.5,
            )
            for i, name in enumerate(links)
        ],
        forces=[ForceElement("gravity")],
        closures=[Closure("end", "distance", "world", "link11", length=1.5, child_position=(0.5, 0, 0))],
    )  # fmt: skip
    options = {"close_loops": True, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "step": 0.002}
    one, other = (simulate(chain, 0.1, formulation=f, loads=["j0", "end"], **options) for f in ("kane", "recursive"))
    scale = np.abs(one.values).max(axis=0) + 1.0
    assert (np.abs(one.values - other.values) / scale).max() < 1e-9


def test_a_rotation_half_a_turn_away_is_not_closed():
    """sin(a) = 0 has two solutions; a weld has one."""
    for kind in ("weld", "revolute"):
        needs = {"axis": (1, 0, 0)} if kind == "revolute" else {}
        mechanism = Mechanism(
            "turned",
            bodies=[Body("tool", mass=1.0, inertia=(1.0, 1.0, 1.0))],
            joints=[Joint("spin", "revolute", "world", "tool", axis=(0, 0, 1), start=3.0)],
            closures=[Closure("tie", kind, "world", "tool", **needs)],
        )
        _, constraints = constraints_of(mechanism)
        assert len(constraints.owners) >= 5
        history = simulate(mechanism, 0.01, close_loops=True, plugins=PLUGINS)
        assert history["spin.angle"][0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "revolut"}, "unknown kind 'revolut'; did you mean 'revolute'?"),
        ({"kind": "revolute", "parent": "one", "child": "two"}, "is revolute and lacks 'axis', e.g. [0, 0, 1]"),
        ({"kind": "distance", "parent": "one", "child": "two"}, "is distance and lacks 'length', e.g. 1.5"),
        ({"kind": "weld", "parent": "one", "child": "two", "radius": 1.0}, "is weld and has no 'radius'; remove it"),
        ({"kind": "distance", "parent": "one", "child": "two", "length": 0}, "length is 0 m; it must be positive"),
        ({"kind": "weld", "child": "two"}, "lacks 'parent', e.g. \"world\""),
        ({"kind": "revolute", "parent": "one", "child": "two", "axis": (0, 0, 0)}, "axis is [0, 0, 0]; give a direction"),
        (
            {"kind": "gear", "coordinates": ("spin1.angle",), "ratio": 2.0},
            "a gear closure ties 2 coordinate(s), got spin1.angle",
        ),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(MechanismError) as error:
        Closure("tie", **fields)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (Closure("tie", "weld", "one", "one"), "closure 'tie' ties body 'one' to itself"),
        (Closure("tie", "weld", "one", "tow"), "its child 'tow' is not a body; did you mean 'two'?"),
        (
            Closure("tie", "gear", coordinates=("spin1.angle", "spin.angle"), ratio=1.0),
            "'spin.angle' is not a joint coordinate",
        ),
        (Closure("free1", "weld", "one", "two"), "two joints or closures are called 'free1'"),
        (Closure("tie", "distance", "one", "two", length="2 * lenght"), "uses 'lenght', which is not declared"),
    ],
)
def test_wrong_references_are_refused(closure, message):
    with pytest.raises(MechanismError) as error:
        floating(closure)
    assert message in str(error.value)


def bar(lengths, angles, closure="point-on-line", offset=0.0, **changes):
    """Return a four-bar linkage in the x-y plane with the given lengths of crank, coupler, rocker and ground."""
    a, b, c, d = lengths
    axis = {"axis": (0, 0, 1)}
    return Mechanism(
        "bars",
        bodies=[
            Body(name, mass=1.0, com=(l / 2, 0, 0), inertia=(0.01, l * l / 12, l * l / 12))
            for name, l in (("crank", a), ("coupler", b), ("rocker", c))
        ],
        joints=[
            Joint("one", "revolute", "world", "crank", **axis, start=angles[0]),
            Joint("two", "revolute", "crank", "coupler", **axis, position=(a, 0, 0), start=angles[1]),
            Joint("three", "revolute", "world", "rocker", **axis, position=(d, 0, offset), start=angles[2]),
        ],
        closures=[Closure("pin", closure, "rocker", "coupler", **axis, position=(c, 0, 0), child_position=(b, 0, 0))],
        forces=[ForceElement("gravity", acceleration=(0, -9.81, 0))],
        **changes,
    )  # fmt: skip


PARALLEL = ((1.0, 2.0, 1.0, 2.0), (1.0, -1.0, 1.0))
#: Its crank can turn all round, so that there is no dead centre on the way.
TURNING = ((1.0, 3.0, 2.5, 3.0), (1.0, -0.41435823, 1.55464567))


def test_a_loop_that_cannot_close_is_refused():
    with pytest.raises(
        MechanismError, match=r"closure 'pin' cannot be closed from the start values: it is open by 5 there and by 5 "
    ):
        simulate(bar((1.0, 2.0, 1.0, 9.0), (0.0, 0.0, np.pi)), 0.1, close_loops=True, plugins=PLUGINS)


def test_redundant_closures_that_contradict_each_other_are_refused():
    """A pin in a plane loop holds the rods in the plane once more than needed; not so if the rocker lies 0.1 m beside it."""
    with pytest.raises(MechanismError, match=r"closure 'pin' cannot be closed .* by 0\.1 .* contradict each other"):
        simulate(bar(*PARALLEL, closure="revolute", offset=0.1), 0.1, plugins=PLUGINS)


def test_redundant_closures_are_named_and_change_nothing():
    plain, pinned = (
        simulate(bar(*TURNING, closure=kind), 1.0, plugins=PLUGINS, loads="all") for kind in ("point-on-line", "revolute")
    )
    assert pinned.provenance["redundant_closures"] == ["pin"]
    assert "redundant_closures" not in plain.provenance
    for name in ("one.angle", "two.angle.rate", "pin.Fx", "pin.Fy", "one.Fy"):
        np.testing.assert_allclose(pinned[name], plain[name], atol=1e-9)
    assert np.abs(pinned.select(["pin.Fz", "pin.Mx", "pin.My"])).max() < 1e-9


def test_a_dead_centre_is_refused_at_the_start():
    """All rods of a parallelogram in one line: it may go on as a parallelogram or crossed."""
    with pytest.raises(
        MechanismError, match=r"singular position at the start \(a dead centre\).*hold 2 motions nearby, but only 1"
    ):
        simulate(bar(PARALLEL[0], (0.0, 0.0, 0.0)), 0.1, plugins=PLUGINS)


def test_start_values_that_leave_a_loop_open():
    lengths, (one, two, three) = PARALLEL
    slightly = bar(lengths, (one, two + 0.004, three))
    history = simulate(slightly, 0.1, plugins=PLUGINS, monitors=True)
    assert set(history.provenance["fitted_start"]) <= {"one.angle", "two.angle", "three.angle"}
    assert history["constraints.position"].max() < 1e-12
    wide = bar(lengths, (one, two + 0.2, three))
    with pytest.raises(
        MechanismError, match=r"leave closure 'pin' open by 0\.\d+; the nearest closed position changes .*--close-loops"
    ):
        simulate(wide, 0.1, plugins=PLUGINS)
    assert simulate(wide, 0.1, plugins=PLUGINS, close_loops=True, monitors=True)["constraints.position"].max() < 1e-12


def test_given_speeds_are_kept_and_the_others_fitted():
    machine = bar(*PARALLEL)
    history = simulate(machine, 0.1, settings={"one.angle.rate": 2.0}, plugins=PLUGINS)
    rates = [history[f"{joint}.angle.rate"][0] for joint in ("one", "two", "three")]
    np.testing.assert_allclose(rates, [2.0, -2.0, 2.0], atol=1e-12)  # the coupler of a parallelogram does not turn
    # Speeds that contradict each other are refused, or all fitted.
    impossible = {"one.angle.rate": 2.0, "two.angle.rate": 1.0, "three.angle.rate": 1.0}
    with pytest.raises(
        MechanismError, match=r"speeds contradict each other.*one\.angle\.rate from 2 to .*those that are 0 are fitted"
    ):
        simulate(machine, 0.1, settings=impossible, plugins=PLUGINS)
    both = simulate(machine, 0.1, settings=impossible, plugins=PLUGINS, close_loops=True)
    rates = [both[f"{joint}.angle.rate"][0] for joint in ("one", "two", "three")]
    assert rates[0] == pytest.approx(rates[2]) == pytest.approx(-rates[1])
    assert abs(rates[0] - 2.0) > 0.1


def test_a_gear_has_efforts_but_no_wrench():
    machine = Mechanism(
        "gears",
        bodies=[Body("small", mass=1.0, inertia=(1.0, 1.0, 0.5)), Body("large", mass=1.0, inertia=(2.0, 2.0, 4.0))],
        joints=[
            Joint("pinion", "revolute", "world", "small", axis=(0, 0, 1)),
            Joint("wheel", "revolute", "world", "large", axis=(0, 0, 1)),
        ],
        forces=[ForceElement("joint-effort", coordinate="pinion.angle", effort=3.0)],
        closures=[Closure("mesh", "gear", coordinates=("pinion.angle", "wheel.angle"), ratio=-4.0, offset=0.0)],
    )
    history = simulate(machine, 1.0, plugins=PLUGINS, loads="all")
    # Reduced to the pinion: (J1 + J2 / 16) times its acceleration is the torque.
    acceleration = 3.0 / (0.5 + 4.0 / 16)
    assert history["pinion.angle"][-1] == pytest.approx(acceleration / 2, rel=1e-12)
    assert history["wheel.angle"][-1] == pytest.approx(-acceleration / 8, rel=1e-12)
    pinion, wheel = history.loads("pinion"), history.loads("wheel")
    np.testing.assert_allclose(pinion.closure[:, 2], 0.5 * acceleration - 3.0, atol=1e-12)
    np.testing.assert_allclose(wheel.closure[:, 2], -4.0 * acceleration / 4, atol=1e-12)
    np.testing.assert_allclose(pinion.total, pinion.constraint + pinion.actuator + pinion.friction + pinion.closure)
    with pytest.raises(KingpostError, match="closure 'mesh' ties coordinates, not bodies, and has no wrench"):
        simulate(machine, 0.1, plugins=PLUGINS, loads=["mesh"])
    with pytest.raises(KingpostError, match=r"no joint 'pinon' whose load could be given.*Joints and closures: pinion"):
        simulate(machine, 0.1, plugins=PLUGINS, loads=["pinon"])


def test_loads_of_closures_alone_and_converted_afterwards():
    machine = bar(*PARALLEL)
    options = {"plugins": PLUGINS, "settings": {"one.angle.rate": 1.5}}
    asked = simulate(machine, 0.2, loads=["pin:frame=world,side=parent,at=0.1/0/0.2"], load_method="multipliers", **options)
    stored = simulate(machine, 0.2, loads="all", **options)
    turned = stored.loads("pin", frame="world", side="parent", at=(0.1, 0.0, 0.2))
    np.testing.assert_allclose(asked.loads("pin").total, turned.total, atol=1e-12)
    assert turned.body == "rocker"
    assert np.abs(turned.total[:, :3]).max() > 0.1
    assert stored["loads.residual.force"].max() < 1e-12
    assert "loads.residual.force" not in asked.names
    back = asked.loads("pin", frame="child", side="child")
    np.testing.assert_allclose(back.total, stored.loads("pin").total, atol=1e-12)


def test_baumgarte_bounds_the_drift_and_stays_out_of_the_reactions():
    machine = bar(*TURNING)
    options = {"settings": {"one.angle.rate": 4.0}, "step": 0.01, "plugins": PLUGINS, "monitors": True, "loads": ["pin", "one"]}
    drifting, bounded, projected = (
        simulate(machine, 20.0, formulation=f"kane:{words}", **options)
        for words in ("projection=false", "projection=false,baumgarte=10", "projection=true")
    )
    late = slice(len(drifting) // 2, None)
    assert projected["constraints.position"].max() < 1e-13
    assert bounded["constraints.position"][late].max() < 0.02 * drifting["constraints.position"][late].max()
    # Without stabilisation the error of the first second goes on growing.
    assert drifting["constraints.position"][late].min() > 3 * drifting["constraints.position"][:100].max()
    # At the same, slightly open, state the reactions are those of the unstabilised equations.
    assembly = assemble(machine, PLUGINS)
    plain, stabilised = (select(PLUGINS.formulations, f).derive(assembly) for f in ("kane", "kane:baumgarte=10"))
    q, v = np.array([1.0, -0.9, 1.05]), np.array([2.0, -1.0, 1.0])
    assert np.array_equal(np.asarray(plain.multipliers(0, q, v, [], [])), np.asarray(stabilised.multipliers(0, q, v, [], [])))
    assert np.abs(np.asarray(plain.accelerations(0, q, v, [], []) - stabilised.accelerations(0, q, v, [], []))).max() > 1.0
    k = len(bounded) // 3
    state = [bounded.values[k, :3], bounded.values[k, 3:6]]
    assert bounded["pin.Fx"][k] == pytest.approx(_pin_force(assembly, plain, *state)[0], rel=1e-9)
    assert bounded["constraints.acceleration"].max() > 1e-6 > 1e3 * projected["constraints.acceleration"].max()


def _pin_force(assembly, equations, q, v):
    lam = equations.multipliers(0, q, v, [], [])
    function = ca.Function("w", [equations.q, equations.v, equations.lam], [equations.reactions["pin"]])
    return np.asarray(function(q, v, lam)).ravel()[3:]


def test_monitors_know_momentum_rank_and_condition():
    machine = Mechanism(
        "drifting",
        bodies=[Body(name, mass=m, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25)) for name, m in (("one", 2.0), ("two", 3.0))],
        joints=[Joint("free1", "free", "world", "one"), Joint("free2", "free", "world", "two")],
        closures=[Closure("ball", "spherical", "one", "two", position=(0.5, 0, 0), child_position=(-0.5, 0, 0))],
    )
    start = {"free2.x": 1.0, "free1.wx": 0.3, "free1.wy": 1.0, "free1.vx": 0.4, "free2.wz": -2.0}
    history = simulate(machine, 3.0, settings=start, plugins=PLUGINS, monitors=True)
    for name in (f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"):
        # rk4 with 1 ms and a motion of some 2 rad/s: errors of (2e-3)^4 / 120 per step, 3000 steps.
        np.testing.assert_allclose(history[name], history[name][0], atol=1e-9)
    assert np.abs(history["momentum.angular.z"][0]) > 0.1
    assert set(history["constraints.rank"]) == {3.0}
    assert (history["constraints.condition"] >= 1.0).all()
    assert history["constraints.condition"].max() < 10.0
    for level, rounding in (("position", 1e-14), ("speed", 1e-13), ("acceleration", 1e-12)):
        assert history[f"constraints.{level}"].max() < rounding
    assert history.provenance["channels"][-1]["name"] == "constraints.condition"
    # At one sample, by hand: total mass times the velocity of the common centre of mass.
    k = 0
    w1, v1, w2, v2 = (
        history.select([f"free{i}.{letter}{axis}" for axis in "xyz"])[k]
        for i, letter in ((1, "w"), (1, "v"), (2, "w"), (2, "v"))
    )
    com = np.array([0.1, 0, 0])
    linear = 2.0 * (v1 + np.cross(w1, com)) + 3.0 * (v2 + np.cross(w2, com))
    np.testing.assert_allclose(history.select([f"momentum.linear.{axis}" for axis in "xyz"])[k], linear, atol=1e-12)


def test_monitors_of_a_tree_are_energy_and_momentum():
    history = simulate(PLUGINS.models.get("double-pendulum")().build(), 0.1, plugins=PLUGINS, monitors=True)
    assert list(history.names[-8:]) == [
        *("energy.work", "energy.error"),
        *(f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"),
    ]


def test_the_command_line_closes_loops_and_watches_them(kingpost_cli, tmp_path):
    wide = ["four-bar", "--t-end", "0.1", "--set", "crank-pivot.angle=1.2", "--out", str(tmp_path), "--write", "npz"]
    refused = kingpost_cli("run", *wide)
    assert refused.status == 3
    assert "leave closure 'rocker-pin' open" in refused.err
    outcome = kingpost_cli("run", *wide, "--close-loops", "--monitors")
    assert outcome.status == 0, outcome.err
    assert "1 degree of freedom: 3 speeds, 2 constraints" in outcome.out
    assert "rocker-pin (point-on-line)" in outcome.out
    assert "'crank-pivot.angle' starts +0.1371 from its start value" in outcome.err
    with np.load(tmp_path / "history.npz") as stored:
        assert any("constraints.condition" in str(value) for value in stored.values())


def test_the_closures_of_the_docs(root):
    section = (root / "docs" / "model-files.md").read_text().split("## Closures")[1].split("\n## ")[0]
    entries = tomllib.loads(section.split("```")[1])["closures"]
    assert [Closure(**entry).kind for entry in entries] == ["point-on-line", "gear"]
    for kind, freedom in FREEDOM.items():
        row = next(line for line in section.splitlines() if line.startswith("|") and f"`{kind}`" in line)
        names, numbers = re.findall(r"`([a-z-]+)`", row.split("|")[1]), row.split("|")[3].split(",")
        assert sum(int(number) for number in numbers[names.index(kind)].split("+")) == 6 - freedom


@pytest.mark.parametrize("name", ["four-bar", "slider-crank"])
def test_a_machine_starts_the_same_in_every_formulation(name):
    """With directors as coordinates, too, given joint speeds are kept and the others fitted."""
    machine = PLUGINS.models.get(name)().build()
    options = {"step": 1e-3, "output_step": 0.01, "plugins": PLUGINS, "monitors": True, "loads": "all", "backend": "vm"}
    one, other = (simulate(machine, 0.02, formulation=formulation, **options) for formulation in ("kane", "directors"))
    assert one.provenance["fitted_start"] == pytest.approx(other.provenance["fitted_start"], rel=1e-9)
    closing = [closure.name for closure in machine.closures]
    for channel in ["energy.total", "momentum.linear.x", "momentum.angular.y", f"{closing[0]}.Fx", f"{closing[0]}.Fz"]:
        # Both run rk4, in other coordinates: errors of 1e-12 to 1e-9 in a motion of 2 to 20 rad/s.
        np.testing.assert_allclose(other[channel], one[channel], rtol=1e-6, atol=1e-7)
