"""A floating vessel with linear hydrodynamics, alone or under what it carries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import cos, exp, isfinite, pi, sin
from typing import Any

from kingpost.base.errors import MechanismError
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter, Port
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.port_names import TRIANGLE, inertia_unit
from kingpost.plugins.models.offshore_data import LARGE, SMALL, Ship

GRAVITY = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
WATER = Parameter("water_density", 1025.0, "kg/m3", "density of the water")
CARRIER = "vessel"
#: Waterplane coefficient, and coefficients of its second moments.
PLANE, ROLL, PITCH = 0.80, 0.70, 0.60
#: Added masses in surge and sway, in parts of the mass afloat.
SURGE_ADDED, SWAY_ADDED = 0.05, 0.60
#: Radii of gyration of the hull, in parts of its beam and of its length.
ROLL_RADIUS, PITCH_RADIUS = 0.35, 0.25


@dataclass
class Parts:
    """Entries of a mechanism, to be put together."""

    parameters: list[Parameter] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    closures: list[Any] = field(default_factory=list)
    forces: list[ForceElement] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)

    def __add__(self, other: Parts) -> Parts:
        return Parts(**{name: [*entries, *getattr(other, name)] for name, entries in vars(self).items()})

    def mechanism(self, model: Model) -> Mechanism:
        """Return all of it as the mechanism of a model."""
        return Mechanism(name=model.name, description=(model.__doc__ or "").strip().split("\n")[0], **vars(self))


@dataclass(frozen=True)
class SeaOptions:
    """An irregular sea with a JONSWAP spectrum instead of regular waves from abeam.

    ``hs``: significant wave height in m, 0 for the regular waves; ``tp``: period of the peak in s; ``direction``: where waves
    come from, in degrees from ahead to starboard; ``components``: number of waves that make the sea; ``seed``: of their phases.
    """

    hs: float = 0.0
    tp: float = 8.0
    direction: float = 15.0
    components: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        if not (isfinite(self.hs) and self.hs >= 0):
            raise MechanismError(f"hs = {self.hs:g} m: the sea cannot be lower than calm", path=("hs",))


#: Regular waves of this period have the transfer functions of the vessel as they stand; shorter ones do less.
REGULAR_PERIOD = 9.0


def any_sea(ship: Ship, weight: Any, length: Any, beam: Any) -> dict[str, Any]:
    """Return what a wave force needs to take any sea: that of undisturbed waves on a box, by the fullness of the hull.

    Forces along the water are those on its volume, and on the added mass in the same acceleration, so that long waves carry the
    hull along; others are those on its waterplane and the second moments of that.
    """
    vessel = ship.vessel
    block = (vessel.hull_mass + ship.carried_mass) / (WATER.default * vessel.length * vessel.beam * vessel.draft)
    length, beam = length / vessel.length, beam / vessel.beam
    plane, roll, pitch = weight * length * beam, weight * length * beam**3, weight * length**3 * beam
    return {
        "box": {"length": vessel.length, "beam": vessel.beam, "draft": vessel.draft},
        "scale": (
            (1 + SURGE_ADDED) * block * plane,
            (1 + SWAY_ADDED) * block * plane,
            PLANE * plane,
            ROLL * roll,
            PITCH * pitch,
            block * pitch,
        ),
    }


def sea_waves(ship: Ship, sea: SeaOptions, heave: Any, roll: Any, pitch: Any, **any_sea: Any) -> ForceElement:
    """Return the force of an irregular sea, from the vessel's stiffnesses.

    Forces fall with the wave number k as exp(-k d) sin(k b / 2) / (k b / 2): pressure at the draft d, mean over the beam b.
    """
    from kingpost.marine.waves import jonswap

    beam, draft = ship.vessel.beam, ship.vessel.draft
    ahead, abeam = cos(sea.direction * pi / 180), sin(sea.direction * pi / 180)

    def left(frequency: float) -> float:
        k = frequency**2 / 9.81
        return exp(-k * draft) * sin(k * beam / 2) / (k * beam / 2)

    waves = jonswap(sea.hs, sea.tp, components=sea.components, seed=sea.seed)
    sizes = (0.2 * ahead * heave, 0.5 * abeam * heave, 0.6 * heave, 0.05 * abeam * roll, 0.03 * ahead * pitch, 0)
    rows = []
    for _, frequency, _ in waves:
        part = abs(left(frequency)) / left(2 * pi / REGULAR_PERIOD)
        rows.append(tuple(size if isinstance(size, int) else part * size for size in sizes))
    return ForceElement(
        "wave-excitation", name="waves", body=CARRIER, components=waves, transfer=tuple(rows),
        transfer_phase=((pi / 2, pi / 2, 0, -pi / 2, pi / 2, 0),), ramp=10.0, follows_yaw=True, **any_sea,
    )  # fmt: skip


def hull_coefficients(
    total: Any, roll: Any, pitch: Any, weight: Any, length: Any, beam: Any, roll_damping: Any = 0.05, water: Any = 1.0
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return stiffness, added mass, mass with it, and linear damping along surge to yaw, as numbers or formulas.

    ``total`` is the mass afloat, ``roll`` and ``pitch`` are the hull's own moments of inertia, ``weight`` that of a cubic metre
    of water.
    """
    heave_c = PLANE * weight * length * beam
    roll_c, pitch_c = ROLL / 12 * weight * length * beam**3, PITCH / 12 * weight * beam * length**3
    hold = (2 * pi / 120.0) ** 2
    stiffness = (hold * total, hold * total, heave_c, roll_c, pitch_c, hold * pitch)
    added = (SURGE_ADDED * total, SWAY_ADDED * total, 0.90 * total, 0.20 * roll, 0.90 * pitch, 0.50 * pitch)
    ratios = (0.6, 0.6, 0.25, roll_damping, 0.15, 0.6)
    moved = (total + added[0], total + added[1], total + added[2], roll + added[3], pitch + added[4], pitch + added[5])
    damping = tuple(2 * water * ratio * _root(c * m) for ratio, c, m in zip(ratios, stiffness, moved, strict=True))
    return stiffness, added, moved, damping


