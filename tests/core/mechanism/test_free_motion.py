"""Which motions of which joints are shown, and what they are called."""

from kingpost import Body, Joint, Measure
from kingpost.base.channels import Channel
from kingpost.mechanism.free_motion import FREE_MOTION, free_motion_channels, free_motions
from tests.core.mechanism.small import machine

WORDS = ("surge", "sway", "heave", "roll", "pitch", "yaw")


def test_every_free_joint_has_six_and_no_other_joint_has_any():
    bodies = [Body("bob", 1.0), Body("buoy", 1.0), Body("float", 1.0)]
    joints = [
        Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0)),
        Joint("hull", "free", "world", "buoy"),
        Joint("line", "free", "bob", "float"),
    ]
    found = free_motion_channels(machine(bodies=bodies, joints=joints))
    assert [channel.name for channel in found] == [f"{joint}.{word}" for joint in ("hull", "line") for word in WORDS]
    assert found[0] == Channel("hull.surge", "m") and found[3] == Channel("hull.roll", "rad")
    assert tuple(motion.name for motion in FREE_MOTION) == WORDS


def test_coordinates_keep_their_own_names():
    names = ("surge", "sway", "heave", "qw", "qx", "qy", "qz")
    joint = Joint("hull", "free", "world", "bob", coordinates=names)
    assert list(free_motions(machine(joints=[joint]))) == ["hull.roll", "hull.pitch", "hull.yaw"]
    gimbal = Joint("hull", "gimbal", "world", "bob", sequence="zyx", coordinates=("yaw", "pitch", "roll"))
    assert free_motions(machine(joints=[gimbal])) == {}


def test_measures_may_be_made_of_them():
    measures = [
        Measure("heel", "coordinate", coordinate="hull.roll"),
        Measure("sum", "combination", terms={"hull.pitch": 2.0, "heel": 1.0}),
    ]
    found = machine(joints=[Joint("hull", "free", "world", "bob")], measures=measures)
    assert found.measure_units == {"heel": "rad", "sum": "rad"}
