"""Outputs in the place of the coordinates that inputs act on."""

from __future__ import annotations

import itertools
import math

import casadi as ca
import numpy as np
import scipy.linalg

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError, listed
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoPoint, ServoSystem, SteppedInverse
from kingpost.plugins.inverse_dynamics.minimal_extension import with_dummies

#: More choices of coordinates than this are not tried one by one.
MOST_CHOICES = 20_000
#: The smallest singular value with which coordinates can take the place of others, in coordinates of equal inertia.
SMALLEST = 1e-6


class OutputCoordinates(SteppedInverse):
    """Only coordinates that no input acts on are stepped; outputs take the place of the others.

    Document 003, eqs. (18) and (20). Where there are constraints, these determine further coordinates in the same way, with
    their speeds and accelerations. The coordinates that stay must tell, together with outputs and constraints, where everything
    is (det Ha = 0 else), and inputs must act on all others (det Ba = 0 else).
    """

    name = "output-coordinates"
    load_dependent = True

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        s, names = problem.symbols, problem.row_names
        kept = unactuated(problem, at)
        columns = [i for i in range(problem.equations.nv) if i not in kept]
        builder, a = with_dummies(problem, columns)
        held = problem.equations.constraints
        if held.count:
            owners = names["lam"]
            builder.row(
                problem.constraint_speeds[: held.holonomic, :],
                (f"the constraint of '{owner}' at speed level" for owner in owners[: held.holonomic]),
            )
            builder.row(
                ca.substitute(problem.constraint_accelerations, s.a, a),
                (f"the constraint of '{owner}' at acceleration level" for owner in owners),
            )
        for level in range(3):
            builder.servo(level, a)
        return builder.system(a)


def unactuated(problem: ServoProblem, at: ServoPoint) -> list[int]:
    """Return the speeds that stay: those that no input acts on, as many as servo-constraints and constraints leave free."""
    A, H, B = _matrices(problem, at)
    names = problem.row_names["v"]
    nonholonomic = problem.equations.constraints.count - problem.equations.constraints.holonomic
    if nonholonomic:
        raise SolverError(
            f"method 'output-coordinates' needs constraints on positions, and '{problem.equations.mechanism.name}' has "
            f"{nonholonomic} on speeds alone"
        )
    still = scipy.linalg.null_space(np.vstack([A, H]))
    idle = scipy.linalg.null_space(np.vstack([A, B.T]))
    count = still.shape[1]
    if idle.shape[1] != count:
        raise SolverError(
            f"servo-constraints leave {count} speeds free, and inputs act on all but {idle.shape[1]}: the inputs "
            f"{listed(problem.input_names)} do not act independently of each other, or the measures depend on each other at "
            f"t = {at.t:g} s"
        )
    if count == 0:
        return []
    # Coordinates that feel an input directly stay out, unless there are no others.
    silent = [i for i in range(len(names)) if not B[i].any()]
    best, found = _best(still, idle, silent, count)
    if best < SMALLEST:
        other, widened = _best(still, idle, list(range(len(names))), count)
        if other > best:
            best, found = other, widened
    if best < SMALLEST:
        raise SolverError(
            f"no {count} coordinates of '{problem.equations.mechanism.name}' can stay beside the measures at t = {at.t:g} s: "
            f"det Ha = 0 or det Ba = 0 for all of them (at best the smallest singular value is {best:.0e}). In these "
            "coordinates the servo-constraints are tangential: no measure depends on a coordinate on which inputs act. "
            "Methods 'projection' and 'minimal-extension' take any realisation"
        )
    return found


def _best(still: FloatArray, idle: FloatArray, candidates: list[int], count: int) -> tuple[float, list[int]]:
    """Return the coordinates that serve best, and how well: the smallest singular value of what is asked of them."""
    if math.comb(len(candidates), count) > MOST_CHOICES:
        _, _, order = scipy.linalg.qr(np.hstack([still, idle])[candidates].T, mode="economic", pivoting=True)
        candidates = sorted(candidates[i] for i in order[: min(len(order), 2 * count)])
    best, found = 0.0, []
    for choice in itertools.islice(itertools.combinations(candidates, count), MOST_CHOICES):
        rows = list(choice)
        value = min(np.linalg.svd(part[rows], compute_uv=False)[-1] for part in (still, idle))
        if value > best * (1 + 1e-9):
            best, found = float(value), rows
    return best, found


def _matrices(problem: ServoProblem, at: ServoPoint) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, H and B at a point, for speeds that are scaled so that all have the same inertia."""
    s = problem.symbols
    parts = [ca.densify(part) for part in (problem.M, problem.A, problem.H, problem.B)]
    function = ca.Function("parts", [s.t, s.q, s.v, s.z, s.u, ca.vertcat(*s.signals), s.p], parts)
    found = function(at.t, at.q, at.v, at.z, at.u, at.signals.ravel(), problem.p)
    M, A, H, B = (np.asarray(part.full()) for part in found)
    inertia = np.sqrt(np.abs(np.diag(M)))
    scale = np.where(inertia > 0, inertia, 1.0)
    A = A.reshape(-1, len(scale)) / scale
    return A, H / scale, B / scale[:, None]
