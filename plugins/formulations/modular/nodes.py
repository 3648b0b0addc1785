"""The tree of subsystems of a mechanism: bodies are its leaves, and joints and closures belong to where their sides meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.subsystems import innermost, meeting


@dataclass(frozen=True)
class Node:
    """A subsystem, or the whole machine, whose name is empty: its parts, and what holds them together."""

    name: str
    #: Bodies that belong to it directly, base first.
    bodies: tuple[str, ...]
    children: tuple[Node, ...]
    #: Joints between its parts, base first, and closures between them: its external constraints.
    joints: tuple[Joint, ...]
    closures: tuple[Closure, ...]

    @property
    def all_bodies(self) -> tuple[str, ...]:
        """Its own bodies and those of all subsystems within it."""
        return (*self.bodies, *(body for child in self.children for body in child.all_bodies))

    def walk(self) -> Iterator[Node]:
        """Yield all subsystems within it, innermost first, and itself."""
        for child in self.children:
            yield from child.walk()
        yield self


def node_tree(mechanism: Mechanism) -> Node:
    """Return the tree of subsystems; one level, all bodies side by side, where the mechanism names none."""
    groups = mechanism.subsystems
    owner = innermost(groups)
    joint_of = {joint.name: meeting(groups, (joint.parent, joint.child)) for joint in mechanism.joints}
    closure_of = {closure.name: meeting(groups, closure_bodies(mechanism, closure)) for closure in mechanism.closures}

    def built(name: str) -> Node:
        return Node(
            name,
            bodies=tuple(joint.child for joint in mechanism.tree if owner.get(joint.child, "") == name),
            children=tuple(built(group.name) for group in groups if group.within == name),
            joints=tuple(joint for joint in mechanism.tree if joint_of[joint.name] == name),
            closures=tuple(closure for closure in mechanism.closures if closure_of[closure.name] == name),
        )

    return built("")


def closure_bodies(mechanism: Mechanism, closure: Closure) -> list[str]:
    """Return the bodies that a closure concerns: those it ties, and both sides of the joints whose coordinates it names."""
    tied = [name for name in (closure.parent, closure.child) if name]
    for coordinate in closure.coordinates:
        joint = next(joint for joint in mechanism.joints if coordinate in {quantity.name for quantity in joint.positions})
        tied += [joint.parent, joint.child]
    return tied
