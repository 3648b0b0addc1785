"""Print the oldest and the newest Python on this machine that Kingpost supports, other than the one that runs this."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 10)
_ASK = "import ensurepip, ssl, sys; print(*sys.version_info[:2], sys.executable)"


def candidates() -> list[str]:
    """Return programs that may be Pythons: on the path, and where pyenv keeps them."""
    on_path = [found for minor in range(OLDEST[1], 30) if (found := shutil.which(f"python3.{minor}"))]
    return [*on_path, *map(str, sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3")))]


def others() -> dict[tuple[int, int], str]:
    """Return the Pythons that answer, by version; those without pip and TLS cannot be used."""
    found: dict[tuple[int, int], str] = {}
    for program in candidates():
        try:
            answer = subprocess.run([program, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60).stdout
        except (OSError, subprocess.SubprocessError):
            continue  # a broken one, or pyenv's stand-in for a version that is not chosen
        major, minor, executable = answer.strip().split(" ", 2)
        found.setdefault((int(major), int(minor)), executable)
    own = sys.version_info[:2]
    return {version: path for version, path in sorted(found.items()) if version >= OLDEST and version != own}


if __name__ == "__main__":
    known = list(others().items())
    for (major, minor), executable in dict.fromkeys([*known[:1], *known[-1:]]):
        print(f"{major}.{minor} {executable}")
