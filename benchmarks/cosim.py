"""What a communication step costs for each FMU: this master, fmpy's own simulate_fmu, and libcosim, on the same files.

Each row is the shortest of several runs in CPU time, that of processes of their own included, and the runs of all rows take
turns, so that all meet the same machine. The FMUs are
two masses with a spring between them, cut at the spring, with one internal step in each communication step, so that what is
measured is mostly the way into the FMU and back. fmpy runs one of them alone, with two outputs, and with or without an input
that changes.

    python benchmarks/cosim.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fmpy
import numpy as np

from kingpost import PluginSet
from kingpost.fmu.blocks import export_block
from kingpost.fmu.cosim import Component, Connection, System, prepare_cosimulation

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.fmu.cosim.coupled import left, right  # the same blocks as in the tests

ROUNDS = 20
STEPS = 1000
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
print((time.process_time() - started) / int(sys.argv[2]))
"""


def coupled(components: tuple[Component, ...], plugins: PluginSet, master: str = "jacobi") -> Callable[[], float]:
    """Return runs of the two masses; each says how long a communication step takes for one component."""
    connections = (Connection("a.position", "b.other"), Connection("b.force", "a.force"))
    system = System("masses", components, connections, step=STEP, t_end=STEPS * STEP, record=RECORD, master=master)
    plan, start = (prepare_cosimulation(replace(system, t_end=steps * STEP), plugins) for steps in (STEPS, 1))
    return lambda: (cpu_time(plan.run) - cpu_time(start.run)) / (STEPS - 1) / len(components)


def cpu_time(run: Callable[[], object]) -> float:
    """Return the CPU time of something, with that of processes that it starts and waits for."""
    before = _used()
    run()
    return _used() - before


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def by_fmpy(path: Path, folder: Path, fed: bool) -> Callable[[], float]:
    """Return runs of one FMU in fmpy, unpacked and described beforehand, perhaps with an input that changes at every step."""
    description = fmpy.read_model_description(str(path))
    unpacked = fmpy.extract(str(path), str(folder / f"{path.stem}-fmpy-{fed}"))
    times = np.arange(STEPS + 1) * STEP
    signal = np.array(list(zip(times, np.sin(times), strict=True)), dtype=[("time", float), ("force", float)])

    def run() -> float:
        started = time.process_time()
        fmpy.simulate_fmu(
            unpacked,
            model_description=description,
            stop_time=STEPS * STEP,
            step_size=STEP,
            output_interval=STEP,
            input=signal if fed else None,
            output=["position", "velocity"],
        )
        return (time.process_time() - started) / STEPS

    return run


def by_libcosim(folder: Path) -> Callable[[], float]:
    """Return runs of the pair in libcosim, for one FMU."""
    words = [sys.executable, "-c", LIBCOSIM, str(folder), str(STEPS)]
    return lambda: float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]) / 2


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
        rows: dict[str, Callable[[], float]] = {
            "FMI 2, jacobi": coupled(pair(2), plugins),
            "FMI 3, jacobi": coupled(pair(3), plugins),
            "FMI 2, gauss-seidel": coupled(pair(2), plugins, "gauss-seidel"),
            "FMI 2, jacobi, in processes of their own": coupled(pair(2, isolate=True), plugins),
            "models in process, jacobi": coupled(models, plugins),
            "models in process, iterated": coupled(models, plugins, "iterated"),
            "fmpy.simulate_fmu, FMI 2": by_fmpy(paths["a", 2], folder, fed=True),
            "fmpy.simulate_fmu, FMI 3": by_fmpy(paths["a", 3], folder, fed=True),
            "fmpy.simulate_fmu, FMI 2, without an input": by_fmpy(paths["a", 2], folder, fed=False),
        }
        try:
            import libcosimpy  # noqa: F401

            rows["libcosim, FMI 2"] = by_libcosim(folder / "osp")
        except ImportError:
            print("libcosimpy is not installed; its row is left out")
        shortest = dict.fromkeys(rows, np.inf)
        for _ in range(ROUNDS):
            for name, run in rows.items():
                shortest[name] = min(shortest[name], run())
        print(
            f"microseconds for a communication step of {STEP * 1e3:g} ms and one FMU; shortest of {ROUNDS} runs, {STEPS} steps"
        )
        for name, seconds in shortest.items():
            print(
                f"{name:45s} {seconds * 1e6:8.2f}   {seconds / shortest['fmpy.simulate_fmu, FMI 2']:.2f} of fmpy's simulate_fmu"
            )


if __name__ == "__main__":
    main()
