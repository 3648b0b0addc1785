"""Feedback plugins: controllers that keep a machine on the path of a servo task, as blocks."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np

from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, listed
from kingpost.control.blocks.description import Block, DiscreteBlock, Measured
from kingpost.control.blocks.sampling import sampled
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import Demands, refuse_if_impossible
from kingpost.control.servo.index.report import IndexReport
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.start import ServoStart, consistent_start
from kingpost.control.servo.system import Realisation
from kingpost.mechanism.elements import Input, Parameter
from kingpost.registry.plugin import Plugin


@dataclass(frozen=True)
class FeedbackOptions:
    """What all controllers can be told.

    ``sample_time``: time between two samples in s, of controllers that work at sample times and of all exported ones.
    ``path``: ``inside`` the controller, or as ``inputs`` from somebody else, with as many derivatives as it needs.
    """

    sample_time: float = 0.01
    path: Literal["inside", "inputs"] = "inside"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sample_time) and self.sample_time > 0):
            raise MechanismError(f"sample_time = {self.sample_time:g} s: it must be positive and finite", path=("sample_time",))


class ServoLoop:
    """A servo problem as controllers see it: what they measure, where the path is, what they drive.

    Inputs of a controller are called like the channels of the machine, outputs like the machine's inputs, and the machine's
    parameters are its own, so that both are wired by name and tuned alike. Inputs of the machine that nobody looks for are
    inputs here, too, with the values that they have.
    """

    def __init__(self, problem: ServoProblem, path: Literal["inside", "inputs"] = "inside") -> None:
        if problem.rubbing:
            raise MechanismError(
                f"controllers take no forces that depend on joint loads, and '{problem.equations.mechanism.name}' has "
                f"{listed(problem.rubbing)}; give friction a load of its own ('joint-friction') in the machine that the "
                "controller is made for"
            )
        self.problem, self.path_from = problem, path
        e = problem.equations
        self.quantities = (*e.position_quantities, *e.speed_quantities, *e.states.quantities)
        #: Where the parts of the measured state are among the inputs.
        ends = np.cumsum([0, e.nq, e.nv, e.nz, len(problem.given_inputs)])
        self._ends = [int(end) for end in ends]

    @cached_property
    def report(self) -> IndexReport:
        """What kind of problem it is."""
        return analyse(self.problem)

    @cached_property
    def start(self) -> ServoStart:
        """Where the path begins, as a series."""
        index = self.report.index
        return consistent_start(self.problem, None if index is None else index - 1)

    @property
    def states(self) -> int:
        """The number of states of the machine that constraints leave free."""
        e = self.problem.equations
        held = e.constraints
        return 2 * e.nv - held.count - held.holonomic + e.nz

    def inputs(self, order: int) -> tuple[Input, ...]:
        """Return what the controller takes; of a path that comes from outside, derivatives up to ``order``."""
        problem = self.problem
        start = self.start.point
        values = np.concatenate([start.q, start.v, start.z])
        measured = (
            Measured(item.name, item.unit, float(value), "measured")
            for item, value in zip(self.quantities, values, strict=True)
        )
        signals = problem.equations.mechanism.inputs
        given = (
            Measured(signals[row].name, signals[row].unit, float(problem.posed.u0[row]), "as the machine gets it")
            for row in problem.given_inputs
        )
        return (*measured, *given, *(self._path_inputs(order) if self.path_from == "inputs" else ()))

    def _path_inputs(self, order: int) -> list[Input]:
        """Return the inputs of the path: all measures, then all their rates, and so on."""
        units = self.measure_units
        begin = self.problem.signals([self.problem.task.t_start], order)[0]
        return [
            Measured(
                path_name(name, k), derivative_unit(units[name], k), float(begin[k, j]),
                f"derivative {k} of the path" if k else "path",
            )
            for k in range(order + 1)
            for j, name in enumerate(self.problem.task.measures)
        ]  # fmt: skip

    @cached_property
    def measure_units(self) -> dict[str, str]:
        """The units of the measures."""
        e = self.problem.equations
        named: list[Any] = [*e.position_quantities, *e.mechanism.coordinates, *e.output_channels]
        units = {item.name: item.unit for item in named}
        return {name: units[name] for name in self.problem.task.measures}

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """What the controller gives: the inputs of the machine."""
        units = {signal.name: signal.unit for signal in self.problem.equations.mechanism.inputs}
        return tuple(Channel(name, units[name]) for name in self.problem.input_names)

    def parameters(self, *own: Parameter) -> tuple[Parameter, ...]:
        """Return the parameters of the machine, with the values that they have here, and those of the controller."""
        mechanism, values = self.problem.equations.mechanism, self.problem.posed.values.parameters
        machine = tuple(
            Parameter(entry.name, float(values[entry.name]), entry.unit, entry.description, entry.minimum, entry.maximum)
            for entry in mechanism.parameters
        )
        taken = {entry.name for entry in machine} & {entry.name for entry in own}
        if taken:
            raise MechanismError(
                f"'{mechanism.name}' has a parameter '{min(taken)}', and so has the controller; call the machine's otherwise"
            )
        return (*machine, *own)

    def parts(self, inputs: Any) -> tuple[Any, Any, Any, Any]:
        """Return q, v, z and the given inputs among the inputs of the controller."""
        return tuple(inputs[a:b, :] for a, b in zip(self._ends, self._ends[1:], strict=False))

    def path(self, t: ca.MX, inputs: ca.MX, p: ca.MX, order: int) -> list[ca.MX]:
        """Return the path and its derivatives up to ``order``, one column for each."""
        count = self.problem.outputs
        if self.path_from == "inputs":
            first = self._ends[-1]
            return [inputs[first + k * count : first + (k + 1) * count, :] for k in range(order + 1)]
        return list(self.path_function(order).call([t, p]))

    def path_function(self, order: int) -> ca.Function:
        """The function (t, p) -> path, its rates, and so on up to ``order``."""
        task = self.problem.task
        t, p = ca.MX.sym("t"), ca.MX.sym("p", self.problem.equations.np)
        names = [entry.name for entry in self.problem.equations.mechanism.parameters]
        scope = {**self.problem.posed.values.inputs, **{name: p[i] for i, name in enumerate(names)}}
        rows = [[ca.MX(trajectory.value(t, scope, k)) for trajectory in task.path.values()] for k in range(order + 1)]
        return ca.Function("kp_path", [t, p], [ca.densify(ca.vertcat(*row)) for row in rows])

    def held(self) -> tuple[float, ...]:
        """Return what the outputs are before there was a good sample: the inputs at the start of the path."""
        return tuple(float(value) for value in self.start.point.u)


def path_name(measure: str, order: int) -> str:
    """Return what the input for a derivative of the path is called."""
    return f"desired.{measure}" + (f".d{order}" if order else "")


def derivative_unit(unit: str, order: int) -> str:
    """Return the unit of a derivative with respect to time."""
    seconds = "s" if order == 1 else f"s{order}"
    return unit if order == 0 else f"1/{seconds}" if unit == "1" else f"{unit}/{seconds}"


class Feedback(Plugin):
    """Base of feedback plugins: a servo problem becomes a controller.

    Check yours with :func:`kingpost.testing.check_feedback`.
    """

    kind = "feedback"
    Options = FeedbackOptions
    #: The realisations of servo-constraints that it can do, of "orthogonal", "mixed", "tangential".
    realisations: ClassVar[tuple[Realisation, ...]] = ("orthogonal", "mixed", "tangential")
    #: Whether it takes problems with internal states, and lets unstable ones run away.
    internal_states: ClassVar[bool] = True
    causal: ClassVar[bool] = True
    #: Whether on the path its outputs are the inputs that inverse dynamics finds, up to rounding and what its tables leave.
    exact: ClassVar[bool] = True

    def controller(self, loop: ServoLoop) -> Block | DiscreteBlock:
        """Check a problem, and return the controller for it."""
        demands = Demands(self.name, self.realisations, self.causal, self.internal_states)
        refuse_if_impossible(loop.report, demands)
        return self.block(loop)

    def sampled(self, loop: ServoLoop) -> DiscreteBlock:
        """Return the controller as one that works at sample times: what leaves Kingpost."""
        block = self.controller(loop)
        return block if isinstance(block, DiscreteBlock) else sampled(block, self.options.sample_time, loop.held())

    @abstractmethod
    def block(self, loop: ServoLoop) -> Block | DiscreteBlock:
        """Return the controller; ``loop`` says what it measures, where the path is, and what it drives."""
