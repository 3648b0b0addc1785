"""The planar manipulator with three links of document 001, section 6.2."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, pi

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask
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
        friction = Parameter("friction", 0.0, "N.m.s/rad", "viscous friction of each joint", minimum=0.0)
        lengths = [Parameter(f"length{i}", link[3], "m", f"length of link {i}") for i, link in enumerate(LINKS, start=1)]
        masses = [Parameter(f"mass{i}", link[0], "kg", f"mass of link {i}") for i, link in enumerate(LINKS, start=1)]
        torques = [Input(f"torque{i}", "N.m", description=f"torque in joint {i}") for i in (1, 2, 3)]
        bodies, joints, forces = [], [], []
        for i, (_, E1, E2, _, start) in enumerate(LINKS):
            parent, place = ("world", (0, 0, 0)) if i == 0 else (f"link{i}", (lengths[i - 1], 0, 0))
            # About axes in the plane: those of the flat body whose Euler moments these are.
            bodies.append(Body(f"link{i + 1}", mass=masses[i], com=(lengths[i] / 2, 0, 0), inertia=(E1, E1 + E2, E2)))
            joints.append(Joint(f"joint{i + 1}", "revolute", parent, f"link{i + 1}", axis=AXIS, position=place, start=start))
            along = f"joint{i + 1}.angle"
            forces.append(ForceElement("joint-effort", name=f"drive{i + 1}", coordinate=along, effort=torques[i]))
            forces.append(ForceElement("joint-spring", name=f"friction{i + 1}", coordinate=along, damping=friction))
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(gravity, *lengths, *masses, friction),
            inputs=tuple(torques),
            bodies=tuple(bodies),
            joints=tuple(joints),
            forces=(ForceElement("gravity", acceleration=(0, 0, -gravity)), *forces),
            outputs=(Output("tip", "link3", at=(lengths[2], 0, 0)),),
        )

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the manoeuvres of the document: from the folded arm to the stretched one in 3 s, from rest to rest.

        Its variants are without limits (chapters 7 and 8), with friction, and with a third torque of one sign. The document's u
        is the negative of the physical torque, so that its u3 >= 0 is torque3 <= 0.
        """
        end = {"joint1.angle": pi / 2, "joint2.angle": 0.0, "joint3.angle": 0.0}
        end |= {f"joint{i}.angle.rate": 0.0 for i in (1, 2, 3)}
        torques = ("torque1", "torque2", "torque3")
        about = "document 001, section 6.2, table 6.1"
        return {
            "001": OptimalTask(torques, 3.0, end=end, intervals=20, description=f"{about}, without limits"),
            "001-friction": OptimalTask(
                torques, 3.0, end=end, intervals=20, settings={"friction": 300.0}, description=f"{about}, with friction"
            ),
            "001-one-sided": OptimalTask(
                torques, 3.0, end=end, bounds={"torque3": (-inf, 0.0)}, intervals=20, description=f"{about}, with u3 >= 0"
            ),
        }
