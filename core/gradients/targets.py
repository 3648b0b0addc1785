"""With respect to what a gradient is asked for: parameters, constant inputs and start values, by name or pattern."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.formulas import evaluate
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.mechanism import expressions_in
from kingpost.mechanism.trajectories import Trajectory
from kingpost.results.choosing import MOST_NAMED
from kingpost.simulation.problem import Problem, declared_start
from kingpost.simulation.run import Simulation
from kingpost.simulation.signals import Moving, Signal, read_signal


@dataclass(frozen=True, eq=False)
class Directions:
    """What is varied, one column each: its name and unit, and what of parameters and of a row of inputs moves with it."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    parameters: FloatArray
    inputs: FloatArray

    def __len__(self) -> int:
        return len(self.names)


def moving_inputs(simulation: Simulation, signals: Mapping[str, Signal]) -> list[str]:
    """Return the inputs of a run that are no single number."""
    others = (name for name, signal in signals.items() if not isinstance(signal, int | float))
    return list(dict.fromkeys([*simulation.rows.sources, *others]))


def directions(
    simulation: Simulation, to: Sequence[str], signals: Mapping[str, Signal], courses: Collection[str] = ()
) -> tuple[Directions, tuple[str, ...]]:
    """Return what some names and patterns mean in a run, and which of them are among ``courses`` of many values.

    ``signals`` are those that its inputs follow.
    """
    mechanism = simulation.mechanism
    parameters = [parameter.name for parameter in mechanism.parameters]
    inputs = [signal.name for signal in mechanism.inputs]
    states = list(declared_start(simulation.problem.assembly))
    led = _led(simulation)
    moving = moving_inputs(simulation, signals)
    units = {state.name: state.unit for state in simulation.problem.assembly.states}
    units |= {quantity.name: quantity.unit for quantity in (*mechanism.coordinates, *mechanism.speeds)}
    units |= {parameter.name: parameter.unit for parameter in mechanism.parameters}
    units |= {signal.name: signal.unit for signal in mechanism.inputs}
    chosen = _chosen(to, parameters, inputs, states, {*moving, *led})
    many, names = [name for name in chosen if name in courses], [name for name in chosen if name not in courses]
    for name in names:
        if name in moving:
            raise KingpostError(
                f"input '{name}' moves during the run, so that there is no number to take a gradient with respect to; take one "
                "with respect to parameters in its formula, or let it be held from one time of a step to another"
            )
        if name in led:
            raise KingpostError(
                f"start value '{name}' follows from the others, so that loops can move; given by itself it would contradict "
                "them. Vary those that are given"
            )
        for target, signal in signals.items():
            if name in _numbers_in(signal):
                raise KingpostError(
                    f"input '{target}' follows a trajectory that was made with '{name}' before the run began, so that its "
                    f"gradient would lack a part; write the trajectory as a formula of the time {TIME}, or give the set-point "
                    "to the force that follows it"
                )
    rows = simulation.rows.values.shape[1]
    by_parameters, by_inputs = np.zeros((len(parameters), len(names))), np.zeros((rows, len(names)))
    for k, name in enumerate(names):
        if name in parameters:
            by_parameters[parameters.index(name), k] = 1.0
        elif name in inputs:
            by_inputs[inputs.index(name), k] = 1.0
    return Directions(tuple(names), tuple(units[name] for name in names), by_parameters, by_inputs), tuple(many)


def _chosen(
    to: Sequence[str], parameters: Sequence[str], inputs: Sequence[str], states: Sequence[str], unfit: Collection[str]
) -> list[str]:
    """Return the names that are meant, each once; what cannot be varied belongs to no pattern."""
    known = list(dict.fromkeys([*parameters, *inputs, *states]))
    words = [word.strip() for text in to for word in text.split(",") if word.strip()]
    if not words:
        raise KingpostError(
            "nothing is named to take the gradient with respect to; name parameters, inputs or start values, e.g. m4, or a "
            "pattern such as 'm*'"
        )
    found: dict[str, None] = {}
    for word in words:
        fitting = [name for name in known if fnmatchcase(name, word) and name not in unfit] if "*" in word else []
        if word in known:
            fitting = [word]
        if not fitting:
            raise KingpostError(
                f"there is nothing called '{word}' to take a gradient with respect to{closest(word, known)} Parameters: "
                f"{listed(parameters, most=MOST_NAMED)}. Inputs: {listed(inputs, most=MOST_NAMED)}. Start values: "
                f"{listed(states, most=MOST_NAMED)}."
            )
        found |= dict.fromkeys(fitting)
    return list(found)


def _led(simulation: Simulation) -> set[str]:
    """Return the speeds that were fitted to others because they were zero; as soon as they are not, they count as given."""
    problem = simulation.problem
    speeds = {quantity.name for quantity in problem.mechanism.speeds}
    return {name for name in problem.fitted if name in speeds and value_of(problem, name) == 0.0}


def value_of(problem: Problem, name: str) -> float:
    """Return the value that a parameter, an input or a start value has, before start values are fitted to loops."""
    for table in (problem.values.parameters, problem.values.inputs, problem.values.start):
        if name in table:
            return float(table[name])
    return float(evaluate(declared_start(problem.assembly)[name], problem.values.parameters))


def _numbers_in(signal: Signal) -> set[str]:
    """Return the parameters whose numbers went into a trajectory; a formula of the time keeps its parameters."""
    if isinstance(signal, Mapping):
        signal = read_signal(signal)
    if isinstance(signal, Moving):
        signal = signal.source
    if not isinstance(signal, Trajectory):
        return set()
    names = {name for formula in expressions_in(signal) for name in formula.names}
    return set() if TIME in names else names
