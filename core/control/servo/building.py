"""Building servo systems: unknowns and rows with their names, put together one after the other.

All coordinates, speeds and states of forces are stepped. What a method determines by servo-constraints instead of by steps gets
a multiplier: qdot = N (v + E kappa) leaves the coordinates along E to the constraints, as if these were no unknowns of the
steps at all (dummy derivatives), and serves quaternions and directors, whose rates are no speeds, in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoSystem

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

    def system(self, accelerations: ca.SX | None = None, index: int | None = None) -> ServoSystem:
        """Return what was built; ``accelerations`` are those of the solution, by default the rates of the speeds."""
        problem, s = self.problem, self.problem.symbols
        empty = ca.SX(0, 1)
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
            start=(self.x, ca.vertcat(problem.N @ s.v, s.a, s.zdot), ca.vertcat(empty, *self._w_start)),
            x_names=self._x_names,
            w_names=tuple(self._w_names),
            rows=tuple(self._row_names),
            index=index,
        )


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
