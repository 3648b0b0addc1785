"""``kingpost export-controller``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments, settings_from
from kingpost.cli.output import print_json, print_table

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


class ExportController(Command):
    """Write a controller that keeps a machine on the path of a servo task, as an FMU for co-simulation.

    With the law 'receding-horizon' it is an optimal task that is carried out: at every sample the motion over a horizon is
    planned anew, within the bounds of the task.

    Its inputs are called like the machine's coordinates and speeds, its outputs like the machine's inputs, so that both are
    wired by name. It works at sample times of its own, whatever the communication steps are; a measurement that is not finite
    is refused, the last good outputs are held, and the log says so. 'kingpost plugins' lists the laws.
    """

    name = "export-controller"
    example = "kingpost export-controller overhead-crane --task 003 --feedback dynamic-extension:poles=-3 -o controller.fmu"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument("--task", metavar="NAME|FILE", help="the task (default: the model's only one)")
        parser.add_argument(
            "--feedback", required=True, metavar="NAME[:KEY=VALUE,...]", help="the law, e.g. dae-step:sample_time=0.005"
        )
        parser.add_argument(
            "--to", default="native-fmu", metavar="EXPORTER", help="what to make, e.g. native-fmu:fmi=3 (default: native-fmu)"
        )
        add_how_arguments(parser, "formulation")
        parser.add_argument("-o", "--out", type=Path, metavar="FILE.fmu", help="the file (default: MODEL-FEEDBACK.fmu)")
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.control.receding import RecedingHorizon
        from kingpost.fmu.blocks.controller import export_controller
        from kingpost.modelfiles.opened import open_model
        from kingpost.registry.selection import split_selection

        opened = open_model(arguments.model, plugins, arguments.set, python=True)
        law = split_selection(arguments.feedback)[0]
        optimal = law == RecedingHorizon.name
        name = f"{opened.mechanism.name}-{law}.fmu"
        how = opened.how(settings_from(arguments))
        done = export_controller(
            opened.mechanism,
            opened.optimal_task(arguments.task) if optimal else opened.task(arguments.task),
            arguments.out or Path(name),
            feedback=arguments.feedback,
            to=arguments.to,
            settings=opened.settings,
            # What a file says about integrators is meant for runs, not for predictions.
            how=replace(how, integrator=None) if optimal else how,
            plugins=opened.plugins,
        )
        if arguments.json:
            print_json({"file": str(done.path), **dict(done.facts)})
        else:
            print_table([*done.facts, ("file", str(done.path))])
        return 0
