"""``kingpost optimise``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import MechanismError
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments, settings_from
from kingpost.cli.output import ProgressBar, print_table
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import carried_out, channel_rows, file_row, tell
from kingpost.cli.signals import while_doing

if TYPE_CHECKING:
    from kingpost.control.optimal.solving import Iteration
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History


class Optimise(Command):
    """Find the inputs that bring a machine to the end of a task within its bounds at the least cost.

    The task names inputs, end conditions, bounds and costs: one of the model's own (kingpost models NAME lists them), or a TOML
    file. Writes the same files as kingpost run, with the inputs, costates and the discrete Hamiltonian; kingpost run takes the
    inputs with --input FILE:hold. An interrupt, or the time limit, ends the search with the best motion that was met.
    """

    name = "optimise"
    example = "kingpost optimise overhead-crane --task 001 --intervals 80"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument("--task", metavar="NAME|FILE", help="the optimal task (default: the model's only one)")
        parser.add_argument("--horizon", type=float, metavar="S", help="how long it takes, in place of what the task says")
        parser.add_argument("--intervals", type=int, metavar="N", help="into how many intervals time is divided")
        parser.add_argument(
            "--control",
            choices=("constant", "linear"),
            help="what inputs are within an interval, in place of what the task says",
        )
        parser.add_argument(
            "--transcription", metavar="NAME[:KEY=VALUE,...]", help="how an interval enters the program (default: step)"
        )
        parser.add_argument("--solver", metavar="NAME", help="what solves the program: ipopt (the default) or fatrop")
        add_how_arguments(parser, "formulation", "integrator", "loads", "load_method", "load_metric", "backend")
        parser.add_argument("--time-limit", type=float, metavar="S", help="end the search after so long, with the best motion")
        parser.add_argument(
            "--starts", type=int, metavar="N", help="search from so many starts; the best optimum counts, and all are listed"
        )
        parser.add_argument(
            "--start-from",
            type=Path,
            metavar="RESULT",
            help="begin with the motion in a result: of kingpost inverse, run, or an optimum with other bounds or intervals",
        )
        parser.add_argument(
            "--continue",
            dest="continuation",
            action="append",
            metavar="WHAT=V1,V2,...",
            help="go through easier problems, each the start of the next: WHAT is intervals, horizon, bounds (the part of what "
            "they cut off that is let through, from 1 to 0) or a parameter; the task itself comes last; may be repeated",
        )
        add_result_options(parser)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.control.optimal.optimise import prepare_optimisation
        from kingpost.control.optimal.record import history_of
        from kingpost.control.optimal.solver import SolverOptions
        from kingpost.modelfiles.opened import open_model
        from kingpost.results.read_write import read_history

        with while_doing(f"'{arguments.model}' was being prepared; nothing was computed"):
            opened = open_model(arguments.model, plugins, arguments.set)
            task = opened.optimal_task(arguments.task)
            how = opened.how(settings_from(arguments))
            results = result_options(arguments, opened.mechanism.name, opened.plugins, how.write)
            prepared = prepare_optimisation(
                opened.mechanism,
                task,
                transcription=arguments.transcription,
                intervals=arguments.intervals,
                horizon=arguments.horizon,
                starts=arguments.starts if arguments.start_from is None else [read_history(arguments.start_from)],
                control=arguments.control,
                solver=arguments.solver,
                continuation=_continuation(arguments.continuation),
                settings=opened.settings,
                how=how,
                options=SolverOptions(time_limit=arguments.time_limit),
                plugins=opened.plugins,
            )

        def search(bar: ProgressBar) -> History:
            began = time.perf_counter()
            optimum = prepared.run(lambda step: _progress(bar, step))
            return history_of(optimum, time.perf_counter() - began)

        with while_doing("inputs were being found; nothing is written"):
            history, files = carried_out(search, opened.mechanism.name, results)
        tell(history, results, lambda: _summary(history, files))
        if len(history.provenance["optimal"]["starts"]) > 1 and not results.json:
            print()
            print_table(_starts(history))
        return 0


def _continuation(given: list[str] | None) -> dict[str, list[float]] | None:
    """Return lists of values by what they are of."""
    if given is None:
        return None
    found: dict[str, list[float]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        try:
            found[name.strip()] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise MechanismError(f"--continue {text}: expected WHAT=V1,V2,..., e.g. intervals=20,40,80")
    return found


def _progress(bar: ProgressBar, step: Iteration) -> None:
    bar.say(f"iteration {step.number}: cost {step.cost:.6g}, violation {step.violation:.1e}")


def _summary(history: History, files: list[Path]) -> list[tuple[str, str]]:
    record = history.provenance
    found: dict[str, Any] = record["optimal"]
    task, H = found["task"], found["hamiltonian"]
    channels = {channel.name: channel for channel in history.channels}
    seconds = found["seconds"]
    rows = [
        ("model", record["model"]["name"]),
        ("task", f"{task['name'] or 'of a file'}: {', '.join(task['inputs'])}"),
        ("method", f"{record['formulation']}, {found['transcription']['name']} with {record['integrator']['name']}"),
        ("status", f"{found['status']} after {found['iterations']} iterations, {seconds['solve']:.3g} s"),
        ("cost", f"{found['cost']:.9g}"),
        ("horizon", f"{found['horizon']:.9g} s, {found['intervals']} intervals"),
        ("Hamiltonian", f"{H['min']:.6g} to {H['max']:.6g}"),
        ("violation", f"{found['violation']:.2g}"),
    ]
    rows += [
        (f"phase {item['name']}", f"{item['horizon']:.9g} s from {item['from_s']:.6g} s, cost {item['cost']:.9g}")
        for item in found.get("phases", ())
    ]
    rows += [(f"parameter {name}", f"{value:.9g}") for name, value in found.get("parameters_found", {}).items()]
    rows += [
        (f"{item['limit']} bound", f"{item['name']} = {item['value']:g}, {item['from_s']:.4g} s to {item['until_s']:.4g} s")
        for item in found["active_bounds"]
    ]
    rows += channel_rows(history, [channels[name] for name in task["inputs"]])
    return [*rows, file_row(files)]


def _starts(history: History) -> list[tuple[str, str]]:
    rows = []
    for item in history.provenance["optimal"]["starts"]:
        words = f"{item['status']}, cost {item['cost']:.9g}, {item['iterations']} iterations with {item['formulation']}"
        stage = f" with {item['stage']}" if item["stage"] else ""
        rows.append((f"start {item['start']}{stage}", words))
    return rows
