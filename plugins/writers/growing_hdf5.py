"""An HDF5 file that grows.

It is written for one writer and many readers (SWMR), of which HDF5 promises that the file can be read at any time, and so also
after whatever ended its writer. All that describes the data is there before the first sample; only the JSON text is written
again at the end, into room that was kept for it. The layout is that of HDF5 1.10, which has this way of writing.

Of a disk that is full while HDF5 writes to it, the library does not recover, and may take the process down. So the room that is
needed next is taken beforehand, by a file beside it, and given back when HDF5 is about to use it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.plugins.writers.precision import Precision, check_precision, outline_in_precision
from kingpost.results.growing import GrowingFile
from kingpost.results.metadata import ENTRY, Outline, to_text

#: Samples that are packed together.
CHUNK = 4096
#: Bytes of them that HDF5 keeps of each channel; its own choice is 16 times as much.
CACHE = 2**16
#: Bytes that a dataset may take at most to describe what is added to it, and bytes that are written at once.
OVERHEAD, BLOCK = 2**13, 2**20
#: Characters by which the JSON text may grow until the end; packed, they take no room.
SPARE = 2**18


class GrowingHdf5(GrowingFile):
    """An HDF5 file that grows."""

    def __init__(self, path: Path, outline: Outline, names: list[str], options: Precision) -> None:
        import h5py  # an extra

        self._names, self._options, self._rows, self._path = names, options, 0, path
        self._room = Room(path)
        dtype = np.float32 if options.float32 else np.float64
        self._file = h5py.File(path, "x", libver=("v110", "v110"), track_order=True, rdcc_nbytes=CACHE)
        text = self._text(outline)
        packing: dict[str, Any] = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        kind = h5py.string_dtype("ascii", len(text) + SPARE)
        self._file.create_dataset(ENTRY, data=[text], dtype=kind, chunks=(1,), compression="gzip", fletcher32=True)
        growing = {"shape": (0,), "maxshape": (None,), "chunks": (CHUNK,), **packing}
        time = self._file.create_dataset("time", dtype=np.float64, **growing)
        time.attrs["units"] = "s"
        time.make_scale("time")
        grid = {} if outline.even is None else {"start": outline.even[0], "delta": outline.even[1]}
        for channel, name in zip(outline.channels, names, strict=True):
            dataset = self._file.create_dataset(name, dtype=dtype, **growing)
            dataset.dims[0].attach_scale(time)
            dataset.attrs.update(attributes_of(channel) | grid)
        self._datasets = [self._file[name] for name in ("time", *names)]
        self._file.swmr_mode = True

    def _text(self, outline: Outline) -> str:
        return to_text(outline_in_precision(outline, self._options), self._names)

    def append(self, times: FloatArray, values: FloatArray) -> None:
        check_precision(times, values, self._names, self._options)
        with self._room.taken(times.nbytes + values.nbytes + OVERHEAD * len(self._datasets)):
            self._write(times, values)

    def _write(self, times: FloatArray, values: FloatArray) -> None:
        first, beyond = self._rows, self._rows + len(times)
        for j in range(len(self._datasets) - 1, -1, -1):  # times last, which tell how many samples there are
            dataset = self._datasets[j]
            dataset.resize((beyond,))
            column = times if j == 0 else values[:, j - 1]
            dataset[first:beyond] = np.ascontiguousarray(column, dtype=dataset.dtype)
        self._file.flush()
        self._rows = beyond

    def finish(self, outline: Outline) -> None:
        text = self._text(outline)
        entry = self._file[ENTRY]
        with self._room.taken(len(text) + SPARE):
            self._finish(text, entry)

    def _finish(self, text: str, entry: Any) -> None:
        if len(text) <= entry.dtype.itemsize:
            entry[0] = text.encode("ascii")
            self._file.close()
            return
        import h5py

        self._file.close()
        with h5py.File(self._path, "r+", libver=("v110", "v110")) as file:
            del file[ENTRY]
            file.create_dataset(ENTRY, data=[text], dtype=h5py.string_dtype("ascii", len(text)), fletcher32=True)

    def close(self) -> None:
        self._file.close()


class Room:
    """Room on a disk that is taken before it is needed."""

    def __init__(self, path: Path) -> None:
        self._path, self._beside = path, path.with_name(f"{path.name}.room")

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Make sure that a file can grow by so many bytes, and let it; raise :class:`OSError` if it cannot."""
        _check_limit(self._path.stat().st_size + size)
        try:
            with self._beside.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    for _ in range(-(-size // BLOCK)):
                        file.write(bytes(BLOCK))
        finally:
            self._beside.unlink(missing_ok=True)
        yield


def _check_limit(size: int) -> None:
    """Refuse a file that is larger than this process may write."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and size > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def attributes_of(channel: Any) -> dict[str, Any]:
    """Return what an HDF5 dataset says of a channel."""
    texts = {"units": channel.unit, "frame": channel.frame, "side": channel.side}
    attributes = {key: text.replace("\0", "_") for key, text in texts.items()} | {"at": channel.at}
    return {key: value for key, value in attributes.items() if value}
