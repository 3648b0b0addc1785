"""A satellite that turns itself with three rotors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask

#: Semi-axes of the ellipsoid (m); radius and height of the discs (m); density of all (kg/m^3). Document 001, table 4.1, prints
#: masses, Euler tensors and distances rounded to four digits; they are those of these shapes.
SEMI_AXES = (2.0 / 3.0, 1.0, 4.0 / 3.0)
RADIUS, HEIGHT = 1.0, 0.5
DENSITY = 270.0


class Satellite(Model):
    """A free ellipsoid with a disc on each of its axes, driven by torque inputs, with viscous friction; no gravity."""

    name = "satellite"

    def build(self) -> Mechanism:
        friction = Parameter("friction", 0.0, "N.m.s/rad", "viscous friction of each rotor", minimum=0.0)
        torques = [Input(f"torque{i}", "N.m", description=f"torque on rotor {i}, about its axis") for i in (1, 2, 3)]
        rotors = [f"rotor{i}" for i in (1, 2, 3)]
        mass = DENSITY * 4.0 / 3.0 * math.pi * math.prod(SEMI_AXES)
        a, b, c = SEMI_AXES
        inertia = (mass * (b**2 + c**2) / 5, mass * (a**2 + c**2) / 5, mass * (a**2 + b**2) / 5)
        disc = DENSITY * math.pi * RADIUS**2 * HEIGHT
        about_axis, across = disc * RADIUS**2 / 2, disc * (3 * RADIUS**2 + HEIGHT**2) / 12
        axes: list[tuple[float, float, float]] = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
        places = [(x * (a + HEIGHT / 2), y * (b + HEIGHT / 2), z * (c + HEIGHT / 2)) for x, y, z in axes]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(friction,),
            inputs=tuple(torques),
            bodies=(
                Body("main", mass=mass, inertia=inertia),
                *(
                    Body(name, mass=disc, inertia=tuple(about_axis if i == j else across for j in range(3)))
                    for i, name in enumerate(rotors)
                ),
            ),
            joints=(
                Joint("motion", "free", "world", "main"),
                *(
                    Joint(f"spin{i + 1}", "revolute", "main", name, axis=axes[i], position=places[i])
                    for i, name in enumerate(rotors)
                ),
            ),
            forces=tuple(
                force
                for i, torque in enumerate(torques, start=1)
                for force in (
                    ForceElement("joint-effort", name=f"drive{i}", coordinate=f"spin{i}.angle", effort=torque),
                    ForceElement("joint-friction", name=f"friction{i}", coordinate=f"spin{i}.angle", viscous=friction),
                )
            ),
        )

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the reorientation of the document: half a turn about (1, 2, 3) in 5 s, from rest to rest.

        A quaternion has one component more than a rotation has freedoms, so that three of them are prescribed, and the sign of
        the fourth. Momentum is zero all the time: the satellite stands still when its rotors do.
        """
        x, y, z = (component / math.sqrt(14.0) for component in (1.0, 2.0, 3.0))
        end = {"motion.qw": 0.0, "motion.qx": x, "motion.qy": y, "motion.qz": (z - 0.1, z + 0.1)}
        end |= {f"spin{i}.angle.rate": 0.0 for i in (1, 2, 3)}
        torques = ("torque1", "torque2", "torque3")
        about = "document 001, section 6.3"
        common: dict[str, Any] = {"end": end, "intervals": 20, "guess": "line"}
        return {
            "001": OptimalTask(torques, 5.0, **common, description=f"{about}, without friction"),
            "001-friction": OptimalTask(
                torques, 5.0, **common, settings={"friction": 100.0}, description=f"{about}, with friction"
            ),
        }
