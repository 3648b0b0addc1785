"""How servo-constraints are realised: by inputs that act on them directly, or only through the motion of the rest.

Y = H S (S'MS)^-1 S'B says how the accelerations of the measures feel the inputs (document 003, eqs. (9) and (10), with S, a
basis of the speeds that constraints allow, for machines in dependent coordinates). Its rank p of m: p = m is orthogonal,
0 < p < m mixed, p = 0 tangential. The rank is read from the cosines of the angles between what the measures feel and what the
inputs do, in the metric of the mass matrix, which no choice of units changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import listed
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.index.ranks import equilibrated, null_space, rank_of, singular_values, widest_gap

ORTHOGONAL, MIXED, TANGENTIAL = "orthogonal", "mixed", "tangential"


@dataclass(frozen=True)
class Realisation:
    """At one time: the rank p of Y, the cosines that show it, and Y itself."""

    t: float
    rank: int
    #: The number m of servo-constraints.
    of: int
    #: Degrees of freedom f.
    freedom: int
    #: Cosines of the angles between measures and inputs in the metric of the mass matrix, falling.
    cosines: tuple[float, ...]
    Y: tuple[tuple[float, ...], ...]
    #: How many of the inputs act independently of each other on the speeds, and how many measures are independent.
    independent_inputs: int
    independent_measures: int

    @property
    def kind(self) -> str:
        return ORTHOGONAL if self.rank == self.of else MIXED if self.rank else TANGENTIAL

    @property
    def sign(self) -> float:
        """The sign of the determinant of Y; 0 where it is singular or not square."""
        Y = np.array(self.Y)
        return float(np.sign(np.linalg.det(equilibrated(Y)[0]))) if self.rank == self.of and Y.shape == (self.of,) * 2 else 0.0


@dataclass(frozen=True)
class NotDefined:
    """There is no Y, since some speeds have no inertia."""

    t: float
    of: int
    freedom: int
    massless: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            "how inputs act on accelerations is not defined, because the mass matrix is singular along "
            f"{listed(self.massless)}: something moves there without inertia"
        )


class Realising:
    """The matrices M, A, H and B of a servo problem as a function of its unknowns."""

    def __init__(self, system: FirstOrder) -> None:
        problem, s = system.problem, system.problem.symbols
        self.system = system
        self.function = ca.Function(
            "kp_servo_realisation",
            [s.t, s.q, s.v, s.z, s.u, s.signals[0], s.p],
            [ca.densify(part) for part in (problem.M, problem.A, problem.H, problem.B)],
        )

    def at(self, t: float, x: FloatArray) -> Realisation | NotDefined:
        """Return how servo-constraints are realised in a state."""
        problem, at = self.system.problem, self.system.unknowns
        signals = problem.signals([t], 0)[0, 0]
        parts = self.function(t, x[at.q], x[at.v], x[at.z], x[at.u], signals, problem.p)
        M, A, H, B = (np.asarray(part.full()) for part in parts)
        return realisation(t, M, A, H, B, problem.row_names["v"])


def realisation(
    t: float, M: FloatArray, A: FloatArray, H: FloatArray, B: FloatArray, names: tuple[str, ...]
) -> Realisation | NotDefined:
    """Return how servo-constraints are realised by the matrices of a machine."""
    # In speeds of comparable size, so that ranks do not depend on units.
    size = np.sqrt(np.diag(M))
    largest = float(size.max(initial=0.0)) or 1.0
    size = np.where(size > 0.0, size, largest)
    M, A, H, B = M / np.outer(size, size), A / size, H / size, B / size[:, None]
    S = null_space(equilibrated_rows(A), rank_of(equilibrated_rows(A)).rank)
    m, freedom = len(H), S.shape[1]
    inertia = S.T @ M @ S
    gap = rank_of(inertia)
    if gap.rank < freedom:
        lost = S @ null_space(inertia, gap.rank)
        return NotDefined(t, m, freedom, _along(lost, names))
    root = np.linalg.cholesky(inertia)
    felt, done = np.linalg.solve(root, S.T @ H.T), np.linalg.solve(root, S.T @ B)
    measures, inputs = _basis(felt), _basis(done)
    cosines = singular_values(measures.T @ inputs)
    return Realisation(
        t=t,
        rank=widest_gap(cosines, m, top=1.0).rank,
        of=m,
        freedom=freedom,
        cosines=tuple(float(min(value, 1.0)) for value in cosines),
        Y=tuple(tuple(float(entry) for entry in row) for row in felt.T @ done),
        independent_inputs=inputs.shape[1],
        independent_measures=measures.shape[1],
    )


def equilibrated_rows(A: FloatArray) -> FloatArray:
    """Return a matrix with rows of unit length; rows of zeros stay what they are."""
    lengths = np.linalg.norm(A, axis=1)
    return np.asarray(A / np.where(lengths == 0.0, 1.0, lengths)[:, None])


def _basis(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of what columns span, each of them as important as the others."""
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths == 0.0, 1.0, lengths)
    U, values, _ = np.linalg.svd(unit, full_matrices=False)
    return np.asarray(U[:, : widest_gap(values, unit.shape[1], top=1.0).rank])


def _along(directions: FloatArray, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the speeds that have a part in some directions."""
    part = np.linalg.norm(directions, axis=1)
    return tuple(name for name, share in zip(names, part, strict=True) if share > 0.1 * part.max())
