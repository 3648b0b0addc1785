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
        functions = dynamics.joints
        return {
            joint.name: functions[joint.name].constraint(dynamics.transmitted(joint), dynamics.own_q(joint), dynamics.known)
            for joint in joints
        }
