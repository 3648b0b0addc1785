"""What ``kingpost study`` prints: the plan of a study, and what its runs make together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import listed
from kingpost.cli.output import print_table

if TYPE_CHECKING:
    from kingpost.studies.planning import StudyPlan
    from kingpost.studies.worker import Worker

#: Bytes that the store and the table of cases take for a case beside its numbers, and a sample of a channel as text.
PER_CASE, PER_SAMPLE = 600, 14
#: Rows of a table that are shown.
SHOWN = 8


def duration(seconds: float) -> str:
    """Return a time in words: ``42 s``, ``3 min``, ``2.5 h``.

    >>> duration(42), duration(180), duration(9000), duration(400000)
    ('42 s', '3 min', '2.5 h', '4.6 days')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def plan_record(plan: StudyPlan, worker: Worker, on: str, workers: int | None) -> dict[str, Any]:
    """Return what a study will take, from one run that is timed."""
    from kingpost.studies.executor import cores

    case = plan.first_case()
    started = time.perf_counter()
    outcome = worker.run(case)
    seconds = time.perf_counter() - started
    at_once = workers or cores()
    study = plan.study
    count = plan.count
    grid = worker.simulation.grid
    whole = {"none": 0, "all": count}.get(study.keep.histories.which, study.keep.histories.count)
    store = count * (PER_CASE + 2 * 8 * len(outcome.numbers))
    histories = whole * (grid.samples + 1) * len(worker.simulation.channels) * PER_SAMPLE
    repeated = 2 * study.check.step_halving + whole
    return {
        "name": study.name,
        "model": study.model,
        "cases": count,
        "by": {sampler.name: sampler.count() for sampler in study.samplers},
        "seas_not_covered": [{"why": item.why, "part_of_time": item.weight} for item in plan.refused],
        "t_end_s": study.t_end,
        "step_s": grid.step,
        "samples": grid.samples + 1,
        "numbers_per_case": len(outcome.numbers),
        "on": on,
        "workers": at_once,
        "timed_run": {
            "case": dict(case.labels),
            "sea": case.sea,
            "cpu_s": outcome.cpu_s,
            "wall_s": seconds,
            "error": outcome.error,
            "outside_linear_theory": outcome.outside,
        },
        "estimated_cpu_s": seconds * (count + repeated),
        "estimated_wall_s": seconds * (count / at_once + repeated),
        "estimated_bytes": store + histories,
    }


