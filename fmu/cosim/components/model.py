"""A Kingpost model or signal block as a component, in this process: no FMU, the same compiled steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError
from kingpost.control.blocks import Block, DiscreteBlock, block_model
from kingpost.fmu.cosim.components.changing import changed_values
from kingpost.fmu.cosim.components.described import Described, PartnerError, Places, Running, Signal, signal_unit
from kingpost.fmu.cosim.components.operations import OFF_MULTIPLES, Parts, Stopped, march, move
from kingpost.fmu.cosim.components.sampled import RunningSampled
from kingpost.fmu.cosim.description.system import Component, CosimError
from kingpost.fmu.interface.ports import continuing_inputs, port_members, unfelt_inputs
from kingpost.kernel.kernel import Evaluator, InterpretedLoop, Kernel, Loop, Status
from kingpost.mechanism.mechanism import Mechanism
from kingpost.modelfiles.opened import open_model as open_machine
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.export_model import ExportModel, prepare_export
from kingpost.simulation.provenance import problem_record
from kingpost.simulation.settings import RunSettings
from kingpost.symbols.externals import python_error

#: Times that are whole numbers of internal steps up to this part of one are taken as just that, as in our FMUs.
WHOLE_STEPS = 1e-6
#: Internal steps whose lengths differ by less than this part are the same to an integrator that remembers.
SAME_STEP = 1e-6
#: What the endings of a march mean.
FAULTS = {
    Status.NOT_FINITE: "its state is not finite any more",
    Status.OUTPUT_NOT_FINITE: "an output is not finite",
    Status.SINGULAR: "a joint is about to lock: its coordinates become singular",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelComponent(Described):
    """A model that is derived and checked."""

    model: ExportModel
    #: For each channel, the inputs that it depends on at once.
    dependencies: tuple[tuple[str, ...], ...]

    def feedthrough(self, output: str) -> tuple[str, ...] | None:
        names = [channel.name for channel in self.model.equations.channels]
        return self.dependencies[names.index(output)]

    def start(self, places: Places, t_start: float, t_end: float) -> Running:
        return RunningModel(self, places, t_start) if self.model.samples is None else RunningSampled(self, places, t_start)


def open_model(component: Component, plugins: PluginSet) -> ModelComponent:
    """Derive the equations of a component's model and check its settings."""
    try:
        model = _export_model(component, plugins)
    except KingpostError as error:
        raise CosimError(f"component '{component.name}': {error}") from None
    equations, mechanism = model.equations, model.mechanism
    if not model.problem.stepper.fixed:
        raise CosimError(
            f"component '{component.name}': integrator '{model.integrator.name}' chooses its own steps; a component in this "
            "process needs one with fixed steps, such as rk4, or export the model as an FMU"
        )
    signals = {
        parameter.name: Signal(parameter.name, "parameter", "real", parameter.unit, signal_unit(parameter.unit))
        for parameter in mechanism.parameters
    }
    signals |= {
        signal.name: Signal(signal.name, "input", "real", signal.unit, signal_unit(signal.unit))
        for signal in mechanism.inputs
        if signal.name not in model.driven
    }
    hidden = frozenset() if model.samples is None else model.samples.hidden
    for channel in equations.channels:
        if (
            channel.name not in signals and channel.name not in hidden
        ):  # a machine may show an input or a parameter as an output of the same name
            signals[channel.name] = Signal(channel.name, "output", "real", channel.unit, signal_unit(channel.unit))
    definition, posed = mechanism.to_dict(), problem_record(model.problem)
    return ModelComponent(
        name=component.name,
        signals=signals,
        facts={
            "model": mechanism.name,
            "digest": mechanism.digest(),
            "formulation": equations.formulation,
            "integrator": model.integrator.name,
            "step_s": model.step,
            "posed": posed,
            **({"inputs": {name: path.kind for name, path in model.driven.items()}} if model.driven else {}),
        },
        settings=dict(component.settings),
        machine={key: posed[key] for key in ("geometry", "loads") if key in posed},
        channels={channel.name: channel for channel in equations.channels},
        ports=port_members(definition, set(signals)),
        continuing=continuing_inputs(definition),
        model=model,
        dependencies=_dependencies(model, unfelt_inputs(definition)),
    )


def _export_model(component: Component, plugins: PluginSet) -> ExportModel:
    given, own = component.model, RunSettings.of(_how(component))
    if isinstance(given, Block | DiscreteBlock):
        return block_model(given, component.step, component.integrator, plugins, component.settings, drive=component.inputs)
    if isinstance(given, Mechanism):
        return prepare_export(given, settings=component.settings, drive=component.inputs, how=own, plugins=plugins)
    opened = open_machine(str(given), plugins, component.settings).driven(inputs=component.inputs)
    return prepare_export(
        opened.mechanism, settings=opened.settings, drive=opened.inputs, how=opened.how(own), plugins=opened.plugins
    )


