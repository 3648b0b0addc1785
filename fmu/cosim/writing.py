"""Coupled systems written for other tools: SSP 1.0 archives, and system structures of the Open Simulation Platform."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kingpost.base.errors import ExportError, listed
from kingpost.base.files import safe_name, write_whole
from kingpost.base.scratch import Scratch
from kingpost.fmu.cosim.components.described import Described
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.model import ModelComponent
from kingpost.fmu.cosim.description.ssp.package import STRUCTURE
from kingpost.fmu.cosim.description.ssp.structure import ANNOTATION, FMU_TYPE, OSP_ANNOTATION
from kingpost.fmu.cosim.description.system import System
from kingpost.fmu.cosim.masters.ecco import Ecco
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.cosim.slower import steps_together
from kingpost.fmu.cosim.wiring.wires import Wire
from kingpost.fmu.export.native.exporter import NativeFmu
from kingpost.fmu.osp.system_structure import OspFunction, write_osp_system
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.exporter import ExportSelection

SPACES = {
    "ssd": "http://ssp-standard.org/SSP1/SystemStructureDescription",
    "ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
    "ssv": "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
}
OSP_SPACE = "http://opensimulationplatform.com/SSP/OSPAnnotations"
#: The shortest time of libcosim, in s.
NANOSECOND = 1e-9
TYPES = {"real": "Real", "integer": "Integer", "boolean": "Boolean"}


def write_ssp(system: System, path: str | Path, plugins: PluginSet | None = None) -> Path:
    """Write a system with its FMUs as an SSP 1.0 archive; models become native FMUs (FMI 2). Return its path."""
    path = Path(path)
    plan = Plan.of(system, plugins)
    _refuse_paths(plan)
    sums = [wire.names[1] for wire in plan.wires if wire.add]
    if sums:
        raise ExportError(
            f"SSP has no sums, which feed {listed(dict.fromkeys(sums))}; add the outputs in a component of their own"
        )
    with Scratch("ssp") as place:
        fmus = _gathered(plan, place)
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

    libcosim's fixed-step algorithm then does what master 'jacobi' does here. Master 'ecco' becomes libcosim's algorithm of that
    name, with its options and power bonds; the steps differ, since there ``rtol`` is relative to the largest residual.
    """
    folder = Path(folder)
    plan = Plan.of(system, plugins)
    _refuse_paths(plan)
    plain, functions = _functions(plan)
    ecco, bonds = (_ecco(plan), _bonds(plan, plain)) if isinstance(plan.master, Ecco) else (None, {})
    folder.mkdir(parents=True, exist_ok=True)
    fmus = _gathered(plan, folder)
    described = {name: entry for name, entry in plan.components.items() if isinstance(entry, FmuComponent)}
    initial = {f"{name}.{key}": value for name, entry in described.items() for key, value in entry.settings.items()}
    exchanged = [name for name, entry in described.items() if entry.fmu.interface == "model-exchange"]
    if exchanged:
        raise ExportError(f"the Open Simulation Platform has no solver for FMUs for model exchange: {listed(exchanged)}")
    several = [name for name, value in initial.items() if isinstance(value, list)]
    if several:
        raise ExportError(f"arrays cannot be given start values for the Open Simulation Platform: {listed(several)}")
    steps = {name: entry.step for name, entry in described.items() if entry.step is not None and entry.step > system.step}
    target = folder / "OspSystemStructure.xml"
    write_osp_system(
        target, system.step, fmus, [wire.names for wire in plain], initial, functions=functions, ecco=ecco, bonds=bonds,
        steps=steps, t_start=system.t_start, t_end=system.t_end,
    )  # fmt: skip
    return target


def _ecco(plan: Plan) -> dict[str, float]:
    """Return the options of master 'ecco' as libcosim wants them: all of them, and nothing that steps in another way."""
    step, options = plan.system.step, plan.master.options
    given: dict[str, float] = vars(options) | options.limits(step)
    if not NANOSECOND <= given["shortest"] <= step <= given["longest"]:
        raise ExportError(
            f"libcosim's ecco takes shortest <= step <= longest, in whole nanoseconds; here they are {given['shortest']:g} s, "
            f"{step:g} s and {given['longest']:g} s"
        )
    unable = [name for name, entry in plan.components.items() if not entry.varies_steps or steps_together(entry, step) > 1]
    if unable:
        raise ExportError(
            f"ecco changes the communication steps, and these components take steps of one length only: {listed(unable)}"
        )
    return given


