"""What do result files cost, against pandas and pyarrow; and how much memory does a run take, against its number of samples?

Files: random walks of so many samples and channels are written and read in every format, and the same table as CSV by pandas
and pyarrow, as Parquet by pyarrow. Memory: runs of the double pendulum with a sample at every step, written while they go on,
each in a process of its own, beside the same run that is kept; the largest resident memory of each, and its processor time.

Peers: pip install pandas pyarrow. One that is missing is left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import peer

from kingpost import History, read_history, write_history
from kingpost.base.channels import Channel
from kingpost.plugins.writers import csv_rows

ROUNDS = 3
MEASURE = """
import resource, sys
from kingpost import PluginSet, prepare, run_into, write_run
from kingpost.modelfiles.opened import open_model
mechanism = open_model("double-pendulum", PluginSet(), []).mechanism
simulation = prepare(mechanism, float(sys.argv[1]), output_step=0.001, loads="all")
if sys.argv[3] == "kept":
    write_run(simulation.run(), sys.argv[2], writers=["parquet"])
else:
    run_into(simulation, sys.argv[2], writers=sys.argv[3])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_maxrss / 1e3, used.ru_utime + used.ru_stime)
"""


def walks(samples: int, channels: int) -> History:
    """Return random walks."""
    values = np.cumsum(np.random.default_rng(1).standard_normal((samples, channels)), axis=0)
    return History(np.arange(samples) * 0.01, tuple(Channel(f"walk{j}", "m") for j in range(channels)), values)


def work(history: History, folder: Path) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return what writes and what reads, by name."""
    found: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {}
    for suffix in ("csv", "npz", "h5", "parquet"):
        path = folder / f"own.{suffix}"
        found[f"kingpost, {suffix}"] = (
            lambda path=path: write_history(history, path),
            lambda path=path: read_history(path),
        )  # type: ignore[assignment]  # defaults are arguments to mypy
    text = folder / "python.csv"
    found["kingpost, csv without a compiler: rows alone"] = (
        lambda: text.write_bytes(csv_rows.rows_in_python(history.time, history.values)),
        lambda: np.loadtxt(text, delimiter=","),
    )
    columns = {"time": history.time, **{name: history[name] for name in history.names}}
    pandas, pyarrow = peer("pandas"), peer("pyarrow")
    if pandas:
        frame, path = pandas.DataFrame(columns), folder / "pandas.csv"
        found["pandas, csv"] = (lambda: frame.to_csv(path, index=False)), (lambda: pandas.read_csv(path).to_numpy())
    if pyarrow:
        from pyarrow import csv, parquet

        table = pyarrow.table({name: np.ascontiguousarray(column) for name, column in columns.items()})
        found["pyarrow, csv"] = (
            lambda: csv.write_csv(table, folder / "arrow.csv"),
            lambda: csv.read_csv(folder / "arrow.csv"),
        )
        found["pyarrow, parquet"] = (
            lambda: parquet.write_table(table, folder / "arrow.parquet", compression="zstd"),
            lambda: parquet.read_table(folder / "arrow.parquet"),
        )
    return found


def spent(function: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    function()
    return time.process_time() - started


def files(samples: int, channels: int) -> None:
    """Print the table of formats."""
    history = walks(samples, channels)
    with tempfile.TemporaryDirectory(prefix="kingpost-results-") as place:
        rows = work(history, Path(place))
        times = {name: [min(spent(each) for _ in range(ROUNDS)) for each in pair] for name, pair in rows.items()}
    print(f"{samples} samples of {channels} channels; s of a processor, the shortest of {ROUNDS}")
    print(f"{'':46}{'write':>8}{'read':>8}{'write / pyarrow':>17}{'read / pandas':>15}")
    writing, reading = times.get("pyarrow, csv", [np.nan])[0], times.get("pandas, csv", [0, np.nan])[1]
    for name, (write, read) in times.items():
        compared = f"{write / writing:17.2f}{read / reading:15.2f}" if "csv" in name else ""
        print(f"{name:46}{write:8.2f}{read:8.2f}{compared}")


def memory(seconds: list[float]) -> None:
    """Print the table of memory."""
    print("\nmemory in MB (and s of a processor) of runs of the double pendulum, a sample of 83 channels every 1 ms")
    ways = ("parquet", "hdf5", "csv", "kept")
    print(f"{'samples':>10}" + "".join(f"{way:>18}" for way in ways))
    for end in seconds:
        cells = []
        for way in ways:
            with tempfile.TemporaryDirectory(prefix="kingpost-results-") as place:
                words = [sys.executable, "-c", MEASURE, str(end), place, way]
                done = subprocess.run(words, capture_output=True, text=True, check=False)
            most = [float(word) for word in done.stdout.split()]
            cells.append(f"{most[0]:.0f} ({most[1]:.1f})" if done.returncode == 0 else "failed")
        print(f"{round(end * 1000) + 1:>10}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=200_000, help="samples in a file (default %(default)s)")
    parser.add_argument("--channels", type=int, default=40, help="channels in a file (default %(default)s)")
    parser.add_argument(
        "--ends",
        type=float,
        nargs="*",
        default=[10.0, 100.0, 1000.0],
        metavar="S",
        help="lengths of runs in s",
    )
    arguments = parser.parse_args()
    files(arguments.samples, arguments.channels)
    memory(arguments.ends)


if __name__ == "__main__":
    main()