def _how(component: Component) -> dict[str, Any]:
    """Return what a component says about solving its model."""
    names = {field.name for field in fields(RunSettings)} & {field.name for field in fields(component)}
    return {name: value for name in names if (value := getattr(component, name)) is not None}


def _dependencies(model: ExportModel, unfelt: Mapping[str, frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    observe, inputs, channels = model.equations.observe, model.mechanism.inputs, model.equations.channels
    found: list[list[str]] = [[] for _ in channels]
    if inputs and found:
        for row, column in zip(*observe.jac_sparsity(0, 2).get_triplet(), strict=True):
            if inputs[column].name not in unfelt.get(channels[row].name, ()):
                found[row].append(inputs[column].name)
    return tuple(map(tuple, found))


@dataclass(frozen=True, eq=False)
class _Ramps:
    """A time loop, its rows of inputs over a step and at its end, and where in a row rates and halved second ones stand."""

    rows: FloatArray
    slopes: slice | NDArray[np.intp]
    bends: slice | NDArray[np.intp]
    loop: Loop | InterpretedLoop


def _span(places: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """Return places in a row as a slice, where they are evenly spaced and follow each other: NumPy is far faster with that."""
    gaps = np.diff(places)
    if not len(places) or not (gaps == (gap := gaps[0] if len(gaps) else 1)).all() or gap <= 0 or places[0] < 0:
        return places
    return slice(int(places[0]), int(places[-1]) + 1, int(gap))


def _sizes(observe: ca.Function, inputs: int) -> list[int]:
    """Return the sizes of t, x, u and p of a function, with another number of inputs."""
    return [observe.numel_in(k) if k != 2 else inputs for k in range(4)]


class RunningModel(Running):
    """A model at work; its state is a row of numbers, so that going back is to remember them."""

    can_go_back = True
    varies_steps = True

    def __init__(self, component: ModelComponent, places: Places, t_start: float) -> None:
        self.name = component.name
        self.inputs, self.outputs = places.u, places.y
        model, problem = component.model, component.model.problem
        equations, mechanism = problem.equations, problem.mechanism
        self._model, self._equations, self._stepper = model, equations, problem.stepper
        self._kernel = Kernel(self._stepper.running, problem.how.backend or "auto", equations.python_forces)
        self._observe = self._kernel.evaluator("kp_observe")
        self._t = t_start
        #: The state, followed by what the integrator remembers, and the step that this is for; 0: begin anew.
        self._x = np.concatenate([model.x0, np.zeros(self._stepper.remembered)])
        self._memory_step = 0.0
        self._begin = Evaluator(self._stepper.memory) if self._stepper.remembered else None
        #: The parameters where loops read them, and as they were given: that row is never written to, so states can share it.
        self._p, self._numbers = np.array(model.p0, dtype=float), np.array(model.p0, dtype=float)
        self._names = [channel.name for channel in equations.channels]
        inputs = [signal.name for signal in mechanism.inputs]
        parameters = [parameter.name for parameter in mechanism.parameters]
        rows = [inputs.index(name) for name in places.inputs]
        self._places = np.array(rows, dtype=np.intp)
        self._span = _span(self._places)
        #: The communication step, and how many internal steps it is divided into: of the model's own length, if they fit.
        self._own, self._slack = model.step, WHOLE_STEPS * model.step
        self._length, self._count, self._whole = 0.0, 1, False
        #: What a name stands for in one row: channels, then inputs, then parameters.
        row = {name: i for i, name in enumerate([*self._names, *inputs, *parameters])}
        self._taken = np.array([row[name] for name in places.outputs], dtype=np.intp)
        self._kept = np.array([row[name] for name in places.recorded], dtype=np.intp)
        self._kept_row = places.r
        self._beyond = bool(self._kept.max(initial=-1) >= len(self._names))
        #: Two rows of inputs: over a step, and for the outputs at its end.
        self._u = np.vstack([model.u0, model.u0])
        self._y = np.empty((1, len(self._names)))
        places.u[:] = model.u0[self._places]
        self._loop = self._kernel.loop(self._x, self._u, self._p, self._y)
        # Steps that are alike read inputs where they are given, if these are all, or from a row that they are copied into;
        # where somebody asks for them later, from the two rows.
        asked_for = places.going_back or self._beyond
        in_order = rows == list(range(len(inputs)))
        fed = places.u.reshape(1, -1) if in_order and not asked_for else self._u if asked_for else self._u[:1].copy()
        self._steady, self._fed = self._kernel.loop(self._x, fed, self._p, self._y), fed
        #: What brings the inputs there before such a step, if anything has to.
        self._feed: Callable[[], Any] | None = None
        if rows and rows == list(range(rows[0], rows[-1] + 1)) and not asked_for:
            self._feed = None if in_order else partial(np.copyto, fed[0, rows[0] : rows[-1] + 1], self.inputs)
        elif rows:
            self._feed = partial(fed.__setitem__, (slice(None), self._places), self.inputs)
        self._go = self._steady.steady(self._own, self._count)
        #: Puts the outputs where they are taken from.
        self._show: Callable[[], Any] = partial(self._y[0].take, self._taken, None, self.outputs, "clip")

    def begin(self) -> None:
        pass

    def give(self) -> None:
        self._u[:, self._places] = self.inputs

    def take(self) -> None:
        if self._names:
            try:
                self._y[0] = self._observe(self._t, self._x, self._u[1], self._p)
            except SolverError as error:
                raise PartnerError(self.name, str(error)) from None
        self._show()

    def record(self) -> None:
        row = np.concatenate([self._y[0], self._u[1], self._p]) if self._beyond else self._y[0]
        row.take(self._kept, out=self._kept_row, mode="clip")

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        # Steps like the last one, from whole multiples of the model's own step: this is what most of a run consists of.
        if h == self._length and slopes is None and self._whole:
            own = self._own
            first = round(t / own) * own
            if -self._slack <= t - first <= self._slack:
                if self._begin is not None:
                    self._remember(first, own)
                if self._feed is not None:
                    self._feed()
                status = self._go(first)
                if status:
                    raise PartnerError(self.name, self._fault(Status(status), self._steady))
                self._t = t + h
                self._show()
                return
        self._send_anew(t, h, slopes)

    def _send_anew(self, t: float, h: float, slopes: FloatArray | None) -> None:
        """Take a step whatever its length and begin."""
        if h != self._length:
            self._divide(h)
        own = self._own
        first = round(t / own) * own
        if not (self._whole and -self._slack <= t - first <= self._slack):
            first, own = t, h / self._count
        if self._begin is not None:
            self._remember(first, own)
        if slopes is None:
            self._u[:, self._places] = self.inputs
            status = self._loop.go(first, own, self._count, self._count)
        else:
            status = self._follow(slopes, self._count, first, own, h)
        if status != Status.OK:
            used = self._loop if slopes is None or self._ramps is None else self._ramps.loop
            raise PartnerError(self.name, self._fault(status, used))
        self._t = t + h
        self._show()

    def in_machine_code(self, t: float, h: float) -> Parts | str:
        loop = self._steady if self._whole else self._loop
        if not isinstance(loop, Loop):
            return f"it has no machine code ({self._kernel.note})"
        if h != self._length:
            return "it has not taken such a step before"
        own, whole = self._own if self._whole else h / self._count, self._whole
        if whole and not -self._slack <= t - round(t / own) * own <= self._slack:
            return f"t = {t:.9g} s is no multiple of its own step of {own:g} s"
        if self._begin is not None and not self._remembers(own):
            return "its integrator begins anew at every step"
        rows = self._u if not whole else self._fed[:0] if self._feed is None else self._fed
        step = [one for row in rows for one in move(self.inputs, np.arange(len(self._places)), row, self._places)]
        step.append(march(*loop.addresses(own, self._count), own, self._slack, whole))
        step += move(self._y[0], self._taken, self.outputs, np.arange(len(self._taken)))
        record, first = [], 0
        for part in (self._y[0], self._u[1], self._p):
            there = np.flatnonzero((self._kept >= first) & (self._kept < first + len(part)))
            record += move(part, self._kept[there] - first, self._kept_row, there)
            first += len(part)
        return Parts(step, record)

    def resume(self, t: float, h: float, stopped: Stopped) -> None:
        if stopped.status == OFF_MULTIPLES:
            self._send_anew(t, h, None)
            return
        raise PartnerError(self.name, self._fault(Status(stopped.status), self._steady if self._whole else self._loop))

    def arrived(self, t: float) -> None:
        self._t = t

    @cached_property
    def _ramps(self) -> _Ramps | None:
        """The time loop with inputs that change during a step, made when it is first needed; None where there is none."""
        found = self._model.problem.with_ramps(2)
        if found is None:
            return None
        layout, stepper = found
        sizes = _sizes(self._stepper.observe, layout.size)
        t, x, u, p = (ca.MX.sym(name, size) for name, size in zip("txup", sizes, strict=True))
        seen = self._stepper.observe(t, x, u[: self._equations.nu, :], p)
        functions = [stepper.step, ca.Function("kp_observe", [t, x, u, p], [ca.densify(seen)])]
        functions += [] if self._stepper.guard is None else [self._stepper.guard]
        kernel = Kernel(functions, self._model.problem.how.backend or "auto", self._equations.python_forces)
        rows = np.zeros((2, layout.size))
        rates = [layout.rate_place(name) for name in layout.names]
        slopes = np.array([-1 if place is None else place for place in rates], dtype=np.intp)[self._places]
        return _Ramps(rows, _span(slopes), _span(slopes + 1), kernel.loop(self._x, rows, self._p, self._y))

    def _follow(self, slopes: FloatArray, n: int, first: float, own: float, h: float) -> Status:
        """Take the internal steps with inputs that change during them, and the outputs with what they are at the end.

        Each is the parabola that the master says. Integrators that remember inputs see each in the middle of each internal
        step, as they do in an FMU.
        """
        begin = self.inputs.copy()
        self.inputs += h * slopes[0] + h * h / 2 * slopes[1]
        self._u[1, self._span] = self.inputs
        status = Status.OK
        ramps = self._ramps
        if ramps is not None:
            nu, row = self._u.shape[1], ramps.rows[0]
            ramps.rows[:, :nu] = self._u[1]
            row[self._span] = begin
            row[nu] = first
            row[ramps.slopes] = slopes[0]
            row[ramps.bends] = slopes[1] / 2
            status = ramps.loop.go(first, own, n, n)
            self._u[0] = self._u[1]
            return status
        for k in range(n):
            middle = (k + 0.5) * h / n
            self._u[0, self._places] = begin + middle * slopes[0] + middle * middle / 2 * slopes[1]
            status = self._loop.go(first, own, 1, n, k)
            if status != Status.OK:
                break
        self._u[0] = self._u[1]
        return status

    def _remember(self, t: float, h: float) -> None:
        """Let the integrator begin anew where its memory is not for steps of this length."""
        if self._remembers(h):
            return
        assert self._begin is not None
        nx = self._equations.nx
        given = self._u[1].copy()
        given[self._places] = self.inputs
        self._x[nx:] = self._begin(t, self._x[:nx], given, self._p, h)
        self._memory_step = h

    def _remembers(self, h: float) -> bool:
        return self._memory_step > 0 and abs(h - self._memory_step) <= SAME_STEP * h

    def _divide(self, h: float) -> None:
        """Divide communication steps of a length into internal steps: of the model's own length where they fit."""
        own = self._own
        count = round(h / own)
        self._length, self._whole = h, count > 0 and abs(h - count * own) <= self._slack
        self._count = count if self._whole else max(1, math.ceil(h / own * (1 - 1e-9)))
        self._go = self._steady.steady(own, self._count)

    def _fault(self, status: Status, loop: Loop | InterpretedLoop) -> str:
        raised = python_error(self._equations.all_externals)
        if raised is not None:
            if isinstance(raised[1], KeyboardInterrupt):
                raise raised[1]
            return f"force '{raised[0]}' raised {type(raised[1]).__name__}: {raised[1]}"
        what = FAULTS.get(status, "a step could not be solved")
        if status == Status.OUTPUT_NOT_FINITE:
            bad = ~np.isfinite(self._y[0])
            what = f"output '{self._names[int(np.argmax(bad))]}' is not finite" if bad.any() else what
        state = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self._names, loop.before[:8], strict=False))
        where = f"at t = {loop.t_stop:.9g} s inside the step (internal step {self._own:g} s)"
        return f"{what}, {where}; state before it: {state}"

    def receive(self) -> None:
        pass

    def change(self, values: Mapping[str, float]) -> None:
        at = self._t, self._x[: self._equations.nx], self._u[1], self._numbers
        numbers, inputs = changed_values(self.name, self._model, values, *at)
        for i, value in inputs.items():
            self._u[:, i] = value
        if numbers is not self._numbers:
            self._p[:], self._numbers, self._memory_step = numbers, numbers, 0.0

    def save(self) -> Any:
        return self._t, self._x.copy(), self._u.copy(), self._y.copy(), self._memory_step, self._numbers

    def restore(self, state: Any) -> None:
        self._t, self._memory_step = state[0], state[4]
        if state[5] is not self._numbers:
            self._p[:], self._numbers = state[5], state[5]
        self._x[:], self._u[:], self._y[:] = state[1:4]

    def forget(self, state: Any) -> None:
        pass

    def close(self) -> str:
        return ""
