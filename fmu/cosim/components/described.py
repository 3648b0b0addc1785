"""What a component of a coupled system is before it runs: its variables, what depends on what, and how to start it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, SolverError
from kingpost.base.units import Unit, parse_unit
from kingpost.fmu.cosim.components.operations import Parts, Stopped
from kingpost.fmu.cosim.masters.interface import Partner

#: Members of a port and the variables that they stand for.
Port = Mapping[str, str]


@dataclass(frozen=True)
class Signal:
    """A number that a component shows; elements of arrays are signals of their own."""

    name: str
    causality: str
    kind: Literal["real", "integer", "boolean"] = "real"
    unit: str | None = None
    #: Exponents and factor of the unit, as far as they are known.
    dimension: Unit | None = None


def signal_unit(name: str | None) -> Unit | None:
    """Return what a unit means, or None if it is not said or not known."""
    unit = parse_unit(name) if name else None
    return unit if unit is not None and unit.known else None


@dataclass(frozen=True, eq=False)
class Places:
    """What a running component is given and where: names of inputs, connected outputs and further recorded variables.

    The arrays are contiguous and stay where they are; the component reads ``u``, and writes ``y`` and ``r``.
    """

    inputs: Sequence[str]
    u: FloatArray
    outputs: Sequence[str]
    y: FloatArray
    recorded: Sequence[str]
    r: FloatArray
    #: Whether the master will go back to earlier states.
    going_back: bool = False
    #: Whether its inputs may change during a step.
    moving: bool = False
    #: The longest time of one call in s, and when the whole run must be over (of time.monotonic).
    call_limit: float = math.inf
    deadline: float = math.inf
    #: What somebody may change while it runs: inputs that nobody feeds, and tunable parameters.
    changeable: Sequence[str] = ()


class PartnerError(KingpostError):
    """A component could not do what was asked of it; ``partner`` is its name."""

    exit_code = SolverError.exit_code

    def __init__(self, partner: str, message: str) -> None:
        super().__init__(message)
        self.partner = partner


class PartnerEnded(PartnerError):  # noqa: N818  # not an error: it asked for the end
    """A component asked to end the simulation."""


class Running(Partner):
    """A component at work; what it cannot do it says by a :class:`PartnerError`."""

    #: Why its steps are made in Python.
    by_hand: str = "its steps are made in Python"

    @abstractmethod
    def begin(self) -> None:
        """Leave initialisation; steps can follow."""

    @abstractmethod
    def record(self) -> None:
        """Read the further recorded variables."""

    @abstractmethod
    def change(self, values: Mapping[str, float]) -> None:
        """Change inputs that nobody feeds, and tunable parameters, between two steps."""

    def in_machine_code(self, t: float, h: float) -> Parts | str:
        """Return what steps by ``h`` without slopes consist of, the next of them from ``t``, or why nobody can know."""
        return self.by_hand

    def resume(self, t: float, h: float, stopped: Stopped) -> None:
        """Go on with a step that was stopped in machine code as :meth:`send` would, or raise what it would."""
        raise NotImplementedError

    def arrived(self, t: float) -> None:
        """Hear of steps that were taken in machine code, up to ``t``."""

    @abstractmethod
    def close(self) -> str:
        """End, free what is held, and return what was said against that."""


def held(values: FloatArray, slopes: FloatArray, a: float, b: float) -> FloatArray:
    """Return the mean, from ``a`` to ``b`` s after a time, of inputs with these values and first and second derivatives there.

    An input that holds at its mean moves a state by as much, up to the third power of the step, as one that changes.
    """
    result: FloatArray = values + slopes[0] * ((a + b) / 2) + slopes[1] * ((a * a + a * b + b * b) / 6)
    return result


@dataclass(frozen=True, eq=False)
class Described(ABC):
    """A component that was read and checked, of which no code was run."""

    name: str
    signals: Mapping[str, Signal]
    #: Arrays and the signals that are their elements.
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ports: Mapping[str, Port] = field(default_factory=dict)
    #: Inputs that the component itself carries on between communication points, so that nobody else should.
    continuing: frozenset[str] = frozenset()
    can_go_back: bool = True
    varies_steps: bool = True
    #: Facts for the record of a run.
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: Start values that were set.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Geometry and loads of the machine inside, as in the record of a run, as far as it says.
    machine: Mapping[str, Any] = field(default_factory=dict)
    #: Signals that have frames.
    channels: Mapping[str, Channel] = field(default_factory=dict)

    @abstractmethod
    def feedthrough(self, output: str) -> tuple[str, ...] | None:
        """Return the inputs that an output depends on at once; None if that is not said."""

    @abstractmethod
    def start(self, places: Places, t_start: float, t_end: float) -> Running:
        """Return an instance in initialisation, its start values set; ``places.u`` is filled with those of the inputs."""

    def outputs(self) -> list[str]:
        """Return the names of its outputs."""
        return [name for name, signal in self.signals.items() if signal.causality == "output"]
