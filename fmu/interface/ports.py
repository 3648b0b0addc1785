"""The ports of a model as members and variables: the same names on both sides, so that one can be plugged into the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from kingpost.base.load_frames import COMPONENTS
from kingpost.mechanism.port_names import MOTION, TRIANGLE, TWIST

#: Kind of our terminals in FMI 3: motion one way, wrench and interface inertia the other.
TERMINAL_KIND = "kingpost.mechanical6"
_POSES = {6: ("x", "y", "z", "roll", "pitch", "yaw"), 7: ("x", "y", "z", "qw", "qx", "qy", "qz")}
_INERTIA = tuple(f"A{i}{j}" for i, j in TRIANGLE)


def port_members(
    definition: Mapping[str, Any], variables: set[str], names: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Return the members of each port of a model, given as plain data, and the variables that they are, where both are shown.

    Inputs count as members where they stand alone, not in formulas. ``names`` says what variables of the model are called
    where they are shown, if that is something else.
    """
    names = names or {}
    found: dict[str, dict[str, str]] = {}
    for port in definition.get("ports", []):
        name = port["name"]
        if port.get("body"):
            members = {member: f"{name}.{member}" for member, _ in MOTION}
            members |= _carried(definition, port)
        else:
            members = {member: f"{name}.{member}" for member in (*COMPONENTS, "power")}
            members |= {f"free.{member}": f"{name}.free.{member}" for member in COMPONENTS}
            members |= {member: f"{name}.{member}" for member in _INERTIA}
            members |= _driven(definition, port.get("joint", ""))
        called = {member: names.get(variable, variable) for member, variable in members.items()}
        shown = {member: variable for member, variable in called.items() if variable in variables}
        if shown:
            found[name] = shown
    return found


def _joint(definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a joint of a definition; an empty one if there is none, for definitions come from files of others."""
    return next((item for item in definition.get("joints", []) if item["name"] == name), {})


def _driven(definition: Mapping[str, Any], joint: str) -> dict[str, str]:
    """Return the inputs that give the motion of a joint."""
    entry = _joint(definition, joint)
    pose = entry.get("pose") or ()
    if len(pose) not in _POSES:
        return {}
    members = dict(zip(_POSES[len(pose)], map(str, pose), strict=True))
    members |= dict(zip(TWIST, map(str, entry.get("twist", [])), strict=False))
    members |= dict(zip((f"{name}_rate" for name in TWIST), map(str, entry.get("twist_rate", [])), strict=False))
    return {**members, "t": str(entry.get("since", ""))}


def _carried(definition: Mapping[str, Any], port: Mapping[str, Any]) -> dict[str, str]:
    """Return the inputs through which something at the place of a port acts on its body."""
    place = [port.get("body"), list(port.get("position", (0, 0, 0))), list(port.get("rotation", (0, 0, 0)))]
    members: dict[str, str] = {}
    for force in definition.get("forces", []):
        at = [force.get("body"), list(force.get("position", (0, 0, 0))), list(force.get("rotation", (0, 0, 0)))]
        if force["kind"] == "carried-load" and at == place:
            inertia = list(force.get("inertia", ()))
            names = [f"free.{member}" for member in COMPONENTS] if inertia else list(COMPONENTS)
            members |= dict(zip(names, map(str, force.get("wrench", ())), strict=False))
            members |= dict(zip(_INERTIA, map(str, inertia), strict=False))
    return members


def continuing_inputs(definition: Mapping[str, Any]) -> frozenset[str]:
    """Return the inputs of given joints that go on by themselves from the time ``since`` which they were true."""
    found: set[str] = set()
    for joint in definition.get("joints", []):  # a signal block has none
        if joint.get("since") is not None:
            found |= {str(joint["since"]), *map(str, (*(joint.get("pose") or ()), *(joint.get("twist") or ())))}
    return frozenset(found)


def unfelt_inputs(definition: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return by output the inputs that it does not depend on at once, though its expression says so.

    What a port shows of its machine without acceleration does not depend on the rate of its twist; with ``since`` it will, but
    not at the time at which the motion is given.
    """
    found: dict[str, frozenset[str]] = {}
    for port in definition.get("ports", []):
        if port.get("joint"):
            rates = frozenset(map(str, _joint(definition, port["joint"]).get("twist_rate") or ()))
            names = [*(f"free.{member}" for member in COMPONENTS), *_INERTIA]
            found |= {f"{port['name']}.{member}": rates for member in names}
    return found


def terminals(ports: Mapping[str, Mapping[str, str]]) -> str:
    """Return the file terminalsAndIcons.xml of an FMU with FMI 3 for these ports."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<fmiTerminalsAndIcons fmiVersion="3.0">', "  <Terminals>"]
    for name, members in ports.items():
        lines.append(
            f'    <Terminal name={quoteattr(name)} matchingRule="bus" terminalKind="{TERMINAL_KIND}" '
            'description="motion of a frame in its axes, wrench about its origin, and interface inertia">'
        )
        lines += [
            f'      <TerminalMemberVariable variableKind="signal" memberName={quoteattr(member)} '
            f"variableName={quoteattr(variable)}/>"
            for member, variable in members.items()
        ]
        lines.append("    </Terminal>")
    return "\n".join([*lines, "  </Terminals>", "</fmiTerminalsAndIcons>", ""])
