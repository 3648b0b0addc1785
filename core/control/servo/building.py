"""Building servo systems: unknowns and rows with their names, put together one after the other.

All coordinates, speeds and states of forces are stepped. What a method determines by servo-constraints instead of by steps gets
a multiplier: qdot = N (v + E kappa) leaves the coordinates along E to the constraints, as if these were no unknowns of the
steps at all (dummy derivatives), and serves quaternions and directors, whose rates are no speeds, in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.rubbing import Rubbing, forces_of_motion
from kingpost.control.servo.system import ServoSystem

if TYPE_CHECKING:
    from kingpost.control.servo.start import ServoStart

#: How x, xdot and w follow from a start at a time near it.
Begun: TypeAlias = "Callable[[ServoStart, float], tuple[FloatArray, FloatArray, FloatArray]]"
LEVELS = ("position", "speed", "acceleration")


class SystemBuilder:
    """A servo system in the making."""

    def __init__(self, problem: ServoProblem) -> None:
        self.problem = problem
        s, names = problem.symbols, problem.row_names
        self.x = ca.vertcat(s.q, s.v, s.z)
        self.qdot = ca.SX.sym("qdot", s.q.numel())
        #: The rates of the speeds in steps; the symbol a of the problem.
        self.vdot = s.a
        self.xdot = ca.vertcat(self.qdot, self.vdot, s.zdot)
        self._x_names = (*names["q"], *names["v"], *names["z"])
        self._w: list[ca.SX] = []
        self._w_start: list[ca.SX] = []
        self._w_names: list[str] = []
        self._rows: list[ca.SX] = []
        self._row_names: list[str] = []

    def unknown(self, what: str, names: Iterable[str], start: ca.SX | float | None = None) -> ca.SX:
        """Return new unknowns that are found at each time; they start at zero, or at what the symbols of the problem say."""
        labels = [f"{what} of {name}" for name in names]
        symbol = ca.SX.sym(what.replace(" ", "_"), len(labels))
        self._w.append(symbol)
        self._w_names += labels
        self._w_start.append(ca.SX.zeros(len(labels)) if start is None else ca.densify(ca.SX(start)))
        return symbol

    def forces(self) -> None:
        """Take multipliers and inputs as unknowns."""
        s, names = self.problem.symbols, self.problem.row_names
        self._w += [s.lam, s.u]
        self._w_start += [s.lam, s.u]
        self._w_names += [*(f"multiplier of {owner}" for owner in names["lam"]), *names["u"]]
        if self.problem.rubbing:
            efforts = [f"effort of {name}" for name in self.problem.effort_names]
            self._w.append(s.e)
            self._w_start.append(s.e)
            self._w_names += efforts

    def row(self, expression: ca.SX, names: Iterable[str]) -> None:
        """Add equations."""
        labels = list(names)
        assert expression.numel() == len(labels), (expression.numel(), labels)
        self._rows.append(ca.densify(expression))
        self._row_names += labels

    def kinematics(self, beside: ca.SX | None = None) -> None:
        """Add qdot = N v, with ``beside`` added to v; quaternions and directors keep their lengths, and followers follow."""
        problem, e, s = self.problem, self.problem.equations, self.problem.symbols
        names = problem.row_names["q"]
        speeds = s.v if beside is None else s.v + beside
        rates = self.qdot - problem.N @ speeds
        kept = problem.length_names
        if kept:
            rates += problem.across @ self.unknown("multiplier", (f"the {name}" for name in kept))
        free = e.nq - e.coordinates.followers
        if e.coordinates.followers:
            rates = ca.vertcat(rates[:free], (s.q - e.coordinates.followed(s.q, s.p))[free:])
        self.row(rates, (f"the rate of '{name}'" for name in names))
        self.row(problem.lengths, (f"the {name}" for name in kept))

    def motion(self, expression: ca.SX) -> None:
        """Add equations of motion, one for each speed."""
        self.row(expression, (f"the equation of motion of '{name}'" for name in self.problem.row_names["v"]))

    def state_rates(self, accelerations: ca.SX | None = None) -> None:
        """Add the rates of the states of forces."""
        s = self.problem.symbols
        rates = self.problem.state_rates
        if accelerations is not None and rates.numel():
            rates = ca.substitute(rates, s.a, accelerations)
        self.row(s.zdot - rates, (f"the rate of '{name}'" for name in self.problem.row_names["z"]))

    def constraints(self) -> None:
        """Add constraints on positions, and those on speeds that cannot be integrated."""
        problem = self.problem
        speeds = problem.constraint_speeds[problem.equations.constraints.holonomic :, :]
        owners = problem.row_names["lam"]
        self.row(ca.vertcat(problem.phi, speeds), (f"the constraint of '{owner}'" for owner in owners))

    def servo(self, level: int, accelerations: ca.SX | None = None) -> None:
        """Add the servo-constraints at position (0), speed (1) or acceleration level (2)."""
        problem = self.problem
        rows = (problem.servo_positions, problem.servo_speeds, problem.servo_accelerations)[level]
        if accelerations is not None:
            rows = ca.substitute(rows, problem.symbols.a, accelerations)
        self.row(rows, (f"the servo-constraint of '{name}' at {LEVELS[level]} level" for name in problem.row_names["y"]))

    def _laws(self, accelerations: ca.SX) -> None:
        """Add that efforts are what laws make of joint loads, at the accelerations of the solution."""
        problem = self.problem
        missed = Rubbing(problem, forces_of_motion(problem)).laws_met
        labels = (f"the friction of '{name}'" for name in problem.effort_names)
        self.row(ca.substitute(missed, problem.symbols.a, accelerations), labels)

    def system(self, accelerations: ca.SX | None = None, index: int | None = None) -> ServoSystem:
        """Return what was built; ``accelerations`` are those of the solution, by default the rates of the speeds."""
        problem, s = self.problem, self.problem.symbols
        empty = ca.SX(0, 1)
        if problem.rubbing:
            self._laws(s.a if accelerations is None else accelerations)
        start = (self.x, ca.vertcat(problem.N @ s.v, s.a, s.zdot), ca.vertcat(empty, *self._w_start))
        return ServoSystem(
            problem=problem,
            x=self.x,
            xdot=self.xdot,
            w=ca.vertcat(empty, *self._w),
            signals=s.signals,
            residual=ca.vertcat(empty, *self._rows),
            solution={
                "q": s.q,
                "v": s.v,
                "a": s.a if accelerations is None else accelerations,
                "z": s.z,
                "lam": s.lam,
                "u": s.u,
            },
            start=begun_with_efforts(problem, start) if problem.rubbing else start,
            x_names=self._x_names,
            w_names=tuple(self._w_names),
            rows=tuple(self._row_names),
            index=index,
        )


def begun_with_efforts(problem: ServoProblem, start: tuple[ca.SX, ca.SX, ca.SX]) -> Begun:
    """Return how x, xdot and w begin, where multipliers and inputs of the start know nothing of friction."""
    s = problem.symbols
    symbols = [s.t, s.q, s.v, s.a, s.z, s.zdot, s.lam, s.u, s.e, ca.vertcat(*s.signals), s.p]
    function = ca.Function("kp_servo_start", symbols, [ca.densify(item) for item in start])
    rubbing = Rubbing(problem, forces_of_motion(problem))

    def begun(start: ServoStart, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        at = start.at(t)
        forces = rubbing.begun(at)
        found = function(at.t, at.q, at.v, at.a, at.z, at.zdot, *forces, at.signals.ravel(), problem.p)
        x, xdot, w = (np.asarray(part).ravel() for part in found)
        return x, xdot, w

    return begun


def mass_blocks(problem: ServoProblem, touched: ca.SX) -> list[int]:
    """Return the rows of the mass matrix that its inverse needs where it is applied to the columns that ``touched`` feels.

    The others are not coupled with them by inertia, so that the mass matrix may be singular there.
    """
    pattern = problem.M.sparsity()
    links: dict[int, set[int]] = {i: {i} for i in range(problem.equations.nv)}
    for row, column in zip(pattern.row(), pattern.get_col(), strict=True):
        links[row].add(column)
        links[column].add(row)
    felt = {int(column) for column in touched.sparsity().get_col()}
    waiting = list(felt)
    while waiting:
        for other in links[waiting.pop()] - felt:
            felt.add(other)
            waiting.append(other)
    return sorted(felt)
