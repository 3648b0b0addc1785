"""URDF files of small machines."""

# Rotations and products of inertia everywhere, the elbow's axis not of unit length, and one pitch of 90 degrees.
ARM = """\
<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 broken 1"/></material>
  <link name="pedestal">
    <inertial><mass value="20"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="upper">
    <visual><geometry><mesh filename="package://no/such/mesh.stl"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 -0.2 0.5" rpy="0.3 -0.4 1.1"/>
      <mass value="3.5"/>
      <inertia ixx="0.31" iyy="0.42" izz="0.25" ixy="0.02" ixz="-0.03" iyz="0.05"/>
    </inertial>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0.4 0.05 -0.02" rpy="1.0 1.5707963267948966 0.4"/>
      <mass value="1.25"/>
      <inertia ixx="0.021" iyy="0.053" izz="0.048" ixy="0.004" ixz="0.002" iyz="-0.003"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0.2 0.1 1.0" rpy="0.5 1.5707963267948966 -0.8"/>
    <parent link="pedestal"/>
    <child link="upper"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <joint name="elbow" type="continuous">
    <origin xyz="0 0.3 0.9" rpy="-0.2 0.7 0.1"/>
    <parent link="upper"/>
    <child link="fore"/>
    <axis xyz="1 2 -2"/>
  </joint>
</robot>
"""
SHUTTLE = """\
<robot name="shuttle">
  <link name="world"/>
  <link name="hull">
    <inertial>
      <origin xyz="0.1 0.2 -0.3" rpy="0.1 0.2 0.3"/>
      <mass value="7"/>
      <inertia ixx="1.1" iyy="1.3" izz="0.9" ixy="0.1" ixz="0.05" iyz="-0.08"/>
    </inertial>
  </link>
  <link name="drawer">
    <inertial>
      <origin xyz="0 0.1 0"/>
      <mass value="2"/>
      <inertia ixx="0.2" iyy="0.1" izz="0.25" ixy="0" ixz="0.01" iyz="0"/>
    </inertial>
  </link>
  <joint name="float" type="floating">
    <parent link="world"/><child link="hull"/><origin xyz="1 2 3" rpy="0.4 0.5 0.6"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="hull"/><child link="drawer"/><origin xyz="0.3 0 0.2" rpy="0 0.2 0"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
</robot>
"""
SLEDGE = SHUTTLE.replace('type="floating">', 'type="planar"><axis xyz="0 0 1"/>')
DAMPED = ARM.replace("<limit ", '<dynamics damping="1.5"/><limit ').replace(
    '<axis xyz="1 2 -2"/>', '<axis xyz="1 2 -2"/><dynamics damping="0.25" friction="0.1"/>'
)
