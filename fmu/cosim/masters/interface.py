"""Master plugins: how the components of a coupled system are advanced side by side.

A master sees a :class:`Coupling`: partners that can step, their connected inputs and outputs in two vectors, and which output
feeds which input. It decides who steps when and what the inputs are meanwhile; everything else is done around it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.registry.plugin import Plugin

#: Advances all partners from a time by a communication step (s, s), and returns the length of the next one.
Advance: TypeAlias = Callable[[float, float], float]


#: A part of a step: the inputs in this range of all get what the outputs give, then a partner steps while its inputs hold.
Turn: TypeAlias = "tuple[slice, Partner]"


@dataclass(frozen=True)
class Resumable:
    """What advances a system, and can say what it remembers between steps, so that the system can go back (live sessions).

    ``save`` returns that as something that does not change, and ``restore`` takes it back. A master that remembers nothing
    needs neither. ``turns`` are what a step consists of, if that is always the same: then whole runs of steps may be taken in
    machine code, without a call of ``step``; otherwise why not.
    """

    step: Advance
    save: Callable[[], Any] = lambda: None
    restore: Callable[[Any], None] = lambda state: None
    turns: Sequence[Turn] | str = "it makes its steps in Python"

    def __call__(self, t: float, h: float) -> float:
        return self.step(t, h)


class Partner(ABC):
    """One component of a coupled system, as a master sees it.

    ``inputs`` and ``outputs`` are its parts of the coupling's vectors: what it is given, and what it was read last.
    """

    name: str
    inputs: FloatArray
    outputs: FloatArray
    #: Whether it can go back to a state that was saved.
    can_go_back: bool
    #: Whether its communication steps may differ in length.
    varies_steps: bool

    @abstractmethod
    def give(self) -> None:
        """Hand the inputs over."""

    @abstractmethod
    def take(self) -> None:
        """Read the outputs."""

    @abstractmethod
    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        """Begin a step from ``t`` by ``h`` with the present inputs; end it with :meth:`receive`.

        ``slopes`` (2, inputs) are the first and second time derivatives of the inputs at ``t``; without, inputs hold. A partner
        that cannot follow them gets means over its steps, and the values at the end before its outputs are read; these are then
        in ``inputs``.
        """

    @abstractmethod
    def receive(self) -> None:
        """Wait for the end of the step and read the outputs."""

    def step(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        """Take one step and read the outputs."""
        self.send(t, h, slopes)
        self.receive()

    @abstractmethod
    def save(self) -> Any:
        """Return the present state."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state."""

    @abstractmethod
    def forget(self, state: Any) -> None:
        """Say that a state is needed no more."""


@dataclass(frozen=True)
class Bond:
    """Two connections that carry power: partner a gives an effort and takes a flow, partner b the other way round.

    Each member is a place in the coupling's outputs or inputs.
    """

    name: str
    effort_out: int
    effort_in: int
    flow_out: int
    flow_in: int


