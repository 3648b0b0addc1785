"""Live sessions of the server: one program for each, so that a session neither burdens nor ends the server.

What a program says is handed on to all who listen. Who is slow misses frames, never anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from kingpost.fmu.process.endings import describe_ending
from kingpost.fmu.process.lifeline import Lifeline
from kingpost.fmu.service.errors import ServiceError, not_found

MODULE = "kingpost.fmu.live.child"
#: Sessions at a time, and listeners of one.
MOST_SESSIONS, MOST_LISTENERS = 8, 20
#: Seconds that a session has to begin (a kernel may have to be compiled), to answer, and to end.
BEGINNING, ANSWERING, ENDING = 900.0, 60.0, 10.0
#: Seconds after which a session that nobody listens to ends.
IDLE = 3600.0
#: The longest line of a program: a scene with meshes in it.
LONGEST_LINE = 64 * 2**20
#: Messages but frames that wait for a slow listener before it is let go.
MOST_WAITING = 1000
#: What is printed last goes with a failure.
PRINTED = 2000
FRAME, STATE = b'{"type":"frame"', b'{"type":"state"'


class Listener:
    """Somebody who listens: all messages in their order, but of frames only the newest."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._frame: str | None = None
        self._something = asyncio.Event()
        self.over = False

    def tell(self, text: str, frame: bool) -> None:
        """Hear a message."""
        if frame:
            self._frame = text
        else:
            # What was to be seen before it comes before it.
            if self._frame is not None:
                self._waiting.append(self._frame)
                self._frame = None
            self._waiting.append(text)
            if len(self._waiting) > MOST_WAITING:
                self.end()
        self._something.set()

    def end(self) -> None:
        """Hear nothing more."""
        self.over = True
        self._something.set()

    async def messages(self) -> AsyncIterator[str]:
        """Give what there is to hear, until the session is over."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._frame is not None:
                text, self._frame = self._frame, None
                yield text
                continue
            if self.over:
                return
            self._something.clear()
            await self._something.wait()


class LiveProgram:
    """A session in its program."""

    def __init__(self, name: str, start: Mapping[str, Any], folder: Path | None) -> None:
        self.id, self.name, self.start = secrets.token_hex(6), name, dict(start)
        self.folder, self.created = folder, time.time()
        self.ready: dict[str, Any] = {}
        self.listeners: set[Listener] = set()
        self.left = time.monotonic()
        self.ended = False
        self._scene = ""
        self._last: dict[bytes, str] = {}
        self._asked: deque[asyncio.Future[str]] = deque()

    async def begin(self, command: list[str], environment: Mapping[str, str], job: Mapping[str, Any]) -> None:
        """Start the program and wait until it is ready; what it cannot begin with is refused."""
        lifeline = Lifeline()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=LONGEST_LINE,
                env={**environment, **lifeline.environment}, pass_fds=lifeline.inherited, start_new_session=True,
                cwd=self.folder,
            )  # fmt: skip
        except BaseException:
            lifeline.cut()
            raise
        lifeline.tie(self._process._transport.get_extra_info("subprocess"))  # type: ignore[attr-defined]
        self._printed: deque[bytes] = deque(maxlen=20)
        self._tasks = [asyncio.create_task(self._listen_to_errors())]
        try:
            await self._send(json.dumps(dict(job)))
            line = await asyncio.wait_for(self._line(), BEGINNING)
            first = json.loads(line) if line else {"type": "failed", "error": await self._ending()}
        except asyncio.TimeoutError:
            await self.end()
            raise ServiceError(f"the session did not begin within {BEGINNING:g} s", status=503, code="slow") from None
        except BaseException:
            await self.end()
            raise
        if first.get("type") != "ready":
            await self.end()
            raise ServiceError(str(first.get("error", "the session could not begin")), code="refused")
        self.ready = first
        self._tasks.append(asyncio.create_task(self._listen()))
        await self.say({"do": "pause"})

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readline()
        except ValueError:  # a line that is longer than anything we say
            return b""

    async def _listen(self) -> None:
        while line := await self._line():
            frame = line.startswith(FRAME)
            text = line.decode("utf-8").rstrip("\n")
            if frame or line.startswith(STATE):
                self._last[FRAME if frame else STATE] = text
            elif line.startswith(b'{"type":"scenario"') and self._asked:
                future = self._asked.popleft()
                if not future.done():
                    future.set_result(json.loads(text)["text"])
                continue
            elif line.startswith(b'{"type":"ended"'):
                self.ended = True
            elif line.startswith(b'{"type":"scene"'):
                self.ready["scene"] = json.loads(text)["scene"]
            for listener in tuple(self.listeners):
                listener.tell(text, frame)
        if not self.ended:
            self._tell_all(json.dumps({"type": "error", "error": await self._ending()}))
            self._tell_all('{"type":"ended"}')
        self.ended = True
        for listener in tuple(self.listeners):
            listener.end()
        for future in self._asked:
            if not future.done():
                future.cancel()

    def _tell_all(self, text: str) -> None:
        for listener in tuple(self.listeners):
            listener.tell(text, False)

    async def _listen_to_errors(self) -> None:
        assert self._process.stderr is not None
        while part := await self._process.stderr.read(4096):
            self._printed.append(part)

    async def _ending(self) -> str:
        try:
            code = await asyncio.wait_for(self._process.wait(), ENDING)
        except asyncio.TimeoutError:
            return "the program of the session does not answer"
        said = b"".join(self._printed)[-PRINTED:].decode("utf-8", errors="replace").strip().splitlines()
        return f"the program of the session {describe_ending(code)}{f'. It printed: {said[-1]}' if said else ''}"

    async def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(text.replace("\n", " ").encode("utf-8") + b"\n")
            await self._process.stdin.drain()

    async def say(self, message: Mapping[str, Any]) -> None:
        """Tell the session to do something."""
        await self._send(json.dumps(dict(message)))

    async def hand_on(self, text: str) -> None:
        """Hand a message of a listener on; the session itself says what it thinks of it."""
        await self._send(text)

    async def scenario(self) -> str:
        """Return what was done so far, as TOML."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._asked.append(future)
        await self.say({"do": "scenario"})
        try:
            return await asyncio.wait_for(future, ANSWERING)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            raise ServiceError("the session does not answer", status=503, code="slow") from None

    def join(self) -> Listener:
        """Return a new listener, who hears at once where the session is."""
        if len(self.listeners) >= MOST_LISTENERS:
            raise ServiceError(f"{MOST_LISTENERS} listen to this session already", status=503, code="busy")
        listener = Listener()
        for kind in (STATE, FRAME):
            if kind in self._last:
                listener.tell(self._last[kind], kind == FRAME)
        self.listeners.add(listener)
        return listener

    async def leave(self, listener: Listener) -> None:
        """Let a listener go; a session that nobody listens to waits."""
        self.listeners.discard(listener)
        self.left = time.monotonic()
        if not self.listeners and not self.ended:
            await self.say({"do": "pause"})

    @property
    def idle(self) -> bool:
        """Whether nobody has listened for long."""
        return not self.listeners and time.monotonic() - self.left > IDLE

    def view(self) -> dict[str, Any]:
        """Return what is known of it."""
        state = json.loads(self._last[STATE]) if STATE in self._last else {}
        told = {key: value for key, value in self.ready.items() if key not in ("type", "name")}
        return {
            "id": self.id,
            "name": self.name,
            "state": "ended" if self.ended else "playing" if state.get("playing") else "paused",
            "created": self.created,
            **{key: self.start[key] for key in ("model", "file") if key in self.start},
            **told,
            "t": state.get("t", told.get("t")),
            "kept": state.get("kept", []),
            "values": state.get("values", {}),
        }

    async def end(self) -> None:
        """End the program, and remove its files."""
        self.ended = True
        self._tell_all('{"type":"ended"}')
        for listener in tuple(self.listeners):
            listener.end()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), ENDING)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.folder is not None:
            await asyncio.to_thread(shutil.rmtree, self.folder, True)


