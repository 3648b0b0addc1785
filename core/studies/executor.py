"""Executor plugins: where the cases of a study are run."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator

from kingpost.base.errors import PluginError
from kingpost.registry.plugin import Plugin
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.studies.case import Case, Outcome
from kingpost.studies.work import StudyWork

#: How an address of a scheduler is told from the name of an executor: ``dask://host:port``.
ADDRESS = "://"


class Executor(Plugin):
    """Base of executor plugins: cases go in, outcomes come out.

    Wherever cases are run, the numbers are those of ``work.prepare().run(case)``, to the last bit.
    """

    kind = "executor"

    @abstractmethod
    def outcomes(self, work: StudyWork, cases: Iterable[Case]) -> Iterator[Outcome]:
        """Run cases and yield what came of each, in the order in which they end, each exactly once.

        Cases are taken as they are needed: there may be very many. A worker that dies takes no case with it: that one is run
        again, and if it kills worker after worker it has failed. What no case can be run with, such as a model that cannot be
        opened, is raised. When the iterator is closed, nothing goes on behind it.
        """


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def executor_named(text: str | Executor, plugins: PluginSet) -> Executor:
    """Return the executor that a text means: ``local``, ``local:workers=4``, ``threads``, ``dask``, ``dask://host:8786``."""
    if isinstance(text, str) and ADDRESS in text:
        name, _, address = text.partition(ADDRESS)
        registry = plugins.of("executors")
        cls = registry.get(name)
        if "address" not in getattr(cls.Options, "__dataclass_fields__", {}):
            raise PluginError(f"executor '{name}' takes no address, got '{text}'")
        found = select(registry, name, {"address": address})
    else:
        found = select(plugins.of("executors"), text)
    assert isinstance(found, Executor)
    return found
