"""One classifier of channels, where there were three: what they agreed on stays, and what is right where they did not."""

from itertools import product
from typing import get_args

import pytest

from kingpost.base.channel_roles import FREE_MOTION, Role, role_of, roles_of
from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS
from kingpost.report.channels import TITLES
from kingpost.results.figures import FURTHER, USUAL
from kingpost.results.monitor_channels import GROUP_OF, MONITOR_GROUPS

# The two classifiers of channels by themselves that there were, for pictures and for reports, as they stood.


def former_role_in_pictures(channel):
    if channel.name in GROUP_OF:
        return "monitors"
    owner, *rest = channel.name.split(".")
    last = rest[-1] if rest else ""
    if owner == "loads" and len(rest) == 2:
        return {"gravity": "gravity", "residual": "residuals"}.get(rest[0], "others")
    if last in COMPONENTS:
        return "loads" if len(rest) == 1 else "parts"
    if owner == "energy":
        return "energies"
    if len(rest) == 2 and rest[0] == "pose":
        return "positions" if last.startswith("p") else "orientations"
    if len(rest) == 2 and rest[0] == "motion":
        return "body motions"
    if channel.frame:
        return "outputs"
    if last == "rate" or channel.unit in ("rad/s", "m/s"):
        return "rates"
    return "coordinates" if channel.unit in ("rad", "m") or last in ("qw", "qx", "qy", "qz") else "others"


def former_role_in_reports(channel):
    """Of what is no whole wrench, pose or motion."""
    if channel.name in GROUP_OF:
        return "monitors"
    if channel.name.startswith("energy."):
        return "energies"
    if channel.frame:
        return "outputs"
    if channel.name.endswith(".rate") or channel.unit in ("rad/s", "m/s", "deg/s"):
        return "rates"
    return "coordinates" if channel.unit in ("rad", "m", "deg", "1") else "others"


NAMES = (
    "", "heave", "rate", "energy", "qw", "Mx", "pose.px", "slew.angle", "slew.angle.rate", "crane.slew.angle.rate", "ball.qw",
    "ball.wx", "rope.tension", "foot.power", "energy.total", "crane.energy.total", "tip.x", "a.pose", "loads.gravity",
    "loads.residual", *GROUP_OF,
)  # fmt: skip
UNITS = ("rad", "m", "rad/s", "m/s", "deg", "deg/s", "1", "1/s", "J", "N", "N.m", "W", "s", "m/s2", "kg", "")


def test_what_both_said_stays():
    agreed = 0
    for name, unit, frame in product(NAMES, UNITS, ("", "world")):
        channel = Channel(name, unit, frame)
        in_pictures, in_reports = former_role_in_pictures(channel), former_role_in_reports(channel)
        if in_pictures == in_reports:
            agreed += 1
            assert role_of(channel) == in_pictures, channel
    assert agreed > 700


@pytest.mark.parametrize(
    ("channel", "in_pictures", "in_reports", "role"),
    [
        # An angle is an angle in degrees, too.
        (Channel("slew.angle", "deg"), "others", "coordinates", "coordinates"),
        (Channel("slew.speed", "deg/s"), "others", "rates", "rates"),
        # A pure number may be anything; quaternions have names of their own.
        (Channel("valve.opening", "1"), "others", "coordinates", "others"),
        (Channel("column7", "1"), "others", "coordinates", "others"),
        (Channel("ball.qw", ""), "coordinates", "others", "coordinates"),
        # Of joint loads, poses and motions reports knew only whole ones.
        (Channel("slew.Mx", "N.m"), "loads", "others", "loads"),
        (Channel("slew.friction.Mx", "N.m", "child"), "parts", "outputs", "parts"),
        (Channel("king.pose.px", "m"), "positions", "coordinates", "positions"),
        (Channel("king.pose.ew", "1", "world"), "orientations", "outputs", "orientations"),
        (Channel("king.motion.alphax", "rad/s2", "body"), "body motions", "outputs", "body motions"),
        (Channel("loads.gravity.z", "m/s2", "world"), "gravity", "outputs", "gravity"),
        (Channel("loads.residual.force", "N"), "residuals", "others", "residuals"),
        # Pictures took whatever stands below a pose for an orientation, and the place of a name for its meaning.
        (Channel("king.pose.error", "m"), "orientations", "coordinates", "coordinates"),
        (Channel("king.motion.w", "rad/s"), "body motions", "rates", "rates"),
        (Channel("loads.crane.hook", "m"), "others", "coordinates", "coordinates"),
        # In a coupled system the name of the component comes first.
        (Channel("crane.slew.Mx", "N.m", "child"), "parts", "outputs", "loads"),
        (Channel("crane.king.pose.px", "m", "world"), "outputs", "outputs", "positions"),
        (Channel("crane.king.motion.ax", "m/s2", "body"), "outputs", "outputs", "body motions"),
        (Channel("energy", "J"), "energies", "others", "energies"),
    ],
)
def test_where_they_did_not_agree_one_answer_is_right(channel, in_pictures, in_reports, role):
    assert (former_role_in_pictures(channel), former_role_in_reports(channel)) == (in_pictures, in_reports)
    assert role_of(channel) == role