class LiveSessions:
    """All sessions of a server."""

    def __init__(self) -> None:
        self._programs: dict[str, LiveProgram] = {}
        self._beginning = 0

    async def begin(
        self,
        name: str,
        start: Mapping[str, Any],
        job: Mapping[str, Any],
        folder: Path | None,
        command: list[str],
        environment: Mapping[str, str],
    ) -> LiveProgram:
        """Begin a session; refuse one more than there may be."""
        await self._sweep()
        if len(self._programs) + self._beginning >= MOST_SESSIONS:
            raise ServiceError(f"{MOST_SESSIONS} live sessions run already; end one of them first", status=503, code="busy")
        self._beginning += 1
        try:
            program = LiveProgram(name, start, folder)
            await program.begin(command, environment, job)
        finally:
            self._beginning -= 1
        self._programs[program.id] = program
        return program

    async def _sweep(self) -> None:
        for program in [each for each in self._programs.values() if each.ended or each.idle]:
            await self.end(program.id)

    def every(self) -> list[LiveProgram]:
        """Return all sessions, the newest first."""
        return sorted((each for each in self._programs.values() if not each.ended), key=lambda each: -each.created)

    def get(self, session: str) -> LiveProgram:
        """Return a session by its name."""
        program = self._programs.get(session)
        if program is None or program.ended:
            raise not_found(f"there is no live session '{session[:80]}'; it has ended, or the server was started anew")
        return program

    async def end(self, session: str) -> None:
        """End a session."""
        program = self._programs.pop(session, None)
        if program is not None:
            await program.end()

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(self.end(session) for session in tuple(self._programs)), return_exceptions=True)


def live_command() -> list[str]:
    """Return the words that start the program of a session."""
    return [sys.executable, "-P", "-m", MODULE] if sys.version_info >= (3, 11) else [sys.executable, "-m", MODULE]


def live_environment(handed_on: Mapping[str, str], folder: Path | None) -> dict[str, str]:
    """Return the surroundings of a session: what jobs get, and a place of its own for temporary files."""
    changes = {"PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**handed_on, **changes, **({"TMPDIR": str(folder)} if folder is not None and os.name == "posix" else {})}