def vessel_parts(ship: Ship, sea: SeaOptions | None = None) -> Parts:
    """Return the vessel: hull, added mass, damping, restoring, station keeping, waves, and a wrench from outside.

    Restoring holds the waterplane's terms; weights and buoyancy, each at its own place, make the rest of it. Surge, sway and
    yaw are held by the springs of an idealised station keeping with a period of about two minutes. All that the water does is
    linear theory's, constant in horizontal axes that turn with the hull: in axes that tilt with it, or stay with the world,
    motions in waves would turn it away from its heading, and in the end over.
    """
    vessel = ship.vessel
    mass = Parameter("hull_mass", vessel.hull_mass, "kg", "mass of the hull without crane and load", minimum=0.0)
    carried = Parameter("carried_mass", ship.carried_mass, "kg", "mass of crane and load, which the buoyancy carries as well")
    length = Parameter("length", vessel.length, "m", "length at the waterline")
    beam = Parameter("beam", vessel.beam, "m", "beam at the waterline")
    x, y, z = (
        Parameter(
            f"hull_{axis}", value, "m", f"place of the hull's centre of gravity along {axis}, from the waterline amidships"
        )
        for axis, value in zip("xyz", (*ship.ballast, vessel.hull_z), strict=True)
    )
    z_B = Parameter("buoyancy_z", vessel.buoyancy_z, "m", "height of the centre of buoyancy above the waterline")
    rx = Parameter("roll_radius", ROLL_RADIUS * vessel.beam, "m", "radius of gyration in roll of the hull", minimum=0.0)
    ry = Parameter(
        "pitch_radius", PITCH_RADIUS * vessel.length, "m", "radius of gyration in pitch and yaw of the hull", minimum=0.0
    )
    amplitude = Parameter("wave_amplitude", 0.5, "m", "amplitude of the regular waves, from abeam", minimum=0.0)
    frequency = Parameter("wave_frequency", 2 * pi / REGULAR_PERIOD, "rad/s", "circular frequency of the waves", minimum=1e-6)
    roll_damping = Parameter("roll_damping", 0.05, "1", "linear damping of roll, as a part of the critical one")
    water = Parameter("water_damping", 1.0, "1", "factor on all damping by the water and the station keeping", minimum=0.0)
    quadratic = Parameter("roll_quadratic", 0.1, "1", "quadratic damping of roll, times the roll inertia (1/rad)")
    inputs = [
        Input(
            f"vessel_{part}_{axis}",
            unit,
            description=f"{part} on the vessel at its frame origin, along the world's {axis} axis",
        )
        for part, unit in (("moment", "N.m"), ("force", "N"))
        for axis in "xyz"
    ]
    total = mass + carried
    roll, pitch = mass * rx**2, mass * ry**2
    weight = WATER * GRAVITY
    stiffness, added, moved, damping = hull_coefficients(total, roll, pitch, weight, length, beam, roll_damping, water)
    _, _, heave_c, roll_c, pitch_c, _ = stiffness
    wave = (0, 0.5 * heave_c, 0.6 * heave_c, 0.05 * roll_c, 0, 0)
    irregular, seas = sea is not None and sea.hs > 0, any_sea(ship, weight, length, beam)
    waves = (
        sea_waves(ship, sea, heave_c, roll_c, pitch_c, **seas)
        if sea is not None and irregular
        else ForceElement(
            "wave-excitation", name="waves", body=CARRIER, components=((amplitude, frequency, 0),), transfer=(wave,),
            transfer_phase=((0, pi / 2, 0, -pi / 2, 0, 0),), ramp=10.0, follows_yaw=True, **seas,
        )
    )  # fmt: skip
    return Parts(
        parameters=[
            mass, carried, length, beam, x, y, z, z_B, rx, ry, *(() if irregular else (amplitude, frequency)), roll_damping,
            water, quadratic, WATER,
            GRAVITY,
        ],
        inputs=inputs,
        bodies=[Body(CARRIER, mass=mass, com=(x, y, z), inertia=(roll, pitch, pitch))],
        joints=[Joint("hull", "free", "world", CARRIER)],
        forces=[
            ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
            ForceElement(
                "hydrostatic", body=CARRIER, matrix=_diagonal(stiffness, (2, 3, 4)), buoyancy=total * GRAVITY,
                centre=(0, 0, z_B), follows_yaw=True,
            ),
            ForceElement("hydrostatic", name="station-keeping", body=CARRIER, matrix=_diagonal(stiffness, (0, 1, 5))),
            ForceElement("radiation", name="added-mass", body=CARRIER, added_mass=_diagonal(added), follows_yaw=True),
            ForceElement(
                "body-damping", name="water", body=CARRIER, matrix=_diagonal(damping),
                quadratic=(0, 0, 0, water * quadratic * moved[3], 0, 0), axes="horizontal",
            ),
            waves,
            ForceElement(
                "body-wrench", name="vessel-wrench", body=CARRIER, moment=tuple(inputs[:3]), force=tuple(inputs[3:]),
                frame="world",
            ),
        ],
    )  # fmt: skip


