"""A live session: a machine or system that goes on frame by frame, is changed on the way, and goes back in time.

It has no clock: whoever drives it says when a frame is due (pace.py).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.numbers import finite, shown
from kingpost.fmu.live.controls import MOST_NAMED, LiveError
from kingpost.fmu.live.kept import KeptStates
from kingpost.fmu.live.scenario import Action, Scenario
from kingpost.fmu.live.subject import LiveStoppedError, Subject

#: Two times are the same if they are closer than this part of a frame.
SAME_TIME = 1e-6


class LiveSession:
    """A session on a subject.

    Frames that were reached are known by their times, actions by their frames. After going back, playing on repeats what was
    done until something else is done: then what came later is given up.

    Parameters
    ----------
    subject
        What is driven; the session closes it.
    start
        How it was begun, for the scenario: ``{"model": "small-crane", "settings": {...}, "options": {...}}``.
    most_states
        How many states are kept; by default as many as the subject allows.

    """

    def __init__(self, subject: Subject, start: Mapping[str, Any] | None = None, most_states: int | None = None) -> None:
        self.subject, self.start = subject, dict(start or {})
        self.values = subject.controls.starts
        self._frame = 0
        self._times = array("d", [subject.t])
        self._actions: dict[int, dict[str, float]] = {}
        self._kept = KeptStates(most_states or subject.most_states, subject.forget)
        self._columns = {channel.name: i for i, channel in enumerate(subject.channels)}
        self._watched: dict[str, int] = {}
        #: Actions of a scenario that are still to come, and how far it goes.
        self._waiting: list[tuple[float, dict[str, float]]] = []
        self.until: float | None = None
        #: Why it cannot be used any more, if that is so.
        self._lost = ""
        self._keep()

    @property
    def t(self) -> float:
        """The present time in s."""
        return self._times[self._frame]

    @property
    def frame(self) -> int:
        """The number of the present frame."""
        return self._frame

    @property
    def kept(self) -> tuple[float, float]:
        """From when to when one can go."""
        return (self._times[0], self._times[-1]) if not self.subject.obstacle else (self.t, self._times[-1])

    @property
    def repeating(self) -> bool:
        """Whether what comes next was there before."""
        return self._frame < len(self._times) - 1

    @property
    def row(self) -> FloatArray:
        """All channels as they are now."""
        return self.subject.row

    @property
    def states_kept(self) -> int:
        """How many states are kept."""
        return len(self._kept)

    def advance(self, frames: int = 1) -> None:
        """Go on by some frames.

        Raises
        ------
        LiveStoppedError
            If it cannot go on; the session stays at the last good frame, from which one can go back.

        """
        for _ in range(frames):
            self._advance()

    def _advance(self) -> None:
        subject = self.subject
        self._refuse_lost()
        if subject.t >= subject.t_end - SAME_TIME * subject.frame:
            raise LiveStoppedError(
                f"the session has come to its end at t = {subject.t:.9g} s; begin one with a later end (t_end)"
            )
        try:
            subject.advance()
        except LiveStoppedError as error:
            if subject.obstacle:
                self._lost = str(error)
                raise
            self._restore(self._frame)
            raise
        self._frame += 1
        new = self._frame == len(self._times)
        if new:
            self._times.append(subject.t)
        action = self._actions.get(self._frame)
        if action:
            subject.change(action)
            self.values.update(action)
        self._keep()
        if new and self._waiting:
            self._take_waiting()

    def _keep(self) -> None:
        # Of every frame, also if most are given up again: an FMU may look at whether its state was saved.
        if not self.subject.obstacle:
            self._kept.put(self._frame, self.subject.save())

    def _restore(self, frame: int) -> None:
        try:
            self.subject.restore(self._kept[frame])
        except LiveStoppedError as error:
            self._lost = str(error)
            raise
        self._frame = frame
        self.values = self.subject.controls.starts
        for at in sorted(self._actions):
            if at <= frame:
                self.values.update(self._actions[at])

    def _refuse_lost(self) -> None:
        if self._lost:
            raise LiveStoppedError(self._lost)

    def go(self, t: Any) -> None:
        """Go to the frame at a time, back or on again as far as the session has come."""
        wanted = finite(t) if isinstance(t, int | float) and not isinstance(t, bool) else None
        if wanted is None:
            raise LiveError(f"go takes a time in s, got {shown(t)}")
        self._refuse_lost()
        slack = SAME_TIME * self.subject.frame
        if wanted > self._times[-1] + slack:
            raise LiveError(f"the session has come to t = {self._times[-1]:.9g} s; to see {wanted:.9g} s, play on")
        if wanted < self._times[0] - slack:
            raise LiveError(f"the session began at t = {self._times[0]:.9g} s; there is nothing at {wanted:.9g} s")
        frame = self.frame_at(wanted)
        if self.subject.obstacle and frame < self._frame:
            raise LiveError(f"it cannot go back: {self.subject.obstacle}")
        base = self._frame if self.subject.obstacle else self._kept.before(frame)
        if not base <= self._frame <= frame:
            self._restore(base)
        while self._frame < frame:
            self._advance()

    def time_of(self, frame: int) -> float:
        """Return the time of a frame that was reached."""
        return self._times[frame]

    def frame_at(self, t: float) -> int:
        """Return the number of the frame nearest to a time."""
        place = bisect_left(self._times, t)
        if place == len(self._times) or (place and t - self._times[place - 1] <= self._times[place] - t):
            place -= 1
        return place

    def set(self, values: Any) -> dict[str, float]:
        """Change inputs and parameters from now on; return those that did change.

        What came later, if the session went back before, is given up then, and so is the rest of a scenario.
        """
        self._refuse_lost()
        changed = self._set(self.subject.controls.checked(values))
        if changed:
            self._waiting = []
        return changed

    def _set(self, given: Mapping[str, float]) -> dict[str, float]:
        changed = {name: value for name, value in given.items() if value != self.values[name]}
        if not changed:
            return {}
        before = {name: self.values[name] for name in changed}
        try:
            self.subject.change(changed)
        except KingpostError as error:
            self._undo(before)
            raise LiveError(self._refusal(error)) from None
        if self.repeating:
            self._kept.cut(self._frame)
            del self._times[self._frame + 1 :]
            self._actions = {at: action for at, action in self._actions.items() if at <= self._frame}
        self._actions.setdefault(self._frame, {}).update(changed)
        self.values.update(changed)
        self._keep()
        return changed

    def _undo(self, before: Mapping[str, float]) -> None:
        """Undo what a part of the subject took before another part refused."""
        if self._frame in self._kept:
            self.subject.restore(self._kept[self._frame])
            return
        for name, value in before.items():
            try:
                self.subject.change({name: value})
            except KingpostError:
                continue

    @staticmethod
    def _refusal(error: KingpostError) -> str:
        partner = getattr(error, "partner", "")
        return f"component '{partner}': {error}" if partner else str(error)

    def watch(self, names: Any) -> None:
        """Choose the channels that :attr:`watched` shows."""
        if not isinstance(names, Sequence) or isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise LiveError(f"watch takes a list of channels, got {shown(names)}")
        for name in names:
            if name not in self._columns:
                raise LiveError(
                    f"no channel '{name}'{closest(name, self._columns)} Channels: {listed(self._columns, MOST_NAMED)}."
                )
        self._watched = {name: self._columns[name] for name in names}

    @property
    def watched(self) -> dict[str, float | None]:
        """The watched channels as they are now; what is not finite is None."""
        row = self.subject.row
        return {name: float(row[i]) if np.isfinite(row[i]) else None for name, i in self._watched.items()}

    def scenario(self) -> Scenario:
        """Return what was done so far."""
        actions = [Action(self._times[at], dict(self._actions[at])) for at in sorted(self._actions)]
        return Scenario(self.start, tuple(actions), self._times[-1])

    def load(self, scenario: Scenario) -> None:
        """Take over the actions of a scenario, for a session that has not begun yet; playing on carries them out.

        An action between two frames takes place at the later one.
        """
        if len(self._times) > 1 or self._actions:
            raise LiveError("a scenario is loaded at the start of a session, before anything was done")
        for action in scenario.actions:
            if action.t < self.t - SAME_TIME * self.subject.frame:
                raise LiveError(f"the scenario sets values at t = {action.t:g} s, before the session begins at {self.t:g} s")
        self._waiting = [(action.t, self.subject.controls.checked(action.set)) for action in scenario.actions]
        self.until = scenario.until
        self._take_waiting()

    def _take_waiting(self) -> None:
        slack = SAME_TIME * self.subject.frame
        while self._waiting and self._waiting[0][0] <= self.subject.t + slack:
            self._set(self._waiting.pop(0)[1])

    def close(self) -> list[str]:
        """End the subject; return what is said against that."""
        return self.subject.close()
