"""How many runs per second and core does a study make, against a loop over ``simulate`` and against MuJoCo's rollout?

Every case of the vessel-crane has its own masses and its own start, and of each the largest and smallest loads of the slewing
ring and the last angles are kept. The loop does as a user without studies would: ``simulate``, then look. MuJoCo gets the
machine from the paper's numbers, one model for each case, with RK4 of the same step; it finds no loads, and what it does with
its states afterwards is not timed.

Times are those of processors, of all processes together. Executors are looked at in the middle of a study, from a quarter of
the cases to the last, so that starting processes, deriving and loading does not count: the thread that runs cases in each
process, as Linux counts its time, against all other threads, which is what an executor costs beside the cases. Much of that
of Dask comes with the time on the wall, whether cases run or not, so it is also given for each second of that. Wall times, and
how runs per second grow from one worker to two, mean something on a machine that does nothing else.

Peers: pip install mujoco distributed. What is missing is left out.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from batch import draw
from crane_peers import mujoco_model
from measuring import peer, processor_time
from paper_crane import PEER_ORDER, STEP, controls, in_own_order

from kingpost import PluginSet, simulate
from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case
from kingpost.studies.executor import Executor, executor_named
from kingpost.studies.work import StudyWork

Array = np.ndarray[Any, np.dtype[np.float64]]
MODEL, OUTPUT_STEP = "vessel-crane", 0.1
LOADS = tuple(f"slew.{component}" for component in ("Mx", "My", "Mz", "Fx", "Fy", "Fz"))


@dataclass(frozen=True)
class Spent:
    """What some cases took: time on processors, time on the wall, and what the cases themselves took (s)."""

    cases: float
    cpu: float
    wall: float
    own: float = 0.0

    @property
    def beyond(self) -> float:
        """Time on processors beside the cases, s."""
        return self.cpu - self.own


def spent(run: Callable[[], tuple[int, float]]) -> Spent:
    """Return what a call took; it says how many cases it ran, and what they say they took."""
    cpu, wall = processor_time(), time.perf_counter()
    cases, own = run()
    return Spent(cases, processor_time() - cpu, time.perf_counter() - wall, own)


def work(t_end: float, names: list[str]) -> StudyWork:
    """Return the study."""
    return StudyWork(
        MODEL,
        t_end,
        how=RunSettings(step=STEP, output_step=OUTPUT_STEP, loads=("slew",)),
        reducers=(
            ("statistics", {"channels": LOADS, "of": ("max", "min")}),
            ("statistics", {"channels": tuple(names), "of": ("last",)}),
        ),
        entry_points=False,
    )


def cases_of(count: int, names: list[str]) -> tuple[list[Case], list[dict[str, float]], Array]:
    """Return cases, and what MuJoCo makes its models and starts of."""
    masses, starts = draw(count)
    found = [
        Case(
            f"{k:05d}",
            {
                **dict(zip(("m1", "m2", "m3", "m4"), own.values(), strict=True)),
                **dict(zip(names, start.tolist(), strict=True)),
            },
        )
        for k, (own, start) in enumerate(zip(masses, starts, strict=True))
    ]
    return found, masses, starts


def plain_loop(cases: list[Case], t_end: float) -> tuple[int, float]:
    """Do as a user without studies would."""
    plugins = PluginSet(entry_points=False)
    mechanism = plugins.models.get(MODEL)().build()
    for case in cases:
        history = simulate(
            mechanism, t_end, settings=case.settings, step=STEP, output_step=OUTPUT_STEP, loads="slew", plugins=plugins
        )
        [(history[name].max(), history[name].min()) for name in LOADS]
    return len(cases), 0.0


def processes(parent: int) -> list[int]:
    """Return a process and all that it has started and that live."""
    found = [parent]
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            found += [process for child in task.read_text().split() for process in processes(int(child))]
        except OSError:  # it has just ended
            continue
    return found


def thread_times() -> dict[tuple[int, str], float]:
    """Return the time on processors of every thread of this process and of its children, s, by process and thread."""
    found = {}
    for process in processes(os.getpid()):
        for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
            try:
                found[process, task.parent.name] = int(task.read_text().split()[0]) / 1e9
            except OSError:
                continue
    return found


def executed(executor: Executor, study: StudyWork, cases: list[Case]) -> Spent:
    """Run cases by an executor, and return what they took from a quarter of them to the last."""
    begin, keys, own, started = len(cases) // 4, set(), [], 0.0
    before: dict[tuple[int, str], float] = {}
    after: dict[tuple[int, str], float] = {}
    wall = 0.0
    for outcome in executor.outcomes(study, iter(cases)):
        assert not outcome.error
        keys.add(outcome.key)
        own.append(outcome.cpu_s)
        if len(keys) == begin:
            before, started = thread_times(), time.perf_counter()
        if len(keys) == len(cases):  # its workers still live
            after, wall = thread_times(), time.perf_counter() - started
    assert len(keys) == len(own) == len(cases)
    took = {thread: seconds - before.get(thread, 0.0) for thread, seconds in after.items()}
    workers = {process for process, _ in took} - {os.getpid()}
    # In each process the thread that runs cases is the busiest one; where there is no other process, cases say themselves.
    busiest = [max(seconds for (owner, _), seconds in took.items() if owner == process) for process in workers]
    ran = sum(busiest) if sum(busiest) > 0.1 * sum(took.values()) else sum(own[begin:])
    return Spent(ran / (sum(own) / len(own)), sum(took.values()), wall, ran)


def rolled_out(mujoco: ModuleType, masses: list[dict[str, float]], starts: Array, t_end: float) -> tuple[Spent, Array]:
    """Return what MuJoCo takes on one thread, its models made before, and its last states."""
    steps = round(t_end / STEP)
    rollout = importlib.import_module("mujoco.rollout").Rollout(nthread=0)
    begin = np.array([[0.0, *start[:6][PEER_ORDER], *start[6:][PEER_ORDER]] for start in starts])
    given = np.array([controls(STEP * i) for i in range(steps)])[None]
    models = [mujoco_model(mujoco, own) for own in masses]
    room = np.zeros((1, steps, begin.shape[1]))
    last = []

    def run() -> tuple[int, float]:
        for model, start in zip(models, begin, strict=True):
            rollout.rollout([model], [mujoco.MjData(model)], start[None], given, state=room)
            last.append(in_own_order(room[0, -1, 1:]))
        return len(models), 0.0

    return spent(run), np.array(last)


def table_row(name: str, found: Spent, first: Spent) -> str:
    """Return a row: the ratio is that of processor times of a case, to a worker of a study in this process."""
    per, base = found.cpu / found.cases, first.cpu / first.cases
    beyond = f"{100 * found.beyond / found.own:>12.2f} %{1e3 * found.beyond / found.wall:>15.1f}" if found.own else ""
    return f"{name:<34}{1 / per:>14.2f}{1e3 * per:>14.1f}{per / base:>9.2f}{found.cases / found.wall:>12.2f}{beyond}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=200, metavar="N", help="how many (default %(default)s)")
    parser.add_argument("--t-end", type=float, default=60.0, metavar="S", help="length of each run in s (default %(default)s)")
    parser.add_argument("--loop", type=int, default=5, metavar="N", help="cases of the loop (default %(default)s)")
    parser.add_argument("--on", nargs="*", default=["threads", "local", "dask"], metavar="NAME", help="executors")
    arguments = parser.parse_args()
    t_end, count = arguments.t_end, arguments.cases
    plugins = PluginSet(entry_points=False)
    mechanism = plugins.models.get(MODEL)().build()
    names = [quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)]
    cases, masses, starts = cases_of(count, names)
    study = work(t_end, names)
    worker = study.prepare()
    outcomes = []

    def here() -> tuple[int, float]:
        outcomes.extend(worker.run(case) for case in cases)
        return count, sum(outcome.cpu_s for outcome in outcomes)

    first = spent(here)
    rows = {"a worker in this process": first, "loop over simulate": spent(lambda: plain_loop(cases[: arguments.loop], t_end))}
    mujoco = peer("mujoco")
    difference = ""
    if mujoco:
        rows["mujoco.rollout, no loads"], last = rolled_out(mujoco, masses, starts, t_end)
        own = np.array([[outcome.numbers[f"{name}:last"] for name in names] for outcome in outcomes])
        difference = f"Last states of MuJoCo differ by up to {np.abs(last - own).max():.1e}; it holds set-points for a step."
    kinds = [name for name in arguments.on if name != "dask" or peer("distributed")]
    for text in (f"{kind}:workers={workers}" for kind in kinds for workers in (1, 2)):
        rows[text] = executed(executor_named(text, plugins), study, cases)
    print(f"{MODEL}, {count} cases of {round(t_end / STEP)} RK4 steps of {STEP:g} s, loads of a joint every {OUTPUT_STEP:g} s")
    heads = f"{'runs / CPU s':>14}{'CPU ms / run':>14}{'ratio':>9}{'runs / s':>12}{'beside cases':>14}{'ms / s of wall':>15}"
    print(f"{'':<34}{heads}")
    for name, found in rows.items():
        print(table_row(name, found, first))
    print(difference)
    for kind in kinds:
        one, two = (rows[f"{kind}:workers={workers}"] for workers in (1, 2))
        grown = two.cases / two.wall / (one.cases / one.wall)
        print(f"{kind}: {grown:.2f} times as many runs per second with two workers as with one, on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
