"""What a communication step costs for each FMU: this master, fmpy's own simulate_fmu, and libcosim, on the same files.

Each row is time on processors, that of programs which run FMUs apart included: the shortest of several runs, less that of runs
half as long, so that what comes before and after the steps is not in it. The runs of all rows take turns, so that all meet
the same machine. The FMUs are two masses with a spring between them, cut at the spring, with one internal step in each
communication step, so that what is measured is mostly the way into the FMU and back. Samples are kept at every step. fmpy runs
one of them alone, with two outputs, and with or without an input that changes. Steps of this master are taken in machine code
where the table does not say otherwise; runs are then longer, because they are too short to be timed.

    python benchmarks/cosim.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import fmpy
import numpy as np
from measuring import processor_time

from kingpost import PluginSet
from kingpost.fmu.blocks import export_block
from kingpost.fmu.cosim import Component, Connection, System, compiled, prepare_cosimulation

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.fmu.cosim.coupled import left, right  # the same blocks as in the tests

ROUNDS = 20
#: Communication steps of the shorter runs, as a rule and where they are taken in machine code.
STEPS, MANY = 1000, 20_000
STEP = 0.001
RECORD = ("a.position", "b.force")
LIBCOSIM = """
import sys, time
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver
log_output_level(CosimLogLevel.FATAL)
execution = CosimExecution.from_osp_config_file(osp_path=sys.argv[1])
observer = CosimObserver.create_last_value()
execution.add_observer(observer=observer)
execution.step()
started = time.process_time()
execution.step(step_count=int(sys.argv[2]))
print(time.process_time() - started)
"""


#: A run of so many steps, which says how long it took; and a row: that, of how many components, and of how many steps.
Run: TypeAlias = Callable[[int], float]
Row: TypeAlias = tuple[Run, int, int]


def coupled(components: tuple[Component, ...], plugins: PluginSet, master: str = "jacobi", compiled_loop: bool = True) -> Row:
    """Return runs of the two masses."""
    count = MANY if compiled_loop else STEPS
    connections = (Connection("a.position", "b.other"), Connection("b.force", "a.force"))
    plans = {
        steps: prepare_cosimulation(
            System("masses", components, connections, step=STEP, t_end=steps * STEP, record=RECORD, master=master), plugins
        )
        for steps in (count, 2 * count)
    }

    def run(steps: int) -> float:
        worth, compiled.WORTH_COMPILING = compiled.WORTH_COMPILING, 1 if compiled_loop else 10**9
        started = processor_time()
        history = plans[steps].run()
        seconds = processor_time() - started
        compiled.WORTH_COMPILING = worth
        assert (history.provenance["statistics"]["loop"] == "machine code") == compiled_loop
        return seconds

    return run, len(components), count


def by_fmpy(path: Path, folder: Path, fed: bool) -> Row:
    """Return runs of one FMU in fmpy, unpacked and described beforehand, perhaps with an input that changes at every step."""
    description = fmpy.read_model_description(str(path))
    unpacked = fmpy.extract(str(path), str(folder / f"{path.stem}-fmpy-{fed}"))
    times = np.arange(2 * STEPS + 1) * STEP
    signal = np.array(list(zip(times, np.sin(times), strict=True)), dtype=[("time", float), ("force", float)])

    def run(steps: int) -> float:
        started = processor_time()
        fmpy.simulate_fmu(
            unpacked,
            model_description=description,
            stop_time=steps * STEP,
            step_size=STEP,
            output_interval=STEP,
            input=signal if fed else None,
            output=["position", "velocity"],
        )
        return processor_time() - started

    return run, 1, STEPS


def by_libcosim(folder: Path) -> Row:
    """Return runs of the pair in libcosim."""

    def run(steps: int) -> float:
        words = [sys.executable, "-c", LIBCOSIM, str(folder), str(steps)]
        return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1])

    return run, 2, STEPS


def main() -> None:
    """Print the table."""
    plugins = PluginSet(entry_points=False)
    with tempfile.TemporaryDirectory(prefix="kingpost-benchmark-") as place:
        folder = Path(place)
        paths = {}
        for fmi in (2, 3):
            for name, block in (("a", left()), ("b", right())):
                paths[name, fmi] = export_block(
                    block, folder / f"{name}{fmi}.fmu", to=f"native-fmu:fmi={fmi}", plugins=plugins
                ).path

        def pair(fmi: int, isolate: bool = False) -> tuple[Component, ...]:
            return tuple(Component(name, fmu=paths[name, fmi], isolate=isolate) for name in "ab")

        models = (Component("a", model=left()), Component("b", model=right()))
        System(
            "masses", pair(2), (Connection("a.position", "b.other"), Connection("b.force", "a.force")), step=STEP, t_end=1.0
        ).write_osp(folder / "osp", plugins)
        rows: dict[str, Row] = {
            "FMI 2, jacobi": coupled(pair(2), plugins),
            "FMI 3, jacobi": coupled(pair(3), plugins),
            "FMI 2, gauss-seidel": coupled(pair(2), plugins, "gauss-seidel"),
            "models in process, jacobi": coupled(models, plugins),
            "models in process, gauss-seidel": coupled(models, plugins, "gauss-seidel"),
            "FMI 2, jacobi, steps in Python": coupled(pair(2), plugins, compiled_loop=False),
            "models in process, jacobi, steps in Python": coupled(models, plugins, compiled_loop=False),
            "models in process, iterated, steps in Python": coupled(models, plugins, "iterated", compiled_loop=False),
            "FMI 2, jacobi, in processes of their own": coupled(pair(2, isolate=True), plugins, compiled_loop=False),
            "fmpy.simulate_fmu, FMI 2": by_fmpy(paths["a", 2], folder, fed=True),
            "fmpy.simulate_fmu, FMI 3": by_fmpy(paths["a", 3], folder, fed=True),
            "fmpy.simulate_fmu, FMI 2, without an input": by_fmpy(paths["a", 2], folder, fed=False),
        }
        try:
            import libcosimpy  # noqa: F401

            rows["libcosim, FMI 2"] = by_libcosim(folder / "osp")
        except ImportError:
            print("libcosimpy is not installed; its row is left out")
        best = {name: dict.fromkeys((steps, 2 * steps), np.inf) for name, (_, _, steps) in rows.items()}
        for run, _, steps in rows.values():
            run(steps)  # what is imported and opened the first time is not counted
        for _ in range(ROUNDS):
            for name, (run, _, _) in rows.items():
                for steps, seconds in best[name].items():
                    best[name][steps] = min(seconds, run(steps))
        shortest = {
            name: (best[name][2 * steps] - best[name][steps]) / steps / components
            for name, (_, components, steps) in rows.items()
        }
        print(f"microseconds for a communication step of {STEP * 1e3:g} ms and one FMU; on processors, shortest of {ROUNDS}")
        for name, seconds in shortest.items():
            beside = f"{seconds / shortest['fmpy.simulate_fmu, FMI 2']:.3f} of fmpy's simulate_fmu"
            beside += f", {seconds / shortest['libcosim, FMI 2']:.2f} of libcosim" if "libcosim, FMI 2" in shortest else ""
            print(f"{name:45s} {seconds * 1e6:8.2f}   {beside}")


if __name__ == "__main__":
    main()
