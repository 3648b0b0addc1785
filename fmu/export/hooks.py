"""The exporters of Kingpost."""

from __future__ import annotations

from kingpost.fmu.export.native.exporter import NativeFmu
from kingpost.fmu.export.python.exporter import PythonFmu
from kingpost.registry.hookspecs import hookimpl
from kingpost.simulation.exporter import Exporter


@hookimpl
def kingpost_register_exporters() -> list[type[Exporter]]:
    return [NativeFmu, PythonFmu]
