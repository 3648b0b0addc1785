"""What every plugin class has: a selection name and frozen options."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class NoOptions:
    """The options of a plugin that has none."""


class Plugin(ABC):
    """Base of all plugin classes.

    ``name`` selects the class in run files and on the command line. ``Options`` is a frozen dataclass; its fields are
    the keys a user may give, and their annotations are checked.
    """

    #: Word for this kind of plugin in messages and listings.
    kind: ClassVar[str]
    name: ClassVar[str]
    Options: ClassVar[type[Any]] = NoOptions

    def __init__(self, options: Any = None) -> None:
        self.options: Any = self.Options() if options is None else options

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the class's own documentation."""
        return (cls.__dict__.get("__doc__") or "").strip().split("\n")[0]

    @classmethod
    def fault(cls) -> str:
        """Return what else keeps this class from being usable, or an empty string; for interfaces with further rules."""
        return ""
