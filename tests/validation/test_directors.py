"""Natural coordinates against joint coordinates, and against the tables of document 001."""

import dataclasses
from functools import cache

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, LoadRequest, Mechanism, simulate
from kingpost.equations.consistency import consistent_start
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import efforts_of
from kingpost.plugins.formulations.directors.constraints import director_constraints
from kingpost.plugins.formulations.directors.formulation import DirectorModel
from kingpost.plugins.formulations.directors.joints import ANGLES, QUATERNIONS, angle_closure, followed
from kingpost.plugins.formulations.nullspace import rates
from kingpost.registry.selection import select
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.testing.problems import random_tree
from tests.validation.natural import PLUGINS, assert_close, derive, model, numbers, plane_loop

SCALE = [1.3]
FOLLOWED = {**ANGLES, **QUATERNIONS}
#: Random trees of every run of the tests, which hold every joint kind; the others are slow.
QUICK = (2, 3, 4, 5)
SEEDS = [seed if seed in QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(12)]


@cache
def of_tree(seed, formulation):
    """Return a random tree and its equations, which the tests of one process share."""
    mechanism = random_tree(seed, bodies=2 + seed % 6)
    return mechanism, derive(mechanism, formulation)


def tree_states(mechanism, equations, seed, count=3):
    """Return random states of a tree in joint coordinates, away from gimbal lock."""
    rng = np.random.default_rng(seed)
    nq, nv = len(mechanism.coordinates), len(mechanism.speeds)
    for _ in range(count):
        q, v = rng.uniform(0.3, 1.2, nq) * rng.choice([-1.0, 1.0], nq), rng.uniform(-2, 2, nv)
        x = numbers(equations.coordinates.initial(q, v, SCALE))
        yield q, v, x[: equations.nq], x[equations.nq :]


@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees_move_as_in_joint_coordinates(seed, formulation):
    (mechanism, kane), (_, ours) = of_tree(seed, "kane"), of_tree(seed, formulation)
    for q, v, Q, V in tree_states(mechanism, ours, seed):
        vdot = ours.accelerations(0, Q, V, [], SCALE)
        _, speeds, rates_of_speeds = (numbers(part) for part in ours.coordinates.joint_state(Q, V, vdot, SCALE))
        assert_close(speeds, v, "joint speeds")
        assert_close(rates_of_speeds, numbers(kane.accelerations(0, q, v, [], SCALE)), "joint accelerations")
        # Outputs and energies, around the joint coordinates among our outputs.
        theirs, own = numbers(kane.observations(0, q, v, [], SCALE)), numbers(ours.observations(0, Q, V, [], SCALE))
        assert_close(own[:9], theirs[:9], "outputs")
        assert_close(own[-3:], theirs[-3:], "energies")
        # The angles found from the directors give the directors again.
        joints = numbers(ours.coordinates.joint_state(Q, V, vdot, SCALE)[0])
        assert_close(numbers(ours.coordinates.initial(joints, v, SCALE)), np.concatenate([Q, V]), "from joints and back")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_start_satisfies_constraints_of_full_rank_and_the_mass_matrix_is_constant(seed):
    mechanism, ours = of_tree(seed, "directors")
    assert not ca.depends_on(ours.M, ca.vertcat(ours.q, ours.v))
    M = np.asarray(ca.Function("M", [ours.p], [ca.densify(ours.M)])(SCALE))
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    A = ca.Function("A", [ours.q, ours.p], [ca.densify(ours.constraints.A)])
    for _, _, Q, V in tree_states(mechanism, ours, seed):
        for residual in ours.constraint_residuals(0, Q, V, SCALE):
            assert_close(numbers(residual), 0.0, "constraints", 1e-13)
        singular = np.linalg.svd(np.asarray(A(Q, SCALE)), compute_uv=False)
        assert singular[-1] > 1e-2
    # What is left over is exactly what the joints allow.
    assert ours.nv - ours.constraints.count == len(mechanism.speeds)


