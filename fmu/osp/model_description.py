"""OspModelDescription.xml beside an FMU: its variables in groups with units, and ports that pair an effort with its flow.

The file says to tools of the Open Simulation Platform what belongs together, so that whole groups and ports can be connected.
It is made from the model description and the record in the FMU, so it fits whatever was selected for export.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from kingpost.base.errors import FileError
from kingpost.base.files import write_whole
from kingpost.base.units import parse_unit
from kingpost.fmu.file.archive_limits import check_limits
from kingpost.fmu.interface.ports import port_members

NAMESPACE = "https://open-simulation-platform.com/OspModelDescription/1.0.0"
#: Kinds of groups by the unit of their variables.
KIND_OF_UNIT = {
    "N": "Force",
    "N.m": "Torque",
    "m": "LinearDisplacement",
    "rad": "AngularDisplacement",
    "m/s": "LinearVelocity",
    "rad/s": "AngularVelocity",
    "m/s2": "LinearAcceleration",
    "rad/s2": "AngularAcceleration",
}
#: Ports by the kinds of their effort and flow.
PORTS = {("Force", "LinearVelocity"): "LinearMechanicalPort", ("Torque", "AngularVelocity"): "AngularMechanicalPort"}


@dataclass(frozen=True)
class Group:
    """Variables of one kind that belong together, at most three."""

    name: str
    kind: str
    variables: tuple[str, ...]


@dataclass(frozen=True)
class OspPort:
    """An effort and the flow that it works on."""

    name: str
    kind: str
    effort: Group
    flow: Group


def osp_path(fmu: Path) -> Path:
    """Return where tools look for the description of an FMU."""
    return fmu.with_name(f"{fmu.stem}_OspModelDescription.xml")


def write_osp_description(fmu: Path) -> Path:
    """Write the OSP description of an FMU that Kingpost exported, beside it, and return its path."""
    units, record = _read(fmu)
    ports = list(find_ports(units, record))
    taken = {name for port in ports for group in (port.effort, port.flow) for name in group.variables}
    groups = list(find_groups({name: unit for name, unit in units.items() if name not in taken}))
    text = "\n".join(_lines(units, ports, groups)) + "\n"
    path = osp_path(fmu)

    def write(beside: Path) -> None:
        beside.write_text(text, encoding="utf-8")

    write_whole(path, write)
    return path


def find_ports(units: Mapping[str, str], record: Mapping[str, Any]) -> Iterator[OspPort]:
    """Yield the ports of the model, and one for each input that is an effort on a joint coordinate whose rate is shown."""
    definition = record["model"]["definition"]
    for name, members in port_members(definition, set(units), record.get("names")).items():
        # The whole wrench is the effort; a carrier that takes the interface inertia knows only the part without acceleration.
        free = "" if "Fx" in members else "free."
        for letter, flow in (("F", "v"), ("M", "w")):
            efforts, flows = ([members.get(f"{stem}{axis}", "") for axis in "xyz"] for stem in (f"{free}{letter}", flow))
            if all(efforts) and all(flows):
                kinds = KIND_OF_UNIT[units[efforts[0]]], KIND_OF_UNIT[units[flows[0]]]
                label = f"{name} {free.replace('.', ' ')}{'linear' if letter == 'F' else 'angular'}"
                yield OspPort(
                    label,
                    PORTS[kinds],
                    Group(f"{label} effort", kinds[0], tuple(efforts)),
                    Group(f"{label} flow", kinds[1], tuple(flows)),
                )
    for force in record["model"]["definition"].get("forces", []):
        effort, coordinate = force.get("effort"), force.get("coordinate")
        if effort not in units or f"{coordinate}.rate" not in units:
            continue
        flow = f"{coordinate}.rate"
        kinds = KIND_OF_UNIT.get(units[effort], ""), KIND_OF_UNIT.get(units[flow], "")
        if kinds in PORTS:
            name = f"{coordinate} port"
            yield OspPort(
                name, PORTS[kinds], Group(f"{name} effort", kinds[0], (effort,)), Group(f"{name} rate", kinds[1], (flow,))
            )


def find_groups(units: Mapping[str, str]) -> Iterator[Group]:
    """Yield the variables that are components of one vector, and single ones of a mechanical kind."""
    triples: dict[str, list[str]] = {}
    for name in units:
        stem, last = name[:-1], name[-1]
        if last in "xyz":
            triples.setdefault(stem, []).append(name)
    used: set[str] = set()
    for stem, names in triples.items():
        kinds = {KIND_OF_UNIT.get(units[name]) for name in names}
        kind = kinds.pop()
        if len(names) == 3 and kind is not None and not kinds:
            used |= set(names)
            yield Group(_label(stem, kind), kind, tuple(sorted(names)))
    for name, unit in units.items():
        if name not in used and unit in KIND_OF_UNIT:
            yield Group(name, KIND_OF_UNIT[unit], (name,))


def _label(stem: str, kind: str) -> str:
    """Return a name for the vector whose components begin with ``stem``, such as ``slew.M`` or ``vessel_force_``."""
    words = {"Force": "force", "Torque": "moment", "LinearDisplacement": "position", "LinearVelocity": "velocity"}
    owner, word = re.sub(r"(\.[A-Za-z]*|_)$", "", stem), words.get(kind, kind)
    return owner if owner.endswith(word) else f"{owner} {word}"


def _lines(units: Mapping[str, str], ports: Sequence[OspPort], groups: Sequence[Group]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<OspModelDescription xmlns="{NAMESPACE}" version="1.0">'
    yield "  <UnitDefinitions>"
    shown = [group for port in ports for group in (port.effort, port.flow)] + list(groups)
    for name in sorted({units[variable] for group in shown for variable in group.variables}):
        unit = parse_unit(name)
        exponents = "".join(f' {base}="{exponent}"' for base, exponent in unit.exponents.items())
        scale = f'factor="{unit.factor!r}" offset="{unit.offset!r}"'
        yield f"    <Unit name={quoteattr(name)}><BaseUnit{exponents} {scale}/></Unit>"
    yield "  </UnitDefinitions>"
    yield "  <VariableGroups>"
    for port in ports:
        yield f"    <{port.kind} name={quoteattr(port.name)}>"
        yield from _group(port.effort, units, 6)
        yield from _group(port.flow, units, 6)
        yield f"    </{port.kind}>"
    for group in groups:
        yield from _group(group, units, 4)
    yield "  </VariableGroups>"
    yield "</OspModelDescription>"


def _group(group: Group, units: Mapping[str, str], indent: int) -> Iterator[str]:
    space = " " * indent
    yield f"{space}<{group.kind} name={quoteattr(group.name)}>"
    for variable in group.variables:
        yield f"{space}  <Variable ref={quoteattr(variable)} unit={quoteattr(units[variable])}/>"
    yield f"{space}</{group.kind}>"


def _read(fmu: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the units of inputs and outputs by name, and the record of the export."""
    try:
        with zipfile.ZipFile(fmu) as archive:
            check_limits(archive, fmu)
            tree = ElementTree.fromstring(archive.read("modelDescription.xml"))
            record = json.loads(archive.read("resources/kingpost.json"))
    except FileNotFoundError:
        raise FileError(f"there is no file '{fmu}'") from None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise FileError(f"'{fmu}' is no FMU that Kingpost exported ({error})") from None
    units = {}
    for element in tree.iterfind("ModelVariables/*"):
        if element.get("causality") in ("input", "output"):
            real = element.find("Real")
            units[str(element.get("name"))] = str((element if real is None else real).get("unit"))
    return units, record
