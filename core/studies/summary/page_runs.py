"""The runs of a study in the columns that its page shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.studies.case_table import CELL, CaseTable
from kingpost.studies.limits import HELD
from kingpost.studies.reducer import number_name
from kingpost.studies.summary.damage import DAMAGE, spot_number
from kingpost.studies.summary.record import finite_only
from kingpost.studies.summary.summary import Summary, peak_channels

#: Runs that a page holds; of more, the worst of each sea state.
MOST_RUNS = 20_000
#: Channels whose peaks it lists where no limit or hot spot says what counts.
MOST_PEAKS = 6


def page_runs(summary: Summary, most: int = MOST_RUNS) -> dict[str, Any]:
    """Return columns with name, unit and kind, the rows, the sea states, and a note on runs that were left out."""
    table = summary.table
    chosen = _chosen(summary, most)
    left = len(table) - len(chosen)
    numbers = _numbers(summary)
    columns = [("key", "", "key"), *((name, "", "label") for name in table.labels), ("state", "", "state")]
    columns += [("weight", "1", "weight"), *((title, unit, "number") for title, unit, _ in numbers)]
    values = [values.tolist() for _, _, values in numbers]
    rows = [
        [
            table.keys[i],
            *(column[i] for column in table.labels.values()),
            table.state[i],
            float(table.weight[i]),
            *(column[i] for column in values),
        ]
        for i in chosen.tolist()
    ]
    return {
        "columns": [{"name": name, "unit": unit, "kind": kind} for name, unit, kind in columns],
        "rows": finite_only(rows),
        "cells": _cells(table),
        "note": f"{left} of {len(table)} runs are in the table of cases only; the worst ones are here." if left else "",
    }


def _cells(table: CaseTable) -> list[dict[str, Any]]:
    if not table.has_cells:
        return []
    groups = table.groups(CELL)
    weights = groups.sums(table.weight)
    return [{**groups.labelled(i), "weight": float(weights[i])} for i in range(len(groups))]


def _chosen(summary: Summary, most: int) -> NDArray[np.int64]:
    """Return which runs are shown: all, or as many of each sea state as there is room for, the worst first."""
    table = summary.table
    if len(table) <= most:
        return np.arange(len(table))
    groups = table.groups(CELL) if table.has_cells else table.groups(())
    badness = np.where(np.isnan(summary.ranking.badness), -np.inf, summary.ranking.badness)
    room = max(1, most // len(groups))
    order = np.argsort(-badness, kind="stable")
    taken = np.zeros(len(groups), dtype=np.int64)
    kept = []
    for i in order.tolist():
        if taken[groups.of[i]] < room:
            taken[groups.of[i]] += 1
            kept.append(i)
    return np.sort(np.array(kept, dtype=np.int64))


def _numbers(summary: Summary) -> list[tuple[str, str, Any]]:
    """Return title, unit and values of the numbers that are shown."""
    table, study = summary.table, summary.study
    if not table.names:
        return []
    found: dict[str, tuple[str, str, Any]] = {}
    if summary.operability is not None:
        found["excess"] = ("excess over limits", "1", summary.operability.excess)
    if study.keep.worst_by:
        found[study.keep.worst_by] = (study.keep.worst_by, "", table.numbers(study.keep.worst_by))
    for limit in study.limits:
        for word in limit.levels:
            name = number_name(limit.channel, HELD[word])
            found[name] = (name, summary.units.get(limit.channel, ""), table.numbers(name))
    for item in summary.damage[:3]:
        name = spot_number(item.spot.name, DAMAGE)
        found[name] = (f"damage per year {item.spot.name}", "1", table.numbers(name))
    for channel in peak_channels(table)[:MOST_PEAKS]:
        low, high = (table.numbers(number_name(channel, side)) for side in ("min", "max"))
        title = f"|{channel}| max"
        found.setdefault(title, (title, summary.units.get(channel, ""), np.maximum(np.abs(low), np.abs(high))))
    return list(found.values())
