"""Ports of an FMU that an OspModelDescription.xml beside it declares."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from xml.etree import ElementTree

from kingpost.fmu.osp.model_description import osp_path


def osp_ports(fmu: Path, variables: Container[str]) -> dict[str, dict[str, str]]:
    """Return the variable groups beside an FMU, by name; a member is the kind of its innermost group and its place in it.

    Two groups of one kind thus match place by place, whatever their variables are called, as they do in tools of the Open
    Simulation Platform.
    """
    path = osp_path(fmu)
    if not path.is_file():
        return {}
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, LookupError, ValueError, OSError):  # no XML, or in an unknown encoding
        return {}
    ports = {}
    for groups in root:
        if _plain(groups.tag) != "VariableGroups":
            continue
        for group in groups:
            members = {member: name for member, name in _members(group) if name in variables}
            if members and group.get("name"):
                ports[str(group.get("name"))] = members
    return ports


def _members(group: ElementTree.Element) -> Iterator[tuple[str, str]]:
    kind, place = _plain(group.tag), 0
    for entry in group:
        if _plain(entry.tag) == "Variable":
            place += 1
            yield f"{kind} {place}", str(entry.get("ref"))
        else:
            yield from _members(entry)


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]
