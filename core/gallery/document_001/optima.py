"""Optima that the figures of document 001 share: a machine is posed once, and a program solved once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kingpost import Grid, OptimalTask, Optimum, RunSettings, open_model, prepare_optimisation
from kingpost.base.arrays import FloatArray
from kingpost.gallery.entry import Panel

#: The schemes of the document: generalized coordinates with the mid-point rule, and both energy-momentum schemes; the last is
#: the basic one in coordinates that are natural by themselves.
GC = RunSettings(formulation="kane", integrator="midpoint", backend="vm")
BEM = RunSettings(formulation="directors:planar=true", integrator="energy-momentum", backend="vm")
REM = RunSettings(formulation="nullspace", integrator="energy-momentum", backend="vm")
NATURAL = RunSettings(formulation="kane", integrator="energy-momentum", backend="vm")
#: Times of the document's snapshots.
INSTANTS = (0.0, 0.75, 1.5, 2.25, 3.0)
#: Why costs may differ by what they do.
DIGITS = "digits of an independent program: half a unit of the last one, and 1e-9 that the solver leaves"
#: Eq. (7.9): all four rates of the overhead crane vanish at the end.
ALL_RATES: Mapping[str, float] = {
    "travel.displacement": 5.0,
    "hook.x": 5.0,
    "hook.z": -1.0,
    **{f"{name}.rate": 0.0 for name in ("travel.displacement", "drum.angle", "hook.x", "hook.z")},
}


@cache
def _prepared(model: str, how: RunSettings, task: str, transcription: str) -> Any:
    opened = open_model(model)
    wanted = (
        opened.optimal_task(task) if task else OptimalTask(("trolley_force", "winch_torque"), 3.0, end=ALL_RATES, guess="line")
    )
    return prepare_optimisation(opened.mechanism, wanted, how=how, transcription=transcription, plugins=opened.plugins)


@cache
def solved(
    model: str, intervals: int, how: RunSettings = GC, task: str = "001", transcription: str = "step", near: bool = False
) -> Optimum:
    """Return an optimum; ``near`` begins the search at that of the mid-point rule. A task without a name is eq. (7.9)."""
    ready = replace(_prepared(model, how, task, transcription), grid=Grid(intervals))
    if near:
        ready = replace(ready, starts=(solved(model, intervals).path,))
    found: Optimum = ready.run()
    return found


def energies(found: Optimum) -> tuple[FloatArray, FloatArray]:
    """Return T and V at all nodes; T of the null-space method is that of all rates, and not of the generalized speeds."""
    observer = found.problem.observer(("energy.kinetic", "energy.potential"))
    inputs = np.vstack([found.all_inputs, found.all_inputs[-1:]])
    rows = zip(found.times, found.states, inputs, strict=True)
    T, V = np.array([np.asarray(observer(t, x, u, found.p)).ravel() for t, x, u in rows]).T
    space = found.problem.equations.structure.discrete
    if found.problem.equations.formulation == "nullspace" and space is not None:
        rates = found.program.layout.states(found.solution.w)[:, found.problem.equations.nx :]
        T = np.array([v @ space.natural.mass_at(np.zeros(1), found.p) @ v for v in rates]) / 2
    return T, V


def angles(found: Optimum, count: int = 3) -> FloatArray:
    """Return the angles of a chain's joints at all nodes."""
    return np.array([np.asarray(found.problem.joint_state(x, found.p)).ravel()[:count] for x in found.states])


def balance(found: Optimum, moved: FloatArray, friction: float = 0.0) -> FloatArray:
    """Return T + V - W + D at all nodes, less its start, for displacements of the inputs in every interval."""
    T, V = energies(found)
    work = (found.inputs * moved).sum(axis=1) - friction * (moved**2).sum(axis=1) / found.h
    total = T + V - np.concatenate([[0.0], np.cumsum(work)])
    return total - total[0]


def chain_moves(found: Optimum) -> FloatArray:
    """Return by how much the joints of links in a plane turn in every interval, with the dual basis: 2 tan(turn / 2)."""
    places = angles(found)
    links = 2 * np.tan(np.diff(np.cumsum(places, axis=1), axis=0) / 2)
    return np.diff(links, axis=1, prepend=0.0)


def held(found: Optimum) -> FloatArray:
    """Return the middles of the intervals, where inputs are drawn."""
    return (found.times[1:] + found.times[:-1]) / 2


def at_instants(found: Optimum) -> list[int]:
    """Return the nodes at the instants of the document's snapshots."""
    return [int(np.argmin(np.abs(found.times - t))) for t in INSTANTS]


def costs_panel(series: dict[str, dict[int, float]]) -> Panel:
    """Return costs over the number of intervals."""
    return Panel("cost", [(name, list(row), list(row.values()), {"marker": "o"}) for name, row in series.items()], xlabel="N")
