"""How to choose an integrator, a formulation, a master, a method of inverse dynamics: errors and processor times, side by side.

The figures of docs/choose-*.md come from here. Every row of a table is computed in the same run, against a reference that is
computed with it; times are those on the processor, without derivation and compilation unless a column says so, and are told as
ratios to one row: a machine that others use, too, changes its speed, but that of all rows alike.

    python benchmarks/choosing.py integrator
    python benchmarks/choosing.py formulation
    python benchmarks/choosing.py master
    python benchmarks/choosing.py index-reduction
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
from measuring import processor_time, shortest, step_time

from kingpost import History, KingpostError, Mechanism, PluginSet, inverse, open_model, prepare, simulate
from kingpost.fmu.cosim import prepare_cosimulation
from kingpost.simulation.run import Simulation

PLUGINS = PluginSet(entry_points=False)
#: Rows are timed in turn, so many times over, each for so many seconds; the shortest counts.
ROUNDS, SLICE = 5, 0.1
#: Gains of the drives of the vessel-crane, in N.m/rad (a thousand times what it has) and N.m.s/rad.
STIFF = {"kP": 5e7, "kD": 5e5}


@dataclass
class Row:
    """A row of a table: its first cells, and what is timed for the last one, or nothing if it could not be done."""

    cells: tuple[str, ...]
    work: Callable[[float], float] | None = None
    time: float = math.inf


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as Markdown."""
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def show_ratios(title: str, header: Sequence[str], rows: Sequence[Row], one: int, rounds: int = ROUNDS) -> None:
    """Print a table whose last column is the time of a row in parts of that of row ``one``."""
    for _ in range(rounds):
        for row in rows:
            if row.work is not None:
                row.time = min(row.time, row.work(SLICE))
    unit = rows[one].time
    show(
        f"{title}; 1 is {unit * 1e3:.3g} ms",
        header,
        [(*row.cells, f"{row.time / unit:.2g}" if math.isfinite(row.time) else "") for row in rows],
    )


def motion_time(run: Simulation, seconds: float) -> float:
    """Return the shortest time of the motion itself in s: without the record of a run and what it says of the step."""
    if run.problem.stepper.fixed:
        return step_time(run, seconds) * run.grid.samples * run.grid.substeps
    return shortest(lambda: deque(run.solved({}), maxlen=0), seconds)


def apart(found: History, exact: History, names: Sequence[str]) -> float:
    """Return the largest difference, each channel in parts of its largest value."""
    moving = [name for name in names if np.abs(exact[name]).max() > 0]
    return max(float(np.abs(found[name] - exact[name]).max() / np.abs(exact[name]).max()) for name in moving)


def refusal(error: KingpostError) -> str:
    """Return the first words of a refusal."""
    return str(error).split(";")[0].split("\n")[0][:90]


# Integrators

LOOSE, TIGHT = "rtol=1e-6,atol=1e-8", "rtol=1e-10,atol=1e-12"


def integrator() -> None:
    """An open chain, a stiff one, and a closed or constrained one."""
    crane = open_model("vessel-crane", PLUGINS).mechanism
    show_ratios(
        "vessel-crane, 5 s: six joints, drives, nothing stiff",
        ("integrator", "error", "CPU"),
        open_chain(
            crane,
            5.0,
            {},
            [("rk4", 0.001), ("rk4", 0.005), ("euler-symplectic", 0.001), ("lie-rk4", 0.005), ("lie-midpoint", 0.005)],
            [f"dop853:{LOOSE}", f"dop853:{TIGHT}", "lsoda:rtol=1e-8,atol=1e-10", f"radau:{LOOSE}"],
        ),
        one=0,
    )
    implicit = ("generalized-alpha", "bdf2", "radau2", "backward-euler")
    show_ratios(
        "the same with drives a thousand times as stiff, 2 s",
        ("integrator", "error", "CPU"),
        open_chain(
            crane,
            2.0,
            STIFF,
            [("rk4", 0.001), ("rk4", 0.0001), *((name, 0.002) for name in implicit)],
            [f"{name}:{LOOSE}" for name in ("dop853", "lsoda", "radau", "bdf")],
        ),
        one=1,
    )
    top = open_model("heavy-top", PLUGINS).mechanism
    exact = simulate(top, 2.0, integrator="dop853:rtol=1e-12,atol=1e-12", output_step=0.1, loads=["none"], plugins=PLUGINS)
    names = [
        name
        for name in exact.names
        if name.startswith("energy.") is False and "." in name and name.split(".")[-1] in ("x", "y", "z")
    ]
    rules = ("midpoint", "energy-momentum", "variational", "generalized-alpha", "bdf2", "radau2", "backward-euler")
    show_ratios(
        "heavy-top in directors (24 coordinates and speeds, 9 constraints), 2 s in steps of 2 ms",
        ("integrator", "error of positions", "energy drift", "CPU"),
        [constrained(top, name, exact, names) for name in rules],
        one=1,
    )


