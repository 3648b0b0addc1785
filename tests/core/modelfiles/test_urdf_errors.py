"""URDF files that break a rule: errors with file and line."""

import re
import sys

import pytest

from kingpost import FileError, MechanismError
from kingpost.modelfiles.urdf import read_urdf
from tests.core.modelfiles.robots import ARM, DAMPED, SHUTTLE, SLEDGE


def located(path, text, where, message):
    """Return the message with file and line in front, the line being that of the first ``where`` in ``text``."""
    return f"{path}:{text[: text.index(where)].count(chr(10)) + 1}: {message}"


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (ARM.replace("</joint>", "", 1), "</robot>", "this is not well-formed XML: Opening and ending tag mismatch: joint"),
        ("", "", "this is not well-formed XML: Document is empty"),
        (ARM.replace("robot", "sdf"), "<sdf", "this is not URDF: the outermost element is <sdf>, not <robot>"),
        (
            '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">\n<xacro:arm/>\n</robot>',
            "<xacro:arm",
            "<xacro:arm> has not been expanded; run 'xacro' on this file first and read its output",
        ),
    ],
    ids=["broken", "empty", "sdf", "xacro"],
)
def test_what_is_not_urdf_is_refused(write, text, where, message):
    path = write(text)
    with pytest.raises(FileError) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(located(path, text, where, message))


