"""The planar manipulator with three links of document 001, section 6.2."""

from __future__ import annotations

from math import pi

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.plugins.models.four_bar import AXIS

#: Table 6.1: mass (kg), Euler moments E1 and E2 (kg m^2), length (m), start angle (rad).
LINKS = (
    (30.0, 1.225, 143.3027, 7.0, pi / 2),
    (25.0, 1.0208, 88.0208, 6.0, -pi / 2),
    (10.0, 0.4083, 60.2083, 8.0, pi / 2),
)


class ThreeLinkManipulator(Model):
    """Three links in a vertical plane with a torque input in each joint (document 001, table 6.1).

    In a plane only E1 + E2, the moment of inertia about the centre of mass, matters. The document does not state gravity.
    """

    name = "three-link-manipulator"
    t_end = 3.0

    def build(self) -> Mechanism:
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall (not in document 001)")
        lengths = [Parameter(f"length{i}", link[3], "m", f"length of link {i}") for i, link in enumerate(LINKS, start=1)]
        masses = [Parameter(f"mass{i}", link[0], "kg", f"mass of link {i}") for i, link in enumerate(LINKS, start=1)]
        torques = [Input(f"torque{i}", "N.m", description=f"torque in joint {i}") for i in (1, 2, 3)]
        bodies, joints, forces = [], [], []
        for i, (_, E1, E2, _, start) in enumerate(LINKS):
            parent, place = ("world", (0, 0, 0)) if i == 0 else (f"link{i}", (lengths[i - 1], 0, 0))
            # About axes in the plane: those of the flat body whose Euler moments these are.
            bodies.append(Body(f"link{i + 1}", mass=masses[i], com=(lengths[i] / 2, 0, 0), inertia=(E1, E1 + E2, E2)))
            joints.append(Joint(f"joint{i + 1}", "revolute", parent, f"link{i + 1}", axis=AXIS, position=place, start=start))
            forces.append(
                ForceElement("joint-effort", name=f"drive{i + 1}", coordinate=f"joint{i + 1}.angle", effort=torques[i])
            )
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(gravity, *lengths, *masses),
            inputs=tuple(torques),
            bodies=tuple(bodies),
            joints=tuple(joints),
            forces=(ForceElement("gravity", acceleration=(0, 0, -gravity)), *forces),
            outputs=(Output("tip", "link3", at=(lengths[2], 0, 0)),),
        )
