"""Machines that show the generality of the tree formulations."""

from __future__ import annotations

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model

GRAVITY = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")


class SixAxisArm(Model):
    """An industrial arm with six revolute joints, about 2 m of reach, held by joint actuators that follow set-points."""

    name = "six-axis-arm"

    def build(self) -> Mechanism:
        stiffness = Parameter("kP", 4000.0, "N.m/rad", "proportional gain of all joints")
        damping = Parameter("kD", 400.0, "N.m.s/rad", "derivative gain of all joints")
        payload = Parameter("payload", 10.0, "kg", "mass at the flange", minimum=0.0)
        # name, axis, place in the parent, mass, centre of mass, inertia, start
        links = (
            ("base-turn", (0, 0, 1), (0, 0, 0.4), 60.0, (0.05, 0, 0.1), (1.5, 1.4, 1.1), 0.0),
            ("shoulder", (0, 1, 0), (0.15, 0, 0.25), 45.0, (0, 0, 0.4), (2.6, 2.7, 0.5), 0.4),
            ("elbow", (0, 1, 0), (0, 0, 0.85), 30.0, (0.15, 0, 0.05), (0.5, 0.9, 0.8), 0.3),
            ("roll", (1, 0, 0), (0.35, 0, 0.1), 12.0, (0.2, 0, 0), (0.06, 0.25, 0.25), 0.0),
            ("bend", (0, 1, 0), (0.45, 0, 0), 6.0, (0.04, 0, 0), (0.02, 0.03, 0.025), 0.5),
            ("flange", (1, 0, 0), (0.1, 0, 0), 1.5, (0.02, 0, 0), (0.003, 0.002, 0.002), 0.0),
        )
        names = [name for name, *_ in links]
        drives = [Input(f"{name.replace('-', '_')}_target", "rad", start) for (name, *_, start) in links]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(stiffness, damping, payload, GRAVITY),
            inputs=tuple(drives),
            bodies=(
                *(Body(f"{name}-link", mass, com, inertia) for name, _, _, mass, com, inertia, _ in links),
                Body("payload", payload, inertia=(payload * 0.01, payload * 0.01, payload * 0.01)),
            ),
            joints=(
                *(
                    Joint(
                        name,
                        "revolute",
                        parent=f"{names[i - 1]}-link" if i else "world",
                        child=f"{name}-link",
                        axis=axis,
                        position=place,
                        start=start,
                    )
                    for i, (name, axis, place, _, _, _, start) in enumerate(links)
                ),
                Joint("grip", "weld", "flange-link", "payload", position=(0.15, 0, 0)),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                *(
                    ForceElement(
                        "joint-actuator",
                        name=f"{name}-drive",
                        coordinate=f"{name}.angle",
                        stiffness=stiffness,
                        damping=damping,
                        target=drive,
                    )
                    for name, drive in zip(names, drives, strict=True)
                ),
            ),
            outputs=(Output("tool", "payload"),),
        )


