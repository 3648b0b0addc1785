"""Joint loads from Lagrange multipliers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from kingpost.base.errors import PluginError, listed
from kingpost.equations.equations import Equations
from kingpost.loads.method import JointLoads
from kingpost.mechanism.elements import Joint
from kingpost.multibody.newton_euler import TreeDynamics


class MultiplierLoads(JointLoads):
    """What the Lagrange multipliers of a formulation amount to in each joint."""

    name = "multipliers"
    needs_multipliers = True

    def constraint_wrenches(self, dynamics: TreeDynamics, equations: Equations, joints: Sequence[Joint]) -> Mapping[str, ca.MX]:
        missing = [joint.name for joint in joints if joint.name not in equations.constraints.reactions]
        if missing:
            raise PluginError(
                f"formulation '{equations.formulation}' does not say what its multipliers amount to in joint "
                f"{listed(missing)}; use joint loads 'recursive'"
            )
        given = [equations.t, equations.q, equations.v, equations.constraints.lam, equations.u, equations.p]
        wrenches = [equations.constraints.reactions[joint.name] for joint in joints]
        reactions = ca.Function("reactions", given, [ca.densify(wrench) for wrench in wrenches])
        values = reactions.call([dynamics.t, dynamics.q, dynamics.v, dynamics.lam, dynamics.u, dynamics.p])
        loads = {joint.name: value for joint, value in zip(joints, values, strict=True)}
        return {name: load + dynamics.shared[name] if name in dynamics.shared else load for name, load in loads.items()}
