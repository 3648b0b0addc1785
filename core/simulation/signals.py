"""What an input of a run may be, and what it is over time: a value at every output time, polynomials, or a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.formulas import Expression
from kingpost.base.sample_files import column_names
from kingpost.base.units import parse_unit
from kingpost.mechanism.elements import TIME, Input
from kingpost.mechanism.mechanism import Mechanism, expressions_in
from kingpost.mechanism.piecewise import Polynomials, through
from kingpost.mechanism.trajectories import Constant, Sampled, Trajectory, read_trajectory
from kingpost.mechanism.values import Values
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.results.read_write import read_history
from kingpost.simulation.grid import Grid

Between: TypeAlias = Literal["hold", "linear", "cubic"]
#: What is between samples of results, which are smooth as a rule, and of somebody's table, which need not be.
BETWEEN_RESULTS: Between = "cubic"
BETWEEN_ROWS: Between = "linear"


@dataclass(frozen=True, eq=False)
class Moving:
    """An input that moves through samples instead of being held at them.

    Parameters
    ----------
    source
        A history, a file or folder with one, a CSV table, or a function of time or an array, whose values at the output times
        of the run are the samples.
    interpolation
        What is between samples: ``"linear"`` for straight lines, ``"cubic"`` for a spline, ``"hold"`` for stairs. By default
        ``"cubic"`` for results of runs and what is sampled here, ``"hold"`` for inputs that optimal control found, ``"linear"``
        for a CSV table.
    column
        The channel or column to take, by default the one that is called like the input.

    """

    source: Any
    interpolation: Between | None = None
    column: str | None = None
    #: The file that a history was read from.
    file: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.interpolation not in (None, "hold", "linear", "cubic"):
            raise MechanismError(
                f"interpolation {self.interpolation!r} is not one of hold, linear, cubic", path=("interpolation",)
            )


#: A number; a function of time or an array, held from one output time to the next; or what moves in between: a trajectory, a
#: history, a file, a table with the words of one of these, or :class:`Moving` with any of them.
Signal: TypeAlias = (
    float | Callable[[float], float] | FloatArray | Trajectory | History | Moving | str | Path | Mapping[str, Any]
)
#: Signals by name, or a history or file whose channels are called like inputs.
Signals: TypeAlias = Mapping[str, Signal] | History | Moving | str | Path


@dataclass(frozen=True, eq=False)
class Course:
    """What an input is over a run."""

    #: A value at every output time, held to the next; or polynomials; or a formula of the time.
    held: FloatArray | None = None
    polynomials: Polynomials | None = None
    formula: Trajectory | None = None
    #: Where it comes from, for the record of a run.
    source: Mapping[str, Any] = field(default_factory=dict)
    #: First and last time of samples, if it consists of some.
    span: tuple[float, float] | None = None
    #: The same as a function of time that equations can hold; None if it is held at values for output times.
    path: Callable[[], Trajectory] | None = None


def signals_by_name(mechanism: Mechanism, inputs: Signals | None, plugins: PluginSet) -> Mapping[str, Signal]:
    """Return the signals for the inputs of a mechanism; refuse what has no input to go to."""
    names = [signal.name for signal in mechanism.inputs]
    if inputs is None:
        return {}
    if isinstance(inputs, Mapping):
        for name in inputs:
            if name not in names:
                raise MechanismError(f"'{mechanism.name}' has no input '{name}'{closest(name, names)} Inputs: {listed(names)}.")
        return inputs
    whole = inputs if isinstance(inputs, Moving) else Moving(inputs)
    if whole.column is not None:
        raise MechanismError(f"column '{whole.column}' is for one input; say which: inputs = {{NAME: Moving(...)}}")
    if isinstance(whole.source, str | Path):
        path = Path(whole.source)
        if _is_table(path):
            found = [name for name in names if name in column_names(path)]
            return _found({name: Moving(path, whole.interpolation, name) for name in found}, mechanism, f"file '{path}'")
        whole = Moving(read_history(path, plugins), whole.interpolation, file=str(path))
    if not isinstance(whole.source, History):
        raise MechanismError(
            f"inputs are a table of signals by name, a history or a file with one; got {type(inputs).__name__}"
        )
    shared = [name for name in names if name in whole.source]
    taken = {name: Moving(whole.source, whole.interpolation, name, file=whole.file) for name in shared}
    return _found(taken, mechanism, f"file '{whole.file}'" if whole.file else "the history")


def _found(signals: Mapping[str, Signal], mechanism: Mechanism, where: str) -> Mapping[str, Signal]:
    names = [signal.name for signal in mechanism.inputs]
    if not signals:
        raise MechanismError(f"{where} has no channel that is called like an input of '{mechanism.name}': {listed(names)}")
    return signals


def course_of(target: Input | Quantity, signal: Signal, values: Values, grid: Grid, plugins: PluginSet) -> Course:
    """Return what an input is over a run."""
    if not isinstance(signal, Mapping | str | Path | History | Trajectory | Moving):
        return Course(held=_samples(signal, grid, f"input '{target.name}'"))
    try:
        return _course(target, signal, values, grid, plugins)
    except MechanismError as error:
        raise MechanismError(f"input '{target.name}': {error}", path=error.path) from None


def _course(target: Input | Quantity, signal: Signal, values: Values, grid: Grid, plugins: PluginSet) -> Course:
    if isinstance(signal, Mapping):
        signal = read_signal(signal)
    if isinstance(signal, str | Path | History):
        signal = Moving(signal)
    if isinstance(signal, Trajectory):
        return _followed(signal, values)
    if not isinstance(signal, Moving):
        return Course(held=_samples(signal, grid, "it"))
    source, between, column = signal.source, signal.interpolation, signal.column or target.name
    if isinstance(source, str | Path):
        path = Path(source)
        if _is_table(path):
            chosen = signal.column or (target.name if target.name in column_names(path) else None)
            table = Sampled.from_csv(path, chosen, between or BETWEEN_ROWS)
            said = {"file": str(path), "column": chosen} if chosen else {"file": str(path)}
            return _between(np.array(table.times), np.array(table.values), between or BETWEEN_ROWS, said)
        history = read_history(path, plugins)
        return _channel(target, history, column, between, {"file": str(path)})
    if isinstance(source, History):
        said = {"file": signal.file} if signal.file else {"history": source.run_id or ""}
        return _channel(target, source, column, between, said)
    if isinstance(source, Trajectory):
        return _followed(source, values)
    return _between(grid.times, _samples(source, grid, "it"), between or BETWEEN_RESULTS, {"sampled_at": "output times"})


def read_signal(data: Any, base: Path = Path()) -> Signal:
    """Return the signal that plain data describe, as in a TOML file; files in it are relative to ``base``.

    A number, a table with ``kind`` and the fields of that trajectory, or one with the ``file`` of a history, a run folder or a
    CSV table, and if it must be said the ``column`` in it and the ``interpolation`` between samples.
    """
    if not isinstance(data, Mapping):
        return read_trajectory(data, base) if isinstance(data, str) else data
    if "kind" in data or "file" not in data:
        return read_trajectory(data, base)
    source = fill(_SignalFile, data, "a signal from a file")
    return Moving(base / source.file, source.interpolation, source.column)


@dataclass(frozen=True)
class _SignalFile:
    """What a table may say about a signal in a file."""

    file: str
    column: str | None = None
    interpolation: Between | None = None


def _is_table(path: Path) -> bool:
    """Say whether a file is a CSV table that is no result of ours: those begin with a line of their units."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open("rb") as file:
        return not file.read(4).lstrip(b"\xef\xbb\xbf").startswith(b"#")


