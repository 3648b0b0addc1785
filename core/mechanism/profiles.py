"""How a quantity goes from one value to the next: the profiles of moves, by name.

======================================  ==================================================================================
``rest-to-rest``, ``smooth:n``          polynomial of degree 2 n + 1 with n vanishing derivatives at both ends; 4 or as given
``three-phase:blend=SECONDS,smooth=n``  speeding up, constant speed, slowing down; n continuous derivatives, 4 unless given
``linear``, ``hold``                    constant speed; the first value until the end
======================================  ==================================================================================
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from kingpost.base.errors import MechanismError
from kingpost.base.numbers import finite_in, shown
from kingpost.mechanism.pieces import Piece
from kingpost.mechanism.polynomials import NOTHING, SMOOTHEST, STRAIGHT, Polynomial, Smooth, SpeedUp

#: What ``rest-to-rest`` and ``three-phase`` have unless somebody says more: continuous derivatives.
USUAL = 4
#: From 0 to 1 for s from 0 to 1, with vanishing derivatives 1-4 at both ends: document 000, eq. (4.87), by rising powers.
REST_TO_REST = Smooth(USUAL).coefficients
#: From rest to speed 1 in a time of 1, over a way of 1/2, with vanishing derivatives 1-4 at the start and 2-4 at the end.
SPEED_UP = SpeedUp(USUAL).coefficients
PROFILES: dict[str, tuple[float, ...]] = {"rest-to-rest": REST_TO_REST, "linear": STRAIGHT.coefficients, "hold": ()}
_SMOOTH = re.compile(r"smooth:(\d{1,9})\Z")
_THREE_PHASE = re.compile(r"three-phase:(.*)\Z")


@dataclass(frozen=True)
class Profile:
    """The way from one value to the next."""

    form: Literal["smooth", "three-phase", "linear", "hold"]
    #: Continuous derivatives of a move from rest to rest.
    smoothness: int
    #: Time of speeding up, and of slowing down, in s.
    t_blend: Any = None

    def moves(self, start: Any, end: Any, t_start: Any, t_end: Any) -> Iterator[tuple[Any, Piece]]:
        """Yield the pieces from ``t_start`` to ``t_end``, each with the time at which it begins."""
        length = t_end - t_start
        if self.form != "three-phase":
            polynomials: dict[str, Polynomial] = {"linear": STRAIGHT, "hold": NOTHING}
            yield t_start, Piece(start, end - start, polynomials.get(self.form) or Smooth(self.smoothness), t_start, length)
            return
        blend = SpeedUp(self.smoothness)
        cruise = length - self.t_blend  # tau - tau0: the time of the whole way at the constant speed
        way = (end - start) * (self.t_blend / cruise)
        # Document 000, eq. (4.126).
        yield t_start, Piece(start, way, blend, t_start, self.t_blend)
        # Eq. (4.127).
        yield t_start + self.t_blend, Piece(start, end - start, STRAIGHT, t_start + self.t_blend / 2, cruise)
        # Eq. (4.128) prints 1 + c_I(tau - t), which comes down to 1 from above. It must be 1 - c_I(tau - t), the mirror image
        # of the acceleration: the same polynomial, run backwards from the end.
        yield t_end - self.t_blend, Piece(end, -way, blend, t_end, -self.t_blend)


def read_profile(text: Any) -> Profile:
    """Return the profile that a text names."""
    if not isinstance(text, str):
        raise MechanismError(f"expected the name of a profile, got {shown(text)}")
    word = text.strip()
    if word == "rest-to-rest":
        return Profile("smooth", USUAL)
    if word == "linear":
        return Profile("linear", 0)
    if word == "hold":
        return Profile("hold", -1)
    found = _SMOOTH.match(word)
    if found:
        return Profile("smooth", _smoothness(found[1], text))
    found = _THREE_PHASE.match(word)
    if found:
        return _three_phase(found[1], text)
    raise MechanismError(
        "expected one of 'rest-to-rest', 'linear', 'hold', 'smooth:n' with n continuous derivatives, "
        f"'three-phase:blend=SECONDS', 'three-phase:blend=SECONDS,smooth=n', got {shown(text)}"
    )


def smooth_profile(text: Any) -> Profile:
    """Return a profile that begins and ends at rest in one phase: ``rest-to-rest`` or ``smooth:n``."""
    profile = read_profile(text)
    if profile.form != "smooth":
        raise MechanismError(f"expected 'rest-to-rest' or 'smooth:n' with n from 1 to {SMOOTHEST}, got {shown(text)}")
    return profile


def _smoothness(word: str, text: str) -> int:
    n = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else 0
    if not 1 <= n <= SMOOTHEST:
        raise MechanismError(f"{shown(text)} asks for {shown(word)} continuous derivatives; there are 1 to {SMOOTHEST}")
    return n


def _three_phase(words: str, text: str) -> Profile:
    smoothness, t_blend = USUAL, None
    for word in words.split(","):
        key, _, value = (part.strip() for part in word.partition("="))
        if key == "smooth":
            smoothness = _smoothness(value, text)
        elif key == "blend":
            t_blend = finite_in(value)
            if t_blend is None or not t_blend > 0.0:
                raise MechanismError(f"{shown(text)}: blend = {shown(value)} is not a positive number of seconds")
        else:
            raise MechanismError(f"{shown(text)} has no {shown(key)}; write 'three-phase:blend=SECONDS,smooth=n'")
    if t_blend is None:
        raise MechanismError(f"{shown(text)} lacks the time of speeding up; write 'three-phase:blend=SECONDS'")
    return Profile("three-phase", smoothness, t_blend)


def check_span(what: str, t_start: Any, t_end: Any) -> None:
    """Refuse a move that ends before it starts."""
    if isinstance(t_start, float) and isinstance(t_end, float) and not t_end > t_start:
        raise MechanismError(
            f"{what}: t_end is {t_end} s, t_start is {t_start} s; the end must come after the start",
            path=("t_end",),
        )


def check_blend(what: str, t_start: Any, t_end: Any, t_blend: Any, key: str = "t_blend") -> None:
    """Refuse a time of speeding up and slowing down for which there is none."""
    if isinstance(t_blend, float) and not t_blend > 0:
        raise MechanismError(f"{what}: {key} is {t_blend} s; it must be positive", path=(key,))
    if all(isinstance(time, float) for time in (t_start, t_end, t_blend)):
        half = (t_end - t_start) / 2
        # Half of 0.3 - 0.1 is below 0.1: the times are rounded, and so is their difference.
        rounding = 4 * sys.float_info.epsilon * max(abs(t_start), abs(t_end))
        if t_blend > half + rounding:
            raise MechanismError(
                f"{what}: {key} is {t_blend} s, more than half of the {t_end - t_start} s from t_start = "
                f"{t_start} s to t_end = {t_end} s; use at most {half} s",
                path=(key,),
            )
