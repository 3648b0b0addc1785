"""Where a live session runs: ``python -m kingpost.fmu.live.child``; JSON texts, one in each line, in and out.

The first line is the job: ``{"start": {...}, "folder": DIR, "scenario": TEXT, "as": {...}, "record": FILE, "plugins": [...]}``.
The answer is ``ready`` or ``failed``; then come the messages of docs/live.md. The program ends when it is told to, when nobody
speaks to it any more, and with the process that started it; what was done is then written to FILE.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError
from kingpost.fmu.process.lifeline import end_with_starter
from kingpost.fmu.process.program import leave, own_input, own_output

#: The longest line that is read (bytes); a message is far shorter, a job may hold a system.
LONGEST = 4 * 2**20
#: The longest wait for a message (s): waits without end cannot be interrupted everywhere.
LONGEST_WAIT = 3600.0
#: Messages that wait to be heard; who says more is heard later.
MOST_WAITING = 1000


def lines(pipe: int, heard: queue.Queue[bytes | None]) -> None:
    """Put every line into a queue, and None at the end, or when one is too long to be a message."""
    left = b""
    while True:
        try:
            part = os.read(pipe, 65536)
        except OSError:
            part = b""
        *whole, left = (left + part).split(b"\n")
        for line in whole:
            if line.strip():
                heard.put(line)
        if not part or len(left) > LONGEST:
            heard.put(None)
            return


class Speaker:
    """Writes messages, each on a line of its own."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def __call__(self, message: dict[str, Any]) -> None:
        content = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"
        while content:
            content = content[os.write(self._pipe, content) :]


def main(commands: int, answers: int) -> None:
    """Carry one session out."""
    heard: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
    threading.Thread(target=lines, args=(commands, heard), name="lines", daemon=True).start()
    say = Speaker(answers)
    first = heard.get()
    if first is None:
        return
    with ExitStack() as files:
        try:
            job = json.loads(first)
            conversation = _opened(job, files)
        except KingpostError as error:
            say({"type": "failed", "error": str(error), "code": type(error).__name__})
            return
        except (ValueError, KeyError, TypeError) as error:
            say({"type": "failed", "error": f"the session's job is not understood: {error}", "code": "LiveError"})
            return
        files.callback(conversation.session.close)
        say(conversation.ready())
        if job.get("record"):
            files.callback(_record, conversation.session, Path(job["record"]))
        try:
            _converse(conversation, heard, say)
        except OSError:  # nobody listens any more
            return


def _opened(job: dict[str, Any], files: ExitStack) -> Any:
    from kingpost.fmu.live.conversation import Conversation
    from kingpost.fmu.live.opening import open_session
    from kingpost.fmu.live.scenario import scenario_of
    from kingpost.registry.pluginset import PluginSet

    scenario = scenario_of(job["scenario"]) if job.get("scenario") else None
    start = job.get("start") or (dict(scenario.start) if scenario is not None else {})
    folder = job.get("folder")
    plugins = PluginSet([Path(file) for file in job.get("plugins", [])])
    session = open_session(start, plugins, folder=Path(folder) if folder else None, files=files)
    if job.get("as"):
        # What the user calls it; the files of the start are where the service has put them.
        session.start = dict(job["as"])
    if scenario is not None:
        try:
            session.load(scenario)
        except BaseException:
            session.close()
            raise
    return Conversation(session)


def _record(session: Any, path: Path) -> None:
    try:
        session.scenario().write(path)
    except (KingpostError, OSError) as error:
        print(f"kingpost: the scenario could not be written: {error}", file=sys.stderr)


def _converse(conversation: Any, heard: queue.Queue[bytes | None], say: Speaker) -> None:
    while not conversation.ended:
        wait = conversation.wait()
        try:
            # A queue that is looked at without waiting gives what is there at once; many messages do not stop the session.
            line = heard.get(timeout=min(wait, LONGEST_WAIT)) if wait > 0 else heard.get_nowait()
        except queue.Empty:
            line = b""
        if line is None:
            return
        if line:
            try:
                message = json.loads(line, parse_constant=_not_finite)
            except (ValueError, RecursionError) as error:
                say({"type": "error", "error": f"a message that is not JSON: {error}"})
                continue
            for answer in conversation.answer(message):
                say(answer)
        for answer in conversation.tick():
            say(answer)


def _not_finite(word: str) -> float:
    # NaN and Infinity are no JSON, but Python reads them; the session refuses them by name.
    return math.nan if word == "NaN" else math.copysign(math.inf, -1.0 if word.startswith("-") else 1.0)


if __name__ == "__main__":
    end_with_starter()
    main(own_input(), own_output())
    leave()
