"""OspSystemStructure.xml: simulators, their connections and start values, for the Open Simulation Platform."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.files import write_whole

NAMESPACE = "http://opensimulationplatform.com/MSMI/OSPSystemStructure"


def write_osp_system(
    path: Path,
    step: float,
    simulators: Mapping[str, Path],
    connections: Sequence[tuple[str, str]],
    initial: Mapping[str, float] | None = None,
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
        Start values of variables, named in the same way.

    """

    def endpoint(text: str) -> tuple[str, str]:
        simulator, dot, variable = text.partition(".")
        if not dot or simulator not in simulators:
            raise FileError(f"'{text}' names no simulator{closest(simulator, simulators)} Simulators: {listed(simulators)}.")
        return simulator, variable

    starts: dict[str, list[str]] = {name: [] for name in simulators}
    for name, value in (initial or {}).items():
        simulator, variable = endpoint(name)
        starts[simulator].append(
            f'        <InitialValue variable={quoteattr(variable)}><Real value="{float(value)!r}"/></InitialValue>'
        )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<OspSystemStructure xmlns="{NAMESPACE}" version="0.1">',
        "  <StartTime>0.0</StartTime>",
        f"  <BaseStepSize>{step!r}</BaseStepSize>",
        "  <Algorithm>fixedStep</Algorithm>",
        "  <Simulators>",
    ]
    for name, fmu in simulators.items():
        source = Path(os.path.relpath(fmu, path.parent)).as_posix()
        lines.append(f"    <Simulator name={quoteattr(name)} source={quoteattr(source)}>")
        if starts[name]:
            lines += ["      <InitialValues>", *starts[name], "      </InitialValues>"]
        lines.append("    </Simulator>")
    lines += ["  </Simulators>", "  <Connections>"]
    for pair in connections:
        lines.append("    <VariableConnection>")
        for simulator, variable in map(endpoint, pair):
            lines.append(f"      <Variable simulator={quoteattr(simulator)} name={quoteattr(variable)}/>")
        lines.append("    </VariableConnection>")
    lines += ["  </Connections>", "</OspSystemStructure>", ""]

    def write(beside: Path) -> None:
        beside.write_text("\n".join(lines), encoding="utf-8")

    write_whole(path, write)
