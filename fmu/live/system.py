"""A coupled system: FMUs and models side by side, advanced by their master, so many communication steps in a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fmu.cosim.components.described import Described, PartnerEnded, Signal
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.model import ModelComponent
from kingpost.fmu.cosim.description.system import System
from kingpost.fmu.cosim.motion import SAME, Motion
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.cosim.record import make_history
from kingpost.fmu.cosim.run import prepare_cosimulation
from kingpost.fmu.live.controls import Control, Controls
from kingpost.fmu.live.machine import MEMORY
from kingpost.fmu.live.subject import FRAME, HORIZON, LiveStoppedError, Subject
from kingpost.registry.failures import plugin_failure
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History

#: States of an FMU are kept by itself, and nobody knows how large they are.
MOST_OF_FMUS, FEWEST, MOST = 256, 200, 20_000


def ready_system(
    system: System, plugins: PluginSet | None = None, frame: float | None = None, t_end: float | None = None
) -> LiveSystem:
    """Return a system that is ready to go, its components started, with frames of a whole number of communication steps."""
    span = (HORIZON if t_end is None else t_end - system.t_start) / system.step
    steps = max(1, math.ceil(span * (1 - SAME))) if math.isfinite(span) else 1
    changed = system.with_changes(t_end=system.t_start + steps * system.step, output_step=None, run_timeout=0.0)
    return LiveSystem(prepare_cosimulation(changed, plugins), frame)


class LiveSystem(Subject):
    """A coupled system under way."""

    def __init__(self, plan: Plan, frame: float | None = None) -> None:
        system = plan.system
        self._plan, self.name = plan, system.name
        self.controls = _controls(plan)
        self._motion = Motion(plan, going_back=True, changeable=_by_component(self.controls.items))
        self._frames = 0
        try:
            self._motion.start()
        except PartnerEnded as ended:
            self._motion.close()
            raise LiveStoppedError(f"component '{ended.partner}' ended the session at its start: {ended}") from None
        except KingpostError as error:
            self._motion.close()
            raise (
                type(error)(self._motion.explained(error))
                if not hasattr(error, "partner")
                else LiveStoppedError(self._motion.explained(error))
            ) from None
        except BaseException:
            self._motion.close()
            raise
        self.t_start, self.t_end, self.t = system.t_start, system.t_end, self._motion.t
        self._steps = max(1, round((FRAME if frame is None else frame) / system.step))
        self.frame = self._steps * system.step
        self.channels = self._motion.layout.channels[: len(self._motion.sample())]
        self.row = self._motion.sample()
        self.obstacle = self._motion.obstacle()
        self.notes = plan.notes
        self._fmus = any(isinstance(component, FmuComponent) for component in plan.components.values())

    @property
    def most_states(self) -> int:
        if self._fmus:
            return MOST_OF_FMUS
        layout = self._motion.layout
        numbers = 2 * len(layout.u) + 28 * (len(layout.y) + len(layout.r)) + 64 * len(self._plan.components)
        for component in self._plan.components.values():
            if isinstance(component, ModelComponent):
                numbers += len(component.model.x0) + 2 * len(component.model.u0) + len(component.channels)
        return min(MOST, max(FEWEST, MEMORY // (8 * numbers)))

    def advance(self) -> None:
        motion, system = self._motion, self._plan.system
        try:
            if self._plan.master.varies_steps:
                until = system.t_start + (self._frames + 1) * self.frame
                while motion.t < until - SAME * motion.following:
                    motion.step(system.t_end)
            else:
                for _ in range(self._steps):
                    motion.step(system.t_end)
            motion.record()
        except PartnerEnded as ended:
            raise LiveStoppedError(f"component '{ended.partner}' ended the session at t = {motion.t:.9g} s: {ended}") from None
        except KingpostError as error:
            raise LiveStoppedError(motion.explained(error)) from None
        except Exception as error:
            failure = plugin_failure(error)
            if failure is None:
                raise
            raise LiveStoppedError(f"system '{system.name}': {failure}") from error
        self._frames += 1
        self.t, self.row = motion.t, motion.sample()

    def change(self, values: Mapping[str, float]) -> None:
        given: dict[str, dict[str, float]] = {}
        for name, value in values.items():
            owner, _, own = name.partition(".")
            given.setdefault(owner, {})[own] = value
        self._motion.change(given)

    def save(self) -> Any:
        return self._frames, self._motion.save()

    def restore(self, state: Any) -> None:
        try:
            self._motion.restore(state[1])
        except KingpostError as error:
            raise LiveStoppedError(f"{self._motion.explained(error)}. It cannot go back; begin a new session") from None
        self._frames, self.t, self.row = state[0], self._motion.t, self._motion.sample()

    def forget(self, state: Any) -> None:
        try:
            self._motion.forget(state[1])
        except KingpostError:
            # Of a component that is gone; its states went with it.
            return

    def history(self, times: Sequence[float], rows: Sequence[FloatArray], outcome: str, seconds: float) -> History:
        history = make_history(
            self._motion.layout, np.array(times), np.array(rows), outcome=outcome, wall_time=seconds,
            statistics={"steps": self._motion.count}, warnings=self.notes,
        )  # fmt: skip
        if not self._plan.master.varies_steps:
            time = {**history.provenance["time"], "output_step_s": self.frame}
            return History(history.time, history.channels, history.values, {**history.provenance, "time": time})
        return history

    def close(self) -> list[str]:
        return self._motion.close()


def _by_component(names: Mapping[str, Control]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name in names:
        owner, _, own = name.partition(".")
        found.setdefault(owner, []).append(own)
    return {owner: tuple(own) for owner, own in found.items()}


def _controls(plan: Plan) -> Controls:
    """Return what can be changed in a system, and why its other inputs and parameters cannot."""
    items: dict[str, Control] = {}
    fixed: dict[str, str] = {}
    feeders = {wire.names[1]: wire.names[0] for wire in plan.wires}
    for owner, component in plan.components.items():
        elements = {label for labels in component.arrays.values() for label in labels}
        for signal in component.signals.values():
            name = f"{owner}.{signal.name}"
            if signal.causality == "driven":
                fixed[name] = "it moves by itself"
            elif signal.causality not in ("input", "parameter"):
                continue
            elif name in feeders:
                fixed[name] = f"'{feeders[name]}' feeds it"
            elif signal.name in elements:
                fixed[name] = "it is part of an array"
            elif signal.causality == "parameter" and not _tunable(component, signal):
                fixed[name] = "its FMU does not say that it is tunable"
            else:
                items[name] = _control(component, signal, name)
    return Controls(f"system '{plan.system.name}'", items, fixed)


def _tunable(component: Described, signal: Signal) -> bool:
    if isinstance(component, FmuComponent):
        return component.variable_of(signal.name).variability == "tunable"
    return not (isinstance(component, ModelComponent) and signal.name not in _shown(component))


def _shown(component: ModelComponent) -> set[str]:
    return {parameter.name for parameter in component.model.mechanism.shown_parameters}


def _control(component: Described, signal: Signal, name: str) -> Control:
    kind: Any = signal.causality
    if isinstance(component, FmuComponent):
        variable = component.variable_of(signal.name)
        value = component.first_inputs([signal.name])[0]
        about = str(variable.declared.description or "")
        return Control(
            name, kind, signal.unit or "1", value, variable.number("min"), variable.number("max"), signal.kind, about
        )
    assert isinstance(component, ModelComponent)
    mechanism = component.model.mechanism
    if kind == "input":
        place = [entry.name for entry in mechanism.inputs].index(signal.name)
        about = mechanism.inputs[place].description
        return Control(name, kind, signal.unit or "1", float(component.model.u0[place]), description=about)
    place = [entry.name for entry in mechanism.parameters].index(signal.name)
    given = mechanism.parameters[place]
    value = float(component.model.p0[place])
    return Control(name, kind, given.unit, value, given.minimum, given.maximum, description=given.description)
