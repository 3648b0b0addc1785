"""What is said to a session and what it answers, as plain data: the other side of the WebSocket (docs/live.md)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from kingpost.base.channel_roles import roles_of
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.numbers import shown
from kingpost.fmu.live.controls import LiveError
from kingpost.fmu.live.pace import Pace
from kingpost.fmu.live.scene import LiveScene
from kingpost.fmu.live.session import LiveSession

Message = dict[str, Any]
#: Seconds of the wall's clock between two frames that are shown, and between two states while nothing else changes.
SHOWN, TOLD = 0.019, 1.0
#: The longest time (s) in which nobody is heard because frames are computed.
DEAF = 0.05
#: Seconds after which a change of parameters is looked at for what it does to the picture.
REDRAWN = 0.5
#: The most frames that are taken by one step.
MOST_STEPS = 100_000


class Conversation:
    """A session with a clock: it is told what to do, and tells what it shows. All times are of the wall's clock, in s."""

    def __init__(self, session: LiveSession, clock: Callable[[], float] = time.monotonic) -> None:
        self.session, self._clock = session, clock
        self.playing, self.ended = False, False
        #: Why it stopped by itself, until it goes on or back.
        self.stopped = ""
        self.pace = Pace()
        self.pace.begin(clock(), session.t)
        self.scene = LiveScene(session.subject)
        self._loads: tuple[str, ...] = ()
        self._shown = self._told = -math.inf
        #: The time of the last frame that was shown.
        self._seen = math.nan
        self._redraw: float | None = None
        self._words: dict[str, Callable[[Mapping[str, Any]], list[Message]]] = {
            "play": self._play, "pause": self._pause, "step": self._step, "pace": self._change_pace, "go": self._go,
            "set": self._set, "watch": self._watch, "scenario": self._scenario, "state": lambda message: [self.state()],
            "end": self._end,
        }  # fmt: skip

    def ready(self) -> Message:
        """Return what a page needs to know before the first frame."""
        session, subject = self.session, self.session.subject
        controls = subject.controls.items.values()
        roles = roles_of(subject.channels)
        told = {
            kind: [control.data(session.values[control.name]) for control in controls if control.kind == kind]
            for kind in ("input", "parameter")
        }
        return {
            "type": "ready",
            "name": subject.name,
            "inputs": told["input"],
            "parameters": told["parameter"],
            "channels": [{"name": item.name, "unit": item.unit, "role": roles[item.name]} for item in subject.channels],
            "scene": self.scene.data if self.scene.drawn else None,
            "loads": list(self.scene.arrows),
            "frame": subject.frame,
            "t": session.t,
            "t_end": subject.t_end,
            "obstacle": subject.obstacle,
            "until": session.until,
            "notes": list(subject.notes),
        }

    def state(self) -> Message:
        """Return where the session is."""
        session = self.session
        self._told = self._clock()
        return {
            "type": "state",
            "t": session.t,
            "playing": self.playing,
            "pace": self.pace.factor,
            "real_factor": round(self.pace.real_factor, 4) if self.playing else 0.0,
            "kept": list(session.kept),
            "values": dict(session.values),
            "repeating": session.repeating,
            "stopped": self.stopped,
            "obstacle": session.subject.obstacle,
        }

    def frame(self) -> Message:
        """Return what there is to see now."""
        self._shown = self._clock()
        told: Message = {"type": "frame", "t": self.session.t, **self.scene.frame(), "watched": self.session.watched}
        if self._loads:
            told["loads"] = self.scene.loads(self._loads)
        return told

    def answer(self, message: Any) -> list[Message]:
        """Do what a message says; return what there is to say to it."""
        try:
            if not isinstance(message, Mapping) or not isinstance(message.get("do"), str):
                raise LiveError(f'a message is a table with \'do\', e.g. {{"do": "play"}}; got {shown(message)}')
            word = message["do"]
            if word not in self._words:
                raise LiveError(
                    f"there is nothing called '{word}' to do{closest(word, self._words)} One can: {listed(self._words)}."
                )
            return self._words[word](message)
        except KingpostError as error:
            return [{"type": "error", "error": str(error)}]

    def tick(self) -> list[Message]:
        """Go on as far as it is due; return what there is to see."""
        said: list[Message] = []
        began = now = self._clock()
        if self.playing:
            session, pace = self.session, self.pace
            try:
                while pace.due(now, session.t + session.subject.frame) and now - began < DEAF:
                    session.advance()
                    now = self._clock()
            except KingpostError as error:
                said += self._stop(str(error))
            else:
                pace.reached(now, session.t)
                if session.t != self._seen and now - self._shown >= SHOWN:
                    said.append(self.frame())
                    self._seen = session.t
                if now - self._told >= TOLD:
                    said.append(self.state())
        if self._redraw is not None and now >= self._redraw:
            said += self._redrawn()
        return said

    def wait(self) -> float:
        """Return how long nothing is due."""
        now = self._clock()
        waits = [math.inf]
        if self.playing:
            due = self.pace.wait(now, self.session.t + self.session.subject.frame)
            waits.append(max(due, self._shown + SHOWN - now, 0.0))
        if self._redraw is not None:
            waits.append(max(0.0, self._redraw - now))
        return min(waits)

    def _stop(self, why: str) -> list[Message]:
        self.playing, self.stopped = False, why
        return [{"type": "error", "error": why}, self.frame(), self.state()]

    def _play(self, message: Mapping[str, Any]) -> list[Message]:
        self.playing, self.stopped = True, ""
        self.pace.begin(self._clock(), self.session.t)
        return [self.state()]

    def _pause(self, message: Mapping[str, Any]) -> list[Message]:
        self.playing = False
        return [self.frame(), self.state()]

    def _step(self, message: Mapping[str, Any]) -> list[Message]:
        count = message.get("count", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < abs(count) <= MOST_STEPS:
            raise LiveError(f"step takes a whole number of frames, up to {MOST_STEPS}, below 0 to go back; got {shown(count)}")
        self.playing, self.stopped = False, ""
        session = self.session
        if count < 0:
            session.go(session.time_of(max(0, session.frame + count)))
        else:
            try:
                session.advance(count)
            except KingpostError as error:
                return self._stop(str(error))
        return [self.frame(), self.state()]

    def _change_pace(self, message: Mapping[str, Any]) -> list[Message]:
        self.pace.change(message.get("factor"), self._clock(), self.session.t)
        return [self.state()]

    def _go(self, message: Mapping[str, Any]) -> list[Message]:
        self.session.go(message.get("t"))
        self.stopped = ""
        self.pace.begin(self._clock(), self.session.t)
        return [self.frame(), self.state()]

    def _set(self, message: Mapping[str, Any]) -> list[Message]:
        changed = self.session.set(message.get("values"))
        if not changed:
            return []
        controls = self.session.subject.controls.items
        if any(controls[name].kind == "parameter" for name in changed):
            self._redraw = self._clock() + REDRAWN
        return [self.state(), *([] if self.playing else [self.frame()])]

    def _redrawn(self) -> list[Message]:
        """Return the scene anew, if it looks different with the parameters that hold now."""
        self._redraw = None
        scene = LiveScene(self.session.subject)
        if not scene.drawn or scene.geometry == self.scene.geometry:
            return []
        self.scene = scene
        return [{"type": "scene", "scene": scene.data}, self.frame()]

    def _watch(self, message: Mapping[str, Any]) -> list[Message]:
        self.session.watch(message.get("channels", []))
        loads = message.get("loads", [])
        if not isinstance(loads, list) or not all(joint in self.scene.arrows for joint in loads):
            raise LiveError(f"loads takes joints whose loads are computed: {listed(self.scene.arrows)}; got {shown(loads)}")
        self._loads = tuple(loads)
        return [self.frame()]

    def _scenario(self, message: Mapping[str, Any]) -> list[Message]:
        return [{"type": "scenario", "text": self.session.scenario().text()}]

    def _end(self, message: Mapping[str, Any]) -> list[Message]:
        self.playing, self.ended = False, True
        return [{"type": "ended"}]