def pair(kind):
    """Return two bodies, the second one carried by the first through a joint of a kind."""
    needs = JOINT_KINDS[kind].needs
    values = {"axis": (0.3, -0.5, 0.8), "axis2": (0.8, 0.0, -0.3), "pitch": 0.2, "sequence": "zxz"}
    return Mechanism(
        kind,
        bodies=(
            Body("a", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1.2, 1.4, 0.1, 0.2, 0)),
            Body("b", mass=2.0, inertia=(1, 1, 1)),
        ),
        joints=(
            Joint("base", "free", "world", "a"),
            Joint("tested", kind, "a", "b", position=(0, 1, 0), rotation=(0.4, 0, 1), **{name: values[name] for name in needs}),
        ),
    )


@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind != "given"])
def test_constraints_are_quadratic_but_for_the_thread_of_a_screw(kind):
    ours = derive(pair(kind), "directors")
    second = ca.jacobian(ca.vec(ca.densify(ca.jacobian(ours.constraints.phi, ours.q))), ours.q)
    assert ca.depends_on(second, ours.q) == (kind == "screw")
    mechanism = ours.mechanism
    assert ours.nq - ours.nv == sum(len(FOLLOWED.get(joint.kind, ())) for joint in mechanism.joints)


def with_everything(mechanism, seed):
    """Return a tree with friction in every joint, a wrench on a body and a damped spring between two bodies, too."""
    rng = np.random.default_rng(seed)
    frictions = [
        ForceElement(
            "joint-friction",
            name=f"friction-{i}",
            coordinate=name,
            viscous=float(rng.uniform(0.1, 2)),
            coulomb=0.3,
            transition=0.5,
        )
        for i, name in enumerate(mechanism.rated_coordinates)
    ]
    wrench = ForceElement("body-wrench", body="body1", moment=(1, 2, 3), force=(3, -1, 2), at=(0.1, 0.2, 0.3))
    spring = ForceElement(
        "point-spring",
        body="body1",
        other="body0",
        at=(0.1, 0.5, 0.3),
        other_at=(1, 2, 0),
        length=0.3,
        stiffness=20.0,
        damping=3.0,
    )
    return dataclasses.replace(mechanism, forces=(*mechanism.forces, *frictions, wrench, spring))


@pytest.mark.quick("2", "3")
@pytest.mark.parametrize("seed", SEEDS)
def test_multipliers_give_the_loads_that_recursion_gives(seed):
    mechanism = with_everything(random_tree(seed, bodies=2 + seed % 6), seed)
    assembly = assemble(mechanism, PLUGINS)
    requests = [LoadRequest(joint.name) for joint in mechanism.joints]

    def loads(equations, method):
        return derive_loads(assembly, equations, select(PLUGINS.joint_loads, method), requests)

    kane, ours = derive(mechanism, "kane"), derive(mechanism, "directors")
    expected = loads(kane, "recursive")
    found = {method: loads(ours, method) for method in ("multipliers", "recursive", "auxiliary-speeds")}
    # A quaternion may come with the other sign.
    compared = [i for i, channel in enumerate(expected.channels) if ".pose.e" not in channel.name]
    for q, v, Q, V in tree_states(mechanism, ours, seed):
        vdot = numbers(kane.accelerations(0, q, v, [], SCALE))
        theirs = numbers(expected.function(0, q, v, vdot, [], [], SCALE))
        state = (Q, V, ours.accelerations(0, Q, V, [], SCALE), ours.multipliers(0, Q, V, [], SCALE))
        for method, own in found.items():
            assert_close(numbers(own.function(0, *state, [], SCALE))[compared], theirs[compared], method)


