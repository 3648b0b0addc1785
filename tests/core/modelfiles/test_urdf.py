"""URDF files: the same dynamics as Pinocchio makes of them, and what becomes of names, frames and friction."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint
from kingpost.modelfiles.urdf import read_urdf
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.kane import Kane
from kingpost.symbols.screws import numeric, rotation_rpy
from tests.core.modelfiles.robots import ARM, DAMPED, SHUTTLE, SLEDGE

# A camera on massless frames: the root, one between the joints that move, and one at the end.
FRAMES = """\
<robot name="frames">
  <link name="mount"/>
  <link name="head">
    <inertial>
      <mass value="1.5"/><inertia ixx="0.01" iyy="0.01" izz="0.008" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="plate"/>
  <link name="camera">
    <inertial>
      <origin xyz="0 0.02 0.1"/>
      <mass value="0.4"/>
      <inertia ixx="0.001" iyy="0.0012" izz="0.0009" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="lens"/>
  <joint name="pan" type="continuous">
    <parent link="mount"/><child link="head"/><origin rpy="0 0.2 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="bolt" type="fixed">
    <parent link="head"/><child link="plate"/><origin xyz="0 0 0.5" rpy="0.1 0 0"/>
  </joint>
  <joint name="tilt" type="continuous"><parent link="plate"/><child link="camera"/></joint>
  <joint name="thread" type="fixed">
    <parent link="camera"/><child link="lens"/><origin xyz="0 0 0.05" rpy="0 1.57 0"/>
  </joint>
</robot>
"""

# A massless root could not float: nothing would resist a spin of it against its only joint.
HEAVY_FRAMES = FRAMES.replace(
    '<link name="mount"/>',
    '<link name="mount"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>',
)
PLUMB = (
    '<link name="bob"/><joint name="plumb" type="fixed">'
    '<parent link="fore"/><child link="bob"/><dynamics damping="1" friction="2"/></joint>'
)


def in_pinocchio(pin, model, mechanism, q, v):
    """Return q and v as Pinocchio has them, the matrix T of v_pin = T v, and Tdot v."""
    q_pin, T, Tdot_v = pin.neutral(model), np.zeros((model.nv, len(v))), np.zeros(model.nv)
    row_q = row_v = 0
    for joint in mechanism.joints:
        own_q = q[row_q : row_q + len(joint.positions)]
        cols = range(row_v, row_v + len(joint.speeds))
        own_v = v[row_v : row_v + len(joint.speeds)]
        row_q, row_v = row_q + len(joint.positions), row_v + len(joint.speeds)
        if joint.kind == "weld":
            continue
        there = model.joints[model.getJointId("root_joint" if joint.name == "base" else joint.name)]
        rows = range(there.idx_v, there.idx_v + there.nv)
        block, rate = np.eye(len(own_v)), np.zeros(len(own_v))
        if joint.kind == "free":
            x, y, z, qw, qx, qy, qz = own_q
            own_q = [x, y, z, qx, qy, qz, qw]
            block = np.roll(np.eye(6), 3, axis=0)  # linear part first
        elif joint.kind == "planar":
            # Pinocchio's speeds are those of the child, in the child.
            c, s = np.cos(own_q[2]), np.sin(own_q[2])
            block[:2, :2] = [[c, s], [-s, c]]
            rate[:2] = own_v[2] * np.array([[-s, c], [-c, -s]]) @ own_v[:2]
            own_q = [*own_q[:2], c, s]
        elif there.nq == 2:
            own_q = [np.cos(own_q[0]), np.sin(own_q[0])]
        q_pin[there.idx_q : there.idx_q + there.nq] = own_q
        T[np.ix_(rows, cols)] = block
        Tdot_v[list(rows)] = rate
    return q_pin, T, Tdot_v


@pytest.mark.parametrize(
    ("text", "base", "damping"),
    [
        (ARM, "weld", {}),
        (ARM, "free", {}),
        (SHUTTLE, "weld", {}),
        (SLEDGE, "weld", {}),
        (FRAMES, "weld", {}),
        (HEAVY_FRAMES, "free", {}),
        (DAMPED, "weld", {"shoulder": 1.5, "elbow": 0.25}),
    ],
    ids=["arm", "free arm", "floating", "planar", "massless frames", "free massless frames", "damped"],
)
def test_pinocchio_finds_the_same_mass_matrix_and_accelerations(write, plugins, text, base, damping):
    pin = pytest.importorskip("pinocchio")
    mechanism = read_urdf(write(text), base=base)
    descriptor = Kane().derive(assemble(mechanism, plugins)).descriptor
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if base == "free" else pin.buildModelFromXML(text)
    data = model.createData()
    assert model.nv == len(mechanism.speeds)
    rng = np.random.default_rng(11)
    for _ in range(10):
        q, v = rng.uniform(-2, 2, len(mechanism.coordinates)), rng.uniform(-2, 2, len(mechanism.speeds))
        names = [quantity.name for quantity in mechanism.coordinates]
        for row in (i for i, name in enumerate(names) if name.endswith(".qw")):
            q[row : row + 4] /= np.linalg.norm(q[row : row + 4])
        q_pin, T, Tdot_v = in_pinocchio(pin, model, mechanism, q, v)
        v_pin = T @ v
        effort = np.zeros(model.nv)
        for joint, d in damping.items():
            row = model.joints[model.getJointId(joint)].idx_v
            effort[row] = -d * v_pin[row]
        M_pin = pin.crba(model, data, q_pin)
        M_pin = T.T @ (np.triu(M_pin) + np.triu(M_pin, 1).T) @ T
        vdot_pin = np.linalg.solve(T, pin.aba(model, data, q_pin, v_pin, effort) - Tdot_v)
        M, f, vdot = (np.asarray(item.full()) for item in descriptor(0.0, q, v, [], []))
        # Both round some hundred operations, 1e-14, and the accelerations carry that times the condition of M.
        assert np.linalg.cond(M) < 1e4
        assert np.asarray(M) == pytest.approx(M_pin, rel=1e-10, abs=1e-10 * np.abs(M_pin).max())
        assert vdot.ravel() == pytest.approx(vdot_pin, rel=1e-10, abs=1e-10 * np.abs(vdot_pin).max())
        assert M @ vdot == pytest.approx(f, rel=1e-10, abs=1e-10 * np.abs(f).max())


def test_an_inertia_is_turned_into_the_link_axes(write):
    # Turned by 90 degrees about z, the inertial x axis is the link's y axis: Ixx and Iyy swap, Ixy changes its sign,
    # and a product Ixz becomes Iyz.
    text = """\