class Changes(NamedTuple):
    """How inputs differ from outputs: tables, factors and offsets, and then summands ``weights * outputs[columns]``."""

    tables: Sequence[tuple[int, Mapping[float, float]]]
    factors: FloatArray
    offsets: FloatArray
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Coupling:
    """Partners and how they are connected: input i gets ``factors[i] * outputs[sources[i]] + offsets[i]``.

    An input that is a sum has its other summands in ``further``.
    """

    partners: tuple[Partner, ...]
    inputs: FloatArray
    outputs: FloatArray
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    sources: NDArray[np.intp]
    factors: FloatArray
    offsets: FloatArray
    #: The order in which partners step if they take turns: those that feed others first, as far as that can be.
    order: tuple[Partner, ...]
    bonds: tuple[Bond, ...] = ()
    #: Inputs that hold over a step, whatever others do.
    holds: NDArray[np.bool_] | None = None
    #: Summands beyond the first of each input: place of the input, place of the output, factor.
    further: tuple[tuple[int, int, float], ...] = ()
    #: For whole numbers and truth values: what some values of the output stand for, by the place of the input.
    tables: Mapping[int, Mapping[float, float]] = field(default_factory=dict)
    _change: Callable[[FloatArray], None] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_change", self._changing(slice(0, len(self.inputs))))

    def transferred(self, out: FloatArray | None = None) -> FloatArray:
        """Return what all inputs get from the present outputs; the partners' inputs stay as they are."""
        # With the mode that checks, NumPy would fill a copy first.
        result = self.outputs.take(self.sources, out=out, mode="clip")
        if self._change is not None:
            self._change(result)
        return result

    def transfer_to(self, place: slice) -> Callable[[], None]:
        """Return what puts the newest outputs into some of the inputs."""
        sources, own, outputs, change = self.sources[place], self.inputs[place], self.outputs, self._changing(place)

        def transfer() -> None:
            outputs.take(sources, out=own, mode="clip")
            if change is not None:
                change(own)

        return transfer if len(own) else lambda: None

    def _changing(self, place: slice) -> Callable[[FloatArray], None] | None:
        """Return what makes inputs from the outputs at their places, or None if they are the same."""
        changes, outputs = self.changes(place), self.outputs
        if changes is None:
            return None
        tables, factors, offsets, rows, columns, weights = changes

        def change(values: FloatArray) -> None:
            for i, table in tables:
                values[i] = table.get(values[i], values[i])
            values *= factors
            values += offsets
            if len(rows):
                np.add.at(values, rows, weights * outputs[columns])

        return change

    def changes(self, place: slice) -> Changes | None:
        """Return what makes some of the inputs from the outputs at their places, or None if they are the same."""
        factors, offsets = self.factors[place], self.offsets[place]
        there = range(len(self.inputs))[place]
        tables = [(i - there.start, table) for i, table in self.tables.items() if i in there]
        further = [(i - there.start, j, factor) for i, j, factor in self.further if i in there]
        if not tables and not further and (factors == 1).all() and (offsets == 0).all():
            return None
        rows, columns = (np.array([entry[k] for entry in further], dtype=np.intp) for k in (0, 1))
        return Changes(tables, factors, offsets, rows, columns, np.array([entry[2] for entry in further], dtype=float))

    def transfer(self) -> None:
        """Put what the outputs give into the inputs of all partners."""
        self.transferred(self.inputs)

    def powers(self, bond: Bond) -> tuple[float, float]:
        """Return the power through a bond as its two sides see it, both in the units and signs of side a.

        Each side sees its own output and what it was given last; the difference is made or lost between them.
        """
        i, j = bond.effort_in, bond.flow_in
        effort = (self.inputs[i] - self.offsets[i]) / self.factors[i]
        flow = self.factors[j] * self.outputs[bond.flow_out] + self.offsets[j]
        return float(self.outputs[bond.effort_out] * self.inputs[j]), float(effort * flow)


class Master(Plugin):
    """Base of master plugins."""

    kind = "master"
    #: Whether partners must be able to go back to an earlier state.
    goes_back: ClassVar[bool] = False
    #: Whether the communication step changes during a run.
    varies_steps: ClassVar[bool] = False
    #: Rounds in which values are passed on at the start, beyond one for each partner.
    further_rounds: ClassVar[int] = 0

    @property
    def moves_inputs(self) -> bool:
        """Whether inputs may change during a step; FMUs that are asked for them in between are slower, and need not be."""
        return True

    def fault_of(self, coupling: Coupling) -> str:
        """Return why this master cannot advance a system, or an empty text."""
        return ""

    @abstractmethod
    def begin(self, coupling: Coupling) -> Advance:
        """Return what advances the system; whatever it remembers between steps belongs to this run.

        As a :class:`Resumable` it can go back with the system; a plain function is taken to remember what nobody can restore.

        Outputs have been read at the start, and ``coupling.inputs`` hold what they give; the partners were given what they gave
        one round before. Inputs may be given and outputs taken again, for a better start.
        """
