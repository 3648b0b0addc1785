"""What do subsystems cost? A chain cut in equal subsystems, and closed loops, by `modular` against `recursive` and `kane`.

And what does a principle of mechanics cost? The vessel-crane by every formalism, as `kingpost compare` has it.

An evaluation gives all accelerations, in a compiled loop. Building is deriving, generating C and compiling it with an empty
cache. Times are processor times of this process and its compilers, so that others on the machine count little; ratios are
taken in the same run.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from scaling import chain, empty_cache, mechanism, processor_time

from kingpost import Group, Mechanism, PluginSet, RunSettings, pose
from kingpost.kernel.kernel import Kernel
from kingpost.simulation.comparison import compare

#: Links, and subsystems that they are cut in.
CHAINS = ((8, 2), (16, 2), (32, 4), (64, 8), (128, 16))
#: Kane's straight-line code for 24 links takes about a minute to derive and compile.
LARGEST_KANE = 8
LOOPS = ("four-bar", "andrews-squeezer", "offshore-crane-cylinder")
ROUNDS, SAMPLES = 30, 200


@dataclass
class Row:
    """Times in s per evaluation and to build, by formulation, and the largest relative difference of accelerations."""

    name: str
    loops: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    builds: dict[str, float] = field(default_factory=dict)
    difference: float = 0.0


def cut_in(machine: Mechanism, count: int) -> Mechanism:
    """Return a chain cut in equal subsystems."""
    names = [joint.child for joint in machine.tree]
    size = len(names) // count
    groups = [Group(f"part{i + 1}", names[i * size : (i + 1) * size]) for i in range(count)]
    return replace(machine, subsystems=tuple(groups))


def row_of(name: str, machine: Mechanism, formulations: list[str]) -> Row:
    """Build the accelerations of a machine in all formulations."""
    row, plugins = Row(name), PluginSet()
    results = []
    for formulation in formulations:
        with empty_cache():
            started = processor_time()
            problem = pose(machine, RunSettings(formulation=formulation), plugins=plugins)
            equations = problem.equations
            t, x, u, p = (ca.MX.sym(s, n) for s, n in zip("txup", (1, equations.nx, equations.nu, equations.np), strict=True))
            q, v = equations.split(x)
            vdot = equations.accelerations(t, q, v, equations.acting(u, x), p)
            kernel = Kernel([ca.Function("kp_observe", [t, x, u, p], [vdot])], "c")
            row.builds[formulation] = processor_time() - started
            rng = np.random.default_rng(0)
            state = problem.x0.copy()
            if not equations.constraints.count:
                state[: equations.nq + equations.nv] += rng.uniform(-0.5, 0.5, equations.nq + equations.nv)
            states = np.zeros(SAMPLES), np.tile(state, (SAMPLES, 1)), np.tile(problem.u0, (SAMPLES, 1)), problem.p
            row.loops[formulation] = kernel, states
            results.append(kernel.sample(*states)[0])
    scale = np.abs(results[0]).max()
    row.difference = max(float(np.abs(result - results[0]).max()) for result in results) / scale
    return row


def measure(rows: list[Row]) -> None:
    """Take the times of all evaluations in turn, many times over, and keep the shortest."""
    for _ in range(ROUNDS):
        for row in rows:
            for name, (kernel, states) in row.loops.items():
                started = processor_time()
                for _ in range(5):
                    kernel.sample(*states)
                took = (processor_time() - started) / (5 * SAMPLES)
                row.seconds[name] = min(row.seconds.get(name, math.inf), took)


def formalisms(name: str, t_end: float = 2.0) -> None:
    """Print what accelerations of a model cost by every formalism, and how far they are from those of `kane`."""
    machine = PluginSet().models.get(name)().build()
    comparison = compare(machine, how=RunSettings(t_end=t_end))
    print(f"\n{name}, {comparison.speeds} speeds, {comparison.constraints} constraints ({comparison.backend})")
    print(f"{'formalism':<24}{'us per evaluation':>20}{'of kane':>10}{'operations':>14}{'differ by':>12}{'s to derive':>14}")
    taken = [item for item in comparison.compared if not item.refusal]
    kane = next(item for item in taken if item.name == "kane")
    for item in sorted(taken, key=lambda item: item.microseconds):
        cost = f"{item.microseconds:20.2f}{item.microseconds / kane.microseconds:10.2f}{item.operations:14,}"
        print(f"{item.name:<24}{cost}{item.difference:12.0e}{item.derived_s:14.2f}")


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--max", type=int, default=CHAINS[-1][0], metavar="N", help="the largest number of links")
    parser.add_argument("--only", choices=("subsystems", "formalisms"), help="one of the two tables")
    arguments = parser.parse_args()
    if arguments.only != "formalisms":
        subsystems(arguments.max)
    if arguments.only != "subsystems":
        formalisms("vessel-crane")


def subsystems(largest: int) -> None:
    """Print what an evaluation costs by formulation, for chains of up to so many links, and for loops."""
    rows = []
    for n, count in CHAINS:
        if n <= largest:
            names = ["recursive", "modular:mode=numeric", *(["kane", "modular:mode=symbolic"] if n <= LARGEST_KANE else [])]
            rows.append(row_of(f"chain of {n} in {count}", cut_in(mechanism(chain(n, True), True), count), names))
            rows.append(row_of("... all different", cut_in(mechanism(chain(n, False), False), count), names[:2]))
    for name in LOOPS:
        machine = PluginSet().models.get(name)().build()
        rows.append(row_of(name, machine, ["recursive", "modular:mode=numeric", "kane", "modular:mode=symbolic"]))
    measure(rows)
    print(
        f"{'us per evaluation (s to build)':<30}{'recursive':>20}{'numeric':>20}{'kane':>20}{'symbolic':>20}{'differ by':>12}"
    )
    for row in rows:
        cells = []
        for name in ("recursive", "modular:mode=numeric", "kane", "modular:mode=symbolic"):
            known = name in row.seconds
            cells.append(f"{row.seconds[name] * 1e6:10.2f} ({row.builds[name]:6.2f})" if known else "-")
        print(f"{row.name:<30}" + "".join(f"{cell:>20}" for cell in cells) + f"{row.difference:12.0e}")
        ratio = row.seconds["modular:mode=numeric"] / row.seconds["recursive"]
        print(f"{'':<30}{'':>20}{f'{ratio:.2f} of recursive':>20}")


if __name__ == "__main__":
    main()
