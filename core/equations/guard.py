"""Joints whose coordinates can become singular: gimbals, universal joints."""

from __future__ import annotations

import casadi as ca

from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.joints import JOINT_KINDS

#: A joint whose regularity (1 at its best, 0 where its coordinates are singular) falls below this stops the run.
SINGULAR_JOINT = 0.01


def guarded_joints(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the joints whose coordinates can become singular."""
    symbol = ca.SX.sym("q", 7)
    return tuple(
        joint.name for joint in mechanism.joints if JOINT_KINDS[joint.kind].regularity(symbol, joint.sequence or "") is not None
    )


def joint_guard(mechanism: Mechanism, nq: int, nx: int) -> ca.Function | None:
    """Return the function x -> regularity of each of :func:`guarded_joints`, less the least that will do; None without any."""
    x = ca.SX.sym("x", nx)
    measures, row = [], 0
    for joint in mechanism.joints:
        q = x[row : row + len(joint.positions), :]
        row += len(joint.positions)
        measure = JOINT_KINDS[joint.kind].regularity(q, joint.sequence or "")
        if measure is not None:
            measures.append(measure)
    assert row == nq
    return ca.Function("kp_guard", [x], [ca.densify(ca.vertcat(*measures) - SINGULAR_JOINT)]) if measures else None
