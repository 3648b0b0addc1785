"""How to choose an integrator, a formulation, a master, a method of inverse dynamics: errors and processor times, side by side.

The figures of docs/choose-*.md come from here. Every row of a table is computed in the same run, against a reference that is
computed with it; times are those on the processor, without derivation and compilation unless a column says so.

    python benchmarks/choosing.py integrator
    python benchmarks/choosing.py formulation
    python benchmarks/choosing.py master
    python benchmarks/choosing.py index-reduction
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
from measuring import shortest

from kingpost import History, KingpostError, Mechanism, PluginSet, inverse, open_model, prepare, simulate
from kingpost.fmu.cosim import cosimulate

PLUGINS = PluginSet(entry_points=False)
SLICE = 0.2
LOOSE, TIGHT = "rtol=1e-6,atol=1e-8", "rtol=1e-10,atol=1e-12"
#: Gains of the drives of the vessel-crane, in N.m/rad (a thousand times what it has) and N.m.s/rad.
STIFF = {"kP": 5e7, "kD": 5e5}


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as Markdown."""
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def timed(make: Callable[[], object]) -> float:
    """Return the processor time of one call in s."""
    began = time.process_time()
    make()
    return time.process_time() - began


def apart(found: History, exact: History, names: Sequence[str]) -> float:
    """Return the largest difference, each channel in parts of its largest value."""
    moving = [name for name in names if np.abs(exact[name]).max() > 0]
    return max(float(np.abs(found[name] - exact[name]).max() / np.abs(exact[name]).max()) for name in moving)


# Integrators


def integrator() -> None:
    """An open chain, a stiff one, and a closed or constrained one."""
    show(
        "vessel-crane, 5 s: six joints, drives, nothing stiff",
        ("integrator", "error", "CPU ms"),
        open_chain(
            open_model("vessel-crane", PLUGINS).mechanism,
            5.0,
            {},
            [("rk4", 0.001), ("rk4", 0.005), ("euler-symplectic", 0.001), ("lie-rk4", 0.005), ("lie-midpoint", 0.005)],
            [
                "dop853:rtol=1e-6,atol=1e-8",
                "dop853:rtol=1e-10,atol=1e-12",
                "lsoda:rtol=1e-8,atol=1e-10",
                "radau:rtol=1e-6,atol=1e-8",
            ],
        ),
    )
    show(
        "the same with drives a thousand times as stiff, 2 s",
        ("integrator", "error", "CPU ms"),
        open_chain(
            open_model("vessel-crane", PLUGINS).mechanism,
            2.0,
            STIFF,
            [
                ("rk4", 0.001),
                ("rk4", 0.0001),
                ("generalized-alpha", 0.002),
                ("bdf2", 0.002),
                ("radau2", 0.002),
                ("backward-euler", 0.002),
            ],
            ["dop853:rtol=1e-6,atol=1e-8", "lsoda:rtol=1e-6,atol=1e-8", "radau:rtol=1e-6,atol=1e-8", "bdf:rtol=1e-6,atol=1e-8"],
        ),
    )
    top = open_model("heavy-top", PLUGINS).mechanism
    exact = simulate(top, 2.0, integrator="dop853:rtol=1e-12,atol=1e-12", output_step=0.1, loads=["none"], plugins=PLUGINS)
    names = [
        name
        for name in exact.names
        if name.startswith("energy.") is False and "." in name and name.split(".")[-1] in ("x", "y", "z")
    ]
    show(
        "heavy-top in directors (24 coordinates and speeds, 9 constraints), 2 s in steps of 2 ms",
        ("integrator", "error of positions", "energy drift", "CPU us a step"),
        (constrained(top, name, exact, names) for name in
         ("midpoint", "energy-momentum", "variational", "generalized-alpha", "bdf2", "radau2", "backward-euler")),
    )  # fmt: skip


