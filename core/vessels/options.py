"""What a user says about a vessel beside its hydrodynamic data: the table ``[vessel]`` of a model file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table

Six = tuple[float, float, float, float, float, float]
NOTHING: Six = (0.0,) * 6


@dataclass(frozen=True)
class VesselOptions:
    """A vessel from hydrodynamic data; its frame is that of the data, with the origin in the still water surface.

    Parameters
    ----------
    body, joint
        Names of the body, and of the free joint on which it moves.
    mass, centre_of_gravity, radii_of_gyration
        Of the hull alone, without what stands on it: in kg, m from the origin, and m about the centre of gravity. What is not
        given is that of the data.
    damping, quadratic_damping
        Beside radiation, of surge to yaw at the data's point of reference: N s/m and N m s, N s^2/m^2 and N m s^2.
    damping_ratio
        Further linear damping as parts of the critical one of each motion alone: for heave, roll and pitch by their own
        restoring, for surge, sway and yaw by that of the mooring.
    mooring, mooring_damping
        Springs (N/m, N/m, N m/rad) and dampers of surge, sway and yaw, at the origin, that keep the vessel at its place.
    mooring_period
        Instead of ``mooring``: the period (s) that surge, sway and yaw shall have on their springs, with their added mass.
    memory
        Whether the water remembers; without, the added mass and damping of ``constant_frequency`` (rad/s) stay for ever.
    limit, orders, correct_added_mass
        Of the fit of the memory (:func:`kingpost.marine.hydro.fitting.fit.fit_memory`).
    follows_yaw
        Whether waves are those that meet the vessel at its slow place and heading, for one that changes them; else those of its
        place and heading at the start. The axes of their forces, and those of the water's, turn with the vessel in any case.
    waves
        Whether waves act on it: a sea (``--sea``), or none as long as nobody says which.
    ramp
        Seconds over which waves grow from nothing.

    """

    body: str = "vessel"
    joint: str = "hull"
    mass: float | None = None
    centre_of_gravity: tuple[float, float, float] | None = None
    radii_of_gyration: tuple[float, float, float] | None = None
    damping: Six = NOTHING
    quadratic_damping: Six = NOTHING
    damping_ratio: Six = NOTHING
    mooring: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mooring_damping: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mooring_period: float | None = None
    memory: bool = True
    constant_frequency: float | None = None
    limit: float | None = None
    orders: tuple[int, ...] = (4, 6, 8, 10, 12)
    correct_added_mass: bool = True
    follows_yaw: bool = False
    waves: bool = True
    ramp: float = 10.0

    def __post_init__(self) -> None:
        for name in ("mass", "mooring_period", "constant_frequency", "limit"):
            self._check(name, getattr(self, name), least=0.0, above=True)
        for name in ("damping", "quadratic_damping", "damping_ratio", "mooring", "mooring_damping", "radii_of_gyration"):
            for value in getattr(self, name) or ():
                self._check(name, value, least=0.0)
        self._check("ramp", self.ramp, least=0.0)
        if self.mooring_period is not None and any(self.mooring):
            raise MechanismError("the vessel has both mooring and mooring_period; give one of them", path=("mooring_period",))
        if self.memory and self.constant_frequency is not None:
            raise MechanismError(
                "constant_frequency belongs to a vessel without memory; set memory = false, or remove it",
                path=("constant_frequency",),
            )
        if not self.memory and self.constant_frequency is None:
            raise MechanismError(
                "a vessel without memory needs constant_frequency (rad/s), whose added mass and damping it has at all times",
                path=("memory",),
            )

    @staticmethod
    def _check(name: str, value: float | None, *, least: float, above: bool = False) -> None:
        if value is None:
            return
        if not math.isfinite(value) or value < least or (above and value == least):
            rule = "positive" if above else "not negative"
            raise MechanismError(f"the vessel's {name} is {value:g}; it must be {rule}", path=(name,))


@dataclass(frozen=True)
class VesselTable(VesselOptions):
    """The table ``[vessel]`` of a model file: a file of hydrodynamic data, what its format does not say, and the options.

    ``memory_file`` names a memory that was fitted before (``kingpost hydro FILE --memory memory.npz``).
    """

    hydro: str = ""
    memory_file: str = ""
    read: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hydro:
            raise MechanismError("the vessel lacks 'hydro', its file of hydrodynamic data, e.g. hydro = \"barge.nc\"")
