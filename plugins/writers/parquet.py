"""Apache Parquet."""

from __future__ import annotations

from pathlib import Path

from kingpost.base.channels import Channel
from kingpost.plugins.writers.precision import Precision, in_precision
from kingpost.results.history import History
from kingpost.results.metadata import ENTRY, from_text, to_text, unique_names
from kingpost.results.writer import Writer


class ParquetWriter(Writer):
    """Parquet: a column for the time and one for each channel, units and frames with each, the rest as JSON text."""

    name = "parquet"
    suffix = ".parquet"
    needs = ("pyarrow",)
    extra = "io"
    embeds = True
    Options = Precision

    def write(self, history: History, path: Path) -> None:
        import pyarrow as pa  # an extra
        from pyarrow import parquet

        history, dtype = in_precision(history, self.options)
        names = unique_names(history.names, lambda name: name, taken=("time",))
        columns = [pa.array(history.time), *(pa.array(history.values[:, j].astype(dtype)) for j in range(len(names)))]
        described = [("time", {"unit": "s"}), *zip(names, map(_described, history.channels), strict=True)]
        fields = [
            pa.field(name, column.type, metadata=description)
            for (name, description), column in zip(described, columns, strict=True)
        ]
        table = pa.table(columns, schema=pa.schema(fields, metadata={ENTRY: to_text(history, names)}))
        # The bytes of neighbouring numbers are alike place by place, so they are stored apart: smaller, and faster.
        parquet.write_table(
            table,
            path,
            compression="zstd",
            use_dictionary=False,
            use_byte_stream_split=True,
            write_page_checksum=True,
        )

    def read(self, path: Path) -> History:
        from pyarrow import parquet

        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            text = (file.schema_arrow.metadata or {}).get(ENTRY.encode())
            if text is None:
                raise ValueError(f"it has no entry '{ENTRY}' in its metadata")
            metadata = from_text(text.decode())
            table = file.read()
        if table.column_names != ["time", *metadata.stored_as]:
            raise ValueError(f"its columns are not those that its entry '{ENTRY}' describes")
        time, *columns = (column.to_numpy() for column in table.columns)
        return metadata.columns(time, columns)


def _described(channel: Channel) -> dict[str, str]:
    at = ", ".join(map(repr, channel.at))
    described = {"unit": channel.unit, "frame": channel.frame, "side": channel.side, "at": at and f"[{at}]"}
    return {key: value for key, value in described.items() if value}
