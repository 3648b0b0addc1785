"""How far a command is, for programs that started it: lines of JSON, appended to the file that ``KINGPOST_PROGRESS`` names."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: The variable of the environment that names the file, and that of the file of samples (:mod:`kingpost.cli.sample_file`).
VARIABLE = "KINGPOST_PROGRESS"
SAMPLES = "KINGPOST_SAMPLES"
#: Seconds between lines.
PAUSE = 0.25
#: Bytes after which nothing more is written: whoever reads along has long known enough.
MOST_BYTES = 4_000_000


class ProgressFile:
    """Lines such as ``{"fraction": 0.31, "left_s": 12.5, "doing": "vessel-crane"}``.

    A file that cannot be written costs the command nothing but this.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = time.monotonic()
        self._last = float("-inf")
        self._label = ""
        self._written = 0

    @classmethod
    def wanted(cls) -> ProgressFile | None:
        """Return the file that somebody wants, if anybody does."""
        name = os.environ.get(VARIABLE)
        return cls(Path(name)) if name else None

    def note(
        self,
        fraction: float | None,
        label: str,
        *,
        words: str | None = None,
        left: float | None = None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        """Write a line, at most four a second, and one whenever another thing begins or all is done."""
        now = time.monotonic()
        if label != self._label:
            self._label, self._began, self._last = label, now, float("-inf")
        if (now - self._last < PAUSE and (fraction is None or fraction < 1.0)) or self._written > MOST_BYTES:
            return
        self._last = now
        line: dict[str, Any] = {"doing": label}
        if fraction is not None:
            fraction = min(1.0, max(0.0, float(fraction)))
            passed = now - self._began
            if left is None and fraction > 0.0:
                left = passed * (1.0 - fraction) / fraction
            line["fraction"] = round(fraction, 6)
        if left is not None:
            line["left_s"] = round(left, 3)
        if words is not None:
            line["words"] = words
        if numbers:
            line["numbers"] = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        text = json.dumps(line) + "\n"
        with contextlib.suppress(OSError), self.path.open("a", encoding="utf-8") as stream:
            self._written += stream.write(text)
