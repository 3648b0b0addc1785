"""Routes of results: logs, files, channels, histories, studies."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import FileResponse, Response

from kingpost.base.errors import KingpostError
from kingpost.fmu.service.answers import PROBLEMS, ChannelView, HistoryView, StudyMap
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.errors import ServiceError, not_found
from kingpost.fmu.service.histories import Shown, channels_of, history_in, thinned
from kingpost.fmu.service.job_routes import Here, JobNumber, place_of
from kingpost.fmu.service.samples import samples_in
from kingpost.fmu.service.starting import Place

router = APIRouter(responses=PROBLEMS, tags=["results"])
#: Bytes of a log that are sent at a time.
LOG_PIECE = 1_000_000
#: A result that is a page gets no rights at all on this server: it is data that came from a job.
PAGE_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-ancestors 'self'"
)
#: What browsers may show; everything else is plain bytes.
TYPES = {
    **{".html": "text/html", ".csv": "text/csv", ".json": "application/json", ".png": "image/png", ".txt": "text/plain"},
    **{".toml": "text/plain", ".xml": "text/xml"},
}


def _place(here: Context, number: int) -> Place:
    place = place_of(here, here.store.job(number))
    if place is None:
        raise not_found(f"job {number} has not run yet, so it has no results")
    return place


@router.get("/jobs/{number}/log", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def log(
    number: JobNumber,
    here: Here,
    start: Annotated[int, Query(alias="from", ge=0, le=2**62, description="the byte to begin with")] = 0,
) -> Response:
    """Return what the command wrote, from a byte on; the header X-Log-End says where it ends."""
    job = here.store.job(number)
    place = place_of(here, job)
    text, end = read_log(place, start)
    return Response(text, media_type="text/plain; charset=utf-8", headers={"X-Log-End": str(end)})


def read_log(place: Place | None, start: int) -> tuple[bytes, int]:
    """Return a piece of a log, and the byte behind it."""
    try:
        if place is None:
            return b"", start
        with place.log.open("rb") as stream:
            stream.seek(start)
            text = stream.read(LOG_PIECE)
            return text, start + len(text)
    except OSError:
        return b"", start


@router.get(
    "/jobs/{number}/files/{name:path}",
    response_class=FileResponse,
    responses={200: {"content": {"*/*": {}}}, 206: {"description": "a range"}, 416: {"description": "no such range"}},
)
def file(number: JobNumber, name: str, here: Here, wanted: Annotated[str | None, Header(alias="Range")] = None) -> Response:
    """Return a file of a result; ranges are served."""
    path = inside(_place(here, number).results, name)
    kind = TYPES.get(path.suffix.lower(), "application/octet-stream")
    headers = {"Content-Security-Policy": PAGE_POLICY} if kind in ("text/html", "text/xml") else {}
    return FileResponse(path, media_type=kind, headers=headers)


def inside(root: FilePath, name: str) -> FilePath:
    """Return a file below a folder; nothing else is ever served."""
    try:
        path = (root / name).resolve()
        fits = path.is_relative_to(root.resolve()) and path.is_file()
    except (OSError, ValueError):
        fits = False
    if not fits or "\x00" in name:
        raise not_found(f"there is no file '{name[:100]}'")
    return path


@router.get("/jobs/{number}/channels", response_model=list[ChannelView])
def channels(number: JobNumber, here: Here) -> Any:
    """List the channels of a history; while a job runs, those of the samples that it tells."""
    return channels_of(_shown(here, number))


@router.get("/jobs/{number}/history", response_model=HistoryView)
def history(
    number: JobNumber,
    here: Here,
    channels: Annotated[str, Query(max_length=20_000, description="names, with commas between them")] = "",
    start: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
    end: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
    points: Annotated[int, Query(ge=2, le=20_000)] = 2000,
) -> Any:
    """Return channels over a stretch of time, thinned so that no peak is lost; while a job runs, as far as it is."""
    names = [word.strip() for word in channels.split(",") if word.strip()]
    return thinned(_shown(here, number), names, start, end, points)


def _shown(here: Context, number: int) -> Shown:
    place = _place(here, number)
    if not place.has_history and (told := samples_in(place.samples)) is not None:
        return told
    try:
        return Shown.of(history_in(place.results))
    except KingpostError as error:
        state = here.store.job(number).state
        if isinstance(error, ServiceError):
            raise not_found(f"job {number} is {state} and has no history{'' if state == 'done' else ' (yet)'}") from None
        raise ServiceError(str(error).replace(str(place.results), "results"), code="history") from None


@router.get("/jobs/{number}/study")
def study(number: JobNumber, here: Here) -> dict[str, Any]:
    """Return what a study found: its record, study.json, in which operability and extremes are tables by cell."""
    return _study(_place(here, number))


def _study(place: Place) -> dict[str, Any]:
    try:
        return dict(json.loads((place.results / "study.json").read_bytes()))
    except (OSError, ValueError):
        raise not_found("there is no study.json in this result, or not yet") from None


@router.get("/jobs/{number}/map", response_model=StudyMap)
def study_map(number: JobNumber, here: Here) -> Any:
    """Return the sea states of a study with what came of their runs, also while it runs."""
    from kingpost.fmu.service.study_cases import map_of

    return map_of(_place(here, number).results)


@router.get("/jobs/{number}/cases")
def cases(
    number: JobNumber,
    here: Here,
    cell: Annotated[str, Query(max_length=400, description="labels of a cell, e.g. Hs=1.5,Tp=8")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> dict[str, Any]:
    """Return the runs of a study, or those of one cell, also while it runs."""
    from kingpost.fmu.service.study_cases import cases_of

    return cases_of(_place(here, number).results, cell, limit)
