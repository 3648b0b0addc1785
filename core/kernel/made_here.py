"""Which files this user's installation has made itself on this machine: known by their digests, kept beside the kernels.

What a file says about its origin proves nothing; that its digest was written down when it was made does, as long as nobody else
can write there.
"""

from __future__ import annotations

import contextlib
import hashlib

from kingpost.kernel.cache_folder import cache_directory, made_by_us, who_else_can_write

FOLDER = "made-here"
#: Digests that are kept; the oldest go first.
MOST = 5000


def remember(content: bytes, name: str) -> None:
    """Write down that a file with this content is made here; where that cannot be done, it is simply not known later."""
    folder = cache_directory() / FOLDER
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        if who_else_can_write(folder):
            return
        (folder / hashlib.sha256(content).hexdigest()).write_text(f"{name}\n", encoding="utf-8")
        known = sorted(folder.iterdir(), key=lambda entry: entry.stat().st_mtime)
        for entry in known[: max(0, len(known) - MOST)]:
            entry.unlink()


def made_here(sha256: str) -> bool:
    """Say whether a file with this digest was made here."""
    entry = cache_directory() / FOLDER / sha256
    try:
        return entry.is_file() and not who_else_can_write(entry.parent) and made_by_us(entry)
    except OSError:
        return False
