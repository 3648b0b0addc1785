"""A summary as plain data: what ``study.json`` holds, and the page shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kingpost.fatigue.records import DEL_FORMULA, LIFE_FORMULA
from kingpost.studies.case_table import CELL, CaseTable
from kingpost.studies.store import OPEN
from kingpost.studies.summary.damage import Part, SpotDamage
from kingpost.studies.summary.extremes import FRACTILE, Extreme
from kingpost.studies.summary.operability import Operability, Share
from kingpost.studies.summary.summary import Summary
from kingpost.studies.summary.worst import TOLD

#: Failed cases that are told one by one.
MOST_FAILED = 200
CONFIDENCE = "limits of 90 % confidence, by simulation for so many values"


def summary_record(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data; numbers that do not exist are null."""
    table = summary.table
    return finite_only(
        {
            "cases": _counts(table),
            "time": {
                "planned": table.weights.planned,
                "without_results": table.weights.uncovered,
                "outside_linear_theory": table.weights.left_out,
                "calm": summary.calm,
            },
            "operability": _operability(summary.operability),
            "damage": [_spot(item) for item in summary.damage],
            "damage_rules": {
                "life": LIFE_FORMULA,
                "rule": "Miner; seeds of the same conditions are averaged, weights added up",
            },
            "equivalent_ranges": {
                "formula": DEL_FORMULA,
                "f_ref_Hz": summary.study.keep.f_ref,
                "time": "one year",
                "channels": [
                    {
                        "channel": item.channel,
                        "unit": summary.units.get(item.channel, ""),
                        "ranges": [{"slope": part.slope, "range": part.range} for part in item.equivalent_ranges],
                    }
                    for item in summary.spectra
                ],
            },
            "extremes": [_extreme(item, summary.units) for item in summary.extremes],
            "extremes_rules": {
                "distribution": "Gumbel's, by maximum likelihood, of the largest value of each run or block",
                "most_probable": "mode of the largest value in 3 hours: location + scale ln(3 h / length of a run or block)",
                "fractile": FRACTILE,
                "confidence": CONFIDENCE,
            },
            "worst": {"by": summary.ranking.by, "runs": _worst(summary)},
            "step_check": {
                "limit": summary.study.check.limit,
                "runs": [
                    {
                        "key": item.key,
                        "error": item.error,
                        "number": item.name,
                        "before": item.before,
                        "after": item.after,
                        "part": item.part,
                    }
                    for item in summary.step_changes
                ],
            },
            "failed": list(_failed(table)),
            "outside_linear_theory": _outside(table),
            "warnings": list(summary.warnings),
        }
    )


def _counts(table: CaseTable) -> dict[str, Any]:
    done, failed, outside = (int(mask.sum()) for mask in (table.done, table.failed, table.left_theory))
    unrun = sum(state == OPEN for state in table.state)
    cpu = table.cpu_s[~_is_nan(table.cpu_s)]
    counts = {"planned": len(table), "done": done, "failed": failed, "outside_linear_theory": outside, "open": unrun}
    return {**counts, "cpu_s": float(cpu.sum())}


def _is_nan(values: Any) -> Any:
    return values != values


def _operability(found: Operability | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "limits": [limit.record() for limit in found.limits],
        "percent_of_year": found.percent,
        "parts": {
            "workable": found.workable,
            "beyond": found.beyond,
            "outside_linear_theory": found.outside,
            "calm": found.calm,
            "unknown": found.unknown,
        },
        "by_limit": found.by_limit,
        "cells": [_share(item) for item in found.cells],
        "positions": [_share(item) for item in found.positions],
    }


def _share(item: Share) -> dict[str, Any]:
    return {
        "labels": item.labels,
        "weight": item.weight,
        "within": item.within,
        "runs": item.runs,
        "done": item.done,
        "failed": item.failed,
        "outside_linear_theory": item.outside,
        "limiting": item.limiting,
    }


def _spot(item: SpotDamage) -> dict[str, Any]:
    return {
        "name": item.spot.name,
        "curve": item.spot.curve,
        "dff": item.spot.dff,
        "damage_per_year": item.damage_per_year,
        "damage_error": item.error,
        "life_years": item.life_years,
        "largest_range_Pa": item.largest_range,
        "cycles_per_year": item.cycles_per_year,
        "cells": [_part(part) for part in item.cells],
        "headings": [_part(part) for part in item.headings],
        "positions": [_part(part) for part in item.positions],
    }


def _part(item: Part) -> dict[str, Any]:
    return {"labels": item.labels, "weight": item.weight, "damage_per_year": item.added, "if_always": item.alone}


def _extreme(item: Extreme, units: Mapping[str, str]) -> dict[str, Any]:
    expected = item.expected()
    fit = item.fit and {"location": item.fit.location, "scale": item.fit.scale, "values": item.fit.count}
    return {
        "channel": item.channel,
        "unit": units.get(item.channel, ""),
        "side": item.side,
        "labels": item.labels,
        "weight": item.weight,
        "values": item.values.tolist(),
        "duration_s": item.duration,
        "mean": item.mean,
        "standard_deviation": item.spread,
        "largest": item.largest,
        "worst": item.worst,
        "fit": fit,
        "expected_3h": expected and {key: value for key, value in vars(expected).items() if key != "time"},
        "note": item.note,
    }


def _worst(summary: Summary) -> list[dict[str, Any]]:
    table, ranking = summary.table, summary.ranking
    return [case_record(table, i) | {"value": float(ranking.badness[i])} for i in ranking.worst(TOLD)]


def case_record(table: CaseTable, i: int) -> dict[str, Any]:
    """Return what a case is."""
    return {
        "key": table.keys[i],
        "labels": {name: column[i] for name, column in table.labels.items() if column[i] is not None},
        "sea": table.seas[i],
    }


def _failed(table: CaseTable) -> Iterable[dict[str, Any]]:
    places = [i for i, error in enumerate(table.error) if error]
    return [case_record(table, i) | {"error": table.error[i]} for i in places[:MOST_FAILED]]


def _outside(table: CaseTable) -> dict[str, Any]:
    """Return the cases that left linear theory, and what part of the time they stand for, in all and by sea state."""
    places = np.flatnonzero(table.left_theory).tolist()
    groups = table.groups(CELL) if table.has_cells else table.groups(())
    lost = groups.sums(table.weights.outside)
    return {
        "part_of_time": table.weights.left_out,
        "cells": [
            {"labels": groups.labelled(i), "part_of_time": float(lost[i])} for i in sorted(set(groups.of[places].tolist()))
        ],
        "runs": [case_record(table, i) | {"why": table.outside[i]} for i in places[:MOST_FAILED]],
    }


def finite_only(data: Any) -> Any:
    """Return data with null in place of numbers that are not finite, for which JSON has no words."""
    if isinstance(data, Mapping):
        return {str(key): finite_only(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite_only(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
