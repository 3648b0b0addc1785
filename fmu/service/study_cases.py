"""The runs of a study, read from its store while it runs or later."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kingpost.fmu.service.errors import ServiceError, not_found
from kingpost.studies.store import STORE


def cases_of(folder: Path, cell: str, limit: int) -> dict[str, Any]:
    """Return the cases whose labels are those of a cell, such as ``Hs=1.5,Tp=8``, with what came of them."""
    path = folder / STORE
    if not path.is_file():
        raise not_found("there is no study in this result, or not yet")
    wanted = _labels(cell)
    with closing(sqlite3.connect(path, timeout=10.0)) as db:
        layouts = {row[0]: json.loads(row[1]) for row in db.execute("select id, names from layouts")}
        rows = db.execute(
            "select c.key, c.settings, c.sea, c.labels, c.weight, o.layout, o.numbers, o.error, o.cpu_s from cases c "
            "left join outcomes o on o.key = c.key order by c.place"
        )
        found, count = [], 0
        for key, settings, sea, labels, weight, layout, numbers, error, cpu in rows:
            if not _fits(json.loads(labels), wanted):
                continue
            count += 1
            if len(found) < limit:
                state = "open" if error is None else "failed" if error else "done"
                values = {} if not numbers else dict(zip(layouts[layout], struct.unpack(f"<{len(numbers) // 8}d", numbers)))
                found.append(
                    {
                        **{"key": key, "labels": json.loads(labels), "settings": json.loads(settings), "sea": sea},
                        **{"weight": weight, "state": state, "error": error or None, "cpu_s": cpu},
                        "numbers": {name: value if value - value == 0 else None for name, value in values.items()},
                    }
                )
    return {"cases": found, "count": count}


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
