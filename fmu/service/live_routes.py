"""Routes of live sessions: begin, list, look, end, what was done; and the WebSocket (docs/live.md)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, WebSocket, WebSocketDisconnect
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kingpost.base.errors import KingpostError
from kingpost.fmu.live.scenario import scenario_of
from kingpost.fmu.service.answers import PROBLEMS, Text
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.data_guard import check_data
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.job_routes import Here, check_foreign
from kingpost.fmu.service.live_sessions import LiveProgram, LiveSessions, live_command, live_environment
from kingpost.fmu.service.planning import Asked, JobPlan, plan_job
from kingpost.fmu.service.starting import fill_work, handed_on

router = APIRouter(responses=PROBLEMS, tags=["live"])
#: Of its own: what the routes of HTTP depend on cannot be asked of a WebSocket.
sockets = APIRouter()
SessionId = Annotated[str, InPath(max_length=80, description="the name of a session")]
#: Bytes of a message, and characters of a scenario.
LARGEST_MESSAGE, LARGEST_SCENARIO = 2**16, 2_000_000
#: The verb whose files a session takes, by the kind of an uploaded file.
VERBS = {"fmu": "fmu-run", "ssp": "cosim", "ssd": "cosim", "xml": "cosim", "urdf": "run"}


class LiveRequest(BaseModel):
    """A session to begin; it takes one of model, file, system and scenario."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: Text | None = None
    file: Text | None = Field(None, description="hash of an uploaded model, system or FMU")
    system: dict[str, Any] | None = Field(None, description="a co-simulation as plain data, as in a system file")
    scenario: Annotated[str, StringConstraints(max_length=LARGEST_SCENARIO)] | None = Field(
        None, description="text of a scenario file: its start is begun with, its actions are carried out when played"
    )
    settings: dict[str, float] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict, description="hashes by the names under which files name each other")
    name: Text = ""


class LiveView(BaseModel):
    """A session as it is now."""

    model_config = ConfigDict(extra="allow")

    id: str
    name: str
    state: str
    created: float
    t: float
    frame: float
    inputs: list[dict[str, Any]]
    parameters: list[dict[str, Any]]
    channels: list[dict[str, Any]]
    scene: dict[str, Any] | None
    #: Why it cannot go back in time; empty if it can.
    obstacle: str


class LiveList(BaseModel):
    """Sessions, the newest first."""

    sessions: list[LiveView]


class LiveEnded(BaseModel):
    """A session that has ended."""

    id: str
    state: str


def sessions_of(app: Any) -> LiveSessions:
    """Return the sessions of a server."""
    if not hasattr(app.state, "live"):
        app.state.live = LiveSessions()
    found: LiveSessions = app.state.live
    return found


@router.post("/live", status_code=201, response_model=LiveView)
async def begin(asked: LiveRequest, here: Here, request: Request) -> Any:
    """Begin a session; it is paused at its start."""
    program = await begin_session(here, sessions_of(request.app), asked)
    return program.view()


