"""The output of NEMOH 2 and 3, and the tables that capytaine writes in its manner.

Results/RadiationCoefficients.tec has a zone for each motion, and Results/ExcitationForce.tec one for each heading with moduli
and phases in rad, both in SI units; the time factor is exp(-i w t), so wave forces are conjugated on the way in. Frequencies
are read from the tables, not from Nemoh.cal.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError, closest, listed
from kingpost.base.text_files import read_text
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.dispersion import wave_number
from kingpost.marine.hydro.formats.assembly import assemble, blaming
from kingpost.marine.hydro.formats.columns import numbers_in, rounded
from kingpost.marine.hydro.formats.nemoh_cal import Body, Calculation, read_cal, read_hydrostatics, read_stiffness
from kingpost.marine.hydro.points import motion_matrix
from kingpost.marine.hydro.reading import CAL

RADIATION, EXCITATION = "RadiationCoefficients.tec", "ExcitationForce.tec"
_MOTION = re.compile(r"Motion of body\s+(\d+)\s+in DoF\s+(\d+)", re.IGNORECASE)
_HEADING = re.compile(r"beta\s*=\s*([-+\d.eE]+)\s*deg", re.IGNORECASE)
_ANGLE = re.compile(r"^angle=([-+\d.eE]+)\s*$")


@dataclass(frozen=True, eq=False)
class Zone:
    """Rows of numbers under one title."""

    title: str
    rows: FloatArray


def read_nemoh(
    path: Path,
    *,
    rho: float | None = None,
    g: float | None = None,
    depth: float | None = None,
    reference: ArrayLike | None = None,
    body: int | str | None = None,
    name: str | None = None,
) -> HydroData:
    """Return the hull in a folder with Nemoh.cal, or in a file of it; options say what Nemoh.cal would where there is none."""
    with blaming(path):
        radiation, cal = _found(path)
        calculation = _calculation(radiation, cal, rho, g, depth, reference)
        return _Reading(radiation, calculation, body).data(cal, name)


class _Reading:
    def __init__(self, radiation: Path, calculation: Calculation, body: int | str | None) -> None:
        self.path, self.calculation = radiation, calculation
        self.notes = ["NEMOH: time factor exp(-i w t), so wave forces were conjugated"]
        self.zones = read_zones(radiation)
        self.legacy = all(zone.title.lower() in MOTIONS for zone in self.zones)
        self.bodies = self._legacy_bodies() if self.legacy else calculation.bodies
        self.index = self._chosen(body)
        self.body = self.bodies[self.index]
        if len(self.bodies) > 1:
            self.notes.append(
                f"of {len(self.bodies)} bodies this is '{self.body.name}'; what the others do to it by their motion is left out"
            )

    def data(self, cal: Path | None, name: str | None) -> HydroData:
        w, added, damping = self._radiation()
        headings, excitation = self._excitation(w)
        static = self._hydrostatics(cal)
        return assemble(
            self.path,
            tuple(self.notes),
            name=name or self.body.name,
            frequencies=w,
            headings=headings,
            added_mass=added,
            damping=damping,
            excitation=excitation,
            water_density=self.calculation.density,
            gravity=self.calculation.gravity,
            depth=self.calculation.depth,
            reference=self.body.reference,
            **static,
        )

    def _legacy_bodies(self) -> tuple[Body, ...]:
        """Return the one body of capytaine's tables, whose columns are in the order of their zones."""
        order = tuple(MOTIONS.index(zone.title.lower()) for zone in self.zones)
        given = self.calculation.bodies[0]
        self.notes.append("written by capytaine in NEMOH's manner: forces are in the order of the motions")
        return (Body(given.name, order, order, given.reference),)

    def _chosen(self, body: int | str | None) -> int:
        names = [each.name for each in self.bodies]
        if body is None:
            if len(names) != 1:
                raise FileError(f"'{self.path}' holds {len(names)} bodies; say which one is meant by 'body': {listed(names)}")
            return 0
        if str(body).isdigit() and 1 <= int(body) <= len(names):
            return int(body) - 1
        if body not in names:
            raise FileError(f"'{self.path}' has no body '{body}'{closest(str(body), names)} It has: {listed(names)}.")
        return names.index(str(body))

    def _columns(self) -> tuple[int, int]:
        """Return where the forces of the body begin, in pairs of columns, and how many of all bodies there are."""
        counts = [len(each.forces) for each in self.bodies]
        return sum(counts[: self.index]), sum(counts)

    def _radiation(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        zones = self._zones_of_body()
        first, count = self._columns()
        w = _column_as_frequency(self.path, zones[0].rows[:, 0])
        added, damping = np.zeros((2, len(w), 6, 6))
        for radiating, zone in zip(self.body.motions, zones, strict=True):
            _check_shape(self.path, zone, len(w), 1 + 2 * count, zones[0].rows[:, 0])
            for k, force in enumerate(self.body.forces):
                added[:, force, radiating] = zone.rows[:, 1 + 2 * (first + k)]
                damping[:, force, radiating] = zone.rows[:, 2 + 2 * (first + k)]
        lacking = sorted(set(range(6)) - set(self.body.motions))
        if lacking:
            self.notes.append(f"the files have no {listed(MOTIONS[k] for k in lacking)}: their rows and columns are zero")
        return w, added, damping

    def _zones_of_body(self) -> list[Zone]:
        if self.legacy:
            return self.zones
        wanted = {}
        for zone in self.zones:
            title = _MOTION.search(zone.title)
            if title is None:
                raise FileError(f"'{self.path}': the zone '{zone.title[:60]}' does not say of which motion it is")
            if int(title[1]) == self.index + 1:
                wanted[int(title[2])] = zone
        if sorted(wanted) != list(range(1, len(self.body.motions) + 1)):
            raise FileError(
                f"'{self.path}' has zones for {len(wanted)} motions of body {self.index + 1}, but there are "
                f"{len(self.body.motions)} in {CAL}"
            )
        return [wanted[i] for i in sorted(wanted)]

    def _excitation(self, w: FloatArray) -> tuple[FloatArray, NDArray[Any] | None]:
        path = _beside(self.path, EXCITATION)
        if path is None:
            self.notes.append(f"there is no {EXCITATION}, so nothing is known of wave forces")
            return np.zeros(0), None
        first, count = self._columns()
        zones = read_zones(path)
        headings = np.array([_heading(path, zone.title) for zone in zones])
        found = np.zeros((len(w), len(zones), 6), dtype=complex)
        for j, zone in enumerate(zones):
            _check_shape(path, zone, len(w), 1 + 2 * count, zones[0].rows[:, 0])
            if (rounded(_column_as_frequency(path, zone.rows[:, 0])) != rounded(w)).any():
                raise FileError(f"'{path}' has other frequencies than '{self.path.name}'")
            for k, force in enumerate(self.body.forces):
                modulus, phase = zone.rows[:, 1 + 2 * (first + k)], zone.rows[:, 2 + 2 * (first + k)]
                found[:, j, force] = modulus * np.exp(-1j * phase)
        return headings, found * self._from_origin(w, headings)[:, :, None]

    def _from_origin(self, w: FloatArray, headings: FloatArray) -> NDArray[Any]:
        """Return what moves the crest at t = 0 from where waves are measured to the origin."""
        x, y = self.calculation.measured_at
        k = wave_number(w, self.calculation.gravity, self.calculation.depth)
        if x or y:
            self.notes.append(f"phases were counted from ({x:g}, {y:g}) m and are now counted from the origin")
        return np.exp(-1j * k[:, None] * (x * np.cos(headings) + y * np.sin(headings))[None, :])

    def _hydrostatics(self, cal: Path | None) -> dict[str, Any]:
        folder = None if cal is None else _entry(cal.parent, "Mesh")
        number = "" if len(self.bodies) == 1 else f"_{self.index}"
        stiffness, centres = (_entry(folder, f"{stem}{number}.dat") if folder else None for stem in ("KH", "Hydrostatics"))
        fields: dict[str, Any] = {}
        point = self.body.reference
        if centres is not None:
            fields["centre_of_buoyancy"], fields["centre_of_gravity"], fields["volume"] = read_hydrostatics(centres)
        if stiffness is not None:
            matrix = read_stiffness(stiffness)
            if "centre_of_gravity" in fields and point is not None:
                # KH.dat is about the centre of gravity, with weight and buoyancy in balance.
                T = motion_matrix(fields["centre_of_gravity"] - np.asarray(point, dtype=float))
                matrix = T.T @ matrix @ T
            fields["restoring"] = matrix
        return fields


def read_zones(path: Path) -> list[Zone]:
    """Return the zones of a table for Tecplot, and of capytaine's like: rows of numbers, each after a line of words."""
    zones: list[tuple[str, list[list[float]]]] = []
    title, number = "", 0
    for number, line in enumerate(read_text(path, encoding="latin-1").splitlines(), start=1):
        row = numbers_in(line)
        if row is None:
            title = line.strip()
        elif row:
            if title or not zones:
                zones.append((title, []))
                title = ""
            zones[-1][1].append(row)
            if len(row) != len(zones[-1][1][0]):
                raise FileError(f"'{path}': line {number} has {len(row)} numbers, the first of its zone {len(zones[-1][1][0])}")
    if not zones:
        raise FileError(f"'{path}' holds no rows of numbers in its {number} lines")
    return [Zone(title, np.array(rows)) for title, rows in zones]


def _check_shape(path: Path, zone: Zone, rows: int, columns: int, first: FloatArray) -> None:
    if zone.rows.shape != (rows, columns):
        raise FileError(
            f"'{path}': the zone '{zone.title[:60]}' has {zone.rows.shape[0]} rows of {zone.rows.shape[1]} numbers; expected "
            f"{rows} rows of {columns}"
        )
    if (zone.rows[:, 0] != first).any():
        raise FileError(f"'{path}': the zone '{zone.title[:60]}' has other frequencies than the first")


def _heading(path: Path, title: str) -> float:
    degrees, radians = _HEADING.search(title), _ANGLE.match(title)
    try:
        if degrees:
            return math.radians(float(degrees[1]))
        if radians:
            return float(radians[1])
    except ValueError:
        pass
    raise FileError(f"'{path}': the zone '{title[:60]}' does not say its heading")


def _column_as_frequency(path: Path, values: FloatArray) -> FloatArray:
    """Return circular frequencies of a first column, by what the header calls it."""
    with path.open(encoding="latin-1") as file:
        header = file.readline().lower()
    if not (values > 0).all():
        raise FileError(f"'{path}' has {values.min():g} in its first column; frequencies must be positive")
    if "(hz)" in header:
        return 2 * math.pi * values
    return 2 * math.pi / values if "(s)" in header else values


def _entry(folder: Path, name: str) -> Path | None:
    """Return the entry of a folder with a name in small or large letters."""
    if not folder.is_dir():
        return None
    return next((entry for entry in sorted(folder.iterdir()) if entry.name.lower() == name.lower()), None)


def _beside(path: Path, name: str) -> Path | None:
    return _entry(path.parent, path.name.replace(RADIATION, name)) if RADIATION in path.name else _entry(path.parent, name)


def _found(path: Path) -> tuple[Path, Path | None]:
    """Return the table of radiation and Nemoh.cal, from any file of a calculation or its folder."""
    if path.is_file() and path.suffix.lower() == ".tec":
        name = path.name.replace(EXCITATION, RADIATION)
        cal = _entry(path.parent, CAL) or _entry(path.parent.parent, CAL)
        radiation = _entry(path.parent, name)
    else:
        folder = path if path.is_dir() else path.parent
        cal = path if path.is_file() else _entry(folder, CAL)
        results = _entry(folder, "Results")
        radiation = _entry(results, RADIATION) if results else None
        name = f"Results/{RADIATION}"
    if radiation is None:
        raise FileError(f"there is no '{name}' that belongs to '{path}': added mass and damping are in it")
    return radiation, cal


def _calculation(
    radiation: Path, cal: Path | None, rho: float | None, g: float | None, depth: float | None, reference: ArrayLike | None
) -> Calculation:
    given = {"rho": rho, "g": g, "depth": depth, "reference": reference}
    if cal is not None:
        contrary = [key for key, value in given.items() if value is not None]
        if contrary:
            raise FileError(f"'{cal}' says {listed(repr(key) for key in contrary)}; leave out the option(s)")
        found = read_cal(cal)
        if not found.bodies:
            raise FileError(f"'{cal}' names no body")
        return found
    lacking = [key for key, value in given.items() if value is None]
    if lacking:
        raise FileError(f"there is no {CAL} with '{radiation}', so give {listed(repr(key) for key in lacking)}")
    x, y, z = np.asarray(reference, dtype=float)
    every = tuple(range(6))
    body = Body(radiation.parent.name, every, every, (float(x), float(y), float(z)))
    return Calculation(float(rho or 0), float(g or 0), float(depth or 0), (0.0, 0.0), (body,))
