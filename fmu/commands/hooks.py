"""The verbs of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kingpost.fmu.commands.check import FmuCheck
from kingpost.fmu.commands.cosim import Cosim
from kingpost.fmu.commands.export import Export
from kingpost.fmu.commands.export_controller import ExportController
from kingpost.fmu.commands.live import Live
from kingpost.fmu.commands.run import FmuRunner
from kingpost.fmu.commands.serve import Serve
from kingpost.fmu.commands.submit import Jobs, Submit
from kingpost.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from kingpost.cli.command import Command


@hookimpl
def kingpost_register_commands() -> list[type[Command]]:
    return [Cosim, Export, ExportController, FmuCheck, FmuRunner, Live, Serve, Submit, Jobs]
