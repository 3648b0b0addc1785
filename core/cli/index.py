"""``kingpost index``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kingpost.base.errors import listed
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments, settings_from
from kingpost.cli.output import print_json, print_table

if TYPE_CHECKING:
    from kingpost.control.servo.index.report import IndexReport
    from kingpost.registry.pluginset import PluginSet


class Index(Command):
    """Say what kind of problem a servo task is: its index, its internal states, and whether it can work at all.

    A servo task leads measures of a machine along a path by some of its inputs. The index tells how often the path has to be
    differentiated, the realisation whether inputs act on the measures directly, and the zero dynamics how the states move that
    the path leaves free. A task that cannot work is refused with the number that decides, after all that was found is printed.
    """

    name = "index"
    example = "kingpost index overhead-crane --task 003"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument(
            "--task",
            metavar="NAME|FILE.toml",
            help="a servo task of the model by name, or a file (FILE.toml:NAME if it has several; default: its only one)",
        )
        add_how_arguments(parser, "formulation")
        parser.add_argument(
            "--levels", action="store_true", help="also show the singular values by which the index was decided"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.control.servo.index.analysis import analyse
        from kingpost.control.servo.index.refusals import refuse_if_impossible
        from kingpost.control.servo.posing import pose_servo
        from kingpost.modelfiles.opened import open_model

        opened = open_model(arguments.model, plugins, arguments.set, python=True)
        task = opened.task(arguments.task)
        how = opened.how(settings_from(arguments))
        report = analyse(pose_servo(opened.mechanism, task, how, values=opened.settings, plugins=opened.plugins))
        if arguments.json:
            print_json(report.to_dict())
        else:
            print_table(_rows(report))
            if arguments.levels:
                print()
                _print_levels(report)
        refuse_if_impossible(report)
        return 0


def _rows(report: IndexReport) -> list[tuple[str, str]]:
    from kingpost.control.servo.index.array_index import HIGHEST

    index = f"not found up to {HIGHEST}" if report.index is None else str(report.index)
    rows = [
        ("task", f"{report.task or 'without a name'}: {listed(report.measures)} by {listed(report.inputs)}"),
        ("index", index if report.levels else "not looked for"),
    ]
    if report.internal_states is not None:
        shown = "0: the path determines everything (flat)" if report.flat else str(report.internal_states)
        rows.append(("internal states", shown))
    if report.levels:
        nothing = "says nothing: rows cannot be assigned to unknowns"
        rows.append(("signature method", report.structural.sentence if report.structural else nothing))
    rows += [*_realisation_rows(report), *_zero_rows(report)]
    if report.singular_times:
        rows.append(("ranks are lost at", f"{listed(f'{t:.6g}' for t in report.singular_times)} s"))
    if report.smoothness_needed is not None and report.smoothness_there is not None:
        there = report.smoothness_there
        words = listed(f"{name} C^{order} (is C^{there[name]})" for name, order in report.smoothness_needed.items())
        rows.append(("inputs are continuous if", words))
    return rows


def _realisation_rows(report: IndexReport) -> list[tuple[str, str]]:
    from kingpost.control.servo.index.realisation import Realisation

    found = report.realisation
    if found is None:
        return []
    if not isinstance(found, Realisation):
        return [("realisation", found.sentence)]
    cosines = listed(f"{value:.3g}" for value in found.cosines)
    return [("realisation", f"{found.kind}: rank {found.rank} of {found.of} (singular values {cosines} at {found.t:.6g} s)")]


def _zero_rows(report: IndexReport) -> list[tuple[str, str]]:
    from kingpost.control.servo.index.report import shown_complex
    from kingpost.control.servo.index.zero_dynamics import ZeroDynamics

    zero = report.zero_dynamics
    if zero is None or report.flat:
        return []
    if not isinstance(zero, ZeroDynamics):
        return [("zero dynamics", zero.sentence)]
    values = listed(shown_complex(value) for value in zero.eigenvalues) or "none"
    note = "; UNSTABLE: only 'stable-inversion' can do this task" if zero.unstable else ""
    return [("zero dynamics", f"{values} [1/s], around rest at the end{note}")]


def _print_levels(report: IndexReport) -> None:
    rows = []
    for level in report.levels:
        gap = level.with_rates
        rows.append(
            (
                f"{level.t:.6g}",
                str(level.order),
                f"{level.tau:.3g}",
                f"{level.with_states.nullity}, {gap.nullity}, {level.beyond.nullity}",
                f"{gap.above:.1e} to {gap.below:.1e}",
                f"{level.component:.1e}",
                "determined" if level.determined else "open" if level.clear else "no clear gap",
            )
        )
    print_table(rows, ("TIME [s]", "ORDER", "SCALE [s]", "NULL SPACES", "GAP", "COMPONENT", "RATES"))
