"""Hydrodynamic data from files of any format that is known here."""

from __future__ import annotations

import importlib
import inspect
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.text_files import is_dir, is_file
from kingpost.marine.hydro.data import HydroData

#: Files by which folders of programs are recognised, and the suffixes of WAMIT's.
CAL, CONTROL = "Nemoh.cal", "ControlFile.in"
SUFFIXES = (".1", ".2", ".3", ".4", ".7", ".8", ".9", ".hst")


@dataclass(frozen=True)
class Format:
    """A file format: what it is called, what it looks like, and what reads it."""

    name: str
    looks: str
    #: Module and function; loaded when they are needed.
    module: str
    function: str

    @property
    def read(self) -> Callable[..., HydroData]:
        """What reads it."""
        found: Callable[..., HydroData] = getattr(
            importlib.import_module(f"kingpost.marine.hydro.formats.{self.module}"), self.function
        )
        return found

    @property
    def options(self) -> tuple[str, ...]:
        """What it takes beside the path."""
        return tuple(inspect.signature(self.read).parameters)[1:]


#: WAMIT's files of second order, over sums (s) and differences (d) of frequencies.
SECOND_ORDER = tuple(f".{number}{kind}" for number in (10, 11, 12) for kind in "sd")
FORMATS = {
    "capytaine": Format("capytaine", "NetCDF (.nc)", "capytaine", "read_capytaine"),
    "wamit": Format("WAMIT", "NAME.1 with .3 .hst .4 .8", "wamit", "read_wamit"),
    "nemoh": Format("NEMOH", "a folder with Nemoh.cal, or .tec", "nemoh", "read_nemoh"),
    "hams": Format("HAMS", "a folder with Input/ControlFile.in", "hams", "read_hams"),
    "npz": Format("plain NPZ", ".npz", "plain", "read_npz"),
    "csv": Format("plain CSV", ".csv", "plain", "read_csv"),
}


def read_hydro(path: str | Path, **options: Any) -> HydroData:
    """Return the hydrodynamic data in a file, or in the folder of a program's output, in the convention of :class:`HydroData`.

    What long waves do to every hull is checked: data with another phase convention than their format has are refused.

    Parameters
    ----------
    path
        A NetCDF file of capytaine; one of WAMIT's files, which brings those beside it; a folder of NEMOH or HAMS, or a file in
        it; a plain NPZ or CSV file.
    options
        What the format does not say, by name: ``rho``, ``g``, ``ulen``, ``depth``, ``reference`` (the point about which moments
        are, in m), ``column``, ``weight``, ``volume``, ``centre_of_gravity``, ``body`` and ``name``. A format that does not
        need one refuses it.

    """
    from kingpost.marine.hydro.conventions import check_convention

    path = Path(path)
    chosen = format_of(path)
    unknown = [key for key in options if key not in chosen.options]
    if unknown:
        known = listed(repr(each) for each in chosen.options)
        meant = closest(unknown[0], chosen.options)
        raise FileError(f"'{path}' is of {chosen.name}, which takes no '{unknown[0]}'{meant} It takes: {known}.")
    data = chosen.read(path, **options)
    note = check_convention(data)
    return replace(data, notes=(*data.notes, note)) if note and note not in data.notes else data


def format_of(path: Path) -> Format:
    """Return the format of a file or folder, by what it holds and is called."""
    if not is_file(path) and not is_dir(path):
        siblings = [entry.name for entry in path.parent.iterdir()] if is_dir(path.parent) else []
        raise FileError(f"there is no file or folder '{path}'{closest(path.name, siblings)}")
    if path.suffix.lower() in SECOND_ORDER:
        raise FileError(
            f"'{path.name}' holds forces of second order over pairs of frequencies (QTF), which are not taken: drift is "
            f"Newman's approximation, by mean forces in '{path.stem}.8' or '{path.stem}.9'. Read '{path.stem}.1', which takes "
            "them along"
        )
    name = _format_of_folder(path) if path.is_dir() else _format_of_file(path)
    if name is None:
        known = "; ".join(f"{each.name}: {each.looks}" for each in FORMATS.values())
        what = "folder" if path.is_dir() else "file"
        raise FileError(f"{what} '{path}' is in no format of hydrodynamic data that is known here ({known})")
    return FORMATS[name]


def _format_of_folder(path: Path) -> str | None:
    names = {entry.name.lower() for entry in path.iterdir()}
    if CAL.lower() in names:
        return "nemoh"
    if (path / "Input" / CONTROL).is_file():
        return "hams"
    return "wamit" if any(name.endswith(".1") for name in names) else None


def _format_of_file(path: Path) -> str | None:
    from kingpost.marine.hydro.formats.containers import is_netcdf

    suffix = path.suffix.lower()
    if is_netcdf(path) or suffix == ".nc":
        return "capytaine"
    if suffix == ".npz" or zipfile.is_zipfile(path):
        return "npz"
    if suffix in (".csv", ".tec", ".cal"):
        return "csv" if suffix == ".csv" else "nemoh"
    if path.name == CONTROL or (suffix in SUFFIXES and _is_hams(path)):
        return "hams"
    return "wamit" if suffix in SUFFIXES else None


def _is_hams(path: Path) -> bool:
    from kingpost.marine.hydro.formats.hams import is_hams

    return is_hams(path)
