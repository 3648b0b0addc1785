"""The cable suspension manipulator CABLEV of document 000, section 6.3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import Scalar
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import GRAVITY, Ends, three_phase

MASS, RADIUS, DEPTH, OFFSET, SIDE = 12.5, 0.1, 3.0, 0.6, 1.2
#: Where gantry and platform begin (m), in the document's axes but for the depth.
GANTRY, TROLLEYS = 1.2, (1.0 + math.sqrt(3.0) * OFFSET, 1.0, 1.0)
PLATFORM = (1.0 + math.sqrt(3.0) / 5, 1.2, -DEPTH)
#: End orientations of the tasks, as Bryant angles, R = R1 R2 R3, in the document's axes with z down.
TURN, BOTH = (0.0, 0.0, math.pi / 3), (math.pi / 6, math.pi / 4, math.pi / 3)


def rotation_vector(angles: tuple[float, float, float]) -> FloatArray:
    """Return the rotation vector of Bryant angles, R = R1 R2 R3: eqs. (6.95)-(6.97).

    Eq. (6.97) prints 1 / sin(s); an axis of length one takes 1 / (2 sin(s)).
    """
    (c1, c2, c3), (s1, s2, s3) = (np.cos(angles), np.sin(angles))
    R = np.array(
        [
            [c2 * c3, -c2 * s3, s2],
            [c1 * s3 + s1 * s2 * c3, c1 * c3 - s1 * s2 * s3, -s1 * c2],
            [s1 * s3 - c1 * s2 * c3, s1 * c3 + c1 * s2 * s3, c1 * c2],
        ]
    )
    angle = math.acos((np.trace(R) - 1) / 2)
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (2 * math.sin(angle))
    return np.asarray(angle * axis)


class Cablev(Model):
    """A platform on three cables, each with a winch on a trolley of its own, all three trolleys on a gantry.

    In the document z points down; here everything is mirrored at the plane z = 0: x, y and turning about the vertical are as
    printed, heights and the two other rotations have the opposite sign. The document does not give the side l1 of the
    platform: cables of 3 m that hang straight at the start make it 1.2 m. Its "J1 = J2 = 0.75, J3 = 1.5" are then the moments
    of inertia of such a plate; those of the winches are missing, and 0.1 as elsewhere. Its M1 has m0 = 380 kg for all that
    moves with the gantry: the trolleys are taken off that here, since they ride on it.
    """

    name = "cablev"
    t_end = 20.0
    step = 0.002

    def build(self) -> Mechanism:
        mass = Parameter("platform_mass", MASS, "kg", "mass of the platform")
        moments = [
            Parameter(f"platform_inertia_{axis}", moment, "kg.m2", f"of the platform about its {axis} axis", minimum=0.0)
            for axis, moment in zip("xyz", (0.75, 0.75, 1.5), strict=True)
        ]
        side = Parameter("platform_side", SIDE, "m", "side of the triangle of the platform's three points")
        offset = Parameter("trolley_offset", OFFSET, "m", "from the rail of the middle trolley to each of the others")
        gantry = Parameter("gantry_mass", 380.0, "kg", "of all that moves with the gantry")
        trolley = Parameter("trolley_mass", 35.0, "kg", "of each trolley")
        inertias = [Parameter(f"winch{i}_inertia", 0.1, "kg.m2", f"inertia of winch {i}", minimum=0.0) for i in (1, 2, 3)]
        radius = Parameter("winch_radius", RADIUS, "m", "radius of each winch")
        depth = Parameter("cable_length", DEPTH, "m", "length of each cable at the angle 0 of its winch")
        travel = Input("gantry_force", "N", description="force on the gantry")
        pushes = [Input(f"trolley{i}_force", "N", description=f"force on trolley {i}") for i in (1, 2, 3)]
        holding = -MASS * GRAVITY.default / 3 * RADIUS
        hoists = [Input(f"winch{i}_torque", "N.m", holding, f"torque of winch {i}; positive pays out") for i in (1, 2, 3)]
        rails: tuple[Scalar, ...] = (0.0, offset + 0.0, -offset)
        third, sixth = math.sqrt(3.0) / 3, math.sqrt(3.0) / 6
        corners: tuple[Any, ...] = (
            (third * side, 0.0, 0.0), (-sixth * side, side / 2, 0.0), (-sixth * side, -side / 2, 0.0)
        )  # fmt: skip
        numbers = (1, 2, 3)
        plate = [Shape("sphere", radius=0.06, at=corner) for corner in corners]
        plate.append(Shape("cylinder", radius=third * side / 2, length=0.05))
        names = [f"trolley{i}.x" for i in numbers]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(mass, *moments, side, offset, gantry, trolley, *inertias, radius, depth, GRAVITY),
            inputs=(travel, *pushes, *hoists),
            bodies=(
                Body("gantry", mass=gantry - 3 * trolley, shape=(Shape("box", size=(6.0, 0.2, 0.2), at=(2.0, 0, 0.3)),)),
                *(Body(f"carriage{i}", mass=trolley, shape=(Shape("box", size=(0.25, 0.2, 0.15)),)) for i in numbers),
                # Discs on the ground: of their moments of inertia only that about the axle counts.
                *(Body(f"drum{i}", mass=0.0, inertia=(J / 2, J, J / 2)) for i, J in enumerate(inertias, 1)),
                Body("carrier", mass=0.0),
                Body("platform", mass=mass, inertia=tuple(moment + 0.0 for moment in moments), shape=tuple(plate)),
            ),
            joints=(
                Joint("gantry-rail", "prismatic", "world", "gantry", axis=(0, 1, 0), coordinates=("y",), start=GANTRY),
                *(
                    Joint(
                        f"trolley{i}",
                        "prismatic",
                        "gantry",
                        f"carriage{i}",
                        axis=(1, 0, 0),
                        position=(0, rail, 0),
                        coordinates=("x",),
                        start=start,
                    )
                    for i, rail, start in zip(numbers, rails, TROLLEYS, strict=True)
                ),
                *(Joint(f"winch{i}", "revolute", "world", f"drum{i}", axis=(0, 1, 0)) for i in numbers),
                Joint("place", "translational", "world", "carrier", start=PLATFORM),
                # Bryant angles, R = R1 R2 R3, eq. (6.61).
                Joint("attitude", "gimbal", "carrier", "platform", sequence="xyz", coordinates=("roll", "pitch", "yaw")),
            ),
            closures=tuple(
                Closure(
                    f"cable{i}",
                    "rope",
                    f"carriage{i}",
                    "platform",
                    child_position=corner,
                    length=depth,
                    coordinates=(f"winch{i}.angle",),
                    radius=radius,
                )
                for i, corner in zip(numbers, corners, strict=True)
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                ForceElement("joint-effort", name="gantry-drive", coordinate="gantry-rail.y", effort=travel),
                *(
                    ForceElement("joint-effort", name=f"trolley{i}-drive", coordinate=f"trolley{i}.x", effort=push)
                    for i, push in zip(numbers, pushes, strict=True)
                ),
                *(
                    ForceElement("joint-effort", name=f"winch{i}-drive", coordinate=f"winch{i}.angle", effort=hoist)
                    for i, hoist in zip(numbers, hoists, strict=True)
                ),
            ),
            outputs=(Output("load", "platform"),),
            measures=(
                *(
                    Measure(f"turn-{axis}", "rotation", body="platform", axis=axis, description="of the rotation vector")
                    for axis in "xyz"
                ),
                # Eq. (6.81): the seventh output, since seven drives move six freedoms.
                Measure(
                    "spread",
                    "combination",
                    terms={names[0]: 1.0, names[1]: -0.5, names[2]: -0.5},
                    description="trolley 1 before the middle of the two others",
                ),
            ),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvres of document 000, section 6.3.7: a rotation, a translation and both, each in 20 s."""
        far = {"load.x": (PLATFORM[0], 3.0 + math.sqrt(3.0) / 5), "load.y": (1.2, 5.0), "load.z": (-DEPTH, -1.0)}
        near = {"load.x": (PLATFORM[0],) * 2, "load.y": (1.2,) * 2, "load.z": (-DEPTH,) * 2}
        still = (0.0, 0.0, 0.0)

        def task(case: str, places: Ends, angles: tuple[float, float, float], text: str) -> ServoTask:
            # A straight line of rotation vectors is a turn about a fixed axis: eqs. (6.94)-(6.101), here mirrored.
            turn = rotation_vector(angles) * (-1, -1, 1) if any(angles) else np.zeros(3)
            ends = {**places, **{f"turn-{axis}": (0.0, float(part)) for axis, part in zip("xyz", turn, strict=True)}}
            path = three_phase({**ends, "spread": (math.sqrt(3.0) * OFFSET,) * 2})
            drives = ("gantry_force", *(f"trolley{i}_force" for i in (1, 2, 3)), *(f"winch{i}_torque" for i in (1, 2, 3)))
            name = f"000-6.3.7-{case}"
            return ServoTask(path, drives, 20.0, name=name, description=f"document 000, section 6.3.7, {text}")

        cases = (
            task("rotation", near, TURN, "case 1"),
            task("translation", far, still, "case 2"),
            task("both", far, BOTH, "case 3"),
        )
        return {case.name: case for case in cases}
