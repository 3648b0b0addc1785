"""Command plugins: verbs of the ``kingpost`` command line."""

from __future__ import annotations

import argparse
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


class Command(Plugin):
    """Base of command plugins; ``name`` is the verb, the class documentation its help text."""

    kind = "command"
    #: Shown at the end of ``kingpost VERB -h``.
    example: ClassVar[str] = ""

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this verb to ``parser``."""

    @abstractmethod
    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        """Carry the verb out and return the exit status; raise :class:`kingpost.KingpostError` for what went wrong."""