def open_chain(
    machine: Mechanism, end: float, settings: dict[str, float], fixed: Sequence[tuple[str, float]], solvers: Sequence[str]
) -> Iterable[tuple[str, str, str]]:
    """Yield rows of an open chain."""
    common = {"settings": settings, "output_step": 0.1, "loads": ["none"], "plugins": PLUGINS}
    tight = "radau:rtol=1e-11,atol=1e-12" if settings else "dop853:rtol=1e-13,atol=1e-13"
    exact = simulate(machine, end, integrator=tight, **common)
    names = [coordinate.name for coordinate in machine.coordinates]
    ways = [(f"`{name}`, {step * 1e3:g} ms", {"integrator": name, "step": step}) for name, step in fixed]
    for title, chosen in [*ways, *((f"`{name}`", {"integrator": name}) for name in solvers)]:
        yield from_run(title, partial(prepare, machine, end, **chosen, **common), exact, names)


def from_run(title: str, make: Callable, exact: History, names: Sequence[str]) -> tuple[str, str, str]:
    """Return a row of a run."""
    try:
        run = make()
        error = apart(run.run(), exact, names)
    except KingpostError as failure:
        return title, str(failure).split(";")[0].split("\n")[0][:60], ""
    return title, f"{error:.1g}", f"{1e3 * shortest(run.run, SLICE):.3g}"


def constrained(machine: Mechanism, name: str, exact: History, names: Sequence[str]) -> tuple[str, ...]:
    """Return a row of a constrained machine."""
    run = prepare(
        machine, 2.0, formulation="directors", integrator=name, step=0.002, output_step=0.1, loads=["none"], plugins=PLUGINS
    )
    found = run.run()
    energy = found["energy.total"]
    drift = float(np.abs(energy - energy[0]).max() / abs(energy[0]))
    return f"`{name}`", f"{apart(found, exact, names):.1g}", f"{drift:.1g}", f"{1e6 * shortest(run.run, SLICE) / 1000:.3g}"


# Formulations


def formulation() -> None:
    """Chains of links, and closed loops."""
    machines = [*(f"chain:links={n}" for n in (3, 6, 12, 24, 48)), "six-axis-arm", "four-bar", "andrews-squeezer"]
    show(
        "a step of rk4 in us, and what it takes to derive and compile with an empty cache in s",
        ("machine", *(f"`{name}`" for name in OPEN)),
        (
            (f"`{name}`", *(cost(name, each) for each in OPEN))
            for name in [*machines, "six-axis-arm", "four-bar", "andrews-squeezer"]
        ),
    )
    show(
        "a step of an integrator for constrained equations, in us, and to derive and compile in s",
        ("machine", *(f"`{name}`, `{rule}`" for name, rule in CONSTRAINED)),
        (
            (f"`{name}`", *(cost(name, *each) for each in CONSTRAINED))
            for name in ("heavy-top", "chain:links=3", "chain:links=6")
        ),
    )


OPEN = ("kane", "recursive", "modular")
CONSTRAINED = (
    ("kane", "rk4"),
    ("directors", "energy-momentum"),
    ("nullspace", "energy-momentum"),
    ("directors", "generalized-alpha"),
)


def cost(name: str, formulation: str, rule: str = "rk4") -> str:
    """Return the cost of a step, and of everything before the first."""
    machine = open_model(name, PLUGINS).mechanism
    steps = 40000 // len(machine.speeds)  # so many that what comes before and after them does not count
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KINGPOST_CACHE_DIR"] = folder
        began = resources()
        try:
            run = prepare(
                machine, steps * 1e-3, formulation=formulation, integrator=rule, step=1e-3, output_step=steps * 1e-3,
                loads=["none"], close_loops=True, plugins=PLUGINS,
            )  # fmt: skip
        except KingpostError:
            return "refused"
        before = resources() - began
        return f"{1e6 * shortest(run.run, SLICE) / steps:.3g}; {before:.2g}"


