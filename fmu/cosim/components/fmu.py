"""An FMU as a component: what is known of it before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kingpost.fmu.cosim.components.described import Described, Places, Running, Signal, signal_unit
from kingpost.fmu.cosim.description.system import Component, CosimError
from kingpost.fmu.file.opened import Fmu, FmuError, open_fmu
from kingpost.fmu.file.units import declared_units
from kingpost.fmu.file.variables import Variable, start_settings, variables_of
from kingpost.fmu.instance.instance import Trail
from kingpost.fmu.instance.solvers import SOLVERS, SolverName
from kingpost.fmu.interface.ports import continuing_inputs, port_members, unfelt_inputs
from kingpost.fmu.osp.ports import osp_ports
from kingpost.fmu.running.record import channel_of
from kingpost.kernel.made_here import made_here

if TYPE_CHECKING:
    from kingpost.simulation.signals import Course


@dataclass(frozen=True, eq=False, kw_only=True)
class FmuComponent(Described):
    """An FMU that was read."""

    fmu: Fmu
    variables: Mapping[str, Variable]
    starts: Mapping[str, Sequence[Any]]
    #: The machine in it as plain data, if Kingpost made it.
    definition: Mapping[str, Any]
    step: float | None = None
    #: For an FMU without a solver: which one it gets, and its relative tolerance.
    solver: SolverName = "CVode"
    tolerance: float | None = None
    #: Inputs that follow paths of their own.
    driven: Mapping[str, Course] = field(default_factory=dict)

    @property
    def follows(self) -> bool:
        """Whether it takes inputs that change during a step."""
        if self.fmu.interface == "model-exchange":
            return True
        inputs = [name for name, signal in self.signals.items() if signal.causality in ("input", "driven")]
        return self.input_orders(inputs) > 0 or self.asks_for(inputs)

    def input_orders(self, labels: Sequence[str]) -> int:
        """Return how many derivatives of these inputs it takes before a step.

        FMI says only whether it takes any; so strangers get the first alone.
        """
        variables = [self.variable_of(label) for label in labels]
        if self.fmu.major == 3 or not self.fmu.can("canInterpolateInputs"):
            return 0
        if not variables or any(variable.negated or not variable.real for variable in variables):
            return 0
        taken = self.fmu.annotation.get("input_derivatives", 1)
        return taken if isinstance(taken, int) and taken > 1 else 1

    def asks_for(self, labels: Sequence[str]) -> bool:
        """Say whether it asks for these inputs during a step (the intermediate update of FMI 3)."""
        variables = [self.variable_of(label) for label in labels]
        known = all(variable.real and variable.name in self.fmu.intermediate for variable in variables)
        return bool(variables) and known and self.fmu.interface == "co-simulation"

    def feedthrough(self, output: str) -> tuple[str, ...] | None:
        name = self.variable_of(output).name
        for unknown in self.fmu.description.outputs:
            if unknown.variable.name == name:
                if unknown.dependencies is None:
                    return None
                inputs = [self.variables[known.name] for known in unknown.dependencies if known.causality == "input"]
                names = self.fmu.annotation.get("names") or {}
                own = next((name for name, label in names.items() if label == output), output)
                unfelt = {names.get(name, name) for name in unfelt_inputs(self.definition).get(own, ())}
                return tuple(label for variable in inputs for label in variable.labels if label not in unfelt)
        return None

    def variable_of(self, label: str) -> Variable:
        """Return the variable that a signal is, or is an element of."""
        if label in self.variables:
            return self.variables[label]
        return self.variables[label[: label.rindex("[")]]

    def start(self, places: Places, t_start: float, t_end: float) -> Running:
        from kingpost.fmu.cosim.components.isolated import IsolatedFmu

        def begin(own: Places) -> Running:
            return IsolatedFmu(self, own, t_start, t_end) if self.facts["isolated"] else self.start_here(own, t_start, t_end)

        if not self.driven:
            return begin(places)
        # With paths come symbols, which the programs that isolated FMUs run in have no use for.
        from kingpost.fmu.cosim.components.driven import DrivenFmu

        return DrivenFmu(self.name, self.driven, places, t_start, begin)

    def start_here(
        self,
        places: Places,
        t_start: float,
        t_end: float,
        folder: Path | None = None,
        trail: Trail = lambda call: None,
    ) -> Running:
        """Start in this process, whatever is said about isolation, unpacked in ``folder`` if that is given."""
        from kingpost.fmu.cosim.components.exchange import RunningExchange
        from kingpost.fmu.cosim.components.running import RunningFmu

        cls = RunningFmu if self.fmu.interface == "co-simulation" else RunningExchange
        return cls(self, places, t_start, t_end, folder, trail)

    def reduced(self, labels: Iterable[str]) -> FmuComponent:
        """Return the component with what a run with these signals needs, for a process that need not read the file."""
        names = {self.variable_of(label).name for label in labels} | set(self.starts)
        return replace(
            self,
            fmu=self.fmu.reduced(names),
            variables={name: self.variables[name] for name in names},
            signals={label: self.signals[label] for label in labels},
            arrays={},
            driven={},
        )

    def first_inputs(self, labels: Sequence[str]) -> list[float]:
        """Return the start values of inputs, zero for those that have none."""
        found = []
        for label in labels:
            variable = self.variable_of(label)
            values = self.starts.get(variable.name) or variable.start() or [0.0] * variable.elements
            found.append(float(values[variable.labels.index(label)]))
        return found


def open_component(component: Component) -> FmuComponent:
    """Read the FMU of a component, running nothing of it."""
    where = f"component '{component.name}'"
    fmu = open_fmu(component.fmu, component.interface)
    if fmu.missing_binary():
        raise CosimError(f"{where}: {fmu.missing_binary()}")
    variables = variables_of(fmu)
    try:
        starts = start_settings(variables, component.settings)
    except FmuError as error:
        raise CosimError(f"{where}: {error}") from None
    units = declared_units(fmu)
    signals, arrays = {}, {}
    for variable in variables.values():
        if not variable.numeric:
            continue
        kind: Literal["real", "integer", "boolean"] = "real" if variable.real else "integer"
        kind = "boolean" if variable.declared.type == "Boolean" else kind
        for label in variable.labels:
            dimension = units.get(variable.unit or "") or signal_unit(variable.unit)
            signals[label] = Signal(label, variable.causality, kind, variable.unit, dimension)
        if variable.declared.shape:
            arrays[variable.name] = variable.labels
    driven: Mapping[str, Course] = {}
    if component.inputs:
        from kingpost.fmu.cosim.components.driven import driven_inputs

        driven = driven_inputs(component.name, signals, component.inputs)
    signals = {label: signal for label, signal in signals.items() if label not in driven} | {
        label: replace(signals[label], causality="driven") for label in driven
    }
    definition, names = _definition(fmu), fmu.annotation.get("names") or {}
    isolated = not made_here(fmu.sha256) if component.isolate is None else component.isolate
    solver = component.solver or SOLVERS[0]
    tolerance = component.tolerance or fmu.default("tolerance")
    if fmu.interface == "co-simulation" and (component.solver or component.tolerance):
        given = "solver" if component.solver else "tolerance"
        raise CosimError(
            f"{where}: '{given}' is for model exchange; '{fmu.path.name}' is used for co-simulation, with a solver of its own",
            path=(given,),
        )
    return FmuComponent(
        name=component.name,
        signals=signals,
        arrays=arrays,
        ports={**osp_ports(fmu.path, signals), **port_members(definition, set(signals), names)},
        continuing=frozenset(names.get(name, name) for name in continuing_inputs(definition)),
        definition=definition,
        can_go_back=fmu.can("canGetAndSetFMUstate"),
        varies_steps=fmu.interface == "model-exchange" or fmu.can("canHandleVariableCommunicationStepSize"),
        facts={
            "fmu": fmu.path.name,
            "sha256": fmu.sha256,
            "fmi": fmu.description.fmiVersion,
            "interface": fmu.interface,
            **({"solver": solver, "rtol": tolerance} if fmu.interface == "model-exchange" else {}),
            "model": fmu.name,
            "generation_tool": fmu.description.generationTool or "",
            "isolated": isolated,
            "once_per_process": fmu.can("canBeInstantiatedOnlyOncePerProcess"),
            **({"inputs": {label: dict(course.source) for label, course in driven.items()}} if driven else {}),
        },
        settings={name: list(values) if len(values) != 1 else values[0] for name, values in starts.items()},
        machine=fmu.annotation,
        channels={
            label: channel_of(fmu, label, signals[label].unit)
            for label in fmu.annotation.get("channels", {})
            if label in signals
        },
        fmu=fmu,
        variables=variables,
        starts=starts,
        step=component.step,
        solver=solver,
        tolerance=tolerance,
        driven=driven,
    )


def _definition(fmu: Fmu) -> Mapping[str, Any]:
    """Return the machine in an FMU that Kingpost made, as plain data; of others, one of nothing."""
    model = fmu.annotation.get("model")
    found = model.get("definition") if isinstance(model, Mapping) else None
    return found if isinstance(found, Mapping) and "joints" in found else {"joints": []}
