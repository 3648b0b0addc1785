"""How large an archive may become when it is unpacked: a small file from somebody else must not fill the disk or the memory."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

from kingpost.base.errors import FileError, KingpostError, listed

#: The variable of the environment that raises limits, for example ``size=8e9,count=200000``.
VARIABLE = "KINGPOST_ARCHIVE_LIMITS"
#: Below this many bytes the ratio does not matter: zeros and XML pack a thousand times smaller.
HARMLESS = 100e6


@dataclass(frozen=True)
class ArchiveLimits:
    """The most that an archive may hold."""

    #: Bytes of all members, unpacked.
    size: float = 4e9
    #: Members.
    count: float = 100_000
    #: Bytes unpacked for each byte of the archive.
    ratio: float = 200.0


def limits_in_force() -> ArchiveLimits:
    """Return the limits, as the environment has changed them."""
    text = os.environ.get(VARIABLE, "")
    names = [field.name for field in fields(ArchiveLimits)]
    changes = {}
    for word in filter(None, map(str.strip, text.split(","))):
        name, _, number = (part.strip() for part in word.partition("="))
        try:
            changes[name] = float(number)
        except ValueError:
            changes[name] = 0.0
        if name not in names or not changes[name] > 0:
            raise KingpostError(f"{VARIABLE}: '{word}' is no limit; write {listed(names)} as in size=8e9,count=200000")
    return replace(ArchiveLimits(), **changes)


def check_limits(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive beyond the limits, before anything of it is read; no member yields more than it announces here."""
    limits = limits_in_force()
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    packed = max(1, path.stat().st_size)
    found = {"count": len(entries), "size": size, "ratio": size / packed if size > HARMLESS else 0.0}
    words = {
        "count": f"holds {len(entries)} members",
        "size": f"would unpack to {in_megabytes(size)}",
        "ratio": f"would unpack from {in_megabytes(packed)} to {in_megabytes(size)}, {size / packed:.0f} times as much",
    }
    allowed = {
        "count": f"{limits.count:.0f}",
        "size": in_megabytes(limits.size),
        "ratio": f"{limits.ratio:g} times (above {in_megabytes(HARMLESS)})",
    }
    for name, number in found.items():
        if number > getattr(limits, name):
            raise FileError(
                f"'{path}' {words[name]}; the limit is {allowed[name]}. If you trust where it comes from, raise the limit: set "
                f"{VARIABLE} to {name}={_rounded_up(number)}"
            )


def in_megabytes(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e6:.4g} MB"


def _rounded_up(number: float) -> str:
    return f"{number * 1.1:.2g}"
