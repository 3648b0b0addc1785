"""HDF5."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.plugins.writers.precision import Precision, in_precision
from kingpost.results.history import History, given_away
from kingpost.results.metadata import ENTRY, Outline, from_text, to_text, unique_names
from kingpost.results.writer import Writer

if TYPE_CHECKING:
    from kingpost.results.growing import GrowingFile
    from kingpost.results.part import Part


class Hdf5Writer(Writer):
    """HDF5: a dataset for the time and one for each channel, units and frames as attributes, the rest as JSON text."""

    name = "hdf5"
    suffix = ".h5"
    needs = ("h5py",)
    extra = "io"
    embeds = True
    Options = Precision

    def write(self, history: History, path: Path) -> None:
        import h5py  # an extra

        from kingpost.plugins.writers.growing_hdf5 import attributes_of

        history, dtype = in_precision(history, self.options)
        names = unique_names(history.names, _dataset_name, taken=("time", ENTRY))
        packing: dict[str, Any] = {"compression": "gzip", "shuffle": True, "fletcher32": True} if len(history) else {}
        grid = _even_grid(history.time)
        # Made in memory: of a disk that is full while HDF5 writes to it, the library does not recover.
        memory = io.BytesIO()
        # The layout of HDF5 1.8 has checksums on what describes the data, too, and every tool of today reads it.
        with h5py.File(memory, "w", libver=("v108", "v108"), track_order=True) as file:
            text = to_text(history, names)
            file.create_dataset(ENTRY, data=[text], dtype=h5py.string_dtype("ascii", len(text)), fletcher32=True)
            time = file.create_dataset("time", data=history.time, **packing)
            time.attrs["units"] = "s"
            time.make_scale("time")
            for j, (channel, name) in enumerate(zip(history.channels, names, strict=True)):
                dataset = file.create_dataset(name, data=history.values[:, j].astype(dtype), **packing)
                dataset.dims[0].attach_scale(time)
                dataset.attrs.update(attributes_of(channel) | grid)
        path.write_bytes(memory.getbuffer())

    def grow(self, path: Path, outline: Outline) -> GrowingFile:
        names = unique_names(outline.names, _dataset_name, taken=("time", ENTRY))
        from kingpost.plugins.writers.growing_hdf5 import GrowingHdf5

        return GrowingHdf5(path, outline, names, self.options)

    def read(self, path: Path) -> History:
        from kingpost.results.part import Part

        return self.read_part(path, Part())

    def read_part(self, path: Path, part: Part) -> History:
        with _opened(path) as file:
            if ENTRY not in file:
                raise ValueError(f"it has no dataset '{ENTRY}'")
            metadata = from_text(file[ENTRY].asstr()[0])
            everything = ("time", *metadata.stored_as)
            count = metadata.samples
            if count is None:  # in one that was cut off, some datasets may be longer than others
                count = min(file[name].shape[0] for name in everything)
            for name in everything:
                if file[name].shape != (count,) and metadata.samples is not None:
                    raise ValueError(f"'{name}' has the shape {file[name].shape}, but {count} samples are announced")
            names, metadata = metadata.part(part.channels)
            times = file["time"][:count]
            rows = part.rows(times)
            values = np.empty((rows.stop - rows.start, len(names)))
            for j, name in enumerate(names):
                values[:, j] = file[name][rows]
            return replace(metadata, samples=None).history(given_away(times[rows].copy()), given_away(values))


def _opened(path: Path) -> Any:
    """Return an open file; one whose writer was ended is read as if it still wrote."""
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "already open for write" not in str(error):
            raise
        return h5py.File(path, "r", swmr=True, locking=False)


def _dataset_name(name: str) -> str:
    """Return a name without the characters that HDF5 takes for itself."""
    dataset = name.replace("/", "_").replace("\0", "_")
    return f"{dataset}_" if dataset in ("", ".", "..") else dataset


def _even_grid(time: FloatArray) -> dict[str, np.float64]:
    """Return start and step of evenly spaced times, as SIMA, and qats, want them beside every series."""
    if len(time) < 2:
        return {}
    with np.errstate(all="ignore"):  # times that are not finite, or huge, are not even
        step = (time[-1] - time[0]) / (len(time) - 1)
        # Each of t_start + i h, and of what is compared with it here, is rounded twice.
        rounding = 4 * np.finfo(float).eps * np.abs(time).max()
        even = np.abs(time - (time[0] + np.arange(len(time)) * step)).max() <= rounding < step
    return {"start": time[0], "delta": np.float64(step)} if even else {}