def _bonds(plan: Plan, plain: Sequence[Wire]) -> dict[tuple[str, str], str]:
    """Return the names of power bonds by their connections."""
    found: dict[tuple[str, str], str] = {}
    names = [bond.name for bond in plan.system.bonds]
    if not names:
        raise ExportError("the system declares no power bonds, from which libcosim's ecco would find the steps")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ExportError(
            f"power bonds of one name are one for the Open Simulation Platform: {listed(twice)}; give each its own"
        )
    for name, wires in zip(names, plan.bonds, strict=True):
        for wire in wires:
            said = f"power bond '{name}': its connection {' -> '.join(wire.names)}"
            if wire not in plain:
                raise ExportError(
                    f"{said} has a factor or offset, and the Open Simulation Platform has no bonds through functions"
                )
            if wire.names in found:
                raise ExportError(f"{said} carries '{found[wire.names]}', too; there, a connection carries one bond")
            found[wire.names] = name
    return found


def _refuse_paths(plan: Plan) -> None:
    """Refuse FMUs whose inputs follow paths; those of models are inside their FMUs."""
    driven = {name: entry.driven for name, entry in plan.components.items() if isinstance(entry, FmuComponent) and entry.driven}
    for name, inputs in driven.items():
        raise ExportError(
            f"component '{name}': {listed(inputs)} follow paths that only Kingpost knows; feed them from a component of their "
            "own, such as a signal block"
        )


def _functions(plan: Plan) -> tuple[list[Wire], list[OspFunction]]:
    """Return the connections that pass values as they are, and functions for the others."""
    plain: list[Wire] = []
    functions: list[OspFunction] = []
    sums: dict[str, list[Wire]] = {}
    for wire in plan.wires:
        if wire.add:
            sums.setdefault(wire.names[1], []).append(wire)
        elif wire.table:
            raise ExportError(
                f"{wire.names[0]} -> {wire.names[1]} replaces values by others, which the Open Simulation Platform cannot"
            )
        elif wire.factor == 1 and not wire.offset:
            plain.append(wire)
        else:
            name = f"change {len(functions) + 1}"
            functions.append(OspFunction(name, (wire.names[0],), wire.names[1], wire.factor, wire.offset))
    for target, wires in sums.items():
        if any(wire.factor != 1 or wire.offset for wire in wires):
            raise ExportError(
                f"'{target}' is a sum of what has factors or offsets, for which the Open Simulation Platform has no function; "
                "give the components the same units and signs"
            )
        functions.append(OspFunction(f"sum {len(functions) + 1}", tuple(wire.names[0] for wire in wires), target))
    return plain, functions


def _gathered(plan: Plan, folder: Path) -> dict[str, Path]:
    """Put the FMU of every component into a folder: copies, and exports of models; FMUs of one content share a file."""
    fmus: dict[str, Path] = {}
    taken: set[str] = set()
    for name, described in plan.components.items():
        target = folder / f"{_unique(safe_name(name).replace(' ', '-'), taken)}.fmu"
        if isinstance(described, ModelComponent):
            # A pattern of what is recorded may fit inputs and parameters, which FMUs show anyway.
            own = {output for owner, output in plan.recorded if owner == name}
            needed = {output for output in own if described.signals[output].causality not in ("input", "parameter")}
            needed |= {wire.output for wire in plan.wires if wire.source == name}
            NativeFmu().export(described.model, ExportSelection(outputs=sorted(needed)), target)
        elif isinstance(described, FmuComponent):
            shutil.copyfile(described.fmu.path, target)
        fmus[name] = target
    return fmus


