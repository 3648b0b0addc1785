"""Nemoh.cal, Mesh/KH.dat and Mesh/Hydrostatics.dat of NEMOH 2 and 3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError
from kingpost.base.text_files import read_text
from kingpost.marine.hydro.formats.columns import numbers_in

#: A hull has no more degrees of freedom, and a file no more bodies, than this.
MOST = 200
_CENTRES = re.compile(r"=\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*-\s*\w+\s*=\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)")
_VOLUME = re.compile(r"Displacement\s*=\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True)
class Body:
    """A body: which of the six motions each of its degrees of freedom and of its forces is, and the point they are about."""

    name: str
    motions: tuple[int, ...]
    forces: tuple[int, ...]
    reference: tuple[float, float, float] | None


@dataclass(frozen=True)
class Calculation:
    """What Nemoh.cal says."""

    density: float
    gravity: float
    #: Infinite for deep water, which the file writes as 0.
    depth: float
    #: Where the phase of waves is counted from, m.
    measured_at: tuple[float, float]
    bodies: tuple[Body, ...]


def read_cal(path: Path) -> Calculation:
    """Return the content of Nemoh.cal."""
    lines = _Lines(path)
    lines.skip()
    density, gravity, depth = (lines.numbers(1)[0] for _ in range(3))
    x, y = lines.numbers(2)
    lines.skip()
    count = lines.count("bodies")
    bodies = tuple(_body(lines) for _ in range(count))
    return Calculation(density, gravity, depth if depth > 0 else float("inf"), (x, y), bodies)


def read_stiffness(path: Path) -> FloatArray:
    """Return the 6 x 6 numbers of KH.dat."""
    rows = [numbers_in(line) for line in read_text(path).splitlines() if line.strip()]
    if len(rows) != 6 or any(row is None or len(row) != 6 for row in rows):
        raise FileError(f"'{path}' does not hold six rows of six numbers")
    return np.array(rows, dtype=float)


def read_hydrostatics(path: Path) -> tuple[FloatArray, FloatArray, float | None]:
    """Return centre of buoyancy, centre of gravity and displaced volume of Hydrostatics.dat."""
    text = read_text(path)
    centres = _CENTRES.findall(text)
    if len(centres) < 3:
        raise FileError(f"'{path}' does not say XF, XG, YF, YG, ZF and ZG in three lines")
    volume = _VOLUME.search(text)
    buoyancy, gravity = np.array(centres[:3], dtype=float).T
    return buoyancy, gravity, float(volume[1]) if volume else None


class _Lines:
    """Lines read one after the other; what follows a '!' is a comment."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 0
        self.lines = read_text(path, encoding="latin-1").splitlines()

    def skip(self) -> str:
        if self.at >= len(self.lines):
            raise FileError(f"'{self.path}' ends after {len(self.lines)} lines, before all is said")
        self.at += 1
        return self.lines[self.at - 1]

    def text(self) -> str:
        return self.skip().partition("!")[0].strip()

    def numbers(self, least: int) -> list[float]:
        words = self.text()
        found: list[float] = []
        for word in words.split():
            number = numbers_in(word)
            if number is None:
                break
            found += number
        if len(found) < least or not np.isfinite(found).all():
            raise FileError(f"'{self.path}': line {self.at} must begin with {least} number(s); got {words[:60]!r}")
        return found

    def count(self, what: str) -> int:
        number = self.numbers(1)[0]
        if not 0 <= number <= MOST or number != int(number):
            raise FileError(f"'{self.path}': line {self.at} says {number:g} {what}; expected a whole number up to {MOST}")
        return int(number)


def _body(lines: _Lines) -> Body:
    lines.skip()
    name = Path(lines.text().replace("\\", "/")).stem or "hull"
    lines.skip()
    motions = [lines.numbers(7) for _ in range(lines.count("degrees of freedom"))]
    forces = [lines.numbers(7) for _ in range(lines.count("forces"))]
    for _ in range(lines.count("further lines")):
        lines.skip()
    points = {tuple(row[4:7]) for row in (*motions, *forces) if row[0] == 2}
    if len(points) > 1:
        raise FileError(f"'{lines.path}': moments and rotations of '{name}' are about {len(points)} different points")
    point = points.pop() if points else None
    moving, pushed = (tuple(_motion(lines, name, row) for row in rows) for rows in (motions, forces))
    return Body(name, moving, pushed, (point[0], point[1], point[2]) if point else None)


def _motion(lines: _Lines, name: str, row: list[float]) -> int:
    """Return which of the six motions a line of seven numbers is."""
    along = [i for i in range(3) if abs(row[1 + i] - 1) < 1e-9]
    if row[0] not in (1, 2) or len(along) != 1 or sum(abs(x) > 1e-9 for x in row[1:4]) != 1:
        raise FileError(f"'{lines.path}': {row} of '{name}' is neither a motion along nor a rotation about x, y or z")
    return along[0] + (3 if row[0] == 2 else 0)
