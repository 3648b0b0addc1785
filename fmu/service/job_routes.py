"""Routes of jobs: submit, list, look, cancel, again, delete."""

from __future__ import annotations

import json
import shutil
import stat
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query

from kingpost.fmu.process.warden import survey, too_deep
from kingpost.fmu.service.answers import PROBLEMS, FileEntry, JobDetails, JobId, JobList, JobRequest, JobState, JobView
from kingpost.fmu.service.context import Context, context_of
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.planning import Asked, JobPlan, plan_job
from kingpost.fmu.service.starting import Place, results_of
from kingpost.fmu.service.store import ENDED, LARGEST, Job

router = APIRouter(responses=PROBLEMS, tags=["jobs"])
Here = Annotated[Context, Depends(context_of)]
JobNumber = Annotated[int, Path(ge=1, le=LARGEST, description="the number of a job")]
State = Literal["queued", "running", "done", "failed", "cancelled"]
#: Bytes of a record that is shown with its job; larger ones are read as a file.
LARGEST_RECORD = 4_000_000
#: Files and folders of a result that are listed.
MOST_ENTRIES = 50_000
#: Bytes of a request that is kept with its job.
LARGEST_REQUEST = 2_000_000


@router.post("/jobs", status_code=201, response_model=JobId)
def submit(
    asked: JobRequest,
    here: Here,
    key: Annotated[
        str | None,
        Header(alias="Idempotency-Key", max_length=200, description="who repeats a request with its key gets the same job"),
    ] = None,
) -> Any:
    """Submit a job. When this answers, the job is on the disk and will be run, whatever happens to the server."""
    here.folder.check_room(here.settings.least_free)
    request = asked.model_dump(exclude_defaults=True)
    return {"id": _add(here, request, key)}


def _add(here: Context, request: dict[str, Any], key: str | None) -> int:
    plan, name = plan_job(Asked(**{**request, "kind": request["kind"]}), here.known)
    check_foreign(here, plan)
    spec = {"request": request, "plan": plan.data()}
    try:
        size = len(json.dumps(spec, allow_nan=False))
    except ValueError:
        raise ServiceError("numbers must be finite") from None
    if size > LARGEST_REQUEST:
        raise ServiceError(
            f"a job may be described by {LARGEST_REQUEST / 1e6:g} MB; upload a file", status=413, code="too-large"
        )
    return here.store.add(request["kind"], name, spec, key)[0]


def check_foreign(here: Context, plan: JobPlan) -> None:
    """Refuse code of others where it cannot be run apart from everything else."""
    if not plan.foreign or here.settings.trust_fmus:
        return
    reason = here.sandbox_fault
    if reason is not None:
        raise ServiceError(
            f"uploaded FMUs are code and run in a sandbox only, which this machine does not have: {reason}. Install "
            "bubblewrap, or start the server with --trust-fmus if you trust whoever uploads",
            status=403,
            code="sandbox",
        )


@router.get("/jobs", response_model=JobList)
async def jobs(
    here: Here,
    state: Annotated[State | None, Query()] = None,
    kind: Annotated[str | None, Query(max_length=40)] = None,
    before: Annotated[int, Query(ge=1, le=LARGEST, description="only jobs before this one")] = LARGEST,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Any:
    """List jobs, the newest first."""
    # Readers of the store wait for nobody; a way through a thread would cost as much as the look.
    found = here.store.jobs(state=state, kind=kind, before=before, limit=limit)
    return {"jobs": [view(job) for job in found], "counts": here.store.counts()}


@router.get("/jobs/{number}", response_model=JobDetails)
def job(number: JobNumber, here: Here) -> Any:
    """Show one job."""
    found = here.store.job(number)
    place = place_of(here, found)
    said = here.store.last_progress(number) if found.state == "running" else {}
    more = {"request": found.spec["request"], "files": files_in(place), "summary": record_in(place, found)}
    drawable = place is not None and (place.has_history or place.samples.is_file())
    return {**view(found), **more, "drawable": drawable, "words": said.get("words"), "numbers": said.get("numbers", {})}


@router.post("/jobs/{number}/cancel", response_model=JobState)
def cancel(number: JobNumber, here: Here) -> Any:
    """Cancel a job: one that waits at once, one that runs as soon as it has kept what it computed."""
    return {"id": number, "state": here.store.cancel(number)}


@router.post("/jobs/{number}/again", status_code=201, response_model=JobId)
def again(number: JobNumber, here: Here) -> Any:
    """Submit the same job once more."""
    here.folder.check_room(here.settings.least_free)
    return {"id": _add(here, dict(here.store.job(number).spec["request"]), None)}


@router.delete("/jobs/{number}", response_model=JobState)
def delete(number: JobNumber, here: Here) -> Any:
    """Cancel a job that has not ended, or delete one that has, with all its files."""
    if here.store.job(number).state not in ENDED:
        return {"id": number, "state": here.store.cancel(number)}
    here.store.delete(number)
    shutil.rmtree(here.folder.job(number), ignore_errors=True)
    return {"id": number, "state": "deleted"}


def view(job: Job) -> dict[str, Any]:
    """Return a job as lists show it."""
    data = {name: getattr(job, name) for name in JobView.model_fields if name not in ("time_left_s", "command")}
    return {**data, "time_left_s": job.time_left, "command": list(job.command)}


def place_of(here: Context, job: Job) -> Place | None:
    """Return where the files of a job are: of the attempt that counts."""
    if job.attempts == 0:
        return None
    place = Place(here.folder.attempt(job.id, job.attempts))
    return place if place.root.is_dir() or job.state == "running" else results_of(here.folder, job.id)


def files_in(place: Place | None) -> list[dict[str, Any]]:
    """Return the files of a result."""
    if place is None or not place.results.is_dir():
        return []
    found = []
    # Code of somebody else may be at work there, and dig deeper than a path can be long.
    for path, (status, _) in islice(survey(place.results), MOST_ENTRIES):
        if stat.S_ISREG(status.st_mode) and not path.name.startswith(".") and not too_deep(path, place.results):
            entry = FileEntry(name=path.relative_to(place.results).as_posix(), bytes=status.st_size)
            found.append(entry.model_dump())
    return sorted(found, key=lambda entry: str(entry["name"]))


def record_in(place: Place | None, job: Job) -> Any:
    """Return what the command printed as JSON, if it has ended and it is not too long."""
    if place is None or job.state not in ENDED:
        return None
    try:
        if place.record.stat().st_size > LARGEST_RECORD:
            return None
        return json.loads(place.record.read_bytes())
    except (OSError, ValueError):
        return None
