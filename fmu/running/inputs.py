"""Inputs of an FMU over time, from a file, a history or functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import closest, listed
from kingpost.base.units import parse_unit
from kingpost.fmu.file.opened import FmuError
from kingpost.fmu.file.variables import Variable
from kingpost.results.history import History
from kingpost.results.read_write import read_history

#: A file with a column for each input, a history, or functions of time (s) by name.
InputSource: TypeAlias = str | Path | History | Mapping[str, Callable[[float], float]]


@dataclass(frozen=True, eq=False)
class InputTable:
    """Rows of inputs at the communication points; each holds until the next."""

    variables: tuple[Variable, ...]
    values: FloatArray
    notes: tuple[str, ...] = ()


def input_table(
    variables: Mapping[str, Variable], times: FloatArray, source: InputSource | None, settings: Mapping[str, Sequence[object]]
) -> InputTable:
    """Return the inputs at ``times``. Real continuous ones are interpolated between samples, others keep their last value."""
    if source is None:
        return InputTable((), np.zeros((len(times), 0)))
    inputs = {
        label: (variable, i)
        for variable in variables.values()
        if variable.causality == "input" and variable.numeric
        for i, label in enumerate(variable.labels)
    }
    where = "inputs"
    strict = True
    notes: tuple[str, ...] = ()
    if isinstance(source, str | Path):
        where = f"'{source}'"
        source = read_history(source)
        strict = "source" in source.provenance  # a foreign file; a history of Kingpost may hold other things as well
    names = list(source.names if isinstance(source, History) else source)
    chosen = [name for name in names if name in inputs]
    strangers = [name for name in names if name not in inputs]
    if strangers and (strict or not chosen):
        raise FmuError(
            f"{where}: the FMU has no numeric input '{strangers[0]}'{closest(strangers[0], inputs)} Inputs: {listed(inputs)}."
        )
    for name in chosen:
        if inputs[name][0].name in settings:
            raise FmuError(f"input '{name}' is set to a constant and given over time in {where}; do one of the two")
    if isinstance(source, History) and not len(source):
        raise FmuError(f"{where}: there are no samples in it; give at least one")
    columns = {name: _column(source, name, inputs[name][0], times, where) for name in chosen}
    if isinstance(source, History) and len(source) and (source.time[0] > times[0] or source.time[-1] < times[-1]):
        notes = (
            f"the inputs in {where} go from {source.time[0]:g} s to {source.time[-1]:g} s; outside of that their first or "
            "last values are held",
        )
    used = tuple(dict.fromkeys(inputs[name][0] for name in chosen))
    blocks = [np.zeros((len(times), 0))]
    for variable in used:
        start = variable.start() or [0.0] * variable.elements
        block = np.tile(np.array(start, dtype=float), (len(times), 1))
        for i, label in enumerate(variable.labels):
            if label in columns:
                block[:, i] = columns[label]
        blocks.append(block)
    return InputTable(used, np.hstack(blocks), notes)


def _column(
    source: History | Mapping[str, Callable[[float], float]], name: str, variable: Variable, times: FloatArray, where: str
) -> FloatArray:
    smooth = variable.real and variable.variability == "continuous"
    if isinstance(source, History):
        _check_unit(source, name, variable, where)
        known = source[name]
        if smooth:
            column = np.interp(times, source.time, known)
        else:
            column = known[np.clip(np.searchsorted(source.time, times, side="right") - 1, 0, len(known) - 1)]
    else:
        column = np.array([float(source[name](float(t))) for t in times])
    if not np.isfinite(column).all():
        first = int(np.argmin(np.isfinite(column)))
        raise FmuError(f"{where}: input '{name}' is {column[first]} at t = {times[first]:g} s; give finite numbers")
    return column


def _check_unit(source: History, name: str, variable: Variable, where: str) -> None:
    if "source" in source.provenance:
        return  # a foreign file, which knows nothing of units
    unit = source.unit(name)
    if variable.unit and unit != variable.unit and parse_unit(unit).to(parse_unit(variable.unit)) != (1.0, 0.0):
        raise FmuError(f"{where}: '{name}' is in {unit}, but the FMU takes it in {variable.unit}; convert it first")
