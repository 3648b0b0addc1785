"""The exporters and verbs of this package, registered like those of any plugin."""

from __future__ import annotations

from kingpost.fmu.check_command import FmuCheck
from kingpost.fmu.cosim.command import Cosim
from kingpost.fmu.cosim.masters import Ecco, GaussSeidel, InterfaceInertia, Iterated, Jacobi
from kingpost.fmu.export_command import Export
from kingpost.fmu.native_exporter import NativeFmu
from kingpost.fmu.python_exporter import PythonFmu
from kingpost.fmu.run_command import FmuRunner
from kingpost.hookspecs import hookimpl
from kingpost.interfaces.command import Command
from kingpost.interfaces.exporter import Exporter
from kingpost.interfaces.master import Master


@hookimpl
def kingpost_register_exporters() -> list[type[Exporter]]:
    return [NativeFmu, PythonFmu]


@hookimpl
def kingpost_register_masters() -> list[type[Master]]:
    return [Jacobi, GaussSeidel, InterfaceInertia, Iterated, Ecco]


@hookimpl
def kingpost_register_commands() -> list[type[Command]]:
    return [Cosim, Export, FmuCheck, FmuRunner]
