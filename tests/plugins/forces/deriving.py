"""Equations, generalized forces and potentials of machines under test, in the two formulations that share no mechanics."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost import History, Mechanism, PluginSet, simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation import problem

FORMULATIONS = ("kane", "recursive")
#: As in the conformance kit: some 1e3 operations per entry, and mass matrices with condition numbers up to 1e4.
ROUNDING = 1e-10
BUILT_IN = PluginSet(entry_points=False)


@functools.cache
def derive(mechanism: Mechanism, formulation: str = "kane") -> Any:
    return problem.derive(assemble(mechanism, BUILT_IN), formulation, BUILT_IN)


def applied(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    t: float = 0.0,
    u: Sequence[float] = (),
    p: Sequence[float] = (),
    formulation: str = "kane",
) -> np.ndarray:
    """The generalized forces of a mechanism, less what it would take to move it so without any."""
    bare = dataclasses.replace(mechanism, forces=())
    forces = [
        np.asarray(derive(machine, formulation).descriptor(t, q, v, list(u), list(p))[1]).ravel()
        for machine in (mechanism, bare)
    ]
    return forces[0] - forces[1]


def potential(mechanism: Mechanism, q: Any, formulation: str = "kane") -> float:
    equations = derive(mechanism, formulation)
    return float(equations.observations(0, q, np.zeros(equations.nv), [], [])[-2])


def run(mechanism: Mechanism, t_end: float, step: float, **arguments: Any) -> History:
    return simulate(mechanism, t_end, step=step, backend="vm", plugins=BUILT_IN, **arguments)
