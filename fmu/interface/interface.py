"""What an exported model shows to the world, whatever it is made of: variables, dependencies, units, states.

Built from symbols, so that it needs no knowledge of FMI from whoever wrote the model. A value reference is the place of a
variable in one row: time, parameters, inputs, states, their derivatives, outputs; both kinds of FMU use it (c/core.h).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.channels import Channel
from kingpost.base.errors import ExportError, closest, listed
from kingpost.base.formulas import Expression, evaluate
from kingpost.base.open_loads import open_joints
from kingpost.base.units import Unit, parse_unit
from kingpost.equations.equations import Equations
from kingpost.kernel.kernel import Evaluator
from kingpost.mechanism.free_motion import free_motion_words
from kingpost.multibody.input_layout import InputLayout
from kingpost.simulation.export_model import ExportModel
from kingpost.simulation.exporter import ExportSelection
from kingpost.simulation.stepper import Stepper
from kingpost.symbols.straightline import shorter

#: Relative tolerance that model exchange suggests, and counts on where an importer does not tell its own.
SOLVER_TOLERANCE = 1e-8
#: The highest derivative of an input that native FMUs take, which is that of paths.
INPUT_ORDER = 8
Causality = Literal["independent", "parameter", "input", "output", "local"]


@dataclass(frozen=True)
class Variable:
    """A real variable of an exported model; an array has a shape, and the references of the components that it is made of."""

    name: str
    reference: int
    causality: Causality
    variability: Literal["continuous", "discrete", "tunable"]
    initial: Literal["exact", "calculated"] | None
    #: None for an array whose elements have different ones.
    unit: str | None
    description: str
    start: float | tuple[float, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    #: Reference of the state that this is the derivative of.
    derivative_of: int | None = None
    shape: tuple[int, ...] = ()
    elements: tuple[int, ...] = ()

    @property
    def components(self) -> tuple[int, ...]:
        """The references of the model's own variables that this one shows, in the order of its elements."""
        return self.elements or (self.reference,)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each element, counted from 1."""
        places = itertools.product(*(range(1, size + 1) for size in self.shape))
        return tuple(f"{self.name}[{','.join(map(str, place))}]" for place in places) if self.shape else (self.name,)


@dataclass(frozen=True, eq=False)
class Interface:
    """The variables of an exported model and what depends on what."""

    model: ExportModel
    variables: tuple[Variable, ...]
    #: Channels computed by the outputs function, in the order of their references.
    channels: tuple[Channel, ...]
    #: The function (t, x, u, p) -> values of ``channels``.
    outputs_function: ca.Function
    #: For each reference of a derivative or output: references of time, parameters, inputs and states that it depends on.
    dependencies: dict[int, tuple[int, ...]]
    #: For each state whose start value is a formula: references of the parameters in it.
    start_dependencies: dict[int, tuple[int, ...]]
    #: Co-simulation, or model exchange.
    kind: Literal["cs", "me"] = "cs"
    naming: Literal["flat", "structured"] = "flat"

    @cached_property
    def ramps(self) -> tuple[InputLayout, Stepper] | None:
        """Steps with inputs that change during them, and what they take for the inputs; None where there are none."""
        return self.model.problem.with_ramps(INPUT_ORDER) if self.kind == "cs" else None

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of parameters, inputs, states and outputs."""
        equations = self.model.equations
        return {"p": equations.np, "u": equations.nu, "x": len(self.model.x0), "y": len(self.channels)}

    @property
    def first(self) -> dict[str, int]:
        """First reference of each group."""
        return first_references(self.counts)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units in use, in alphabetical order."""
        return tuple(parse_unit(name) for name in sorted({v.unit for v in self.variables if v.unit is not None}))

    @property
    def projection(self) -> ca.Function | None:
        """The function (t, x, u, p) -> x a step event of model exchange needs, without what an importer's solver drifts."""
        return self.model.problem.stepper.mended if self.kind == "me" else None

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The variables with causality output."""
        return tuple(variable for variable in self.variables if variable.causality == "output")

    @property
    def derivatives(self) -> tuple[Variable, ...]:
        """The derivatives of the states."""
        return tuple(variable for variable in self.variables if variable.derivative_of is not None)

    @property
    def initial_unknowns(self) -> tuple[Variable, ...]:
        """Outputs, states and derivatives that the model computes when it is initialised."""
        states = {variable.derivative_of for variable in self.derivatives}
        return tuple(
            variable
            for variable in self.variables
            if variable.initial == "calculated"
            and (variable.causality == "output" or variable.derivative_of is not None or variable.reference in states)
        )

    @property
    def arrays(self) -> tuple[Variable, ...]:
        """The variables that are arrays."""
        return tuple(variable for variable in self.variables if variable.shape)

    @cached_property
    def shown_names(self) -> dict[str, str]:
        """What variables of the model are called in the exported one, where that is something else."""
        shown: dict[str, str] = {}
        for variable in self.variables:
            for reference, label in zip(variable.components, variable.labels, strict=True):
                shown.setdefault(self.names[reference], label)
        return {name: label for name, label in shown.items() if name != label}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of every reference in the model, those that are not shown included."""
        equations = self.model.equations
        states = [channel.name for channel in equations.channels[: len(self.model.x0)]]
        return (
            "time",
            *(parameter.name for parameter in self.model.mechanism.parameters),
            *(signal.name for signal in self.model.mechanism.inputs),
            *states,
            *(f"der({name})" for name in states),
            *(channel.name for channel in self.channels),
        )


