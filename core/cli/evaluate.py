"""``kingpost eval``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import listed
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments
from kingpost.cli.output import print_json
from kingpost.cli.state import add_state_argument, situation_of, warn_of_fitted_start

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


class Evaluate(Command):
    """Print mass matrix, accelerations, joint loads, energies and outputs at one state, as JSON.

    STATE.json holds {"t": 0, "q": [...], "v": [...], "u": [...], "parameters": {...}}; what is left out keeps the
    model's own start value. Coordinates come in the order that the answer names. Of closed loops also errors and multipliers
    of the constraints are printed: a state that is given is taken as it is, with a warning if it does not fit; what is left
    out is fitted as in a run.
    """

    name = "eval"
    example = """echo '{"q": [0.1, 0.2]}' | kingpost eval double-pendulum --at -"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_argument(parser)
        add_how_arguments(parser, "formulation", "close_loops", "loads", "load_method", "load_metric", "cut", "start")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model
        from kingpost.simulation.answers import evaluation
        from kingpost.simulation.verbs import observed_with_all_loads

        opened = open_model(arguments.model, plugins, arguments.set, python=True)
        place = situation_of(opened, arguments).fitted()
        warn_of_fitted_start(place.problem)
        answer = evaluation(observed_with_all_loads(place.problem))
        for sentence in _misfits(answer.get("constraints", {})):
            print(f"kingpost: warning: {sentence}", file=sys.stderr)
        print_json(answer)
        return 0


def _misfits(constraints: dict[str, Any]) -> list[str]:
    """Say which closures a state does not satisfy."""
    from kingpost.equations.consistency import OPEN

    found = []
    for level, what, unit in (("position", "is open by", "m or rad"), ("speed", "runs apart at", "m/s or rad/s")):
        worst: dict[str, float] = {}
        # Rows of rolling have speeds alone; they come last.
        for owner, error in zip(constraints.get("owners", ()), constraints.get(level, ()), strict=False):
            worst[owner] = max(worst.get(owner, 0.0), abs(error))
        found += [f"'{owner}' {what} {error:.4g} {unit}" for owner, error in worst.items() if not error <= OPEN]
    if not found:
        return []
    return [
        f"the state does not satisfy the loops: {listed(found)}. What is printed holds for the equations there, not for the "
        "machine; --close-loops takes the nearest state that fits"
    ]
