"""Kingpost's own plain forms of hydrodynamic data, NPZ and CSV: the fields of :class:`HydroData` in its convention.

NPZ holds an array by the name of each field. CSV begins with the line ``# kingpost-hydro 1``; lines ``# field = value`` give
numbers and points, and then come rows ``quantity,frequency,heading,row,column,real,imag`` in SI units and rad, with motions by
name. An entry that has no row is zero; of drift, it is not known.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.files import write_whole
from kingpost.base.text_files import read_text
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.formats.assembly import MOST, assemble, blaming

FORM = "kingpost-hydro 1"
TEXTS = ("name",)
NUMBERS = ("water_density", "gravity", "depth", "volume")
POINTS = ("reference", "centre_of_gravity", "centre_of_buoyancy")
#: Tables by their axes: over frequencies, over frequencies and headings, and single matrices.
RADIATION = ("added_mass", "damping")
WAVES = ("excitation", "motions", "drift")
MATRICES = ("added_mass_inf", "added_mass_zero", "restoring", "inertia")
HEADER = ("quantity", "frequency", "heading", "row", "column", "real", "imag")
WRITTEN = (".npz", ".csv")


def write_plain(data: HydroData, path: Path) -> None:
    """Write data as NPZ or CSV, whole or not at all."""
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise FileError(f"'{path}': hydrodynamic data are written as {listed(WRITTEN)}, not as '{suffix}'")
    content = _npz(data) if suffix == ".npz" else _csv(data).encode()
    write_whole(path, lambda place: _fill(place, content))


def read_npz(path: Path, *, name: str | None = None) -> HydroData:
    """Return the data in an NPZ file that :func:`write_plain` wrote, or that has its fields."""
    with blaming(path), np.load(path, allow_pickle=False) as file:
        known = {"form", "restoring_has_weight", "notes", "frequencies", "headings"}
        known |= {*TEXTS, *NUMBERS, *POINTS, *RADIATION, *WAVES, *MATRICES}
        unknown = sorted(set(file.files) - known)
        if unknown:
            raise FileError(f"'{path}' has '{unknown[0]}', which is no field of hydrodynamic data{closest(unknown[0], known)}")
        found = {key: _loaded(path, file, key) for key in file.files}
    with blaming(path):
        fields = {key: array if array.ndim else array.item() for key, array in found.items()}
        notes = tuple(str(note) for note in np.atleast_1d(fields.pop("notes", np.zeros(0, dtype=str))))
        if fields.pop("form", FORM) != FORM:
            raise FileError(f"'{path}' is of another form than '{FORM}'")
        return _assembled(path, fields, notes, name)


def read_csv(path: Path, *, name: str | None = None) -> HydroData:
    """Return the data in a CSV file of the form above."""
    with blaming(path):
        return _Table(path).data(name)


def _fill(place: Path, content: bytes) -> None:
    place.write_bytes(content)


def _npz(data: HydroData) -> bytes:
    buffer = io.BytesIO()
    fields = {key: getattr(data, key) for key in (*TEXTS, *NUMBERS, *POINTS, *RADIATION, *WAVES, *MATRICES)}
    arrays: dict[str, Any] = {key: np.asarray(value) for key, value in fields.items() if value is not None}
    np.savez_compressed(
        buffer,
        form=np.array(FORM),
        frequencies=data.frequencies,
        headings=data.headings,
        restoring_has_weight=np.array(data.restoring_has_weight),
        notes=np.array(data.notes, dtype=str),
        **arrays,
    )
    return buffer.getvalue()


def _loaded(path: Path, file: Any, key: str) -> NDArray[Any]:
    array = np.asarray(file[key])
    if array.size > MOST or array.dtype.kind not in "fciubU":
        raise FileError(f"'{path}': '{key}' is no table of a hull: {array.size} entries of type {array.dtype}")
    return array


def _assembled(path: Path, fields: dict[str, Any], notes: tuple[str, ...], name: str | None) -> HydroData:
    needed = ("frequencies", "added_mass", "damping", "water_density", "gravity", "reference")
    lacking = [key for key in needed if fields.get(key) is None]
    if lacking:
        raise FileError(f"'{path}' does not hold {listed(lacking)}, without which nothing can be said of a hull")
    fields["name"] = name or str(fields.get("name") or path.stem)
    fields.setdefault("headings", np.zeros(0))
    fields["restoring_has_weight"] = bool(fields.get("restoring_has_weight", True))
    _check_axes(path, fields)
    return assemble(path, notes, **fields)


def _check_axes(path: Path, fields: dict[str, Any]) -> None:
    """Refuse tables that do not fit their axes, before they are sorted by them."""
    n, m = (np.asarray(fields[key]).size for key in ("frequencies", "headings"))
    shapes = dict.fromkeys(RADIATION, (n, 6, 6)) | dict.fromkeys(WAVES, (n, m, 6))
    for key, shape in (("frequencies", (n,)), ("headings", (m,)), *shapes.items()):
        table = fields.get(key)
        if table is not None and (np.shape(table) != shape or np.asarray(table).dtype.kind not in "fciu"):
            raise FileError(f"'{path}': {key} must be numbers of the shape {shape}; it has {np.shape(table)}")


def _csv(data: HydroData) -> str:
    lines = [f"# {FORM}", f"# name = {data.name}"]
    lines += [f"# {key} = {getattr(data, key)!r}" for key in NUMBERS if getattr(data, key) is not None]
    lines += [f"# {key} = {_spaced(getattr(data, key))}" for key in POINTS if getattr(data, key) is not None]
    lines += [f"# frequencies = {_spaced(data.frequencies)}", f"# headings = {_spaced(data.headings)}"]
    lines.append(f"# restoring_has_weight = {'yes' if data.restoring_has_weight else 'no'}")
    lines += [f"# note = {' '.join(note.split())}" for note in data.notes]
    return "\n".join([*lines, ",".join(HEADER), *_rows(data), ""])


def _spaced(values: NDArray[Any]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _rows(data: HydroData) -> Iterator[str]:
    for key in RADIATION:
        for (n, i, j), value in np.ndenumerate(getattr(data, key)):
            if value:
                yield f"{key},{float(data.frequencies[n])!r},,{MOTIONS[i]},{MOTIONS[j]},{float(value)!r},"
    for key in MATRICES:
        matrix = getattr(data, key)
        yield from (
            f"{key},,,{MOTIONS[i]},{MOTIONS[j]},{float(value)!r},"
            for (i, j), value in np.ndenumerate(np.zeros((0, 0)) if matrix is None else matrix)
            # One entry is written even if it is zero, so that a matrix of zeros is not taken for none.
            if value or (i, j) == (0, 0)
        )
    for key in WAVES:
        table = getattr(data, key)
        for (n, m, i), value in np.ndenumerate(np.zeros((0, 0, 0)) if table is None else table):
            if not np.isnan(value) and (value or key == "drift" or (n, m, i) == (0, 0, 0)):
                place = f"{key},{float(data.frequencies[n])!r},{float(data.headings[m])!r},{MOTIONS[i]},"
                imaginary = repr(float(value.imag)) if key != "drift" else ""
                yield f"{place},{float(value.real)!r},{imaginary}"


class _Table:
    """The text of a CSV file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = read_text(path, encoding="utf-8-sig").split("\n")
        if lines[0].strip() != f"# {FORM}":
            raise FileError(f"'{path}' is no CSV file of hydrodynamic data: its first line must be '# {FORM}'")
        self.comments = [line.strip()[1:].strip() for line in lines[1:] if line.strip().startswith("#")]
        self.start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
        self.lines = lines[self.start :]

    def data(self, name: str | None) -> HydroData:
        fields, notes = self._said()
        axes = {key: np.asarray(fields.get(key, np.zeros(0)), dtype=float) for key in ("frequencies", "headings")}
        n, m = len(axes["frequencies"]), len(axes["headings"])
        if n * max(m, 6) * 6 > MOST:
            raise FileError(f"'{self.path}' has {n} frequencies and {m} headings; that is no table of a hull")
        places = {key: {float(value): i for i, value in enumerate(values)} for key, values in axes.items()}
        shapes = dict.fromkeys(RADIATION, (n, 6, 6)) | dict.fromkeys(WAVES, (n, m, 6)) | dict.fromkeys(MATRICES, (6, 6))
        tables: dict[str, NDArray[Any]] = {}
        for line, row in self._entries():
            key = row["quantity"]
            if key not in shapes:
                raise FileError(f"'{self.path}': line {line} has the quantity '{key}'{closest(key, shapes)}")
            if key not in tables:
                empty = np.full(shapes[key], np.nan) if key == "drift" else np.zeros(shapes[key])
                tables[key] = empty.astype(complex) if key in ("excitation", "motions") else empty
            tables[key][self._place(line, row, key, places)] = self._value(line, row, key)
        return _assembled(self.path, {**fields, **axes, **tables}, notes, name)

    def _said(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        fields: dict[str, Any] = {}
        notes = []
        for comment in self.comments:
            key, equals, text = (part.strip() for part in comment.partition("="))
            if not equals:
                continue
            if key == "note":
                notes.append(text)
            elif key in TEXTS:
                fields[key] = text
            elif key == "restoring_has_weight":
                if text not in ("yes", "no"):
                    raise FileError(f"'{self.path}': restoring_has_weight is 'yes' or 'no', not '{text}'")
                fields[key] = text == "yes"
            elif key in (*NUMBERS, *POINTS, "frequencies", "headings"):
                values = [self._number(key, word) for word in text.split()]
                fields[key] = self._single(key, values) if key in NUMBERS else np.array(values)
            else:
                raise FileError(f"'{self.path}' says '{key}', which is no field{closest(key, (*NUMBERS, *POINTS))}")
        return fields, tuple(notes)

    def _single(self, key: str, values: list[float]) -> float:
        if len(values) != 1:
            raise FileError(f"'{self.path}': {key} must be one number; there are {len(values)}")
        return values[0]

    def _number(self, where: str, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise FileError(f"'{self.path}': {where} has '{text[:40]}', which is not a number") from None

    def _entries(self) -> Iterator[tuple[int, dict[str, str]]]:
        reader = csv.reader(self.lines, skipinitialspace=True)
        try:
            header = [each.strip() for each in next(reader, [])]
            if tuple(header) != HEADER:
                raise FileError(f"'{self.path}': the line above the rows must be '{','.join(HEADER)}'; got {header[:8]}")
            for row in reader:
                line = self.start + reader.line_num
                if not row or row == [""] or row[0].startswith("#"):
                    continue
                if len(row) != len(HEADER):
                    raise FileError(f"'{self.path}': line {line} has {len(row)} entries; expected {len(HEADER)}")
                yield line, dict(zip(HEADER, (each.strip() for each in row), strict=True))
        except csv.Error as error:
            raise FileError(f"'{self.path}': line {self.start + reader.line_num} is not CSV: {error}") from None

    def _place(self, line: int, row: dict[str, str], key: str, places: dict[str, dict[float, int]]) -> tuple[int, ...]:
        place: list[int] = []
        wanted = {"frequency": key not in MATRICES, "heading": key in WAVES}
        for axis, needed in wanted.items():
            if needed:
                value = self._number(f"line {line}, {axis}", row[axis])
                axis_name = "frequencies" if axis == "frequency" else "headings"
                if value not in places[axis_name]:
                    raise FileError(
                        f"'{self.path}': line {line} has the {axis} {row[axis]}, which '# {axis_name}' does not list"
                    )
                place.append(places[axis_name][value])
        for axis in ("row",) if key in WAVES else ("row", "column"):
            if row[axis] not in MOTIONS:
                raise FileError(
                    f"'{self.path}': line {line} has the {axis} '{row[axis][:40]}'; it must be one of {listed(MOTIONS)}"
                )
            place.append(MOTIONS.index(row[axis]))
        return tuple(place)

    def _value(self, line: int, row: dict[str, str], key: str) -> complex | float:
        real = self._number(f"line {line}, real", row["real"])
        if key not in ("excitation", "motions"):
            return real
        imaginary = self._number(f"line {line}, imag", row["imag"]) if row["imag"] else 0.0
        if not (math.isfinite(real) and math.isfinite(imaginary)):
            return complex(math.nan, math.nan)
        return complex(real, imaginary)