def first_references(counts: dict[str, int]) -> dict[str, int]:
    """Return the first reference of parameters p, inputs u, states x, derivatives dx and outputs y."""
    first, reference = {}, 1
    for group, size in (("p", "p"), ("u", "u"), ("x", "x"), ("dx", "x"), ("y", "y")):
        first[group] = reference
        reference += counts[size]
    return first


def build_interface(model: ExportModel, selection: ExportSelection, kind: Literal["cs", "me"] = "cs") -> Interface:
    """Return the interface of a model with the variables that are selected."""
    equations, mechanism = model.equations, model.mechanism
    nx = len(model.x0)
    states, others = equations.channels[:nx], equations.channels[nx:]
    hidden = frozenset() if model.samples is None else model.samples.hidden
    seen = [channel for channel in equations.channels if channel.name not in hidden]
    wanted = _chosen("outputs", selection.outputs, [channel.name for channel in seen], _usual(seen))
    channels = tuple(channel for channel in others if channel.name in wanted)
    outputs = _outputs_function(model, [nx + others.index(channel) for channel in channels])
    counts = {"p": equations.np, "u": equations.nu, "x": nx, "y": len(channels)}
    first = first_references(counts)
    parameters = _chosen("parameters", selection.parameters, [parameter.name for parameter in mechanism.shown_parameters])
    free = [signal.name for signal in mechanism.inputs if signal.name not in model.driven]
    inputs = _chosen("inputs", selection.inputs, free)
    measures = {measure.name: measure.words for measure in mechanism.measures} | free_motion_words(mechanism)
    undecided = open_joints(loads_record(model))
    at_start = Evaluator(outputs)(0.0, model.x0, model.u0, model.p0) if channels else np.zeros(0)
    fitted = model.fitted_to
    variables: list[Variable] = [
        Variable("time", 0, "independent", "continuous", None, "s", "time"),
        *(
            Variable(
                parameter.name, first["p"] + i, "parameter", "tunable", "exact", parameter.unit,
                _with_fit(parameter.description, fitted.get(parameter.name)),
                start=float(model.p0[i]), minimum=parameter.minimum, maximum=parameter.maximum,
            )
            for i, parameter in enumerate(mechanism.parameters)
            if parameter.name in parameters
        ),
        *(
            Variable(
                signal.name, first["u"] + i, "input", "continuous", "exact", signal.unit, signal.description,
                start=float(model.u0[i]),
            )
            for i, signal in enumerate(mechanism.inputs)
            if signal.name in inputs
        ),
        *_state_variables(model, states, first, wanted, kind),
        *(
            Variable(
                channel.name, first["y"] + i, "output", _variability(model), "calculated", channel.unit,
                measures.get(channel.name) or describe(channel, undecided), nominal=_nominal(value),
            )
            for i, (channel, value) in enumerate(zip(channels, at_start, strict=True))
        ),
    ]  # fmt: skip
    _check_names(variables)
    dependencies = _dependencies(model, outputs, first)
    return Interface(model, tuple(variables), channels, outputs, dependencies, _start_dependencies(model, first), kind)


