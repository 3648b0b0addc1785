"""The runs of a study, read from its store while it runs or later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.fmu.service.errors import ServiceError, not_found
from kingpost.studies.case_table import CELL, CaseTable
from kingpost.studies.limits import Limit
from kingpost.studies.running import SPEC, read_cases
from kingpost.studies.store import Store
from kingpost.studies.summary.operability import find_operability


def cases_of(folder: Path, cell: str, limit: int) -> dict[str, Any]:
    """Return the cases whose labels are those of a cell, such as ``Hs=1.5,Tp=8``, with what came of them."""
    if not Store.exists(folder):
        raise not_found("there is no study in this result, or not yet")
    wanted = _labels(cell)
    found: list[dict[str, Any]] = []
    count = 0
    with Store(folder) as store:
        for entry in store.stored():
            if not _fits(entry.case.labels, wanted):
                continue
            count += 1
            if len(found) < limit:
                found.append(_view(entry))
    return {"cases": found, "count": count}


def map_of(folder: Path) -> dict[str, Any]:
    """Return the sea states of a study and what came of their runs so far."""
    if not Store.exists(folder):
        raise not_found("there is no study in this result, or not yet")
    with Store(folder) as store:
        counts, spec, table = store.counts(), store.fact(SPEC) or {}, read_cases(store)
    limits = [Limit(channel, **values) for channel, values in spec.get("limits", {}).items()]
    held = find_operability(table, limits) if len(table) else None
    if held is not None:
        cells = [_cell(asdict(share)) for share in held.cells]
    else:
        cells = _cells_without_limits(table) if len(table) and table.has_cells else []
    return {
        "planned": counts.planned,
        "done": counts.done,
        "failed": counts.failed,
        "outside": counts.outside,
        "limits": [verdict.words for limit in limits for verdict in limit.judged(lambda name: np.zeros(0))],
        "cells": cells,
    }


def _cell(share: dict[str, Any]) -> dict[str, Any]:
    return {**share, "within": share["within"] if math.isfinite(share["within"]) else None}


def _cells_without_limits(table: CaseTable) -> list[dict[str, Any]]:
    groups = table.groups(CELL)
    ones = np.ones(len(table))
    weight, *counts = (
        groups.sums(column) for column in (table.weight, ones, table.done * ones, table.failed * ones, table.left_theory * ones)
    )
    names = ("runs", "done", "failed", "outside")
    return [
        {
            "labels": groups.labelled(i),
            "weight": float(weight[i]),
            **{name: int(count[i]) for name, count in zip(names, counts, strict=True)},
        }
        for i in range(len(groups))
    ]


def _view(entry: Any) -> dict[str, Any]:
    case, outcome = entry.case, entry.outcome
    numbers = {} if outcome is None else outcome.numbers
    return {
        "key": case.key,
        "labels": dict(case.labels),
        "settings": dict(case.settings),
        "sea": case.sea,
        "weight": case.weight,
        "state": entry.state,
        "error": None if outcome is None else outcome.error or None,
        "cpu_s": None if outcome is None else outcome.cpu_s,
        "numbers": {name: value if math.isfinite(value) else None for name, value in numbers.items()},
    }


def _labels(cell: str) -> dict[str, str]:
    wanted = {}
    for word in filter(None, map(str.strip, cell.split(","))):
        name, equals, value = word.partition("=")
        if not equals:
            raise ServiceError(f"cell: '{word[:60]}' is not NAME=VALUE; write for example Hs=1.5,Tp=8")
        wanted[name.strip()] = value.strip()
    return wanted


def _fits(labels: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(name in labels and _same(labels[name], value) for name, value in wanted.items())


def _same(label: Any, value: str) -> bool:
    try:
        return abs(float(label) - float(value)) <= 1e-9 * max(1.0, abs(float(value)))
    except (TypeError, ValueError):
        return str(label) == value
