"""Sizes and masses of the offshore cranes and their vessels; own data, none published."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

#: Part of the knuckle's length that is between winch and tip.
ALONG_KNUCKLE = 0.9


@dataclass(frozen=True)
class Vessel:
    """Main dimensions in m and mass in kg of a hull; its frame is at the waterline amidships, x forward, y to port, z up."""

    length: float
    beam: float
    #: Mass of the hull with its equipment, ballast and stores, but without crane and load.
    hull_mass: float
    #: Height of the hull's own centre of gravity, of the crane's foot and of the centre of buoyancy above the waterline.
    hull_z: float
    foot: tuple[float, float, float]
    buoyancy_z: float
    draft: float


#: 100 m x 20 m at 6 m draft, block coefficient 0.70.
LARGE_VESSEL = Vessel(100.0, 20.0, 8.47e6, 0.8, (12.0, -7.0, 5.0), -2.7, 6.0)
#: 24 m x 8 m at 1.5 m draft, block coefficient 0.55.
SMALL_VESSEL = Vessel(24.0, 8.0, 148e3, 0.3, (2.0, -2.0, 1.5), -0.6, 1.5)


@dataclass(frozen=True)
class Crane:
    """Sizes in m, masses in kg; gains of the drives in N m/rad and N m s/rad; start angles of slew, luff and knuckle in rad."""

    height: float
    boom: float
    knuckle: float
    masses: dict[str, float]
    drum_radius: float
    load: tuple[float, float, float]
    rope: float
    rope_EA: float
    stiffness: tuple[float, float, float, float]
    damping: tuple[float, float, float, float]
    deck_stiffness: float
    start: tuple[float, float, float] = (-pi / 2, 0.9, -1.1)

    @property
    def tip(self) -> tuple[float, float, float]:
        """Where the tip is from the crane's foot at the start."""
        return self._along(self.boom, self.knuckle)

    @property
    def places(self) -> dict[str, tuple[float, float, float]]:
        """Where the centres of gravity are from the crane's foot at the start; the load's height is that of the tip."""
        return {
            "king": (0.0, 0.0, self.height / 2),
            "boom": self._along(self.boom / 2, 0.0),
            "knuckle": self._along(self.boom, self.knuckle / 2),
            "drum": self._along(self.boom, (1 - ALONG_KNUCKLE) * self.knuckle),
            "load": self.tip,
        }

    def _along(self, boom: float, knuckle: float) -> tuple[float, float, float]:
        """Return a point so far along the boom, and so far along the knuckle beyond it."""
        slew, luff, bend = self.start
        reach = boom * cos(luff) + knuckle * cos(luff + bend)
        return reach * cos(slew), reach * sin(slew), self.height + boom * sin(luff) + knuckle * sin(luff + bend)


#: 100 t of crane, with 40 t on the hook.
LARGE_CRANE = Crane(
    12.0, 28.0, 16.0, {"king": 50e3, "boom": 32e3, "knuckle": 14e3, "drum": 4e3, "load": 40e3}, 0.6, (6.0, 2.5, 2.6), 24.0, 9e7,
    (2e9, 3e9, 6e8, 2e7), (1.2e8, 1.5e8, 1.6e7, 7e4), 2e7,
)  # fmt: skip
#: 10 t of crane, with 4 t on the hook.
SMALL_CRANE = Crane(
    3.0, 8.0, 5.0, {"king": 5e3, "boom": 3.2e3, "knuckle": 1.4e3, "drum": 400.0, "load": 4e3}, 0.25, (2.4, 1.6, 1.2), 6.5,
    1.5e7, (2e7, 4e7, 8e6, 1e6), (1.1e6, 1.6e6, 1.8e5, 2.1e3), 2e6,
)  # fmt: skip


@dataclass(frozen=True)
class Ship:
    """A vessel and its crane."""

    vessel: Vessel
    crane: Crane

    @property
    def carried_mass(self) -> float:
        """Mass of crane and load; with it the vessel is at its design draft."""
        return sum(self.crane.masses.values())

    def deck_centre(self, foot: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return the middle of the deck for a crane whose foot is at ``foot``: amidships, level with it."""
        return foot[0] - self.vessel.foot[0], foot[1] - self.vessel.foot[1], foot[2]

    @property
    def ballast(self) -> tuple[float, float]:
        """Where the hull's own centre of gravity is off amidships, so that the vessel is upright at the start."""
        moments = [0.0, 0.0]
        for name, place in self.crane.places.items():
            for i in range(2):
                moments[i] -= self.crane.masses[name] * (self.vessel.foot[i] + place[i])
        return moments[0] / self.vessel.hull_mass, moments[1] / self.vessel.hull_mass


LARGE = Ship(LARGE_VESSEL, LARGE_CRANE)
SMALL = Ship(SMALL_VESSEL, SMALL_CRANE)
