"""An FMU in a process of its own: numbers pass through shared memory, commands and answers through pipes.

If the process dies, the master goes on living, and says who died, when, and while doing what.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.scratch import Scratch
from kingpost.fmu.cosim.components.described import PartnerEnded, PartnerError, Places, Running
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.process.endings import describe_ending
from kingpost.fmu.process.limits import Answers
from kingpost.fmu.process.program import end_program, hand_over, last_printed, start_program
from kingpost.fmu.process.trail import raw_trail, read_trail

#: A command: its letter, two numbers, and the identity of a state, or of a step whether further variables are wanted, too; of a
#: change the length of its text, which follows. An answer: its letter, a whole number, a length of text.
COMMAND, ANSWER = struct.Struct("<cddq"), struct.Struct("<cqi")
DONE, FAILED, ENDED = b"+", b"-", b"."
GIVE, TAKE, RECORD, BEGIN, STEP, FOLLOW, SAVE, RESTORE, FORGET, CHANGE, CLOSE = (bytes([letter]) for letter in b"utrbsfvwxcq")
WORDS = {
    GIVE: "setting its inputs",
    TAKE: "reading its outputs",
    RECORD: "reading its variables",
    BEGIN: "leaving initialisation",
    STEP: "stepping",
    FOLLOW: "stepping",
    SAVE: "saving its state",
    RESTORE: "going back",
    FORGET: "freeing a state",
    CHANGE: "changing its values",
}
#: Commands in which the FMU is called many times, or not; of others the trail tells more.
FREQUENT = (GIVE, TAKE, RECORD, STEP, FOLLOW, SAVE, RESTORE, FORGET, CHANGE)
#: Seconds between two looks at a process that starts.
LOOK = 0.05
#: Seconds that a process has to end by itself.
PATIENCE = 5.0


def map_numbers(path: Path, count: int) -> tuple[mmap.mmap, FloatArray]:
    """Return numbers in a file that two processes share."""
    with path.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 8 * max(1, count))
    return shared, np.frombuffer(shared, dtype=np.float64, count=count)


class IsolatedFmu(Running):
    """The side of the master."""

    by_hand = "it runs in a process of its own"

    def __init__(self, component: FmuComponent, places: Places, t_start: float, t_end: float) -> None:
        self.name = component.name
        self.can_go_back, self.varies_steps = component.can_go_back, component.varies_steps
        self.inputs, self.outputs = places.u, places.y
        self._recorded = places.r
        self._call_limit, self._deadline = places.call_limit, places.deadline
        self._scratch = Scratch("cosim")
        try:
            self._start(component, places, t_start, t_end)
        except BaseException:
            self._scratch.close()
            raise

    def _start(self, component: FmuComponent, places: Places, t_start: float, t_end: float) -> None:
        self._place = self._scratch.path
        sizes = {"u": len(places.u), "y": len(places.y), "r": len(places.r), "slopes": 2 * len(places.u)}
        for name, size in sizes.items():
            (self._place / name).write_bytes(bytes(8 * max(1, size)))
        self._maps = {name: map_numbers(self._place / name, size) for name, size in sizes.items()}
        self._u, self._y, self._r, self._slopes = (self._maps[name][1] for name in sizes)
        (self._place / "component").write_bytes(
            pickle.dumps(component.reduced([*places.inputs, *places.outputs, *places.recorded, *places.changeable]))
        )
        job = {
            "inputs": list(places.inputs), "outputs": list(places.outputs), "recorded": list(places.recorded),
            "going_back": places.going_back, "moving": places.moving, "t_start": t_start, "t_end": t_end,
        }  # fmt: skip
        hand_over(job, self._place / "job.json")
        with (self._place / "printed").open("wb") as printed:
            self._process = start_program(
                "kingpost.fmu.cosim.components.child",
                str(self._place),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                bufsize=0,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands, self._answers = self._process.stdin.fileno(), Answers(self._process)
        self._alive = True
        #: Nobody waits for a process to start until it is needed, so that those of several components start side by side.
        self._starting = True
        #: Whether an answer is due; a process that is interrupted meanwhile is asked nothing more.
        self._busy = False
        self._under_way = b""
        #: Whether further variables were wanted after the last step, so that those of the next may come along, and whether they
        #: have come.
        self._records = self._recorded_along = False
        self._said = ""
        self.inputs[:] = component.first_inputs(places.inputs)

    @property
    def process_id(self) -> int:
        """The process of the FMU."""
        return self._process.pid

    def _ask(self, letter: bytes, t: float = 0.0, h: float = 0.0, state: int = 0, text: bytes = b"") -> None:
        if self._starting:
            self._starting = False
            self._busy = True
            self._await_start()
        self._under_way = letter
        self._busy = True
        try:
            os.write(self._commands, COMMAND.pack(letter, t, h, state) + text)
        except OSError:
            self._lost()

    def _await_start(self) -> None:
        """Wait until the FMU is there. What Python takes to start is not counted, and every call into the FMU by itself."""
        call, since = b"", time.monotonic()
        while self._answers.can_wait and not self._answers.ready(LOOK):
            now, under_way = time.monotonic(), raw_trail(self._place / "trail")
            if under_way != call:
                call, since = under_way, now
            if now > self._deadline or (call and now - since > self._call_limit):
                self._overdue()
        self._answer()

    def _answer(self) -> int:
        content = self._read(ANSWER.size)
        letter, number, length = ANSWER.unpack(content)
        text = self._read(length).decode("utf-8", errors="replace") if length else ""
        self._busy = False
        if letter == DONE:
            self._said = text
            return int(number)
        raise (PartnerEnded if letter == ENDED else PartnerError)(self.name, text)

    def _read(self, size: int) -> bytes:
        limit = min(self._call_limit, self._deadline - time.monotonic())
        content = b""
        while len(content) < size:
            try:
                part = self._answers.read(size - len(content), limit)
            except TimeoutError:
                self._overdue()
            if not part:
                self._lost()
            content += part
        return content

    def _lost(self) -> NoReturn:
        """Say how the process ended."""
        code = end_program(self._process, PATIENCE)
        self._fail(f"its process {describe_ending(code)} while {self._doing()}")

    def _overdue(self) -> NoReturn:
        """End a process that does not answer."""
        self._process.kill()
        self._process.wait()
        if time.monotonic() >= self._deadline:
            self._fail(f"the time for the whole run was over while {self._doing()}; allow more (run_timeout)")
        self._fail(
            f"it did not answer within {self._call_limit:g} s while {self._doing()}, and its process was ended. If it only "
            "needs longer, allow more (timeout)"
        )

    def _doing(self) -> str:
        if self._under_way in FREQUENT:
            return WORDS[self._under_way]
        return read_trail(self._place / "trail")[0]

    def _fail(self, words: str) -> NoReturn:
        self._alive = self._busy = False
        printed = last_printed(self._place / "printed")
        said = f". It printed: {' | '.join(printed)}" if printed else ""
        raise PartnerError(self.name, f"{words}{said}")

    def _call(self, letter: bytes, state: int = 0) -> int:
        self._ask(letter, state=state)
        return self._answer()

    def give(self) -> None:
        self._u[:] = self.inputs
        self._recorded_along = False
        self._call(GIVE)

    def take(self) -> None:
        self._call(TAKE)
        self.outputs[:] = self._y

    def record(self) -> None:
        if not self._recorded_along:
            self._call(RECORD)
        self._records = True
        self._recorded[:] = self._r

    def begin(self) -> None:
        self._call(BEGIN)

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        self._u[:] = self.inputs
        self._followed = slopes is not None
        if slopes is not None:
            self._slopes[:] = slopes.ravel()
        self._recorded_along, self._records = self._records, False
        self._ask(STEP if slopes is None else FOLLOW, t, h, int(self._recorded_along))

    def receive(self) -> None:
        self._answer()
        self.outputs[:] = self._y
        if self._followed:
            self.inputs[:] = self._u

    def save(self) -> Any:
        return self._call(SAVE)

    def restore(self, state: Any) -> None:
        # A step that is repeated is most likely recorded, too, if the first try would have been.
        self._records, self._recorded_along = self._records or self._recorded_along, False
        self._call(RESTORE, state)

    def forget(self, state: Any) -> None:
        if self._alive and not self._busy:
            self._call(FORGET, state)

    def change(self, values: Mapping[str, float]) -> None:
        text = json.dumps(dict(values)).encode("utf-8")
        self._recorded_along = False
        self._ask(CHANGE, state=len(text), text=text)
        self._answer()

    def close(self) -> str:
        said = ""
        try:
            if self._busy or self._starting:
                self._process.kill()
            elif self._alive:
                self._call(CLOSE)
                said = self._said
        except PartnerError as error:
            said = f"'{self.name}': {error}"
        finally:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            end_program(self._process, PATIENCE)
            del self._u, self._y, self._r, self._slopes
            self._maps.clear()
            self._scratch.close()
        return said
