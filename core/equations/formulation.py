"""Formulation plugins: how the equations of motion of a mechanism are written."""

from __future__ import annotations

from abc import abstractmethod

from kingpost.equations.equations import Equations
from kingpost.multibody.assembly import Assembly
from kingpost.registry.plugin import Plugin


class Formulation(Plugin):
    """Base of formulation plugins.

    A formulation turns an :class:`~kingpost.multibody.assembly.Assembly` (a mechanism with symbols for its parameters and
    inputs) into :class:`~kingpost.equations.equations.Equations`. For trees, :class:`kingpost.multibody.tree.TreeKinematics`
    gives poses and twists of all bodies, and what each force needs to know. Coordinates and rates come in the order of
    ``mechanism.coordinates``. Check yours with :func:`kingpost.testing.check_formulation`.
    """

    kind = "formulation"

    @abstractmethod
    def derive(self, assembly: Assembly) -> Equations:
        """Return the equations of motion."""