def _variability(model: ExportModel) -> Literal["continuous", "discrete"]:
    return "continuous" if model.samples is None else "discrete"


def _state_variables(
    model: ExportModel, states: Sequence[Channel], first: dict[str, int], wanted: set[str], kind: Literal["cs", "me"]
) -> Iterable[Variable]:
    formulas = _formula_starts(model)
    for i, channel in enumerate(states):
        if kind == "me" or channel.name in wanted:
            yield Variable(
                channel.name, first["x"] + i, "output" if channel.name in wanted else "local", _variability(model),
                "calculated" if i in formulas else "exact", channel.unit, describe(channel),
                start=None if i in formulas else float(model.x0[i]), nominal=_nominal(model.x0[i]) or 1.0,
            )  # fmt: skip
    if kind == "me":
        for i, channel in enumerate(states):
            unit = f"{channel.unit}/s" if not channel.unit.endswith("/s") else f"{channel.unit.removesuffix('/s')}/s2"
            yield Variable(
                f"der({channel.name})", first["dx"] + i, "local", "continuous", "calculated", unit,
                f"derivative of {channel.name}", derivative_of=first["x"] + i,
            )  # fmt: skip


def _with_fit(description: str, owner: str | None) -> str:
    """Return the description of a parameter that the start was fitted to, which is so no more where it gets another value."""
    if owner is None:
        return description
    said = f"start values of '{owner}' fit this value and no other (see {owner}.open)"
    return f"{description}; {said}" if description else said


def _formula_starts(model: ExportModel) -> set[int]:
    """Return the rows of states whose start values follow from parameters, unless the user has fixed them."""
    names = [channel.name for channel in model.equations.channels[: len(model.x0)]]
    starts = model.problem.declared_starts
    return {i for i, value in enumerate(starts) if isinstance(value, Expression) and names[i] not in model.settings}


def start_function(model: ExportModel) -> ca.Function:
    """Return the function p -> start state, with the formulas of the mechanism where there are any."""
    formulas = _formula_starts(model)
    p = ca.SX.sym("p", model.equations.np)
    scope = {parameter.name: p[i] for i, parameter in enumerate(model.mechanism.parameters)}
    rows = [
        ca.SX(evaluate(value, scope)) if i in formulas else ca.SX(float(model.x0[i]))
        for i, value in enumerate(model.problem.declared_starts)
    ]
    return ca.Function("kp_start", [p], [ca.densify(ca.vertcat(ca.SX(0, 1), *rows))])


def loads_record(model: ExportModel) -> Mapping[str, Any]:
    """Return the part about loads of the record of a model, under its key."""
    loads = model.equations.observed.loads
    return {} if loads is None else {"loads": loads.record}


def describe(channel: Channel, undecided: Collection[str] = ()) -> str:
    """Return what a channel is, with the frame, side and point of loads, and whether it is ``undecided`` as a joint's load."""
    owner, _, quantity = channel.name.partition(".")
    words = channel.name
    if channel.side:
        part = quantity.rpartition(".")[0] or "total"
        words = f"{part} load of joint {owner} on its {channel.side}, {quantity.rpartition('.')[2]}"
        if any(channel.at):
            words += f", about ({', '.join(f'{x:g}' for x in channel.at)}) m from the joint origin"
        else:
            words += ", about the joint origin"
    elif ".pose." in channel.name:
        words = f"pose of body {owner}, {quantity.rpartition('.')[2]}"
    elif ".motion." in channel.name:
        words = f"motion of body {owner}, {quantity.rpartition('.')[2]}"
    words = f"{words}, in {channel.frame} axes" if channel.frame else words
    open_load = channel.side and owner in undecided and quantity.rpartition(".")[0] in ("", "constraint", "closure")
    return f"{words}; not unique: rigid bodies leave it open" if open_load else words


