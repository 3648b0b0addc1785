"""Writer plugins: file formats for results."""

from __future__ import annotations

import importlib.util
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from kingpost.history import History
from kingpost.interfaces.plugin import Plugin


class Writer(Plugin):
    """Base of writer plugins."""

    kind = "writer"
    #: File name ending, with its dot.
    suffix: ClassVar[str]
    #: Modules the format needs beyond Kingpost's own dependencies, and the extra that brings them.
    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    @classmethod
    def missing(cls) -> tuple[str, ...]:
        """Return the needed modules that are not installed."""
        return tuple(module for module in cls.needs if importlib.util.find_spec(module) is None)

    @abstractmethod
    def write(self, history: History, path: Path) -> None:
        """Write ``history`` to ``path``. The caller moves the file into place once it is complete."""