def _samples(signal: Any, grid: Grid, what: str) -> FloatArray:
    column = np.array([signal(t) for t in grid.times]) if callable(signal) else np.asarray(signal, dtype=float)
    if column.shape not in ((), (grid.samples + 1,)):
        raise MechanismError(f"{what} has {column.size} values, but the run has {grid.samples + 1} output times")
    column = np.broadcast_to(column, (grid.samples + 1,)).astype(float)
    if not np.isfinite(column).all():
        first = int(np.argmin(np.isfinite(column)))
        raise MechanismError(f"{what} is {column[first]} at t = {grid.times[first]:g} s; it must be finite")
    return column


def _recorded(history: History, column: str) -> Between | None:
    """Return what the record of a history says of a channel between its samples, if it does."""
    told = history.provenance.get("between")
    word = told.get(column) if isinstance(told, Mapping) else None
    return next((kind for kind in get_args(Between) if kind == word), None)


def _channel(
    target: Input | Quantity, history: History, column: str, between: Between | None, said: Mapping[str, Any]
) -> Course:
    """Return a channel of a history in the unit of the input; between samples it is what its record says, or what is said."""
    between = between or _recorded(history, column) or BETWEEN_RESULTS
    values = history[column]
    unit, wanted = parse_unit(history.unit(column)), parse_unit(target.unit)
    # A table without units gives all of them as 1, and so does an FMU.
    plain = "1" in (history.unit(column), target.unit)
    change = (1.0, 0.0) if plain else unit.to(wanted)
    if change is None:
        raise MechanismError(f"channel '{column}' is in {unit.name}, which cannot become {wanted.name}")
    if change != (1.0, 0.0):
        values = values * change[0] + change[1]
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        raise MechanismError(f"channel '{column}' is {values[first]} at t = {history.time[first]:g} s; it must be finite")
    corners = tuple(dict(history.provenance.get("inverse") or {}).get("corners") or ())
    return _between(history.time, values, between, {**said, "column": column}, corners)


