"""What the command line shows while kernels are compiled: on a terminal all the time, elsewhere one line if it takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kingpost.cli.output import ProgressBar

if TYPE_CHECKING:
    from kingpost.kernel.telling import Doing

#: Seconds after which a line is worth its place in a log, and on a terminal.
WORTH_A_LINE, WORTH_SHOWING = 15.0, 0.5


class Compiling:
    """Shows what is done while a kernel is made."""

    def __init__(self, quiet: bool) -> None:
        #: Made when there is something to show.
        self._bar: ProgressBar | None = None
        self._quiet, self._said = quiet, False

    def __call__(self, doing: Doing) -> None:
        if doing.seconds < WORTH_SHOWING:
            return
        if self._bar is None:
            self._bar = ProgressBar("kingpost:")
        if self._bar.visible:
            self._bar.say(doing.words)
        elif not self._quiet and not self._said and doing.seconds > WORTH_A_LINE:
            self._said = True
            print(f"kingpost: {doing.words}", file=sys.stderr)

    def close(self) -> None:
        """Wipe it away."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def compiling_shown(quiet: bool) -> Iterator[None]:
    """Show what is done while kernels are made; ``quiet``: on a terminal alone."""
    from kingpost.kernel.telling import told

    shown = Compiling(quiet)
    try:
        with told(shown):
            yield
    finally:
        shown.close()
