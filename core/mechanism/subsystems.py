"""Subsystems: named groups of bodies, one within the other, in which a machine is put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields
from kingpost.mechanism.elements import check_name


@dataclass(frozen=True)
class Group:
    """A subsystem of a machine: some of its bodies, and the subsystems within it.

    Joints and closures are nobody's: each belongs to the innermost subsystem that holds both of its sides. What is in no
    subsystem belongs to the machine itself. Motions do not depend on how a machine is divided.

    Parameters
    ----------
    bodies
        The bodies that belong to it directly; those of subsystems within it are not named again.
    within
        The subsystem that it is a part of; the machine itself, if nothing is said.

    """

    name: str
    bodies: tuple[str, ...] = ()
    within: str = ""

    def __post_init__(self) -> None:
        check_name("subsystem", self.name)
        convert_fields(self, f"subsystem '{self.name}'")


def check_groups(groups: Sequence[Group], bodies: Iterable[str]) -> None:
    """Refuse subsystems that share bodies, name what is not there, are empty, or are within each other."""
    known, names = sorted(bodies), [group.name for group in groups]
    owner: dict[str, str] = {}
    for i, group in enumerate(groups):
        for body in group.bodies:
            if body not in known:
                raise MechanismError(
                    f"subsystem '{group.name}': '{body}' is not a body{closest(body, known)} Bodies: {listed(known)}.",
                    path=("subsystems", i, "bodies"),
                )
            if body in owner:
                both = f"twice in '{group.name}'" if owner[body] == group.name else f"in '{owner[body]}' and in '{group.name}'"
                raise MechanismError(
                    f"body '{body}' is {both}; a body belongs to one subsystem, and those around it have it through that one",
                    path=("subsystems", i, "bodies"),
                )
            owner[body] = group.name
        if group.within and group.within not in names:
            raise MechanismError(
                f"subsystem '{group.name}' is within '{group.within}', which is not a subsystem{closest(group.within, names)} "
                f"Subsystems: {listed(names)}.",
                path=("subsystems", i, "within"),
            )
    _refuse_circles(groups)
    filled = {group.within for group in groups}
    for i, group in enumerate(groups):
        if not group.bodies and group.name not in filled:
            raise MechanismError(
                f"subsystem '{group.name}' is empty; give it bodies, or say of other subsystems that they are within it",
                path=("subsystems", i),
            )


def _refuse_circles(groups: Sequence[Group]) -> None:
    around = {group.name: group.within for group in groups}
    for i, group in enumerate(groups):
        path = [group.name]
        while around[path[-1]]:
            path.append(around[path[-1]])
            if path[-1] == group.name:
                raise MechanismError(
                    f"the subsystems {' -> '.join(path)} are within each other; take 'within' from one of them",
                    path=("subsystems", i, "within"),
                )
            if len(path) > len(groups):
                break  # a circle that this one is not part of is found from its own members


def innermost(groups: Sequence[Group]) -> Mapping[str, str]:
    """Return the subsystem that each body belongs to directly; the machine itself, "", of those that are not named."""
    return {body: group.name for group in groups for body in group.bodies}


def chain_of(groups: Sequence[Group], name: str) -> tuple[str, ...]:
    """Return a subsystem and all around it, the machine itself, "", last."""
    around = {group.name: group.within for group in groups}
    chain = [name]
    while chain[-1]:
        chain.append(around[chain[-1]])
    return tuple(chain)


def meeting(groups: Sequence[Group], bodies: Iterable[str]) -> str:
    """Return the innermost subsystem that holds all of ``bodies``; the world, and what is in none, is the machine's, ""."""
    owner = innermost(groups)
    chains = [chain_of(groups, owner.get(body, "")) for body in bodies]
    common = [name for name in chains[0] if all(name in chain for chain in chains[1:])] if chains else [""]
    return common[0]
