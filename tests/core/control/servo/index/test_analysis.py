"""Index, internal states, realisation and zero dynamics of the machines of documents 000 and 003, found without hints."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigvals

from kingpost.control.servo.derivative_array import DerivativeArray, FirstOrder
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.points import at_rest
from kingpost.control.servo.index.realisation import NotDefined, Realisation, realisation
from kingpost.control.servo.index.zero_dynamics import NoRest, ZeroDynamics
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.elements import ForceElement
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import RestToRest
from kingpost.modelfiles.opened import open_model
from kingpost.simulation.settings import RunSettings
from tests.core.control.servo.machines import dependent_crane, floating_block, move, posed, slide, sliders, turntable


def report(model, task="003", **values):
    return _report(model, task, tuple(sorted(values.items())))


@cache
def _report(model, task, values):
    return analyse(posed(model, task, **dict(values)))


#: Model, task, values: index, internal states, rank and number of servo-constraints.
TARGETS = {
    "arm": ("passive-joint-arm", "003", {}, 3, 2, 1, 1),
    "arm with damping": ("passive-joint-arm", "003", {"damping": 0.2}, 3, 2, 1, 1),
    "two masses": ("mass-chain", "003", {}, 5, 0, 0, 1),
    "two masses with damping": ("mass-chain", "003", {"damping": 10.0}, 4, 1, 0, 1),
    "three masses": ("mass-chain:n=3", "003", {}, 7, 0, 0, 1),
    "three masses with damping": ("mass-chain:n=3", "003", {"damping": 10.0}, 5, 2, 0, 1),
    "overhead crane": ("overhead-crane", "003", {}, 5, 0, 1, 2),
    "overhead crane with friction": ("overhead-crane", "003", {"trolley_damping": 50.0, "winch_damping": 50.0}, 5, 0, 1, 2),
    "overhead crane, dependent": ("overhead-crane:form=dependent", "003", {}, 5, 0, 1, 2),
    "overhead crane, elastic": ("overhead-crane:form=elastic", "003", {}, 5, 0, 0, 2),
    "rotary crane": ("rotary-crane", "000-4.4.2", {}, 5, 0, 1, 3),
    "US Navy crane in the plane": ("us-navy-crane-2d", "000-6.1.2", {}, 5, 0, 2, 3),
}
#: Those that take long to analyse.
LONG = ("overhead crane, elastic", "arm with damping")


@pytest.mark.quick(*(name for name in TARGETS if name not in LONG))
@pytest.mark.parametrize("name", TARGETS)
def test_index_internal_states_and_rank(name):
    model, task, values, index, internal, rank, of = TARGETS[name]
    found = report(model, task, **values)
    assert (found.index, found.internal_states) == (index, internal)
    assert (found.realisation.rank, found.realisation.of) == (rank, of)
    assert {at for _, at in found.ranks} == {rank}
    assert {at for _, at in found.indices} == {index}
    assert len(found.indices) >= 7
    assert not found.stopped


@pytest.mark.quick(*(name for name in TARGETS if name not in LONG))
@pytest.mark.parametrize("name", TARGETS)
def test_the_signature_method_is_right_where_it_is_accepted(name):
    model, task, values, index, internal, *_ = TARGETS[name]
    structural = report(model, task, **values).structural
    if structural.accepted:
        signature = structural.signature
        assert signature.index == index
        assert sum(signature.unknown_offsets) - sum(signature.row_offsets) == internal
    assert structural.accepted == (name not in ("overhead crane", "overhead crane with friction", "rotary crane"))


def test_joint_coordinates_mislead_the_signature_method():
    """It says 3 for the overhead crane in minimal coordinates; the system Jacobian has one rank too few, and so it is told."""
    structural = report("overhead-crane").structural
    assert structural.signature.index == 3
    assert not structural.accepted
    assert (structural.jacobian.rank, structural.jacobian.size) == (7, 8)
    assert structural.sentence.startswith("3, not accepted: rank 7 of 8 (singular values")


def test_massless_pulley_in_the_plane():
    """The rank of the mass matrix is lost, so Y is not defined; ranks are lost where the guide rope carries nothing."""
    found = report("us-navy-crane-2d:pulley=massless", "000-6.1.1")
    assert (found.index, found.internal_states) == (5, 0)
    assert isinstance(found.realisation, NotDefined)
    assert "mass matrix is singular along" in found.realisation.sentence
    # Notes on document 000, section 6.1.1, to the digits they have.
    np.testing.assert_allclose(found.singular_times, [0.0, 1.641, 2.424], atol=1e-3)


@pytest.mark.slow
def test_cranes_in_space():
    """Index 7 where the document says 5; without mass, ranks are lost only at the start."""
    heavy = report("us-navy-crane-3d", "000-6.2.2-smooth")
    assert (heavy.index, heavy.internal_states, heavy.structural.signature.index) == (7, 0, 7)
    assert heavy.smoothness_needed == {"load.x": 6, "load.y": 6, "load.z": 6, "pulley-centre.z": 4}
    light = report("us-navy-crane-3d:pulley=massless", "000-6.2.1")
    assert (light.index, light.internal_states) == (5, 0)
    assert light.singular_times == (0.0,)


@pytest.mark.slow
def test_seven_and_three_inputs():
    """CABLEV and the rotary crane with two winches: index 5, flat; the spread of the trolleys is led directly."""
    platform = report("cablev", "000-6.3.7-both")
    assert (platform.index, platform.internal_states) == (5, 0)
    assert (platform.realisation.rank, platform.realisation.of) == (4, 7)
    assert platform.smoothness_needed["spread"] == 2
    winches = report("rotary-crane-two-winches", "000-5.4.4")
    assert (winches.index, winches.internal_states) == (5, 0)
    assert (winches.realisation.rank, winches.realisation.of) == (1, 3)


def test_fully_actuated():
    """As many inputs as degrees of freedom: index 3, nothing left free, orthogonal."""
    problem = slide(sliders(2, [1, 2]), ("rail1.x", "rail2.x"), ("force1", "force2"))
    found = analyse(problem)
    assert (found.index, found.internal_states, found.realisation.kind) == (3, 0, "orthogonal")
    np.testing.assert_allclose(found.realisation.Y, np.diag([1.0, 0.5]), atol=1e-14)
    np.testing.assert_allclose(found.realisation.cosines, 1.0)


def test_a_crane_of_our_own_with_a_rope():
    """Dependent coordinates with a body of no mass on the way to the load, which constraints and inertia of others cover."""
    path = {**move("load.x"), "load.z": RestToRest(-4.0, -3.0, 0.0, 2.0)}
    found = analyse(pose_servo(dependent_crane(), ServoTask(path, ("trolley_force", "winch_torque"), 2.0)))
    assert (found.index, found.internal_states) == (5, 0)
    assert found.structural.accepted
    assert (found.realisation.rank, found.realisation.freedom) == (1, 3)


def test_quaternions_and_followers_are_no_internal_states():
    """A free body with six inputs, and a wheel whose angle follows its directors: fully actuated both."""
    measures = ("centre.x", "centre.y", "centre.z", "rotation_x", "rotation_y", "rotation_z")
    inputs = tuple(f"{what}_{axis}" for what in ("push", "turn") for axis in "xyz")
    free = analyse(pose_servo(floating_block(), ServoTask(move(*measures, by=0.3), inputs, 2.0)))
    assert (free.index, free.internal_states, free.realisation.rank) == (3, 0, 6)
    task = ServoTask(move("axle.angle", by=4.0), "torque", 2.0)
    problem = pose_servo(turntable(), task, RunSettings(formulation="nullspace"))
    assert problem.equations.coordinates.followers == 1
    found = analyse(problem)
    assert (found.index, found.internal_states, found.realisation.rank) == (3, 0, 1)


#: Document 003: eigenvalues of the zero dynamics.
EIGENVALUES = {
    "arm": ("passive-joint-arm", {}, [3j, -3j]),
    "arm with damping": ("passive-joint-arm", {"damping": 0.2}, [-0.9 + 1j * math.sqrt(8.19), -0.9 - 1j * math.sqrt(8.19)]),
    "arm led at its end": ("passive-joint-arm", {"kappa": 0.5}, [math.sqrt(6), -math.sqrt(6)]),
    "two masses with damping": ("mass-chain", {"damping": 10.0}, [-1.0]),
    "three masses with damping": ("mass-chain:n=3", {"damping": 10.0}, [-1.0, -1.0]),
    "two masses": ("mass-chain", {}, []),
}


@pytest.mark.parametrize("name", EIGENVALUES)
def test_zero_dynamics(name):
    model, values, expected = EIGENVALUES[name]
    found = report(model, **values)
    assert found.zero_dynamics.internal_states == found.internal_states
    # A double eigenvalue is known to the root of rounding.
    key = lambda value: (round(value.real, 6), round(value.imag, 6))  # noqa: E731
    np.testing.assert_allclose(sorted(found.eigenvalues, key=key), sorted(map(complex, expected), key=key), atol=1e-7)


def test_only_growing_motions_are_unstable():
    assert report("passive-joint-arm").zero_dynamics.unstable == ()
    (growing,) = report("passive-joint-arm", kappa=0.5).zero_dynamics.unstable
    assert growing == pytest.approx(math.sqrt(6))


def test_eigenvalues_against_the_pencil():
    """Those of (dF/dxdot, dF/dx) at rest by QZ: index 3 leaves the finite ones in sight."""
    system = FirstOrder(posed("passive-joint-arm", damping=0.2))
    x, left = at_rest(system, 6.0, system.start)
    assert left < 1e-12
    array = DerivativeArray(system, 0, 1.0)
    J = array.jacobian(6.0, np.column_stack([x, np.zeros(system.size)]), array.signals(6.0))
    values = eigvals(-J[:, : system.size], J[:, system.size :])
    finite = values[np.abs(values) < 100.0]
    found = report("passive-joint-arm", damping=0.2).eigenvalues
    np.testing.assert_allclose(sorted(finite.imag), sorted(np.imag(found)), rtol=1e-6)
    np.testing.assert_allclose(finite.real, np.real(found), rtol=1e-6)


def test_realisation_of_the_arm():
    """Y = 1/7 and -3/14 with the elbow straight, document 003, eqs. (24) and (25) as they should read."""
    for kappa, value in ((1 / 3, 1 / 7), (0.5, -3 / 14)):
        found = report("passive-joint-arm", kappa=kappa).realisations[0]
        assert found.t == 0.0
        np.testing.assert_allclose(found.Y, [[value]], rtol=1e-9)
        assert found.kind == "orthogonal"


def test_cosines_are_angles_between_measures_and_inputs():
    """With M = 1: a measure at 60 degrees to the only input that acts, and one across it."""
    M, A = np.eye(2), np.zeros((0, 2))
    names = ("a", "b")
    slanted = realisation(0.0, M, A, np.array([[0.5, math.sqrt(0.75)]]), np.array([[7.0], [0.0]]), names)
    assert isinstance(slanted, Realisation)
    assert slanted.cosines == pytest.approx((0.5,))
    across = realisation(0.0, M, A, np.array([[0.0, 1.0]]), np.array([[7.0], [0.0]]), names)
    assert (across.rank, across.kind) == (0, "tangential")
    # A mass of 4 kg along a: lengths there count twice.
    heavy = realisation(0.0, np.diag([4.0, 1.0]), A, np.array([[1.0, 1.0]]), np.array([[1.0], [0.0]]), names)
    assert heavy.cosines == pytest.approx((1 / math.sqrt(5),))
    assert ((pytest.approx(0.25),),) == heavy.Y


def test_constraints_turn_what_inputs_do():
    """Two blocks welded by a constraint: the input on one moves the other."""
    A = np.array([[1.0, -1.0]])
    found = realisation(0.0, np.diag([1.0, 3.0]), A, np.array([[0.0, 1.0]]), np.array([[1.0], [0.0]]), ("a", "b"))
    assert (found.rank, found.freedom) == (1, 1)
    assert ((pytest.approx(0.25),),) == found.Y


def test_singular_masses():
    """A speed without inertia that a constraint ties to one with it is no obstacle; one that is free is named."""
    M = np.diag([2.0, 0.0])
    H, B = np.array([[1.0, 0.0]]), np.array([[1.0], [0.0]])
    tied = realisation(0.0, M, np.array([[1.0, -1.0]]), H, B, ("heavy", "light"))
    assert ((pytest.approx(0.5),),) == tied.Y
    free = realisation(0.0, M, np.zeros((0, 2)), H, B, ("heavy", "light"))
    assert isinstance(free, NotDefined)
    assert free.massless == ("light",)
    assert "singular along light" in free.sentence


def test_smoothness():
    """Inputs depend on the derivative of order index - 1; a path of a rest-to-rest polynomial has four."""
    found = report("mass-chain", damping=10.0)
    assert (found.smoothness_needed, found.smoothness_there) == ({"mass2.x": 3}, {"mass2.x": 4})
    assert report("passive-joint-arm").smoothness_needed == {"azimuth": 2}
    assert report("overhead-crane").smoothness_needed == {"load.x": 4, "load.z": 4}


def test_a_machine_moved_by_time_has_no_rest():
    """Its base is given as a function of time: an index, but no zero dynamics."""
    crane = open_model("slider-pendulum").mechanism
    pushed = replace(
        crane,
        forces=(*crane.forces, ForceElement("joint-effort", name="gust", coordinate="swing.angle", effort="sin(t)")),
    )
    found = analyse(pose_servo(pushed, ServoTask(move("rail.displacement"), ("drive",), 2.0)))
    assert (found.index, found.internal_states) == (3, 2)
    assert isinstance(found.zero_dynamics, NoRest)
    assert found.eigenvalues == ()


def test_the_cart_led_alone():
    """A pendulum under a trolley that is led: its swing is internal, with the eigenvalues of a pendulum."""
    crane = open_model("slider-pendulum").mechanism
    found = analyse(pose_servo(crane, ServoTask(move("rail.displacement"), ("drive",), 2.0)))
    assert isinstance(found.zero_dynamics, ZeroDynamics)
    np.testing.assert_allclose(sorted(np.imag(found.eigenvalues)), [-math.sqrt(9.81 / 4), math.sqrt(9.81 / 4)], rtol=1e-9)
    np.testing.assert_allclose(np.real(found.eigenvalues), 0.0, atol=1e-9)
