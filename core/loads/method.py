"""Joint-load plugins: how the wrench that a joint transmits is found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.mechanism.elements import Joint
from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.multibody.newton_euler import TreeDynamics


class JointLoads(Plugin):
    """Base of joint-load plugins.

    The load of a joint is the wrench [moment; force] that the parent exerts on the child through the joint. Its constraint part
    does no work on any motion that the joint allows; this is what a plugin finds. Efforts of actuators, springs and friction in
    the joint are added to it afterwards. Check yours with :func:`kingpost.testing.check_joint_loads`.
    """

    kind = "joint loads"
    #: Whether it needs the Lagrange multipliers of a formulation.
    needs_multipliers: ClassVar[bool] = False

    @abstractmethod
    def constraint_wrenches(self, dynamics: TreeDynamics, equations: Equations, joints: Sequence[Joint]) -> Mapping[str, ca.MX]:
        """Return the constraint part of the load of each of ``joints``, by joint name.

        Functions outside the expressions that the plugin itself brings (:class:`kingpost.symbols.externals.External`) are added
        to ``dynamics.externals``. Each is a 6 x 1 expression in the symbols of ``dynamics``, about the origin of the child's
        joint frame M, in M.
        """
