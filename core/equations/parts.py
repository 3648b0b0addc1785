"""The parts of :class:`kingpost.equations.equations.Equations` beyond the descriptor form itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.discrete_null_space import DiscreteNullSpace
from kingpost.symbols.externals import External
from kingpost.symbols.types import Symbolic

if TYPE_CHECKING:
    from kingpost.equations.equations import Equations
    from kingpost.equations.rigid_motions import RigidMotions
    from kingpost.multibody.opened import OpenedAssembly


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What q and v are, where they are not the joint coordinates and speeds of the mechanism."""

    #: Names and units of q and of v.
    positions: tuple[Quantity, ...] | None = None
    speeds: tuple[Quantity, ...] | None = None
    #: The function (joint coordinates, joint speeds, p) -> [q; v].
    initial: ca.Function | None = None
    #: The function (q, v, vdot, p) -> joint coordinates, joint speeds and their rates.
    joint_state: ca.Function | None = None
    #: The function (q, p) -> coordinates at the end of q that only say which of the angles (up to full turns) and quaternions
    #: (up to their sign) that fit the others is meant, as the others give them nearest to what they are: nothing else changes
    #: with them.
    follow: ca.Function | None = None
    #: The function (q, p) -> what is zero in every position that q' = N v leads to from one where it is, where no multipliers
    #: hold it: the lengths of directors, and what joints ask of them. As many as q without followers has entries more than v.
    kept: ca.Function | None = None

    @property
    def followers(self) -> int:
        """The number of coordinates that :attr:`follow` gives."""
        return 0 if self.follow is None else int(self.follow.numel_out(0))

    def followed(self, q: Any, p: Any) -> Any:
        """Return q with the coordinates that :attr:`follow` gives set to it, so that their errors never add up."""
        return q if self.follow is None else ca.vertcat(q[: q.numel() - self.followers, :], self.follow(q, p))


@dataclass(frozen=True, eq=False)
class States:
    """States z beside coordinates and speeds: those that forces declare, and the energy that metered ports have passed."""

    quantities: tuple[Quantity, ...] = ()
    #: The function (t, q, v, vdot, lam, u, p) -> zdot; as everywhere, u holds inputs and then z.
    rates: ca.Function | None = None
    #: The functions outside expressions that they call.
    traced: tuple[External, ...] = ()
    #: The function (t, q, v, u, p) -> changes of z that mend, to first order, what must hold between them.
    corrections: ca.Function | None = None

    @property
    def need_accelerations(self) -> bool:
        """Whether the rates depend on accelerations or multipliers."""
        return self.rates is not None and any(self.rates.nnz_in(k) and self.rates.jac_sparsity(0, k).nnz() for k in (3, 4))


class Observer(Protocol):
    """Something to be seen of a machine beyond its coordinates, speeds, outputs and energies."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What :meth:`values` returns."""

    @property
    def traced(self) -> tuple[External, ...]:
        """The functions outside expressions that it calls."""

    @property
    def record(self) -> Mapping[str, Any]:
        """How it was found, for the provenance of a result."""

    def values(self, equations: Equations, t: ca.MX, q: ca.MX, v: ca.MX, vdot: ca.MX, lam: ca.MX, u: ca.MX, p: ca.MX) -> ca.MX:
        """Return the values of the channels."""


@dataclass(frozen=True, eq=False)
class Observed:
    """What is observed beyond coordinates, speeds, outputs and energies."""

    loads: Observer | None = None
    ports: Observer | None = None
    tensions: Observer | None = None
    #: Linear and angular momentum about the origin, in world axes, where the coordinates tell them better than the joints do.
    momentum: Symbolic | None = None

    @property
    def observers(self) -> tuple[Observer, ...]:
        """Those that there are."""
        return tuple(observer for observer in (self.loads, self.ports, self.tensions) if observer is not None)


class OwnRoad(Protocol):
    """A way to accelerations, and perhaps to multipliers, in place of multipliers from A M^-1 A'."""

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot that keeps the constraints, with Baumgarte's terms of this rate."""

    def multipliers(self, equations: Equations) -> ca.Function | None:
        """Return the function (t, q, v, u, p) -> lam, or None where the usual one is as good."""

    def corrections(self, equations: Equations) -> tuple[ca.Function, ca.Function] | None:
        """Return the functions (t, q, v, p) -> changes of q, and of v, that mend the constraints; None if as usual."""

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return why there are none at one of ``states``, if that is so."""


@dataclass(frozen=True, eq=False)
class Structure:
    """What some integrators can make use of."""

    #: The function (t, q0, q1, v, u, p) -> generalized forces that have no potential, between the places q0 and q1 at the mean
    #: velocity v, such that they keep the momenta that they should; for integrators that take the others from the potential.
    midpoint_forces: ca.Function | None = None
    #: The same equations for schemes that hold constraints between places, where q is redundant and v is not.
    discrete: DiscreteNullSpace | None = None
    #: The bodies that redundant coordinates belong to, in the order in which a step is solved for their motions.
    rigid: RigidMotions | None = None
    #: How to solve with a mass matrix that is singular, where constraints make up for it.
    augmentation: Augmentation | None = None
    #: Groups of speeds of bodies whose own inertia is taken to resist each of them, where it is only parameters that say so.
    volumes: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    #: How accelerations and multipliers are found, where a formulation does it its own way.
    road: OwnRoad | None = None
    #: Rows in q, and in v, of joint coordinates that are coordinates without mass, each tied to the others by a constraint. Its
    #: discrete derivative, where it is not quadratic, is mended along them alone, which keeps all momenta.
    scalars: tuple[int, ...] = ()
    #: Rows in q, and in v, at which unit quaternions begin that are coordinates with rates of their own.
    unit_quaternions: tuple[int, ...] = ()


class LoadDependence(Protocol):
    """How efforts that depend on joint loads were found (:mod:`kingpost.loads.load_dependent`)."""

    @property
    def opened(self) -> Equations:
        """The equations in which they are unknowns behind inputs and states."""

    @property
    def assembly(self) -> OpenedAssembly:
        """What those are derived from."""

    def explain(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> str:
        """Return why there is no unique solution at a state, or nothing if there is one; ``u`` holds inputs, then states."""


@dataclass(frozen=True, eq=False)
class LoadExpressions:
    """Joint loads and the motion of the bodies, as one function (t, q, v, vdot, lam, u, p) -> values of ``channels``."""

    function: ca.Function
    channels: tuple[Channel, ...]
    traced: tuple[External, ...]
    #: Method, joints, frames, sides and points.
    record: Mapping[str, Any] = field(default_factory=dict)

    def values(self, equations: Equations, *known: ca.MX) -> ca.MX:
        """Return the values of the channels."""
        return ca.MX(self.function(*known))
