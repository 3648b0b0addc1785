"""All tables of docs/speed.md: every model (cold, warm, compiling, a step, export), and how costs grow with size.

    python benchmarks/everything.py --parts models --models vessel-crane four-bar    some cells of one table
    python benchmarks/everything.py --results results.json --into docs/speed.md       all, which takes hours; may be cut off and
                                                                                      goes on where it was
    python benchmarks/everything.py --results results.json --only-print               the tables of what there is

Every cell is measured in a process of its own with an empty cache of kernels, one after the other, and its numbers are in the
file of results as soon as it has ended; one that fails, or takes longer than its limit, is left out with the reason. Times are
times on processors. Peers: pip install pin mujoco libcosimpy; one that is missing is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- tables: written by benchmarks/everything.py -->", "<!-- end of tables -->"
PARTS = ("models", "chain", "loops", "systems", "batch")
CHAINS = (6, 12, 24, 48, 96, 192, 384)
LOOPS = (5, 10, 20, 40)
FORMULATIONS = ("kane", "recursive", "directors")
SYSTEMS = (2, 4, 8, 16, 32)
BATCHES = (1, 10, 100, 1000)
#: Seconds that a cell may take on processors, and how much longer on the clock.
LIMIT, ON_THE_CLOCK = 900.0, 4.0


@dataclass(frozen=True)
class Cell:
    """What measures some numbers (see ``everything_cells.py``), and of what."""

    kind: str
    arguments: tuple[Any, ...]

    @property
    def key(self) -> str:
        """Its name in the file of results."""
        return " ".join([self.kind, *map(str, self.arguments)])


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, the cell, the number in it and the factor to its unit."""

    heading: str
    cell: Callable[[Any], Cell]
    number: str
    factor: float = 1.0


