"""Routes of server-sent events, which resume where a client was cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from kingpost.fmu.service.answers import PROBLEMS
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.job_routes import Here, JobNumber, place_of
from kingpost.fmu.service.result_routes import read_log
from kingpost.fmu.service.store import ENDED, LARGEST, Event

router = APIRouter(responses=PROBLEMS, tags=["events"])
#: Seconds between looks, and between signs of life.
LOOK = 0.25
SIGN = 15.0
#: Looks between two at the samples.
SAMPLE_LOOKS = 4
Since = Annotated[str | None, Header(alias="Last-Event-ID", max_length=60, description="the last event that was received")]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}},
    204: {"description": "the job has ended and everything was said"},
}


@router.get("/events", response_class=StreamingResponse, responses=_STREAM)
async def events(here: Here, since: Since = None) -> Response:
    """Follow all jobs: their states and progress, from now on or from the last event received."""
    after = await run_in_threadpool(here.store.last_event) if since is None else _numbers(since)[0]
    return _stream(_all(here, after))


@router.get("/jobs/{number}/events", response_class=StreamingResponse, responses=_STREAM)
async def job_events(number: JobNumber, here: Here, since: Since = None) -> Response:
    """Follow one job: state, progress, log, and word of new samples; from its beginning or from the last event received."""
    after, log = _numbers(since or "")
    job = await run_in_threadpool(here.store.job, number)
    if since is not None and job.state in ENDED and not await run_in_threadpool(here.store.events, after, number, 1):
        return Response(status_code=204)
    return _stream(_one(here, number, after, log))


def _numbers(since: str) -> tuple[int, int]:
    """Return the event and the byte of the log that an id names; the beginning for one that is none of ours."""
    words = [int(word) if word.isascii() and word.isdigit() else 0 for word in since.split("-")]
    first, second = [*words, 0, 0][:2]
    return min(first, LARGEST), min(second, LARGEST)


def _stream(lines: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _said(name: str, mark: str, data: Any) -> str:
    return f"event: {name}\nid: {mark}\ndata: {json.dumps(data)}\n\n"


async def _all(here: Context, after: int) -> AsyncIterator[str]:
    yield f": from {after}\n\n"
    quiet = 0.0
    while not here.stopping.is_set():
        found: list[Event] = await run_in_threadpool(here.store.events, after)
        for event in found:
            after = event.id
            yield _said(event.what, str(after), {"job": event.job, "at": event.at, **event.data})
        quiet = 0.0 if found else quiet + LOOK
        if quiet >= SIGN:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK)


async def _one(here: Context, number: int, after: int, log: int) -> AsyncIterator[str]:
    yield f": job {number}\n\n"
    quiet, sampled, look = 0.0, 0, 0
    while not here.stopping.is_set():
        found: list[Event] = await run_in_threadpool(here.store.events, after, number)
        # The log first: whoever hears of the end has heard everything before it.
        text, log = await run_in_threadpool(_log, here, number, log)
        if text:
            yield _said("log", f"{after}-{log}", {"job": number, "text": text, "to": log})
        for event in found:
            after = event.id
            yield _said(event.what, f"{after}-{log}", {"job": number, "at": event.at, **event.data})
            if event.data.get("state") in (*ENDED, "deleted"):
                return
        look += 1
        size = await run_in_threadpool(_samples, here, number) if look % SAMPLE_LOOKS == 0 else sampled
        if size != sampled:
            sampled = size
            yield _said("sample", f"{after}-{log}", {"job": number, "bytes": size})
        quiet = 0.0 if found or text else quiet + LOOK
        if quiet >= SIGN:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK)


def _samples(here: Context, number: int) -> int:
    """Return how many bytes a job has told of its samples."""
    try:
        place = place_of(here, here.store.job(number))
        return 0 if place is None else place.samples.stat().st_size
    except Exception:  # nothing was told yet, or the job was deleted
        return 0


def _log(here: Context, number: int, start: int) -> tuple[str, int]:
    try:
        text, end = read_log(place_of(here, here.store.job(number)), start)
    except Exception:  # the job was deleted meanwhile; its last event says so
        return "", start
    return text.decode("utf-8", errors="replace"), end
