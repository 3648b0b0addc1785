"""The file formats of Kingpost."""

from __future__ import annotations

from kingpost.plugins.writers.csv import CsvWriter
from kingpost.plugins.writers.hdf5 import Hdf5Writer
from kingpost.plugins.writers.mat import MatWriter
from kingpost.plugins.writers.npz import NpzWriter
from kingpost.plugins.writers.parquet import ParquetWriter
from kingpost.plugins.writers.png import PngWriter
from kingpost.registry.hookspecs import hookimpl
from kingpost.results.writer import Writer


@hookimpl
def kingpost_register_writers() -> list[type[Writer]]:
    return [CsvWriter, NpzWriter, MatWriter, Hdf5Writer, ParquetWriter, PngWriter]
