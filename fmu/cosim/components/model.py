"""A Kingpost model or signal block as a component, in this process: no FMU, the same compiled steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError, closest, listed
from kingpost.equations.integrator import StepMap
from kingpost.fmu.blocks.block import Block, block_model
from kingpost.fmu.cosim.components.described import Described, PartnerError, Places, Running, Signal, held, signal_unit
from kingpost.fmu.cosim.description.system import Component, CosimError
from kingpost.fmu.interface.ports import continuing_inputs, port_members, unfelt_inputs
from kingpost.kernel.kernel import NOT_FINITE, OK, OUTPUT_NOT_FINITE, SINGULAR, Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.modelfiles.source import open_source
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.export_model import ExportModel, prepare_export
from kingpost.simulation.simulate import DEFAULT_STEP, step_function
from kingpost.symbols.externals import python_error

#: Times that are whole numbers of internal steps up to this part of one are taken as just that, as in our FMUs.
WHOLE = 1e-6
#: What the endings of a march mean.
FAULTS = {
    NOT_FINITE: "its state is not finite any more",
    OUTPUT_NOT_FINITE: "an output is not finite",
    SINGULAR: "a joint is about to lock: its coordinates become singular",
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
        return RunningModel(self, places, t_start)


def open_model(component: Component, plugins: PluginSet) -> ModelComponent:
    """Derive the equations of a component's model and check its settings."""
    try:
        model = _export_model(component, plugins)
    except KingpostError as error:
        raise CosimError(f"component '{component.name}': {error}") from None
    equations, mechanism = model.equations, model.mechanism
    if not isinstance(model.integrator, StepMap):
        raise CosimError(
            f"component '{component.name}': integrator '{model.integrator.name}' chooses its own steps; a component in this "
            "process needs one with fixed steps, such as rk4, or export the model as an FMU"
        )
    if model.integrator.memory(equations):
        raise CosimError(
            f"component '{component.name}': integrator '{model.integrator.name}' carries numbers from step to step beside the "
            "state; take one that does not, such as rk4 or midpoint"
        )
    signals = {
        parameter.name: Signal(parameter.name, "parameter", "real", parameter.unit, signal_unit(parameter.unit))
        for parameter in mechanism.parameters
    }
    signals |= {
        signal.name: Signal(signal.name, "input", "real", signal.unit, signal_unit(signal.unit)) for signal in mechanism.inputs
    }
    for channel in equations.channels:
        if channel.name not in signals:  # a machine may show an input or a parameter as an output of the same name
            signals[channel.name] = Signal(channel.name, "output", "real", channel.unit, signal_unit(channel.unit))
    definition = mechanism.to_dict()
    return ModelComponent(
        name=component.name,
        signals=signals,
        facts={
            "model": mechanism.name,
            "digest": mechanism.digest(),
            "formulation": equations.formulation,
            "integrator": model.integrator.name,
            "step_s": model.step,
        },
        settings=dict(component.settings),
        ports=port_members(definition, set(signals)),
        continuing=continuing_inputs(definition),
        model=model,
        dependencies=_dependencies(model, unfelt_inputs(definition)),
    )


def _export_model(component: Component, plugins: PluginSet) -> ExportModel:
    given = component.model
    if isinstance(given, Block):
        model = block_model(given, component.step or DEFAULT_STEP, component.integrator, plugins)
        return _with_settings(model, component)
    step, settings = component.step, dict(component.settings)
    if isinstance(given, Mechanism):
        mechanism = given
    else:
        source = open_source(str(given), plugins)
        mechanism, plugins = source.mechanism, source.plugins
        settings = {**source.settings, **settings}
        step = source.step if step is None else step
    return prepare_export(
        mechanism, settings=settings, formulation=component.formulation, integrator=component.integrator, step=step,
        loads=component.loads, plugins=plugins,
    )  # fmt: skip


def _with_settings(model: ExportModel, component: Component) -> ExportModel:
    """Return a block's model with start values changed."""
    rows = {"p0": model.p0.copy(), "u0": model.u0.copy(), "x0": model.x0.copy()}
    mechanism = model.mechanism
    groups: dict[str, Sequence[Any]] = {
        "p0": mechanism.parameters, "u0": mechanism.inputs, "x0": model.equations.channels[: len(model.x0)]
    }  # fmt: skip
    known = {entry.name: (group, i) for group, entries in groups.items() for i, entry in enumerate(entries)}
    for name, value in component.settings.items():
        if name not in known:
            raise CosimError(
                f"'{mechanism.name}' has nothing called '{name}'{closest(name, known)} Can be set: {listed(known)}."
            )
        group, i = known[name]
        rows[group][i] = float(value)
    return replace(model, p0=rows["p0"], u0=rows["u0"], x0=rows["x0"])


