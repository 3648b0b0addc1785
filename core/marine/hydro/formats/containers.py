"""NetCDF files: variables with named dimensions, from HDF5 (by h5py) and from the classic form (by SciPy)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.errors import FileError, PluginError
from kingpost.marine.hydro.formats.assembly import MOST

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
CLASSIC_MAGIC = b"CDF"


@dataclass(frozen=True, eq=False)
class Variable:
    """Values, and the name of each of their dimensions."""

    values: NDArray[Any]
    dims: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Container:
    """What a NetCDF file holds."""

    variables: Mapping[str, Variable]
    attributes: Mapping[str, Any]


def is_netcdf(path: Path) -> bool:
    """Say whether a file begins as one of the two forms does."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False
    return start == HDF5_MAGIC or start.startswith(CLASSIC_MAGIC)


def read_container(path: Path) -> Container:
    """Return the variables of a file."""
    with path.open("rb") as file:
        start = file.read(8)
    if start == HDF5_MAGIC:
        return _read_hdf5(path)
    if start.startswith(CLASSIC_MAGIC):
        return _read_classic(path)
    raise FileError(f"'{path}' is not a NetCDF file: it begins with {start!r}")


def _read_hdf5(path: Path) -> Container:
    try:
        import h5py  # an extra
    except ImportError:
        raise PluginError(
            f"'{path}' is a NetCDF file in HDF5, which takes h5py; install it with: pip install 'kingpost[io]'"
        ) from None
    with h5py.File(path, "r") as file:
        variables = {}
        for name, item in file.items():
            if isinstance(item, h5py.Dataset):
                variables[name] = Variable(_hdf5_values(path, name, item), _hdf5_dims(file, name, item))
        return Container(variables, {name: _plain(value) for name, value in file.attrs.items()})


def _hdf5_values(path: Path, name: str, item: Any) -> NDArray[Any]:
    _check_size(path, name, item.size or 0)
    if item.dtype.kind == "O":
        return _texts(np.asarray(item[()], dtype=object))
    return _texts(np.asarray(item[()]))


def _hdf5_dims(file: Any, name: str, item: Any) -> tuple[str, ...]:
    """Return the names of the dimensions, read as plain attributes: HDF5's own functions for them end the process on damage."""
    if item.attrs.get("CLASS") == b"DIMENSION_SCALE" and item.ndim == 1:
        return (name,)
    scales, labels = item.attrs.get("DIMENSION_LIST", ()), item.attrs.get("DIMENSION_LABELS", ())
    if len(scales) == item.ndim:
        return tuple(file[each[0]].name.rpartition("/")[2] if len(each) else f"dim{i}" for i, each in enumerate(scales))
    if len(labels) == item.ndim:
        return tuple(str(_plain(label)) for label in labels)
    return tuple(f"dim{i}" for i in range(item.ndim))


def _read_classic(path: Path) -> Container:
    from scipy.io import netcdf_file

    with netcdf_file(path, "r", mmap=False) as file:
        variables = {}
        for name, item in file.variables.items():
            values = np.array(item.data)
            _check_size(path, name, values.size)
            values = values.astype(values.dtype.newbyteorder("="))
            texts = _texts(values)
            variables[name] = Variable(texts, tuple(item.dimensions)[: texts.ndim])
        return Container(variables, {name: _plain(value) for name, value in file._attributes.items()})


def _check_size(path: Path, name: str, size: int) -> None:
    if size > MOST:
        raise FileError(f"'{path}' holds {size} numbers in '{name}'; that is no table of a hull (at most {MOST})")


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as texts: from bytes, and from characters along a last dimension of their own."""
    if values.dtype.kind == "S" and values.dtype.itemsize == 1 and values.ndim >= 1:
        joined = np.ascontiguousarray(values).view(f"S{values.shape[-1] or 1}")[..., 0] if values.size else values
        return _texts(np.asarray(joined)) if joined.dtype.itemsize > 1 else _decoded(joined)
    return _decoded(values) if values.dtype.kind in "SO" else values


def _decoded(values: NDArray[Any]) -> NDArray[Any]:
    flat = [_plain(value) for value in values.ravel()]
    made = np.empty(len(flat), dtype=object)
    made[:] = flat
    return made.reshape(values.shape)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace").rstrip("\0 ") if isinstance(value, bytes) else value
