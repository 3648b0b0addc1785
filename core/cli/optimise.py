"""``kingpost optimise``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import Interrupted, MechanismError
from kingpost.cli.arguments import names_in
from kingpost.cli.finding import FindsInputs, Prepared, task_row
from kingpost.cli.output import ProgressBar, print_table
from kingpost.cli.results import channel_rows, file_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kingpost.base.transactions import Fill
    from kingpost.control.optimal.optimise import PreparedOptimisation
    from kingpost.control.optimal.solving import Iteration
    from kingpost.mechanism.load_request import LoadRequest
    from kingpost.modelfiles.opened import OpenedModel
    from kingpost.results.history import History
    from kingpost.simulation.settings import RunSettings

#: What the path of measures is called in the folder of a result.
PATH = "path.toml"


class Optimise(FindsInputs):
    """Find the inputs that bring a machine to the end of a task within its bounds at the least cost.

    The task names inputs, end conditions, bounds and costs: one of the model's own (kingpost models NAME lists them), or a TOML
    file. Writes the same files as kingpost run, with the inputs, costates and the discrete Hamiltonian; kingpost run and export
    take the inputs with --input RESULT. An interrupt, or the time limit, ends the search with the best motion that was met.
    """

    name = "optimise"
    example = "kingpost optimise overhead-crane --task 001 --intervals 80"
    task = "optimal"
    how = ("formulation", "integrator", "loads", "load_method", "load_metric", "backend")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
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
        parser.add_argument(
            "--path",
            type=names_in,
            metavar="NAME,...",
            help="also write path.toml: the way of these measures or coordinates, as a task for kingpost inverse",
        )

    def prepare(self, opened: OpenedModel, how: RunSettings, arguments: argparse.Namespace) -> Prepared:
        from kingpost.control.optimal.optimise import prepare_optimisation
        from kingpost.control.optimal.path_task import check_path
        from kingpost.control.optimal.solver import SolverOptions
        from kingpost.results.read_write import read_history

        task = opened.optimal_task(arguments.task)
        check_path(opened.mechanism, arguments.path)
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
        loads = how.with_usual_loads(opened.mechanism).loads
        return Prepared(lambda bar: _searched(prepared, loads, arguments.path or (), bar))

    def beside(self, history: History, arguments: argparse.Namespace) -> dict[str, Fill]:
        if not arguments.path:
            return {}
        from kingpost.control.optimal.path_task import path_task, task_text

        text = task_text(path_task(history, arguments.path))
        return {PATH: lambda path: _fill(path, text)}

    def rows(self, history: History, files: list[Path]) -> list[tuple[str, str]]:
        return _summary(history, files)

    def afterwards(self, history: History, arguments: argparse.Namespace) -> None:
        if len(history.provenance["optimal"]["starts"]) > 1 and not arguments.json:
            print()
            print_table(_starts(history))


def _searched(
    prepared: PreparedOptimisation, loads: Sequence[str | LoadRequest] | None, path: Sequence[str], bar: ProgressBar
) -> History:
    from kingpost.control.optimal.record import history_of

    began = time.perf_counter()
    optimum = prepared.run(lambda step: _progress(bar, step))
    history = history_of(optimum, time.perf_counter() - began, loads, path)
    if optimum.status == "interrupted":
        words = f"interrupted after {optimum.solution.iterations} iterations; the best motion so far costs {optimum.cost:.6g}"
        raise Interrupted(words, history=history)
    return history


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


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
    bar.say(
        f"iteration {step.number}: cost {step.cost:.6g}, violation {step.violation:.1e}",
        numbers={"iteration": step.number, "cost": step.cost, "violation": step.violation},
    )


def _summary(history: History, files: list[Path]) -> list[tuple[str, str]]:
    record = history.provenance
    found: dict[str, Any] = record["optimal"]
    task, H = found["task"], found["hamiltonian"]
    channels = {channel.name: channel for channel in history.channels}
    seconds = found["seconds"]
    rows = [
        ("model", record["model"]["name"]),
        task_row(task),
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
        (f"{item['limit']} bound", f"{item['name']} = {item['value']:g}, {_when(item)}") for item in found["active_bounds"]
    ]
    rows += channel_rows(history, [channels[name] for name in task["inputs"]])
    return [*rows, file_row(files)]


def _when(item: dict[str, Any]) -> str:
    """Return from when until when a bound bites, how long in all, and its multiplier."""
    if item["until_s"] == item["from_s"]:
        words = f"touched at {item['from_s']:.4g} s"
    else:
        words = f"{item['from_s']:.4g} s to {item['until_s']:.4g} s, {item['duration_s']:.4g} s in all"
    return words if item["multiplier"] is None else f"{words}; multiplier {item['multiplier']:.4g}"


def _starts(history: History) -> list[tuple[str, str]]:
    rows = []
    for item in history.provenance["optimal"]["starts"]:
        words = f"{item['status']}, cost {item['cost']:.9g}, {item['iterations']} iterations with {item['formulation']}"
        stage = f" with {item['stage']}" if item["stage"] else ""
        rows.append((f"start {item['start']}{stage}", words))
    return rows