def open_chain(
    machine: Mechanism, end: float, settings: dict[str, float], fixed: Sequence[tuple[str, float]], solvers: Sequence[str]
) -> list[Row]:
    """Return rows of an open chain."""
    common = {"settings": settings, "output_step": 0.1, "loads": ["none"], "plugins": PLUGINS}
    tight = "radau:rtol=1e-11,atol=1e-12" if settings else "dop853:rtol=1e-13,atol=1e-13"
    exact = simulate(machine, end, integrator=tight, **common)
    names = [coordinate.name for coordinate in machine.coordinates]
    ways = [(f"`{name}`, {step * 1e3:g} ms", {"integrator": name, "step": step}) for name, step in fixed]
    return [
        from_run(title, partial(prepare, machine, end, **chosen, **common), exact, names)
        for title, chosen in [*ways, *((f"`{name}`", {"integrator": name}) for name in solvers)]
    ]


def from_run(title: str, make: Callable[[], Simulation], exact: History, names: Sequence[str]) -> Row:
    """Return a row of a run."""
    try:
        run = make()
        error = apart(run.run(), exact, names)
    except KingpostError as failure:
        return Row((title, refusal(failure)))
    return Row((title, f"{error:.1g}"), partial(motion_time, run))


def constrained(machine: Mechanism, name: str, exact: History, names: Sequence[str]) -> Row:
    """Return a row of a constrained machine."""
    run = prepare(
        machine, 2.0, formulation="directors", integrator=name, step=0.002, output_step=0.1, loads=["none"], plugins=PLUGINS
    )
    found = run.run()
    energy = found["energy.total"]
    drift = float(np.abs(energy - energy[0]).max() / abs(energy[0]))
    return Row((f"`{name}`", f"{apart(found, exact, names):.1g}", f"{drift:.1g}"), partial(motion_time, run))


# Formulations


OPEN = ("kane", "recursive", "modular")
CONSTRAINED = (
    ("kane", "rk4"),
    ("directors", "generalized-alpha"),
    ("directors", "energy-momentum"),
    ("nullspace", "energy-momentum"),
)


def formulation() -> None:
    """Chains of links, and closed loops."""
    machines = (*(f"chain:links={n}" for n in (3, 6, 12, 24, 48)), "six-axis-arm", "four-bar", "andrews-squeezer")
    show(
        "a step of rk4, and what it takes to derive and compile with an empty cache; those of kane, and ratios to it",
        ("machine", *(f"`{name}`" for name in OPEN)),
        (costs(name, [(each, "rk4") for each in OPEN]) for name in machines),
    )
    show(
        "the same with an integrator for constrained equations",
        ("machine", *(f"`{name}`, `{rule}`" for name, rule in CONSTRAINED)),
        (costs(name, CONSTRAINED) for name in ("heavy-top", "chain:links=3", "chain:links=6")),
    )