CLOSURES = {
    "distance": {"length": 0.5},
    "rope": {"length": 0.5, "coordinates": ("turn.angle",), "radius": 0.1},
    "sheave": {"length": 0.5, "coordinates": ("turn.angle", "other.angle"), "radius": 0.1},
    "gear": {"coordinates": ("turn.angle", "other.angle"), "ratio": -1.5, "offset": 0.2},
    "rolling": {"radius": 0.5},
    "rolling-disc": {"radius": 0.5, "axis": (0, 1, 0)},
    "rolling-wheels": {"radius": 0.3, "child_radius": 0.2},
    "slot": {"axis": (0, 0.6, 0.8), "axis2": (1, 0, 0)},
    "rolling-surface": {
        "radius": 0.2,
        "surface": "z + 0.2 * x**2 - 0.1 * x * y",
        "coordinates": ("touch.x", "touch.y", "touch.z"),
    },
}


def closed(kind):
    """Return a body that turns about a skew axis and a free one, tied by a closure of a kind."""
    needs = CLOSURE_KINDS[kind].needs
    fields = {"axis": (0, 0.6, 0.8), "axis2": (1, 0, 0)} | CLOSURES.get(kind, {})
    bodies = {"parent": "arm", "child": "block"} if "parent" in needs else {}
    touching, places = kind == "rolling-surface", {"position": (1, 0, 0), "rotation": (0.1, 0.2, 0)}
    return Mechanism(
        f"closed-{kind}",
        bodies=(
            Body("arm", mass=2.0, com=(0.5, 0.1, 0), inertia=(0.5, 0.6, 0.7, 0.1, 0, 0)),
            Body("block", mass=1.0, com=(0.1, 0, 0.2), inertia=(0.4, 0.3, 0.35, 0, 0.05, 0)),
            Body("wheel", mass=1.5, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.15)),
            *((Body("contact", mass=0.0),) if touching else ()),
        ),
        joints=(
            Joint("turn", "revolute", "world", "arm", axis=(0.2, 1, 0.1)),
            Joint("float", "free", "world", "block"),
            Joint("other", "revolute", "arm", "wheel", axis=(1, 0, 0)),
            *((Joint("touch", "translational", "arm", "contact", **places),) if touching else ()),
        ),
        closures=(
            Closure(
                "tie",
                kind,
                **bodies,
                **({**places, "child_position": (0, 0, -0.1)} if bodies else {}),
                **{name: fields[name] for name in needs if name in fields},
            ),
        ),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-spring", coordinate="turn.angle", stiffness=5.0, rest=0.4, damping=0.3),
        ),
    )


@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_closures_move_and_react_as_in_joint_coordinates(kind, formulation):
    mechanism = closed(kind)
    kane, ours = derive(mechanism, "kane"), derive(mechanism, formulation)
    rng = np.random.default_rng(5)
    for _ in range(3):
        x = np.zeros(kane.nq + kane.nv)
        x[[1, 3, 4]] = 1.0, 0.5, 1.0
        x[:9] += 0.2 * rng.normal(size=9)
        x[4:8] /= np.linalg.norm(x[4:8])
        x[kane.nq :] = rng.normal(size=kane.nv)
        x = consistent_start(kane, 0.0, x, [], far=True).x
        x[4:8] /= np.linalg.norm(x[4:8])
        q, v = kane.split(x)
        Q, V = ours.split(numbers(ours.coordinates.initial(q, v, [])))
        for residual in ours.constraint_residuals(0, Q, V, []):
            assert_close(numbers(residual), 0.0, f"{kind}: constraints", 1e-9)
        vdot = ours.accelerations(0, Q, V, [], [])
        assert_close(
            numbers(ours.coordinates.joint_state(Q, V, vdot, [])[2]),
            numbers(kane.accelerations(0, q, v, [], [])),
            f"{kind}: accelerations",
            1e-8,
        )

        def reaction(equations, place, speeds, name):
            given = [equations.q, equations.v, equations.constraints.lam]
            value = ca.Function("w", given, [equations.constraints.reactions[name]])
            return numbers(value(place, speeds, equations.multipliers(0, place, speeds, [], [])))

        names = ["tie"] * ("parent" in CLOSURE_KINDS[kind].needs) + [efforts_of("tie")] * bool(
            mechanism.closures[0].coordinates
        )
        for name in names:
            assert_close(reaction(ours, Q, V, name), reaction(kane, q, v, name), f"{kind}: {name}", 1e-8)