def _unique(name: str, taken: set[str]) -> str:
    """Return a name that nobody has, whatever case a file system sees, and note it."""
    number, found = 1, name
    while found.lower() in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found.lower())
    return found


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
            inner = []
            if wire.table:
                inner.append(_table(wire, plan.components[wire.source].signals[wire.output].kind))
            elif wire.factor != 1 or wire.offset:
                inner.append(f'<ssc:LinearTransformation factor="{wire.factor!r}" offset="{wire.offset!r}"/>')
            # Ours is the whole way from one number to the other, whatever the units.
            raw = ' suppressUnitConversion="true"' if inner else ""
            if wire.hold:
                inner.append(_annotations({ANNOTATION: '<connection hold="true"/>'}))
            yield f"      <ssd:Connection {ends}{raw}>{''.join(inner)}</ssd:Connection>"
        yield "    </ssd:Connections>"
    yield "  </ssd:System>"
    yield from _units(plan)
    yield f'  <ssd:DefaultExperiment startTime="{system.t_start!r}" stopTime="{system.t_end!r}">'
    run = f'<run step="{system.step!r}" master={quoteattr(_master(plan))}/>'
    yield f"    {_annotations({ANNOTATION: run})}"
    yield "  </ssd:DefaultExperiment>"
    yield "</ssd:SystemStructureDescription>"


def _annotations(texts: Mapping[str, str]) -> str:
    entries = "".join(f'<ssc:Annotation type="{kind}">{text}</ssc:Annotation>' for kind, text in texts.items())
    return f"<ssd:Annotations>{entries}</ssd:Annotations>"


def _units(plan: Plan) -> Iterator[str]:
    """Yield the definitions of all units that connectors have; a name that nobody defines has none."""
    ends = [(wire.source, wire.output) for wire in plan.wires] + [(wire.target, wire.input) for wire in plan.wires]
    signals = [plan.components[name].signals[label] for name, label in ends]
    units = {signal.unit: signal.dimension for signal in signals if signal.unit and signal.dimension is not None}
    if units:
        yield "  <ssd:Units>"
        for name, unit in sorted(units.items()):
            powers = "".join(f' {base}="{power}"' for base, power in unit.exponents.items())
            scale = f'factor="{unit.factor!r}" offset="{unit.offset!r}"'
            yield f"    <ssc:Unit name={quoteattr(name)}><ssc:BaseUnit{powers} {scale}/></ssc:Unit>"
        yield "  </ssd:Units>"


def _table(wire: Wire, kind: str) -> str:
    if wire.factor != 1 or wire.offset:
        raise ExportError(f"{wire.names[0]} -> {wire.names[1]} has a table and a factor or offset; SSP takes one of them")
    words = ("false", "true")
    pairs = [(words[bool(a)], words[bool(b)]) if kind == "boolean" else (f"{a:.0f}", f"{b:.0f}") for a, b in wire.table]
    name = "BooleanMappingTransformation" if kind == "boolean" else "IntegerMappingTransformation"
    entries = "".join(f'<ssc:MapEntry source="{a}" target="{b}"/>' for a, b in pairs)
    return f"<ssc:{name}>{entries}</ssc:{name}>"


def _master(plan: Plan) -> str:
    """Return the master with its options, as a user would write it."""
    options = ",".join(f"{key}={_word(value)}" for key, value in vars(plan.master.options).items() if value is not None)
    return f"{plan.master.name}:{options}" if options else plan.master.name


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)


def _element(plan: Plan, name: str, described: Described, fmu: Path) -> Iterator[str]:
    exchanged = isinstance(described, FmuComponent) and described.fmu.interface == "model-exchange"
    kind = ' implementation="ModelExchange"' if exchanged else ""
    yield f'      <ssd:Component name={quoteattr(name)} type="{FMU_TYPE}" source={quoteattr(f"resources/{fmu.name}")}{kind}>'
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
            if isinstance(value, list):
                raise ExportError(f"'{name}.{key}' is an array, and SSP 1.0 has no start values for arrays")
            written = f"<ssv:{kind} value={quoteattr(_word(value))}/>"
            yield f"            <ssv:Parameter name={quoteattr(key)}>{written}</ssv:Parameter>"
        yield "          </ssv:Parameters></ssv:ParameterSet>"
        yield "        </ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    step = described.step if isinstance(described, FmuComponent) else None
    if step is not None:
        notes = {ANNOTATION: f'<component step="{step!r}"/>'}
        if step > plan.system.step:
            notes[OSP_ANNOTATION] = f'<osp:StepSizeHint xmlns:osp="{OSP_SPACE}" value="{step!r}"/>'
        yield f"        {_annotations(notes)}"
    yield "      </ssd:Component>"