@dataclass(frozen=True)
class Table:
    """A table: a row for each entry."""

    part: str
    title: str
    first: str
    rows: Sequence[Any]
    columns: Sequence[Column]

    def cells(self) -> list[Cell]:
        """Return the cells, row by row, each once."""
        return list(dict.fromkeys(column.cell(row) for row in self.rows for column in self.columns))

    def lines(self, results: dict[str, Any]) -> list[str]:
        """Return it in Markdown, and below it what is not there, and why."""
        heads = [self.first, *(column.heading for column in self.columns)]
        found = [f"**{self.title}**", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            words = []
            for column in self.columns:
                cell = column.cell(row)
                result = results.get(cell.key, {})
                numbers = result.get("numbers") or {}
                words.append(_shown(numbers[column.number] * column.factor) if column.number in numbers else "-")
                if "failed" in result:
                    reasons.setdefault(result["failed"], []).append(cell.key)
            if any(word != "-" for word in words):
                found.append(f"| {row} | {' | '.join(words)} |")
        found += ["", *(f"- {', '.join(dict.fromkeys(keys))}: {reason}" for reason, keys in reasons.items())]
        return [*found, ""]


def _shown(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def tables(models: Sequence[str], most: int) -> list[Table]:
    """Return the tables; ``most`` is the largest size in those of growth."""

    def of(kind: str, *more: Any) -> Callable[[Any], Cell]:
        return lambda row: Cell(kind, (row, *more))

    def grown(prefix: str, formulation: str) -> Callable[[Any], Cell]:
        return lambda row: Cell("grown", (f"{prefix}{row}", formulation))

    def growth(part: str, title: str, first: str, prefix: str, sizes: Sequence[int], peers: Sequence[Column]) -> Table:
        columns = [
            *(Column(f"{name}, us a step", grown(prefix, name), "step", 1e6) for name in FORMULATIONS),
            *peers,
            *(Column(f"{name}, s to build", grown(prefix, name), "build") for name in FORMULATIONS),
        ]
        return Table(part, title, first, [size for size in sizes if size <= most], columns)

    return [
        Table(
            "models",
            "All models: `kingpost run MODEL --write csv` with an empty cache and again, of the first the C compiler; a step "
            "of that run; `kingpost export --to native-fmu`. Seconds of processors",
            "model",
            models,
            [
                Column("cold, s", of("starts"), "cold"),
                Column("warm, s", of("starts"), "warm"),
                Column("compiler, s", of("starts"), "compile"),
                Column("step, us", of("step"), "step", 1e6),
                Column("export, s", of("export"), "export"),
                Column("FMU, kB", of("export"), "size", 1e-3),
            ],
        ),
        growth(
            "chain", "Chains: a step of RK4 (directors: generalized-alpha) of 1 ms, and building with an empty cache", "links",
            "chain:links=", CHAINS, [
                Column("4 pin.aba, us", of("chain-peer", "pinocchio"), "step", 1e6),
                Column("4 mj_forward, us", of("chain-peer", "mujoco"), "step", 1e6),
            ],
        ),
        growth("loops", "Rods side by side with N bars, so that there are N closed loops", "loops", "four-bars:", LOOPS, []),
        Table(
            "systems", "FMUs in a system: a communication step of 1 ms, for one FMU", "FMUs", [n for n in SYSTEMS if n <= most],
            [
                *(
                    Column(f"{name}, us", lambda row, name=name: Cell("system", (row // 2, name)), "step", 1e6)  # type: ignore[misc]
                    for name in ("jacobi", "gauss-seidel", "libcosim")
                ),
            ],
        ),
        Table(
            "batch", "Many runs of the vessel-crane: a step of RK4 on one thread, and preparing, for one run", "runs",
            [n for n in BATCHES if n <= most],
            [
                Column("step, us", of("batch", "kingpost"), "step", 1e6),
                Column("`mujoco.rollout`, us", of("batch", "mujoco"), "step", 1e6),
                Column("preparing, us", of("batch", "kingpost"), "prepare", 1e6),
                Column("MuJoCo's models, us", of("batch", "mujoco"), "prepare", 1e6),
            ],
        ),
    ]  # fmt: skip


class Results:
    """The file of results: written after every cell."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, Any] = {}
        if path.is_file():
            self.cells = json.loads(path.read_text(encoding="utf-8"))["cells"]

    def keep(self, key: str, result: dict[str, Any]) -> None:
        """Add a cell; the file is whole at any time."""
        self.cells[key] = result
        beside = self.path.with_name(f"{self.path.name}.new")
        record = {"machine": machine(), "cells": self.cells}
        beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)


def machine() -> dict[str, Any]:
    """Return what was measured on."""
    from kingpost import __version__

    name = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        name = next((line.partition(": ")[2] for line in info.read_text().splitlines() if line.startswith("model name")), name)
    return {"processor": name, "cores": os.cpu_count(), "python": platform.python_version(), "kingpost": __version__}


def measured(cell: Cell, limit: float) -> dict[str, Any]:
    """Measure a cell in a process of its own; whatever becomes of it is the result."""
    words = [sys.executable, str(Path(__file__).resolve()), "--cell", json.dumps([cell.kind, *cell.arguments]), str(limit)]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    started = time.monotonic()
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=Path(__file__).parent
    )
    try:
        out, err = process.communicate(timeout=ON_THE_CLOCK * limit)
    except subprocess.TimeoutExpired:
        out, err = "", f"not done after {ON_THE_CLOCK * limit:.0f} s on the clock"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what it has started
        process.communicate()
    result: dict[str, Any] = {"clock_s": round(time.monotonic() - started, 1), "load": load}
    if process.returncode == 0 and out.strip():
        return {**result, "numbers": json.loads(out.splitlines()[-1])}
    last = (err.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
    return {**result, "failed": last[:120]}


def carried_out(words: str, limit: float) -> None:
    """Measure one cell in this process and print its numbers."""
    from everything_cells import CELLS, processor_time

    def watch() -> None:
        while processor_time() < limit:
            time.sleep(1.0)
        print(f"not done after {limit:.0f} s of processors", file=sys.stderr, flush=True)
        os._exit(1)

    # Not by a limit of the system's: under one, some systems count the time of a process in ticks of milliseconds.
    threading.Thread(target=watch, daemon=True).start()
    kind, *arguments = json.loads(words)
    print(json.dumps(CELLS[kind](*arguments)))


def put_into(page: Path, text: str) -> None:
    """Put the tables between their marks in a page."""
    old = page.read_text(encoding="utf-8")
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no lines '{BEGIN}' and '{END}' to put the tables between")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def all_models() -> list[str]:
    """Return the names of all models that are built in."""
    from kingpost import PluginSet

    return sorted(PluginSet(entry_points=False).models)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="which tables (default: all)")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="which models (default: all)")
    parser.add_argument("--max", type=int, default=1000, metavar="N", help="the largest size in tables of growth")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="S", help="s of a processor for a cell (default %(default)s)"
    )
    parser.add_argument("--results", type=Path, default=Path("everything.json"), help="file of results (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure also what the file of results has")
    parser.add_argument("--only-print", action="store_true", help="measure nothing")
    parser.add_argument("--into", type=Path, metavar="PAGE.md", help="also put the tables between their marks in this page")
    parser.add_argument("--cell", nargs=2, metavar=("JSON", "LIMIT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell:
        carried_out(arguments.cell[0], float(arguments.cell[1]))
        return
    wanted = [table for table in tables(arguments.models or all_models(), arguments.max) if table.part in arguments.parts]
    results = Results(arguments.results)
    cells = [
        cell
        for table in wanted
        for cell in table.cells()
        if arguments.again or "numbers" not in results.cells.get(cell.key, {})
    ]
    for number, cell in enumerate([] if arguments.only_print else cells, start=1):
        result = measured(cell, arguments.limit)
        results.keep(cell.key, result)
        said = result.get("failed") or ", ".join(f"{name} {value:.4g}" for name, value in result["numbers"].items())
        print(f"{number}/{len(cells)} {cell.key}: {said} ({result['clock_s']:.0f} s)", file=sys.stderr, flush=True)
    here = machine()
    head = f"Measured on {here['cores']} cores of {here['processor']}, Python {here['python']}, Kingpost {here['kingpost']}."
    text = "\n".join([head, "", *(line for table in wanted for line in table.lines(results.cells))])
    print(text)
    if arguments.into:
        put_into(arguments.into, text)


if __name__ == "__main__":
    main()
