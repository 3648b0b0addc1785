"""Variable groups that an OspModelDescription.xml declares, in the order in which it lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class VariableGroup:
    """Variables of an FMU that belong together, and groups within the group."""

    name: str
    kind: str
    variables: tuple[str, ...]
    groups: tuple[VariableGroup, ...] = ()

    def all(self) -> Iterator[VariableGroup]:
        """Yield the group and all groups in it."""
        yield self
        for group in self.groups:
            yield from group.all()


def read_groups(path: Path) -> list[VariableGroup]:
    """Return the groups that a description declares; none if it is not there, or not XML."""
    try:
        root = ElementTree.parse(path).getroot()
        return [_group(entry) for groups in root if _plain(groups) == "VariableGroups" for entry in groups]
    except (OSError, ElementTree.ParseError, LookupError, ValueError, RecursionError):
        return []


def _group(element: ElementTree.Element) -> VariableGroup:
    variables = tuple(str(entry.get("ref")) for entry in element if _plain(entry) == "Variable")
    groups = tuple(_group(entry) for entry in element if _plain(entry) != "Variable")
    return VariableGroup(element.get("name") or "", _plain(element), variables, groups)


def _plain(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
