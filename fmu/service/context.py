"""What the routes of a server share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from fastapi import Request

from kingpost.fmu.service.blobs import Blobs
from kingpost.fmu.service.describing import Describer
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.planning import Known
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Store

if TYPE_CHECKING:
    from kingpost.fmu.service.crew import Crew


@lru_cache(maxsize=1)
def installed() -> list[dict[str, Any]]:
    """Return all plugins; they stay the same for as long as a process lasts."""
    from kingpost.registry.pluginset import PluginSet

    return [dict(row) for row in PluginSet().listing()]


@dataclass
class Context:
    """The project, its store, and what else a request may need."""

    folder: ProjectFolder
    store: Store
    settings: ServiceSettings
    crew: Crew | None = None
    describer: Describer = field(default_factory=Describer)
    #: Set when the server is about to end; streams end then.
    stopping: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def blobs(self) -> Blobs:
        return Blobs(self.folder, self.store, self.settings.upload_bytes)

    @cached_property
    def sandbox_fault(self) -> str | None:
        """Why code of others cannot be run apart from everything else; None if it can."""
        try:
            from kingpost.fmu.process.sandbox import sandbox_available
        except ImportError as error:
            return str(error)
        return sandbox_available()

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """All plugins, as ``kingpost plugins`` lists them."""
        return installed()

    @property
    def models(self) -> list[dict[str, Any]]:
        return [row for row in self.plugins if row["kind"] == "model"]

    @cached_property
    def known(self) -> Known:
        return Known(
            models=lambda: [row["name"] for row in self.models],
            blob=self.store.blob,
            blob_named=self.store.blob_named,
            text_of=self.blobs.data_in,
            job=self.store.job,
        )


async def context_of(request: Request) -> Context:
    """Return the context of the server that answers a request; ``async`` spares every request a way through a thread."""
    context: Context = request.app.state.context
    return context
