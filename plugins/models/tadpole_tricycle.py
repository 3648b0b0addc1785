"""The tilting tadpole tricycle of document 002, section 5.2: two steered wheels in front, one behind."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, atan2, cos, pi, radians, sin
from typing import Literal, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import Vector3
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape
from kingpost.plugins.models.paths import GRAVITY

Place: TypeAlias = tuple[float, float, float]
_AXLE = (0.0, 1.0, 0.0)
#: Table 5.1, axes x forward, y right, z down: wheelbase, trail, tilt of the steer axis and of the beams, radii of the wheels.
WHEELBASE, TRAIL, TILT, BEAM_TILT, REAR, FRONT = 1.075, 0.08, radians(15.25), radians(-2.5), 0.253, 0.255
#: Ends of the bars on the handlebar (its axes); of bars, upper beam, lower beam and axle on the knuckle, from its centre.
HANDLE, ARM, UPPER, LOWER, AXLE = (
    (-0.120, 0.015, -0.165), (-0.080, -0.015, 0.012), (0.030, 0.025, -0.060), (0.050, 0.0, 0.041), (0.040, 0.060, -0.020),
)  # fmt: skip
#: Pivots of the beams on the frame, and half the length of the lower one.
UPPER_PIVOT, LOWER_PIVOT, HALF = (1.040, 0.0, -0.310), (1.070, 0.0, -0.209), 0.220


@dataclass(frozen=True)
class TadpoleTricycleOptions:
    """``play``: the beam, ``lower`` or ``upper``, whose pivot may slide up and down in the frame."""

    play: Literal["lower", "upper"] = "lower"


@dataclass(frozen=True)
class Reference:
    """Where everything is in a straight run: of the right side, seen from the rear contact, in our axes (z up, y left).

    Table 5.1 does not close: its beams are (-0.030, -0.025, -0.101) m apart at their ends and its knuckle's holes
    (-0.020, 0.025, -0.101) m, and the wheel's centre would be at 0.310 m instead of its radius. Here the knuckle's data hold:
    its wheel stands on the ground at the wheelbase, as far aside as the lower beam reaches; the pivots of the beams stay where
    the table has them, and beams and bars reach to where the knuckle's holes are.
    """

    knuckle: Place
    axle: Place
    upper: Place
    lower: Place
    arm: Place
    handle: Place

    @classmethod
    def closed(cls) -> Reference:
        """Return the geometry of Table 5.1, closed."""
        centre = np.array([WHEELBASE - AXLE[0], HALF - LOWER[1], -FRONT - AXLE[2]])
        handle = np.array([WHEELBASE + TRAIL, 0, 0]) + _about_y(TILT) @ HANDLE
        return cls(*(_up(point) for point in (centre, *(centre + at for at in (AXLE, UPPER, LOWER, ARM)), handle)))


def _about_y(angle: float) -> FloatArray:
    return np.array([[cos(angle), 0, sin(angle)], [0, 1, 0], [-sin(angle), 0, cos(angle)]])


def _up(point: FloatArray) -> Place:
    """Return a point in axes with z up and y left."""
    return float(point[0]), -float(point[1]), -float(point[2])


def _mirrored(point: Place, left: bool) -> Place:
    return (point[0], -point[1], point[2]) if left else point


class TadpoleTricycle(Model):
    """A tricycle with two front wheels that lean with its frame by two beams, straight on at a parameter ``speed``.

    Document 002, section 5.2 and Table 5.1, whose geometry is closed as :class:`Reference` says. Held as there, it is held
    twice too often: two rows follow from the others in the straight run, and stop the machine away from it. Two clearances take
    them up, which do not move to first order: the pivot of a beam may slide up and down in the frame, and the left front wheel
    stands on a plate that may slide sideways. So three degrees of freedom are left: forward, lean, steer. The plate slides
    along the world's y axis: the model is for motions near the straight run along x.
    """

    name = "tadpole-tricycle"
    Options = TadpoleTricycleOptions
    t_end = 2.0

    def build(self) -> Mechanism:
        at = Reference.closed()
        speed = Parameter("speed", 3.6, "m/s", "forward speed at the start")
        lean_rate = Parameter("lean_rate", 0.0, "rad/s", "rate of the lean at the start")
        masses = {
            name: Parameter(f"{name}_mass", value, "kg", f"mass of {words}")
            for name, value, words in (
                ("frame", 85.0, "frame and rider"), ("rear", 2.5, "the rear wheel"), ("front", 2.0, "a front wheel"),
                ("handlebar", 3.0, "the handlebar"), ("upper", 0.75, "the upper beam"), ("lower", 0.75, "the lower beam"),
                ("knuckle", 0.5, "a knuckle"), ("bar", 0.3, "a steering bar"),
            )
        }  # fmt: skip
        sides = [self._side(at, left, masses) for left in (False, True)]
        lower = self.options.play == "lower"
        tilt = (0.0, -TILT, 0.0)  # about the world's y to the left, where the document's is to the right
        origin = (0.0, 0.0, REAR)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0].replace("``", ""),
            parameters=(speed, lean_rate, *masses.values(), GRAVITY),
            inputs=(
                Input("steer_torque", "N.m", description="torque of the rider on the handlebar"),
                Input("lean_torque", "N.m", description="torque from outside that leans the frame"),
            ),
            bodies=(
                Body("carriage", mass=0.0),
                # Products of inertia with x and z change their signs with the axes. Table 5.1 has no moments about y.
                Body("frame", mass=masses["frame"], com=(0.375, 0, 0.950 - REAR), inertia=(9.70, 11.0, 3.10, 0, -2.70, 0)),
                _wheel("rear-wheel", masses["rear"], REAR, 0.094, 0.180),
                Body("handlebar", mass=masses["handlebar"], com=(0.020, 0, 0.820), inertia=(0.097, 0.1, 0.015, 0, 0.009, 0)),
                Body("upper-beam", mass=masses["upper"], com=(0, 0, 0.015), inertia=(0.010, 0.002, 0.009)),
                Body("clearance", mass=0.0),
                Body("lower-beam", mass=masses["lower"], com=(0, 0, 0.015), inertia=(0.012, 0.002, 0.011)),
                Body("plate", mass=0.1),
                *(body for bodies, _, _ in sides for body in bodies),
            ),
            joints=(
                Joint("place", "translational", "world", "carriage", start=origin, start_rate=(speed, 0, 0)),
                Joint(
                    "attitude", "gimbal", "carriage", "frame", sequence="zxy", coordinates=("yaw", "lean", "pitch"),
                    start_rate=(0, lean_rate, 0),
                ),
                Joint("rear-axle", "revolute", "frame", "rear-wheel", axis=_AXLE, start_rate=speed / REAR),
                # The steer axis points down, so that a positive angle steers to the right, as a positive lean leans.
                Joint(
                    "steer", "revolute", "frame", "handlebar", axis=(0, 0, -1), position=(WHEELBASE + TRAIL, 0, -REAR),
                    rotation=tilt,
                ),
                Joint("play", "prismatic", "frame", "clearance", axis=(0, 0, 1)),
                _beam("upper-pivot", "frame" if lower else "clearance", "upper-beam", UPPER_PIVOT),
                _beam("lower-pivot", "clearance" if lower else "frame", "lower-beam", LOWER_PIVOT),
                Joint("scrub", "prismatic", "world", "plate", axis=(0, 1, 0)),
                *(joint for _, joints, _ in sides for joint in joints),
            ),
            closures=(
                Closure("rear-contact", "rolling-disc", "world", "rear-wheel", axis=_AXLE, radius=REAR),
                *(closure for _, _, closures in sides for closure in closures),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                ForceElement("joint-effort", name="rider", coordinate="steer.angle", effort="steer_torque"),
                ForceElement("joint-effort", name="wind", coordinate="attitude.lean", effort="lean_torque"),
            ),
            outputs=(Output("rider", "frame", at=(0.375, 0, 0.950 - REAR)),),
        )  # fmt: skip

    def _side(self, at: Reference, left: bool, masses: dict[str, Parameter]) -> tuple[list[Body], list[Joint], list[Closure]]:
        """Return knuckle, wheel and bar of a side, and what joins them to the rest."""
        side, sign = ("left", -1.0) if left else ("right", 1.0)
        knuckle, axle, upper, lower, arm, handle = (
            np.array(_mirrored(point, left)) for point in (at.knuckle, at.axle, at.upper, at.lower, at.arm, at.handle)
        )
        reach = float(np.linalg.norm(arm - handle))
        # The bar as the handlebar sees it, whose z axis is tilted.
        toward = _about_y(-TILT).T @ (arm - handle) / reach
        mass = masses["knuckle"]
        bodies = [
            # Entry xy of the right knuckle changes its sign with y, entry xz with z. About y the table has 0.001, with which no
            # body can be: its principal moments would be 0.00091, 0.00188 and 0.00321 kg m^2.
            Body(f"{side}-knuckle", mass=mass, inertia=(0.002, 0.0015, 0.003, -sign * 0.0003, 0.0005, 0)),
            _wheel(f"{side}-wheel", masses["front"], FRONT, 0.075, 0.140),
            Body(f"{side}-bar", mass=masses["bar"], com=(reach / 2, 0, 0), inertia=(0.0, 0.001, 0.001)),
        ]
        on_upper = _about_y(-BEAM_TILT).T @ (upper - _up(np.array(UPPER_PIVOT)))
        on_lower = _about_y(-BEAM_TILT).T @ (lower - _up(np.array(LOWER_PIVOT)))
        on_handle = _about_y(-TILT).T @ (handle - np.array([WHEELBASE + TRAIL, 0, 0]))
        joints = [
            Joint(
                f"{side}-upper-ball", "gimbal", "upper-beam", f"{side}-knuckle", sequence="zxy", position=_vector(on_upper),
                rotation=(0, BEAM_TILT, 0), child_position=_vector(upper - knuckle), coordinates=("turn", "roll", "pitch"),
            ),
            Joint(
                f"{side}-axle", "revolute", f"{side}-knuckle", f"{side}-wheel", axis=_AXLE, position=_vector(axle - knuckle),
                start_rate=f"speed / {FRONT}",
            ),
            Joint(
                f"{side}-handle-ball", "universal", "handlebar", f"{side}-bar", axis=(0, 0, 1), axis2=(0, 1, 0),
                position=_vector(on_handle), start=(atan2(toward[1], toward[0]), acos(toward[2]) - pi / 2),
            ),
        ]  # fmt: skip
        ground = "plate" if left else "world"
        closures = [
            Closure(
                f"{side}-lower-ball", "spherical", "lower-beam", f"{side}-knuckle", position=_vector(on_lower),
                child_position=_vector(lower - knuckle),
            ),
            Closure(
                f"{side}-arm-ball", "spherical", f"{side}-bar", f"{side}-knuckle", position=(reach, 0, 0),
                child_position=_vector(arm - knuckle),
            ),
            Closure(f"{side}-contact", "rolling-disc", ground, f"{side}-wheel", axis=_AXLE, radius=FRONT),
        ]  # fmt: skip
        return bodies, joints, closures


def _beam(name: str, parent: str, beam: str, pivot: Place) -> Joint:
    x, y, z = _up(np.array(pivot))
    return Joint(name, "revolute", parent, beam, axis=(1, 0, 0), position=(x, y, z - REAR), rotation=(0, -BEAM_TILT, 0))


def _vector(values: FloatArray) -> Vector3:
    return float(values[0]), float(values[1]), float(values[2])


def _wheel(name: str, mass: Parameter, radius: float, across: float, about: float) -> Body:
    shape = Shape("cylinder", radius=radius, length=0.02, rotation=(pi / 2, 0, 0))
    return Body(name, mass=mass, inertia=(across, about, across), shape=(shape,))
