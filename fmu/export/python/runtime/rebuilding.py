"""A model derived again, from the description that travels in an FMU, in the copy of Kingpost that travels with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import casadi as ca

from kingpost.base.version import __version__
from kingpost.control.blocks.model import block_model
from kingpost.control.blocks.written import read_block
from kingpost.fmu.export.python.runtime.engine import ERROR, Engine, EngineError
from kingpost.fmu.export.python.runtime.package import PackageEngine, Rebuilt
from kingpost.fmu.interface.interface import Interface, build_interface, start_function
from kingpost.kernel.kernel import Evaluator
from kingpost.mechanism.load_request import LoadRequest
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from kingpost.simulation.settings import RunSettings

#: How far numbers may be from those at the time of the export; other versions of CasADi may round differently.
SAME = 1e-9


def build(manifest: Mapping[str, Any], plugin_files: Sequence[str], library: str | None, reason: str) -> Callable[[], Engine]:
    """Return what makes instances of the model that a manifest describes; ``library`` holds its equations, compiled."""
    definition = manifest["package"]["definition"]
    plugins = PluginSet(plugin_files, entry_points=False)
    how = dict(definition["how"])
    how["loads"] = [LoadRequest(**{**entry, "at": tuple(entry["at"])}) for entry in how["loads"]] or None
    if definition["block"] is not None:
        model = block_model(
            read_block(definition["block"]), None if "sample_time" in definition["block"] else how["step"],
            None if "sample_time" in definition["block"] else how["integrator"], plugins, definition["settings"],
            t_start=how["t_start"], t_end=how["t_end"],
        )  # fmt: skip
    else:
        model = prepare_export(
            mechanism_from_dict(definition["mechanism"]),
            settings=definition["settings"],
            drive=definition.get("drive") or None,
            communication_step=definition["communication_step"],
            how=RunSettings.of(how),
            plugins=plugins,
        )
    interface = build_interface(model, ExportSelection(**definition["selection"]))
    functions = {function.name(): function for function in model_functions(interface)}
    label = f"Kingpost {__version__} in Python, CasADi {ca.CasadiMeta.version()}"
    if library is not None:
        functions = {name: ca.external(name, library) for name in functions}
        label += ", with compiled equations"
    rebuilt = Rebuilt(interface, functions, manifest["token"], f"{label} ({reason})")
    _compare(rebuilt, manifest)
    return partial(PackageEngine, rebuilt)


def _compare(rebuilt: Rebuilt, manifest: Mapping[str, Any]) -> None:
    """Refuse to run a model that is not the one that was exported."""
    names = list(rebuilt.interface.names)
    if names != manifest["names"]:
        different = sorted({*names} ^ {*manifest["names"]}) or ["their order"]
        raise EngineError(
            ERROR, f"the model derived here has other variables than at the export: {', '.join(different[:5])}", True
        )
    for what, values in numbers_at_start(rebuilt.interface, rebuilt.functions).items():
        for i, (now, then) in enumerate(zip(values, manifest["package"]["check"][what], strict=True)):
            scale = max(1.0, abs(then), *map(abs, values))
            if not abs(now - then) <= SAME * scale:
                name = names[rebuilt.interface.first[what] + i]
                raise EngineError(
                    ERROR,
                    f"the model derived here is not the one that was exported: '{name}' is {now!r} at the start, not {then!r}. "
                    "A plugin or package may have changed; export it again",
                    True,
                )


def model_functions(interface: Interface) -> list[ca.Function]:
    """Return what an engine evaluates, by the names that c/core.c has for it."""
    model, stepper = interface.model, interface.model.problem.stepper
    found = [interface.outputs_function, start_function(model)]
    found += [] if model.equations.guard is None else [model.equations.guard]
    if not stepper.fixed:
        projected = [] if stepper.projected is None else [stepper.projected]
        return [stepper.rhs, stepper.jacobian, *projected, *found]
    return [stepper.rhs, *found, *([stepper.memory] if stepper.remembered else []), stepper.step]


def numbers_at_start(interface: Interface, functions: Mapping[str, ca.Function]) -> dict[str, list[float]]:
    """Return derivatives and outputs at the start, by which a rebuilt model is recognised."""
    model = interface.model
    arguments = (0.0, model.x0, model.u0, model.p0)
    evaluators = {"dx": Evaluator(functions["kp_rhs"]), "y": Evaluator(functions["kp_outputs"])}
    return {key: [float(value) for value in evaluate(*arguments)] for key, evaluate in evaluators.items()}
