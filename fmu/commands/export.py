"""``kingpost export``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import ExportError, listed
from kingpost.cli.arguments import add_input_argument, add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import OPTIONS, add_how_arguments, settings_from
from kingpost.cli.output import print_json, print_table
from kingpost.cli.state import warn_of_fitted_start
from kingpost.registry.selection import make, split_selection

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.simulation.export_model import ExportModel


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
        add_input_argument(parser)
        parser.add_argument("--to", default="native-fmu", metavar="EXPORTER", help="what to make (default: native-fmu)")
        parser.add_argument("--fmi", type=int, choices=[2, 3], help="version of the standard (default: 2)")
        parser.add_argument("--kind", choices=["cs", "me"], help="co-simulation or model exchange (default: cs)")
        parser.add_argument(
            "--platforms", metavar="NAME+NAME", help="binaries to build, e.g. linux64+win64 (needs the 'cross' extra)"
        )
        parser.add_argument("--arrays", action="store_true", default=None, help="vectors and matrices as arrays (FMI 3)")
        parser.add_argument(
            "--names",
            choices=["flat", "structured"],
            help="structured: letters, digits, underscores and dots alone, and different without the dots (default: flat)",
        )
        add_how_arguments(
            parser,
            *(
                name
                for name in OPTIONS
                if name not in ("monitors", "verify", "check_step", "tilt_limit", "backend", "output_step")
            ),
            t_end="suggested end time (default: the model's own)",
            t_start="suggested start time (default: 0)",
            step="longest internal step in s (default: the model's own)",
        )
        parser.add_argument("--communication-step", type=float, metavar="S", help="suggested to the user (default: ten steps)")
        parser.add_argument(
            "--outputs", action="append", metavar="PATTERN", help="variables to show, e.g. 'slew.*' (repeatable)"
        )
        parser.add_argument("--inputs", action="append", metavar="PATTERN", help="inputs to show; the others keep their values")
        parser.add_argument("--parameters", action="append", metavar="PATTERN", help="parameters to show (default: all)")
        parser.add_argument(
            "--setpoint-inputs", action="store_true", help="let inputs say where drives go, not the model's own paths"
        )
        parser.add_argument("--osp", action="store_true", help="also write OspModelDescription.xml, with ports, beside the FMU")
        parser.add_argument("-o", "--out", type=Path, metavar="FILE.fmu", help="the file (default: MODEL.fmu)")
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.interface.setpoints import with_setpoint_inputs
        from kingpost.fmu.osp.model_description import write_osp_description
        from kingpost.modelfiles.opened import open_model
        from kingpost.modelfiles.signal_words import with_inputs
        from kingpost.simulation.export_model import prepare_export
        from kingpost.simulation.exporter import ExportSelection

        opened = with_inputs(open_model(arguments.model, plugins, arguments.set, python=True), arguments.input)
        mechanism = opened.mechanism
        if arguments.setpoint_inputs:
            mechanism = with_setpoint_inputs(mechanism, opened.plugins, opened.settings)
        exporter = _exporter(arguments, opened.plugins)
        how = opened.how(settings_from(arguments))
        how = how.with_usual_loads(how.with_cuts(mechanism, opened.plugins))
        model = prepare_export(
            mechanism,
            settings=opened.settings,
            communication_step=arguments.communication_step,
            drive=opened.inputs,
            how=how,
            plugins=opened.plugins,
        )
        warn_of_fitted_start(model.problem)
        _warn_of_fitted_parameters(model)
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


def _warn_of_fitted_parameters(model: ExportModel) -> None:
    """Say on standard error which parameters an importer had better leave as they are."""
    fitted = model.fitted_to
    for owner in dict.fromkeys(fitted.values()):
        names = [name for name in fitted if fitted[name] == owner]
        print(
            f"kingpost: warning: start values of '{owner}' fit {listed(names)} as they are exported, and are not fitted again "
            f"inside of the export: whoever changes them there opens its invariants (see {owner}.open). Export once for each "
            "set of values, with --set",
            file=sys.stderr,
        )


def _exporter(arguments: argparse.Namespace, plugins: PluginSet) -> Any:
    """Return the exporter with the options that the command line gives it."""
    name, options = split_selection(arguments.to)
    cls = plugins.of("exporters").get(name)
    known = {field.name for field in fields(cls.Options)}
    for flag, option in (("fmi", "fmi"), ("kind", "fmu"), ("platforms", "platforms"), ("arrays", "arrays"), ("names", "names")):
        value = getattr(arguments, flag)
        if value is None:
            continue
        if option not in known:
            raise ExportError(f"exporter '{name}' has no choice of --{flag}; it takes: {listed(sorted(known))}")
        options[option] = value
    return make(cls, options)
