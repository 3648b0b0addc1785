"""The crane on a vessel of document 004, section III."""

from __future__ import annotations

from math import pi

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.trajectories import Sequence

CRANE_JOINTS = ("slew", "luff", "knuckle")
#: Fig. 5: the crane's positions at 0, 10 and 20 s, joint by joint. The paper does not say how it moves between them.
SETPOINT_TIMES = (0.0, 10.0, 20.0)
SETPOINTS = {
    "slew": (0.0, 0.0, pi / 2),
    "luff": (0.0, pi / 4, pi / 4),
    "knuckle": (-3 * pi / 4, -pi / 4, -pi / 4),
}


def _table_one() -> dict[str, Parameter]:
    """Table I, and what the paper leaves open (docs/vessel-crane.md)."""
    parameters = [
        Parameter("l1", 5.0, "m", "height of the slewing joint above the vessel's rotation centre"),
        Parameter("l2", 2.0, "m", "height of the luffing joint above the slewing joint"),
        Parameter("l3", 2.0, "m", "length of the inner boom"),
        Parameter("l4", 2.0, "m", "length of the outer boom (missing in Table I)"),
        Parameter("d1", 2.5, "m", "height of the vessel's centre of gravity"),
        Parameter("d2", 1.0, "m", "height of the king's centre of gravity above the slewing joint"),
        Parameter("d3", 1.0, "m", "distance of the inner boom's centre of gravity from its hinge"),
        Parameter("d4", 1.0, "m", "distance of the outer boom's centre of gravity from its hinge"),
        Parameter("m1", 1200.0, "kg", "mass of the vessel", minimum=0.0),
        Parameter("m2", 30.0, "kg", "mass of the king", minimum=0.0),
        Parameter("m3", 30.0, "kg", "mass of the inner boom", minimum=0.0),
        Parameter("m4", 30.0, "kg", "mass of the outer boom", minimum=0.0),
        Parameter("stiffness", 8e7, "N.m/rad3", "cubic stiffness in roll, pitch and yaw"),
        Parameter("kP", 5e4, "N.m/rad", "proportional gain of the crane's joints (not in the paper)"),
        Parameter("kD", 5e3, "N.m.s/rad", "derivative gain of the crane's joints (not in the paper)"),
        Parameter("gravity", 9.81, "m/s2", "acceleration of free fall; 0 switches it off (the paper never mentions it)"),
    ]
    return {parameter.name: parameter for parameter in parameters}


class VesselCrane(Model):
    """A crane with three joints on a vessel that rolls, pitches and yaws on cubic springs (document 004)."""

    name = "vessel-crane"
    t_end = 20.0

    def build(self) -> Mechanism:
        p = _table_one()
        l1, l2, l3, l4, d1, d2, d3, d4, m1, m2, m3, m4 = (
            p[name] for name in ("l1", "l2", "l3", "l4", "d1", "d2", "d3", "d4", "m1", "m2", "m3", "m4")
        )
        torques = [Input(f"{joint}_torque", "N.m", description=f"torque added in the {joint} joint") for joint in CRANE_JOINTS]
        wrench = [
            Input(f"vessel_{part}_{axis}", unit, description=f"{part} on the vessel at its frame origin, along its {axis} axis")
            for part, unit in (("moment", "N.m"), ("force", "N"))
            for axis in "xyz"
        ]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=tuple(p.values()),
            inputs=(*torques, *wrench),
            bodies=(
                # Eq. (73).
                Body("vessel", mass=m1, com=(0, 0, d1), inertia=(m1 * l1**2 / 12,) * 3),
                Body("king", mass=m2, com=(0, 0, d2), inertia=(m2 * l2**2 / 12, m2 * l2**2 / 12, 0.1 * m2 * l2**2 / 12)),
                Body("inner-boom", mass=m3, com=(d3, 0, 0), inertia=(0, m3 * l3**2 / 12, m3 * l3**2 / 12)),
                Body("outer-boom", mass=m4, com=(d4, 0, 0), inertia=(0, m4 * l4**2 / 12, m4 * l4**2 / 12)),
            ),
            joints=(
                Joint("hull", "cardan", "world", "vessel"),  # eq. (53)
                Joint("slew", "revolute", "vessel", "king", axis=(0, 0, 1), position=(0, 0, l1), start=SETPOINTS["slew"][0]),
                # Eq. (55): R23 = Rz(pi/2) Rx(pi/2) Rz(q5).
                Joint(
                    "luff", "revolute", "king", "inner-boom", axis=(0, 0, 1), position=(0, 0, l2),
                    rotation=(pi / 2, 0, pi / 2), start=SETPOINTS["luff"][0],
                ),
                Joint(
                    "knuckle", "revolute", "inner-boom", "outer-boom", axis=(0, 0, 1), position=(l3, 0, 0),
                    start=SETPOINTS["knuckle"][0],
                ),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -p["gravity"])),
                *(
                    ForceElement(
                        "joint-spring", name=f"{angle}-spring", coordinate=f"hull.{angle}", stiffness=(0, 0, p["stiffness"])
                    )
                    for angle in ("roll", "pitch", "yaw")
                ),
                *(
                    ForceElement(
                        "joint-actuator", name=f"{joint}-drive", coordinate=f"{joint}.angle", effort=torque,
                        stiffness=p["kP"], damping=p["kD"], target=Sequence(SETPOINT_TIMES, SETPOINTS[joint]),
                    )
                    for joint, torque in zip(CRANE_JOINTS, torques, strict=True)
                ),
                ForceElement(
                    "body-wrench", name="vessel-wrench", body="vessel", moment=tuple(wrench[:3]), force=tuple(wrench[3:])
                ),
            ),
            outputs=(Output("tip", "outer-boom", at=(l4, 0, 0)),),
        )  # fmt: skip
