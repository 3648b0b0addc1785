"""Systems from SSP: archives with their FMUs, and bare .ssd files beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, listed
from kingpost.base.scratch import Scratch
from kingpost.fmu.cosim.description.markup import Element, attribute, check_known, child, children, number, plain
from kingpost.fmu.cosim.description.ssp.network import Network, Way
from kingpost.fmu.cosim.description.ssp.package import Package, unpack
from kingpost.fmu.cosim.description.ssp.parameters import Settings
from kingpost.fmu.cosim.description.ssp.structure import (
    ANNOTATION,
    OSP_ANNOTATION,
    ElementPath,
    Structure,
    annotated,
    read_structure,
)
from kingpost.fmu.cosim.description.steps import fitting_step
from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, System


@contextmanager
def open_ssp(path: str | Path) -> Iterator[System]:
    """Give the system in an SSP archive, unpacked for as long as it is needed."""
    with Scratch("ssp") as folder:
        yield read_ssp(path, folder / "package")


def read_ssp(path: str | Path, folder: str | Path) -> System:
    """Unpack an SSP archive into ``folder`` and return its system.

    Nested systems are flattened, with names ``outer/inner``. Everything that changes a number is applied, or refused by name:
    units, transformations, parameter values with their prefixes and mappings. Signal dictionaries and components that are not
    FMUs are refused. No file outside the archive is read.
    """
    return _system(unpack(Path(path), Path(folder)), Path(path).stem)


def read_ssd(path: str | Path) -> System:
    """Return the system in a bare .ssd file; FMUs and other files are relative to its folder."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file '{path}'")
    return _system(Package(path.parent, path.name, closed=False), path.stem)


def _system(package: Package, name: str) -> System:
    structure = read_structure(package)
    network = Network(structure)
    settings = Settings(structure, network)
    names = _component_names(structure)
    run = _run(structure)
    components = []
    for path, part in structure.components.items():
        step, note = fitting_step(names[path], part.step, run.get("step"))
        if note:
            structure.notes.say(("step", path), note)
        components.append(Component(names[path], fmu=part.fmu, settings=settings.of[path], step=step, interface=part.interface))
    connections = tuple(_connection(structure, way, names) for way in network.ways())
    return System(
        structure.root.get("name") or name,
        tuple(components),
        connections,
        description=structure.root.get("description") or "",
        notes=structure.notes.all(),
        **run,
    )


def _component_names(structure: Structure) -> dict[ElementPath, str]:
    """Return what components are called in results: dots separate them from their variables there."""
    names = {path: "/".join(path).replace(".", "_") for path in structure.components}
    for path, name in names.items():
        others = ["/".join(other) for other in names if names[other] == name and other != path]
        if others:
            raise CosimError(f"components '{'/'.join(path)}' and {listed(others)} would both be called '{name}' in results")
    return names


def _connection(structure: Structure, way: Way, names: Mapping[ElementPath, str]) -> Connection:
    source, target = (structure.components[place.path] for place in (way.source, way.target))
    where = f"connection from '{way.source}' to '{way.target}'"
    change, table, kind = way.change, {}, source.variable(way.source.connector, where).declared.type
    if change.table is not None:
        table = dict(change.table)
        if change.by_name:
            tables = [
                part.variable(place.connector, where).items() for part, place in ((source, way.source), (target, way.target))
            ]
            defined = {item: value for items in structure.enumerations.values() for item, value in items.items()}
            table = {
                _item(a, tables[0] or defined, where): _item(b, tables[1] or defined, where) for a, b in change.table.items()
            }
        elif any(isinstance(value, bool) for value in table) != (kind == "Boolean"):
            raise CosimError(f"{where}: its table of values is not for a {kind}")
    return Connection(
        f"{names[way.source.path]}.{way.source.connector}",
        f"{names[way.target.path]}.{way.target.connector}",
        # Units are part of the change already.
        factor=change.factor if change.linear or target.variable(way.target.connector, where).real else None,
        offset=change.offset,
        hold=way.hold,
        table=tuple((float(a), float(b)) for a, b in table.items()),
    )


def _item(name: str, items: Mapping[str, int], where: str) -> int:
    if name not in items:
        raise CosimError(f"{where}: there is no item '{name}' in its enumeration; there are {listed(items)}")
    return items[name]


def _run(structure: Structure) -> dict[str, Any]:
    """Return times, communication step and master, as far as the structure and annotations of known tools give them."""
    experiment, run = child(structure.root, "DefaultExperiment"), _noted(structure.root)
    if experiment is not None:
        check_known(experiment, "DefaultExperiment", attributes=("startTime", "stopTime"))
        for key, name in (("t_start", "startTime"), ("t_end", "stopTime")):
            text = experiment.get(name)
            if text is not None:
                run[key] = number(text, f"DefaultExperiment: {name}")
    return run


def _noted(root: Element) -> dict[str, Any]:
    """Return what Kingpost, or for want of it the Open Simulation Platform or OMSimulator, keeps in annotations."""
    experiment, system = child(root, "DefaultExperiment"), child(root, "System")
    owners = [owner for owner in (experiment, root, system) if owner is not None]
    for owner in owners:
        for entry in annotated(owner, ANNOTATION):
            kept: dict[str, Any] = {}
            if entry.get("step"):
                kept["step"] = number(str(entry.get("step")), f"annotation {ANNOTATION}: step")
            if entry.get("master"):
                kept["master"] = str(entry.get("master"))
            return kept
    for owner in owners:
        for entry in annotated(owner, OSP_ANNOTATION):
            for algorithm in children(entry) if plain(entry) == "Algorithm" else ():
                where = f"annotation {OSP_ANNOTATION}: {plain(algorithm)}"
                if plain(algorithm) != "FixedStepAlgorithm":
                    raise CosimError(f"{where} is not known; FixedStepAlgorithm is")
                return {"step": number(attribute(algorithm, "baseStepSize", where), where), "master": "jacobi"}
        for entry in annotated(owner, "org.openmodelica"):
            for master in entry.iter():
                if plain(master) == "FixedStepMaster" and master.get("stepSize"):
                    return {"step": number(str(master.get("stepSize")), "annotation org.openmodelica: stepSize")}
    return {}
