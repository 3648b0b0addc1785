"""Where an isolated FMU runs: ``python -m kingpost.fmu.cosim.components.child FOLDER``; see isolated.py.

Commands come through standard input, answers go to what was standard output; whatever the FMU prints goes to standard error.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError
from kingpost.fmu.cosim.components.described import PartnerEnded, Places
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.isolated import (
    ANSWER,
    BEGIN,
    CHANGE,
    CLOSE,
    COMMAND,
    DONE,
    ENDED,
    FAILED,
    FOLLOW,
    FORGET,
    GIVE,
    RECORD,
    RESTORE,
    SAVE,
    STEP,
    TAKE,
    map_numbers,
)
from kingpost.fmu.process.lifeline import end_with_starter
from kingpost.fmu.process.program import handed_over, leave, own_input, own_output
from kingpost.fmu.process.trail import Trail


def main(place: Path, commands: int, answers: int) -> None:
    """Do what the master says until it says no more."""

    def answer(number: int = 0, said: str = "") -> None:
        text = said.encode("utf-8")
        os.write(answers, ANSWER.pack(DONE, number, len(text)) + text)

    def refuse(error: KingpostError) -> None:
        text = str(error).encode("utf-8")
        os.write(answers, ANSWER.pack(ENDED if isinstance(error, PartnerEnded) else FAILED, 0, len(text)) + text)

    job = handed_over(place / "job.json")
    shared: list[Any] = [
        map_numbers(place / name, len(job[key])) for name, key in (("u", "inputs"), ("y", "outputs"), ("r", "recorded"))
    ]
    (_, u), (_, y), (_, r) = shared
    memory, flat = map_numbers(place / "slopes", 2 * len(u))
    shared.append(memory)
    slopes = flat.reshape(2, len(u))
    places = Places(job["inputs"], u, job["outputs"], y, job["recorded"], r, job["going_back"], job["moving"])
    try:
        component: FmuComponent = pickle.loads((place / "component").read_bytes())
        fmu = component.start_here(places, job["t_start"], job["t_end"], place / "fmu", Trail(place / "trail"))
    except KingpostError as error:
        refuse(error)
        return
    answer()
    states: dict[int, Any] = {}
    count = 0
    records = bool(len(r))
    plain = {GIVE: fmu.give, TAKE: fmu.take, RECORD: fmu.record, BEGIN: fmu.begin}
    while True:
        content = os.read(commands, COMMAND.size)
        if len(content) < COMMAND.size:  # the master is gone
            return
        letter, t, h, state = COMMAND.unpack(content)
        number = 0
        try:
            if letter in (STEP, FOLLOW):
                fmu.send(t, h, slopes if letter == FOLLOW else None)
                if state and records:
                    fmu.record()
            elif letter in plain:
                plain[letter]()
            elif letter == SAVE:
                count += 1
                states[count], number = fmu.save(), count
            elif letter == RESTORE:
                fmu.restore(states[state])
            elif letter == FORGET:
                fmu.forget(states.pop(state))
            elif letter == CHANGE:
                fmu.change(json.loads(_read(commands, state)))
            elif letter == CLOSE:
                answer(said=fmu.close())
                return
        except KingpostError as error:
            refuse(error)
            continue
        answer(number)


def _read(pipe: int, size: int) -> bytes:
    content = b""
    while len(content) < size and (part := os.read(pipe, size - len(content))):
        content += part
    return content


if __name__ == "__main__":
    end_with_starter()
    try:
        main(Path(sys.argv[1]), own_input(), own_output())
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        print("the FMU has closed what it had not opened, the way to its master among it", file=sys.stderr, flush=True)
        os._exit(1)
    leave()
