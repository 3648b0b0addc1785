"""From what a file holds, in any order, to :class:`HydroData`: sorted, without rows that are no numbers, each change noted."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.errors import FileError, KingpostError, PluginError, listed
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.headings import SAME

#: Tables over frequencies and headings (n, m, 6), and over frequencies alone (n, 6, 6).
OVER_HEADINGS = ("excitation", "motions", "drift")
OVER_FREQUENCIES = ("added_mass", "damping")
#: What libraries raise for a damaged file.
DAMAGE = (OSError, ValueError, LookupError, TypeError, RuntimeError, EOFError, ArithmeticError, AttributeError) + (
    *(zipfile.BadZipFile, zlib.error, struct.error, SyntaxError),
)
#: Two rows for one frequency or heading are the same if they differ by less than this share of the largest number.
ALIKE = 1e-6
#: Numbers in names of rows that were dropped.
SHOWN = 8
#: More numbers than this in one table are not hydrodynamic data of a hull.
MOST = 50_000_000


def assemble(path: Path, notes: tuple[str, ...], **fields: Any) -> HydroData:
    """Return the data of a file; what is wrong with them is said with its name."""
    with blaming(path):
        fields, more = _ordered(fields)
        return HydroData(source=str(path), notes=(*notes, *more), **fields)


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Say of which file an error speaks, and take for one what a damaged file makes libraries raise."""
    try:
        yield
    except (FileError, PluginError):
        raise
    except KingpostError as error:
        raise FileError(f"{path}: {error}") from None
    except MemoryError:
        raise FileError(f"'{path}' cannot be read: it asks for more memory than there is") from None
    except DAMAGE as e:
        words = str(e).strip("'\" ") or type(e).__name__
        raise FileError(f"'{path}' cannot be read as hydrodynamic data: {words}") from None


def _ordered(fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    found = dict(fields)
    notes: list[str] = []
    _drop_lacking(found, notes)
    _sort(found, "frequencies", 0, (*OVER_FREQUENCIES, *OVER_HEADINGS), notes)
    _sort(found, "headings", 1, OVER_HEADINGS, notes)
    return found, notes


def _drop_lacking(found: dict[str, Any], notes: list[str]) -> None:
    """Drop frequencies at which something is not a number, as solvers leave it that failed there."""
    w = np.asarray(found["frequencies"], dtype=float)
    lacking = ~np.isfinite(w)
    for name in ("added_mass", "damping", "excitation", "motions"):
        table = found.get(name)
        if table is not None:
            lacking = lacking | ~np.isfinite(table).reshape(len(w), -1).all(axis=1)
    if lacking.all():
        raise KingpostError("no frequency has a whole row of numbers")
    if lacking.any():
        _take(found, "frequencies", 0, (*OVER_FREQUENCIES, *OVER_HEADINGS), np.flatnonzero(~lacking))
        names = listed((f"{each:.4g}" for each in w[lacking]), most=SHOWN)
        notes.append(f"dropped {int(lacking.sum())} of {len(w)} frequencies with values that are not numbers: {names} rad/s")


def _sort(found: dict[str, Any], axis: str, place: int, tables: tuple[str, ...], notes: list[str]) -> None:
    values = np.asarray(found[axis], dtype=float)
    if axis == "headings" and len(values) and np.ptp(values) >= 2 * math.pi - SAME:
        values = np.mod(values + SAME, 2 * math.pi) - SAME
        found[axis] = values
    order = np.argsort(values, kind="stable")
    if (np.diff(order) < 0).any():
        _take(found, axis, place, tables, order)
        if (np.diff(order) > 0).any():  # periods that rise are no disorder
            notes.append(f"sorted the {axis}, which were neither rising nor falling")
        values = found[axis]
    close = SAME if axis == "headings" else 1e-9 * float(np.abs(values).max(initial=0.0))
    again = np.flatnonzero(np.diff(values) <= close) + 1
    if len(again):
        _refuse_unlike(found, values, place, tables, again)
        _take(found, axis, place, tables, np.setdiff1d(np.arange(len(values)), again))
        notes.append(f"dropped {len(again)} of {len(values)} {axis} that were there twice")


def _refuse_unlike(
    found: dict[str, Any], values: NDArray[Any], place: int, tables: tuple[str, ...], again: NDArray[np.int_]
) -> None:
    for name in tables:
        table = found.get(name)
        if table is None:
            continue
        rows = np.moveaxis(np.nan_to_num(np.asarray(table)), place, 0)
        difference = np.abs(rows[again] - rows[again - 1]).max(initial=0.0)
        if difference > ALIKE * np.abs(rows).max(initial=0.0):
            where = f"{values[again[0]]:.6g} {'rad/s' if place == 0 else 'rad'}"
            raise KingpostError(f"{name.replace('_', ' ')} at {where} is there twice, with different numbers")


def _take(found: dict[str, Any], axis: str, place: int, tables: tuple[str, ...], rows: NDArray[Any]) -> None:
    found[axis] = np.asarray(found[axis], dtype=float)[rows]
    for name in tables:
        if found.get(name) is not None:
            found[name] = np.take(np.asarray(found[name]), rows, axis=place)