def _dependencies(model: ExportModel, unfelt: Mapping[str, frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    observe, inputs, channels = model.equations.observe, model.mechanism.inputs, model.equations.channels
    found: list[list[str]] = [[] for _ in channels]
    if inputs and found:
        for row, column in zip(*observe.jac_sparsity(0, 2).get_triplet(), strict=True):
            if inputs[column].name not in unfelt.get(channels[row].name, ()):
                found[row].append(inputs[column].name)
    return tuple(map(tuple, found))


class RunningModel(Running):
    """A model at work; its state is a row of numbers, so that going back is to remember them."""

    can_go_back = True
    varies_steps = True

    def __init__(self, component: ModelComponent, places: Places, t_start: float) -> None:
        self.name = component.name
        self.inputs, self.outputs = places.u, places.y
        model = component.model
        equations, mechanism = model.equations, model.mechanism
        self._model, self._equations = model, equations
        assert isinstance(model.integrator, StepMap)
        guard = [] if equations.guard is None else [equations.guard]
        functions = [step_function(equations, model.integrator), equations.observe, *guard]
        self._kernel = Kernel(functions, "auto", equations.python_forces)
        self._observe = self._kernel.evaluator("kp_observe")
        self._t, self._x = t_start, model.x0.copy()
        self._p = model.p0
        self._names = [channel.name for channel in equations.channels]
        inputs = [signal.name for signal in mechanism.inputs]
        parameters = [parameter.name for parameter in mechanism.parameters]
        self._places = np.array([inputs.index(name) for name in places.inputs], dtype=np.intp)
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

    def _show(self) -> None:
        self._y[0].take(self._taken, out=self.outputs, mode="clip")

    def record(self) -> None:
        row = np.concatenate([self._y[0], self._u[1], self._p]) if self._beyond else self._y[0]
        row.take(self._kept, out=self._kept_row, mode="clip")

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        n, first, own = self._division(t, h)
        if slopes is None:
            self._u[:, self._places] = self.inputs
            u, y, substeps = self._u, self._y, n
        else:
            u = np.repeat(self._u[:1], n + 1, axis=0)
            for k in range(n):
                u[k, self._places] = held(self.inputs, slopes, k * h / n, (k + 1) * h / n)
            self.inputs += h * slopes[0] + h * h / 2 * slopes[1]
            u[n, self._places] = self.inputs
            y, substeps = np.empty((n, len(self._names))), 1
            self._u[:] = u[n]
        stop = self._kernel.march(y, substeps, first, own, self._x, u, self._p, at_once=True)
        if stop.status != OK:
            raise PartnerError(self.name, self._fault(stop.status, stop.t, y))
        self._t, self._x = t + h, stop.x
        if slopes is not None:
            self._y[0] = y[-1]
        self._show()

    def _division(self, t: float, h: float) -> tuple[int, float, float]:
        """Return number, start and length of the internal steps: whole multiples of the model's own where they fit."""
        own = self._model.step
        first, last = round(t / own), round((t + h) / own)
        if 0 <= first < last and max(abs(t - first * own), abs(t + h - last * own)) <= WHOLE * own:
            return last - first, first * own, own
        n = max(1, math.ceil(h / own * (1 - 1e-9)))
        return n, t, h / n

    def _fault(self, status: int, t: float, y: FloatArray) -> str:
        raised = python_error(self._equations.all_externals)
        if raised is not None:
            if isinstance(raised[1], KeyboardInterrupt):
                raise raised[1]
            return f"force '{raised[0]}' raised {type(raised[1]).__name__}: {raised[1]}"
        what = FAULTS.get(status, "a step could not be solved")
        if status == OUTPUT_NOT_FINITE:
            bad = ~np.isfinite(y).all(axis=0)
            what = f"output '{self._names[int(np.argmax(bad))]}' is not finite" if bad.any() else what
        state = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self._names, self._x[:8], strict=False))
        return f"{what}, at t = {t:.9g} s inside the step (internal step {self._model.step:g} s); state before it: {state}"

    def receive(self) -> None:
        pass

    def save(self) -> Any:
        return self._t, self._x.copy(), self._u.copy(), self._y.copy()

    def restore(self, state: Any) -> None:
        self._t, self._x = state[0], state[1].copy()
        self._u[:], self._y[:] = state[2], state[3]

    def forget(self, state: Any) -> None:
        pass

    def close(self) -> str:
        return ""