def costs(name: str, ways: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return a row: what a step costs, and everything before the first; of the first way, and ratios to it."""
    machine = open_model(name, PLUGINS).mechanism
    found = []
    for each in ways:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["KINGPOST_CACHE_DIR"] = folder
            found.append(prepared(machine, *each))
    steps = [math.inf] * len(found)
    for _ in range(ROUNDS):
        for k, each in enumerate(found):
            if each is not None:
                steps[k] = min(steps[k], step_time(each[0], SLICE))
    assert found[0] is not None, f"{name} is the one that others are compared with"
    first = f"{1e6 * steps[0]:.2g} us; {found[0][1]:.2g} s"
    ratios = [
        "refused" if each is None else f"{step / steps[0]:.2g}; {each[1] / found[0][1]:.2g}"
        for each, step in zip(found[1:], steps[1:], strict=True)
    ]
    return f"`{name}`", first, *ratios


def prepared(machine: Mechanism, formulation: str, rule: str) -> tuple[Simulation, float] | None:
    """Return a run and what it took to prepare it, or nothing if it is refused."""
    steps = 40000 // len(machine.speeds)
    began = processor_time()
    try:
        run = prepare(
            machine, steps * 1e-3, formulation=formulation, integrator=rule, step=1e-3, output_step=steps * 1e-3,
            loads=["none"], close_loops=True, backend="c", plugins=PLUGINS,
        )  # fmt: skip
        run.run()
    except KingpostError as failure:
        print(f"  {machine.name}, {formulation} with {rule}: {refusal(failure)}")
        return None
    return run, processor_time() - began


# Masters


def master() -> None:
    """A crane and the vessel that carries it, by every master, with a heavy and with a light vessel."""
    split = example("B4_split_or_whole")
    names = ("gauss-seidel", "jacobi", "iterated", "interface-inertia")
    for ratio in (0.2, 1.06):
        settings = {"roll_radius": split.hull_for(ratio)}
        start, exact = split.reference(settings)
        show_ratios(
            f"crane and vessel coupled for 20 s; roll inertia of the crane {ratio:g} times the vessel's",
            ("master", "step", "error of roll", "error of the slew moment", "CPU"),
            [coupled(split, name, step, settings, start, exact) for name in names for step in (0.1, 0.01)],
            one=0,
            rounds=2,
        )


def example(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coupled(split: ModuleType, name: str, step: float, settings: dict, start: dict, exact: History) -> Row:
    """Return a row of a coupled system."""
    vessel = "small-vessel" if name == "interface-inertia" else "small-vessel-plain"
    title = (f"`{name}`", f"{step * 1e3:g} ms")
    plan = prepare_cosimulation(split.halves(vessel, name, step, settings, start), PLUGINS)
    try:
        history = plan.run()
    except KingpostError as error:
        ended = f"{error.history.time[-1]:.2g} s" if getattr(error, "history", None) is not None else "the start"
        return Row((*title, f"diverges at {ended}" if "diverge" in str(error) else refusal(error), ""))
    cells = []
    for which in ("roll", "slew moment"):
        one, halves = split.COMPARED[which]
        difference = history[halves][:: round(0.1 / step)] - exact[one]
        cells.append(f"{100 * np.abs(difference).max() / np.abs(exact[one]).max():.2g} %")
    return Row((*title, *cells), lambda seconds: shortest(plan.run, seconds))


# Inverse dynamics


def index_reduction() -> None:
    """The overhead crane and a rotary crane, by every method that takes them."""
    for model, task in (("overhead-crane", "000-4.4.1"), ("rotary-crane", "000-4.4.2")):
        crane = open_model(model, PLUGINS)
        path = crane.task(task)
        exact = inverse(crane.mechanism, path, method="minimal-extension", stepper="bdf3:step=0.0005", plugins=PLUGINS)
        show_ratios(
            f"{model}, task {task}: largest error of the inputs, in parts of the largest, against bdf3 with 0.5 ms",
            ("method", "stepper", "step", "error of inputs", "CPU"),
            [along(crane.mechanism, path, method, stepper, step, exact) for method, stepper, step in WAYS],
            one=0,
            rounds=2,
        )


WAYS = (
    *(("minimal-extension", stepper, 0.005) for stepper in ("bdf2", "bdf3", "radau2")),
    ("minimal-extension", "bdf2", 0.001),
    ("projection", "bdf2", 0.005),
    *(
        (method, "backward-euler", 0.005)
        for method in ("minimal-extension", "projection", "output-coordinates", "output-input", "direct")
    ),
    ("direct", "backward-euler", 0.0005),
    ("minimal-extension:twice=true", "", 0.0),
    ("flat", "", 0.0),
)


def along(machine: Mechanism, path: object, method: str, stepper: str, step: float, exact: History) -> Row:
    """Return a row of inverse dynamics."""
    given = {"stepper": f"{stepper}:step={step:g}"} if stepper else {}
    title = (f"`{method}`", f"`{stepper}`" if stepper else "none", f"{step * 1e3:g} ms" if step else "")
    once = partial(inverse, machine, path, method=method, plugins=PLUGINS, **given)
    try:
        found = once()
    except KingpostError as failure:
        return Row((*title, refusal(failure)))
    inputs = path.inputs  # type: ignore[attr-defined]
    times = np.intersect1d(np.round(found.time, 9), np.round(exact.time, 9))
    errors = []
    for name in inputs:
        one = np.interp(times, exact.time, exact[name])
        errors.append(np.abs(np.interp(times, found.time, found[name]) - one).max() / np.abs(one).max())
    return Row((*title, f"{max(errors):.1g}"), lambda seconds: shortest(once, seconds))


TABLES = {"integrator": integrator, "formulation": formulation, "master": master, "index-reduction": index_reduction}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=[*TABLES])
    for table in parser.parse_args().tables:
        TABLES[table]()
