"""Writer plugins: file formats for results.

A format that can be read back implements ``read``, too; :func:`kingpost.read_history` then finds it by its suffix.
"""

from __future__ import annotations

import importlib.util
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kingpost.base.errors import FileError, PluginError
from kingpost.registry.plugin import Plugin
from kingpost.results.history import History

if TYPE_CHECKING:
    from kingpost.results.growing import GrowingFile
    from kingpost.results.metadata import Outline
    from kingpost.results.part import Part


class Writer(Plugin):
    """Base of writer plugins."""

    kind = "writer"
    #: File name ending, with its dot.
    suffix: ClassVar[str]
    #: Modules the format needs beyond Kingpost's own dependencies, and the extra that brings them.
    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""
    #: Whether the file holds the provenance itself; otherwise it goes into a JSON file beside it.
    embeds: ClassVar[bool] = False

    @classmethod
    def missing(cls) -> tuple[str, ...]:
        """Return the needed modules that are not installed."""
        return tuple(module for module in cls.needs if importlib.util.find_spec(module) is None)

    @classmethod
    def check_installed(cls) -> None:
        """Raise :class:`PluginError`, with what to install, if a needed module is missing."""
        if cls.missing():
            raise PluginError(
                f"writer '{cls.name}' needs {', '.join(cls.missing())}; install it with: pip install 'kingpost[{cls.extra}]'"
            )

    @classmethod
    def readable(cls) -> bool:
        """Say whether files of this format can be read back."""
        return cls.read is not Writer.read

    @abstractmethod
    def write(self, history: History, path: Path) -> None:
        """Write ``history`` to ``path``. The caller moves the file into place once it is complete."""

    @classmethod
    def grows(cls) -> bool:
        """Say whether files of this format can be written while a run goes on."""
        return cls.grow is not Writer.grow

    def grow(self, path: Path, outline: Outline) -> GrowingFile:
        """Begin a file to which samples are added while a run goes on, if the format can be written so."""
        raise FileError(f"'{path}': {self.name} files cannot be written while a run goes on")

    def read_part(self, path: Path, part: Part) -> History:
        """Return a part of the history in a file; better than this is to read no more than that."""
        return part.of(self.read(path))

    def read(self, path: Path) -> History:
        """Return the history in a file that ``write`` wrote, the provenance only if the format ``embeds`` it.

        Whatever this raises about a damaged file is shown to the user with the name of the file; a :class:`ValueError` with
        a sentence is best.
        """
        raise FileError(f"'{path}': {self.name} files can be written, but not read back")
