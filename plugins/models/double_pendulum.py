"""Two rods, hinged to each other and to the world."""

from __future__ import annotations

from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model


class DoublePendulum(Model):
    """Two uniform rods hanging from the world, swinging in the x-z plane; chaotic for large angles."""

    name = "double-pendulum"

    def build(self) -> Mechanism:
        m1, m2 = Parameter("mass1", 1.0, "kg", "mass of the upper rod"), Parameter("mass2", 1.0, "kg", "mass of the lower rod")
        l1, l2 = (
            Parameter("length1", 1.0, "m", "length of the upper rod"),
            Parameter("length2", 1.0, "m", "length of the lower rod"),
        )
        torque = Parameter("damping", 0.0, "N.m.s/rad", "viscous damping in both hinges", minimum=0.0)
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(m1, m2, l1, l2, torque, gravity),
            bodies=tuple(
                Body(name, mass=m, com=(0, 0, -l / 2), inertia=(m * l**2 / 12, m * l**2 / 12, 0))
                for name, m, l in (("upper", m1, l1), ("lower", m2, l2))
            ),
            joints=(
                Joint("shoulder", "revolute", "world", "upper", axis=(0, 1, 0), start=2.0),
                Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), position=(0, 0, -l1), start=0.5),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-spring", name="shoulder-damper", coordinate="shoulder.angle", damping=torque),
                ForceElement("joint-spring", name="elbow-damper", coordinate="elbow.angle", damping=torque),
            ),
            outputs=(Output("tip", "lower", at=(0, 0, -l2)),),
        )
