"""How the command line names the interfaces of an FMU."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kingpost.fmu.file.opened import Interface

KINDS: dict[str | None, Interface | None] = {None: None, "cs": "co-simulation", "me": "model-exchange"}


def add_kind_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--kind``."""
    parser.add_argument(
        "--kind", choices=["cs", "me"], help="co-simulation or model exchange, of an FMU that offers both (default: cs)"
    )
