"""Phases: programs one behind the other, with rows that let the motion go on where they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import Functions, NonlinearProgram
from kingpost.control.optimal.solving import Solution
from kingpost.control.optimal.starts import PhasedPath
from kingpost.control.optimal.transcription import IntervalRule, Transcription
from kingpost.mechanism.optimal_parts import Limits


@dataclass(frozen=True, eq=False)
class Piece:
    """A phase on its way to a program: its problem, rule and own program, and where the search begins."""

    problem: OptimalProblem
    rule: IntervalRule
    program: NonlinearProgram
    start: FloatArray


@dataclass(frozen=True, eq=False)
class PhasedProgram:
    """The programs of all phases, and rows between the last node of each and the first of the next."""

    parts: tuple[NonlinearProgram, ...]
    #: (last node, first node of the next phase), both scaled -> rows; and (last node of all) -> rows.
    joints: tuple[ca.Function, ...]
    ending: ca.Function
    joint_names: tuple[tuple[str, ...], ...]
    ending_limits: tuple[Limits, ...]
    phase_names: tuple[str, ...]

    def _joined(self, name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in self.parts])

    @property
    def layout(self) -> Any:
        """The layout of the first phase."""
        return self.parts[0].layout

    @property
    def blocks(self) -> Any:
        """The blocks of the first phase."""
        return self.parts[0].blocks

    @cached_property
    def scales(self) -> FloatArray:
        """Scales of all variables."""
        return self._joined("scales")

    @property
    def cost_scale(self) -> float:
        """By what the cost is divided."""
        return self.parts[0].cost_scale

    @cached_property
    def low(self) -> FloatArray:
        """Lower limits of variables, unscaled."""
        return self._joined("low")

    @cached_property
    def high(self) -> FloatArray:
        """Upper limits of variables, unscaled."""
        return self._joined("high")

    def _rows(self, name: str, side: str) -> FloatArray:
        kept = np.zeros(sum(function.numel_out(0) for function in self.joints))
        return np.concatenate([self._joined(name), kept, [getattr(limits, side) for limits in self.ending_limits]])

    @cached_property
    def row_low(self) -> FloatArray:
        """Lower limits of rows."""
        return self._rows("row_low", "low")

    @cached_property
    def row_high(self) -> FloatArray:
        """Upper limits of rows."""
        return self._rows("row_high", "high")

    @cached_property
    def row_sizes(self) -> FloatArray:
        """By what every row is divided."""
        own = self._joined("row_sizes")
        return np.concatenate([own, np.ones(len(self.row_low) - len(own))])

    @property
    def theta(self) -> FloatArray:
        """All numbers that blocks take, phase after phase."""
        return self._joined("theta")

    @cached_property
    def functions(self) -> PhasedFunctions:
        """The functions of the whole program."""
        return PhasedFunctions(self)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.functions.rows

    def row_name(self, i: int) -> tuple[str, int | None]:
        """Return what a row says, and of which interval of the whole; None for rows at the very end."""
        at = 0
        for part, name in zip(self.parts, self.phase_names, strict=True):
            if i < part.rows:
                words, interval = part.row_name(i)
                return f"{words} in phase '{name}'", at + (part.layout.intervals if interval is None else interval)
            i -= part.rows
            at += part.layout.intervals
        at = 0
        for part, names in zip(self.parts[:-1], self.joint_names, strict=True):
            at += part.layout.intervals
            if i < len(names):
                return names[i], at
            i -= len(names)
        return "the horizon of all phases", None


class PhasedFunctions(Functions):
    """Those of a program in phases."""

    def __init__(self, program: PhasedProgram) -> None:
        parts = program.parts
        self._parts = [part.functions for part in parts]
        sizes = [len(part.scales) for part in parts]
        numbers = [len(part.theta) for part in parts]
        self.x, self.theta = ca.MX.sym("x", sum(sizes)), ca.MX.sym("p", sum(numbers))
        self._x = ca.vertsplit(self.x, np.cumsum([0, *sizes]).tolist())
        self._theta = ca.vertsplit(self.theta, np.cumsum([0, *numbers]).tolist())
        first = [x[: part.layout.node] for x, part in zip(self._x, parts, strict=True)]
        last = [x[len(part.scales) - part.layout.node :] for x, part in zip(self._x, parts, strict=True)]
        between = [joint(last[i], first[i + 1]) for i, joint in enumerate(program.joints)]
        self._links = ca.vertcat(ca.MX(0, 1), *between, program.ending(last[-1]))
        self._counts = [part.rows for part in self._parts]
        self.rows = sum(self._counts) + int(self._links.numel())

    @cached_property
    def values(self) -> tuple[ca.MX, ca.MX]:
        costs, rows = [], []
        for part, x, theta in zip(self._parts, self._x, self._theta, strict=True):
            f, g = ca.Function("kp_phase", [part.x, part.theta], list(part.values))(x, theta)
            costs.append(f)
            rows.append(g)
        return sum(costs, ca.MX(0)), ca.vertcat(*rows, self._links)

    @cached_property
    def gradient(self) -> ca.Function:
        found = [part.gradient(x, theta) for part, x, theta in zip(self._parts, self._x, self._theta, strict=True)]
        whole = ca.vertcat(*(slope for _, slope in found))
        cost = sum((value for value, _ in found), ca.MX(0))
        return self.gradient_of(cost, whole)

    @cached_property
    def jacobian(self) -> ca.Function:
        found = [part.jacobian(x, theta) for part, x, theta in zip(self._parts, self._x, self._theta, strict=True)]
        J = ca.vertcat(ca.diagcat(*(slope for _, slope in found)), ca.jacobian(self._links, self.x))
        rows = ca.vertcat(*(value for value, _ in found), self._links)
        return self.jacobian_of(rows, J)

    @cached_property
    def hessian(self) -> ca.Function:
        sigma, lam = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.rows)
        pieces = ca.vertsplit(lam, np.cumsum([0, *self._counts, self._links.numel()]).tolist())
        own = [
            part.hessian(x, theta, sigma, piece)
            for part, x, theta, piece in zip(self._parts, self._x, self._theta, pieces, strict=False)
        ]
        between: Any = ca.triu(ca.hessian(ca.dot(pieces[-1], self._links), self.x)[0])
        return self.hessian_of(sigma, lam, ca.diagcat(*own) + between)


def linked(problem: OptimalProblem, pieces: Sequence[Piece]) -> PhasedProgram:
    """Return the program of all phases, with rows that hold where they meet."""
    joints, names = [], []
    for i, (early, late) in enumerate(pairwise(pieces)):
        keeps = problem.task.phases[i + 1].keeps
        function, words = _joint(early, late, keeps, problem.task.phases[i + 1].name)
        joints.append(function)
        names.append(words)
    total = problem.task.total
    last = pieces[-1]
    node = ca.MX.sym("node", last.program.layout.node)
    until = _until(last, node) - problem.posed.t_start
    found = [] if total is None else [until]
    return PhasedProgram(
        parts=tuple(piece.program for piece in pieces),
        joints=tuple(joints),
        ending=ca.Function("kp_ending", [node], [ca.vertcat(ca.MX(0, 1), *found)]),
        joint_names=tuple(names),
        ending_limits=() if total is None else (total,),
        phase_names=tuple(phase.name for phase in problem.task.phases),
    )


def _until(piece: Piece, node: ca.MX) -> ca.MX:
    """Return the time at which a phase ends, from its scaled last node."""
    layout, whole = piece.program.layout, node * ca.DM(piece.program.scales[: piece.program.layout.node])
    at = layout.timing + layout.horizon
    begin = whole[at] if layout.begin else ca.MX(piece.problem.posed.t_start)
    return begin + (whole[layout.timing] if layout.horizon else piece.problem.task.horizon.low)


def _joint(early: Piece, late: Piece, keeps: str, name: str) -> tuple[ca.Function, tuple[str, ...]]:
    """Return the rows that let a motion go on in the next phase, and what they say."""
    e = late.problem.equations
    layouts = early.program.layout, late.program.layout
    nodes = [ca.MX.sym("node", layout.node) for layout in layouts]
    whole = [
        node * ca.DM(piece.program.scales[: piece.program.layout.node])
        for node, piece in zip(nodes, (early, late), strict=True)
    ]
    x = [node[: e.nx] for node in whole]
    rows = [x[1] - x[0]]
    names = [f"'{item.name}' at the start of phase '{name}'" for item in e.state_quantities]
    if keeps == "momenta":
        rows = [_with_momenta(early.problem, late.problem, x[0], x[1])]
    if layouts[0].before and layouts[1].before:
        inputs = [node[layout.state : layout.timing] for node, layout in zip(whole, layouts, strict=True)]
        rows.append((inputs[1] - inputs[0]) / ca.DM(late.program.scales[layouts[1].state : layouts[1].timing]))
        names += [f"'{item}' at the start of phase '{name}'" for item in late.problem.task.inputs]
    if layouts[1].begin:
        rows.append(whole[1][layouts[1].timing + layouts[1].horizon] - _until(early, nodes[0]))
        names.append(f"the time of the start of phase '{name}'")
    count = layouts[0].parameters
    if count:
        free = [node[layout.node - count :] for node, layout in zip(whole, layouts, strict=True)]
        rows.append((free[1] - free[0]) / ca.DM(late.program.scales[layouts[1].node - count : layouts[1].node]))
        names += [f"parameter '{item}' at the start of phase '{name}'" for item in late.problem.task.free]
    return ca.Function("kp_joint", nodes, [ca.densify(ca.vertcat(*rows))]), tuple(names)


def _with_momenta(early: OptimalProblem, late: OptimalProblem, before: ca.MX, after: ca.MX) -> ca.MX:
    """Return rows that keep coordinates and generalised momenta M(q) v, of two sets of parameters; divided by the inertia."""
    e = late.equations
    if e.constraints.count:
        raise MechanismError(
            f"{late.task.title} keeps momenta, and the speeds of formulation '{e.formulation}' depend on each other by "
            f"{e.constraints.count} constraints, which take up a part of them; take joint coordinates (formulation 'kane')"
        )
    momentum = e.function("kp_momentum", [ca.densify(e.M @ e.v)])
    still = np.zeros(e.nu)

    def momenta(problem: OptimalProblem, x: ca.MX) -> ca.MX:
        q, v = e.split(x)
        return momentum(problem.posed.t_start, q, v, e.acting(still, x), problem.p)

    inertia = np.diag(e.mass_at(late.x0, late.p))
    kept = (momenta(late, after) - momenta(early, before)) / ca.DM(inertia)
    nq, z = e.nq, e.nq + e.nv
    return ca.vertcat(after[:nq] - before[:nq], kept, after[z:] - before[z:])


@dataclass(frozen=True, eq=False)
class PhasedOptimum(Optimum):
    """The solution of a problem in phases: at the times where these meet, what the later one begins with."""

    pieces: tuple[Optimum, ...] = ()

    @property
    def parts(self) -> tuple[Optimum, ...]:
        return self.pieces

    def solved(self, solution: Solution) -> Optimum:
        found, x, row = [], 0, 0
        for piece in self.pieces:
            program = piece.program
            size, rows = len(program.scales), program.rows
            w, limits = (item[x : x + size] for item in (solution.w, solution.limit_multipliers))
            cost = float(program.functions.gradient(w / program.scales, program.theta)[0]) * program.cost_scale
            own = replace(
                solution, w=w, multipliers=solution.multipliers[row : row + rows], limit_multipliers=limits, cost=cost
            )
            found.append(piece.solved(own))
            x, row = x + size, row + rows
        return replace(self, solution=solution, pieces=tuple(found))

    def _behind(self, name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in self.pieces])

    def _at_nodes(self, name: str) -> FloatArray:
        every = [getattr(part, name) for part in self.pieces]
        return np.concatenate([*(rows[:-1] for rows in every[:-1]), every[-1]])

    @property
    def intervals(self) -> int:
        return sum(part.intervals for part in self.pieces)

    @property
    def horizon(self) -> float:
        return sum(part.horizon for part in self.pieces)

    @cached_property
    def times(self) -> FloatArray:
        return self._at_nodes("times")

    @cached_property
    def states(self) -> FloatArray:
        return self._at_nodes("states")

    @cached_property
    def inputs(self) -> FloatArray:
        return self._at_nodes("inputs") if self.problem.linear else self._behind("inputs")

    @cached_property
    def free(self) -> dict[str, float]:
        return self.pieces[0].free

    @cached_property
    def p(self) -> FloatArray:
        return self.pieces[0].p

    @cached_property
    def costates(self) -> FloatArray | None:
        found = [part.costates for part in self.pieces]
        return None if any(item is None for item in found) else self._behind("costates")

    @cached_property
    def hamiltonian(self) -> FloatArray:
        return self._behind("hamiltonian")

    @cached_property
    def switching(self) -> FloatArray:
        return self._behind("switching")

    @property
    def path(self) -> Any:
        return PhasedPath(tuple(part.path for part in self.pieces), f"{self.problem.equations.formulation} solution")

    @cached_property
    def active(self) -> list[dict[str, Any]]:
        return [item for part in self.pieces for item in part.active]


def phased_optimum(
    problem: OptimalProblem,
    transcription: Transcription,
    pieces: Sequence[Piece],
    program: PhasedProgram,
    solution: Solution,
) -> Optimum:
    """Return a solution with its phases, each of which is an optimum of its own."""
    whole: Any = program
    parts = tuple(Optimum(piece.problem, transcription, piece.rule, piece.program, solution) for piece in pieces)
    return PhasedOptimum(problem, transcription, pieces[0].rule, whole, solution, pieces=parts).solved(solution)
