"""XML of system descriptions: elements by their plain names, numbers and truth values, and what is not understood."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree

from kingpost.base.errors import FileError, closest
from kingpost.fmu.cosim.description.system import CosimError

Element = ElementTree.Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")


def parsed(path: Path) -> Element:
    """Return the root of an XML file."""
    try:
        return ElementTree.parse(path).getroot()
    except FileNotFoundError:
        raise FileError(f"there is no file '{path}'") from None
    except (ElementTree.ParseError, LookupError, ValueError, OSError) as error:  # LookupError: of an encoding
        raise FileError(f"'{path.name}' cannot be read as XML: {error}") from None


def plain(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def child(element: Element | None, name: str) -> Element | None:
    """Return the first child of a name."""
    return next(iter(children(element, name)), None)


def children(element: Element | None, name: str | None = None) -> list[Element]:
    """Return all children, or those of a name; of nothing, none."""
    if element is None:
        return []
    return [entry for entry in element if isinstance(entry.tag, str) and (name is None or plain(entry) == name)]


def attribute(element: Element, name: str, where: str) -> str:
    """Return an attribute that must be there."""
    text = element.get(name)
    if text is None:
        raise CosimError(f"{where}: <{plain(element)}> lacks '{name}'")
    return text


def number(text: str, where: str) -> float:
    """Return a finite number."""
    value = float(text.strip()) if _NUMBER.match(text.strip()) else math.nan
    if not math.isfinite(value):
        raise CosimError(f"{where}: {_short(text)} is not a finite number")
    return value


def whole(text: str, where: str) -> int:
    """Return a whole number, as it stands in 64 bits."""
    if not re.match(r"[+-]?\d{1,19}\Z", text.strip()):
        raise CosimError(f"{where}: {_short(text)} is not a whole number")
    return int(text)


def truth(text: str | None, where: str) -> bool:
    """Return a truth value; false if none is given."""
    known = {None: False, "false": False, "0": False, "true": True, "1": True}
    key = None if text is None else text.strip()
    if key not in known:
        raise CosimError(f"{where}: {_short(str(text))} is neither true nor false")
    return known[key]


def check_known(element: Element, where: str, *, applied: Collection[str] = (), attributes: Collection[str] = ()) -> None:
    """Refuse children and attributes by name that are neither understood nor without effect on numbers."""
    for entry in children(element):
        name = plain(entry)
        if name not in applied and name not in DECORATION:
            raise CosimError(f"{where}: <{name}> is not understood here{closest(name, applied)}")
    for name in element.attrib:
        # Those with a namespace belong to others, such as xsi:schemaLocation.
        if not name.startswith("{") and name not in attributes and name not in ("id", "description"):
            raise CosimError(
                f'{where}: the attribute {name}="{element.get(name)}" of <{plain(element)}> is not understood here'
            )


#: What pictures, notes, signatures and other tools put into a description: it changes no number.
DECORATION = frozenset(
    ("Annotations", "MetaData", "Signature", "ElementGeometry", "ConnectorGeometry", "ConnectionGeometry", "SystemGeometry")
    + ("GraphicalElements",)
)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
