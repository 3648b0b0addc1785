"""What pictures show of a force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kingpost.base.formulas import Scalar, Vector3

LineKind = Literal["rope", "spring", "rod"]


@dataclass(frozen=True)
class Line:
    """A line between points of bodies, each given by body and place in its frame (m).

    A rope goes over the points between its ends as over sheaves. It is ``length`` + ``radius`` * ``drum`` long (m) when nothing
    pulls, ``drum`` being a joint coordinate: where that is more than the way, it hangs through.
    """

    points: tuple[tuple[str, Vector3], ...]
    kind: LineKind = "rope"
    length: Scalar | None = None
    drum: str = ""
    radius: Scalar = 0.0


@dataclass(frozen=True)
class Waves:
    """The waves of a sea: amplitude (m), circular frequency (rad/s), phase (rad) and direction (rad, where it goes to) of each.

    The elevation is the sum of a cos(w t - k (x cos b + y sin b) + e); from t = 0 it grows to full size over ``ramp`` seconds.
    """

    components: tuple[tuple[Scalar, Scalar, Scalar, Scalar], ...]
    ramp: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """What there is to see of a force: a line, the bodies that it lets float, and the waves that it is from."""

    line: Line | None = None
    floats: tuple[str, ...] = ()
    waves: Waves | None = None