def resources() -> float:
    """Return the processor time of this process and of the compilers that it has waited for, in s."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# Masters


def master() -> None:
    """A crane and the vessel that carries it, by every master, with a heavy and with a light vessel."""
    split = example("B4_split_or_whole")
    for ratio in (0.2, 1.06):
        settings = {"roll_radius": split.hull_for(ratio)}
        start, exact = split.reference(settings)
        show(
            f"crane and vessel coupled for 20 s; roll inertia of the crane {ratio:g} times the vessel's",
            ("master", "step ms", "error of roll", "error of the slew moment", "CPU s"),
            (coupled(split, *each, settings, start, exact) for each in
             [(name, step) for name in ("jacobi", "gauss-seidel", "iterated", "interface-inertia") for step in (0.01, 0.1)]),
        )  # fmt: skip


def example(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coupled(split: ModuleType, name: str, step: float, settings: dict, start: dict, exact: History) -> tuple[str, ...]:
    """Return a row of a coupled system."""
    vessel = "small-vessel" if name == "interface-inertia" else "small-vessel-plain"
    system = split.halves(vessel, name, step, settings, start)
    began, cells = time.process_time(), []
    try:
        history = cosimulate(system, plugins=PLUGINS)
    except KingpostError as error:
        ended = f"{error.history.time[-1]:.2g} s" if getattr(error, "history", None) is not None else "the start"
        why = f"diverges at {ended}" if "diverge" in str(error) else str(error).split(";")[0].split("\n")[0][:90]
        return f"`{name}`", f"{step * 1e3:g}", why, "", ""
    for which in ("roll", "slew moment"):
        one, halves = split.COMPARED[which]
        difference = history[halves][:: round(0.1 / step)] - exact[one]
        cells.append(f"{100 * np.abs(difference).max() / np.abs(exact[one]).max():.2g} %")
    return f"`{name}`", f"{step * 1e3:g}", *cells, f"{time.process_time() - began:.2g}"


# Inverse dynamics


def index_reduction() -> None:
    """The overhead crane and a rotary crane, by every method that takes them."""
    for model, task in (("overhead-crane", "000-4.4.1"), ("rotary-crane", "000-4.4.2")):
        crane = open_model(model, PLUGINS)
        path = crane.task(task)
        exact = inverse(crane.mechanism, path, method="minimal-extension", stepper="bdf3:step=0.0005", plugins=PLUGINS)
        show(
            f"{model}, task {task}: largest error of the inputs, in parts of the largest, against bdf3 with 0.5 ms",
            ("method", "stepper", "step ms", "error of inputs", "CPU s, all in all"),
            (along(crane.mechanism, path, method, stepper, step, exact) for method, stepper, step in WAYS),
        )


WAYS = (
    *(
        (method, "backward-euler", 0.005)
        for method in ("minimal-extension", "projection", "output-coordinates", "output-input")
    ),
    *(("minimal-extension", stepper, step) for stepper in ("bdf2", "bdf3", "radau2") for step in (0.005,)),
    ("minimal-extension", "bdf2", 0.001),
    ("projection", "bdf2", 0.005),
    ("direct", "backward-euler", 0.005),
    ("direct", "backward-euler", 0.0005),
    ("minimal-extension:twice=true", "", 0.0),
    ("flat", "", 0.0),
)


def along(machine: Mechanism, path: object, method: str, stepper: str, step: float, exact: History) -> tuple[str, ...]:
    """Return a row of inverse dynamics."""
    by = f"{stepper}:step={step:g}" if stepper else None
    title = (f"`{method}`", f"`{stepper}`" if stepper else "none", f"{step * 1e3:g}" if step else "")
    began = time.process_time()
    try:
        found = inverse(machine, path, method=method, plugins=PLUGINS, **({"stepper": by} if by else {}))
    except KingpostError as failure:
        return *title, "refused: " + str(failure).split(";")[0].split("\n")[0][:70], ""
    spent = time.process_time() - began
    inputs = path.inputs  # type: ignore[attr-defined]
    times = np.intersect1d(np.round(found.time, 9), np.round(exact.time, 9))
    errors = []
    for name in inputs:
        one = np.interp(times, exact.time, exact[name])
        errors.append(np.abs(np.interp(times, found.time, found[name]) - one).max() / np.abs(one).max())
    return *title, f"{max(errors):.1g}", f"{spent:.2g}"


TABLES = {"integrator": integrator, "formulation": formulation, "master": master, "index-reduction": index_reduction}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=[*TABLES])
    for table in parser.parse_args().tables:
        TABLES[table]()
