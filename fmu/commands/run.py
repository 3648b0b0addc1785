"""``kingpost fmu-run``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import Interrupted, SolverError
from kingpost.cli.command import Command
from kingpost.cli.output import ProgressBar, print_json, print_table
from kingpost.cli.results import check_folder, choose_writers, keep_results, listed_files, write_results
from kingpost.fmu.commands.kinds import KINDS, add_kind_argument
from kingpost.fmu.instance.solvers import SOLVERS

if TYPE_CHECKING:
    from kingpost.fmu.running import FmuRun, Message
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History

#: Channels that the summary shows.
SHOWN = 12


class FmuRunner(Command):
    """Run an FMU and write its history, as 'kingpost run' does for a machine.

    The FMU runs in a process of its own: if it crashes, the samples so far are written, and a message says where it was. Its
    log messages go to standard error. Results can be plotted, reported and assessed like any other; an FMU that Kingpost
    exported also brings the frames of its joint loads and the geometry of its machine.
    """

    name = "fmu-run"
    example = "kingpost fmu-run crane.fmu --t-end 20 --set payload=4000 --inputs sea.csv --outputs 'slew.*' --report"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("fmu", type=Path, metavar="FILE.fmu", help="the FMU, of FMI 2 or 3")
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
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: results/MODEL)")
        parser.add_argument("--write", metavar="FORMAT,...", help="file formats (default: csv, and png if there is matplotlib)")
        parser.add_argument("--report", action="store_true", help="also write report.html: plots, loads, animation in one file")
        parser.add_argument("--quiet", action="store_true", help="show warnings and errors of the FMU only")
        parser.add_argument("--json", action="store_true", help="print run.json instead of the table")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.running import prepare_fmu

        writers = choose_writers(arguments.write, plugins)
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
            interface=KINDS[arguments.kind],
        )
        out: Path = arguments.out or Path("results") / run.fmu.path.stem
        check_folder(out)
        bar = ProgressBar(run.fmu.name)

        def say(message: Message) -> None:
            if message.status != "ok" or not arguments.quiet:
                bar.close()
                print(f"{run.fmu.name}: {message}", file=sys.stderr)

        try:
            history = run.run(on_message=say, progress=bar)
        except SolverError as error:
            raise SolverError(f"{error}{keep_results(error.history, out, writers)}") from None
        except Interrupted as interrupt:
            raise KeyboardInterrupt(f"{interrupt}{keep_results(interrupt.history, out, writers)}") from None
        finally:
            bar.close()
        history = _with_plugins(history, plugins)
        files = write_results(history, out, writers)
        if arguments.report:
            from kingpost.report import write_report  # brings SciPy's signal processing, which takes time to import

            files.append(out / "report.html")
            write_report(history, files[-1])
        for warning in history.provenance["warnings"]:
            print(f"kingpost: warning: {warning}", file=sys.stderr)
        if arguments.json:
            print_json(history.provenance)
        else:
            print_table(_summary(run, history, files))
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
    for channel in history.channels[:SHOWN]:
        values = history[channel.name]
        rows.append((channel.name, f"{values[-1]:.6g} {channel.unit} at the end, {values.min():.6g} to {values.max():.6g}"))
    if len(history.channels) > SHOWN:
        rows.append(("...", f"{len(history.channels) - SHOWN} more channels"))
    return [*rows, ("files", listed_files(files))]
