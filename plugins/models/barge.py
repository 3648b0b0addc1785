"""A barge from hydrodynamic data, alone and with a crane on deck."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kingpost.mechanism.elements import ForceElement, Joint, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape
from kingpost.plugins.models.offshore_crane import crane_parts
from kingpost.plugins.models.offshore_data import SMALL_CRANE, Ship
from kingpost.plugins.models.offshore_data import Vessel as MainDimensions
from kingpost.plugins.models.offshore_vessel import CARRIER, GRAVITY, Parts

if TYPE_CHECKING:
    from kingpost.vessels.parts import Vessel

#: A box of 40 m x 12 m at a draught of 2.5 m in deep water, by capytaine 3.0 (panels of 0.75 m, lid against irregular
#: frequencies), mass 1.23e6 kg; and its memory, fitted by :func:`kingpost.marine.hydro.fitting.fit.fit_memory`.
FOLDER = Path(__file__).parent / "data"
LENGTH, BEAM, DEPTH, DRAUGHT = 40.0, 12.0, 4.5, 2.5
#: Regular waves where no sea is given: period (s) and where they go to (rad).
PERIOD, DIRECTION = 8.0, 150 * pi / 180
MOORING_PERIOD, DAMPING_RATIO = 100.0, (0.1, 0.1, 0.0, 0.0, 0.0, 0.1)
#: The barge with the foot of a crane on deck, to port of the middle.
SHIP = Ship(MainDimensions(LENGTH, BEAM, 1.216e6, 1.0, (8.0, -3.0, 2.0), -DRAUGHT / 2, DRAUGHT), SMALL_CRANE)


@cache
def barge() -> Vessel:
    """Return the barge; its files are read once, and what reads them is loaded only for it."""
    from kingpost.marine.hydro.fitting.files import read_memory
    from kingpost.marine.hydro.formats.plain import read_npz
    from kingpost.vessels.options import VesselOptions
    from kingpost.vessels.parts import make_vessel

    options = VesselOptions(body=CARRIER, mooring_period=MOORING_PERIOD, damping_ratio=DAMPING_RATIO)
    return make_vessel(read_npz(FOLDER / "barge.npz"), options, fitted=read_memory(FOLDER / "barge_memory.npz"))


def barge_parts(vessel: Vessel) -> Parts:
    """Return a barge as parts of a mechanism, with linear damping of roll and a regular wave for want of a sea."""
    data = vessel.data
    amplitude = Parameter("wave_amplitude", 0.5, "m", "amplitude of the regular waves where no sea is given", minimum=0.0)
    heel = Parameter("heel", 0.0, "rad", "roll at the start")
    damping = Parameter("roll_damping", 0.05, "1", "linear damping of roll beside radiation, as a part of the critical one")
    critical = float(2 * np.sqrt(vessel.restoring()[3, 3] * vessel.moved()[3, 3]))
    wave = data.excitation_at([2 * pi / PERIOD], [DIRECTION])[0]
    drag = tuple(tuple(critical * damping if i == j == 3 else 0.0 for j in range(6)) for i in range(6))
    hull = Shape("box", size=(LENGTH, BEAM, DEPTH), at=(0, 0, DEPTH / 2 - DRAUGHT))
    return Parts(
        parameters=[amplitude, heel, damping, GRAVITY],
        bodies=[replace(body, shape=(hull,)) for body in vessel.bodies],
        joints=[
            Joint("hull", "free", "world", CARRIER, start=(0, 0, 0, "cos(heel / 2)", "sin(heel / 2)", 0, 0)),
        ],
        forces=[
            ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
            *(_with_wave(force, amplitude, wave) if force.kind == "wave-excitation" else force for force in vessel.forces),
            ForceElement(
                "body-damping", name="roll-damping", body=CARRIER, matrix=drag, at=tuple(map(float, data.reference)),
                axes="horizontal",
            ),
        ],
    )  # fmt: skip


def _with_wave(force: ForceElement, amplitude: Parameter, wave: NDArray[np.complex128]) -> ForceElement:
    own = {
        "components": ((amplitude, 2 * pi / PERIOD, 0.0),),
        "transfer": (tuple(map(float, np.abs(wave))),),
        "transfer_phase": (tuple(map(float, np.angle(wave))),),
    }
    return ForceElement(force.kind, force.name, **{**force.options, **own})


class Barge(Model):
    """A barge of 40 m on soft moorings, with wave forces and radiation memory from capytaine; takes any sea."""

    name = "barge"
    t_end = 120.0
    step = 0.02

    def build(self) -> Mechanism:
        return barge_parts(barge()).mechanism(self)


class BargeCrane(Model):
    """The barge with a knuckle-boom crane of 10 t on deck: winch, elastic rope and a load of 4 t; takes any sea."""

    name = "barge-crane"
    t_end = 60.0

    def build(self) -> Mechanism:
        from kingpost.vessels.loading import Weight, hull_without

        vessel, foot = barge(), SHIP.vessel.foot
        crane = SHIP.crane
        carried = [
            Weight(crane.masses[name], tuple(a + b for a, b in zip(foot, place, strict=True)))
            for name, place in crane.places.items()
        ]
        # Barge and crane together are what the data were computed for, so the barge alone is lighter.
        lighter = replace(vessel, hull=hull_without(vessel.hull, carried))
        return (barge_parts(lighter) + crane_parts(SHIP, CARRIER, foot)).mechanism(self)
