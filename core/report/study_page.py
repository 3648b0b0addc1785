"""A study as one HTML file: its record and its runs as data, shown by scripts and styles of reports and some of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kingpost.base.transactions import Fill
from kingpost.report.content import plain
from kingpost.report.page import render

#: Modules in the order in which they are joined; what some of them import for reports of runs alone is left out.
SCRIPTS = (
    *("numbers.js", "clock.js", "samples.js", "data.js", "plot.js", "charts.js", "tables.js", "controls.js", "sections.js"),
    *("study_map.js", "study_runs.js", "study_extremes.js", "study_sections.js", "study_main.js"),
)
STYLES = ("page.css", "parts.css", "study.css")
#: A study has no time of its own, and no channels over it; the scripts of reports ask for some.
NO_TIME = {"time": {"start": 0.0, "step": 1.0, "count": 1}, "span": [0.0, 1.0], "series": [], "reduction": {"samples": 2}}


def study_file(record: Mapping[str, Any], runs: Mapping[str, Any]) -> Fill:
    """Return what fills a file with the page of a study.

    Parameters
    ----------
    record
        What ``study.json`` holds.
    runs
        The runs in columns: ``columns`` (name, unit, kind), ``rows``, and a ``note`` on those that were left out.

    """
    page = render(study_content(record, runs), SCRIPTS, STYLES).encode("utf-8", errors="replace")
    return lambda path: _fill(path, page)


def _fill(path: Path, page: bytes) -> None:
    path.write_bytes(page)


def study_content(record: Mapping[str, Any], runs: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the page shows."""
    return {
        **NO_TIME,
        "title": str(record["name"]),
        "facts": _facts(record),
        "outcome": "",
        "warnings": list(record["warnings"]),
        "study": plain(record),
        "runs": plain(runs),
    }


def _facts(record: Mapping[str, Any]) -> list[list[str]]:
    """Return the head of the page as pairs of words."""
    cases = record["cases"]
    left = f", {cases['failed']} failed" if cases["failed"] else ""
    left += f", {cases['outside_linear_theory']} outside linear theory" if cases["outside_linear_theory"] else ""
    unrun = f", {cases['open']} not run" if cases["open"] else ""
    facts = [
        ["Model", str(record["model"]["name"])],
        ["Runs", f"{cases['done']} of {cases['planned']} done{left}{unrun}, {record['t_end_s']:g} s each"],
    ]
    if cases["outside_linear_theory"]:
        part = record["outside_linear_theory"]["part_of_time"]
        facts.append(["Not counted", f"{100 * part:.3g} % of the time, in which runs left linear theory"])
    if record["skip_s"]:
        facts.append(["Left out", f"the first {record['skip_s']:g} s of every run, from all numbers"])
    operability = record["operability"]
    if operability:
        parts = operability["parts"]
        calm = f", calm {100 * parts['calm']:.3g} % included" if parts["calm"] else ""
        unknown = f"; {100 * parts['unknown']:.3g} % of the year has no result" if parts["unknown"] else ""
        facts.append(["Workable", f"{operability['percent_of_year']:.4g} % of the year{calm}{unknown}"])
    if record["damage"]:
        worst = record["damage"][0]
        life = "no damage" if worst["life_years"] is None else f"{worst['life_years']:.4g} years with DFF {worst['dff']:g}"
        facts.append(["Shortest life", f"{life}, at {worst['name']}"])
    facts.append(
        [
            "Computed",
            f"by kingpost {record['kingpost']}, written {record['written'].replace('T', ' ').replace('+00:00', ' UTC')}",
        ]
    )
    return facts