@pytest.mark.parametrize(
    ("formulation", "kind", "redundant"),
    [("directors", "revolute", 3), ("directors", "point-on-line", 0), ("nullspace", "point-on-line", 0)],
)
def test_a_plane_loop_loses_its_redundant_rows_and_moves_as_in_joint_coordinates(formulation, kind, redundant):
    mechanism = plane_loop(kind)
    options = {"step": 5e-4, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "close_loops": True, "loads": "all"}
    # The mass metrics differ, and so do the closed positions nearest to an open one; hence start from a closed one.
    first = simulate(mechanism, 0.001, formulation="kane", **{**options, "output_step": 0.001})
    names = [f"{joint}.angle{rate}" for rate in ("", ".rate") for joint in "abd"]
    start = {name: float(first[name][0]) for name in names}
    one, other = (simulate(mechanism, 0.3, formulation=f, settings=start, **options) for f in ("kane", formulation))
    ours = derive(mechanism, formulation)
    x = numbers(ours.coordinates.initial([start[name] for name in names[:3]], [start[name] for name in names[3:]], []))
    reduced = without_redundant_rows(ours, 0.0, x, np.zeros(0))
    assert reduced.constraints.redundant == ("c",) * bool(redundant)
    assert ours.constraints.count - reduced.constraints.count == redundant
    # In the plane nothing is redundant: forces along x and z.
    for name in (*names, "energy.total", "a.Fx", "a.Fz", "b.Fx", "b.Fz", "c.Fx", "c.Fz"):
        assert_close(other[name], one[name], name, 1e-8)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("spacecraft-arm", 1e-3),
        pytest.param("six-axis-arm", 5e-4, marks=pytest.mark.slow),
        pytest.param("branched", 1e-4, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
def test_motions_converge_to_those_in_joint_coordinates(name, step, formulation):
    mechanism = model(name)
    options = {"output_step": 0.02, "plugins": PLUGINS, "backend": "vm"}
    one, other = (simulate(mechanism, 0.1, formulation=f, step=step, **options) for f in ("kane", formulation))
    for channel in one.names:
        assert_close(other[channel], one[channel], channel, 1e-8)
    if formulation == "directors":
        ours = derive(mechanism, formulation)
        p = [parameter.default for parameter in mechanism.parameters]
        for row in other.values:
            position, speed = ours.constraint_residuals(0, row[: ours.nq], row[ours.nq : ours.nq + ours.nv], p)
            assert_close(numbers(position), 0.0, "drift", 1e-12)
            assert_close(numbers(speed), 0.0, "drift of speeds", 1e-10)


def test_angles_are_followed_through_full_turns():
    gears = Mechanism(
        "gears",
        bodies=tuple(Body(name, mass=1.0, inertia=(0.1, 0.12, 0.15)) for name in ("small", "large")),
        joints=(
            Joint("one", "revolute", "world", "small", axis=(0, 1, 0), start_rate=9.0),
            Joint("two", "revolute", "world", "large", axis=(0, 1, 0), position=(1, 0, 0), start_rate=-3.0),
        ),
        closures=(Closure("mesh", "gear", coordinates=("one.angle", "two.angle"), ratio=-3.0),),
        forces=(ForceElement("joint-spring", coordinate="two.angle", stiffness=0.1),),
    )
    options = {"step": 0.001, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm"}
    kane, ours = (simulate(gears, 3.0, formulation=f, **options) for f in ("kane", "directors"))
    assert np.abs(kane["one.angle"]).max() > 6 * np.pi
    assert_close(ours["one.angle"], kane["one.angle"], "angle", 1e-8)
    assert_close(ours["one.angle.followed"], kane["one.angle"], "counter", 1e-8)
    # Without a gear and a spring, too, unless somebody wants no more than the directors tell.
    free = dataclasses.replace(gears, closures=(), forces=())
    exact = simulate(free, 3.0, formulation="kane", **options)["one.angle"]
    assert_close(simulate(free, 3.0, formulation="directors", **options)["one.angle"], exact, "angle", 1e-8)
    wrapped = simulate(free, 3.0, formulation="directors:follow=false", **options)["one.angle"]
    assert np.abs(wrapped).max() <= np.pi
    assert_close(np.sin(wrapped), np.sin(exact), "sine", 1e-8)


def spinning():
    """Return pairs of bodies that turn several times in every kind of joint that has angles or a quaternion."""
    fields = {"axis": (0.0, 0.6, 0.8), "axis2": (1.0, 0.0, 0.0), "pitch": 0.02, "sequence": "zyx"}
    # Angles beyond half a turn; of three in sequence, the middle one beyond its lock at a right angle.
    starts = {
        "revolute": ((4.0,), (5.0,)),
        "screw": ((-9.0,), (-6.0,)),
        "cylindrical": ((7.5, 0.1), (6.0, 0.2)),
        "universal": ((3.5, -4.0), (0.5, -5.0)),
        "planar": ((0.1, 0.2, 20.0), (0.3, -0.1, 5.0)),
        "gimbal": ((1.0, 2.5, -4.0), (0.3, 0.1, 4.0)),
        "cardan": ((-4.0, 3.7, 1.0), (5.0, -0.2, 0.4)),
        "spherical": ((0.5, -0.5, 0.5, 0.5), (1.0, 4.0, 2.0)),
        "free": ((0.0, 0.1, 0.2, -1.0, 0.0, 0.0, 0.0), (1.0, -2.0, 5.0, 0.1, 0.2, 0.3)),
    }
    bodies, joints = [], []
    for k, (kind, (start, rate)) in enumerate(starts.items()):
        wanted = JOINT_KINDS[kind].needs
        bodies.append(Body(f"b{k}", mass=1.0 + k, com=(0.02, 0.01, -0.03), inertia=(0.6, 0.7, 0.8)))
        given = {"start": start, "start_rate": rate, **{name: fields[name] for name in wanted}}
        joints.append(Joint(kind, kind, "world", f"b{k}", position=(float(k), 0.0, 0.0), rotation=(0.3, 0.2, 0.1), **given))
    return Mechanism("spinning", bodies=tuple(bodies), joints=tuple(joints))


@pytest.mark.quick("directors")
@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
def test_coordinates_of_joints_have_one_meaning_in_every_formulation(formulation):
    mechanism = spinning()
    options = {"step": 0.002, "output_step": 0.1, "plugins": PLUGINS, "backend": "vm"}
    exact, ours = (simulate(mechanism, 2.0, formulation=f, **options) for f in ("kane", formulation))
    for quantity in mechanism.coordinates:
        # Errors of rk4 after 1000 steps of up to 0.015 rad: (0.015)^4 / 120 of each turn, some 1e-9 rad in both.
        assert_close(ours[quantity.name], exact[quantity.name], quantity.name, 1e-7)


#: Methods turn by 2 atan(h w / 2) or the like instead of h w; turns must be counted as the directors do them.
@pytest.mark.parametrize("formulation", ["directors", "nullspace", "directors:planar=true"])
@pytest.mark.parametrize("integrator", ["rk4", "energy-momentum", "midpoint", "generalized-alpha", "radau2"])
def test_turns_are_counted_as_the_directors_make_them_however_coarse_the_steps(formulation, integrator):
    wheel = Mechanism(
        "wheel",
        bodies=(Body("wheel", mass=1.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.4)),),
        joints=(Joint("pivot", "revolute", "world", "wheel", axis=(0, 0, 1), start=-7.0, start_rate=0.5),),
    )
    found = simulate(wheel, 300.0, formulation=formulation, integrator=integrator, step=1.0, plugins=PLUGINS, backend="vm")
    angle = found["pivot.angle"]
    assert angle[0] == pytest.approx(-7.0, abs=1e-14)
    # No jumps: a step of one second turns the wheel by half a radian at most, and on.
    assert np.diff(angle).min() > 0.2
    assert np.diff(angle).max() < 0.5001
    assert_close(found["pivot.angle.followed"], angle, "counter", 1e-14)


def test_the_closure_of_an_angle_keeps_full_rank_where_the_printed_one_loses_it():
    theta, sine, cosine = ca.SX.sym("theta"), ca.SX.sym("s"), ca.SX.sym("c")
    ours = angle_closure(theta, sine, cosine)
    printed = ca.sin(theta) - ca.cos(theta) - sine + cosine  # document 000, eq. (2.104), of d.a = -sin and d.b = cos
    slopes = ca.Function("slopes", [theta, sine, cosine], [ca.jacobian(ours, theta), ca.jacobian(printed, theta)])
    near = ca.Function("near", [theta, sine, cosine], [followed(theta, 5 * sine, 5 * cosine)])
    for angle in np.linspace(-30.0, 30.0, 241):
        assert float(slopes(angle, np.sin(angle), np.cos(angle))[0]) == pytest.approx(1.0, abs=1e-14)
        assert float(near(angle + 0.4, np.sin(angle), np.cos(angle))) == pytest.approx(angle, abs=1e-13)
    for turns in range(-5, 5):
        angle = 3 * np.pi / 4 + turns * np.pi
        assert abs(float(slopes(angle, np.sin(angle), np.cos(angle))[1])) < 1e-13


@pytest.mark.parametrize("sequence", ["zyx", "xyz", "yzx", "zxz", "yxy", "xzx"])
def test_angles_of_a_gimbal_stay_on_their_side_of_the_lock(sequence):
    mechanism = dataclasses.replace(
        pair("gimbal"),
        joints=(
            Joint("base", "free", "world", "a"),
            Joint("tested", "gimbal", "a", "b", sequence=sequence, start=(0.1, 0.2, 0.3)),
        ),
        forces=(ForceElement("joint-spring", coordinate="tested.second", stiffness=1.0),),
    )
    ours = derive(mechanism, "directors")
    rng = np.random.default_rng(1)
    for _ in range(30):
        angles = rng.uniform(-9, 9, 3)
        Q, V = ours.split(numbers(ours.coordinates.initial([0, 0, 0, 1, 0, 0, 0, *angles], np.zeros(9), [])))
        assert_close(numbers(ours.coordinates.joint_state(Q, V, np.zeros(24), [])[0])[7:], angles, sequence, 1e-9)


def test_bodies_without_volume_move_in_the_null_space():
    options = {"step": 1e-3, "plugins": PLUGINS, "backend": "vm"}
    one, other = (simulate(model("double-pendulum"), 1.0, formulation=f, **options) for f in ("kane", "nullspace"))
    for name in one.names:
        assert_close(other[name], one[name], name, 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_null_space_is_one(seed):
    mechanism, ours = of_tree(seed, "directors")
    directors = DirectorModel(assemble(mechanism, PLUGINS))
    held = director_constraints(directors.at, directors.q, directors.v, ())
    P = rates(directors, ca.SX.eye(len(mechanism.speeds)))
    product = ca.Function("GP", [directors.state, directors.assembly.p], [ca.densify(held.A @ P), ca.densify(P)])
    for _, v, Q, V in tree_states(mechanism, ours, seed):
        GP, motions = (np.asarray(part) for part in product(Q, SCALE))
        assert_close(GP, 0.0, "G P", 1e-13)
        assert_close(motions @ v, V, "P nu", 1e-13)
        assert np.linalg.matrix_rank(motions) == len(v)


def test_the_null_space_method_does_not_drift():
    mechanism = model("spacecraft-arm")
    history = simulate(mechanism, 20.0, formulation="nullspace", step=0.01, plugins=PLUGINS, backend="vm")
    ours = derive(mechanism, "directors")
    p = [parameter.default for parameter in mechanism.parameters]
    for row in history.values[::50]:
        assert_close(numbers(ours.constraint_residuals(0, row[: ours.nq], np.zeros(ours.nv), p)[0]), 0.0, "joints", 1e-12)
