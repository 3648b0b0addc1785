"""The files of the page, and those of reports that it uses: what is served under which path, as which type, with which rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import kingpost.report

FOLDER = Path(__file__).parent
#: Scripts and styles of reports, under ``report/``.
REPORT_FOLDER = Path(kingpost.report.__file__).parent
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: Nothing runs and nothing is loaded but what this server sends; no script or style inside the page itself.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_NAME = re.compile(r"[A-Za-z0-9_-]+\.(html|js|css|svg)")


@dataclass(frozen=True)
class Asset:
    """A file of the page."""

    path: Path
    media_type: str


def find_asset(path: str) -> Asset | None:
    """Return what is served under a path without its first slash; None where there is nothing.

    ``""`` is the page itself, ``report/NAME`` a script or a style of reports.
    """
    name = path or "index.html"
    of_report = name.startswith("report/")
    name = name.removeprefix("report/")
    found = (REPORT_FOLDER if of_report else FOLDER) / name
    if not _NAME.fullmatch(name) or (of_report and found.suffix not in (".js", ".css")) or not found.is_file():
        return None
    return Asset(found, TYPES[found.suffix])