BRACE = '<joint name="brace" type="fixed"><parent link="pedestal"/><child link="fore"/></joint>'
WRONG = {
    "robot without name": (ARM.replace(' name="arm"', ""), "<robot", "the robot: <robot> lacks the attribute 'name'"),
    "no link": ('<robot name="nothing"/>', "<robot", "the robot has no <link>"),
    "link without name": (ARM.replace(' name="fore"', ""), "<link>", "link '': <link> lacks the attribute 'name'"),
    "no parent": (ARM.replace('<parent link="upper"/>', ""), '<joint name="elbow"', "joint 'elbow': <joint> lacks <parent>"),
    "empty parent": (
        ARM.replace('<parent link="upper"/>', "<parent/>"),
        "<parent/>",
        "joint 'elbow': <parent> lacks the attribute 'link'",
    ),
    "no mass": (ARM.replace('<mass value="20"/>', ""), "<inertial>", "link 'pedestal': <inertial> lacks <mass>"),
    "no inertia": (
        ARM.replace('<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>', ""),
        "<inertial>",
        "link 'pedestal': <inertial> lacks <inertia>; give zeros for a point mass",
    ),
    "inertia with a gap": (
        ARM.replace(' iyy="0.42"', ""),
        '<inertia ixx="0.31"',
        "link 'upper': <inertia> lacks the attribute 'iyy'",
    ),
    "comma": (
        ARM.replace('value="3.5"', 'value="3,5"'),
        "3,5",
        "link 'upper': <mass value='3,5'> should hold a finite number",
    ),
    "infinite mass": (
        ARM.replace('value="3.5"', 'value="inf"'),
        "inf",
        "link 'upper': <mass value='inf'> should hold a finite number",
    ),
    "short vector": (
        ARM.replace('xyz="0 0.3 0.9"', 'xyz="0 0.3"'),
        'xyz="0 0.3"',
        "joint 'elbow': <origin xyz='0 0.3'> should hold 3 finite numbers",
    ),
    "damping in words": (
        DAMPED.replace('damping="0.25"', 'damping="much"'),
        "much",
        "joint 'elbow': <dynamics damping='much'> should hold a finite number",
    ),
    "no direction": (
        ARM.replace("0 1 0", "0 0 0"),
        "0 0 0",
        "joint 'shoulder': <axis xyz='0 0 0'> is no direction; give one, e.g. '0 0 1'",
    ),
    "no direction of a plane": (
        SLEDGE.replace("0 0 1", "0 0 0"),
        "0 0 0",
        "joint 'float': <axis xyz='0 0 0'> is no direction; give one, e.g. '0 0 1'",
    ),
    "unknown type": (
        ARM.replace("continuous", "contineous"),
        "contineous",
        "joint 'elbow': unknown type 'contineous'; did you mean 'continuous'? "
        "Types: revolute, continuous, prismatic, fixed, floating, planar.",
    ),
    "no type": (
        ARM.replace(' type="continuous"', ""),
        '<joint name="elbow"',
        "joint 'elbow': <joint> lacks the attribute 'type'",
    ),
    "unknown parent": (
        ARM.replace('<parent link="upper"/>', '<parent link="uper"/>'),
        "uper",
        "joint 'elbow': its parent 'uper' is not a link of this file; did you mean 'upper'? Links: pedestal, upper, fore.",
    ),
    "unknown child": (
        ARM.replace('<child link="fore"/>', '<child link="hand"/>'),
        "hand",
        "joint 'elbow': its child 'hand' is not a link of this file. Links: pedestal, upper, fore.",
    ),
    "mimic": (
        ARM.replace('<axis xyz="1 2 -2"/>', '<mimic joint="shoulder" multiplier="2"/>'),
        "<mimic",
        "joint 'elbow' mimics joint 'shoulder', but the coordinates of a tree move independently. Remove <mimic> to let the "
        "joint move on its own, or make its type 'fixed' to lock it",
    ),
    "two links of one name": (
        ARM.replace('link name="fore"', 'link  name="upper"'),
        "<link  name",
        "two links are called 'upper', the other one in line 7; rename one of them",
    ),
    "two joints of one name": (
        ARM.replace('joint name="elbow"', 'joint  name="shoulder"'),
        "<joint  name",
        "two joints are called 'shoulder', the other one in line 22; rename one of them",
    ),
    "two roots": (
        ARM.replace("</robot>", '<link name="loose"/>\n</robot>'),
        "loose",
        "2 links have no parent: 'pedestal', 'loose'; a URDF tree has one root. Join the others to it, e.g. by fixed joints",
    ),
    "closed loop": (
        ARM.replace("</robot>", f"{BRACE}\n</robot>"),
        BRACE,
        "body 'fore' is the child of two joints, 'elbow' and 'brace'; a tree has one joint for each body",
    ),
    "loop beside the root": (
        ARM.replace('<parent link="pedestal"/>', '<parent link="fore"/>'),
        '<joint name="shoulder"',
        "the bodies upper -> fore -> upper carry each other in a loop that never reaches 'world'; "
        "change the parent of joint 'shoulder' or of another joint of the loop",
    ),
    "loop without a root": (
        SHUTTLE.replace('<link name="world"/>', "").replace('<parent link="world"/>', '<parent link="drawer"/>'),
        '<joint name="float"',
        "the bodies hull -> drawer -> hull carry each other in a loop that never reaches 'world'",
    ),
    "negative mass": (
        ARM.replace('value="3.5"', 'value="-3.5"'),
        '<link name="upper"',
        "body 'upper': mass is -3.5 kg; it cannot be negative",
    ),
    "impossible inertia": (
        SHUTTLE.replace('ixx="0.2"', 'ixx="0.9"'),
        '<link name="drawer"',
        "body 'drawer': no body has the principal moments of inertia",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_broken_rule_is_told_with_file_and_line(write, case):
    text, where, message = WRONG[case]
    path = write(text)
    with pytest.raises(MechanismError) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(located(path, text, where, message))


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "none.urdf"
    with pytest.raises(FileError, match=re.escape(f"there is no file '{path}'")):
        read_urdf(path)


def test_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=re.escape(f"'{tmp_path}' cannot be read: ")):
        read_urdf(str(tmp_path))


def test_an_unknown_base_is_refused(write):
    with pytest.raises(MechanismError, match="base is 'fixed'; give 'weld' to fix the root link in the world or 'free'"):
        read_urdf(write(ARM), base="fixed")


@pytest.mark.parametrize("module", ["yourdfpy", "lxml"])
def test_without_the_parser_the_extra_is_named(write, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FileError, match=re.escape("install it with: pip install 'kingpost[urdf]'")):
        read_urdf(write(ARM))
