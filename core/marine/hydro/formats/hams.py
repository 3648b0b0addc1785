"""HAMS: its files in WAMIT's form, with what its control file says of them.

Density and gravity are fixed in the program. The phase of the wave forces differs between its versions, so it is found by what
long waves do: the heave force is in phase with the crest, and the force along the wave leads it by a quarter of a period.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError
from kingpost.base.text_files import read_text
from kingpost.marine.hydro.conventions import phase_fault
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.formats.assembly import blaming
from kingpost.marine.hydro.formats.columns import numbers_in
from kingpost.marine.hydro.formats.wamit import WamitOptions, read_wamit_files
from kingpost.marine.hydro.reading import CONTROL, SUFFIXES

#: Fixed in the program.
DENSITY, GRAVITY = 1025.0, 9.80665
COLUMNS = {1: "deep-wavenumber", 2: "wavenumber", 3: "frequency", 4: "period", 5: "wavelength"}
#: Output types in which 0 stands for vanishing and -1 for infinite frequency.
SWAPPED = (1, 2, 3)


def is_hams(path: Path) -> bool:
    """Say whether a path is a folder of HAMS, its control file, or one of its files in WAMIT's form."""
    return _control(path) is not None


def read_hams(path: Path, *, rho: float = DENSITY, g: float = GRAVITY, name: str | None = None) -> HydroData:
    """Return the hull in a folder with Input/ControlFile.in and Output/Wamit_format."""
    control = _control(path)
    if control is None:
        raise FileError(f"there is no Input/{CONTROL} that belongs to '{path}'")
    with blaming(control):
        return _read(control, rho, g, name)


def _read(control: Path, rho: float, g: float, name: str | None) -> HydroData:
    folder = control.parent.parent
    output = folder / "Output" / "Wamit_format"
    first = sorted(output.glob("*.1")) if output.is_dir() else []
    if len(first) != 1:
        raise FileError(f"'{output}' holds {len(first)} files NAME.1; expected one")
    # Motions are not read: their phase has the same doubt, and they follow from the rest.
    suffixes = [suffix for suffix in SUFFIXES if suffix != ".4"]
    files = {suffix: first[0].with_suffix(suffix) for suffix in suffixes if first[0].with_suffix(suffix).is_file()}
    text = read_text(control, encoding="latin-1")
    kind = int(_value(control, text, "Output_frequency_type")[0])
    if kind not in COLUMNS:
        raise FileError(f"'{control}': Output_frequency_type is {kind}; it must be 1 to 5")
    depth = _value(control, text, "Waterdepth")[0]
    options = WamitOptions(
        rho=rho,
        g=g,
        ulen=_value(control, text, "Reference_body_length")[0],
        reference=_value(control, text, "Reference_body_center", 3),
        depth=depth if depth > 0 else float("inf"),
        column=COLUMNS[kind],
        weight=True,
        swapped=kind in SWAPPED,
        inertia=_mass(folder / "Input" / "Hydrostatic.in"),
    )
    note = f"HAMS: density {rho:g} kg/m^3 and gravity {g:g} m/s^2, which its files do not say"
    return _with_phase(read_wamit_files(files, options, name or folder.name, (note,)))


def _with_phase(data: HydroData) -> HydroData:
    """Return the data with the phase that long waves ask for."""
    if data.excitation is None or phase_fault(data) is None:
        return data
    for words, turned in (
        ("conjugated, for their time factor is exp(-i w t)", np.conj(data.excitation)),
        ("conjugated and turned by -90 deg, as some versions of HAMS need", -1j * np.conj(data.excitation)),
    ):
        candidate = data.with_notes(f"wave forces were {words}: long waves show it", excitation=turned)
        if phase_fault(candidate) is None:
            return candidate
    raise FileError(f"'{data.source}': {phase_fault(data)}")


def _control(path: Path) -> Path | None:
    folders = (path, *path.parents[:3]) if path.is_dir() else tuple(path.parents[:3])
    places = [path] if path.name == CONTROL else [folder / "Input" / CONTROL for folder in folders]
    return next((place for place in places if place.is_file()), None)


def _value(path: Path, text: str, key: str, count: int = 1) -> Any:
    found = re.search(rf"^\s*{key}\s+(.*)$", text, flags=re.MULTILINE)
    words = found[1].split()[:count] if found else []
    numbers = [number for word in words for number in numbers_in(word) or ()]
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise FileError(f"'{path}' does not say {key} with {count} number(s)")
    return numbers


def _mass(path: Path) -> FloatArray | None:
    """Return the mass matrix of Hydrostatic.in, if there is one in it."""
    if not path.is_file():
        return None
    lines = read_text(path, encoding="latin-1").splitlines()
    start = next((i for i, line in enumerate(lines) if "Body Mass Matrix" in line), None)
    rows = [] if start is None else [numbers_in(line) for line in lines[start + 1 : start + 7]]
    if len(rows) != 6 or any(row is None or len(row) != 6 for row in rows):
        return None
    matrix = np.array(rows, dtype=float)
    return matrix if matrix[0, 0] > 0 else None
