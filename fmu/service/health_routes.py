"""Routes for whoever watches the server: health and metrics."""

from __future__ import annotations

import shutil
import time
from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from kingpost.base.version import __version__
from kingpost.fmu.service.answers import PROBLEMS, Health
from kingpost.fmu.service.job_routes import Here

router = APIRouter(tags=["server"])
STARTED = time.time()


@router.get("/health", response_model=Health)
async def health(here: Here) -> Any:
    """Say whether the server works; needs no token."""
    # A short look at the store spares a way through a thread, which would cost more than it does.
    free = shutil.disk_usage(here.folder.root).free
    status = "ok" if free >= here.settings.least_free else "disk-full"
    here.store.last_event()
    return {"status": status, "version": __version__, "executors": here.crew.alive if here.crew else 0, "free_bytes": free}


@router.get("/metrics", response_class=PlainTextResponse, responses=PROBLEMS)
def metrics(here: Here) -> str:
    """Return numbers in the text format of Prometheus."""
    lines = ["# HELP kingpost_jobs Jobs by state and kind.", "# TYPE kingpost_jobs gauge"]
    lines += [f'kingpost_jobs{{state="{state}",kind="{kind}"}} {number}' for state, kind, number in here.store.counts_by_kind()]
    single = {
        "kingpost_executors": ("Executors that are alive.", "gauge", here.crew.alive if here.crew else 0),
        "kingpost_executors_replaced_total": (
            "Executors that died and were replaced.", "counter", here.crew.replaced if here.crew else 0,
        ),
        "kingpost_disk_free_bytes": ("Free bytes of the project's disk.", "gauge", shutil.disk_usage(here.folder.root).free),
        "kingpost_events_total": ("Events since the project began.", "counter", here.store.last_event()),
        "kingpost_uptime_seconds": ("Seconds since the server started.", "gauge", round(time.time() - STARTED, 1)),
    }  # fmt: skip
    for name, (words, kind, value) in single.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"