class Branched(Model):
    """A tree with three branches and joints of several kinds on a sliding, turning base; a test of generality."""

    name = "branched"
    t_end = 5.0

    def build(self) -> Mechanism:
        stiffness = Parameter("stiffness", 400.0, "N.m/rad", "of the springs in the hinges, and N/m in the slides")
        damping = Parameter("damping", 10.0, "N.m.s/rad", "of the dampers in the hinges, and N s/m in the slides", minimum=0.0)
        joints = (
            Joint("base", "cylindrical", "world", "trunk", axis=(0, 0, 1)),
            Joint(
                "left", "universal", "trunk", "left-arm",
                axis=(1, 0, 0), axis2=(0, 1, 0), position=(0, 0.4, 1), start=(0.5, 0.2),
            ),
            Joint("left-slide", "prismatic", "left-arm", "left-hand", axis=(0, 0, -1), position=(0, 0, -0.8), start=0.1),
            Joint("right", "gimbal", "trunk", "right-arm", sequence="xyz", position=(0, -0.4, 1), start=(-0.4, 0.3, 0.1)),
            Joint("right-screw", "screw", "right-arm", "right-hand", axis=(0, 0, 1), pitch=0.05, position=(0, 0, -0.8)),
            Joint(
                "head-plane", "planar", "trunk", "head",
                axis=(0, 0, 1), axis2=(1, 0, 0), position=(0, 0, 1.4), start=(0.1, 0, 0.3),
            ),
        )  # fmt: skip
        arm = {"mass": 4.0, "com": (0, 0, -0.4), "inertia": (0.25, 0.25, 0.02)}
        hand = {"mass": 1.0, "com": (0, 0, -0.1), "inertia": (0.01, 0.012, 0.005)}
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(stiffness, damping, GRAVITY),
            bodies=(
                Body("trunk", mass=20.0, com=(0, 0, 0.7), inertia=(3.0, 2.8, 0.6)),
                Body("left-arm", **arm),  # type: ignore[arg-type]  # the values have different types
                Body("left-hand", **hand),  # type: ignore[arg-type]
                Body("right-arm", **arm),  # type: ignore[arg-type]
                Body("right-hand", **hand),  # type: ignore[arg-type]
                Body("head", mass=3.0, com=(0, 0, 0.1), inertia=(0.02, 0.03, 0.02)),
            ),
            joints=joints,
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                *(
                    ForceElement(
                        "joint-spring",
                        name=f"{coordinate.name.replace('.', '-')}-spring",
                        coordinate=coordinate.name,
                        stiffness=stiffness,
                        damping=damping,
                    )
                    for joint in joints
                    for coordinate in joint.positions
                ),
            ),
            outputs=(Output("left-tip", "left-hand"), Output("right-tip", "right-hand")),
        )


class SpacecraftArm(Model):
    """A free-floating spacecraft with an arm of three hinges; nothing outside acts on it, so its momentum stays."""

    name = "spacecraft-arm"
    t_end = 30.0
    step = 0.005

    def build(self) -> Mechanism:
        craft = Parameter("craft_mass", 500.0, "kg", "mass of the spacecraft")
        torques = [Input(f"{name}_torque", "N.m") for name in ("shoulder", "elbow", "wrist")]
        stiffness = Parameter("stiffness", 30.0, "N.m/rad", "of the springs that fold the arm")
        damping = Parameter("damping", 6.0, "N.m.s/rad", "of the dampers in its hinges", minimum=0.0)
        hinges = (
            ("shoulder", (0, 1, 0), (0.6, 0, 0.5), 1.2),
            ("elbow", (0, 1, 0), (1.5, 0, 0), -1.0),
            ("wrist", (0, 0, 1), (1.2, 0, 0), 0.5),
        )
        bodies = ["craft", "upper-arm", "fore-arm", "hand"]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(craft, stiffness, damping),
            inputs=tuple(torques),
            bodies=(
                Body("craft", mass=craft, inertia=(craft * 0.2, craft * 0.24, craft * 0.3)),
                Body("upper-arm", mass=25.0, com=(0.75, 0, 0), inertia=(0.1, 4.8, 4.8)),
                Body("fore-arm", mass=18.0, com=(0.6, 0, 0), inertia=(0.06, 2.2, 2.2)),
                Body("hand", mass=6.0, com=(0.15, 0, 0), inertia=(0.03, 0.08, 0.08)),
            ),
            joints=(
                Joint("craft-motion", "free", "world", "craft", start_rate=(0.02, 0.01, -0.03, 0, 0, 0)),
                *(
                    Joint(name, "revolute", bodies[i], bodies[i + 1], axis=axis, position=place, start=start)
                    for i, (name, axis, place, start) in enumerate(hinges)
                ),
            ),
            forces=tuple(
                force
                for (name, *_), torque in zip(hinges, torques, strict=True)
                for force in (
                    ForceElement(
                        "joint-spring", name=f"{name}-spring", coordinate=f"{name}.angle", stiffness=stiffness, damping=damping
                    ),
                    ForceElement("joint-effort", name=f"{name}-drive", coordinate=f"{name}.angle", effort=torque),
                )
            ),
            outputs=(Output("tool", "hand", at=(0.3, 0, 0)),),
        )  # fmt: skip
