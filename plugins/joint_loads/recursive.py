"""Joint loads by recursive Newton-Euler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.loads.method import JointLoads
from kingpost.mechanism.elements import Joint
from kingpost.multibody.newton_euler import TreeDynamics


class RecursiveLoads(JointLoads):
    """Newton-Euler over everything beyond each joint: all joints in O(n)."""

    name = "recursive"

    def constraint_wrenches(self, dynamics: TreeDynamics, equations: Equations, joints: Sequence[Joint]) -> Mapping[str, ca.MX]:
        return {joint.name: dynamics.constraint_load(joint) for joint in joints}
