"""Is the formulation that is taken by default the faster one?

For each machine: the operations that are estimated for ``kane`` and ``recursive``, the time of an RK4 step with either, and how
much slower the default is than the faster of the two. Runs with one and the other are timed in turn, many times over.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from measuring import step_time

from kingpost import Mechanism, PluginSet, prepare
from kingpost.simulation.default_formulation import default_formulation, kane_operations, recursive_operations

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.core.simulation.test_default_formulation import machine

MACHINES = (
    *("double-pendulum", "vessel-crane", "six-axis-arm", "chain:links=6", "chain:links=9", "chain:links=12", "chain:links=16"),
    *("star:4x3", "star:8x2", "star:2x6", "offshore-crane", "offshore-crane-cylinder"),
    *("four-bar", "four-bars:2", "four-bars:5", "four-bars:10", "four-bars:20", "hull:4", "hull:20"),
)
STEPS, ROUNDS, SLICE = 100, 15, 0.02


def times(mechanism: Mechanism) -> dict[str, float]:
    """Return the time of a step in s by formulation."""
    plugins = PluginSet(entry_points=False)
    runs = {
        name: prepare(mechanism, STEPS * 1e-3, step=1e-3, output_step=STEPS * 1e-3, formulation=name, plugins=plugins)
        for name in ("kane", "recursive")
    }
    best = dict.fromkeys(runs, math.inf)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            best[name] = min(best[name], step_time(run, SLICE))
    return best


def main() -> None:
    """Print a row for each machine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("machines", nargs="*", default=MACHINES, help="models, chain:links=N, star:ARMSxLINKS, four-bars:N")
    columns = ("kane, operations", "recursive", "kane, us a step", "recursive")
    print(f"{'machine':<26}{'speeds':>7}" + "".join(f"{text:>18}" for text in columns) + f"{'default':>12}{'slower by':>11}")
    for name in parser.parse_args().machines:
        mechanism = machine(name)
        found = times(mechanism)
        chosen = default_formulation(mechanism)
        cells = [kane_operations(mechanism), recursive_operations(mechanism), *(seconds * 1e6 for seconds in found.values())]
        row = "".join(f"{value:18.0f}" if value > 100 else f"{value:18.2f}" for value in cells)
        print(f"{name:<26}{len(mechanism.speeds):>7}{row}{chosen:>12}{found[chosen] / min(found.values()):10.2f}x", flush=True)


if __name__ == "__main__":
    main()
