"""The numeric files of WAMIT: NAME.1 (radiation), .3 or .2 (wave forces), .4 (motions), .hst (hydrostatics), .8 .7 .9 (drift).

They are without dimension, by the length ULEN, and say neither that nor density, gravity, depth and point of reference. The
time factor is exp(+i w t). The first column is the period unless the run asked for something else (IPEROUT); the codes -1 and 0
in .1 stand for vanishing and infinite frequency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError, listed
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.formats.assembly import assemble, blaming
from kingpost.marine.hydro.formats.columns import distinct, read_columns, rounded, whole_numbers
from kingpost.marine.hydro.formats.wamit_column import column_meaning, frequencies_of
from kingpost.marine.hydro.formats.wamit_mmx import read_mmx
from kingpost.marine.hydro.reading import SUFFIXES

#: Powers of ULEN: forces 0, moments 1.
MOMENT = np.array([0, 0, 0, 1, 1, 1])
#: Modulus and phase must give what real and imaginary part do, but for the digits that are printed, as a share of the largest.
SAME_NUMBER = 1e-3


@dataclass(frozen=True, kw_only=True)
class WamitOptions:
    """What the files do not say."""

    rho: float
    g: float
    ulen: float
    reference: ArrayLike
    depth: float
    column: str | None = None
    body: int | None = None
    weight: bool | None = None
    volume: float | None = None
    centre_of_gravity: ArrayLike | None = None
    centre_of_buoyancy: ArrayLike | None = None
    inertia: ArrayLike | None = None
    #: Whether -1 stands for infinite and 0 for vanishing frequency, as in some files of HAMS.
    swapped: bool = False


def read_wamit(
    path: Path,
    *,
    rho: float | None = None,
    g: float | None = None,
    ulen: float | None = None,
    reference: ArrayLike | None = None,
    depth: float | None = None,
    column: str | None = None,
    body: int | str | None = None,
    weight: bool | None = None,
    volume: float | None = None,
    centre_of_gravity: ArrayLike | None = None,
    name: str | None = None,
) -> HydroData:
    """Return the hull in the files with one name in a folder, of which ``path`` is one (or the folder, if it holds one .1).

    Parameters
    ----------
    path
        Any of the files, or their folder.
    rho, g, ulen, reference, depth
        Density, gravity, the length by which the files are scaled, the point about which moments are taken, and depth, which
        may be infinite. Gravity and ULEN are taken from NAME.mmx if it is there.
    column
        What the first column is: period, frequency, deep-wavenumber (times ULEN), wavenumber (times ULEN) or wavelength.
        Without it, IPEROUT in NAME.cfg says so, or the numbers do: what could be several of them is refused.
    body
        Number of the body, where there are several.
    weight
        Whether the stiffness in .hst holds the weight, as WAMIT writes it; some tools want it without.
    volume, centre_of_gravity, name
        Of the hull, if known.

    """
    with blaming(path):
        files = _files(path)
        mmx = read_mmx(files[".1"].with_suffix(".mmx"))
        g, ulen = (given if given is not None else mmx.get(key) for key, given in (("g", g), ("ulen", ulen)))
        given = {"rho": rho, "g": g, "ulen": ulen, "reference": reference, "depth": depth}
        lacking = [key for key, value in given.items() if value is None]
        if lacking:
            raise FileError(
                f"'{files['.1']}': files of WAMIT do not say {listed(_WORDS[key] for key in lacking)}; give "
                f"{listed(repr(key) for key in lacking)}"
            )
        options = WamitOptions(
            **given,  # type: ignore[arg-type]
            column=column,
            body=None if body is None else _number_of_body(body),
            weight=weight,
            volume=volume if volume is not None else mmx.get("volume"),
            centre_of_gravity=centre_of_gravity,
            centre_of_buoyancy=_shifted(mmx.get("centre_of_buoyancy"), reference),
        )
        notes = (*(["gravity, ULEN and volume are from the .mmx file"] if mmx else []), *_second_order(files[".1"]))
        return read_wamit_files(files, options, name or files[".1"].stem, notes)


_WORDS = {
    "rho": "the density of water",
    "g": "gravity",
    "ulen": "the length ULEN by which they are scaled",
    "reference": "the point about which moments are",
    "depth": "the depth ('inf' for deep water)",
}


def read_wamit_files(files: Mapping[str, Path], options: WamitOptions, name: str, notes: tuple[str, ...] = ()) -> HydroData:
    """Return the hull in some files, by suffix."""
    reading = _Reading(files, options)
    fields = reading.fields()
    return assemble(files[".1"], (*notes, *reading.notes), name=name, **fields)


class _Reading:
    """The tables of some files, and what was found in them."""

    def __init__(self, files: Mapping[str, Path], options: WamitOptions) -> None:
        self.files, self.options = files, options
        self.notes: list[str] = []
        self.first = read_columns(files[".1"], (4, 5))
        self.tables = {key: read_columns(files[key], (7,)) for key in (".3", ".2", ".4") if key in files}
        self.modes = whole_numbers(files[".1"], self.first[:, 1:3], "modes")
        self.offset = self._offset()

    def fields(self) -> dict[str, Any]:
        options, scale = self.options, self.options.ulen
        rho_g = options.rho * options.g
        restoring = self._restoring()
        coded = self.first[:, 0] <= 0
        self._refuse_codes(self.first[coded, 0])
        column = column_meaning(self.files[".1"], options.column, self._evidence(restoring), self.notes)
        keys, tables = self._common_rows()
        w = frequencies_of(column, self._as_printed(keys), scale, options.g, options.depth)
        added, damping = self._radiation(keys, w)
        headings, waves = self._waves(keys, tables)
        zero, infinite = (0.0, -1.0) if options.swapped else (-1.0, 0.0)
        return {
            "frequencies": w,
            "headings": np.radians(headings),
            "added_mass": added,
            "damping": damping,
            "added_mass_zero": self._limit(zero),
            "added_mass_inf": self._limit(infinite),
            "excitation": None if waves.get(".3") is None else waves[".3"] * rho_g * scale ** (2.0 + MOMENT),
            "motions": None if waves.get(".4") is None else waves[".4"] / scale ** (1.0 * MOMENT),
            "drift": self._drift(keys, headings),
            "restoring": restoring,
            "restoring_has_weight": options.weight is not False,
            "inertia": options.inertia,
            "water_density": options.rho,
            "gravity": options.g,
            "depth": options.depth,
            "reference": options.reference,
            "volume": options.volume,
            "centre_of_gravity": options.centre_of_gravity,
            "centre_of_buoyancy": options.centre_of_buoyancy,
        }

    def _offset(self) -> int:
        """Return the mode before the first of the body that is meant."""
        bodies = (int(self.modes.max()) + 5) // 6
        body = self.options.body
        if body is None and bodies > 1:
            raise FileError(f"'{self.files['.1']}' holds {bodies} bodies; say which one is meant by 'body', 1 to {bodies}")
        if body is not None and not 1 <= body <= bodies:
            raise FileError(f"'{self.files['.1']}' has no body {body}; it has 1 to {bodies}")
        if bodies > 1:
            self.notes.append(f"this is body {body} of {bodies}; what the others do to it by their motion is left out")
        return 6 * ((body or 1) - 1)

    def _mine(self, modes: NDArray[Any]) -> NDArray[Any]:
        return (modes > self.offset) & (modes <= self.offset + 6)

    def _refuse_codes(self, codes: FloatArray) -> None:
        other = codes[~np.isin(codes, (-1.0, 0.0))]
        if len(other):
            raise FileError(f"'{self.files['.1']}' has {other[0]:g} in its first column; only -1 and 0 may stand below zero")

    # Radiation

    def _radiation(self, keys: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows = (self.first[:, 0] > 0) & self._mine(self.modes).all(axis=1)
        places, there = _places(keys, self.first[:, 0])
        added, damping = np.zeros((2, len(keys), 6, 6))
        rows &= there
        i, j = (self.modes[rows] - self.offset - 1).T
        if np.isnan(self.first[rows, 4]).any():
            raise FileError(f"'{self.files['.1']}' has rows without damping that are no limits (first column -1 or 0)")
        power = _power(3)[i, j]
        added[places[rows], i, j] = self.first[rows, 3] * self.options.rho * power_of(self.options.ulen, power)
        damping[places[rows], i, j] = self.first[rows, 4] * self.options.rho * power_of(self.options.ulen, power)
        return added, damping * w[:, None, None]

    def _limit(self, code: float) -> FloatArray | None:
        rows = (self.first[:, 0] == code) & self._mine(self.modes).all(axis=1)
        if not rows.any():
            return None
        matrix = np.zeros((6, 6))
        i, j = (self.modes[rows] - self.offset - 1).T
        matrix[i, j] = self.first[rows, 3] * self.options.rho * power_of(self.options.ulen, _power(3)[i, j])
        return matrix

    def _restoring(self) -> FloatArray | None:
        if ".hst" not in self.files:
            return None
        rows = read_columns(self.files[".hst"], (3,))
        modes = whole_numbers(self.files[".hst"], rows[:, :2], "modes")
        mine = self._mine(modes).all(axis=1)
        i, j = (modes[mine] - self.offset - 1).T
        matrix = np.zeros((6, 6))
        matrix[i, j] = rows[mine, 2] * self.options.rho * self.options.g * power_of(self.options.ulen, _power(2)[i, j])
        if self.options.weight is None:
            self.notes.append("the stiffness in .hst is taken to hold the weight, as WAMIT writes it; 'weight' says otherwise")
        return matrix

    # Waves

    def _evidence(self, restoring: FloatArray | None) -> dict[str, tuple[FloatArray, FloatArray] | FloatArray | None]:
        """Return what tells long waves from short ones: heave forces against stiffness, and added mass against its limits."""
        waves = self.tables.get(".3", self.tables.get(".2"))
        heave = None
        if waves is not None:
            rows = waves[waves[:, 2] == self.offset + 3]
            if len(rows):
                stiffness = 0.0 if restoring is None else restoring[2, 2]
                scale = self.options.rho * self.options.g * self.options.ulen**2
                heave = (rows[:, 0], rows[:, 3] * scale / stiffness if stiffness > 0 else np.full(len(rows), np.nan))
        rows = self.first[(self.first[:, 0] > 0) & (self.modes == self.offset + 3).all(axis=1)]
        limits = [self._limit(code) for code in (-1.0, 0.0)]
        ends = None if any(limit is None for limit in limits) else np.array([limit[2, 2] for limit in limits])  # type: ignore[index]
        scale = self.options.rho * self.options.ulen**3
        return {"heave": heave, "added": (rows[:, 0], rows[:, 3] * scale), "limits": ends}

    def _common_rows(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return the entries of the first column that all files have, with a note of those that not all have."""
        positive = self.first[self.first[:, 0] > 0, 0]
        if not len(positive):
            raise FileError(f"'{self.files['.1']}' holds the limits alone, and no frequency")
        keys, _ = distinct(positive)
        tables = {key: table for key, table in self.tables.items() if key != ".2" or ".3" not in self.tables}
        if ".2" in tables:
            self.notes.append("wave forces are those of the Haskind relations (.2), for there is no .3")
            tables[".3"] = tables.pop(".2")
        every = [keys, *(distinct(table[:, 0])[0] for table in tables.values())]
        common = keys
        for other in every[1:]:
            common = np.intersect1d(common, other)
        if not len(common):
            raise FileError(f"'{self.files['.1']}' and {listed(sorted(tables))} have no entry of the first column in common")
        most = len(np.unique(np.concatenate(every)))
        if len(common) < most:
            files = listed([".1", *sorted(tables)])
            self.notes.append(f"dropped {most - len(common)} of {most} frequencies, which are not in all of {files}")
        return common, tables

    def _as_printed(self, keys: FloatArray) -> FloatArray:
        rounded_keys, values = distinct(self.first[self.first[:, 0] > 0, 0])
        return values[np.searchsorted(rounded_keys, keys)]

    def _waves(self, keys: FloatArray, tables: dict[str, FloatArray]) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
        headings: FloatArray | None = None
        for table in tables.values():
            own, _ = distinct(table[:, 1])
            headings = own if headings is None else np.intersect1d(headings, own)
        if headings is None:
            drift = self._drift_rows()
            return (np.zeros(0) if drift is None else distinct(drift[:, 1])[0]), {}
        if not len(headings):
            raise FileError(f"'{self.files['.1']}': .3 and .4 have no heading in common")
        return headings, {key: self._transfer(key, table, keys, headings) for key, table in tables.items()}

    def _transfer(self, key: str, table: FloatArray, keys: FloatArray, headings: FloatArray) -> NDArray[Any]:
        modes = whole_numbers(self.files.get(key, self.files[".1"]), table[:, 2], "modes")
        values = table[:, 5] + 1j * table[:, 6]
        self._check_phase(key, table, values)
        places, there = _places(keys, table[:, 0])
        columns, known = _places(headings, table[:, 1])
        rows = there & known & self._mine(modes)
        found = np.zeros((len(keys), len(headings), 6), dtype=complex)
        found[places[rows], columns[rows], modes[rows] - self.offset - 1] = values[rows]
        return found

    def _check_phase(self, key: str, table: FloatArray, values: NDArray[Any]) -> None:
        polar = table[:, 3] * np.exp(1j * np.radians(table[:, 4]))
        wrong = np.abs(polar - values) > SAME_NUMBER * np.abs(values).max(initial=0.0)
        if wrong.any():
            row = table[wrong][0]
            raise FileError(
                f"'{self.files.get(key, self.files['.1'])}': modulus {row[3]:g} and phase {row[4]:g} deg do not give the real "
                f"and imaginary parts {row[5]:g} and {row[6]:g} beside them, so the phase convention is not WAMIT's"
            )

    def _drift_rows(self) -> FloatArray | None:
        key = next((key for key in (".8", ".7", ".9") if key in self.files), None)
        if key is None:
            return None
        table = read_columns(self.files[key], (8,))
        note = f"mean drift forces are from {key}"
        if note not in self.notes:
            self.notes.append(note)
        return table[np.abs(table[:, 1] - table[:, 2]) < 1e-6]

    def _drift(self, keys: FloatArray, headings: FloatArray) -> FloatArray | None:
        table = self._drift_rows()
        if table is None or not len(table):
            return None
        modes = whole_numbers(self.files[".1"], table[:, 3], "modes of drift forces")
        places, there = _places(keys, table[:, 0])
        columns, known = _places(headings, table[:, 1])
        rows = there & known & self._mine(modes)
        found = np.full((len(keys), len(headings), 6), np.nan)
        component = modes[rows] - self.offset - 1
        scale = self.options.rho * self.options.g * power_of(self.options.ulen, 1 + MOMENT[component])
        found[places[rows], columns[rows], component] = table[rows, 6] * scale
        return found