@pytest.mark.parametrize(("unit", "role"), [("kn", "rates"), ("mm/s", "rates"), ("rpm", "rates"), ("km", "coordinates")])
def test_units_count_by_their_dimension(unit, role):
    assert role_of(Channel("winch.paid", unit)) == role


def test_power_is_no_energy_and_no_rate():
    assert role_of(Channel("foot.power", "W")) == role_of(Channel("energy_rate", "W")) == "others"


def test_monitors_are_what_the_monitors_add():
    for group in MONITOR_GROUPS:
        assert {role_of(channel) for channel in group.channels} == {"monitors"}
    assert role_of(Channel("energy.other", "J")) == "energies"
    assert role_of(Channel("constraints.other", "1")) == "others"
    assert role_of(Channel("momentum.linear.w", "kg.m/s", "world")) == "outputs"


def test_every_role_has_its_place_in_pictures_and_reports():
    assert sorted((*USUAL, *FURTHER)) == sorted(get_args(Role))
    assert sorted((*TITLES, "monitors", "residuals", "repeats", "memory")) == sorted(get_args(Role))


def test_states_for_equations_alone_are_memory_whatever_their_unit():
    for unit in ("m", "rad", "m/s", "N"):
        assert role_of(Channel("water.memory.heave3", unit)) == role_of(Channel("crane.waves.memory.slow_x", unit)) == "memory"
    # A joint or a load may be called so.
    assert role_of(Channel("memory.angle", "rad")) == "coordinates"
    assert role_of(Channel("foot.memory.Mx", "N.m", "child")) == "loads"


# What stands beside a channel


def test_a_wrench_below_another_one_is_a_part_of_it():
    names = ("foot.Mx", "foot.free.Mx", "foot.free.Fx", "crane.slew.Mx", "crane.slew.constraint.Mx", "constraint.Mx", ".Fx")
    assert roles_of([Channel(name, "N", "child") for name in names]) == {
        "foot.Mx": "loads",
        "foot.free.Mx": "parts",
        "foot.free.Fx": "loads",  # nothing else stands for the whole
        "crane.slew.Mx": "loads",
        "crane.slew.constraint.Mx": "parts",
        "constraint.Mx": "loads",  # a joint may be called so
        ".Fx": "loads",
    }


def test_what_has_a_rate_is_a_coordinate():
    """As the components of directors and of quaternions that are not in a joint's frame, which are pure numbers."""
    channels = [Channel("top.d1.x", "1"), Channel("top.d1.x.rate", "1/s"), Channel("share", "1"), Channel("a.power", "W")]
    assert roles_of(channels) == {
        "top.d1.x": "coordinates",
        "top.d1.x.rate": "rates",
        "share": "others",
        "a.power": "others",
    }


def test_the_place_of_a_free_joint_is_there_twice():
    six = [Channel(f"hull.{word}", "m" if word in ("surge", "sway", "heave") else "rad") for word in FREE_MOTION]
    place = [Channel(f"hull.{axis}", "m") for axis in "xyz"]
    roles = roles_of([*place, *six, Channel("hook.x", "m")])
    assert [roles[f"hull.{axis}"] for axis in "xyz"] == ["repeats"] * 3
    assert roles["hull.heave"] == roles["hull.roll"] == roles["hook.x"] == "coordinates"
    assert set(roles_of(place).values()) == {"coordinates"}  # where nothing else says it
