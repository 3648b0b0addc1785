"""Small motions of what rolls, where a coordinate has no inertia and rolling alone holds it, against a closed form."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, linearize
from kingpost.mechanism.closures import Closure

MASS, RADIUS, STIFF, SOFT = 3.0, 0.2, 50.0, 80.0
MOMENT = 0.4 * MASS * RADIUS**2


def ball_on_a_plate(kind="rolling", tilt=0.0, plate_last=False, plate_mass=0.0):
    """Return a ball on springs of the same stiffness along x, y and z; it rolls on a plate that slides on a spring.

    ``tilt`` turns the plate and its rail, which changes nothing but the coordinates.
    """
    at = (RADIUS * np.sin(tilt), 0.0, RADIUS * np.cos(tilt))
    turned = (0.0, tilt, 0.0)
    surface = kind == "rolling-surface"
    joints = [
        Joint("scrub", "prismatic", "world", "plate", axis=(np.cos(tilt), 0, -np.sin(tilt))),
        Joint("place", "translational", "world", "carriage", start=at),
        Joint("turn", "spherical", "carriage", "ball"),
    ]
    options = {"rotation": turned}
    if surface:
        joints.append(Joint("touch", "translational", "plate", "contact"))
        normal = f"sin({tilt}) * x + cos({tilt}) * z"
        options = {"surface": normal, "coordinates": ("touch.x", "touch.y", "touch.z")}
    return Mechanism(
        "ball-on-a-plate",
        bodies=[
            Body("plate", mass=plate_mass),
            Body("carriage", mass=0.0),
            Body("ball", mass=MASS, inertia=(MOMENT, MOMENT, MOMENT)),
            *([Body("contact", mass=0.0)] if surface else []),
        ],
        joints=[*joints[1:], joints[0]] if plate_last else joints,
        closures=[Closure("rolling", kind, "plate", "ball", radius=RADIUS, **options)],
        forces=[
            *(
                ForceElement("joint-spring", name=f"spring-{axis}", coordinate=f"place.{axis}", stiffness=STIFF, rest=rest)
                for axis, rest in zip("xyz", at, strict=True)
            ),
            ForceElement("joint-spring", name="buffer", coordinate="scrub.displacement", stiffness=SOFT),
        ],
    )


#: Along the rail, with x of the ball's centre, s of the plate and w the turning of the ball, s' = x' - r w, and the plate
#: without mass hands the force of its spring on: m x'' = -k x - c s, J w' = r c s. Across it, (m + J / r^2) y'' = -k y.
ALONG = np.array([[STIFF, SOFT], [STIFF, SOFT * (1 + MASS * RADIUS**2 / MOMENT)]]) / MASS
ACROSS = STIFF / (MASS + MOMENT / RADIUS**2)


@pytest.mark.parametrize(
    ("kind", "tilt", "plate_last"),
    [("rolling", 0.0, True), ("rolling", 0.4, False), ("rolling", 0.4, True), ("rolling-surface", 0.4, False)],
)
def test_a_coordinate_that_rolling_alone_holds_is_among_the_displacements(kind, tilt, plate_last, plugins):
    """Nothing on positions holds the plate, so that where it is belongs to the state: six displacements, four speeds.

    Eigenvalues to 1e-10 of the largest: those that differ are as well conditioned as ALONG; the six zeros come in chains of
    two, so that rounding of 1e-14 shows as 1e-7 there.
    """
    system = linearize(ball_on_a_plate(kind, tilt, plate_last), plugins=plugins)
    assert "displacement of scrub.displacement" in system.states and len(system.states) == 10
    assert "scrub.displacement.rate" not in system.states
    assert np.abs(system.A).max() < 1e3
    expected = np.sqrt(np.sort([*np.linalg.eigvals(ALONG), ACROSS]))
    values = np.linalg.eigvals(system.A)
    swings = np.sort(values.imag[values.imag > 1.0])
    np.testing.assert_allclose(swings, expected, rtol=1e-10)
    assert np.abs(values.real).max() < 1e-6 and np.sum(np.abs(values) < 1e-5) == 4


def test_the_shape_of_a_mode_has_the_plate(plugins):
    system = linearize(ball_on_a_plate(tilt=0.0, plate_last=True), plugins=plugins)
    squares, shapes = np.linalg.eig(ALONG)
    for square, (x, s) in zip(squares, shapes.T, strict=True):
        mode = min(system.modes, key=lambda mode: abs(mode.eigenvalue - 1j * np.sqrt(square)))
        shape = dict(zip(system.shape_names, mode.shape, strict=True))
        assert shape["scrub.displacement"] / shape["place.x"] == pytest.approx(s / x, rel=1e-9)
        # x - s = r times the turn
        assert RADIUS * shape["turn.wy"] / shape["place.x"] == pytest.approx(1 - s / x, rel=1e-9)


def test_a_light_plate_comes_near_to_none(plugins):
    """With 1e-6 of the ball's mass the squares of frequencies change by some 1e-6 of the largest over the smallest."""
    expected = np.sort([*np.linalg.eigvals(ALONG), ACROSS])
    values = np.linalg.eigvals(linearize(ball_on_a_plate(plate_mass=1e-6 * MASS), plugins=plugins).A)
    np.testing.assert_allclose(np.sort(values.imag[values.imag > 1.0] ** 2), expected, rtol=1e-5)
