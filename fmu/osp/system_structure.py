"""OspSystemStructure.xml: simulators, their connections and start values, for the Open Simulation Platform."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.files import write_whole

NAMESPACE = "http://opensimulationplatform.com/MSMI/OSPSystemStructure"
#: Elements of EccoConfiguration, and what master 'ecco' calls them.
ECCO = {
    "SafetyFactor": "safety",
    "MinimumStepSize": "shortest",
    "MaximumStepSize": "longest",
    "MinimumChangeRate": "slower",
    "MaximumChangeRate": "faster",
    "ProportionalGain": "proportional",
    "IntegralGain": "integral",
    "RelativeTolerance": "rtol",
    "AbsoluteTolerance": "atol",
}


@dataclass(frozen=True)
class OspFunction:
    """A function between outputs and an input: one output times a factor plus an offset, or the sum of several."""

    name: str
    sources: tuple[str, ...]
    target: str
    factor: float = 1.0
    offset: float = 0.0

    def inputs(self) -> list[str]:
        """Return the names of its inputs."""
        return ["in"] if len(self.sources) == 1 else [f"in[{i}]" for i in range(len(self.sources))]

    def declared(self) -> str:
        """Return the element that declares it."""
        if len(self.sources) == 1:
            return f'<LinearTransformation name={quoteattr(self.name)} factor="{self.factor!r}" offset="{self.offset!r}"/>'
        return f'<Sum name={quoteattr(self.name)} inputCount="{len(self.sources)}"/>'


def _value(value: float | int | bool | str) -> str:
    if isinstance(value, bool):
        return f'<Boolean value="{str(value).lower()}"/>'
    if isinstance(value, str):
        return f"<String value={quoteattr(value)}/>"
    return f'<Integer value="{value}"/>' if isinstance(value, int) else f'<Real value="{float(value)!r}"/>'


def write_osp_system(
    path: Path,
    step: float,
    simulators: Mapping[str, Path],
    connections: Sequence[tuple[str, str]],
    initial: Mapping[str, float | int | bool | str] | None = None,
    *,
    functions: Sequence[OspFunction] = (),
    ecco: Mapping[str, float] | None = None,
    bonds: Mapping[tuple[str, str], str] | None = None,
    steps: Mapping[str, float] | None = None,
    t_start: float = 0.0,
    t_end: float | None = None,
) -> None:
    """Write an OspSystemStructure.xml: simulators and their FMUs, connections and start values.

    Parameters
    ----------
    path
        The file; FMUs are named relative to its folder.
    step
        Communication step in s.
    simulators
        FMUs by the names that they get.
    connections
        Pairs ``("crane.slew.angle.rate", "controller.measured")``: from an output to an input, simulator first.
    initial
        Start values of variables, named in the same way; their types are those of the variables.
    functions
        What stands between outputs and inputs.
    ecco
        Options of master 'ecco', all of :data:`ECCO`, if its algorithm is to choose the steps; else they are fixed.
    bonds
        Names of power bonds by the connections that carry them, two for each, from which that algorithm finds the steps.
    steps
        Steps in s of simulators that step less often than the communication step.
    t_start, t_end
        When it begins and ends, in s.

    """

    def endpoint(text: str) -> tuple[str, str]:
        simulator, dot, variable = text.partition(".")
        if not dot or simulator not in simulators:
            raise FileError(f"'{text}' names no simulator{closest(simulator, simulators)} Simulators: {listed(simulators)}.")
        return simulator, variable

    starts: dict[str, list[str]] = {name: [] for name in simulators}
    for name, value in (initial or {}).items():
        simulator, variable = endpoint(name)
        starts[simulator].append(f"        <InitialValue variable={quoteattr(variable)}>{_value(value)}</InitialValue>")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<OspSystemStructure xmlns="{NAMESPACE}" version="0.1">',
        f"  <StartTime>{float(t_start)!r}</StartTime>",
        *([] if t_end is None else [f"  <EndTime>{float(t_end)!r}</EndTime>"]),
        f"  <BaseStepSize>{step!r}</BaseStepSize>",
        f"  <Algorithm>{'fixedStep' if ecco is None else 'ecco'}</Algorithm>",
        "  <Simulators>",
    ]
    for name, fmu in simulators.items():
        source = Path(os.path.relpath(fmu, path.parent)).as_posix()
        own = f' stepSize="{(steps or {})[name]!r}"' if name in (steps or {}) else ""
        lines.append(f"    <Simulator name={quoteattr(name)} source={quoteattr(source)}{own}>")
        if starts[name]:
            lines += ["      <InitialValues>", *starts[name], "      </InitialValues>"]
        lines.append("    </Simulator>")
    lines.append("  </Simulators>")
    if functions:
        # The schema wants them in this order.
        ordered = sorted(functions, key=lambda function: len(function.sources) > 1)
        lines += ["  <Functions>", *(f"    {function.declared()}" for function in ordered), "  </Functions>"]
    lines.append("  <Connections>")
    for pair in connections:
        bond = (bonds or {}).get(pair)
        lines.append(f"    <VariableConnection{'' if bond is None else f' powerBond={quoteattr(bond)}'}>")
        for (simulator, variable), causality in zip(map(endpoint, pair), ("output", "input"), strict=True):
            more = "" if bond is None else f' causality="{causality}"'
            lines.append(f"      <Variable simulator={quoteattr(simulator)} name={quoteattr(variable)}{more}/>")
        lines.append("    </VariableConnection>")
    for function in functions:
        signals = [*zip(function.inputs(), function.sources, strict=True), ("out", function.target)]
        for signal, place in signals:
            simulator, variable = endpoint(place)
            ends = [
                f"      <Variable simulator={quoteattr(simulator)} name={quoteattr(variable)}/>",
                f"      <Signal function={quoteattr(function.name)} name={quoteattr(signal)}/>",
            ]
            lines += ["    <SignalConnection>", *(ends[::-1] if signal == "out" else ends), "    </SignalConnection>"]
    lines.append("  </Connections>")
    if ecco is not None:
        given = {"StepSize": step} | {element: ecco[option] for element, option in ECCO.items()}
        inner = (f"    <{element}>{float(value)!r}</{element}>" for element, value in given.items())
        lines += ["  <EccoConfiguration>", *inner, "  </EccoConfiguration>"]
    lines += ["</OspSystemStructure>", ""]

    def write(beside: Path) -> None:
        beside.write_text("\n".join(lines), encoding="utf-8")

    write_whole(path, write)