def _outputs_function(model: ExportModel, rows: Sequence[int]) -> ca.Function:
    """Return the function (t, x, u, p) -> the selected rows of the observed channels."""
    observe = model.equations.observe
    symbols: Any = observe.sx_in() if observe.is_a("SXFunction") else observe.mx_in()
    chosen = _chosen_outputs(model.equations, rows, symbols) if observe.is_a("MXFunction") and rows else None
    if chosen is None:
        values = observe.call(symbols)[0]
        chosen = values[list(rows)] if rows else type(values)(0, 1)
    return ca.Function("kp_outputs", symbols, [ca.densify(chosen)])


def _chosen_outputs(equations: Equations, rows: Sequence[int], symbols: Sequence[ca.MX]) -> ca.MX | None:
    """Return some rows of the observed channels, found without what only the others need; None where that is no less code.

    Accelerations come from the function of which steps are made, so that they are in the code once.
    """
    if equations.all_externals:
        return None
    t, x, u, p = symbols
    arguments = [ca.MX.sym("vdot", equations.nv), ca.MX.sym("lam", equations.constraints.count), *symbols]
    values = equations.observed_with(*arguments)[list(rows)]
    beside = ca.Function("kp_observed", arguments, [ca.densify(values)])
    shared = shorter(beside)
    if shared is beside:
        return None
    unit = equations.normalised(x)
    needed = any(shared.numel_in(k) and shared.jac_sparsity(0, k).nnz() for k in (0, 1))
    reactions = equations.reactions(t, unit, u, p) if needed else equations.no_reactions
    return ca.MX(shared(*reactions, t, unit, u, p))


def _dependencies(model: ExportModel, outputs: ca.Function, first: dict[str, int]) -> dict[int, tuple[int, ...]]:
    """Return, from the sparsity of the symbols, what each derivative and output depends on."""
    found: dict[int, list[int]] = {}
    for function, group in ((model.equations.rhs, "dx"), (outputs, "y")):
        for argument, source in enumerate((0, first["x"], first["u"], first["p"])):
            for row, column in _pattern(function, argument):
                found.setdefault(first[group] + row, []).append(source + column)
    return {reference: tuple(sorted(known)) for reference, known in found.items()}


def _start_dependencies(model: ExportModel, first: dict[str, int]) -> dict[int, tuple[int, ...]]:
    pattern = _pattern(start_function(model), 0)
    return {first["x"] + i: tuple(first["p"] + j for row, j in pattern if row == i) for i in sorted(_formula_starts(model))}


def _pattern(function: ca.Function, argument: int) -> list[tuple[int, int]]:
    """Return the rows of a function's result that depend on an argument, with the rows of the argument."""
    if function.numel_out(0) == 0 or function.numel_in(argument) == 0:
        return []
    rows, columns = function.jac_sparsity(0, argument).get_triplet()
    return list(zip(rows, columns, strict=True))


def _usual(channels: Sequence[Channel]) -> set[str]:
    """Return the channels that are shown unless the user chooses: all but parts of loads, body motions and residuals."""
    hidden = (".constraint.", ".actuator.", ".friction.", ".motion.", "loads.")
    return {channel.name for channel in channels if not any(word in f"{channel.name}." for word in hidden)}


def _chosen(what: str, patterns: Sequence[str] | None, names: Sequence[str], usual: set[str] | None = None) -> set[str]:
    if patterns is None:
        return set(names) if usual is None else usual
    chosen: set[str] = set()
    for pattern in patterns:
        matches = {name for name in names if fnmatchcase(name, pattern)}
        if not matches:
            raise ExportError(
                f"{what} '{pattern}': nothing is called like that{closest(pattern, names)} There are: {listed(names)}."
            )
        chosen |= matches
    return chosen


def _nominal(value: float) -> float | None:
    """Return the power of ten below a large value: what its tolerance should be measured by."""
    return 10.0 ** math.floor(math.log10(abs(value))) if math.isfinite(value) and abs(value) >= 10 else None


def _check_names(variables: Sequence[Variable]) -> None:
    seen: dict[str, Variable] = {}
    for variable in variables:
        if variable.name in seen:
            raise ExportError(
                f"two variables are called '{variable.name}' ({seen[variable.name].causality} and {variable.causality}); an "
                "FMU needs different names: rename the parameter or input"
            )
        seen[variable.name] = variable
