"""States that are kept on the way of a session: all of the last frames, fewer of those before, and never too many.

Going back to a frame between two of them is to begin at the earlier one and to repeat what was done: to the same bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any


class KeptStates:
    """States by the number of their frame; ``forget`` is told of those that are given up.

    Of ``most`` states, half are those of the last frames. When there are more, every second one of the older half is given up,
    so that their distance grows with their age; the first one stays.
    """

    def __init__(self, most: int, forget: Callable[[Any], None]) -> None:
        self._most, self._forget = max(most, 4), forget
        self._frames: list[int] = []
        self._states: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames of which there is a state."""
        return tuple(self._frames)

    def put(self, frame: int, state: Any) -> None:
        """Keep the state of a frame, in the place of an older one of it."""
        if frame in self._states:
            self._forget(self._states[frame])
        elif self._frames and frame < self._frames[-1]:
            self._frames.insert(bisect_right(self._frames, frame), frame)
        else:
            self._frames.append(frame)
        self._states[frame] = state
        if len(self._frames) > self._most:
            self._thin(frame)

    def _thin(self, newest: int) -> None:
        older = self._frames[: len(self._frames) - self._most // 2]
        for frame in older[1::2]:
            if frame != newest:
                self._forget(self._states.pop(frame))
        self._frames = sorted(self._states)

    def __getitem__(self, frame: int) -> Any:
        return self._states[frame]

    def __contains__(self, frame: int) -> bool:
        return frame in self._states

    def before(self, frame: int) -> int:
        """Return the last frame up to a given one of which there is a state."""
        return self._frames[bisect_right(self._frames, frame) - 1]

    def cut(self, frame: int) -> None:
        """Give up all states after a frame."""
        keep = bisect_right(self._frames, frame)
        for later in self._frames[keep:]:
            self._forget(self._states.pop(later))
        del self._frames[keep:]
