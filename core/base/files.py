"""Files that are either there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError
from kingpost.base.transactions import Fill, exchange

#: Longer names than this many bytes are cut; file systems take 255, and others put something before or after it.
LONGEST_NAME = 120
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return a name for a file or folder that stays where it is put, on any machine, whatever a thing is called.

    >>> safe_name("../../crane: heave/roll")
    'crane- heave-roll'
    """
    kept = "".join(letter if letter.isalnum() or letter in " -_.,+()" else "-" for letter in name).strip(" .-")
    if len(kept.encode()) > LONGEST_NAME:
        # Two long names that differ at their ends stay two.
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        kept = f"{kept.encode()[: LONGEST_NAME - 9].decode(errors='ignore').strip(' .-')}-{digest}"
    return f"_{kept}" if _RESERVED.match(kept) else kept or "unnamed"


def write_whole(path: Path, write: Fill) -> None:
    """Let ``write`` fill a file beside ``path`` and move it into place once it is complete."""
    write_together(path.parent, {path.name: write})


def write_together(folder: Path, files: Mapping[str, Fill]) -> None:
    """Fill files out of sight and exchange all of them at one point, on disk. If one fails, all stay as they were."""
    at_work = next(iter(files))

    def noted(name: str, fill: Fill) -> Fill:
        def write(path: Path) -> None:
            nonlocal at_work
            at_work = name
            fill(path)

        return write

    try:
        exchange(folder, {name: noted(name, fill) for name, fill in files.items()})
    except OSError as error:
        raise FileError(f"'{folder / at_work}' cannot be written: {error}") from None


def json_file(data: Any) -> Fill:
    """Return what fills a file with ``data`` as JSON; what JSON has no word for is refused here, before any file is written."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def write_json(path: Path, data: Any) -> None:
    """Write ``data`` as JSON, whole or not at all."""
    write_whole(path, json_file(data))
