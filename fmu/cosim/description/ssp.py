"""SSP 1.0 archives: a coupled system with its FMUs in one file, read."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kingpost.base.errors import FileError, listed
from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, System
from kingpost.fmu.file.archive_limits import check_limits
from kingpost.fmu.file.opened import path_fault

STRUCTURE = "SystemStructure.ssd"
FMU_TYPE = "application/x-fmu-sharedlibrary"
#: The annotation in which Kingpost keeps what SSP has no place for: communication step and master.
ANNOTATION = "kingpost.cosim"
#: A place in a structure: the systems that lead to it, then the element; and a connector of it.
Place = tuple[tuple[str, ...], str]


@contextmanager
def open_ssp(path: str | Path) -> Iterator[System]:
    """Give the system in an SSP archive, unpacked for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="kingpost-ssp-") as folder:
        yield read_ssp(path, folder)


def read_ssp(path: str | Path, folder: str | Path) -> System:
    """Unpack an SSP archive into ``folder`` and return its system; nested systems are flattened, with names ``outer/inner``.

    Parameter values are read from bindings, inline or in .ssv files, with their prefix; parameter mappings and signal
    dictionaries are refused, as are components that are not FMUs.
    """
    path, folder = Path(path), Path(folder)
    try:
        with zipfile.ZipFile(path) as archive:
            check_limits(archive, path)
            members = [name for name in archive.namelist() if not path_fault(name)]
            archive.extractall(folder, members)
    except FileNotFoundError:
        raise FileError(f"there is no file '{path}'") from None
    except (OSError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise FileError(f"'{path}' is not an SSP archive, which would be a ZIP archive: {error}") from None
    if STRUCTURE not in members:
        raise FileError(f"'{path}' holds no {STRUCTURE}, so it is not an SSP archive")
    root = _parsed(folder / STRUCTURE)
    system = _child(root, "System")
    if system is None:
        raise FileError(f"'{path}': {STRUCTURE} holds no System")
    reader = _Reader(folder)
    reader.read_system(system, ())
    experiment = _child(root, "DefaultExperiment")
    times: dict[str, Any] = {}
    for key, attribute in (("t_start", "startTime"), ("t_end", "stopTime")):
        text = None if experiment is None else experiment.get(attribute)
        if text is not None:
            times[key] = float(text)
    name = root.get("name") or system.get("name") or path.stem
    return System(
        name, reader.components(), reader.connections(), description=root.get("description") or "", **times, **_kept(root)
    )


@dataclass
class _Reader:
    """Collects elements and connections of a structure and all systems in it."""

    folder: Path
    elements: dict[tuple[str, ...], ElementTree.Element] = field(default_factory=dict)
    values: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    #: What feeds a place, and how.
    feeds: dict[Place, tuple[Place, ElementTree.Element]] = field(default_factory=dict)

    def read_system(self, system: ElementTree.Element, where: tuple[str, ...]) -> None:
        if _child(system, "SignalDictionaries") is not None:
            raise CosimError(f"{STRUCTURE}: signal dictionaries are not understood; connect the components directly")
        self._bind(system, where)
        for element in _child(system, "Elements") or ():
            name = (*where, str(element.get("name")))
            kind = _plain(element.tag)
            if kind == "System":
                self.read_system(element, name)
            elif kind == "Component" and element.get("type", FMU_TYPE) == FMU_TYPE:
                self.elements[name] = element
                self._bind(element, name)
            else:
                raise CosimError(
                    f"{STRUCTURE}: element '{'/'.join(name)}' is a {kind} of type {element.get('type')}; only FMUs can be run"
                )
        for connection in _child(system, "Connections") or ():
            ends = []
            for end in ("start", "end"):
                element_name = connection.get(f"{end}Element")
                place = where if element_name is None else (*where, element_name)
                ends.append((place, str(connection.get(f"{end}Connector"))))
            self.feeds[ends[1]] = (ends[0], connection)

    def _bind(self, owner: ElementTree.Element, where: tuple[str, ...]) -> None:
        for binding in _child(owner, "ParameterBindings") or ():
            if _child(binding, "ParameterMapping") is not None:
                raise CosimError(f"{STRUCTURE}: parameter mappings are not understood; name the parameters as the FMU does")
            inline = _child(binding, "ParameterValues")
            if inline is not None:
                sets = list(inline)
            elif binding.get("source"):
                sets = [_parsed(self.folder / str(binding.get("source")))]
            else:
                sets = []
            prefix = binding.get("prefix") or ""
            for parameters in sets:
                for parameter in _child(parameters, "Parameters") or ():
                    self._set(where, prefix + str(parameter.get("name")), parameter)

    def _set(self, where: tuple[str, ...], name: str, parameter: ElementTree.Element) -> None:
        value = next(iter(parameter), None)
        if value is None or value.get("value") is None:
            return
        text = str(value.get("value"))
        numbers: dict[str, Any] = {"Real": float, "Integer": int}
        self.values.setdefault(where, {})[name] = numbers.get(_plain(value.tag), str)(text)

    def components(self) -> tuple[Component, ...]:
        """Return the FMUs with the values that are bound to them, by the inner system last."""
        found = []
        for name, element in self.elements.items():
            settings: dict[str, Any] = {}
            for depth in range(len(name), -1, -1):
                rest = ".".join(name[depth:])
                for key, value in self.values.get(name[:depth], {}).items():
                    if not rest:
                        settings[key] = value
                    elif key.startswith(f"{rest}."):
                        settings[key[len(rest) + 1 :]] = value  # an outer binding has the last word
            source = self.folder / str(element.get("source"))
            found.append(Component("/".join(name), fmu=source, settings=settings))
        if not found:
            raise CosimError(f"{STRUCTURE} holds no components")
        return tuple(found)

    def connections(self) -> tuple[Connection, ...]:
        """Return what feeds each input of an FMU, through the connectors of the systems between them."""
        found = []
        for target in self.feeds:
            if target[0] not in self.elements:
                continue
            factor, offset, changed, convert = 1.0, 0.0, False, True
            place = target
            passed: set[Place] = set()
            while place not in passed and place in self.feeds:
                passed.add(place)
                place, connection = self.feeds[place]
                convert = convert and connection.get("suppressUnitConversion") not in ("true", "1")
                change = _child(connection, "LinearTransformation")
                if change is not None:
                    a, b = float(change.get("factor", "1")), float(change.get("offset", "0"))
                    factor, offset, changed = factor * a, offset + factor * b, True
                if place[0] in self.elements:
                    break
            if place[0] not in self.elements:
                continue  # an input of the whole system, which nobody feeds
            start, end = (f"{'/'.join(name)}.{connector}" for name, connector in (place, target))
            # With a transformation, units are those of the values before and after it, so none is converted besides.
            given = factor if changed or not convert else None
            found.append(Connection(start, end, factor=given, offset=offset, convert=convert))
        return tuple(found)


def _kept(root: ElementTree.Element) -> dict[str, Any]:
    """Return what Kingpost kept in an annotation: communication step and master."""
    for annotation in root.iter():
        if _plain(annotation.tag) == "Annotation" and annotation.get("type") == ANNOTATION:
            for run in annotation:
                kept: dict[str, Any] = {}
                if run.get("step"):
                    kept["step"] = float(str(run.get("step")))
                if run.get("master"):
                    kept["master"] = str(run.get("master"))
                return kept
    return {}


def _parsed(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except FileNotFoundError:
        there = sorted(member.name for member in path.parent.iterdir()) if path.parent.is_dir() else []
        raise FileError(f"the SSP archive holds no '{path.name}' where it is named; there are {listed(there)}") from None
    except ElementTree.ParseError as error:
        raise FileError(f"'{path.name}' in the SSP archive is not XML: {error}") from None


def _child(element: ElementTree.Element, name: str) -> ElementTree.Element | None:
    return next((child for child in element if _plain(child.tag) == name), None)


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]
