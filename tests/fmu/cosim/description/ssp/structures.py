"""Small system structures around a relay FMU, packed as archives."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kingpost.fmu.cosim import cosimulate, open_ssp
from kingpost.fmu.cosim.description.ssp.package import STRUCTURE
from kingpost.results.history import History

SPACES = " ".join(
    f'xmlns:ss{letter}="http://ssp-standard.org/SSP1/SystemStructure{name}"'
    for letter, name in (("d", "Description"), ("c", "Common"), ("v", "ParameterValues"), ("m", "ParameterMapping"))
)


def component(name: str, inner: str = "", source: str = "resources/relay.fmu", more: str = "") -> str:
    return f'<ssd:Component name="{name}" source="{source}" {more}>{inner}</ssd:Component>'


def connection(start: str, end: str, inner: str = "", more: str = "") -> str:
    """A connection of ``"a.y"``, or of ``"in"``, which is a connector of the system itself."""
    words = []
    for side, text in (("start", start), ("end", end)):
        element, _, connector = text.rpartition(".")
        words.append((f'{side}Element="{element}" ' if element else "") + f'{side}Connector="{connector}"')
    return f"<ssd:Connection {' '.join(words)} {more}>{inner}</ssd:Connection>"


def system(elements: str, connections: str = "", bindings: str = "", connectors: str = "", name: str = "root") -> str:
    parts = {"Connectors": connectors, "ParameterBindings": bindings, "Elements": elements, "Connections": connections}
    inner = "".join(f"<ssd:{key}>{text}</ssd:{key}>" for key, text in parts.items() if text)
    return f'<ssd:System name="{name}">{inner}</ssd:System>'


def connector(name: str, kind: str = "", unit: str = "") -> str:
    words = (f'kind="{kind}"' if kind else "", f'unit="{unit}"' if unit else "")
    return f'<ssd:Connector name="{name}" {words[0]}><ssc:Real {words[1]}/></ssd:Connector>'


def binding(*parameters: str, more: str = "", mapping: str = "", units: str = "", enumerations: str = "") -> str:
    """An inline binding of parameters as :func:`real` and others write them."""
    inner = f'<ssv:ParameterSet version="1.0" name="set"><ssv:Parameters>{"".join(parameters)}</ssv:Parameters>'
    inner += (f"<ssv:Enumerations>{enumerations}</ssv:Enumerations>" if enumerations else "") + units + "</ssv:ParameterSet>"
    return f"<ssd:ParameterBinding {more}><ssd:ParameterValues>{inner}</ssd:ParameterValues>{mapping}</ssd:ParameterBinding>"


def parameter(name: str, value: object, kind: str = "Real", more: str = "") -> str:
    return f'<ssv:Parameter name="{name}"><ssv:{kind} value="{value}" {more}/></ssv:Parameter>'


def mapping(*entries: str) -> str:
    inner = f'<ssm:ParameterMapping version="1.0">{"".join(entries)}</ssm:ParameterMapping>'
    return f"<ssd:ParameterMapping>{inner}</ssd:ParameterMapping>"


def entry(source: str, target: str, inner: str = "", more: str = "") -> str:
    return f'<ssm:MappingEntry source="{source}" target="{target}" {more}>{inner}</ssm:MappingEntry>'


def table(kind: str, *pairs: tuple[object, object]) -> str:
    """A table of values: ``table("Integer", (1, 2))``."""
    inner = "".join(f'<ssc:MapEntry source="{a}" target="{b}"/>' for a, b in pairs)
    return f"<ssc:{kind}MappingTransformation>{inner}</ssc:{kind}MappingTransformation>"


def structure(root: str, more: str = "", version: str = "1.0", name: str = "relays") -> str:
    words = f'{SPACES} version="{version}" name="{name}"'
    return f"<ssd:SystemStructureDescription {words}>{root}{more}</ssd:SystemStructureDescription>"


def standalone(element: str, inner: str, version: str = "1.0") -> str:
    """A file of its own: ``standalone("ssv:ParameterSet", ...)``."""
    return f'<?xml version="1.0"?><{element} {SPACES} version="{version}" name="set">{inner}</{element}>'


def pack(path: Path, text: str, fmus: Mapping[str, Path], files: Mapping[str, str | bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(STRUCTURE, text)
        for name, content in (files or {}).items():
            archive.writestr(name, content)
        for name, fmu in fmus.items():
            archive.write(fmu, f"resources/{name}.fmu")
    return path


def run(path: Path, **changes: object) -> History:
    """Run an archive for a few steps; every variable is recorded."""
    with open_ssp(path) as found:
        # In this process, which is quicker.
        components = tuple(replace(part, isolate=False) for part in found.components)
        return cosimulate(found.with_changes(components=components, t_end=0.05, record=("*",), **changes))
