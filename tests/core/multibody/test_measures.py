"""Measures against geometry that can be written down."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import Body, Input, Joint, Measure, Mechanism, Parameter
from kingpost.multibody.assembly import assemble
from kingpost.multibody.measures import Measures
from kingpost.multibody.tree import TreeKinematics, TreePlaces

ARM, REACH = 2.0, 3.0


def crane(*measures, **others):
    """A mast that slews about z and carries, two metres out, a beam that turns about its own y axis, on a base that heels."""
    mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    return Mechanism(
        "crane",
        parameters=(Parameter("reach", REACH, "m"), Parameter("share", 0.25, "1")),
        bodies=(Body("base", **mass), Body("mast", **mass), Body("beam", **mass)),
        joints=(
            Joint("heel", "revolute", "world", "base", axis=(1, 0, 0), position=(0, 0, 10)),
            Joint("slew", "revolute", "base", "mast", axis=(0, 0, 1)),
            Joint("luff", "revolute", "mast", "beam", axis=(0, 1, 0), position=(ARM, 0, 0)),
        ),
        measures=measures,
        **others,
    )


def values(plugins, mechanism, *angles):
    """All measures at given angles of heel, slew and luff."""
    assembly = assemble(mechanism, plugins)
    space = TreeKinematics(assembly)
    found = Measures(space)
    y = ca.vertcat(*(found[measure.name] for measure in mechanism.measures))
    return np.asarray(ca.Function("y", [space.q, assembly.p], [y])(angles, [REACH, 0.25])).ravel()


HEEL, SLEW, LUFF = 0.3, 1.1, -0.4
TIP = {"body": "beam", "at": ("reach", 0, 0)}
#: Of the tip from the base, along and above its deck.
OUT, UP = ARM + REACH * np.cos(LUFF), -REACH * np.sin(LUFF)


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        (Measure("m", "position", axis="x", **TIP), OUT * np.cos(SLEW)),
        (Measure("m", "position", axis="z", **TIP), 10 + OUT * np.sin(SLEW) * np.sin(HEEL) + UP * np.cos(HEEL)),
        (Measure("m", "position", axis="z", of="base", origin=(0, 0, 1), **TIP), UP - 1),
        (Measure("m", "position", axis=(0, 3, 4), of="base", **TIP), 0.6 * OUT * np.sin(SLEW) + 0.8 * UP),
        (Measure("m", "position", axis="x", of="mast", **TIP), OUT),
        (Measure("m", "position", body="base", axis="z", of="mast", at=(0, 0, "reach")), REACH),
        (Measure("m", "distance", other="mast", **TIP), np.hypot(OUT, UP)),
        (Measure("m", "distance", other="world", other_at=(0, 0, 10), **TIP), np.hypot(OUT, UP)),
        (Measure("m", "azimuth", axis="z", of="base", **TIP), SLEW),
        (Measure("m", "azimuth", axis=(0, 0, -7), zero=(2, 0, 0), of="base", **TIP), -SLEW),
        (Measure("m", "azimuth", axis="z", zero=(0, 1, 5), of="base", **TIP), SLEW - np.pi / 2),
        (Measure("m", "azimuth", axis="z", near=6, of="base", **TIP), SLEW + 2 * np.pi),
        (Measure("m", "azimuth", axis="z", near="-10 / reach", of="base", **TIP), SLEW - 2 * np.pi),
        (Measure("m", "azimuth", axis="y", zero=(1, 0, 0), of="mast", origin=(ARM, 0, 0), **TIP), LUFF),
        (Measure("m", "azimuth", axis="y", of="mast", origin=(ARM, 0, 0), **TIP), LUFF + np.pi / 2),
        (Measure("m", "azimuth", axis="x", body="base", at=(0, 2, 0), origin=(0, 0, 10)), HEEL),
        (Measure("m", "rotation", body="beam", of="mast", axis="y"), LUFF),
        (Measure("m", "rotation", body="mast", of="base", axis=(0, 1, 1)), SLEW / np.sqrt(2)),
        (Measure("m", "rotation", body="mast", of="base", axis="z", reference=(0, 0, "2 * share")), SLEW - 0.5),
        (Measure("m", "coordinate", coordinate="luff.angle"), LUFF),
        (Measure("m", "combination", terms={"slew.angle": "1 - share", "luff.angle": "share"}), 0.75 * SLEW + 0.25 * LUFF),
    ],
)  # fmt: skip
def test_kinds_against_geometry(measure, value, plugins):
    (found,) = values(plugins, crane(measure), HEEL, SLEW, LUFF)
    assert found == pytest.approx(value, abs=2e-15 * 100)


def test_the_rotation_vector_is_that_of_scipy(plugins):
    measures = [Measure(f"r{axis}", "rotation", body="beam", axis=axis, reference=(0.2, -0.3, 2.0)) for axis in "xyz"]
    found = values(plugins, crane(*measures), HEEL, SLEW, LUFF)
    R = Rotation.from_euler("XZY", [HEEL, SLEW, LUFF])
    R0 = Rotation.from_euler("ZYX", [2.0, -0.3, 0.2])
    assert found == pytest.approx((R0.inv() * R).as_rotvec(), abs=1e-14)


def test_along_a_turn_about_a_fixed_axis_it_is_the_axis_times_the_angle(plugins):
    """The path of an orientation: from R0, about an axis in the body, by any angle below half a turn."""
    axis = np.array([2.0, -1.0, 2.0]) / 3
    measures = [Measure(f"r{k}", "rotation", body="ball", axis=k, reference=(0.4, -0.3, 0.9)) for k in "xyz"]
    ball = Mechanism(
        "ball",
        bodies=(Body("ball", mass=1.0, inertia=(1, 1, 1)),),
        joints=(Joint("pivot", "spherical", "world", "ball"),),
        measures=measures,
    )
    space = TreeKinematics(assemble(ball, plugins))
    found = Measures(space)
    y = ca.Function("y", [space.q], [ca.vertcat(*(found[measure.name] for measure in measures))])
    for angle in (0.0, 1e-9, 1.0, 3.1):
        x, y_, z, w = (Rotation.from_euler("ZYX", [0.9, -0.3, 0.4]) * Rotation.from_rotvec(angle * axis)).as_quat()
        assert np.asarray(y([w, x, y_, z])).ravel() == pytest.approx(angle * axis, abs=3e-15)


def test_where_an_azimuth_jumps_its_derivatives_do_not(plugins):
    mechanism = crane(Measure("m", "azimuth", axis="z", of="base", **TIP))
    space = TreeKinematics(assemble(mechanism, plugins))
    slew, expression = space.q[1], Measures(space)["m"]
    rates = [expression]
    for _ in range(4):
        rates.append(ca.jacobian(rates[-1], slew))
    function = ca.Function("rates", [space.q, space.assembly.p], rates)
    for angle in (np.pi - 1e-3, np.pi + 1e-3, 3 * np.pi):
        value, *derivatives = (float(item) for item in function([0, angle, LUFF], [REACH, 0.25]))
        assert np.cos(value - angle) == pytest.approx(1.0)
        assert derivatives == pytest.approx([1, 0, 0, 0], abs=1e-11)


def test_what_is_seen_from_a_carrier_depends_on_the_joints_between_alone(plugins):
    """Also where the carrier's motion comes from inputs, on which the world's sight of it depends."""
    mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    moved = {"pose": (0, 0, "heave", 0, 0, 0), "twist": (0,) * 6, "twist_rate": (0,) * 6}
    mechanism = Mechanism(
        "on-deck",
        inputs=(Input("heave", "m"),),
        bodies=(Body("deck", **mass), Body("cart", **mass), Body("bob", **mass)),
        joints=(
            Joint("base", "given", "world", "deck", **moved),
            Joint("rail", "prismatic", "deck", "cart", axis=(1, 0, 0)),
            Joint("hinge", "revolute", "cart", "bob", axis=(0, 1, 0)),
        ),
        measures=(
            Measure("seen", "position", body="bob", at=(0, 0, -1), axis="x", of="deck"),
            Measure("swung", "rotation", body="bob", axis="y", of="cart"),
            Measure("height", "position", body="bob", axis="z"),
        ),
    )
    for kinematics in (TreeKinematics, TreePlaces):
        space = kinematics(assemble(mechanism, plugins))
        found, u = Measures(space), space.assembly.u
        used = {name: {symbol.name() for symbol in ca.symvar(found[name])} for name in ("seen", "swung", "height")}
        assert used == {"seen": {"rail.displacement", "hinge.angle"}, "swung": {"hinge.angle"}, "height": {"heave"}}
        assert u.numel() == 1