async def begin_session(here: Context, sessions: LiveSessions, asked: LiveRequest) -> LiveProgram:
    """Begin a session as a request says."""
    start, files = _start_of(asked)
    plan, name = await asyncio.to_thread(_planned, here, start, files)
    folder, job = None, {"start": start, "as": start, "scenario": asked.scenario or ""}
    command = live_command()
    if plan is not None:
        here.folder.check_room(here.settings.least_free)
        folder = Path(tempfile.mkdtemp(prefix="live-", dir=here.folder.incoming))
        try:
            await asyncio.to_thread(fill_work, here.folder, plan.data(), folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        placed = {key: value for key, value in start.items() if key in ("settings", "options")}
        job |= {"start": {"file": plan.words[1], **placed}, "folder": str(folder)}
        if plan.foreign and not here.settings.trust_fmus:
            from kingpost.fmu.process.sandbox import sandboxed

            command = sandboxed(command, readable=[], writable=[folder])
    try:
        environment = live_environment(handed_on(os.environ), folder)
        return await sessions.begin(asked.name or name, start, job, folder, command, environment)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _start_of(asked: LiveRequest) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Return how a session begins, from what is asked for or from the scenario."""
    given = {key: value for key in ("model", "file", "system") if (value := getattr(asked, key)) is not None}
    if asked.scenario is not None:
        if given or asked.settings or asked.options:
            raise ServiceError("a scenario says how it begins; give nothing beside it")
        start = dict(scenario_of(asked.scenario).start)
    else:
        if len(given) != 1:
            raise ServiceError("a live session takes one of model, file, system and scenario")
        start = {**given, "settings": asked.settings, "options": asked.options}
    for key in ("settings", "options"):
        check_data(start.get(key) or {}, key)
    return start, asked.files


def _planned(here: Context, start: Mapping[str, Any], files: Mapping[str, str]) -> tuple[JobPlan | None, str]:
    """Return the files of a session, for those that need any, and a name for it."""
    model, file, system = (start.get(key) for key in ("model", "file", "system"))
    if not all(value is None or isinstance(value, str) for value in (model, file)):
        raise ServiceError("model and file of a session are texts")
    if system is not None and not isinstance(system, Mapping):
        raise ServiceError("system is a table; upload a file, and give its hash as file")
    if model is not None:
        _, name = plan_job(Asked("run", model=model), here.known)
        return None, name
    if file is not None:
        blob = here.known.blob(file)
        kind = VERBS.get(blob.kind, "run")
        if blob.kind == "toml" and "components" in here.known.text_of(blob):
            kind = "cosim"
        plan, name = plan_job(Asked(kind, file=file, files=files), here.known)
    else:
        plan, name = plan_job(Asked("cosim", system=system, files=files), here.known)
    check_foreign(here, plan)
    return plan, name


@router.get("/live", response_model=LiveList)
async def every(request: Request) -> Any:
    """List the sessions that run."""
    return {"sessions": [program.view() for program in sessions_of(request.app).every()]}


@router.get("/live/{session}", response_model=LiveView)
async def look(session: SessionId, request: Request) -> Any:
    """Look at a session: its inputs, parameters, channels and its scene."""
    return sessions_of(request.app).get(session).view()


@router.delete("/live/{session}", response_model=LiveEnded)
async def end(session: SessionId, request: Request) -> Any:
    """End a session; its scenario is gone with it."""
    sessions = sessions_of(request.app)
    sessions.get(session)
    await sessions.end(session)
    return {"id": session, "state": "ended"}


@router.get("/live/{session}/scenario", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def scenario(session: SessionId, request: Request) -> Any:
    """Return what was done in a session so far, as a scenario file."""
    text = await sessions_of(request.app).get(session).scenario()
    return Response(text, media_type="text/plain; charset=utf-8")


@sockets.websocket("/live/{session}")
async def converse(socket: WebSocket, session: str) -> None:
    """Speak with a session. Strangers were refused before: token, Host and Origin are looked at for every request."""
    try:
        program = sessions_of(socket.app).get(session)
        listener = program.join()
    except KingpostError as error:
        await socket.close(1008, str(error)[:100])
        return
    await socket.accept()

    async def tell() -> None:
        async for text in listener.messages():
            await socket.send_text(text)

    telling = asyncio.create_task(tell())
    hearing = asyncio.create_task(_hear(socket, program, listener))
    try:
        await asyncio.wait({telling, hearing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (telling, hearing):
            task.cancel()
            task.add_done_callback(_looked_at)
        await program.leave(listener)
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await socket.close()
    if program.ended:
        await sessions_of(socket.app).end(session)


def _looked_at(task: asyncio.Task[None]) -> None:
    """Take note of how a task ended: who has gone cannot be told anything."""
    if not task.cancelled():
        task.exception()


async def _hear(socket: WebSocket, program: LiveProgram, listener: Any) -> None:
    while True:
        try:
            text = await socket.receive_text()
        except (WebSocketDisconnect, KeyError):  # gone, or bytes where a text is wanted
            return
        if len(text) > LARGEST_MESSAGE:
            sentence = f"a message of {len(text)} characters; at most {LARGEST_MESSAGE} are read"
            listener.tell(f'{{"type":"error","error":"{sentence}"}}', False)
            continue
        if text.strip():
            await program.hand_on(text)
