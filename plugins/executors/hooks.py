"""The executors of Kingpost."""

from __future__ import annotations

from kingpost.plugins.executors.dask import Dask
from kingpost.plugins.executors.local import Local
from kingpost.plugins.executors.threads import Threads
from kingpost.registry.hookspecs import hookimpl
from kingpost.studies.executor import Executor


@hookimpl
def kingpost_register_executors() -> list[type[Executor]]:
    return [Local, Threads, Dask]
