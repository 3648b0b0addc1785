"""How large an archive may become when it is unpacked: a small file from somebody else must not fill the disk or the memory."""

from __future__ import annotations

import lzma
import os
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath

from kingpost.base.errors import FileError, KingpostError, listed
from kingpost.base.text_files import possible

#: The variable of the environment that raises limits, for example ``size=8e9,count=200000``.
VARIABLE = "KINGPOST_ARCHIVE_LIMITS"
#: Below this many bytes the ratio does not matter: zeros and XML pack a thousand times smaller.
HARMLESS = 100e6


#: The records at the end of an archive, those of large ones, and the bytes in which they lie, with the longest comment.
END, LARGE_END = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q")
TAIL = 65536 + 22 + 20 + 56
#: Bytes for each member in the list of them.
ENTRY = 150
#: Letters of a path inside an archive.
LONGEST_PATH = 1000
#: Letters of a name that are shown.
SHOWN = 80
#: The bit of an entry that says so.
ENCRYPTED = 1
#: What reading a member of a damaged archive can end in: besides errors of the container, those of its ways to pack (deflate,
#: bzip2, LZMA), and of names and sizes that cannot be.
DAMAGED: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    OverflowError,
    MemoryError,
)


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


def check_stranger(path: Path) -> None:
    """Refuse an archive of which a member is made to do harm where it is unpacked, or cannot be unpacked everywhere.

    None of this does harm here, for such members are left out or become plain files; but nobody makes them without intent, so
    an archive from a stranger is better refused as a whole. What is no archive is left to those who read it.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            check_limits(archive, path)
            for entry in archive.infolist():
                fault = _member_fault(entry)
                if fault:
                    raise FileError(f"'{path.name}' is refused: its member {_shown(entry.orig_filename)} {fault}")
    except DAMAGED as error:
        raise FileError(f"'{path.name}' cannot be read as the archive that it should be: {error}") from None


def _check_directory(path: Path) -> None:
    """Refuse an archive whose list of members alone would fill the memory; that is read before they can be counted."""
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - TAIL))
        tail = file.read()
    # Where Python looks, too: at the very end, or before a comment.
    place = (
        len(tail) - END.size if tail[-END.size :].startswith(b"PK\5\6") and tail.endswith(b"\0\0") else tail.rfind(b"PK\5\6")
    )
    if place < 0 or len(tail) - place < END.size:
        return
    size = END.unpack_from(tail, place)[5]
    large = tail.rfind(b"PK\6\6")
    if 0 <= large <= len(tail) - LARGE_END.size:
        size = max(size if size != 0xFFFFFFFF else 0, LARGE_END.unpack_from(tail, large)[8])
    most = ENTRY * limits_in_force().count
    if size > most:
        raise FileError(
            f"'{path.name}' is refused: the list of its members has {in_megabytes(size)}; the limit is {in_megabytes(most)}, "
            f"which is enough for {limits_in_force().count:.0f} members"
        )


def _member_fault(entry: zipfile.ZipInfo) -> str:
    # Python's reader cuts a name off at a NUL.
    name = entry.orig_filename
    kind = entry.external_attr >> 16
    if "\0" in name:
        return "has a NUL in its name"
    # Old tools write backslashes between folders; such members are left out, but do not make a stranger of their maker.
    fault = path_fault(name.replace("\\", "/"))
    if fault:
        return f"has {fault} in its name"
    if len(name) > LONGEST_PATH or not all(possible(part) for part in name.split("/")):
        return f"has a name that is too long: file systems take 255 bytes, and {LONGEST_PATH} letters are enough for a path"
    if stat.S_ISLNK(kind):
        return "is a symbolic link; an FMU holds files and folders only"
    if stat.S_IFMT(kind) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is neither a file nor a folder"
    if entry.flag_bits & ENCRYPTED:
        return "is encrypted"
    return ""


def _shown(name: str) -> str:
    """Return a name so that it can be printed: no control characters, and no more than the beginning of a long one."""
    text = repr(name)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}...'"


def path_fault(name: str) -> str:
    """Return what is wrong with the path of an archive member, or an empty string."""
    if "\\" in name:
        return "a backslash"
    if name.startswith("/") or ":" in name.split("/")[0]:
        return "an absolute path"
    if ".." in PurePosixPath(name).parts:
        return "a way out of its folder (..)"
    return ""


def in_megabytes(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e6:.4g} MB"


def _rounded_up(number: float) -> str:
    return f"{number * 1.1:.2g}"
