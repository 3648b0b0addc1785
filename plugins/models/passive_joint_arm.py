"""The arm with a passive joint of document 003, section 4.1."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import rest_to_rest


class PassiveJointArm(Model):
    """An arm of two links in a horizontal plane, with a torque at its shoulder, and a spring and a damper in its elbow.

    What is to follow a path is y = (1 - kappa) theta1 + kappa theta2 with the angles theta1 and theta2 of the links in the
    plane: for small bends of the elbow the azimuth of the point at s on the second link, with kappa = s / (l1 + s). Coordinates
    are theta1 and the bend of the elbow, theta2 - theta1.
    """

    name = "passive-joint-arm"
    t_end = 8.0

    def build(self) -> Mechanism:
        lengths = [Parameter(f"length{i}", 1.0, "m", f"length of link {i}") for i in (1, 2)]
        masses = [Parameter(f"mass{i}", 2.0, "kg", f"mass of link {i}, a slender rod") for i in (1, 2)]
        stiffness = Parameter("stiffness", 1.0, "N.m/rad", "of the spring in the elbow")
        damping = Parameter("damping", 0.0, "N.m.s/rad", "of the damper in the elbow", minimum=0.0)
        kappa = Parameter("kappa", 1 / 3, "1", "weight of the second angle: 1/3 for the middle of link 2, 1/2 for its end")
        torque = Input("torque", "N.m", description="torque on the first link")
        names = ("upper", "fore")
        links = [
            Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0, mass * length**2 / 12, mass * length**2 / 12))
            for name, mass, length in zip(names, masses, lengths, strict=True)
        ]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(*lengths, *masses, stiffness, damping, kappa),
            inputs=(torque,),
            bodies=tuple(links),
            joints=(
                Joint("shoulder", "revolute", "world", "upper", axis=(0, 0, 1)),
                Joint("elbow", "revolute", "upper", "fore", axis=(0, 0, 1), position=(lengths[0], 0, 0)),
            ),
            forces=(
                ForceElement("joint-effort", name="drive", coordinate="shoulder.angle", effort=torque),
                ForceElement("joint-spring", name="spring", coordinate="elbow.angle", stiffness=stiffness, damping=damping),
            ),
            outputs=(Output("tip", "fore", at=(lengths[1], 0, 0)),),
            measures=(
                # (1 - kappa) theta1 + kappa theta2, eq. (23).
                Measure(
                    "azimuth",
                    "combination",
                    terms={"shoulder.angle": 1.0, "elbow.angle": kappa},
                    description="of a point on the second link, for small bends of the elbow",
                ),
            ),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvre of document 003: half a turn in 6 s."""
        path = rest_to_rest({"azimuth": (0.0, math.pi)}, 6.0)
        description = "document 003, section 4.1; damping 0 or 0.2 N m s/rad, kappa 1/3, and 1/2 as the case that cannot work"
        return {"003": ServoTask(path, ("torque",), 6.0, name="003", description=description)}
