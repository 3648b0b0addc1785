"""``kingpost fmu-run``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.cli.command import Command
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import carried_out, channel_rows, file_row, not_unique_rows, tell
from kingpost.cli.signals import while_doing
from kingpost.fmu.commands.options import add_kind_argument, add_sandbox_option, add_time_limits, chosen_kind
from kingpost.fmu.instance.solvers import SOLVERS

if TYPE_CHECKING:
    from kingpost.cli.output import ProgressBar
    from kingpost.fmu.running import FmuRun, Message
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History


class FmuRunner(Command):
    """Run an FMU and write its history, as 'kingpost run' does for a machine.

    The FMU runs in a process of its own: if it crashes, the samples so far are written, and a message says where it was. Its
    log messages go to standard error. Results can be plotted, reported and assessed like any other; an FMU that Kingpost
    exported also brings the frames of its joint loads and the geometry of its machine.
    """

    name = "fmu-run"
    example = "kingpost fmu-run crane.fmu --t-end 20 --set payload=4000 --inputs sea.csv --outputs 'slew.*' --report"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("fmu", type=Path, metavar="FILE.fmu", help="the FMU, of FMI 2 or 3, or 1.0 for co-simulation")
        parser.add_argument("--t-end", type=float, metavar="S", help="end time in s (default: the FMU's own)")
        parser.add_argument("--t-start", type=float, metavar="S", help="start time in s (default: the FMU's own, or 0)")
        parser.add_argument("--step", type=float, metavar="S", help="communication step in s (default: the FMU's own)")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="start value of a parameter, input or state (repeatable)",
        )
        parser.add_argument("--inputs", type=Path, metavar="FILE", help="inputs over time: a CSV file or any other history")
        parser.add_argument(
            "--outputs", action="append", metavar="PATTERN", help="what to record, e.g. 'slew.*' (repeatable; default: outputs)"
        )
        parser.add_argument("--solver", choices=SOLVERS, default="CVode", help="for model exchange (default: CVode)")
        parser.add_argument("--tolerance", type=float, metavar="X", help="relative tolerance of CVode (default: 1e-6)")
        add_kind_argument(parser)
        add_time_limits(parser)
        add_sandbox_option(parser)
        add_result_options(parser)
        parser.add_argument("--quiet", action="store_true", help="show warnings and errors of the FMU only")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.running import prepare_fmu

        if arguments.sandbox:
            from kingpost.fmu.commands.sandbox import results_folder, run_in_sandbox

            readable = [arguments.fmu, *([] if arguments.inputs is None else [arguments.inputs])]
            run_in_sandbox(arguments, readable, results_folder(arguments, arguments.fmu))
        with while_doing(f"'{arguments.fmu}' was being read; nothing was computed"):
            run = prepare_fmu(
                arguments.fmu,
                arguments.t_end,
                t_start=arguments.t_start,
                step=arguments.step,
                settings=_settings(arguments.set),
                inputs=arguments.inputs,
                outputs=[word for text in arguments.outputs for word in text.split(",")] if arguments.outputs else None,
                solver=arguments.solver,
                tolerance=arguments.tolerance,
                interface=chosen_kind(arguments),
                timeout=arguments.timeout,
                run_timeout=arguments.run_timeout,
            )
            results = result_options(arguments, run.fmu.path.stem, plugins, arguments.write)

        def march(bar: ProgressBar) -> History:
            def say(message: Message) -> None:
                if message.status != "ok" or not arguments.quiet:
                    bar.close()
                    print(f"{run.fmu.name}: {message}", file=sys.stderr)

            return _with_plugins(run.run(on_message=say, progress=bar), plugins)

        history, files = carried_out(march, run.fmu.name, results)
        tell(history, results, lambda: _summary(run, history, files))
        return 0


def _settings(words: Iterable[str]) -> dict[str, str]:
    """Return ``{"mass": "2"}`` for ``["mass=2"]``; what a value may be depends on the variable."""
    from kingpost.fmu.running import FmuError

    settings = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise FmuError(f"--set {word}: write NAME=VALUE, e.g. --set mass=2.5")
        settings[name.strip()] = text.strip()
    return settings


def _with_plugins(history: History, plugins: PluginSet) -> History:
    from kingpost.results.history import History

    return History(history.time, history.channels, history.values, {**history.provenance, "plugins": plugins.sources()})


def _summary(run: FmuRun, history: History, files: list[Path]) -> list[tuple[str, str]]:
    record, fmu = history.provenance, run.fmu
    tool = f", made by {record['fmu']['generation_tool']}" if record["fmu"]["generation_tool"] else ""
    statistics = record["statistics"]
    took = f" in {statistics['steps_s']:.3g} s" if "steps_s" in statistics else ""
    rows = [
        ("model", f"{fmu.name} (FMI {record['fmu']['fmi']} {fmu.interface}{tool})"),
        ("time", f"{history.time[0]:g} s to {history.time[-1]:g} s, {len(history)} samples"),
        ("steps", f"{statistics['steps']} of {run.job.step:g} s{took}, by {record['integrator']['name']} solver"),
    ]
    return [*rows, *not_unique_rows(history), *channel_rows(history, history.channels), file_row(files)]
