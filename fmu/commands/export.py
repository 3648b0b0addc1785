"""``kingpost export``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import ExportError, listed
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table
from kingpost.registry.selection import make, split_selection

if TYPE_CHECKING:
    from kingpost.mechanism.load_request import LoadsWanted
    from kingpost.mechanism.mechanism import Mechanism
    from kingpost.registry.pluginset import PluginSet

#: Machines with at most this many joints show the loads of all of them unless the user says otherwise.
FEW = 12


class Export(Command):
    """Write a machine as an FMU, for co-simulation or model exchange.

    'native-fmu' is plain C and needs no Python where it runs; 'fmu' carries Python, for forces and integrators that are
    written in it. All parameters, inputs, coordinates, speeds, outputs, energies, poses and total joint loads become
    variables; patterns choose fewer, or more.
    """

    name = "export"
    example = "kingpost export vessel-crane --to native-fmu --outputs 'slew.*' --outputs 'tip.*' -o crane.fmu"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument("--to", default="native-fmu", metavar="EXPORTER", help="what to make (default: native-fmu)")
        parser.add_argument("--fmi", type=int, choices=[2, 3], help="version of the standard (default: 2)")
        parser.add_argument("--kind", choices=["cs", "me"], help="co-simulation or model exchange (default: cs)")
        parser.add_argument(
            "--platforms", metavar="NAME+NAME", help="binaries to build, e.g. linux64+win64 (needs the 'cross' extra)"
        )
        parser.add_argument("--formulation", metavar="NAME[:KEY=VALUE,...]", help="how the equations are written")
        parser.add_argument(
            "--integrator", default="rk4", metavar="NAME[:KEY=VALUE,...]", help="how time is advanced (default: rk4)"
        )
        parser.add_argument("--step", type=float, metavar="S", help="longest internal step in s (default: the model's own)")
        parser.add_argument("--communication-step", type=float, metavar="S", help="suggested to the user (default: ten steps)")
        parser.add_argument("--t-end", type=float, metavar="S", help="suggested end time (default: the model's own)")
        parser.add_argument(
            "--outputs", action="append", metavar="PATTERN", help="variables to show, e.g. 'slew.*' (repeatable)"
        )
        parser.add_argument("--inputs", action="append", metavar="PATTERN", help="inputs to show; the others keep their values")
        parser.add_argument("--parameters", action="append", metavar="PATTERN", help="parameters to show (default: all)")
        parser.add_argument("--loads", action="append", metavar="JOINT[:KEY=VALUE,...]", help="as in 'kingpost run'")
        parser.add_argument(
            "--setpoint-inputs", action="store_true", help="let inputs say where drives go, not the model's own paths"
        )
        parser.add_argument("--osp", action="store_true", help="also write OspModelDescription.xml, with ports, beside the FMU")
        parser.add_argument("-o", "--out", type=Path, metavar="FILE.fmu", help="the file (default: MODEL.fmu)")
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.interface.setpoints import with_setpoint_inputs
        from kingpost.fmu.osp.model_description import write_osp_description
        from kingpost.modelfiles.source import open_source
        from kingpost.simulation.export_model import prepare_export
        from kingpost.simulation.exporter import ExportSelection

        source = open_source(arguments.model, plugins, arguments.set)
        mechanism = source.mechanism
        if arguments.setpoint_inputs:
            mechanism = with_setpoint_inputs(mechanism, source.plugins, source.settings)
        exporter = _exporter(arguments, source.plugins)
        model = prepare_export(
            mechanism,
            settings=source.settings,
            formulation=arguments.formulation,
            integrator=arguments.integrator,
            step=source.step if arguments.step is None else arguments.step,
            communication_step=arguments.communication_step,
            t_end=source.t_end if arguments.t_end is None else arguments.t_end,
            loads=_loads(arguments.loads, mechanism),
            plugins=source.plugins,
        )
        selection = ExportSelection(arguments.outputs, arguments.inputs, arguments.parameters)
        path: Path = arguments.out or Path(f"{mechanism.name}{exporter.suffix}")
        done = exporter.export(model, selection, path)
        if arguments.osp:
            done = replace(done, facts=(*done.facts, ("ports", str(write_osp_description(path)))))
        if arguments.json:
            print_json({"file": str(done.path), **dict(done.facts)})
        else:
            print_table([*done.facts, ("file", str(done.path))])
        return 0


def _exporter(arguments: argparse.Namespace, plugins: PluginSet) -> Any:
    """Return the exporter with the options that the command line gives it."""
    name, options = split_selection(arguments.to)
    cls = plugins.exporters.get(name)
    known = {field.name for field in fields(cls.Options)}
    for flag, option in (("fmi", "fmi"), ("kind", "fmu"), ("platforms", "platforms")):
        value = getattr(arguments, flag)
        if value is None:
            continue
        if option not in known:
            raise ExportError(f"exporter '{name}' has no choice of --{flag}; it takes: {listed(sorted(known))}")
        options[option] = value
    return make(cls, options)


def _loads(chosen: Sequence[str] | None, mechanism: Mechanism) -> LoadsWanted | None:
    if chosen is None:
        return "all" if len(mechanism.joints) <= FEW else None
    if list(chosen) in (["all"], ["none"]):
        return "all" if chosen[0] == "all" else None
    return [word for text in chosen for word in ([text] if ":" in text else text.split(","))]
