"""What the command line prints: tables, JSON and a progress bar."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kingpost.cli.progress_file import ProgressFile
    from kingpost.cli.sample_file import SampleFile

#: A last column narrower than this is not worth wrapping.
LEAST_WIDTH = 20
_PLAIN_LIST = re.compile(r"\[\n((?:\s*[-\d.eE+]+,?\n)*\s*[-\d.eE+]+)\n\s*\]")


#: Bars that stand on the terminal now.
_SHOWN: set[ProgressBar] = set()


def _wipe_bars() -> None:
    """Wipe away what stands on the line where a result is to begin: what was being compiled, for example."""
    for bar in list(_SHOWN):
        bar.close()


def print_json(data: Any) -> None:
    """Print ``data`` as JSON, lists of plain values on one line each."""
    _wipe_bars()
    text = json.dumps(data, indent=2, allow_nan=False)
    print(_PLAIN_LIST.sub(lambda match: "[" + ", ".join(line.strip(" ,") for line in match[1].split("\n")) + "]", text))


def print_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Print rows in aligned columns; on a terminal, the last one in as many lines as its width asks for."""
    _wipe_bars()
    lines = [header, *rows] if header else list(rows)
    if not lines:
        return
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(lines[0]))]
    indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for line in lines:
        begin = "".join(f"{cell!s:<{width}}  " for cell, width in zip(line[:-1], widths[:-1], strict=True))
        print("\n".join(_wrapped(begin, str(line[-1]), indent)))


def print_text(text: str) -> None:
    """Print a paragraph, on a terminal in lines that fit."""
    print("\n".join(_wrapped("", text, 0)))


def _wrapped(begin: str, text: str, indent: int) -> list[str]:
    """Return a line, or several on a terminal that is too narrow for it; a pipe gets one, so that programs can read it."""
    room = shutil.get_terminal_size().columns - indent if sys.stdout.isatty() else 0
    if len(text) <= room or room < LEAST_WIDTH:
        return [(begin + text).rstrip()]
    first, *rest = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    return [begin + first, *(" " * indent + line for line in rest)]


def _progress_file() -> ProgressFile | None:
    """Return the file by which a program wants to follow, which few do."""
    if "KINGPOST_PROGRESS" not in os.environ:
        return None
    from kingpost.cli.progress_file import ProgressFile

    return ProgressFile.wanted()


def _sample_file() -> SampleFile | None:
    """Return the file by which a program wants to see samples."""
    if "KINGPOST_SAMPLES" not in os.environ:
        return None
    from kingpost.cli.sample_file import SampleFile

    return SampleFile.wanted()


class ProgressBar:
    """A bar on the terminal; silent when standard error is not one. Programs can follow it by a :class:`ProgressFile`.

    Runs hand their samples to its ``watch``, if somebody wants them.
    """

    WIDTH = 40

    def __init__(self, label: str) -> None:
        self.label = label
        self.shown = False
        self.visible = sys.stderr.isatty()
        self._last = 0.0
        self._file = _progress_file()
        self.watch = _sample_file()

    def __call__(self, fraction: float) -> None:
        """Show ``fraction`` (0 to 1), at most ten times a second."""
        if self._file is not None:
            self._file.note(fraction, self.label)
        now = time.monotonic()
        if not self.visible or (now - self._last < 0.1 and fraction < 1.0) or (fraction >= 1.0 and not self.shown):
            return
        self._last = now
        self.shown = True
        _SHOWN.add(self)
        full = round(fraction * self.WIDTH)
        print(f"\r{self.label} [{'#' * full}{'.' * (self.WIDTH - full)}] {fraction:4.0%}", end="", file=sys.stderr, flush=True)

    def say(
        self,
        words: str,
        fraction: float | None = None,
        left: float | None = None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        """Show some words in the place of the bar, at most ten times a second; say also which part is done, if known.

        Programs that follow get the ``numbers`` of which the words tell, too.
        """
        if self._file is not None:
            self._file.note(fraction, self.label, words=words, left=left, numbers=numbers)
        now = time.monotonic()
        if not self.visible or now - self._last < 0.1:
            return
        self._last = now
        self.shown = True
        _SHOWN.add(self)
        print(f"\r\033[K{self.label} {words}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Wipe the bar away."""
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.shown = False
        _SHOWN.discard(self)
