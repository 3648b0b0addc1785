"""What is measured for one cell of the tables of ``everything.py``, in a process of its own: numbers by name, in s."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import peer, shortest

sys.path.insert(0, str(Path(__file__).parents[1]))

#: Steps of a run of which the time of one is taken, and how long (s) each is looked for at its shortest.
STEPS, SLICE = 200, 0.5
STEP = 1e-3
#: A warm run is repeated so often.
WARM = 3
COMMUNICATION_STEPS = 20_000


def processor_time() -> float:
    """Return the time this process and those that it has started and seen ending have spent on processors, in s."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def children_time() -> float:
    """Return the part of it that was spent in other processes: compilers."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


@contextmanager
def empty_cache() -> Iterator[Path]:
    """Have kernels built anew; give a folder that goes with them."""
    before = os.environ.get("KINGPOST_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="kingpost-everything-") as folder:
        os.environ["KINGPOST_CACHE_DIR"] = str(Path(folder) / "cache")
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["KINGPOST_CACHE_DIR"]
            else:
                os.environ["KINGPOST_CACHE_DIR"] = before


def command(*words: str) -> float:
    """Carry a command out and return its processor time, that of its compilers included."""
    started = children_time()
    done = subprocess.run([sys.executable, "-m", "kingpost", *words], capture_output=True, text=True, check=False)
    # A run whose step is said to be too long is a run all the same.
    if done.returncode not in (0, 11):
        raise RuntimeError(f"kingpost {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return children_time() - started


def starts(model: str) -> dict[str, float]:
    """What a user waits for: ``kingpost run`` with an empty cache, and again; and how much of the first is the compiler."""
    with empty_cache() as folder:
        words = ("run", model, "--write", "csv", "--out", str(folder / "results"))
        cold = command(*words)
        warm = min(command(*words) for _ in range(WARM))
    with empty_cache():
        before = children_time()
        _prepared(model)
        compiling = children_time() - before
    return {"cold": cold, "warm": warm, "compile": compiling}


def step(model: str) -> dict[str, float]:
    """A step as ``kingpost run`` takes it, with a sample at the end of many."""
    with empty_cache():
        return {"step": time_of_step(_prepared(model))}


def time_of_step(simulation: Any) -> float:
    """Return the time of a step of a run from its start; of a solver that chooses its steps, for a step of 1 ms."""
    import numpy as np

    if not simulation.problem.stepper.fixed:
        grid = simulation.grid
        return shortest(simulation.run, SLICE) / (grid.samples * grid.substeps * grid.step / STEP)
    y = np.empty((1, len(simulation.equations.channels)))
    start, row, h = simulation.x0, simulation.rows.values[:1], simulation.grid.step

    def march() -> None:
        stop = simulation.kernel.march(y, STEPS, simulation.grid.t_start, h, start, row, simulation.p, at_once=True)
        if stop.steps < STEPS:
            raise RuntimeError(f"it stops after {stop.steps} steps")

    return shortest(march, SLICE) / STEPS


def _prepared(model: str) -> Any:
    from kingpost import PluginSet, prepare
    from kingpost.modelfiles.opened import open_model
    from kingpost.simulation.settings import RunSettings

    opened = open_model(model, PluginSet(), [])
    how = opened.how(RunSettings())
    how = how.with_usual_loads(how.with_cuts(opened.mechanism, opened.plugins))
    return prepare(opened.mechanism, settings=opened.settings, inputs=opened.inputs, how=how, plugins=opened.plugins)


def export(model: str) -> dict[str, float]:
    """An FMU in plain C, and its size in bytes."""
    with empty_cache() as folder:
        path = folder / "model.fmu"
        seconds = command("export", model, "--to", "native-fmu", "-o", str(path))
        return {"export": seconds, "size": float(path.stat().st_size)}


def grown(machine: str, formulation: str) -> dict[str, float]:
    """Build a machine of some size with an empty cache, and take its steps."""
    from kingpost import prepare
    from tests.core.simulation.test_default_formulation import machine as built

    mechanism = built(machine)
    choices: dict[str, Any] = {"formulation": formulation}
    if formulation == "directors":
        choices["integrator"] = "generalized-alpha"
    with empty_cache():
        started = processor_time()
        run = prepare(mechanism, STEPS * STEP, step=STEP, output_step=STEPS * STEP, backend="c", loads=None, **choices)
        build = processor_time() - started
        return {"build": build, "step": time_of_step(run), "speeds": float(len(mechanism.speeds))}


def chain_peer(links: int, name: str) -> dict[str, float]:
    """Four evaluations of a peer, which is what an RK4 step has."""
    import numpy as np
    import scaling

    module = peer(*{"pinocchio": ("pinocchio", "pin"), "mujoco": ("mujoco",)}[name])
    if module is None:
        raise RuntimeError("it is not installed")
    draw = np.random.default_rng(links)
    q, v = draw.uniform(-0.5, 0.5, links), draw.uniform(-0.5, 0.5, links)
    make = {"pinocchio": scaling.pinocchio_call, "mujoco": scaling.mujoco_call}[name]
    return {"step": 4 * shortest(make(module, scaling.chain(links, equal=True), q, v), SLICE)}


def system(pairs: int, master: str) -> dict[str, float]:
    """A communication step of a system of so many pairs of FMUs, for one FMU."""
    from kingpost import PluginSet
    from kingpost.fmu.blocks import export_block
    from kingpost.fmu.cosim import Component, Connection, System, prepare_cosimulation
    from tests.fmu.cosim.coupled import left, right

    plugins = PluginSet(entry_points=False)
    with empty_cache() as folder:
        paths = {
            name: export_block(block, folder / f"{name}.fmu", to="native-fmu:fmi=2", plugins=plugins).path
            for name, block in (("a", left()), ("b", right()))
        }
        names = [f"{side}{k}" for k in range(pairs) for side in "ab"]
        components = tuple(Component(name, fmu=paths[name[0]]) for name in names)
        wires = [(f"a{k}.position", f"b{k}.other", f"b{k}.force", f"a{k}.force") for k in range(pairs)]
        connections = tuple(Connection(*ends) for wire in wires for ends in (wire[:2], wire[2:]))
        if master == "libcosim":
            return {"step": _libcosim(System("masses", components, connections, step=STEP, t_end=1.0), folder, plugins)}

        def spent(steps: int) -> float:
            described = System(
                "masses", components, connections, step=STEP, t_end=steps * STEP, record=("a0.position",), master=master
            )
            return shortest(prepare_cosimulation(described, plugins).run, SLICE)

        # FMUs are loaded and started in either.
        seconds = spent(2 * COMMUNICATION_STEPS) - spent(COMMUNICATION_STEPS)
        return {"step": seconds / COMMUNICATION_STEPS / len(components)}


def _libcosim(described: Any, folder: Path, plugins: Any) -> float:
    """Return what a step costs there: the difference of a long and a short run, each in a process of its own."""
    import cosim

    described.write_osp(folder / "osp", plugins)
    program = cosim.LIBCOSIM.replace("time.perf_counter()", "time.process_time()")

    def spent(steps: int) -> float:
        words = [sys.executable, "-c", program, str(folder / "osp"), str(steps)]
        return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1])

    return min(spent(COMMUNICATION_STEPS) for _ in range(3)) / len(described.components)


def batch(scenarios: int, way: str) -> dict[str, float]:
    """A step of one of many runs of the vessel-crane on one thread, and what preparing them takes for each."""
    import batch as batches

    steps = 500
    masses, begin = batches.draw(scenarios)
    if way == "kingpost":
        with empty_cache():
            batches.kingpost_batch(steps * batches.STEP, masses[:1], begin[:1])  # compiles
            started = processor_time()
            ready = batches.kingpost_batch(steps * batches.STEP, masses, begin)
            preparing = processor_time() - started
            return {"step": _once_or_more(lambda: ready.run(1)) / steps / scenarios, "prepare": preparing / scenarios}
    started = processor_time()
    mujoco = peer("mujoco")
    if mujoco is None:
        raise RuntimeError("it is not installed")
    pieces = batches.mujoco_pieces(mujoco, steps, masses, begin)
    preparing = processor_time() - started
    one = batches.mujoco_way(mujoco, 1)
    return {
        "step": _once_or_more(lambda: [one(piece) for piece in pieces]) / steps / scenarios,
        "prepare": preparing / scenarios,
    }


def _once_or_more(run: Callable[[], object]) -> float:
    found = math.inf
    for _ in range(3):
        started = processor_time()
        run()
        found = min(found, processor_time() - started)
    return found


#: By name, what measures a cell.
CELLS: dict[str, Callable[..., dict[str, float]]] = {
    "starts": starts,
    "step": step,
    "export": export,
    "grown": grown,
    "chain-peer": chain_peer,
    "system": system,
    "batch": batch,
}
