"""Arguments that several verbs have."""

from __future__ import annotations

import argparse


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument that names a machine, and ``--set``."""
    parser.add_argument(
        "model",
        metavar="MODEL|FILE.toml",
        help="name of a model (see 'kingpost models'), a model or run file, or a URDF file (FILE.urdf)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter, input or start value, e.g. --set mass1=2 --set elbow.angle=0.3 (repeatable)",
    )