def _root(square: Any) -> Any:
    return square**0.5


def _diagonal(entries: Any, rows: Collection[int] = range(6)) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(entry if i == j and i in rows else 0 for j in range(6)) for i, entry in enumerate(entries))


def load_inputs(inertia: bool) -> list[Input]:
    """Return the inputs through which a crane that is computed elsewhere acts on a vessel, named like its port's channels."""
    kind, text = ("free_", ", without acceleration") if inertia else ("", "")
    inputs = [
        Input(f"crane_{kind}{name}", unit, description=f"{name} of the crane on the vessel at its foot, vessel axes{text}")
        for name, unit in zip(COMPONENTS, UNITS, strict=True)
    ]
    if inertia:
        inputs += [
            Input(
                f"crane_A{i}{j}", inertia_unit(i, j), description=f"entry {i}, {j} of the crane's interface inertia at its foot"
            )
            for i, j in TRIANGLE
        ]
    return inputs


class OffshoreVessel(Model):
    """A floating vessel of 100 m under a crane that is computed elsewhere, with the crane's interface inertia; own data."""

    name = "offshore-vessel"
    Options = SeaOptions
    t_end = 60.0
    ship = LARGE
    #: Whether the crane's interface inertia comes in, too; without, its wrench alone.
    inertia = True

    def build(self) -> Mechanism:
        inputs = load_inputs(self.inertia)
        load = ForceElement(
            "carried-load",
            name="crane",
            body=CARRIER,
            wrench=tuple(inputs[:6]),
            inertia=tuple(inputs[6:]),
            position=self.ship.vessel.foot,
        )
        mount = Port("mount", body=CARRIER, position=self.ship.vessel.foot)
        return (vessel_parts(self.ship, self.options) + Parts(inputs=inputs, forces=[load], ports=[mount])).mechanism(self)


class OffshoreVesselPlain(OffshoreVessel):
    """The vessel of offshore-vessel with the usual interface: motion out, the wrench of the crane in."""

    name = "offshore-vessel-plain"
    inertia = False


class SmallVessel(OffshoreVessel):
    """A workboat of 24 m under a crane that is computed elsewhere, with the crane's interface inertia; own data."""

    name = "small-vessel"
    ship = SMALL


class SmallVesselPlain(SmallVessel):
    """The workboat of small-vessel with the usual interface: motion out, the wrench of the crane in."""

    name = "small-vessel-plain"
    inertia = False
