"""Options that verbs on FMUs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kingpost.fmu.file.opened import FmiKind


SANDBOX = "--sandbox"


def add_kind_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--kind``."""
    parser.add_argument(
        "--kind", choices=["cs", "me"], help="co-simulation or model exchange, of an FMU that offers both (default: cs)"
    )


def add_sandbox_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--sandbox``."""
    parser.add_argument(
        SANDBOX,
        action="store_true",
        help="run in a sandbox, for FMUs from strangers: no network, no files but those named here, limits on memory and time",
    )


def add_time_limits(parser: argparse.ArgumentParser) -> None:
    """Add ``--timeout`` and ``--run-timeout``."""
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="longest time of one call into an FMU in s (default: 300; 0: no limit)"
    )
    parser.add_argument("--run-timeout", type=float, metavar="S", help="longest time of the whole run in s (default: no limit)")


def chosen_kind(arguments: argparse.Namespace) -> FmiKind | None:
    """Return what ``--kind`` says, or None."""
    kinds: dict[str | None, FmiKind] = {"cs": "co-simulation", "me": "model-exchange"}
    return kinds.get(arguments.kind)
