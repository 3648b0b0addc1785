"""What does optimal control cost: of a pendulum and of three links, against programs written by hand?

Mid-point rule, effort, from rest at the start (document 001, sections 6.2 and 8.1). By hand: Lagrange's equations of these two
machines in CasADi, the rows, Jacobian and Hessian of one interval compiled and mapped, and IPOPT with the same options; `ipopt`
is its second solution, in which nothing is prepared any more. Ours is there twice: as it comes, where programs that are solved
sooner than compiled are interpreted, and with machine code always. opty has the mid-point rule, too, compiles its equations,
and approximates the Hessian; it is run in a process of its own, which is built in a temporary folder if need be. Crocoddyl is
there twice, with a model in Python that calls CasADi, and with one of Pinocchio in C++; it takes Euler's step, its own solver
FDDP, and a penalty in the place of the end conditions, so that its cost is another one, and `end` says how far it ends away
from where it should. Set-up is everything before the first iteration, with machine code from no cache. Times are processor
times of this process and of the compiler; rows take turns.

Peers: pip install crocoddyl (comes with Pinocchio), opty. What cannot be had is left out, and said.

    python benchmarks/optimal_control.py [INTERVALS ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable

import numpy as np
from measuring import processor_time
from optimal_machines import MACHINES, Machine, Measured, processor
from optimal_opty import environment, opty_peer
from optimal_peers import by_hand, crocoddyl_in_cpp, crocoddyl_in_python, ipopt_alone

from kingpost import PluginSet, RunSettings, open_model, prepare_optimisation
from kingpost.kernel.kernel import Backend

ROUNDS = 3


def ours(machine: Machine, N: int, backend: Backend = "auto", solver: str = "ipopt") -> Measured:
    """Return what Kingpost takes, with a cache that is empty."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["KINGPOST_CACHE_DIR"] = cache
        began = processor()
        plugins = PluginSet()
        opened = open_model(machine.model, plugins)
        task, how = opened.optimal_task("001"), RunSettings(backend=backend)
        prepared = prepare_optimisation(
            opened.mechanism, task, intervals=N, starts=["constant"], how=how, plugins=plugins, solver=solver
        )
        first: list[float] = []
        found = prepared.run(lambda step: first.append(processor()))
        ended = processor()
    end = np.concatenate([machine.end, np.zeros(machine.n)])
    away = float(np.abs(found.states[-1] - end).max())
    return Measured(first[0] - began, ended - first[0], found.solution.iterations, found.cost, away)


PROGRAMS: dict[str, Callable[[Machine, int], Measured | None]] = {
    "ipopt": ipopt_alone,
    "hand": by_hand,
    "kingpost": ours,
    "kingpost c": lambda machine, N: ours(machine, N, "c"),
    "fatrop c": lambda machine, N: ours(machine, N, "c", "fatrop"),
    "opty": opty_peer,
    "crocoddyl py": crocoddyl_in_python,
    "crocoddyl c++": crocoddyl_in_cpp,
}
#: One round is enough of what takes tens of seconds, and none of what takes minutes.
ONCE, MANY = ("opty",), 1000
FOR_MANY = ("ipopt", "hand", "kingpost", "kingpost c")


def measured(machine: Machine, N: int) -> dict[str, list[Measured]]:
    """Return what each program takes, in turns."""
    rows: dict[str, list[Measured]] = {}
    for turn in range(ROUNDS):
        for name, function in PROGRAMS.items():
            skipped = (turn and name in ONCE) or (N >= MANY and name not in FOR_MANY)
            found = None if skipped else function(machine, N)
            if found is not None:
                rows.setdefault(name, []).append(found)
    return rows


def main() -> None:
    """Print the table."""
    sizes = [int(word) for word in sys.argv[1:]] or [20, 40, 200, 2000]
    print(environment()[1])
    if crocoddyl_in_python(next(iter(MACHINES.values())), 2) is None:
        print("Crocoddyl is left out: it is not installed")
    print(f"From {MANY} intervals on, the others are left out")
    print(f"{'machine':24}{'N':>6}  {'by':14}{'set-up s':>9}{'total s':>9}{'its':>5}{'ms/it':>9}{'end':>9}  cost")
    for machine in MACHINES.values():
        for N in sizes:
            for name, found in measured(machine, N).items():
                setup, seconds = min(row.setup for row in found), min(row.seconds for row in found)
                its, cost, away = found[0].iterations, found[0].cost, found[0].away
                per = f"{1e3 * seconds / max(its, 1):9.2f}"
                head = f"{machine.model:24}{N:6}  {name:14}{setup:9.3f}{setup + seconds:9.3f}"
                print(f"{head}{its:5}{per}{away:9.0e}  {cost:.9g}", flush=True)


if __name__ == "__main__":
    main()
    print(f"{processor_time():.0f} s on processors in all")
