"""Modules that moved answer to the names that they had in version 0.1.0.

What was written for that version, ``from kingpost.interfaces.force import Force``, keeps working: such a module is made when it
is first imported, and takes every name from where it stands now. Code of ours never uses these names.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Earlier modules, below the package, and the modules that hold their names now. One without any was a package.
EARLIER_NAMES: Mapping[str, tuple[str, ...]] = {
    "assembly": ("multibody.assembly",),
    "batch": ("studies.batch",),
    "compiler": ("kernel.compiler",),
    "consistency": ("equations.consistency", "equations.redundancy"),
    "constraints": ("multibody.constraints",),
    "cutkinematics": ("multibody.cut",),
    "discrete": ("equations.discrete_null_space",),
    "dynamics": ("multibody.newton_euler",),
    "elements": ("mechanism.elements",),
    "equilibrium": ("statics.equilibrium",),
    "errors": ("base.errors",),
    "exporting": ("simulation.export_model",),
    "expressions": ("base.formulas",),
    "externals": ("symbols.externals",),
    "fields": ("base.fields",),
    "files": ("base.files",),
    "geometry": ("mechanism.geometry",),
    "grid": ("simulation.grid",),
    "history": ("results.history", "base.channels", "base.arrays"),
    "hookspecs": ("registry.hookspecs",),
    "interfaces": (),
    "interfaces.command": ("cli.command",),
    "interfaces.exporter": ("simulation.exporter",),
    "interfaces.force": ("multibody.force",),
    "interfaces.formulation": ("equations.formulation",),
    "interfaces.integrator": ("equations.integrator",),
    "interfaces.joint_loads": ("loads.method",),
    "interfaces.master": ("fmu.cosim.masters.interface",),
    "interfaces.model": ("mechanism.model",),
    "interfaces.plugin": ("registry.plugin",),
    "interfaces.writer": ("results.writer",),
    "joints": ("symbols.joints", "base.channels"),
    "kinematics": ("multibody.tree",),
    "linearize": ("statics.linearize",),
    "loadframes": ("base.load_frames",),
    "loadhistory": ("results.joint_load_history",),
    "metadata": ("results.metadata",),
    "modelfile": ("modelfiles.toml_model", "simulation.settings"),
    "monitors": ("simulation.monitors",),
    "newton": ("equations.newton",),
    "pluginset": ("registry.pluginset",),
    "ports": ("loads.ports", "mechanism.port_names"),
    "readers": ("results.read_write",),
    "saddle": ("equations.augmentation",),
    "samples": ("base.sample_files",),
    "screws": ("symbols.screws",),
    "sections": ("mechanism.sections",),
    "selection": ("registry.selection",),
    "simulate": ("simulation.simulate", "simulation.problem"),
    "straightline": ("symbols.straightline",),
    "trajectories": ("mechanism.trajectories",),
    "urdf": ("modelfiles.urdf",),
    "values": ("mechanism.values",),
    "version": ("base.version",),
    "fmu.archive": ("fmu.export.archive",),
    "fmu.cosim.ssp": ("fmu.cosim.description.ssp.reading",),
    "fmu.cosim.system": ("fmu.cosim.description.system",),
    "fmu.cosim.systemfile": ("fmu.cosim.description.system_file",),
    "fmu.description": ("fmu.interface.description",),
    "fmu.documentation": ("fmu.interface.documentation",),
    "fmu.native_exporter": ("fmu.export.native.exporter",),
    "fmu.ports": ("fmu.interface.ports", "mechanism.port_names"),
    "fmu.python_exporter": ("fmu.export.python.exporter",),
    "fmu.running.archive": ("fmu.file.opened",),
    "fmu.running.instance": ("fmu.instance.instance",),
    "fmu.running.log": ("fmu.instance.log",),
    "fmu.running.modelexchange": ("fmu.instance.modelexchange",),
    "fmu.running.variables": ("fmu.file.variables",),
    "fmu.setpoints": ("fmu.interface.setpoints",),
    "fmu.interface.units": ("base.units",),
    "fmu.units": ("base.units",),
}


class EarlierModule(ModuleType):
    """A module that holds nothing itself; the names are those of other modules."""

    def __init__(self, name: str, places: Sequence[str]) -> None:
        super().__init__(name, f"An earlier name of {' and '.join(places) or 'what is below'}.")
        self._places = tuple(places)

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "_places"):
            raise AttributeError(name)
        modules = [importlib.import_module(place) for place in self._places]
        if name == "__all__":
            return sorted({key for module in modules for key in vars(module) if not key.startswith("_")})
        for module in modules:
            if hasattr(module, name):
                return getattr(module, name)
        if f"{self.__name__}.{name}" in earlier_modules(self.__name__.partition(".")[0]):
            return importlib.import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"module '{self.__name__}' (now {' and '.join(self._places)}) has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*self.__all__]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Do what the public function of this name does: ``kingpost.simulate`` is one, and was a module, too.

        Whoever imports the module puts it in the place of the function; this puts that back.
        """
        package, _, name = self.__name__.rpartition(".")
        function = sys.modules[package].__getattr__(name)
        if function is self:
            raise TypeError(f"'{self.__name__}' is a module and cannot be called")
        return function(*arguments, **named)


def earlier_modules(package: str) -> dict[str, tuple[str, ...]]:
    """Return the table with whole names; the package has another name inside FMUs."""
    return {f"{package}.{old}": tuple(f"{package}.{place}" for place in new) for old, new in EARLIER_NAMES.items()}


class EarlierNames:
    """Finds modules by the names that they had; asked by Python after everybody else."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{self.package}.") or name not in earlier_modules(self.package):
            return None
        loader: Any = self
        return ModuleSpec(name, loader, is_package=name.endswith(".interfaces"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return EarlierModule(spec.name, earlier_modules(self.package)[spec.name])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is nothing to run."""


def answer_to_earlier_names(package: str) -> None:
    """Let a package's modules be imported by their earlier names, too."""
    if not any(isinstance(finder, EarlierNames) and finder.package == package for finder in sys.meta_path):
        sys.meta_path.append(EarlierNames(package))
