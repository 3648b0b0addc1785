"""Formalism plugins: roads from a whole machine to its accelerations, each by a principle of its own.

What formalisms share is the kinematics of the tree (poses and twists of all bodies), what forces apply, and the rows of the
closures; :class:`.machine.Machine` offers it. How these become accelerations is theirs alone, which is what makes them checks
of each other. Equation numbers in formalisms are those of document 002.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.equations.augmentation import first_of
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.plugin import Plugin
from kingpost.symbols.externals import with_externals

if TYPE_CHECKING:
    from kingpost.equations.equations import Equations
    from kingpost.equations.machine import Machine


@dataclass(frozen=True, eq=False)
class Road:
    """What a formalism makes of a machine: M and f with M vdot = f - A' lam, and how it finds vdot and lam itself.

    The base class leaves that to the equations: multipliers from A M^-1 A', as Lagrange's equations have them.
    """

    #: In the speeds of the joints, as the formalism finds them.
    M: ca.SX
    f: ca.SX

    @property
    def own(self) -> bool:
        """Whether accelerations are found by :meth:`solved`."""
        return type(self).solved is not Road.solved

    def solved(self, equations: Equations, name: str, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot, lam for the constraints that ``equations`` have by now.

        ``rate`` is that of Baumgarte's terms: ``equations.drift(rate)`` has them.
        """
        raise NotImplementedError

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot."""
        return first_of(self.solved(equations, "kp_accelerations", rate), 0)

    def multipliers(self, equations: Equations) -> ca.Function:
        """Return the function (t, q, v, u, p) -> lam, without stabilisation."""
        return first_of(self.solved(equations, "kp_multipliers", 0.0), 1)

    def corrections(self, equations: Equations) -> tuple[ca.Function, ca.Function] | None:
        """Return the functions (t, q, v, p) -> changes of q, and of v, that mend the constraints; None if as usual."""
        return None

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return why there are no accelerations at one of ``states``, if the road knows."""
        return ""


class Formalism(Plugin):
    """Base of formalism plugins.

    Each is a formulation of the same name, too: its road becomes ordinary :class:`~kingpost.equations.equations.Equations`.
    Check yours with :func:`kingpost.testing.check_formalism`.
    """

    kind = "formalism"

    #: Whether it takes machines of which some speeds have no inertia, where closures make up for it.
    singular_mass: ClassVar[bool] = False
    #: Whether its accelerations are right though some rows of the constraints follow from others and are left in.
    redundant_rows: ClassVar[bool] = False
    #: Whether a formulation of its name is made of it; a formalism that is one already says no.
    becomes_formulation: ClassVar[bool] = True

    @abstractmethod
    def derive(self, machine: Machine) -> Road:
        """Return the equations of a machine, in its own symbols."""

    def refusal(self, mechanism: Mechanism) -> str:
        """Return why it does not take a mechanism, as a sentence without its end, or an empty text if it does."""
        return ""

    def miss(self) -> float:
        """Return by which part of what they hold constraints are missed, beyond rounding."""
        return 0.0

    def leaves(self) -> str:
        """Return which error its accelerations have beyond rounding, in words, or an empty text if there is none."""
        return f"misses constraints by some {self.miss():.1g} of what they hold" if self.miss() else ""


def system_parts(
    equations: Equations, name: str, rate: float, further: Sequence[ca.SX] = (), symbols: Sequence[ca.SX] = ()
) -> ca.Function:
    """Return the function (t, q, v, u, p, symbols) -> A, drift and further expressions of these equations."""
    e = equations
    A, drift = (e.constraints.A, e.drift(rate)) if e.constraints.count else (ca.SX(0, e.nv), ca.SX(0, 1))
    known = [e.t, e.q, e.v, e.u, e.p, *symbols]
    return with_externals(name, known, [ca.SX(A), ca.SX(drift), *further], e.externals)
