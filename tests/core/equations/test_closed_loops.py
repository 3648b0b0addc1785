"""Machines with closures: joints cut and closed again, formulations that agree, and drift that is bounded."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, simulate
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.load_request import LoadRequest
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.selection import select
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from tests.core.mechanism.closed import PLACES, PLUGINS, SHARED, TURNING, bar, closure_of, floating, quaternion, random_state


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
        lam = equations.multipliers(0.0, q, v, [], []) if equations.constraints.count else []
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
    function = ca.Function("w", [equations.q, equations.v, equations.constraints.lam], [equations.constraints.reactions["pin"]])
    return np.asarray(function(q, v, lam)).ravel()[3:]


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