def _between(
    times: FloatArray, values: FloatArray, between: Between, said: Mapping[str, Any], corners: tuple[float, ...] = ()
) -> Course:
    if len(times) < 2:
        raise MechanismError(f"{len(times)} sample(s) are given; at least 2 are needed")
    if not (np.diff(times) > 0).all():
        first = int(np.argmin(np.diff(times) > 0))
        raise MechanismError(f"times must rise: after {times[first]:g} s comes {times[first + 1]:g} s")
    source = {**said, "interpolation": between, "samples": len(times)}
    return Course(
        polynomials=through(times, values, between, corners),
        source=source,
        span=(float(times[0]), float(times[-1])),
        path=lambda: Sampled(tuple(times.tolist()), tuple(values.tolist()), between),
    )


def _followed(trajectory: Trajectory, values: Values) -> Course:
    """Return the course of a trajectory: polynomials with the values of parameters, or a formula where it uses the time."""
    names = {name for formula in expressions_in(trajectory) for name in formula.names}
    unknown = sorted(names - {TIME} - values.parameters.keys())
    if unknown:
        raise MechanismError(
            f"its {trajectory.kind} trajectory uses '{unknown[0]}', which is no parameter"
            f"{closest(unknown[0], values.parameters)} Formulas of inputs may use parameters and the time {TIME}."
        )
    source: dict[str, Any] = {"trajectory": trajectory.kind}
    if TIME in names:
        return Course(formula=trajectory, source=source, path=lambda: trajectory)
    if isinstance(trajectory, Sampled):
        source |= {"interpolation": trajectory.interpolation, "samples": len(trajectory.times)}
        span = trajectory.times[0], trajectory.times[-1]
        return Course(polynomials=trajectory.polynomials(), source=source, span=span, path=lambda: trajectory)
    if isinstance(trajectory, Constant):
        source |= {"level": float(trajectory.value(0.0, values.parameters))}
    return Course(polynomials=trajectory.polynomials(values.parameters), source=source, path=lambda: trajectory)


def driving_paths(
    mechanism: Mechanism, values: Values, signals: Mapping[str, Signal], t: float, plugins: PluginSet
) -> dict[str, Trajectory]:
    """Return the inputs that move as trajectories, for equations that leave; refuse what only a run could follow."""
    found = {}
    for target in mechanism.inputs:
        signal = signals.get(target.name)
        if signal is None or isinstance(signal, int | float):
            continue
        if callable(signal) or isinstance(signal, np.ndarray | list | tuple):
            raise MechanismError(
                f"input '{target.name}' is a Python function or a table for the output times of a run, which equations cannot "
                "hold; give a trajectory, a history or a file"
            )
        course = course_of(target, signal, values, Grid(t, 1.0, 1, 1), plugins)
        if course.path is None:
            raise MechanismError(f"input '{target.name}' is no trajectory, history or file, so equations cannot hold it")
        found[target.name] = course.path()
    return found


def plain_path(trajectory: Trajectory) -> dict[str, Any]:
    """Return a trajectory as plain data that :func:`read_signal` takes back."""
    entries = {entry.name: getattr(trajectory, entry.name) for entry in fields(trajectory)}
    return {"kind": trajectory.kind, **{name: _plain(value) for name, value in entries.items() if value is not None}}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.text if isinstance(value, Expression) else value
