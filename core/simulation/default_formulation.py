"""Which formulation is taken where nobody says: the one with fewer operations in an evaluation, estimated from the tree.

With d the freedoms from the world to a body, its own included, ``kane`` writes straight-line code of which the mass matrix is
the largest part: some 40 operations to carry each of d columns to the body and weight it, 11 for each of the d (d + 1) / 2
products of them, and d^2 for each freedom in the factorisation, which keeps the branches apart. Columns of slides are half
empty. In chains that makes n^3, in trees of short branches n.

``recursive`` has some 220 operations for each body and 150 for each of its freedoms. But that is for trees: with closures its
mass matrix is found column by column, one recursion over all bodies each, and factorised as a full one.

Operations counted in the derived equations are within a factor of two of this for machines with six speeds and more.
"""

from __future__ import annotations

from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.mechanism import Mechanism

#: An operation of ``recursive`` takes about so many of ``kane``: its links are functions, and what they hand on is copied.
RECURSIVE_OPERATION = 1.5
#: Straight-line code of more operations takes a C compiler more than a minute.
LONGEST_CODE = 50_000
#: Rows of a closure, of which there are one to six.
ROWS = 3


def default_formulation(mechanism: Mechanism) -> str:
    """Return ``kane``, or ``recursive`` where that is estimated to be faster, or to be built in reasonable time."""
    straight = kane_operations(mechanism)
    faster = straight <= RECURSIVE_OPERATION * recursive_operations(mechanism)
    return "kane" if faster and straight <= LONGEST_CODE else "recursive"


def kane_operations(mechanism: Mechanism) -> float:
    """Return about how many operations it takes ``kane`` to find accelerations."""
    total = 0.0
    freedoms, columns = _along_paths(mechanism)
    for joint in mechanism.joints:
        d = columns[joint.child]
        total += 40 * d + 11 * d * (d + 1) / 2
        total += sum((freedoms[joint.child] - i) ** 2 for i in range(len(joint.speeds)))
    for closure in mechanism.closures:
        reach = sum(freedoms[body] for body in (closure.parent, closure.child) if body) + len(closure.coordinates)
        total += ROWS * (100 + reach**2)
    return total


def recursive_operations(mechanism: Mechanism) -> float:
    """Return about how many operations it takes ``recursive`` to find accelerations."""
    bodies, n = len(mechanism.bodies), len(mechanism.speeds)
    total = 220.0 * bodies + 150.0 * n
    rows = ROWS * len(mechanism.closures)
    if rows:
        total += 150 * bodies * n + 4 * n**3 / 3 + 2 * rows * n**2 + rows**3
    return total


def _along_paths(mechanism: Mechanism) -> tuple[dict[str, int], dict[str, float]]:
    """Return the freedoms from the world to each body, and the columns that they fill, slides as halves."""
    freedoms, columns = {WORLD: 0}, {WORLD: 0.0}
    for joint in mechanism.tree:
        freedoms[joint.child] = freedoms[joint.parent] + len(joint.speeds)
        columns[joint.child] = columns[joint.parent] + sum(1.0 if speed.unit == "rad/s" else 0.5 for speed in joint.speeds)
    return freedoms, columns
