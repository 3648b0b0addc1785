"""Tensions of ropes that closures hold taut: ``name.tension`` in N, positive where the rope pulls.

A closure knows no slack: where its tension is negative, a rope would have let go.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.equations.equations import Equations
from kingpost.equations.parts import LoadExpressions
from kingpost.loads.sharing import closure_reactions
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.screws import unpack_pose


def with_tensions(assembly: Assembly, equations: Equations) -> Equations:
    """Return the equations with the tensions of ropes among their channels."""
    tensions = rope_tensions(assembly, equations)
    return equations if tensions is None else replace(equations, observed=replace(equations.observed, tensions=tensions))


def rope_tensions(assembly: Assembly, equations: Equations) -> LoadExpressions | None:
    """Return the tensions of all ropes as a function (t, q, v, vdot, lam, u, p), or None if there are none."""
    ropes = [closure for closure in assembly.mechanism.closures if CLOSURE_KINDS[closure.kind].pulls]
    if not ropes:
        return None
    dynamics = TreeDynamics(assembly, equations.constraints.count, equations.coordinates.joint_state)
    reactions = closure_reactions(dynamics, equations)
    values = [_tension(dynamics, closure, reactions[closure.name]) for closure in ropes]
    return LoadExpressions(
        function=ca.Function("kp_tensions", dynamics.symbols, [ca.vertcat(*values)]),
        channels=tuple(Channel(f"{closure.name}.tension", "N") for closure in ropes),
        traced=tuple(dynamics.externals),
        record={},
    )


def _tension(dynamics: TreeDynamics, closure: Closure, wrench: ca.MX) -> ca.MX:
    """Return how much of the force on its child is towards its parent; ``wrench`` is about the origin of M, in M."""
    X_WP, X_WB, w_M = ca.SX.sym("X_WP", 12), ca.SX.sym("X_WB", 12), ca.SX.sym("w", 6)
    X_PF, X_BM = dynamics.closure_frames(closure)
    X_WM = unpack_pose(X_WB) @ X_BM
    apart = X_WM.p - (unpack_pose(X_WP) @ X_PF).p
    tension = -ca.dot(apart, X_WM.R @ w_M[3:]) / ca.norm_2(apart)
    function = dynamics.space.share("tension", [X_WP, X_WB, w_M, dynamics.space.assembly.p], [tension])
    return ca.MX(function(dynamics.poses[closure.parent], dynamics.poses[closure.child], wrench, dynamics.p))