def plan_rows(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the plan as a table."""
    timed = record["timed_run"]
    case = listed(f"{name} {value}" for name, value in timed["case"].items())
    by = " x ".join(f"{count} ({name})" for name, count in record["by"].items())
    rows = [
        ("study", f"{record['name']}, of {record['model']}"),
        ("runs", f"{record['cases']} = {by}"),
        ("each", f"{record['t_end_s']:g} s in steps of {record['step_s']:g} s, {record['numbers_per_case']} numbers kept"),
        ("one run", f"{timed['wall_s']:.3g} s ({timed['cpu_s']:.3g} s of CPU), of case {case}"),
        ("estimate", f"{duration(record['estimated_wall_s'])} on {record['workers']} workers ({record['on']})"),
        ("disk", f"{record['estimated_bytes'] / 1e6:.3g} MB"),
    ]
    if timed["error"]:
        rows.append(("failed", f"this run failed: {timed['error']}"))
    if timed["outside_linear_theory"]:
        rows.append(("outside", f"this run left linear theory: {timed['outside_linear_theory']}"))
    return rows


def print_summary(record: Mapping[str, Any], files: Sequence[str]) -> None:
    """Print what the runs of a study make together."""
    cases = record["cases"]
    rows = [
        ("study", f"{record['name']}, of {record['model']['name']}"),
        (
            "runs",
            f"{cases['done']} of {cases['planned']} done, {cases['failed']} failed, {cases['open']} open; "
            f"{duration(cases['cpu_s'])} of CPU",
        ),
    ]
    outside = cases["outside_linear_theory"]
    if outside:
        part = record["outside_linear_theory"]["part_of_time"]
        rows.append(("outside", f"{outside} runs left linear theory: {part:.3%} of the time is in no damage, life or extreme"))
    operability = record["operability"]
    if operability:
        parts = operability["parts"]
        calm = f", {parts['calm']:.2%} of it calm" if parts["calm"] else ""
        unknown = f"; {parts['unknown']:.2%} of the year has no result" if parts["unknown"] else ""
        rows.append(("workable", f"{operability['percent_of_year']:.4g} % of the year{calm}{unknown}"))
        rows += [("  beyond", f"{words}: {part:.2%} of the year") for words, part in operability["by_limit"].items() if part]
    rows += [("worst run", _worst(record))] if record["worst"]["runs"] else []
    rows += [("failed", f"{item['key']}: {item['error']}") for item in record["failed"][:3]]
    rows += [("outside", f"{item['key']}: {item['why']}") for item in record["outside_linear_theory"]["runs"][:3]]
    rows += [("step check", _step(item)) for item in record["step_check"]["runs"][:3]]
    print_table(rows)
    _print_damage(record)
    _print_extremes(record)
    print()
    print_table([("files", ", ".join(files))])


def _worst(record: Mapping[str, Any]) -> str:
    worst = record["worst"]["runs"][0]
    case = listed(f"{name} {value}" for name, value in worst["labels"].items())
    return f"{worst['key']} ({case}), by {record['worst']['by']}"


def _step(item: Mapping[str, Any]) -> str:
    if item["error"]:
        return f"{item['key']}: with half the step it fails: {item['error']}"
    return f"{item['key']}: half the step changes {item['number']} by {item['part']:.2%} of the largest such load"


def _print_damage(record: Mapping[str, Any]) -> None:
    if not record["damage"]:
        return
    header = ["HOT SPOT", "S-N CURVE", "DAMAGE/YEAR", "SEEDS +-", "DFF", "LIFE [years]", "MOST DAMAGE IN"]
    print()
    print_table([_damage_row(item) for item in record["damage"][:SHOWN]], header)
    _tell_of_more(len(record["damage"]) - SHOWN, "hot spots")


def _damage_row(item: Mapping[str, Any]) -> list[str]:
    error, life = item["damage_error"], item["life_years"]
    parts = item["cells"] or item["positions"]
    most = max(parts, key=lambda part: part["damage_per_year"], default=None)
    where = "-" if most is None else listed(f"{name} {value}" for name, value in most["labels"].items())
    share = most["damage_per_year"] / item["damage_per_year"] if most and item["damage_per_year"] else 0.0
    return [
        item["name"],
        item["curve"],
        f"{item['damage_per_year']:.5g}",
        "one seed" if error is None else f"{error:.2g}",
        f"{item['dff']:g}",
        "no damage" if life is None else f"{life:.4g}",
        f"{where} ({share:.0%})" if share else where,
    ]


def _print_extremes(record: Mapping[str, Any]) -> None:
    # Of each channel the side that goes farther, under the conditions in which it does.
    governing: dict[str, Mapping[str, Any]] = {}
    for item in _first_of_each_side(record["extremes"]):
        best = governing.get(item["channel"])
        if best is None or abs(item["mean"]) > abs(best["mean"]):
            governing[item["channel"]] = item
    if not governing:
        return
    header = ["EXTREME", "UNIT", "LARGEST", "MEAN", "SPREAD", "MOST PROBABLE IN 3 h (90 % confidence)", "IN"]
    print()
    print_table([_extreme_row(item) for item in list(governing.values())[: 2 * SHOWN]], header)
    _tell_of_more(len(governing) - 2 * SHOWN, "channels")


def _tell_of_more(count: int, what: str) -> None:
    """Say that a table was cut, if it was."""
    if count > 0:
        print(f"... and {count} more {what}; study.json holds them all")


def _first_of_each_side(extremes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for item in extremes:
        first.setdefault((item["channel"], item["side"]), item)
    return list(first.values())


def _extreme_row(item: Mapping[str, Any]) -> list[str]:
    expected = item["expected_3h"]
    where = listed(f"{name} {value}" for name, value in item["labels"].items()) if item["labels"] else "-"
    spread = item["standard_deviation"]
    said = item["note"] if expected is None else (
        f"{expected['most_probable']:.5g} ({expected['most_probable_low']:.4g} to {expected['most_probable_high']:.4g})"
    )  # fmt: skip
    return [
        f"{item['channel']} {item['side']}",
        item["unit"],
        f"{item['largest']:.5g}",
        f"{item['mean']:.5g}",
        "one seed" if spread is None else f"{spread:.3g}",
        said,
        where,
    ]