def power_of(length: float, power: NDArray[Any]) -> FloatArray:
    """Return a length to whole powers."""
    return np.power(float(length), np.asarray(power, dtype=float))


def _power(least: int) -> NDArray[Any]:
    return least + MOMENT[:, None] + MOMENT[None, :]


def _places(keys: FloatArray, values: FloatArray) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where in the keys, which rise, each value is, and whether it is there."""
    wanted = rounded(values)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1) if len(keys) else np.zeros(len(values), dtype=int)
    return place, (keys[place] == wanted) if len(keys) else np.zeros(len(values), dtype=bool)


def _files(path: Path) -> dict[str, Path]:
    """Return the files that belong together, by suffix."""
    if path.is_dir():
        found = sorted(path.glob("*.1"))
        if len(found) != 1:
            raise FileError(f"folder '{path}' holds {len(found)} files NAME.1; name the one that is meant")
        path = found[0]
    files = {suffix: path.with_suffix(suffix) for suffix in SUFFIXES if path.with_suffix(suffix).is_file()}
    if ".1" not in files:
        raise FileError(f"there is no '{path.with_suffix('.1').name}' beside '{path}': added mass and damping are in it")
    return files


def _second_order(path: Path) -> tuple[str, ...]:
    """Return what is to be said of files with forces of second order that stand beside."""
    found = [file.name for file in sorted(path.parent.glob("*.1[012][sd]")) if file.stem == path.stem]
    return (f"{listed(found)}: forces of second order are not taken; drift is Newman's, by mean forces",) if found else ()


def _number_of_body(body: int | str) -> int:
    try:
        return int(body)
    except ValueError:
        raise FileError(f"bodies in files of WAMIT have numbers; got '{body}' for 'body'") from None


def _shifted(point: FloatArray | None, reference: ArrayLike | None) -> FloatArray | None:
    """Return a point of the .mmx file, which is in axes through the point of reference, in those through the water surface."""
    return None if point is None or reference is None else np.asarray(point) + np.asarray(reference, dtype=float)
