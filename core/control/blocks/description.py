"""Blocks: signals in, signals out, with states that have rates, or with memory that changes at sample times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.base.errors import ExportError, MechanismError
from kingpost.base.units import check_unit
from kingpost.mechanism.elements import Input, Parameter

#: Symbols of a block by name: parameters, inputs, states or memory, and the time ``t``.
Symbols = Mapping[str, Any]
#: What a block with memory counts, and shows beside its own outputs.
REFUSED, FAILED = "refused_samples", "failed_samples"
#: What begins with this is the block's own business.
OWN = "sample."
_NAME = re.compile(r"[A-Za-z]\w*([.-]?\w+)*", re.ASCII)


@dataclass(frozen=True)
class State:
    """A state of a block and its start value; ``shown`` says whether others can see it."""

    name: str
    unit: str
    start: float = 0.0
    shown: bool = True


@dataclass(frozen=True)
class Measured(Input):
    """An input of a block that is called like a channel of a machine, ``slew.angle``: no formula uses it."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise MechanismError(f"input name {self.name!r}: use letters, digits and '_', with dots or hyphens between them")
        check_unit(f"input '{self.name}'", self.unit)
        if not math.isfinite(self.default):
            raise MechanismError(f"input '{self.name}' is {self.default} by default; it must be finite")


@dataclass(frozen=True, eq=False)
class Block:
    """x' = rates(symbols), y = values(symbols), in CasADi operations; each returns one expression for each state or output.

    >>> integrator = Block("integrator", (Input("u", "1"),), (Channel("y", "1"),), (State("x", "1"),),
    ...                    rates=lambda s: [s["u"]], values=lambda s: [s["x"]])

    Instead of both, ``body`` may be the function (t, states, inputs, parameters) -> rates, outputs, of SX or MX, so that it can
    hold Newton solves.
    """

    name: str
    inputs: Sequence[Input]
    outputs: Sequence[Channel]
    states: Sequence[State] = ()
    parameters: Sequence[Parameter] = ()
    rates: Callable[[Symbols], Sequence[Any]] = lambda symbols: []
    values: Callable[[Symbols], Sequence[Any]] = lambda symbols: []
    description: str = ""
    body: ca.Function | None = None

    @property
    def variables(self) -> list[Any]:
        """Everything that has a name."""
        return [*self.parameters, *self.inputs, *self.states, *self.outputs]

    @cached_property
    def function(self) -> ca.Function:
        """The function (t, states, inputs, parameters) -> rates, outputs."""
        sizes = [1, len(self.states), len(self.inputs), len(self.parameters)], [len(self.states), len(self.outputs)]
        if self.body is not None:
            _check_sizes(f"block '{self.name}': its body", self.body, *sizes)
            return self.body
        parts, symbols = _named_symbols(self.states, self.inputs, self.parameters)
        t = ca.SX.sym("t")
        symbols |= {"t": t}
        rates = self._column("rates", self.rates(symbols), len(self.states))
        values = self._column("values", self.values(symbols), len(self.outputs))
        return ca.Function("kp_block", [t, *parts], [rates, values])

    def _column(self, what: str, given: Sequence[Any], size: int) -> ca.SX:
        if len(given) != size:
            raise ExportError(f"block '{self.name}': its {what} are {len(given)} expressions, expected {size}")
        return ca.densify(ca.vertcat(ca.SX(0, 1), *given))


