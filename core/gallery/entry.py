"""What the gallery is made of: items of an inventory, misprints, entries that are run, and the sheets that they fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from kingpost.base.errors import InternalError

#: What runs compute, of Python or of NumPy.
Number: TypeAlias = "float | np.floating[Any]"

#: Label, abscissae, ordinates and, where wanted, how matplotlib is to draw it.
Curve = tuple[Any, ...]

#: What an item of a document is: a result, which an entry reproduces; a table of data, which a model has; a drawing of a
#: machine or an idea; words; or something that was lost and cannot be made again.
RESULT, DATA, DRAWING, WORDS, LOST = "result", "data", "drawing", "words", "lost"
STATUSES = (RESULT, DATA, DRAWING, WORDS, LOST)

#: Verdicts on an entry that was run.
AGREES = "agrees with the print"
REPAIRED = "agrees, misprint repaired"
PARTLY = "agrees in part"
INDEPENDENT = "agrees with independent numbers"
DIFFERS = "differs"
FAILED = "could not be run"
VERDICTS = (AGREES, REPAIRED, INDEPENDENT, PARTLY, DIFFERS, FAILED)


@dataclass(frozen=True)
class Misprint:
    """Something that a document prints, or states, and that is not so."""

    place: str
    printed: str
    correct: str
    #: How that is known.
    known: str


@dataclass(frozen=True)
class Item:
    """A figure or a table of a document; ``number`` of a table begins with T. The caption is in our words."""

    number: str
    status: str
    caption: str
    #: The model that shows it, for drawings and data.
    model: str = ""
    #: Why it is no result, or cannot be reproduced.
    reason: str = ""

    @property
    def title(self) -> str:
        """What a reader calls it."""
        return f"Table {self.number[1:]}" if self.number.startswith("T") else f"Fig. {self.number}"


@dataclass(frozen=True)
class Panel:
    """One graph. ``ticks``: numbers that are printed along the axis of the document, where they survived."""

    title: str
    curves: Sequence[Curve]
    xlabel: str = "t [s]"
    ticks: Sequence[float] | None = None
    equal: bool = False
    #: Both axes in powers of ten.
    logarithmic: bool = False


@dataclass(frozen=True)
class Picture:
    """Panels that make one picture."""

    title: str
    panels: Sequence[Panel]
    columns: int


@dataclass(frozen=True)
class Row:
    """A number, a bound, the range of an axis or a statement: what was found, what was wanted, and whether they agree."""

    what: str
    found: float | tuple[float, float]
    wanted: float | tuple[float, float]
    within: float
    unit: str
    #: "number", "bound", "axis" or "statement".
    kind: str
    #: Where the document prints it; empty for closed forms and independent computations.
    printed: str
    #: Why it may differ by ``within``.
    reason: str
    good: bool

    @property
    def words(self) -> tuple[str, str, str]:
        """Found, wanted and tolerance, to be read."""
        if self.kind == "statement":
            return ("holds" if self.found else "does not hold"), "holds", ""
        if isinstance(self.found, tuple) or isinstance(self.wanted, tuple):
            low, high = np.ravel(self.found)
            first, last = np.ravel(self.wanted)
            return f"{low:.4g} .. {high:.4g}", f"axis {first:g} .. {last:g}", f"a tick, {self.within:g}"
        if self.kind == "bound":
            return f"{self.found:.3g}", f"< {self.wanted:.2g}", ""
        return f"{self.found:.7g}", f"{self.wanted:.7g}", f"{self.within:.1g}"


@dataclass
class Sheet:
    """What an entry fills: rows of numbers, pictures, and notes."""

    rows: list[Row] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _reason: str = ""

    def because(self, reason: str) -> None:
        """Give the reason for the tolerances of the rows that follow."""
        self._reason = reason

    def row(self, what: str, found: Number, wanted: float, within: float, unit: str = "", printed: str = "") -> None:
        """Compare a number with the one that is wanted; ``printed`` says where the document has it."""
        found = float(found)
        good = abs(found - wanted) <= within
        self.rows.append(Row(what, found, float(wanted), float(within), unit, "number", printed, self._reason, bool(good)))

    def below(self, what: str, found: Number, bound: float, unit: str = "", printed: str = "") -> None:
        """Say whether a number, an error for the most part, is small enough."""
        found = float(found)
        self.rows.append(Row(what, found, float(bound), 0.0, unit, "bound", printed, self._reason, bool(found <= bound)))

    def axis(self, panel: Panel, place: str, slack: float = 1.0) -> None:
        """Say whether curves fit a printed axis: within ``slack`` ticks of the printed ones, and beyond half of them."""
        if panel.ticks is None:
            raise InternalError(f"the panel '{panel.title}' has no ticks to compare with")
        ticks = np.asarray(panel.ticks, dtype=float)
        values = np.concatenate([np.asarray(curve[2], dtype=float).ravel() for curve in panel.curves])
        step, low, high = float(ticks[1] - ticks[0]) * slack, float(values.min()), float(values.max())
        inside = ticks[0] - step < low and high < ticks[-1] + step
        good = inside and high - low > (ticks[-1] - ticks[0]) / 2
        reason = "curves leave a printed axis by less than a tick, and fill more than half of it"
        ends = (float(ticks[0]), float(ticks[-1]))
        self.rows.append(Row(f"range of {panel.title}", (low, high), ends, step, "", "axis", place, reason, bool(good)))

    def says(self, statement: str, holds: bool | np.bool_, place: str) -> None:
        """Say whether what the document states in words at ``place`` holds of what was computed."""
        self.rows.append(Row(statement, float(bool(holds)), 1.0, 0.0, "", "statement", place, "", bool(holds)))

    def note(self, sentence: str) -> None:
        """Keep a sentence that belongs to the picture."""
        self.notes.append(sentence)

    def draw(self, title: str, panels: Sequence[Panel], columns: int = 2) -> None:
        """Keep panels for a picture."""
        self.pictures.append(Picture(title, tuple(panels), columns))


@dataclass(frozen=True)
class Entry:
    """Figures and tables that one run reproduces: what is run, and what stands behind it."""

    #: Numbers of the items, of which the first names the entry.
    shows: tuple[str, ...]
    title: str
    #: Models that are run.
    models: tuple[str, ...]
    #: A command that makes the same result.
    command: str
    make: Callable[[Sheet], None]
    #: Keys of the misprints that had to be repaired, or statements that do not hold.
    misprints: tuple[str, ...] = ()
    #: What the document leaves open, and what was taken.
    assumed: tuple[str, ...] = ()
    #: What of it this package does not do as the document has it.
    short: str = ""
    #: Takes more than half a minute of CPU time.
    long: bool = False

    @property
    def name(self) -> str:
        """The number that the entry goes by."""
        return self.shows[0]


@dataclass(frozen=True)
class Document:
    """A document: its inventory, its misprints, and the entries that reproduce it."""

    name: str
    about: str
    items: tuple[Item, ...]
    misprints: Mapping[str, Misprint]
    entries: tuple[Entry, ...]

    def item(self, number: str) -> Item:
        """Return an item by its number."""
        return next(item for item in self.items if item.number == number)

    def entry_for(self, number: str) -> Entry | None:
        """Return the entry that reproduces an item, if there is one."""
        return next((entry for entry in self.entries if number in entry.shows), None)


def figures(status: str, reason: str, rows: Iterable[tuple[str, ...]]) -> tuple[Item, ...]:
    """Return items of one status from rows of number, caption and, where there is one, model."""
    return tuple(Item(number, status, caption, model[0] if model else "", reason) for number, caption, *model in rows)
