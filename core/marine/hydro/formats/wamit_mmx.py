"""NAME.mmx of WAMIT: gravity, ULEN, volume and centre of buoyancy of a single body."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

_NUMBER = r"([-+]?\d[\d.]*(?:[eEdD][-+]?\d+)?)"
_GRAVITY = re.compile(rf"Gravity:\s+{_NUMBER}\s+Length scale:\s+{_NUMBER}")
_BODIES = re.compile(r"NBODY\s*=\s*(\d+)")
_VOLUMES = re.compile(rf"Volumes \(VOLX,VOLY,VOLZ\):\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}")
_BUOYANCY = re.compile(rf"Center of Buoyancy \(Xb,Yb,Zb\):\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}")


def read_mmx(path: Path) -> dict[str, Any]:
    """Return what the file says by the names of options, in SI units; nothing if it is not there, or of several bodies."""
    if not path.is_file():
        return {}
    text = path.read_text(encoding="latin-1")
    bodies, scale = _BODIES.search(text), _GRAVITY.search(text)
    if scale is None or (bodies and int(bodies[1]) != 1):
        return {}
    found: dict[str, Any] = {"g": _number(scale[1]), "ulen": _number(scale[2])}
    volumes, buoyancy = _VOLUMES.search(text), _BUOYANCY.search(text)
    if volumes:
        found["volume"] = float(np.median([_number(each) for each in volumes.groups()]))
    if buoyancy:
        found["centre_of_buoyancy"] = np.array([_number(each) for each in buoyancy.groups()])
    return found


def _number(text: str) -> float:
    return float(text.replace("D", "e").replace("d", "e"))
