"""What a Dask worker holds for a study. Needs ``distributed``; imported only where that is there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from distributed import WorkerPlugin, get_worker

from kingpost.studies.case import Case, Outcome
from kingpost.studies.work import StudyWork
from kingpost.studies.worker import Worker


class StudyPlugin(WorkerPlugin):
    """The work of a study, which every worker gets once, those that come later or again included."""

    def __init__(self, name: str, work: StudyWork) -> None:
        self.name, self.work = name, work

    def setup(self, worker: Any) -> None:
        """Make ready to prepare; that is done by the first task, so that what is wrong is told by it."""
        self._lock = threading.Lock()
        self._prepared: Worker | None = None

    def worker(self) -> Worker:
        """Return what runs cases, made once."""
        with self._lock:
            if self._prepared is None:
                self._prepared = self.work.prepare()
            return self._prepared

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "work": self.work}


def run_bundle(name: str, cases: Sequence[Case]) -> list[Outcome]:
    """Run some cases with what the plugin ``name`` holds: what a task does."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, StudyPlugin)
    worker = plugin.worker()
    return [worker.run(case) for case in cases]
