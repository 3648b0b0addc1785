"""Routes of what is installed: models, plugins, and what the machine can do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from kingpost.base.errors import closest
from kingpost.fmu.service.answers import PROBLEMS, ModelRow
from kingpost.fmu.service.errors import not_found
from kingpost.fmu.service.job_routes import Here
from kingpost.fmu.service.kinds import KINDS

router = APIRouter(responses=PROBLEMS, tags=["models"])


@router.get("/models", response_model=list[ModelRow])
def models(here: Here) -> Any:
    """List the models that can be run by name."""
    return [{key: row[key] for key in ("name", "summary", "kind")} for row in here.models]


@router.get("/models/{name}")
def model(name: Annotated[str, Path(max_length=200)], here: Here) -> dict[str, Any]:
    """Show a model: its parameters, inputs and tasks, and how it is drawn at its start."""
    names = [row["name"] for row in here.models]
    if name not in names:
        raise not_found(f"there is no model '{name[:80]}'{closest(name, names)}")
    return here.describer.ask("model", name)


@router.get("/models/{name}/ports")
def ports(name: Annotated[str, Path(max_length=200)], here: Here) -> dict[str, Any]:
    """Show what a model gives and takes as a component of a coupled system."""
    names = [row["name"] for row in here.models]
    if name not in names:
        raise not_found(f"there is no model '{name[:80]}'{closest(name, names)}")
    return here.describer.ask("ports", name)


@router.get("/plugins")
def plugins(here: Here) -> dict[str, list[dict[str, Any]]]:
    """List all plugins by their kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in here.plugins:
        found.setdefault(row["kind"], []).append(row)
    return found


@router.get("/kinds")
def kinds() -> dict[str, Any]:
    """List the kinds of jobs: what each one works on, and which options it takes."""
    return {
        name: {"verb": kind.verb, "subject": kind.subject, "settings": kind.settings, "options": kind.options}
        for name, kind in KINDS.items()
    }


@router.get("/doctor")
def doctor(here: Here) -> dict[str, Any]:
    """Say what this installation can do."""
    return {**here.describer.ask("doctor", ""), "sandbox": here.sandbox_fault or "works", "workers": here.settings.workers}
