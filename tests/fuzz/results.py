"""Readers of results: histories in all formats, the records beside them, and what is made of both."""

from __future__ import annotations

import functools
import io
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kingpost import History, RunSettings, open_model, simulate
from kingpost.fatigue import assess_loads
from kingpost.report import write_report
from kingpost.results.metadata import ENTRY
from kingpost.results.read_write import read_history, write_history
from tests.fuzz.mutations import damaged
from tests.fuzz.table import Damage, reader
from tests.fuzz.texts import placed, plugins


@functools.cache
def history() -> History:
    """A short run with loads and poses, so that reports and fatigue have something to look at."""
    how = RunSettings(t_end=0.04, output_step=0.01, backend="vm", loads=("all",))
    made = simulate(open_model("double-pendulum", plugins()).mechanism, how=how, plugins=plugins())
    # Nothing of when, where and by what it was made, so that inputs are the same everywhere.
    kept = ("outcome", "model", "formulation", "integrator", "time", "warnings", "loads", "geometry")
    provenance = {key: made.provenance[key] for key in kept}
    return History(made.time, made.channels, made.values.round(12), provenance, run_id="0123456789abcdef")


@functools.cache
def short() -> History:
    """The first channels of it; what a format does with one channel, it does with all."""
    made = history()
    return History(made.time, made.channels[:6], made.values[:, :6], made.provenance, made.run_id)


def written(made: History, suffix: str, beside: str = "") -> bytes:
    """Return the bytes of the file with a history, or of one beside it."""
    with tempfile.TemporaryDirectory() as folder:
        write_history(made, Path(folder) / f"history{suffix}", plugins())
        return (Path(folder) / f"history{suffix}{beside}").read_bytes()


@functools.cache
def whole(suffix: str) -> bytes:
    """A good file; made when it is first needed, since some libraries take long to import."""
    return written(short(), suffix)


def nonsense(rng: random.Random) -> Any:
    """Return times as no history has them."""
    time = short().time.copy()
    time[rng.randrange(len(time))] = rng.choice((np.nan, np.inf, -1.0, 0.02, 1e308, 0.03))
    with np.errstate(over="ignore"):
        kinds = (time.astype(np.float32), time.astype(complex), time.astype(str), time.astype("S"), time > 0.02)
    shapes = (time[::-1], time[:3], time.reshape(1, -1), np.array([], dtype=float), np.array(3.0))
    return rng.choice((*[time] * 6, *kinds, *shapes))


def of_format(suffix: str, pack: Callable[[str, Any, dict[str, Any]], bytes]) -> Damage:
    """Return what damages a file: its bytes, or the text or the times in it, packed again as the format asks."""

    def damage(rng: random.Random) -> bytes:
        if rng.random() < 0.4:
            return damaged(rng, [whole(suffix)], "bytes")
        text = described(suffix)
        time: Any = short().time
        if rng.random() < 0.6:
            text = damaged(rng, [text.encode()]).decode("utf-8", "replace")
        else:
            time = nonsense(rng)
        columns = {channel.name: short().values[:, j] for j, channel in enumerate(short().channels)}
        try:
            return pack(text, time, columns)
        except (ValueError, TypeError, NotImplementedError):  # the format itself cannot hold this
            return whole(suffix)

    return damage


@functools.cache
def described(suffix: str) -> str:
    from kingpost.results.metadata import to_text

    return to_text(short(), [name.replace(".", "_") for name in short().names] if suffix == ".mat" else None)


def npz(text: str, time: Any, columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{"time": time, "values": np.column_stack(list(columns.values())), ENTRY: np.array(text)})
    return buffer.getvalue()


def mat(text: str, time: Any, columns: dict[str, Any]) -> bytes:
    import scipy.io

    buffer = io.BytesIO()
    variables = {name.replace(".", "_"): values for name, values in columns.items()}
    scipy.io.savemat(buffer, {"time": time, **variables, ENTRY: text}, oned_as="column")
    return buffer.getvalue()


def hdf5(text: str, time: Any, columns: dict[str, Any]) -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset(ENTRY, data=[text.encode("ascii", "replace")])
        for name, values in {"time": time, **columns}.items():
            file.create_dataset(name, data=values)
    return buffer.getvalue()


def parquet(text: str, time: Any, columns: dict[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as format

    buffer = io.BytesIO()
    table = pa.table({"time": time, **columns})
    format.write_table(table.replace_schema_metadata({ENTRY: text}), buffer)
    return buffer.getvalue()


def csv(text: str, time: Any, columns: dict[str, Any]) -> bytes:
    numbers = np.column_stack([time, *columns.values()])
    rows = [",".join(map(repr, row)) for row in numbers.tolist()]
    return "\n".join([f"# {text}", ",".join(["time", *columns]), *rows, ""]).encode()


def sensible(found: History) -> History:
    assert np.isfinite(found.time).all() and (np.diff(found.time) > 0).all(), f"these are no times: {found.time}"
    assert found.values.shape == (len(found.time), len(found.channels))
    assert all(isinstance(channel.name, str) and isinstance(channel.unit, str) for channel in found.channels)
    return found


@reader(".csv", lambda: [whole(".csv")], often=300, long=10_000, damage=of_format(".csv", csv))
def history_csv(content: bytes, folder: Path) -> None:
    (folder / "history.csv.json").unlink(missing_ok=True)
    found = sensible(read_history(placed(content, folder, "history.csv"), plugins()))
    for signal in assess_loads(found, channels=found.names[:1]).signals:
        assert np.isfinite([equivalent.range for equivalent in signal.equivalent_ranges]).all()


@reader(".npz", lambda: [whole(".npz")], often=200, long=6_000, damage=of_format(".npz", npz))
def history_npz(content: bytes, folder: Path) -> None:
    sensible(read_history(placed(content, folder, "history.npz"), plugins()))


@reader(".mat", lambda: [whole(".mat")], often=200, long=6_000, damage=of_format(".mat", mat))
def history_mat(content: bytes, folder: Path) -> None:
    sensible(read_history(placed(content, folder, "history.mat"), plugins()))


@reader(".h5", lambda: [whole(".h5")], often=100, long=3_000, damage=of_format(".h5", hdf5))
def history_hdf5(content: bytes, folder: Path) -> None:
    sensible(read_history(placed(content, folder, "history.h5"), plugins()))


@reader(".parquet", lambda: [whole(".parquet")], often=150, long=5_000, damage=of_format(".parquet", parquet))
def history_parquet(content: bytes, folder: Path) -> None:
    sensible(read_history(placed(content, folder, "history.parquet"), plugins()))


@functools.cache
def with_loads() -> bytes:
    """The CSV file that the record belongs to."""
    return written(history(), ".csv")


@functools.cache
def recorded() -> bytes:
    """The record of the good CSV file, with a line for each entry."""
    return json.dumps(json.loads(written(history(), ".csv", ".json")), indent=1).encode()


@reader(".json", lambda: [recorded()], often=100, long=3_000)
def record(content: bytes, folder: Path) -> None:
    """A run folder with a damaged record: what is made of it, reports and fatigue, goes deep into that."""
    run = folder / "run"
    run.mkdir(exist_ok=True)
    placed(with_loads(), run, "history.csv")
    placed(content, run, "run.json")
    found = sensible(read_history(run, plugins()))
    assess_loads(found)
    write_report(found, run / "report.html")
