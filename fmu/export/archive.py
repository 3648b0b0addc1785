"""FMU archives that are the same bytes for the same content."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from kingpost.base.files import write_whole
from kingpost.kernel.made_here import remember

#: The earliest time that a ZIP archive can hold.
EPOCH = (1980, 1, 1, 0, 0, 0)
#: Files that a system must be able to load directly.
BINARIES = (".so", ".dll", ".dylib")


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of ``files``, modelDescription.xml first, the others by name, all with the same time."""
    buffer = io.BytesIO()
    names = sorted(files, key=lambda name: (name != "modelDescription.xml", name))
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name in names:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on whatever system this runs
            entry.external_attr = (0o100755 if name.endswith(BINARIES) else 0o100644) << 16
            target.writestr(entry, files[name])
    return buffer.getvalue()


def write_archive(path: Path, files: Mapping[str, bytes]) -> int:
    """Write an archive, whole or not at all, and return its size in bytes; its digest is remembered as that of one of ours."""
    data = archive(files)

    def write(beside: Path) -> None:
        beside.write_bytes(data)

    write_whole(path, write)
    remember(data, path.name)
    return len(data)
