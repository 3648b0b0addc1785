"""Coupled systems written for other tools: SSP 1.0 archives, and system structures of the Open Simulation Platform."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kingpost.base.errors import ExportError, listed
from kingpost.base.files import write_whole
from kingpost.fmu.cosim.components.described import Described
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.model import ModelComponent
from kingpost.fmu.cosim.description.ssp import ANNOTATION, FMU_TYPE, STRUCTURE
from kingpost.fmu.cosim.description.system import System
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.export.native.exporter import NativeFmu
from kingpost.fmu.osp.system_structure import write_osp_system
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.exporter import ExportSelection

SPACES = {
    "ssd": "http://ssp-standard.org/SSP1/SystemStructureDescription",
    "ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
    "ssv": "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
}
TYPES = {"real": "Real", "integer": "Integer", "boolean": "Boolean"}


def write_ssp(system: System, path: str | Path, plugins: PluginSet | None = None) -> Path:
    """Write a system with its FMUs as an SSP 1.0 archive; models become native FMUs (FMI 2). Return its path."""
    path = Path(path)
    plan = Plan.of(system, plugins)
    with tempfile.TemporaryDirectory(prefix="kingpost-ssp-") as place:
        fmus = _gathered(plan, Path(place))
        text = "\n".join(_structure(plan, fmus)) + "\n"

        def write(beside: Path) -> None:
            with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(STRUCTURE, text)
                for fmu in dict.fromkeys(fmus.values()):
                    archive.write(fmu, f"resources/{fmu.name}")

        write_whole(path, write)
    return path


def write_osp(system: System, folder: str | Path, plugins: PluginSet | None = None) -> Path:
    """Write OspSystemStructure.xml and the FMUs that it names into a folder; return the path of the former.

    libcosim's fixed-step algorithm then does what master 'jacobi' does here.
    """
    folder = Path(folder)
    plan = Plan.of(system, plugins)
    changed = [f"{wire.names[0]} -> {wire.names[1]}" for wire in plan.wires if wire.factor != 1 or wire.offset]
    if changed:
        raise ExportError(
            f"connections with a factor or offset cannot be written for the Open Simulation Platform here: {listed(changed)}; "
            "give the components the same units and signs"
        )
    folder.mkdir(parents=True, exist_ok=True)
    fmus = _gathered(plan, folder)
    initial = {
        f"{name}.{key}": float(value)
        for name, described in plan.components.items()
        if isinstance(described, FmuComponent)
        for key, value in described.settings.items()
        if described.signals[key].kind == "real"
    }
    target = folder / "OspSystemStructure.xml"
    write_osp_system(target, system.step, fmus, [wire.names for wire in plan.wires], initial)
    return target


def _gathered(plan: Plan, folder: Path) -> dict[str, Path]:
    """Put the FMU of every component into a folder: copies, and exports of models; FMUs of one content share a file."""
    fmus: dict[str, Path] = {}
    for name, described in plan.components.items():
        target = folder / f"{name.replace('/', '-')}.fmu"
        if isinstance(described, ModelComponent):
            needed = {output for owner, output in plan.recorded if owner == name}
            needed |= {wire.output for wire in plan.wires if wire.source == name}
            NativeFmu().export(described.model, ExportSelection(outputs=sorted(needed)), target)
        elif isinstance(described, FmuComponent):
            shutil.copyfile(described.fmu.path, target)
        fmus[name] = target
    return fmus


def _structure(plan: Plan, fmus: Mapping[str, Path]) -> Iterator[str]:
    system = plan.system
    spaces = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in SPACES.items())
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<ssd:SystemStructureDescription {spaces} version="1.0" name={quoteattr(system.name)} generationTool="Kingpost">'
    yield f"  <ssd:System name={quoteattr(system.name)}>"
    yield "    <ssd:Elements>"
    for name, described in plan.components.items():
        yield from _element(plan, name, described, fmus[name])
    yield "    </ssd:Elements>"
    if plan.wires:
        yield "    <ssd:Connections>"
        for wire in plan.wires:
            places = {"startElement": wire.source, "startConnector": wire.output}
            places |= {"endElement": wire.target, "endConnector": wire.input}
            ends = " ".join(f"{word}={quoteattr(text)}" for word, text in places.items())
            if wire.factor == 1 and not wire.offset:
                yield f"      <ssd:Connection {ends}/>"
            else:
                # Ours is the whole way from one number to the other, whatever the units.
                yield f'      <ssd:Connection {ends} suppressUnitConversion="true">'
                yield f'        <ssc:LinearTransformation factor="{wire.factor!r}" offset="{wire.offset!r}"/>'
                yield "      </ssd:Connection>"
        yield "    </ssd:Connections>"
    yield "  </ssd:System>"
    yield f'  <ssd:DefaultExperiment startTime="{system.t_start!r}" stopTime="{system.t_end!r}">'
    yield f'    <ssd:Annotations><ssc:Annotation type="{ANNOTATION}">'
    yield f'      <run step="{system.step!r}" master={quoteattr(_master(plan))}/>'
    yield "    </ssc:Annotation></ssd:Annotations>"
    yield "  </ssd:DefaultExperiment>"
    yield "</ssd:SystemStructureDescription>"


def _master(plan: Plan) -> str:
    """Return the master with its options, as a user would write it."""
    options = ",".join(f"{key}={_word(value)}" for key, value in vars(plan.master.options).items() if value is not None)
    return f"{plan.master.name}:{options}" if options else plan.master.name


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)


def _element(plan: Plan, name: str, described: Described, fmu: Path) -> Iterator[str]:
    yield f'      <ssd:Component name={quoteattr(name)} type="{FMU_TYPE}" source={quoteattr(f"resources/{fmu.name}")}>'
    yield "        <ssd:Connectors>"
    used = {wire.output for wire in plan.wires if wire.source == name} | {
        wire.input for wire in plan.wires if wire.target == name
    }
    for label in sorted(used):
        signal = described.signals[label]
        unit = f" unit={quoteattr(signal.unit)}" if signal.unit and signal.kind == "real" else ""
        yield (
            f'          <ssd:Connector name={quoteattr(label)} kind="{signal.causality}">'
            f"<ssc:{TYPES[signal.kind]}{unit}/></ssd:Connector>"
        )
    yield "        </ssd:Connectors>"
    # What was set in a model is in its FMU already.
    settings = described.settings if isinstance(described, FmuComponent) else {}
    if settings:
        yield "        <ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        yield '          <ssv:ParameterSet version="1.0" name="start values"><ssv:Parameters>'
        for key, value in settings.items():
            kind = TYPES[described.signals[key].kind] if key in described.signals else "String"
            written = f"<ssv:{kind} value={quoteattr(_word(value))}/>"
            yield f"            <ssv:Parameter name={quoteattr(key)}>{written}</ssv:Parameter>"
        yield "          </ssv:Parameters></ssv:ParameterSet>"
        yield "        </ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    yield "      </ssd:Component>"
