"""Ports of an FMU that an OspModelDescription.xml beside it declares."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from kingpost.fmu.osp.groups import VariableGroup, read_groups
from kingpost.fmu.osp.model_description import osp_path


def osp_ports(fmu: Path, variables: Container[str]) -> dict[str, dict[str, str]]:
    """Return the variable groups beside an FMU, by name; a member is the kind of its innermost group and its place in it.

    Two groups of one kind thus match place by place, whatever their variables are called, as they do in tools of the Open
    Simulation Platform.
    """
    ports = {}
    for group in read_groups(osp_path(fmu)):
        members = {member: name for member, name in _members(group) if name in variables}
        if members and group.name:
            ports[group.name] = members
    return ports


def _members(group: VariableGroup) -> Iterator[tuple[str, str]]:
    for place, name in enumerate(group.variables):
        yield f"{group.kind} {place + 1}", name
    for inner in group.groups:
        yield from _members(inner)
