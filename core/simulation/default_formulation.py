"""Which formulation is taken where nobody says: the one that is estimated to take less time for an evaluation.

The estimate counts operations from the tree and its closures alone, so that a wrong one never costs a second derivation.

With d the freedoms from the world to a body, its own included, ``kane`` writes straight-line code of which the mass matrix is
the largest part: some 40 operations to carry each of d columns to the body and weight it, 11 for each of the d (d + 1) / 2
products of them, and d^2 for each freedom in the factorisation, which keeps the branches apart. Columns of slides are half
empty. In chains that makes n^3, in trees of short branches n. Each row of a closure takes some 80, and all rows that end in one
branch of the world are coupled: they are carried over its freedoms, multiplied and factorised together.

``recursive`` has some 220 operations for each body and 150 for each of its freedoms. Each row of a closure adds 50, and 70 in
every link between its ends and the body that they branch off from. Loops are short, so that it counts there that bodies on the
world, which hand nothing on, take a third of that, and the last ones of a branch, which carry nothing, two thirds.

Operations counted in the derived equations are within a factor of two of this for trees with six speeds and more, and for plane
loops, to which the numbers of closures were fitted. Loops in space with joints at any angle take several times more, in both.
Those of forces, which are the same in both, are not in it: of offshore-crane-cylinder it counts less than half for recursive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.mechanism.mechanism import Mechanism

#: An operation of ``recursive`` takes about so many of ``kane``: its links are functions, and what they hand on is copied. With
#: closures there is more of that.
RECURSIVE_OPERATION, CLOSED_OPERATION = 1.5, 2.4
#: Straight-line code of more operations takes a C compiler more than a minute.
LONGEST_CODE = 50_000
#: How many rows a closure of each kind has; others have about three.
ROWS = {
    "weld": 6, "revolute": 5, "prismatic": 5, "cylindrical": 4, "universal": 4, "point-on-line": 2, "point-on-plane": 1,
    "distance": 1, "rope": 1, "sheave": 1, "gear": 1, "slot": 1,
}  # fmt: skip
SOME_ROWS = 3


@dataclass(frozen=True)
class Choice:
    """The formulation that is taken where nobody says, why, and the operations that were estimated for each."""

    formulation: str
    reason: str
    operations: dict[str, int]

    def record(self) -> dict[str, Any]:
        """Return it for the provenance of a result."""
        return {"reason": self.reason, "estimated_operations": dict(self.operations)}


def chosen_formulation(mechanism: Mechanism) -> Choice:
    """Return ``kane``, or ``recursive`` where that is estimated to be faster, or to be built in reasonable time."""
    straight, recursive = kane_operations(mechanism), recursive_operations(mechanism)
    each = CLOSED_OPERATION if mechanism.closures else RECURSIVE_OPERATION
    estimates = {"kane": round(straight), "recursive": round(recursive)}
    compared = f"about {straight:.0f} operations with kane, {recursive:.0f} with recursive, which take {each:g} times as long"
    if straight > each * recursive:
        return Choice("recursive", f"faster than kane: {compared}", estimates)
    if straight > LONGEST_CODE:
        return Choice(
            "recursive", f"built faster than kane, whose code takes a compiler more than a minute: {compared}", estimates
        )
    return Choice("kane", f"faster than recursive: {compared}", estimates)


def default_formulation(mechanism: Mechanism) -> str:
    """Return the name of :func:`chosen_formulation`."""
    return chosen_formulation(mechanism).formulation


def kane_operations(mechanism: Mechanism) -> float:
    """Return about how many operations it takes ``kane`` to find accelerations."""
    total = 0.0
    freedoms, columns = _along_paths(mechanism)
    for joint in mechanism.joints:
        d = columns[joint.child]
        total += 40 * d + 11 * d * (d + 1) / 2
        total += sum((freedoms[joint.child] - i) ** 2 for i in range(len(joint.speeds)))
    if not mechanism.closures:
        return total
    branch = _branches(mechanism)
    speeds: dict[str, int] = {}
    for joint in mechanism.joints:
        speeds[branch[joint.child]] = speeds.get(branch[joint.child], 0) + len(joint.speeds)
    # Of the rows that end in each branch of the world: how many, and the freedoms that they see there.
    rows: dict[str, int] = {}
    reach: dict[str, int] = {}
    for closure in mechanism.closures:
        count = rows_of(closure)
        total += 80 * count
        bodies = _ends(mechanism, closure)
        for here in dict.fromkeys(branch[body] for body in bodies):
            rows[here] = rows.get(here, 0) + count
            deepest = max(freedoms[body] for body in bodies if branch[body] == here)
            reach[here] = max(reach.get(here, 0), deepest)
    for here, count in rows.items():
        total += count * speeds[here] * reach[here] + count**2 * reach[here] + count**3 / 6
    return total


def recursive_operations(mechanism: Mechanism) -> float:
    """Return about how many operations it takes ``recursive`` to find accelerations."""
    carrying = {joint.parent for joint in mechanism.joints}
    joints = {joint.child: joint for joint in mechanism.joints}
    total = 0.0
    for joint in mechanism.joints:
        part = 1.0
        if mechanism.closures:
            part = 1 / 3 if joint.parent == WORLD else 1.0 if joint.child in carrying else 2 / 3
        total += part * (220.0 + 150.0 * len(joint.speeds))
    for closure in mechanism.closures:
        sides = [_way_in(joints, body) for body in _ends(mechanism, closure)]
        shared = set.intersection(*map(set, sides)) if len(sides) > 1 else set()
        between = {body for side in sides for body in side} - shared
        links = sum(0.15 if joints[body].parent == WORLD else 1.0 for body in between)
        total += rows_of(closure) * (50 + 70 * links)
    return total


def rows_of(closure: Closure) -> int:
    """Return about how many rows a closure has."""
    return ROWS.get(closure.kind, SOME_ROWS)


def _ends(mechanism: Mechanism, closure: Closure) -> list[str]:
    """Return the bodies that a closure ties, without the world: its ends, or those of the joints whose coordinates it names."""
    named = [joint.child for joint in mechanism.joints for item in joint.positions if item.name in closure.coordinates]
    return list(dict.fromkeys(body for body in (closure.parent, closure.child, *named) if body and body != WORLD))


def _way_in(joints: dict[str, Joint], body: str) -> list[str]:
    """Return a body and all that carry it."""
    way = [body]
    while joints[way[-1]].parent != WORLD:
        way.append(joints[way[-1]].parent)
    return way


def _branches(mechanism: Mechanism) -> dict[str, str]:
    """Return by body the one on its way in that hangs on the world."""
    branch: dict[str, str] = {}
    for joint in mechanism.tree:
        branch[joint.child] = branch.get(joint.parent, joint.child)
    return branch


def _along_paths(mechanism: Mechanism) -> tuple[dict[str, int], dict[str, float]]:
    """Return the freedoms from the world to each body, and the columns that they fill, slides as halves."""
    freedoms, columns = {WORLD: 0}, {WORLD: 0.0}
    for joint in mechanism.tree:
        freedoms[joint.child] = freedoms[joint.parent] + len(joint.speeds)
        columns[joint.child] = columns[joint.parent] + sum(1.0 if speed.unit == "rad/s" else 0.5 for speed in joint.speeds)
    return freedoms, columns
