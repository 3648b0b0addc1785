"""Exporter plugins: forms in which a model leaves Kingpost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.simulation.export_model import ExportModel


@dataclass(frozen=True)
class ExportSelection:
    """Which variables an exported model shows, as glob patterns; None stands for the exporter's own choice."""

    outputs: Sequence[str] | None = None
    inputs: Sequence[str] | None = None
    parameters: Sequence[str] | None = None


@dataclass(frozen=True)
class Exported:
    """What was written: the file, and facts about it in the order in which they are told."""

    path: Path
    facts: tuple[tuple[str, str], ...]


class Exporter(Plugin):
    """Base of exporter plugins."""

    kind = "exporter"
    #: File name ending, with its dot.
    suffix: ClassVar[str]

    @abstractmethod
    def export(self, model: ExportModel, selection: ExportSelection, path: Path) -> Exported:
        """Write ``model`` to ``path``, whole or not at all; raise :class:`kingpost.ExportError` for what cannot be exported."""
