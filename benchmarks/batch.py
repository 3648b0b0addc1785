"""How many steps per second do many runs of the vessel-crane make, on one and on two threads, against MuJoCo's rollout?

Several runs at once in the registers of the processor are held against one after the other, which gives the same bits. What
one thread does is measured in CPU time; two threads against one can only be seen on the clock of an idle machine.

Every scenario has its own masses and its own start. MuJoCo gets the machine from the paper's numbers, with its own cubic
springs, PD control (the set-point held over a step) and RK4, one model for each scenario. Building and checking are not timed.

Peer: pip install mujoco. If it is missing it is left out.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from crane_peers import mujoco_model
from measuring import peer
from paper_crane import MASSES, PEER_ORDER, START, STEP, controls, in_own_order

from kingpost import Batch, PluginSet, prepare_batch

THREADS = (1, 2)
ONE_BY_ONE = "kingpost, 1 by 1"
#: Times are those of the processors, of all threads together, which others on the machine do not change; what threads gain can
#: only be seen on the wall, and means something where nothing else runs.
#: The scenarios are run in pieces of this many, all of them so often by every way in turn, and the shortest time of each piece
#: counts: a shared machine runs at changing speeds, and every way should meet the best one.
PIECE, REPEATS = 40, 10

Array = np.ndarray[Any, np.dtype[np.float64]]


def draw(count: int) -> tuple[list[dict[str, float]], Array]:
    """Return the masses of each scenario by body, and its start: coordinates, then speeds."""
    rng = np.random.default_rng(1)
    masses = [{body: mass * rng.uniform(0.8, 1.2) for body, mass in MASSES.items()} for _ in range(count)]
    starts = np.tile(np.append(START, np.zeros(6)), (count, 1)) + rng.uniform(-0.05, 0.05, (count, 12))
    return masses, starts


def kingpost_batch(t_end: float, masses: list[dict[str, float]], starts: Array) -> Batch:
    """Return the runs, ready to go."""
    mechanism = PluginSet().models.get("vessel-crane")().build()
    names = [quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)]
    scenarios = [
        {**dict(zip(("m1", "m2", "m3", "m4"), own.values(), strict=True)), **dict(zip(names, start.tolist(), strict=True))}
        for own, start in zip(masses, starts, strict=True)
    ]
    return prepare_batch(mechanism, t_end, scenarios, step=STEP, side_by_side=True)


def kingpost_pieces(batch: Batch) -> list[Batch]:
    """Return the runs in pieces."""
    parts = [slice(first, first + PIECE) for first in range(0, len(batch.scenarios), PIECE)]
    return [
        replace(batch, scenarios=batch.scenarios[part], x0=batch.x0[part], p=batch.p[part], rows=batch.rows[part])
        for part in parts
    ]


def kingpost_way(threads: int, at_once: bool = True) -> Callable[[Batch], Array]:
    """Return a function that carries runs out, several at once or not, and returns their last states."""
    return lambda batch: (batch if at_once else replace(batch, lanes=None)).run(threads).values[:, -1, :12]


@dataclass(frozen=True)
class MujocoPiece:
    """Some runs for MuJoCo: a model and a start for each, the set-points, and where the states go."""

    models: list[Any]
    begin: Array
    controls: Array
    states: Array


def mujoco_pieces(mujoco: ModuleType, steps: int, masses: list[dict[str, float]], starts: Array) -> list[MujocoPiece]:
    """Return the runs in pieces."""
    begin = np.array([[0.0, *start[:6][PEER_ORDER], *start[6:][PEER_ORDER]] for start in starts])
    given = np.array([controls(STEP * i) for i in range(steps)])[None]
    states = np.zeros((PIECE, steps, begin.shape[1]))
    pieces = []
    for first in range(0, len(masses), PIECE):
        models = [mujoco_model(mujoco, own) for own in masses[first : first + PIECE]]
        pieces.append(MujocoPiece(models, begin[first : first + PIECE], given, states[: len(models)]))
    return pieces


def mujoco_way(mujoco: ModuleType, threads: int) -> Callable[[MujocoPiece], Array]:
    """Return a function that carries runs out and returns their last states."""
    rollout = importlib.import_module("mujoco.rollout").Rollout(nthread=threads if threads > 1 else 0)  # 0: the calling thread

    def run(piece: MujocoPiece) -> Array:
        data = [mujoco.MjData(piece.models[0]) for _ in range(threads)]
        rollout.rollout(piece.models, data, piece.begin, piece.controls, state=piece.states)
        return np.array([in_own_order(state[1:]) for state in piece.states[:, -1]])

    return run


Way: TypeAlias = Callable[[Any], Array]


Times: TypeAlias = dict[tuple[str, int], float]


def measure(
    ways: dict[tuple[str, int], Way], pieces: dict[str, list[Any]]
) -> tuple[Times, Times, dict[tuple[str, int], Array]]:
    """Return the time that each way needs for all pieces, on processors and on the wall, and the last states that it finds."""
    clocks = (time.process_time, time.perf_counter)
    times = [{key: [math.inf] * len(pieces[key[0]]) for key in ways} for _ in clocks]
    last = {}
    for _ in range(REPEATS):
        states: dict[tuple[str, int], list[Array]] = {key: [] for key in ways}
        for k in range(len(pieces["kingpost"])):
            for (name, threads), way in ways.items():
                started = [clock() for clock in clocks]
                states[name, threads].append(way(pieces[name][k]))
                for found, clock, began in zip(times, clocks, started, strict=True):
                    found[name, threads][k] = min(found[name, threads][k], clock() - began)
        last = {key: np.concatenate(found) for key, found in states.items()}
    cpu, wall = ({key: sum(shortest) for key, shortest in found.items()} for found in times)
    return cpu, wall, last


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scenarios", type=int, default=1000, metavar="N", help="how many (default %(default)s)")
    parser.add_argument("--t-end", type=float, default=1.0, metavar="S", help="length of each run in s (default %(default)s)")
    arguments = parser.parse_args()
    steps = round(arguments.t_end / STEP)
    masses, starts = draw(arguments.scenarios)
    batch = kingpost_batch(arguments.t_end, masses, starts)
    pieces: dict[str, list[Any]] = dict.fromkeys(("kingpost", ONE_BY_ONE), kingpost_pieces(batch))
    ways: dict[tuple[str, int], Way] = {("kingpost", threads): kingpost_way(threads) for threads in THREADS}
    ways[ONE_BY_ONE, 1] = kingpost_way(1, at_once=False)
    mujoco = peer("mujoco")
    if mujoco:
        pieces["MuJoCo rollout"] = mujoco_pieces(mujoco, steps, masses, starts)
        ways |= {("MuJoCo rollout", threads): mujoco_way(mujoco, threads) for threads in THREADS}
    times, wall, last = measure(ways, pieces)

    total = arguments.scenarios * steps
    print(f"kingpost carries its runs out {batch.note}")
    print(f"vessel-crane, {arguments.scenarios} scenarios, {steps} RK4 steps of {STEP:g} s each")
    heads = ("CPU s", "wall s", "steps / CPU s", "us / step")
    print(f"{'':<18}{'threads':>8}" + "".join(f"{head:>15}" for head in heads) + f"{'last states differ by':>23}")
    for (name, threads), seconds in times.items():
        difference = np.abs(last[name, threads] - last["kingpost", 1]).max()
        cells = f"{seconds:>15.3f}{wall[name, threads]:>15.3f}{total / seconds:>15,.0f}{seconds / total * 1e6:>15.3f}"
        print(f"{name:<18}{threads:>8}{cells}{difference:>23.0e}")
    print()
    gained = {name: wall[name, 1] / wall[name, 2] for name in pieces if (name, 2) in wall}
    demands = [("kingpost, at once / one by one", times[ONE_BY_ONE, 1] / times["kingpost", 1], "   at least 1.7: ", 1.7)]
    demands += [("kingpost, two threads / one, on the wall", gained["kingpost"], "   at least 1.7: ", 1.7)]
    if mujoco:
        ratios = {threads: times["MuJoCo rollout", threads] / times["kingpost", threads] for threads in THREADS}
        demands.append(("kingpost / MuJoCo rollout, one thread", ratios[1], "   at least 5: ", 5.0))
        demands.append(("kingpost / MuJoCo rollout, two threads", ratios[2], "", 0.0))
        demands.append(("MuJoCo rollout, two threads / one, on the wall", gained["MuJoCo rollout"], "", 0.0))
    for text, ratio, words, least in demands:
        print(f"{text:<48}{ratio:8.2f}{words}{'' if not words else 'met' if ratio >= least else 'missed'}")


if __name__ == "__main__":
    main()
