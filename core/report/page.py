"""One HTML file that holds a report: text, data, styles and scripts, and asks for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.files import write_whole
from kingpost.base.transactions import Fill
from kingpost.fatigue.equivalent import SLOPES
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.sn import CurveSet
from kingpost.report.content import Options, make_content
from kingpost.results.history import History

FOLDER = Path(__file__).parent
#: Modules, joined into one script in this order: each imports only from what stands before it.
SCRIPTS = (
    "numbers.js",
    "clock.js",
    "samples.js",
    "data.js",
    "plot.js",
    "curves.js",
    "scene3d.js",
    "water.js",
    "machine_marks.js",
    "machine.js",
    "charts.js",
    "tables.js",
    "controls.js",
    "sections.js",
    "analysis.js",
    "hotspots.js",
    "optimal.js",
    "main.js",
)
STYLES = ("page.css", "parts.css")


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: Path
    #: Size in bytes.
    size: int
    #: Sentences on what was left out, and why.
    notes: tuple[str, ...]


def write_report(
    history: History,
    path: str | Path,
    *,
    title: str | None = None,
    skip: float = 0.0,
    slopes: tuple[float, ...] = SLOPES,
    joints: tuple[str, ...] | None = None,
    spots: Sequence[HotSpot] = (),
    curves: CurveSet | None = None,
    accept: tuple[str, ...] = (),
) -> Report:
    """Write a report on ``history`` as one HTML file that needs no network.

    Parameters
    ----------
    history
        A result, with or without joint loads and poses of bodies.
    path
        The file to write.
    title
        Heading of the page; the model's name by default.
    skip
        Seconds at the beginning that extremes, spectra, roses and cycles leave out. Plots show them shaded.
    slopes
        Slopes m of S-N curves for damage-equivalent loads.
    joints
        The joints whose loads are shown; all by default.
    spots, curves
        Hot spots whose damage is shown, and S-N curves; the shipped ones by default.
    accept
        Doubts about the loads that do not stop the count of damage (:class:`kingpost.fatigue.CountingOptions`).

    Raises
    ------
    KingpostError
        If nothing is left after ``skip``, or a joint has no loads.
    FileError
        If the file cannot be written.

    """
    content = make_content(history, Options(title, skip, tuple(slopes), joints, tuple(spots), curves, accept))
    page = _encoded(content)
    path = Path(path)
    write_whole(path, lambda beside: _fill(beside, page))
    return Report(path, len(page), left_out(content))


def report_file(history: History) -> Fill:
    """Return what fills a file with the usual report on ``history``; what cannot be reported is refused here."""
    page = _encoded(make_content(history, Options()))
    return lambda path: _fill(path, page)


def _encoded(content: dict[str, Any]) -> bytes:
    return render(content).encode("utf-8", errors="replace")


def _fill(path: Path, page: bytes) -> None:
    path.write_bytes(page)


def left_out(content: dict[str, Any]) -> tuple[str, ...]:
    """Return why sections of a report are missing."""
    parts = [content["scene"], content["spectra"], content["cycles"]]
    return (*content["notes"], *(part["note"] for part in parts if part.get("note")))


def render(content: dict[str, Any], scripts: tuple[str, ...] = SCRIPTS, styles: tuple[str, ...] = STYLES) -> str:
    """Return the page. Text from the model reaches it as data only, never as markup."""
    script = "".join(f"// --- {name} ---\n{joined(_asset(name))}\n" for name in scripts)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    style = "".join(_asset(name) for name in styles)
    data = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":  # so that no text in the data can end its element
        data = data.replace(character, f"\\u{ord(character):04x}")
    # Nothing may be loaded, and no script or style may run but the ones whose digests are named.
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    pieces = {
        "title": html.escape(content["title"]),
        "policy": html.escape(policy),
        "style": style,
        "script": script,
        "data": data,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match[1]], _asset("template.html"))


def joined(module: str) -> str:
    """Return a module as a part of one script: what it imports stands before it there, and what it exports is just a name."""
    return re.sub(
        r"^export (?=const|let|class|function|async)", "", re.sub(r"^import [^;]*;\n", "", module, flags=re.M), flags=re.M
    )


def _asset(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
