"""The waves that a sea is made of."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.base.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class WaveComponents:
    """Long-crested waves whose sum is the sea: a cos(w t - k (x cos b + y sin b) + e), arrays of one length.

    ``amplitude`` a in m, ``frequency`` w in rad/s, ``phase`` e in rad, ``direction`` b in rad: where the wave goes to, from the
    world's +x towards +y.
    """

    amplitude: FloatArray
    frequency: FloatArray
    phase: FloatArray
    direction: FloatArray