@dataclass(frozen=True, eq=False)
class DiscreteBlock:
    """A block that works at sample times alone: memory and outputs come from ``step``, and hold until the next sample.

    The first sample is where a run begins. A sample with an input that is not finite is refused, and one whose step finds no
    finite result has failed: memory and outputs stay what they were, the sample is counted in the outputs ``refused_samples``
    or ``failed_samples``, and an FMU says so. With a ``fallback``, that is done then instead of nothing.

    Parameters
    ----------
    step
        The function (t, memory, inputs, parameters, h) -> memory after the sample, outputs. It may be made of SX or MX, with
        Newton solves (:class:`kingpost.equations.newton.NewtonLoop`); :func:`step_function` makes one of expressions.
    sample_time
        Time between two samples in s: ``h``.
    held
        What the outputs hold before there was a good sample; zeros if nothing is said.
    fallback
        What is done at a sample that is refused or fails: the function (t, memory, parameters, h) -> memory after the sample,
        outputs. Where it finds no finite result either, memory and outputs stay what they were.

    """

    name: str
    inputs: Sequence[Input]
    outputs: Sequence[Channel]
    step: ca.Function
    sample_time: float
    memory: Sequence[State] = ()
    parameters: Sequence[Parameter] = ()
    held: Sequence[float] = ()
    description: str = ""
    fallback: ca.Function | None = None

    def __post_init__(self) -> None:
        what = f"block '{self.name}'"
        if not (math.isfinite(self.sample_time) and self.sample_time > 0):
            raise ExportError(f"{what}: its sample time is {self.sample_time:g} s; it must be above zero")
        expected = [1, len(self.memory), len(self.inputs), len(self.parameters), 1]
        results = [len(self.memory), len(self.outputs)]
        _check_sizes(f"{what}: its step", self.step, expected, results)
        if self.fallback is not None:
            _check_sizes(f"{what}: its fallback", self.fallback, [*expected[:2], *expected[3:]], results)
        if len(self.held) not in (0, len(self.outputs)):
            raise ExportError(f"{what}: {len(self.held)} values to hold were given for {len(self.outputs)} outputs")

    @property
    def variables(self) -> list[Any]:
        """Everything that has a name."""
        return [*self.parameters, *self.inputs, *self.memory, *self.outputs]


def step_function(
    inputs: Sequence[Input],
    memory: Sequence[State],
    parameters: Sequence[Parameter],
    body: Callable[[Symbols], tuple[Sequence[Any], Sequence[Any]]],
) -> ca.Function:
    """Return the step of a :class:`DiscreteBlock` from expressions.

    ``body`` gets symbols by name, with the time ``t`` and the sample time ``h`` among them, and returns the memory after the
    sample and the outputs.

    >>> count = step_function((), (State("n", "1"),), (), lambda s: ([s["n"] + 1], [s["n"]]))
    """
    t, h = ca.SX.sym("t"), ca.SX.sym("h")
    parts, symbols = _named_symbols(memory, inputs, parameters)
    results = [ca.densify(ca.vertcat(ca.SX(0, 1), *rows)) for rows in body(symbols | {"t": t, "h": h})]
    return ca.Function("kp_block_step", [t, *parts, h], results)


def _named_symbols(*groups: Sequence[Any]) -> tuple[list[ca.SX], dict[str, Any]]:
    """Return a column of symbols for each group of variables, and all of them by name."""
    columns = [[ca.SX.sym(entry.name) for entry in entries] for entries in groups]
    pairs = zip(groups, columns, strict=True)
    named = {entry.name: symbol for entries, own in pairs for entry, symbol in zip(entries, own, strict=True)}
    return [ca.vertcat(ca.SX(0, 1), *own) for own in columns], named


def _check_sizes(what: str, function: ca.Function, arguments: list[int], results: list[int]) -> None:
    found = [function.numel_in(k) for k in range(function.n_in())]
    given = [function.numel_out(k) for k in range(function.n_out())]
    if found != arguments or given != results:
        raise ExportError(f"{what} takes {found} numbers and returns {given}; expected is {arguments} and {results}")


def check_block(block: Block | DiscreteBlock) -> None:
    """Refuse names that occur twice or are taken, and units that make no sense."""
    what = f"block '{block.name}'"
    names = [entry.name for entry in block.variables]
    if len(set(names)) < len(names):
        raise ExportError(f"{what}: two of its variables have the same name: {', '.join(sorted(names))}")
    if isinstance(block, DiscreteBlock):
        taken = [name for name in names if name in (REFUSED, FAILED) or name.startswith(OWN)]
        if taken:
            raise ExportError(f"{what}: '{taken[0]}' is a name of its own; call the variable otherwise")
    for variable in block.variables:
        check_unit(f"{what}: '{variable.name}'", variable.unit)
