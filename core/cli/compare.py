"""``kingpost compare``."""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from typing import TYPE_CHECKING, Any

from kingpost.cli.arguments import add_input_argument, add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments, settings_from
from kingpost.cli.output import ProgressBar, print_json, print_table

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.simulation.comparison import Comparison


class Compare(Command):
    """Derive a machine by every formalism and compare their accelerations and their cost.

    Differences are from 'kane', at the start and at states along a run, as parts of the largest acceleration, with or without
    constraints; at_s and where say the state and the coordinate. Costs are CPU time of one evaluation of all accelerations,
    compiled if there is a C compiler, its operations, and the time to derive and to compile the equations. A formalism that
    does not take the machine says why.
    """

    name = "compare"
    example = "kingpost compare four-bar --set crank.angle=1.2 --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_input_argument(parser)
        add_how_arguments(parser, "t_end", "t_start", "step", "integrator", "start", "close_loops", "backend")
        parser.add_argument("--json", action="store_true", help="print the numbers as JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model
        from kingpost.modelfiles.signal_words import with_inputs
        from kingpost.simulation.comparison import compare

        opened = with_inputs(open_model(arguments.model, plugins, arguments.set, python=True), arguments.input)
        bar = ProgressBar("comparing")
        try:
            comparison = compare(
                opened.mechanism,
                settings=opened.settings,
                inputs=opened.inputs,
                how=opened.how(settings_from(arguments)),
                plugins=opened.plugins,
                progress=bar,
            )
        finally:
            bar.close()
        if comparison.note:
            print(f"kingpost: warning: the run that states are taken from ended early: {comparison.note}", file=sys.stderr)
        if arguments.json:
            print_json(_plain(comparison))
        else:
            _print(comparison)
        return 0


def _plain(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    rows = {}
    for item in comparison.compared:
        entries = dataclasses.asdict(item)
        name, refusal = entries.pop("name"), entries.pop("refusal")
        finite = {key: _finite(value) for key, value in entries.items()}
        rows[name] = {"summary": item.summary, "refusal": refusal} if refusal else finite
    return {
        "model": comparison.mechanism.name,
        "speeds": comparison.speeds,
        "constraints": comparison.constraints,
        "condition": _finite(comparison.condition),
        "times_s": list(comparison.times),
        "backend": comparison.backend,
        "formalisms": rows,
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print(comparison: Comparison) -> None:
    times = ", ".join(f"{t:.4g}" for t in comparison.times)
    held = f", {comparison.constraints} constraints" if comparison.constraints else ""
    print_table(
        [
            ("model", f"{comparison.mechanism.name} ({comparison.speeds} speeds{held})"),
            ("states", f"at {times} s"),
            ("condition", f"{comparison.condition:.2g} of the mass matrix, scaled, at the start"),
            ("backend", {"c": "machine code", "vm": "interpreter"}[comparison.backend]),
        ]
    )
    print()
    taken = [item for item in comparison.compared if not item.refusal]
    header = ["formalism", "difference", "at_s", "where", "us", "operations", "derived_s", "compiled_s", "leaves"]
    rows = [
        [
            item.name,
            f"{item.difference:.1e}",
            f"{item.at_s:.4g}",
            item.coordinate,
            f"{item.microseconds:.3g}",
            str(item.operations),
            f"{item.derived_s:.2f}",
            f"{item.compiled_s:.2f}",
            item.leaves,
        ]
        for item in sorted(taken, key=lambda item: item.microseconds)
    ]
    if not any(item.leaves for item in taken):
        header, rows = header[:-1], [row[:-1] for row in rows]
    print_table(rows, header)
    refused = [(item.name, item.refusal) for item in comparison.compared if item.refusal]
    if refused:
        print("\nDo not take it:")
        print_table(refused)
