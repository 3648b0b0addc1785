"""Moves from value to value: from rest to rest, in three phases, and one after another."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

from kingpost.base.errors import MechanismError
from kingpost.base.fields import convert_fields
from kingpost.base.formulas import Scalar
from kingpost.mechanism.pieces import Piece, Pieces
from kingpost.mechanism.profiles import USUAL, Profile, check_blend, check_span, read_profile, smooth_profile
from kingpost.mechanism.trajectory import Trajectory, evaluated


@dataclass(frozen=True)
class RestToRest(Trajectory):
    """From ``start`` to ``end`` between two times, with vanishing derivatives at both; constant before and after.

    The polynomial of degree 9 of document 000, eqs. (4.84) and (4.87), in s = (t - t_start) / (t_end - t_start). Eq. (4.88)
    prints t / (t_end - t_start), which is the same only for t_start = 0. Four derivatives vanish, or n with the ``profile``
    ``"smooth:n"``, n = 1 to 8, of degree 2 n + 1.
    """

    kind: ClassVar[str] = "rest-to-rest"
    start: Scalar
    end: Scalar
    t_start: Scalar
    t_end: Scalar
    profile: str | None = None

    def __post_init__(self) -> None:
        what = f"{self.kind} trajectory"
        convert_fields(self, what)
        named(what, self._profile)
        check_span(what, self.t_start, self.t_end)

    def _profile(self) -> Profile:
        return smooth_profile(self.profile) if self.profile is not None else Profile("smooth", USUAL)

    @property
    def smoothness(self) -> int:
        """Four, or what the profile says.

        The next derivative jumps at both times by (2 n + 1)! / n! (end - start) / (t_end - t_start)^(n + 1): 15120 for n = 4.
        """
        return self._profile().smoothness

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        start, end, t_start, t_end = (evaluated(v, scope) for v in (self.start, self.end, self.t_start, self.t_end))
        check_span(f"{self.kind} trajectory", t_start, t_end)
        return joined_moves(self._profile(), (t_start, t_end), (start, end))


@dataclass(frozen=True)
class ThreePhase(Trajectory):
    """From ``start`` to ``end`` by acceleration over ``t_blend``, constant speed, and deceleration over ``t_blend``.

    The reference function of document 000, eqs. (4.126)-(4.128), put right; constant before ``t_start`` and after ``t_end``.
    The ``profile`` ``"smooth:n"`` gives it n continuous derivatives, n = 1 to 8, instead of four.
    """

    kind: ClassVar[str] = "three-phase"
    start: Scalar
    end: Scalar
    t_start: Scalar
    t_end: Scalar
    t_blend: Scalar
    profile: str | None = None

    def __post_init__(self) -> None:
        what = f"{self.kind} trajectory"
        convert_fields(self, what)
        named(what, self._profile)
        check_span(what, self.t_start, self.t_end)
        check_blend(what, self.t_start, self.t_end, self.t_blend)

    def _profile(self) -> Profile:
        smoothness = smooth_profile(self.profile).smoothness if self.profile is not None else USUAL
        return Profile("three-phase", smoothness)

    @property
    def smoothness(self) -> int:
        """Four, or what the profile says.

        The next derivative jumps by (2 n - 1)! / (n - 1)! (end - start) / ((t_end - t_start - t_blend) t_blend^n) at both ends
        and at both ends of the constant speed: 840 for n = 4.
        """
        return self._profile().smoothness

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        start, end, t_start, t_end, t_blend = (
            evaluated(v, scope) for v in (self.start, self.end, self.t_start, self.t_end, self.t_blend)
        )
        what = f"{self.kind} trajectory"
        check_span(what, t_start, t_end)
        check_blend(what, t_start, t_end, t_blend)
        return joined_moves(replace(self._profile(), t_blend=t_blend), (t_start, t_end), (start, end))


@dataclass(frozen=True)
class Sequence(Trajectory):
    """Through ``values`` at ``times``, by the same profile from each to the next; constant before and after.

    Profiles are those of :mod:`kingpost.mechanism.profiles`. With ``"hold"`` a value stays until the next time.
    """

    kind: ClassVar[str] = "sequence"
    times: tuple[Scalar, ...]
    values: tuple[Scalar, ...]
    profile: str = "rest-to-rest"

    def __post_init__(self) -> None:
        what = f"{self.kind} trajectory"
        convert_fields(self, what)
        named(what, self._profile)
        check_points(self.kind, self.times, self.values)
        self._check_blends(self.times)

    def _profile(self) -> Profile:
        return read_profile(self.profile)

    def _check_blends(self, times: Row[Any]) -> None:
        blend = self._profile().t_blend
        for early, late in pairwise(times) if blend is not None else ():
            check_blend(f"{self.kind} trajectory, profile '{self.profile}'", early, late, blend, "profile")

    @property
    def smoothness(self) -> int:
        """Four for ``"rest-to-rest"``, n for ``"smooth:n"``, 0 for ``"linear"``, -1 for ``"hold"``."""
        return self._profile().smoothness

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        times = [evaluated(time, scope) for time in self.times]
        values = [evaluated(value, scope) for value in self.values]
        check_points(self.kind, times, values)
        self._check_blends(times)
        return joined_moves(self._profile(), times, values)


def joined_moves(profile: Profile, times: Row[Any], values: Row[Any]) -> Pieces:
    """Return the pieces of a profile from each value to the next, between constants."""
    begins: list[Any] = []
    pieces = [Piece(values[0])]
    for i in range(len(times) - 1):
        for begin, piece in profile.moves(values[i], values[i + 1], times[i], times[i + 1]):
            begins.append(begin)
            pieces.append(piece)
    return (*begins, times[-1]), (*pieces, Piece(values[-1]))


def named(what: str, profile: Any) -> Profile:
    """Return the profile that a trajectory names, or say where it does not."""
    try:
        found: Profile = profile()
    except MechanismError as error:
        raise MechanismError(f"{what}: profile: {error}", path=("profile",)) from None
    return found


def check_points(kind: str, times: Row[Any], values: Row[Any]) -> None:
    """Refuse times that do not rise, or not as many values."""
    if len(times) != len(values):
        raise MechanismError(
            f"{kind} trajectory: {len(times)} times but {len(values)} values; give one value for each time", path=("values",)
        )
    if len(times) < 2:
        raise MechanismError(f"{kind} trajectory: {len(times)} point(s) given; at least 2 are needed", path=("times",))
    check_rising(f"{kind} trajectory", times)


def check_rising(what: str, times: Row[Any]) -> None:
    """Refuse times that do not rise."""
    for i in range(1, len(times)):
        early, late = times[i - 1], times[i]
        if isinstance(early, float) and isinstance(late, float) and not late > early:
            raise MechanismError(
                f"{what}: times must rise: times[{i}] is {late} s after {early} s; sort them and drop repeated ones",
                path=("times",),
            )
