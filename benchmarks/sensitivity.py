"""What does the gradient of a run cost, in runs, and against central differences?

A run of 20 s of the vessel-crane, with an explicit and an implicit integrator. The run and the way back are timed as loops over
steps in machine code, in turns, and the shortest counts; beside them the whole of a run and of its gradient, as a user waits
for them, without what is derived and compiled. Central differences need two runs for each name. Processor times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kingpost import PluginSet
from kingpost.gradients.backward import gone_back, with_trail
from kingpost.gradients.functional import weights_of
from kingpost.gradients.sensitivity import Question, ask
from kingpost.simulation.settings import RunSettings

ROUNDS = 7
T_END = 20.0
INTEGRATORS = ("rk4", "midpoint")
NAMES = (1, 4, 16, 37)


def shortest(*tasks: Callable[[], object]) -> list[float]:
    """Return the shortest processor time of each task in s, all in turns."""
    best = [np.inf] * len(tasks)
    for _ in range(ROUNDS):
        for k, task in enumerate(tasks):
            started = time.process_time()
            task()
            best[k] = min(best[k], time.process_time() - started)
    return best


def measure(question: Question) -> None:
    """Print what a run and its gradient take."""
    simulation, kernel = with_trail(question.simulation), question.adjoint
    reading = question.read(simulation.run())
    weights = weights_of(reading.slopes, question.channels, simulation.grid.samples + 1)
    plain, grid = question.simulation, simulation.grid
    room = np.empty((grid.samples, len(plain.equations.channels)))
    given = (grid.substeps, grid.t_start, grid.step, plain.x0, plain.rows.values, plain.p)
    loop, way_back = shortest(
        lambda: plain.kernel.march(room, *given, at_once=True), lambda: gone_back(simulation, kernel, weights)
    )
    whole, gradient = shortest(plain.run, question.answer)
    times = f"run {1e3 * loop:.1f} ms, way back {1e3 * way_back:.1f} ms = {way_back / loop:.2f} runs"
    print(f"{plain.integrator.name}, '{question.of}': {times}")
    ratios = ", ".join(f"{2 * count * loop / (loop + way_back):.1f} for {count}" for count in NAMES)
    print(f"  central differences over run and way back, by number of names: {ratios}")
    print(
        f"  as a user waits: run {1e3 * whole:.0f} ms, run with gradient {1e3 * gradient:.0f} ms = {gradient / whole:.2f} runs"
    )


def main() -> None:
    """Print the ratios."""
    plugins = PluginSet(entry_points=False)
    crane = plugins.models.get("vessel-crane")().build()
    for integrator in INTEGRATORS:
        how = RunSettings(t_end=T_END, integrator=integrator, loads=("slew",)).selected(plugins)
        for of in ("end hull.roll", "rms slew.Mz"):
            measure(ask(crane, of, "*", None, None, how, plugins))


if __name__ == "__main__":
    main()
