"""What a history says of itself: in a few words, and as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kingpost.base.arrays import FloatArray

if TYPE_CHECKING:
    from kingpost.results.history import History

#: Channels that the table shows.
MOST_ROWS = 20


def model_name(history: History) -> str:
    """Return the name of the model, as far as the history knows it."""
    model = history.provenance.get("model")
    return str(model.get("name") or "") if isinstance(model, Mapping) else ""


def in_words(history: History) -> str:
    """Return model, time span, and how many samples and channels there are."""
    samples, channels, name = len(history), len(history.channels), model_name(history)
    of = f" of {name}" if name else ""
    span = f"{history.time[0]:g} s to {history.time[-1]:g} s, " if samples else ""
    return f"History{of}: {span}{_counted(samples, 'sample')}, {_counted(channels, 'channel')}"


def html_table(history: History) -> str:
    """Return the first channels with unit, first and last value and extremes."""
    head = "".join(f"<th>{word}</th>" for word in ("channel", "unit", "start", "end", "min", "max"))
    rows = [
        "".join(f"<td>{escape(cell)}</td>" for cell in (channel.name, channel.unit, *_numbers(history.values[:, column])))
        for column, channel in enumerate(history.channels[:MOST_ROWS])
    ]
    more = len(history.channels) - MOST_ROWS
    rest = f"<p>and {_counted(more, 'more channel')}</p>" if more > 0 else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<p>{escape(in_words(history))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _numbers(values: FloatArray) -> list[str]:
    """Return the first, the last, the least and the greatest number; gaps count only where there is nothing else."""
    if not len(values):
        return [""] * 4
    known = values[~np.isnan(values)]
    shown = known if len(known) else values
    return [f"{number:.6g}" for number in (values[0], values[-1], shown.min(), shown.max())]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
