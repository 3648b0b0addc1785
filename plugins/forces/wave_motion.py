"""A base that moves with the waves as its motion RAOs say: crane loads without hydrodynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.base.fields import JointName
from kingpost.base.formulas import ZERO_VECTOR, Vector3
from kingpost.marine.interpolation import TURN
from kingpost.marine.wave_tables import WaveTable, wave_table
from kingpost.multibody.force import Force, Kinematics, Loads, WaveMotion
from kingpost.plugins.forces.water import MOTIONS
from kingpost.plugins.forces.wave_sums import cosine_and_sine, smooth_ramp, wave_sum

if TYPE_CHECKING:
    from kingpost.marine.components import WaveComponents


@dataclass(frozen=True)
class WaveMotionOptions:
    """A ``table`` of motions per metre of amplitude over frequencies and headings (m/m, rad/m), or a ``file`` that has one.

    The given ``joint`` moves by them about its own pose: the point ``at`` of its frame M (m) shifts by surge, sway and heave
    along the axes of that pose, and roll, pitch and yaw are the rotation vector about these axes, as linear theory has them.
    ``heading`` (rad) is that of the pose's x axis in the world. The motion grows over ``ramp`` seconds. A sea with more than
    the part ``outside`` of its energy outside of the table's frequencies is refused.
    """

    joint: JointName
    table: WaveTable | None = None
    file: str = ""
    at: Vector3 = ZERO_VECTOR
    heading: float = 0.0
    ramp: float = 0.0
    outside: float = 0.05

    def __post_init__(self) -> None:
        what = f"wave-motion of '{self.joint}'"
        if self.file and self.table is None:
            from kingpost.marine.hydro.reading import read_hydro

            object.__setattr__(self, "table", wave_table(read_hydro(self.file), "motions"))
        if self.table is None:
            raise MechanismError(f"{what}: it needs a 'table' of motions, or a 'file' with them", path=("table",))
        object.__setattr__(self, "table", WaveTable(self.table.frequencies, self.table.headings, self.table.values, "motion"))
        if self.ramp < 0:
            raise MechanismError(f"{what}: ramp is {self.ramp:g} s; it must not be negative", path=("ramp",))
        if not 0 <= self.outside <= 1:
            raise MechanismError(f"{what}: outside is {self.outside:g}; it is a part of the energy, 0 to 1", path=("outside",))


class WavesMoveJoint(Force):
    """Motion of a given joint in waves, from motion RAOs: positions, velocities and accelerations as exact sums of waves.

    For the elevation sum a cos(w t + phase) at the point it is the real part of sum a RAO exp(i (w t + phase)); nothing is
    differentiated by numbers. It is no force: what moves so takes no notice of what it carries. Without a sea it does nothing.
    """

    name = "wave-motion"
    Options = WaveMotionOptions
    moves_joints = True

    @property
    def sea_rows(self) -> tuple[str, ...]:
        """Turns per second; cosine and sine parts of elevation and motions."""
        return ("turns", *(f"{motion}_{part}" for part in ("cos", "sin") for motion in ("elevation", *MOTIONS)))

    def wave_rows(self, waves: WaveComponents) -> FloatArray:
        table, w = self.options.table, waves.frequency
        table.check(waves, self.options.outside)
        wave = waves.amplitude * np.exp(1j * waves.phase)
        moved = (wave[:, None] * table.at(w, waves.direction - self.options.heading)).T
        here = np.vstack([wave[None, :], moved])
        return np.vstack([w[None, :] / TURN, here.real, -here.imag])

    def sea_record(self, waves: WaveComponents) -> Mapping[str, Any]:
        """Say which part of the sea's energy the table does not know."""
        return {"energy_outside_table_percent": 100 * self.options.table.outside(waves)}

    def loads(self, kinematics: Kinematics) -> Loads:
        joint = kinematics.mechanism.joint(self.options.joint)
        if joint.kind != "given":
            raise MechanismError(
                f"wave-motion: joint '{joint.name}' is {joint.kind}; waves move given joints, or, by their forces, free ones"
            )
        numbers = kinematics.sea()
        if numbers is None:
            return Loads()
        t = kinematics.t
        function = wave_sum("kp_motions", *numbers.shape, ["t"], _with_rates)
        found = kinematics.call(function, t, numbers, size=19)
        grown = smooth_ramp(t, self.options.ramp)
        growing = ca.jacobian(grown, t)
        bent = ca.jacobian(growing, t)
        x, rate, acceleration = found[1:7], found[7:13], found[13:]
        motion = WaveMotion(
            grown * x,
            growing * x + grown * rate,
            bent * x + 2 * growing * rate + grown * acceleration,
            ca.densify(kinematics.vector(self.options.at)),
        )
        signals = {
            "elevation": (found[0] * grown, "m"),
            **{name: (motion.position[i], "m" if i < 3 else "rad") for i, name in enumerate(MOTIONS)},
        }
        return Loads(motions={joint.name: motion}, signals=signals)


def _with_rates(wave: ca.SX, t: ca.SX) -> ca.SX:
    """Return what one wave adds to elevation and motions, and to the first and second derivatives of the latter."""
    c, s = cosine_and_sine(wave[0] * t)
    speed = TURN * wave[0]
    cosine, sine = wave[1:8], wave[8:]
    x = cosine * c + sine * s
    return ca.vertcat(x, speed * (sine[1:] * c - cosine[1:] * s), -(speed**2) * x[1:])
