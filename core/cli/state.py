"""A state of a machine as the command line gives it: a JSON file on top of the model's own start values."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, KingpostError
from kingpost.base.numbers import finite, shown
from kingpost.base.text_files import parse_json, read_text
from kingpost.cli.how import settings_from

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel
    from kingpost.simulation.problem import Problem
    from kingpost.simulation.verbs import Situation


def add_state_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--at``."""
    parser.add_argument("--at", metavar="STATE.json", help="file with the state, or - for standard input (default: the start)")


def situation_of(opened: OpenedModel, arguments: argparse.Namespace) -> Situation:
    """Return what ``--at`` says about the machine, and the model's own start values for the rest."""
    from kingpost.simulation.verbs import situation

    state = _read_state(arguments.at)
    how = opened.how(settings_from(arguments))
    try:
        t = finite(state.get("t", how.t_start or 0.0))
        numbers = opened.settings_at(0.0 if t is None else t)
        return situation(opened.mechanism, state, settings=numbers, how=how, plugins=opened.plugins)
    except KingpostError as error:
        if type(error) is not KingpostError:
            raise
        raise FileError(f"--at {arguments.at}: {error}") from None


def warn_of_fitted_start(problem: Problem) -> None:
    """Say on standard error which coordinates do not start where they were asked to, so that loops are closed."""
    known = {quantity.name for quantity in problem.mechanism.coordinates}
    for name, change in problem.fitted.items():
        if name in known:
            print(f"kingpost: warning: '{name}' starts {change:+.4g} from its start value, to close loops", file=sys.stderr)


def _read_state(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    try:
        state = parse_json(sys.stdin.read() if name == "-" else read_text(Path(name)))
    except (FileError, ValueError) as error:
        raise FileError(f"--at {name}: {error}") from None
    if not isinstance(state, dict):
        raise FileError(f"--at {name}: expected an object with some of t, q, v, z, u, parameters, got {shown(state)}")
    return state
