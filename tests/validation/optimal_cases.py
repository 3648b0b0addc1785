"""Optima of document 001 that tests share: a machine is posed once for all numbers of intervals, and a program solved once."""

from dataclasses import replace
from functools import cache

import numpy as np

from kingpost import OptimalTask, RunSettings, prepare_optimisation
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
def solved(model, intervals, how=GC, task="001", transcription="step", near=None):
    """Return an optimum; ``near`` are the arguments of another one that the search begins at."""
    ready = replace(prepared(model, how, task, transcription), grid=Grid(intervals))
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
