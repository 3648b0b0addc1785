"""Readers of hydrodynamic data, and what is made of it: checks, cleaning, tables."""

from __future__ import annotations

import functools
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.marine.hydro.checks import check
from kingpost.marine.hydro.cleaning import clean
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.formats.plain import _csv, _npz
from kingpost.marine.hydro.reading import read_hydro
from tests.core.marine.hydro.files import FOLDER, PUBLIC
from tests.fuzz.mutations import damaged
from tests.fuzz.table import reader
from tests.fuzz.texts import answer, placed

FORCES = "Results/ExcitationForce.tec"
MOTIONS = ("Surge", "Sway", "Heave", "Roll", "Pitch", "Yaw")


@functools.cache
def small() -> HydroData:
    """A few rows of the barge."""
    whole = read_hydro(FOLDER / "barge_deep_ref_waterline.nc")
    tables = {
        name: getattr(whole, name)[:4] for name in ("frequencies", "added_mass", "damping", "excitation", "motions", "drift")
    }
    return whole.with_notes(**tables)


def sensible(data: HydroData) -> None:
    """Ask of data all that a verb asks; they may be refused, but with a sentence."""
    assert (np.diff(data.frequencies) > 0).all() and data.frequencies[0] > 0
    assert np.isfinite(data.added_mass).all() and np.isfinite(data.damping).all()
    answer(lambda: data.about([1.0, 2.0, 3.0]))
    answer(lambda: clean(data))
    found = answer(lambda: check(data))
    for each in found or ():
        assert isinstance(each.well, bool)
    if data.excitation is not None and len(data.headings):
        values = answer(lambda: data.excitation_at([0.01, 1.0, 50.0], data.headings[0]))
        assert values is None or np.isfinite(values).all()


def arrays() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """The variables of a small dataset as capytaine has them."""
    data = small()
    names = np.array([name.encode() for name in MOTIONS])
    return {
        "omega": (data.frequencies, ("omega",)),
        "wave_direction": (data.headings, ("wave_direction",)),
        "influenced_dof": (names, ("influenced_dof",)),
        "radiating_dof": (names, ("radiating_dof",)),
        "complex": (np.array([b"re", b"im"]), ("complex",)),
        "added_mass": (data.added_mass, ("omega", "radiating_dof", "influenced_dof")),
        "radiation_damping": (data.damping, ("omega", "radiating_dof", "influenced_dof")),
        "excitation_force": (
            np.stack([data.excitation.real, -data.excitation.imag]),
            ("complex", "omega", "wave_direction", "influenced_dof"),
        ),
        "rotation_center": (data.reference, ("xyz",)),
        "rho": (np.array(1025.0), ()),
        "g": (np.array(9.81), ()),
        "water_depth": (np.array(np.inf), ()),
    }


def packed(variables: dict[str, tuple[Any, tuple[str, ...]]]) -> bytes:
    import h5py

    buffer = io.BytesIO()
    # As NetCDF's library writes it, with checksums on what describes the data.
    with h5py.File(buffer, "w", libver=("v108", "v108")) as file:
        for name, (values, dims) in variables.items():
            item = file.create_dataset(name, data=values)
            if dims == (name,):
                item.make_scale(name)
        for name, (_, dims) in variables.items():
            for i, dim in enumerate(dims if dims != (name,) else ()):
                if i < file[name].ndim:
                    file[name].dims[i].label = dim
    return buffer.getvalue()


@functools.cache
def dataset() -> bytes:
    return packed(arrays())


def nonsense(rng: random.Random, values: Any) -> Any:
    """Return an array as no dataset has it."""
    array = np.array(values)
    if array.dtype.kind == "f" and array.size and rng.random() < 0.6:
        flat = array.reshape(-1).copy()
        flat[rng.randrange(flat.size)] = rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e-320, 7.0))
        return flat.reshape(array.shape)
    if not array.ndim:
        return rng.choice((np.array([1.0, 2.0]), np.array(b"deep"), np.array(-1.0), np.zeros(0)))
    return rng.choice(
        (array[:1], array.reshape(-1), array[..., None], np.zeros(0), np.array(3.0), np.array(b"text"), array.astype("S"))
    )


def damaged_dataset(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return damaged(rng, [dataset()], "bytes")
    variables = arrays()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(variables))
        values, dims = variables[name]
        choice = rng.randrange(4)
        if choice == 0 and len(variables) > 1:
            del variables[name]
        elif choice == 1:
            variables[name] = (values, tuple(rng.sample(dims, len(dims))) if dims else ("omega",))
        else:
            variables[name] = (nonsense(rng, values), dims)
    try:
        return packed(variables)
    except (ValueError, TypeError, RuntimeError, KeyError):  # the format itself cannot hold this
        return dataset()


