"""Arguments that several verbs have."""

from __future__ import annotations

import argparse

#: What names a machine on the command line.
MODEL = "MODEL|FILE.toml"


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument that names a machine, and ``--set``."""
    parser.add_argument(
        "model",
        metavar=MODEL,
        help="name of a model (see 'kingpost models'), a model or run file, a URDF file (FILE.urdf), or a mechanism or "
        "function in a Python file (FILE.py:NAME)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter, input or start value, e.g. --set mass1=2 --set elbow.angle=0.3 (repeatable)",
    )


def add_input_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--input``."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE[:COLUMN][:linear|cubic|hold]",
        help="let an input follow a CSV table or a result of a run (file or folder), between samples as said (default: linear "
        "for a table, cubic for a result, hold for inputs of an optimum), or NAME=FORMULA in parameters and the time t, e.g. "
        "--input 'force=2*sin(3*t)'; "
        "without NAME, every input that the file has a column for (repeatable)",
    )


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a text with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
