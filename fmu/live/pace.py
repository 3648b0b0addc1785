"""How many frames are due: simulated time runs so many times as fast as the clock on the wall."""

from __future__ import annotations

from collections import deque

from kingpost.base.numbers import finite, shown
from kingpost.fmu.live.controls import LiveError

#: Factors that can be asked for.
SLOWEST, FASTEST = 1e-3, 1e4
#: A session that falls behind by more than this (s of the wall's clock) does not catch up: it goes on from where it is.
BEHIND = 0.25
#: The factor that is reached is measured over so many seconds.
MEASURED = 1.0


class Pace:
    """A pace; all times but ``t`` are of the clock on the wall, in s, and given by whoever asks."""

    def __init__(self, factor: object = 1.0) -> None:
        self.factor = checked_factor(factor)
        self._wall, self._t = 0.0, 0.0
        self._reached: deque[tuple[float, float]] = deque()

    def begin(self, now: float, t: float) -> None:
        """Count from here on."""
        self._wall, self._t = now, t
        self._reached.clear()
        self._reached.append((now, t))

    def change(self, factor: object, now: float, t: float) -> None:
        """Go on with another factor."""
        self.factor = checked_factor(factor)
        self.begin(now, t)

    def target(self, now: float) -> float:
        """Return the simulated time that should have been reached."""
        return self._t + (now - self._wall) * self.factor

    def due(self, now: float, t: float) -> bool:
        """Say whether the frame that begins at ``t`` is due."""
        return self.target(now) >= t

    def wait(self, now: float, t: float) -> float:
        """Return how long it is until the frame that begins at ``t`` is due."""
        return max(0.0, (t - self.target(now)) / self.factor)

    def reached(self, now: float, t: float) -> None:
        """Say what has been reached; what cannot be caught up with is let go."""
        self._reached.append((now, t))
        while len(self._reached) > 2 and now - self._reached[0][0] > MEASURED:
            self._reached.popleft()
        if (self.target(now) - t) / self.factor > BEHIND:
            self._wall, self._t = now, t

    @property
    def real_factor(self) -> float:
        """How many times as fast as the clock on the wall it went lately."""
        (begin, t0), (end, t1) = self._reached[0], self._reached[-1]
        return (t1 - t0) / (end - begin) if end > begin else 0.0


def checked_factor(value: object) -> float:
    """Return a factor; refuse what is none."""
    number = finite(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not SLOWEST <= number <= FASTEST:
        raise LiveError(f"the pace takes a factor from {SLOWEST:g} to {FASTEST:g}, 1 for real time; got {shown(value)}")
    return number