def damaged_npz(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return damaged(rng, [_npz(small())], "bytes")
    with np.load(io.BytesIO(_npz(small()))) as file:
        fields = {name: file[name] for name in file.files}
    name = rng.choice(list(fields))
    if rng.random() < 0.2:
        fields[rng.choice(("added", "x", "form", "headings"))] = fields.pop(name)
    else:
        fields[name] = nonsense(rng, fields[name])
    buffer = io.BytesIO()
    np.savez(buffer, **fields)
    return buffer.getvalue()


@reader(".nc", lambda: [dataset()], often=15, long=1_000, damage=damaged_dataset)
def hydro_netcdf(content: bytes, folder: Path) -> None:
    sensible(read_hydro(placed(content, folder, "hull.nc")))


@reader(".npz", lambda: [_npz(small())], often=30, long=2_000, damage=damaged_npz)
def hydro_npz(content: bytes, folder: Path) -> None:
    sensible(read_hydro(placed(content, folder, "hull.npz")))


@reader(".csv", lambda: [_csv(small()).encode()], often=20, long=2_000)
def hydro_csv(content: bytes, folder: Path) -> None:
    sensible(read_hydro(placed(content, folder, "hull.csv")))


@functools.cache
def wamit(suffix: str) -> bytes:
    """Of the public sphere: limits and the first three periods."""
    lines = (PUBLIC / "wamit_sphere" / f"sphere{suffix}").read_bytes().split(b"\n")
    return b"\n".join(lines[: {".1": 1 + 5 * 36, ".3": 1 + 3 * 6}.get(suffix, len(lines))])


def read_wamit(content: bytes, folder: Path, damaged_one: str) -> None:
    for suffix in (".1", ".3", ".hst", ".mmx"):
        placed(content if suffix == damaged_one else wamit(suffix), folder, f"sphere{suffix}")
    sensible(read_hydro(folder / "sphere.1", rho=1000.0, g=9.81, ulen=1.0, reference=(0, 0, -2.0), depth=50.0))


@functools.cache
def nemoh(place: str) -> bytes:
    """Of the public ellipsoid: four rows of each zone."""
    lines, kept = (PUBLIC / "nemoh3_ellipsoid" / place).read_bytes().split(b"\n"), []
    rows = 0
    for line in lines:
        numbers = place.endswith(".tec") and line[:3].strip()[:1].isdigit()
        rows = rows + 1 if numbers else 0
        if rows <= 4:
            kept.append(line)
    return b"\n".join(kept)


def read_nemoh(content: bytes, folder: Path, damaged_one: str) -> None:
    run = folder / "nemoh"
    for place in ("Nemoh.cal", "Mesh/KH.dat", "Mesh/Hydrostatics.dat", "Results/RadiationCoefficients.tec", FORCES):
        (run / place).parent.mkdir(parents=True, exist_ok=True)
        placed(content if place == damaged_one else nemoh(place), run, place)
    sensible(read_hydro(run))


def of_a_run(
    name: str,
    suffix: str,
    whole: Callable[[str], bytes],
    read: Callable[[bytes, Path, str], None],
    *places: str,
    often: int,
    which: Callable[[bytes], str] | None = None,
) -> None:
    """Register a reader of files of which one is damaged: the only place, or what ``which`` says of its content."""

    def reads(content: bytes, folder: Path) -> None:
        read(content, folder, places[0] if which is None else which(content))

    reads.__name__ = name
    reader(suffix, lambda: [whole(place) for place in places], often=often, long=100 * often)(reads)


of_a_run("hydro_wamit_1", ".1", wamit, read_wamit, ".1", often=20)
of_a_run("hydro_wamit_3", ".3", wamit, read_wamit, ".3", often=20)
of_a_run(
    *("hydro_wamit_hst", ".hst", wamit, read_wamit, ".hst", ".mmx"),
    often=15,
    which=lambda content: ".mmx" if b"Gravity" in content else ".hst",
)
of_a_run("hydro_nemoh_cal", ".cal", nemoh, read_nemoh, "Nemoh.cal", often=20)
of_a_run("hydro_nemoh_radiation", ".tec", nemoh, read_nemoh, "Results/RadiationCoefficients.tec", often=20)
of_a_run("hydro_nemoh_excitation", ".tec", nemoh, read_nemoh, FORCES, often=15)
of_a_run(
    *("hydro_nemoh_mesh", ".dat", nemoh, read_nemoh, "Mesh/KH.dat", "Mesh/Hydrostatics.dat"),
    often=15,
    which=lambda content: "Mesh/Hydrostatics.dat" if b"XF" in content or b"ZG" in content else "Mesh/KH.dat",
)


@functools.cache
def hams(place: str) -> bytes:
    return (PUBLIC / "hams_cylinder" / place).read_bytes()


@reader(".in", lambda: [hams("Input/ControlFile.in")], often=8, long=700)
def hydro_hams(content: bytes, folder: Path) -> None:
    run = folder / "hams"
    for place in (
        "Input/ControlFile.in",
        "Input/Hydrostatic.in",
        *(f"Output/Wamit_format/Buoy{suffix}" for suffix in (".1", ".3", ".hst")),
    ):
        (run / place).parent.mkdir(parents=True, exist_ok=True)
        whole = hams(place) if not place.endswith((".1", ".3")) else b"\n".join(hams(place).split(b"\n")[:400])
        placed(content if place == "Input/ControlFile.in" else whole, run, place)
    sensible(read_hydro(run))
