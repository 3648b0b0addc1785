"""Flat, slender, pointlike and massless bodies in natural coordinates, against joint coordinates."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, LoadRequest, Mechanism, MechanismError, Parameter, simulate, simulate_batch
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.consistency import consistent_start
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.directors.augmentation import augmentation
from kingpost.registry.selection import select
from kingpost.simulation.problem import check_mass_matrix
from tests.validation.natural import PLUGINS, assert_close, derive, joint_start, model, numbers


def defaults(items):
    return np.array([item.default for item in items])


def consistent_states(mechanism, kane, count):
    """Return random states in joint coordinates that satisfy all closures."""
    rng, p = np.random.default_rng(0), defaults(mechanism.parameters)
    start = joint_start(mechanism)
    for _ in range(count):
        x = start + 0.1 * rng.normal(size=len(start))
        for row in quaternion_rows(mechanism):
            x[row : row + 4] /= np.linalg.norm(x[row : row + 4])
        yield kane.split(consistent_start(kane, 0.0, x, p, far=True).x)


@pytest.mark.parametrize(
    "name",
    ["double-pendulum", "rotary-crane"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("slider-pendulum", "three-link-manipulator", "vessel-crane", "luffing-crane")
    ],
)
def test_accelerations_and_loads_are_those_in_joint_coordinates(name):
    mechanism = model(name)
    kane, ours = derive(mechanism, "kane"), derive(mechanism, "directors")
    assert ours.structure.augmentation is not None
    assembly, requests = assemble(mechanism, PLUGINS), [LoadRequest(joint.name) for joint in mechanism.joints]
    expected = derive_loads(assembly, kane, select(PLUGINS.joint_loads, "recursive"), requests)
    found = derive_loads(assembly, ours, select(PLUGINS.joint_loads, "multipliers"), requests)
    compared = [i for i, channel in enumerate(expected.channels) if ".pose.e" not in channel.name]
    p, u = defaults(mechanism.parameters), np.full(len(mechanism.inputs), 3.0)
    for q, v in consistent_states(mechanism, kane, 3):
        Q, V = ours.split(numbers(ours.coordinates.initial(q, v, p)))
        vdot, ours_vdot = numbers(kane.accelerations(0, q, v, u, p)), ours.accelerations(0, Q, V, u, p)
        assert_close(numbers(ours.coordinates.joint_state(Q, V, ours_vdot, p)[2]), vdot, "accelerations")
        theirs = numbers(expected.function(0, q, v, vdot, kane.multipliers(0, q, v, u, p), u, p))[compared]
        own = numbers(found.function(0, Q, V, ours_vdot, ours.multipliers(0, Q, V, u, p), u, p))[compared]
        assert_close(own, theirs, "loads")
        check_mass_matrix(ours, np.concatenate([Q, V]), p)


def test_the_augmented_equations_have_the_solution_of_the_plain_ones_whatever_the_weights():
    mechanism = model("double-pendulum")
    ours = derive(mechanism, "directors")
    p = defaults(mechanism.parameters)
    Q, V = ours.split(numbers(ours.coordinates.initial([0.4, -0.9], [1.0, 2.0], p)))
    e = ours
    M, A, f = (
        np.asarray(part)
        for part in ca.Function(
            "parts", [e.t, e.q, e.v, e.u, e.p], [ca.densify(e.M), ca.densify(e.constraints.A), ca.densify(e.f)]
        )(0, Q, V, [], p)
    )
    assert np.linalg.matrix_rank(M) < len(M)
    lam = numbers(ours.multipliers(0, Q, V, [], p))
    vdot = numbers(ours.accelerations(0, Q, V, [], p))
    # The balance itself, without any weight; and the constraints' rates, by a difference quotient along the motion.
    assert_close(M @ vdot + A.T @ lam, f.ravel(), "balance", 1e-12)
    rate = ca.Function("rate", [e.q, e.v, e.p], [e.constraints.A @ e.v])
    n, h = e.nv, 1e-5
    places = [np.concatenate([Q[:n] + s * h * V, Q[n:]]) for s in (-1, 1)]
    before, after = (numbers(rate(place, V + s * h * vdot, p)) for place, s in zip(places, (-1, 1), strict=True))
    assert_close((after - before) / (2 * h), 0.0, "constraints at acceleration level", 1e-8)
    for factor in (1e-3, 1e3):
        weights = dataclasses.replace(e.structure.augmentation, inertia=factor * e.structure.augmentation.inertia)
        other = dataclasses.replace(e, structure=dataclasses.replace(e.structure, augmentation=weights))
        assert_close(numbers(other.multipliers(0, Q, V, [], p)), lam, "multipliers", 1e-9)
        assert_close(numbers(other.accelerations(0, Q, V, [], p)), vdot, "accelerations", 1e-9)


def test_projection_is_the_smallest_change_in_the_singular_mass_metric():
    # Against the optimality conditions in dense form: M d + A' y = 0, A d = -c.
    mechanism = model("double-pendulum")
    ours = derive(mechanism, "directors")
    p, rng = defaults(mechanism.parameters), np.random.default_rng(1)
    Q, V = ours.split(numbers(ours.coordinates.initial([0.4, -0.9], [1.0, 2.0], p)))
    Q, V = Q + 1e-3 * rng.normal(size=len(Q)), V + 1e-3 * rng.normal(size=len(V))
    e = ours
    dense = ca.Function("parts", [e.q, e.p], [ca.densify(e.M), ca.densify(e.constraints.A)])
    M, A = (np.asarray(part) for part in dense(Q, p))
    phi, speed = (numbers(part) for part in ours.constraint_residuals(0, Q, V, p))
    matrix = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    for found, error in zip(ours.corrections(0, Q, V, p), (phi, speed), strict=True):
        expected = np.linalg.solve(matrix, np.concatenate([np.zeros(len(M)), -error]))[: len(M)]
        assert_close(numbers(found)[: len(M)], expected, "correction", 1e-11)


def test_regular_machines_keep_their_way():
    assert augmentation(assemble(model("satellite"), PLUGINS)) is None
    assert derive(model("four-bar"), "directors").structure.augmentation is None


@pytest.mark.parametrize(
    ("name", "t_end"),
    [("double-pendulum", 0.5), ("rotary-crane", 0.1)]
    + [pytest.param(name, t_end, marks=pytest.mark.slow) for name, t_end in (("vessel-crane", 0.2), ("luffing-crane", 0.1))],
)
def test_motions_are_those_in_joint_coordinates(name, t_end):
    mechanism = model(name)
    inputs = {signal.name: 5.0 for signal in mechanism.inputs}
    options = {"step": 1e-3, "output_step": t_end / 5, "plugins": PLUGINS, "backend": "vm", "inputs": inputs}
    one, other = (simulate(mechanism, t_end, formulation=f, **options) for f in ("kane", "directors"))
    for channel in one.names:
        if channel.split(".")[-1] not in ("qw", "qx", "qy", "qz"):
            assert_close(other[channel], one[channel], channel, 1e-8)


def crane_on_a_rope():
    """Return the rotary crane with its load on a rope that is a closure, as in document 000, section 2.4.2, eq. (2.112)."""
    crane = model("rotary-crane")
    kept = ("girder", "trolley", "winch")
    radius, length = (crane.parameter(name) for name in ("winch_radius", "rope_length"))
    return dataclasses.replace(
        crane,
        bodies=(
            *(body for body in crane.bodies if body.name in kept),
            Body("load", mass=crane.body("load").mass, inertia=(0.1, 0.1, 0.1)),
        ),
        joints=(
            *(joint for joint in crane.joints if joint.child in kept),
            Joint("motion", "free", "world", "load", start=(1.5, 0, -5, 1, 0, 0, 0), start_rate=(0, 0, 0, 0, 1.5, 0)),
        ),
        closures=(
            Closure("winding", "rope", "trolley", "load", length=length, coordinates=("winch-axle.angle",), radius=radius),
        ),
    )


def test_the_rotary_crane_on_a_rope_is_the_one_with_a_massless_link():
    options = {"step": 1e-3, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "formulation": "directors"}
    link, rope = (simulate(mechanism, 0.2, **options) for mechanism in (model("rotary-crane"), crane_on_a_rope()))
    for channel in (*(f"load.{axis}" for axis in "xyz"), "slew.angle", "travel.displacement", "winch-axle.angle"):
        assert_close(rope[channel], link[channel], channel, 1e-8)


def test_the_rotary_crane_keeps_its_energy_at_large_steps():
    # Drives without torque: the load falls, and the winch comes to 70 rad/s, 0.7 rad in a step.
    options = {"step": 0.01, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "integrator": "energy-momentum"}
    history = simulate(model("rotary-crane"), 0.8, formulation="directors", **options)
    energy = history["energy.total"]
    assert np.ptp(history["energy.kinetic"]) > 100.0
    assert np.abs(history["winch-axle.angle"]).max() > 2 * np.pi
    # 80 steps, each solved to some 1e-15 of the size of the energies.
    assert np.ptp(energy) <= 1e-11 * np.abs(energy).max()


@pytest.mark.parametrize(
    "integrator",
    ["variational"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("midpoint", "generalized-alpha", "bdf2", "backward-euler", "radau2")
    ],
)
def test_implicit_integrators_converge_on_slender_bodies(integrator):
    mechanism = model("double-pendulum")
    order = PLUGINS.integrators.get(integrator).order
    options = {"output_step": 0.1, "plugins": PLUGINS, "backend": "vm"}
    exact = simulate(mechanism, 0.1, formulation="kane", step=1e-3, **options)
    errors = []
    for h in (0.005, 0.0025):
        found = simulate(mechanism, 0.1, formulation="directors", integrator=integrator, step=h, **options)
        names = [quantity.name for quantity in mechanism.coordinates]
        errors.append(max(abs(found[name][-1] - exact[name][-1]) for name in names))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def machine_with_a_massless_tip():
    return Mechanism(
        "tip",
        bodies=(Body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)), Body("needle", mass=1.0, inertia=(0, 0.2, 0.2))),
        joints=(
            Joint("shoulder", "revolute", "world", "arm", axis=(0, 1, 0)),
            Joint("roll", "revolute", "arm", "needle", axis=(1, 0, 0), position=(1, 0, 0)),
        ),
        forces=(ForceElement("gravity"),),
    )


def test_a_motion_without_inertia_is_refused_by_name():
    mechanism = machine_with_a_massless_tip()
    with pytest.raises(MechanismError, match=r"acceleration of 'roll.angle' at the start: body 'needle'.*of joint 'roll'"):
        simulate(mechanism, 0.1, formulation="directors", plugins=PLUGINS, backend="vm")
    # What closes the gap: a gear to a shaft with inertia.
    shoulder, roll = mechanism.joints
    with_rate = (shoulder, dataclasses.replace(roll, start_rate=2.0))
    geared = dataclasses.replace(
        mechanism,
        bodies=(*mechanism.bodies, Body("shaft", mass=1.0, inertia=(0.1, 0.1, 0.1))),
        joints=(*with_rate, Joint("spin", "revolute", "arm", "shaft", axis=(1, 0, 0), start_rate=1.0)),
        closures=(Closure("mesh", "gear", coordinates=("roll.angle", "spin.angle"), ratio=2.0),),
    )
    history = simulate(geared, 0.1, formulation="directors", plugins=PLUGINS, backend="vm", output_step=0.1)
    assert history["roll.angle"][-1] == pytest.approx(0.2, rel=1e-9)


def test_motions_without_inertia_are_found_at_any_scale():
    M = np.diag([1e9, 1e-9, 0.0])
    parts = Augmentation(np.array([1e9, 1e-9, 1.0]), (2,), ((0, 1, 2),), {})
    assert parts.unresisted(M, np.array([[0.0, 1.0, 1.0]])) is None
    motion = parts.unresisted(M, np.array([[1.0, 0.0, 0.0]]))
    assert np.abs(motion[:2]).max() < 1e-9 * abs(motion[2])


def coin(across=0.125, about=0.25):
    """Return a coin on a ball joint, whose moments of inertia are parameters: it is flat where one is half the other."""
    c, a, m = Parameter("across", across, "kg.m2"), Parameter("about", about, "kg.m2"), Parameter("mass", 2.0, "kg")
    return Mechanism(
        "coin",
        parameters=(c, a, m),
        bodies=(Body("coin", mass=m, com=(0.3, 0, 0), inertia=(c, a, c)),),
        joints=(Joint("pin", "spherical", "world", "coin", start_rate=(1.0, 2.0, 0.5)),),
        forces=(ForceElement("gravity"),),
    )


SPINS = ("pin.wx", "pin.wy", "pin.wz")


@pytest.mark.parametrize(
    ("about", "settings"),
    [
        (0.25, {}),  # flat at the default parameters alone
        (0.25 - 1e-12, {}),  # flat but for rounding
        (0.2, {"about": 0.25}),  # flat by what is set
        (0.25, {"about": 0.2}),  # by default, but not as it is set
        (0.2, {"across": 0.2, "about": 0.0}),  # a rod
    ],
)
def test_bodies_that_parameters_make_flat_move_as_in_joint_coordinates(about, settings):
    """Where it is numbers that take the volume, and not the formulas: rk4 makes the same errors, but for coordinates: 1e-8."""
    options = {"step": 1e-3, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "settings": settings}
    one, other = (simulate(coin(about=about), 0.1, formulation=name, **options) for name in ("kane", "directors"))
    for name in SPINS:
        assert_close(other[name], one[name], name, 1e-8)
    assert np.ptp(one["pin.wy"]) > 0.5


def test_a_body_that_parameters_make_a_point():
    """On two axes across its arm, so that none of its motions is without inertia."""
    pin = Joint("pin", "universal", "world", "coin", axis=(0, 0, 1), axis2=(0, 1, 0), start_rate=(1.0, 2.0))
    mechanism = dataclasses.replace(coin(), joints=(pin,))
    options = {"step": 1e-3, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm"}
    options["settings"] = {"across": 0.0, "about": 0.0}
    one, other = (simulate(mechanism, 0.1, formulation=name, **options) for name in ("kane", "directors"))
    for name in one.names:
        if name.startswith("pin."):
            assert_close(other[name], one[name], name, 1e-8)


@pytest.mark.parametrize("options", ["", ":planar=true"])
def test_bodies_flat_by_parameters_are_solved_with_their_constraints(options):
    mechanism = coin()
    if options:
        pin = Joint("pin", "revolute", "world", "coin", axis=(0, 0, 1))
        mechanism = dataclasses.replace(mechanism, joints=(pin,))
    flat = derive(mechanism, f"directors{options}")
    assert flat.structure.augmentation is not None and not flat.structure.volumes
    solid = dataclasses.replace(mechanism, parameters=coin(about=0.2).parameters)
    assert derive(solid, f"directors{options}").structure.augmentation is None


@pytest.mark.parametrize("formulation", ["directors", "directors:planar=true"])
def test_a_batch_that_takes_the_volume_of_a_body_is_refused_by_name(formulation):
    mechanism = coin(about=0.2)
    if "planar" in formulation:
        pin = Joint("pin", "revolute", "world", "coin", axis=(0, 0, 1), start_rate=1.0)
        mechanism = dataclasses.replace(mechanism, joints=(pin,))
    options = {"plugins": PLUGINS, "backend": "vm", "formulation": formulation, "step": 1e-3}
    with pytest.raises(
        MechanismError,
        match=r"scenario 1: body 'coin' is flat.* with across = 0\.125 kg\.m2, about = 0\.25 kg\.m2, mass = 2 kg: its inertia "
        r"is 0 along one director and 0\.125 along another, and .*'directors' were derived for .*take formulation 'kane'",
    ):
        simulate_batch(mechanism, 0.01, [{}, {"about": 0.25}], **options)
    with pytest.raises(MechanismError, match=r"scenario 1: body 'coin' .* mass = 0 kg: its inertia is 0 along"):
        simulate_batch(mechanism, 0.01, [{}, {"mass": 0.0}], **options)
    # The other way round nothing is in the way.
    one, other = simulate_batch(mechanism, 0.01, [{"about": 0.25}, {}], **options)
    last = SPINS[2] if formulation == "directors" else "pin.angle.rate"
    assert np.isfinite([one[last], other[last]]).all()
