"""Files that are either there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from kingpost.base.errors import FileError

#: Fills a file that does not exist yet.
Fill: TypeAlias = Callable[[Path], None]


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
    """Fill files out of sight; move them into ``folder``, in their order, once all are complete. If one fails, none is left."""
    name = next(iter(files))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".incomplete-", dir=folder))
    except OSError as error:
        raise FileError(f"'{folder / name}' cannot be written: {error}") from None
    try:
        for name, write in files.items():
            write(beside / name)
        for name in files:
            (beside / name).replace(folder / name)
    except OSError as error:
        raise FileError(f"'{folder / name}' cannot be written: {error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def json_file(data: Any) -> Fill:
    """Return what fills a file with ``data`` as JSON; what JSON has no word for is refused here, before any file is written."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def write_json(path: Path, data: Any) -> None:
    """Write ``data`` as JSON, whole or not at all."""
    write_whole(path, json_file(data))
