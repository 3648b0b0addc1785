"""The exceptions that Kingpost raises on purpose.

Every message says what is wrong, where, the numbers that broke the rule, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar

#: Where in a model description something stands, e.g. ``("bodies", 0, "mass")``.
Path = tuple[str | int, ...]


class KingpostError(Exception):
    """Base of every error that Kingpost raises on purpose; on its own: what was asked for does not fit what there is."""

    #: Exit status of the ``kingpost`` command when this error ends it; 1 is for faults of Kingpost's own.
    exit_code: ClassVar[int] = 9


class InternalError(KingpostError):
    """Something that cannot be the user's doing: a fault in Kingpost itself."""

    exit_code = 1


class MechanismError(KingpostError):
    """A model description breaks a rule.

    ``path`` says which entry of the description is meant, so that a file reader can add file and line.
    """

    exit_code = 3

    def __init__(self, message: str, *, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path

    def within(self, *prefix: str | int) -> MechanismError:
        """Return the same error with its path put below ``prefix``."""
        return MechanismError(str(self), path=(*prefix, *self.path))


class PluginError(KingpostError):
    """A plugin is missing, broken, or asked for something it does not offer."""

    exit_code = 4


class SolverError(KingpostError):
    """An integration could not go on; ``history`` (a :class:`kingpost.History`) holds what was computed before, if anything."""

    exit_code = 5

    def __init__(self, message: str, *, history: Any = None) -> None:
        super().__init__(message)
        self.history = history


class PluginRaisedError(PluginError, SolverError):
    """A plugin that is not Kingpost's raised; the message names its file and line. ``history`` as in :class:`SolverError`."""

    exit_code = 10


class Interrupted(KeyboardInterrupt):
    """The user interrupted a run. ``history`` holds what was computed before."""

    def __init__(self, message: str, *, history: Any) -> None:
        super().__init__(message)
        self.history = history


class FileError(KingpostError):
    """A file cannot be read, understood or written."""

    exit_code = 6


class ExportError(KingpostError):
    """A model cannot be exported."""

    exit_code = 7


def closest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: ``"; did you mean 'x'?"`` for the known name most like ``name``, or ``"."``."""
    # Small and large letters are easily confused: 'slew.MX' is 'slew.Mx', whatever else has as many letters in common.
    spellings: dict[str, list[str]] = {}
    for item in sorted(known):
        spellings.setdefault(item.casefold(), []).append(item)
    wanted = name.casefold()
    found = [item for key in difflib.get_close_matches(wanted, spellings, n=5, cutoff=0.5) for item in spellings[key]]
    if not found:
        return "."
    best = max(found, key=lambda item: (_likeness(item.casefold(), wanted), _likeness(item, name)))
    return f"; did you mean '{best}'?"


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def listed(names: Iterable[str], most: int | None = None) -> str:
    """Return the names in one line, or the word ``none``; of more than ``most``, how many are left out."""
    every = list(names)
    more = 0 if most is None else len(every) - most
    return f"{', '.join(every[:most])} and {more} more" if more > 0 else ", ".join(every) or "none"
