"""``kingpost inverse``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.cli.finding import FindsInputs, Prepared, task_row
from kingpost.cli.results import channel_rows, file_row, load_rows

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel
    from kingpost.results.history import History
    from kingpost.simulation.settings import RunSettings


class Inverse(FindsInputs):
    """Find the inputs that drive measures of a machine along a path, and everything that moves and is loaded with them.

    The task names the inputs, the measures and their path: one of the model's own (kingpost models NAME lists them), or a TOML
    file. Writes the same files as kingpost run: coordinates, speeds, the inputs under their own names, errors of the
    servo-constraints at position, speed and acceleration level, multipliers, tensions, joint loads, and the work of the inputs.
    """

    name = "inverse"
    example = "kingpost inverse rotary-crane --task 000-4.4.2 --method minimal-extension --stepper bdf2:step=0.01"
    task = "servo"
    how = ("formulation", "loads", "load_method", "load_metric", "cut", "backend")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--method", metavar="NAME[:KEY=VALUE,...]", help="how the index is reduced (default: chosen by the index)"
        )
        parser.add_argument(
            "--stepper",
            metavar="NAME[:step=S,...]",
            help="how time is advanced, for methods that step (default: bdf2:step=0.01)",
        )
        parser.add_argument(
            "--keep-taut",
            type=float,
            nargs="?",
            const=0.0,
            metavar="N",
            help="if a tension falls below N newtons (default: 0), take the shortest duration with which none does",
        )
        parser.add_argument(
            "--taut-by",
            choices=["duration", "path"],
            default="duration",
            help="with --keep-taut: take longer, or take the nearest path of the same duration",
        )
        parser.add_argument(
            "--fatigue",
            action="append",
            metavar="JOINT",
            help="also count the load ranges of this joint: what following the path costs it (repeatable; all for every joint)",
        )

    def prepare(self, opened: OpenedModel, how: RunSettings, arguments: argparse.Namespace) -> Prepared:
        from kingpost.control.servo.inverse import prepare_inverse

        prepared = prepare_inverse(
            opened.mechanism,
            opened.task(arguments.task),
            method=arguments.method,
            stepper=arguments.stepper,
            settings=opened.settings,
            how=how.with_usual_loads(how.with_cuts(opened.mechanism, opened.plugins)),
            plugins=opened.plugins,
        )
        if arguments.keep_taut is None:
            return Prepared(prepared.run)
        from kingpost.control.servo.taut import keep_taut

        prepared, taut = keep_taut(prepared, arguments.keep_taut, arguments.taut_by)
        return Prepared(prepared.run, (("kept taut", taut.sentence),))

    def rows(self, history: History, files: list[Path]) -> list[tuple[str, str]]:
        return _summary(history, files)

    def afterwards(self, history: History, arguments: argparse.Namespace) -> None:
        if arguments.fatigue:
            _count(history, arguments)


def _summary(history: History, files: list[Path]) -> list[tuple[str, str]]:
    record = history.provenance
    found: dict[str, Any] = record["inverse"]
    task, work = found["task"], found["work"]
    method = f"{record['formulation']}, {found['method']['name']}"
    if found["stepped"]:
        method += f", {found['stepper']['name']} with {record['time']['step_s']:g} s"
    errors = ", ".join(f"{size:.2g} at {level} level" for level, size in found["residuals"].items())
    loads = record.get("loads", {"joints": {}})
    channels = {channel.name: channel for channel in history.channels}
    tensions = [channel for name, channel in channels.items() if name.endswith(".tension")]
    rows = [
        ("model", record["model"]["name"]),
        task_row(task, f" for {', '.join(task['measures'])}"),
        ("index", _index(found)),
        ("method", method),
        ("time", f"{record['time']['start_s']:g} s to {record['time']['end_s']:g} s, {len(history)} samples"),
        ("backend", f"{record['backend']['name']}, {record['wall_time_s']:.3g} s"),
        ("errors", errors),
        (
            "work",
            f"{work['inputs_J']:.6g} J by the inputs, {work['energy_change_J']:.6g} J in the machine, "
            f"{work['everything_else_J']:.3g} J by everything else",
        ),
    ]
    rows += channel_rows(history, [channels[name] for name in task["inputs"]])
    rows += channel_rows(history, tensions)
    rows += load_rows(history, list(loads["joints"]))
    return [*rows, file_row(files)]


def _index(found: dict[str, Any]) -> str:
    index = found["index"]
    words = [f"{index['index']}", f"{index['internal_states']} internal states"]
    words.append(f"{index['realisation']['rank']} of {index['realisation']['of']} measures driven directly")
    return ", ".join(words)


def _count(history: History, arguments: argparse.Namespace) -> None:
    """Count the load ranges of the manoeuvre, once through."""
    from kingpost.cli.fatigue_tables import load_table
    from kingpost.fatigue.assessment import CountingOptions, assess_loads

    joints = [] if "all" in arguments.fatigue else list(arguments.fatigue)
    counted = assess_loads(history, joints, [], CountingOptions())
    print()
    load_table(counted).print()
