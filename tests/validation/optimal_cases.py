"""Optima of document 001 that tests share: a machine is posed once for all numbers of intervals, and a program solved once."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np

from kingpost import OptimalTask, RunSettings, SolverOptions, prepare_optimisation
from kingpost.control.optimal.transcription import Grid
from kingpost.modelfiles.opened import open_model
from kingpost.registry.pluginset import PluginSet

#: The schemes of the document: generalized coordinates with the mid-point rule, and both energy-momentum schemes.
GC = RunSettings(formulation="kane", integrator="midpoint", backend="vm")
BEM = RunSettings(formulation="directors:planar=true", integrator="energy-momentum", backend="vm")
REM = RunSettings(formulation="nullspace", integrator="energy-momentum", backend="vm")
#: BEM in coordinates that are natural by themselves, as those of the overhead crane in dependent form.
NATURAL = RunSettings(formulation="kane", integrator="energy-momentum", backend="vm")


@cache
def _plugins():
    return PluginSet(entry_points=False)


@cache
def prepared(model, how=GC, task="001", transcription="step"):
    """Return an optimisation that is ready to go; ``task`` is the name of one of the model's, or one as items of plain data."""
    opened = open_model(model, _plugins())
    wanted = opened.optimal_task(task) if isinstance(task, str) else OptimalTask(**{key: _table(value) for key, value in task})
    return prepare_optimisation(opened.mechanism, wanted, how=how, transcription=transcription, plugins=_plugins())


def _table(value):
    return dict(value) if isinstance(value, frozenset) else value


@cache
def solved(model, intervals, how=GC, task="001", transcription="step", near=None, tolerance=None):
    """Return an optimum; ``near`` are the arguments of another one that the search begins at."""
    ready = replace(prepared(model, how, task, transcription), grid=Grid(intervals))
    if tolerance is not None:
        ready = replace(ready, options=SolverOptions(tolerance=tolerance))
    if near is not None:
        ready = replace(ready, starts=(solved(model, *near).path,))
    return ready.run()


def orders(values, limit):
    """Return the orders with which values at halved intervals tend to a limit."""
    errors = np.abs(np.asarray(values) - limit)
    return np.log2(errors[:-1] / errors[1:])


def extrapolated(values):
    """Return the limit of the last two of values at halved intervals, with order two."""
    return values[-1] + (values[-1] - values[-2]) / 3


def limit_of(costs):
    """Return the limit of costs at halved intervals whose errors are h^2 and h^4, and by how much it may be off.

    Richardson's rule twice; what is left is of the order h^6, less than what the second time changed.
    """
    once = [fine + (fine - coarse) / 3 for coarse, fine in pairwise(costs)]
    twice = once[-1] + (once[-1] - once[-2]) / 15
    return twice, abs(twice - once[-1])


def energies(found):
    """Return T and V at all nodes."""
    observer = found.problem.observer(("energy.kinetic", "energy.potential"))
    inputs = np.vstack([found.all_inputs, found.all_inputs[-1:]])
    rows = zip(found.times, found.states, inputs, strict=True)
    T, V = np.array([np.asarray(observer(t, x, u, found.p)).ravel() for t, x, u in rows]).T
    if found.problem.equations.formulation == "nullspace":
        # That of all rates, which satisfy no constraints at nodes, and not of the generalized speeds.
        T = np.array([v @ natural(found).mass_at(np.zeros(1), found.p) @ v for v in rates(found)]) / 2
    return T, V


def natural(found):
    """Return the equations in natural coordinates that the null-space method reduces."""
    space = found.problem.equations.structure.discrete
    assert space is not None
    return space.natural


def rates(found):
    """Return the rates of the natural coordinates at all nodes, which the reduced scheme remembers."""
    return found.program.layout.states(found.solution.w)[:, found.problem.equations.nx :]


def turned(found):
    """Return mean rates of the joints in all intervals: B(q^m) v_m is 2 tan(turn / 2) / h for each link in its plane."""
    angles = np.array([np.asarray(found.problem.joint_state(x, found.p)).ravel()[:3] for x in found.states])
    links = 2 * np.tan(np.diff(np.cumsum(angles, axis=1), axis=0) / 2) / found.h
    return np.diff(links, axis=1, prepend=0.0)


def imbalance(found, mean_rates, friction=0.0):
    """Return how far T + V - W + D goes from its start."""
    T, V = energies(found)
    powers = (found.inputs * mean_rates).sum(axis=1) - friction * (mean_rates**2).sum(axis=1)
    total = T + V - np.concatenate([[0.0], np.cumsum(found.h * powers)])
    return np.abs(total - total[0]).max()
