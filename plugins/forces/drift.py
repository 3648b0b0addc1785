"""Drift: the steady and slowly varying push of waves on a hull, from its mean in regular waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Vector3
from kingpost.marine.interpolation import TURN
from kingpost.marine.wave_tables import WaveTable, wave_table
from kingpost.mechanism.drawings import Drawing
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.water import MOTIONS
from kingpost.plugins.forces.wave_sums import cosine_and_sine, smooth_ramp, wave_sum

if TYPE_CHECKING:
    from kingpost.marine.components import WaveComponents

#: Surge, sway and yaw: the motions that drift forces push; others have springs of their own, which slow forces do not move.
PUSHED = (0, 1, 5)


@dataclass(frozen=True)
class WaveDriftOptions:
    """A ``table`` of the mean wrench per square metre of amplitude, over frequencies and headings, or a ``file`` that has one.

    ``method`` is ``newman``, mean and slowly varying, or ``mean`` alone. The wrench acts at the point ``at`` of the body frame
    (m), in axes that stay horizontal, turned by ``heading`` (rad), and grows over ``ramp`` seconds. A sea with more than the
    part ``outside`` of its energy outside of the table's frequencies is refused.
    """

    body: BodyName
    table: WaveTable | None = None
    file: str = ""
    method: Literal["newman", "mean"] = "newman"
    at: Vector3 = ZERO_VECTOR
    heading: float = 0.0
    ramp: float = 0.0
    outside: float = 0.05

    def __post_init__(self) -> None:
        what = f"wave-drift on '{self.body}'"
        if self.file and self.table is None:
            from kingpost.marine.hydro.reading import read_hydro

            object.__setattr__(self, "table", wave_table(read_hydro(self.file), "drift"))
        if self.table is None:
            raise MechanismError(f"{what}: it needs a 'table' of mean forces, or a 'file' with them", path=("table",))
        if np.abs(self.table.values.imag).max() > 0:
            raise MechanismError(f"{what}: mean forces have no imaginary parts", path=("table",))
        object.__setattr__(self, "table", WaveTable(self.table.frequencies, self.table.headings, self.table.values, "drift"))
        if self.ramp < 0:
            raise MechanismError(f"{what}: ramp is {self.ramp:g} s; it must not be negative", path=("ramp",))
        if not 0 <= self.outside <= 1:
            raise MechanismError(f"{what}: outside is {self.outside:g}; it is a part of the energy, 0 to 1", path=("outside",))


class WaveDrift(Force):
    """Mean and slowly varying drift of a hull in a sea, by Newman's approximation.

    With a_j the amplitudes, D_j the mean force per square metre in a regular wave, th_j = w_j t + e_j, it is
    |sum a sqrt(D+) exp(i th)|^2 - |sum a sqrt(D-) exp(i th)|^2, D+ and D- being the positive and negative parts of D: its mean
    is sum a^2 D exactly, and no wave frequencies, nor their sums, are in it. For surge, sway and yaw of a moored vessel in deep
    water; in heave, roll and pitch, and in shallow water, it would be wrong. Without a sea there is no drift.
    """

    name = "wave-drift"
    Options = WaveDriftOptions

    def drawing(self) -> Drawing:
        return Drawing(floats=(self.options.body,))

    @property
    def sea_rows(self) -> tuple[str, ...]:
        """Mean forces; or turns per second, phase in turns, and roots of the positive and negative parts."""
        names = [MOTIONS[i] for i in PUSHED]
        if self.options.method == "mean":
            return tuple(names)
        return ("turns", "phase", *(f"{name}_{part}" for part in ("plus", "minus") for name in names))

    def wave_rows(self, waves: WaveComponents) -> FloatArray:
        table, w = self.options.table, waves.frequency
        table.check(waves, self.options.outside)
        mean = table.at(w, waves.direction - self.options.heading).real[:, PUSHED].T
        if self.options.method == "mean":
            return np.asarray(waves.amplitude**2 * mean)
        plus, minus = (waves.amplitude * np.sqrt(np.maximum(sign * mean, 0.0)) for sign in (1, -1))
        return np.vstack([w[None, :] / TURN, waves.phase[None, :] / TURN, plus, minus])

    def sea_record(self, waves: WaveComponents) -> Mapping[str, Any]:
        """Say what the mean drift is, and which part of the sea's energy the table does not know."""
        table = self.options.table
        mean = waves.amplitude**2 @ table.at(waves.frequency, waves.direction - self.options.heading).real
        return {
            "energy_outside_table_percent": 100 * table.outside(waves),
            "mean_drift": {MOTIONS[i]: float(mean[i]) for i in PUSHED},
        }

    def loads(self, kinematics: Kinematics) -> Loads:
        numbers = kinematics.sea()
        if numbers is None:
            return Loads()
        surge, sway, yaw = ca.vertsplit(self._pushed(kinematics, numbers) * smooth_ramp(kinematics.t, self.options.ramp))
        c, s = np.cos(self.options.heading), np.sin(self.options.heading)
        force = ca.vertcat(c * surge - s * sway, s * surge + c * sway, 0)
        R_BW = kinematics.pose(self.options.body).R.T
        moment_B, force_B = R_BW @ ca.vertcat(0, 0, yaw), R_BW @ force
        at = kinematics.vector(self.options.at)
        wrench = ca.densify(ca.vertcat(moment_B + ca.cross(at, force_B), force_B))
        signals = {"surge": (surge, "N"), "sway": (sway, "N"), "yaw": (yaw, "N.m")}
        return Loads(wrenches={self.options.body: wrench}, signals=signals)

    def _pushed(self, kinematics: Kinematics, numbers: ca.SX) -> ca.SX:
        if self.options.method == "mean":
            function = wave_sum("kp_mean_drift", *numbers.shape, ["t"], lambda wave, t: wave + 0 * t)
            return kinematics.call(function, kinematics.t, numbers, size=3)

        def each(wave: ca.SX, t: ca.SX) -> ca.SX:
            c, s = cosine_and_sine(wave[0] * t + wave[1])
            return ca.vertcat(wave[2:] * c, wave[2:] * s)

        function = wave_sum("kp_drift", *numbers.shape, ["t"], each)
        sums = kinematics.call(function, kinematics.t, numbers, size=12)
        plus, minus = sums[0:3] ** 2 + sums[6:9] ** 2, sums[3:6] ** 2 + sums[9:12] ** 2
        return plus - minus