<robot name="brick">
  <link name="brick">
    <inertial>
      <mass value="2"/><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
      <inertia ixx="4" iyy="5" izz="6" ixy="0.1" ixz="0.2" iyz="0"/>
    </inertial>
  </link>
</robot>"""
    mechanism = read_urdf(write(text))
    (body,) = mechanism.bodies
    assert (body.mass, body.com) == (2.0, (1.0, 2.0, 3.0))
    assert body.inertia == pytest.approx((5.0, 4.0, 6.0, -0.1, 0.0, 0.2), abs=1e-15)
    assert mechanism.joints == (Joint("base", "weld", parent="world", child="brick"),)
    assert mechanism.forces == (ForceElement("gravity"),)
    assert mechanism.description == "Read from robot.urdf."


def test_names_and_kinds_are_kept(write):
    mechanism = read_urdf(write(ARM))
    assert mechanism.name == "arm"
    assert [body.name for body in mechanism.bodies] == ["pedestal", "upper", "fore"]
    assert [(joint.name, joint.kind) for joint in mechanism.joints] == [
        ("base", "weld"),
        ("shoulder", "revolute"),
        ("elbow", "revolute"),
    ]
    assert mechanism.joints[2].axis == (1.0, 2.0, -2.0)
    assert [joint.kind for joint in read_urdf(write(ARM), base="free").joints] == ["free", "revolute", "revolute"]


@pytest.mark.parametrize("pitch", [0.7, 1.5707963267948966, 1.5708, -1.5707963, -1.5707963267948966, 2.5, 0.0])
def test_the_rotation_of_a_joint_is_exact_to_rounding(write, pitch):
    # A few roundings of sines, cosines and arc tangents: 1e-15 and some.
    text = FRAMES.replace('rpy="0.1 0 0"', f'rpy="0.1 {pitch} -2.1"')
    joint = next(joint for joint in read_urdf(write(text)).joints if joint.name == "bolt")
    difference = numeric(rotation_rpy(*joint.rotation)) - numeric(rotation_rpy(0.1, pitch, -2.1))
    assert np.abs(difference).max() < 4e-15


def test_the_default_axis_is_x_and_an_origin_may_be_absent(write):
    tilt = next(joint for joint in read_urdf(write(FRAMES)).joints if joint.name == "tilt")
    assert tilt == Joint("tilt", "revolute", parent="plate", child="camera", axis=(1, 0, 0))
    assert "-0.0" not in repr(tilt)  # 0.0 and -0.0 are equal, but would give the mechanism another digest


def test_a_massless_link_is_a_body_without_mass(write):
    bodies = {body.name: body for body in read_urdf(write(FRAMES)).bodies}
    assert bodies["lens"] == Body("lens", mass=0.0)


@pytest.mark.parametrize("axis", ["0 0 2", "0 0 -1", "1 2 3", "-3 0.1 0", "0 1 0"])
def test_a_planar_joint_moves_across_its_axis(write, axis):
    joint = read_urdf(write(SLEDGE.replace("0 0 1", axis))).joints[0]
    assert joint.axis == tuple(map(float, axis.split()))
    assert np.dot(joint.axis, joint.axis2) == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(joint.axis2) == pytest.approx(1.0)


@pytest.mark.parametrize("base", ["weld", "free"])
def test_a_massless_root_called_world_is_the_world(write, base):
    mechanism = read_urdf(write(SHUTTLE), base=base)
    assert [body.name for body in mechanism.bodies] == ["hull", "drawer"]
    assert [(joint.name, joint.parent) for joint in mechanism.joints] == [("float", "world"), ("slide", "hull")]


def test_a_root_called_world_with_mass_is_a_body(write):
    mechanism = read_urdf(write(ARM.replace("pedestal", "world")))
    assert [body.name for body in mechanism.bodies] == ["world-2", "upper", "fore"]
    assert [(joint.parent, joint.child) for joint in mechanism.joints] == [
        ("world", "world-2"),
        ("world-2", "upper"),
        ("upper", "fore"),
    ]
    assert mechanism.description == "Read from robot.urdf. Renamed: link 'world' to 'world-2'."


def test_a_joint_called_base_keeps_its_name(write):
    names = [joint.name for joint in read_urdf(write(ARM.replace("shoulder", "base"))).joints]
    assert names == ["base-2", "base", "elbow"]


def test_names_are_made_fit_and_stay_unique(write):
    text = ARM.replace('"pedestal"', '"arm/1.upper"').replace('"upper"', '"arm_1_upper"').replace('"fore"', '"2nd"')
    text = text.replace('"elbow"', '"tool joint"').replace('name="arm"', 'name="näme"')
    mechanism = read_urdf(write(text))
    assert [body.name for body in mechanism.bodies] == ["arm_1_upper-2", "arm_1_upper", "link-2nd"]
    assert [joint.name for joint in mechanism.joints] == ["base", "shoulder", "tool_joint"]
    assert [(joint.parent, joint.child) for joint in mechanism.joints[1:]] == [
        ("arm_1_upper-2", "arm_1_upper"),
        ("arm_1_upper", "link-2nd"),
    ]
    assert mechanism.name == "n_me"
    assert mechanism.description == (
        "Read from robot.urdf. Renamed: link 'arm/1.upper' to 'arm_1_upper-2', link '2nd' to 'link-2nd', "
        "joint 'tool joint' to 'tool_joint'."
    )
    assert read_urdf(write(text)) == mechanism


def test_damping_is_a_force_and_friction_is_named_as_left_out(write):
    # A fixed joint has nothing to damp, so nothing of it is missing.
    bolted = DAMPED.replace("</robot>", f"{PLUMB}</robot>")
    mechanism = read_urdf(write(bolted))
    assert mechanism.forces == (
        ForceElement("gravity"),
        ForceElement("joint-spring", name="shoulder-damping", coordinate="shoulder.angle", damping=1.5),
        ForceElement("joint-spring", name="elbow-damping", coordinate="elbow.angle", damping=0.25),
    )
    assert mechanism.description == "Read from robot.urdf. Not taken over: Coulomb friction of 'elbow'."


def test_damping_is_left_out_where_urdf_gives_it_no_meaning(write):
    text = SHUTTLE.replace('type="floating">', 'type="floating"><dynamics damping="2"/>').replace(
        '<axis xyz="0.6 0 0.8"/>', '<axis xyz="0.6 0 0.8"/><dynamics damping="3" friction="0"/>'
    )
    mechanism = read_urdf(write(text))
    (_, damper) = mechanism.forces
    assert damper == ForceElement("joint-spring", name="slide-damping", coordinate="slide.displacement", damping=3.0)
    assert mechanism.description == "Read from robot.urdf. Not taken over: damping of 'float'."
