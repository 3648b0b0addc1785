"""Apache Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.plugins.writers.precision import Precision, check_precision, outline_in_precision
from kingpost.results.history import History, given_away
from kingpost.results.metadata import ENTRY, Outline, from_text, outline_of, to_text, unique_names
from kingpost.results.writer import Writer

if TYPE_CHECKING:
    from kingpost.results.growing import GrowingFile
    from kingpost.results.part import Part

#: Numbers in a row group: 16 MB.
GROUP = 2**21


class ParquetWriter(Writer):
    """Parquet: a column for the time and one for each channel, units and frames with each, the rest as JSON text."""

    name = "parquet"
    suffix = ".parquet"
    needs = ("pyarrow",)
    extra = "io"
    embeds = True
    Options = Precision

    def write(self, history: History, path: Path) -> None:
        from pyarrow import parquet

        check_precision(history.time, history.values, history.names, self.options)
        schema = self._schema(outline_in_precision(outline_of(history), self.options))
        rows = max(1, GROUP // (1 + len(history.channels)))
        with parquet.ParquetWriter(path, schema, **_PACKING) as file:
            for first in range(0, len(history), rows):
                some = slice(first, first + rows)
                file.write_table(_table(schema, history.time[some], history.values[some]), row_group_size=rows)

    def grow(self, path: Path, outline: Outline) -> GrowingFile:
        from kingpost.plugins.writers.growing_parquet import GrowingParquet

        return GrowingParquet(path, outline, self._packed)

    def _packed(self, outline: Outline, samples: tuple[FloatArray, FloatArray] | None) -> bytes:
        """Return a whole file with some samples, or none, as bytes."""
        from pyarrow import parquet

        schema, memory = self._schema(outline_in_precision(outline, self.options)), io.BytesIO()
        with parquet.ParquetWriter(memory, schema, **_PACKING) as file:
            if samples is not None:
                check_precision(*samples, outline.names, self.options)
                file.write_table(_table(schema, *samples), row_group_size=len(samples[0]))
        return memory.getvalue()

    def _schema(self, outline: Outline) -> Any:
        import pyarrow as pa  # an extra

        names = unique_names(outline.names, lambda name: name, taken=("time",))
        kind = pa.float32() if self.options.float32 else pa.float64()
        fields = [
            pa.field(name, kind, metadata=_described(channel)) for name, channel in zip(names, outline.channels, strict=True)
        ]
        time = pa.field("time", pa.float64(), metadata={"unit": "s"})
        return pa.schema([time, *fields], metadata={ENTRY: to_text(outline, names)})

    def read(self, path: Path) -> History:
        from kingpost.results.part import Part

        return self.read_part(path, Part())

    def read_part(self, path: Path, part: Part) -> History:
        from pyarrow import parquet

        from kingpost.plugins.writers.growing_parquet import opened

        with parquet.ParquetFile(opened(path), page_checksum_verification=True) as file:
            text = (file.schema_arrow.metadata or {}).get(ENTRY.encode())
            if text is None:
                raise ValueError(f"it has no entry '{ENTRY}' in its metadata")
            metadata = from_text(text.decode())
            if file.schema_arrow.names != ["time", *metadata.stored_as]:
                raise ValueError(f"its columns are not those that its entry '{ENTRY}' describes")
            if metadata.samples not in (None, file.metadata.num_rows):
                raise ValueError(f"{metadata.samples} samples are announced, but the file holds {file.metadata.num_rows}")
            names, metadata = metadata.part(part.channels)
            return metadata.numbers(part, *_numbers(file, names, part))


#: The bytes of neighbouring numbers are alike place by place, so they are stored apart: smaller, and faster.
_PACKING: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": False,
    "use_byte_stream_split": True,
    "write_page_checksum": True,
}


def _table(schema: Any, times: FloatArray, values: FloatArray) -> Any:
    import pyarrow as pa

    dtype = np.float32 if len(schema) > 1 and schema.field(1).type == pa.float32() else np.float64
    with np.errstate(over="ignore", under="ignore"):
        columns = [np.ascontiguousarray(values[:, j], dtype=dtype) for j in range(values.shape[1])]
    return pa.table([pa.array(times), *map(pa.array, columns)], schema=schema)


def _numbers(file: Any, names: list[str], part: Part) -> tuple[FloatArray, FloatArray]:
    """Return times and values, of no more row groups than are needed, one group after the other."""
    described = file.metadata
    groups = [i for i in range(described.num_row_groups) if part.reaches(*_span(described.row_group(i).column(0)))]
    groups = groups or list(range(described.num_row_groups))  # there is no such time, as will be told
    rows = sum(described.row_group(i).num_rows for i in groups)
    times, values = np.empty(rows), np.empty((rows, len(names)))
    first = 0
    for i in groups:
        columns = file.read_row_group(i, columns=["time", *names], use_threads=False).columns
        beyond = first + len(columns[0])
        times[first:beyond] = columns[0].to_numpy()
        for j, column in enumerate(columns[1:]):
            values[first:beyond, j] = column.to_numpy()
        first = beyond
    return given_away(times), given_away(values)


def _span(column: Any) -> tuple[float, float]:
    """Return the least and the largest time of a row group; all times where it does not say."""
    found = column.statistics
    known = found is not None and found.has_min_max
    return (found.min, found.max) if known else (-np.inf, np.inf)


def _described(channel: Channel) -> dict[str, str]:
    at = ", ".join(map(repr, channel.at))
    described = {"unit": channel.unit, "frame": channel.frame, "side": channel.side, "at": at and f"[{at}]"}
    return {key: value for key, value in described.items() if value}
