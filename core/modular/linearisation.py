"""Direct linearisation (4.16)-(4.24): the recursion of a tree to first order, without the nonlinear model of the whole.

Around a reference with the accelerations q0, which may move and be pushed, every matrix is X = X0 + sum Xj xj with small
changes xj of states and inputs, and products are cut off after the first order. A complement changes while forces f0 act, so
that C' f has the terms Cj' f0 xj, too: a complement that is held fixed would leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.modular.complements import linearised
from kingpost.modular.labelled import Labelled, assemble
from kingpost.modular.partitions import Partition
from kingpost.modular.recursion import Given, accelerations, everyone
from kingpost.modular.system import System
from kingpost.modular.tree import Tree, given_at

#: Time, states, inputs and parameters.
Reference: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray]
#: How a change of an acceleration is called among the small changes.
CHANGE = "change of "


@dataclass(frozen=True, eq=False)
class Linear:
    """A matrix to first order: what it is at the reference, and its derivatives by the small changes that it depends on."""

    reference: Labelled
    changes: Mapping[str, Labelled] = field(default_factory=dict)

    def __matmul__(self, other: Linear) -> Linear:
        """Return L(X Y) = X0 Y0 + sum (Xj Y0 + X0 Yj) xj."""
        found = {name: change @ other.reference for name, change in self.changes.items()}
        for name, change in other.changes.items():
            term = self.reference @ change
            found[name] = found[name] + term if name in found else term
        return Linear(self.reference @ other.reference, found)

    @property
    def T(self) -> Linear:
        """Rows and columns exchanged."""
        return Linear(self.reference.T, {name: change.T for name, change in self.changes.items()})

    def part(self, rows: tuple[str, ...]) -> Linear:
        """Return some rows."""
        return Linear(self.reference.part(rows), {name: change.part(rows) for name, change in self.changes.items()})


def put_together(*parts: Linear) -> Linear:
    """Return all parts in one (Def. 2.9)."""
    whole = assemble(*(part.reference for part in parts))
    empty = Labelled.zeros(whole.rows, whole.columns)
    names = dict.fromkeys(name for part in parts for name in part.changes)
    changes = {name: assemble(empty, *(part.changes[name] for part in parts if name in part.changes)) for name in names}
    return Linear(whole, changes)


@dataclass(frozen=True, eq=False)
class LinearNode:
    """A node to first order: LC of Prop. 4.4, LS (4.22), Lf (4.16) and Lfbar (4.23)."""

    path: str
    B: Linear
    C: Linear
    S: Linear
    f: Linear
    fbar: Linear
    children: tuple[LinearNode, ...] = ()


@dataclass(frozen=True)
class Spread:
    """For a node with more constraints than can be met: least squares over all its rows, by weights and in a mirror."""

    weights: Mapping[str, float] = field(default_factory=dict)
    symmetry: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DirectLinearisation:
    """x' = G x + H u for small changes of the states and inputs (4.24), and the nodes that it was found by."""

    G: Labelled
    H: Labelled
    #: Accelerations at the reference.
    q: Labelled
    root: LinearNode

    @property
    def eigenvalues(self) -> FloatArray:
        """Of G, the least stable first."""
        values = np.linalg.eigvals(self.G.matrix)
        return np.asarray(values[np.lexsort((np.abs(values.imag), -values.real))])


def linearise_directly(
    tree: Tree,
    t: float | None = None,
    x: FloatArray | None = None,
    u: FloatArray | None = None,
    p: FloatArray | None = None,
    *,
    step: float | None = None,
    spread: Mapping[str, Spread] | None = None,
) -> DirectLinearisation:
    """Return the linear system around a state of a tree, its start unless given.

    ``step`` is that of Prop. 4.4, None for its limit; ``spread`` names nodes (by path) whose constraints are met by least
    squares.
    """
    here: Reference = (
        tree.t if t is None else t,
        tree.x if x is None else x,
        tree.u if u is None else u,
        tree.p if p is None else p,
    )
    known = [node.path for node in everyone(tree.start)]
    unknown = [path for path in spread or {} if path not in known]
    if unknown:
        raise MechanismError(f"there is no node '{unknown[0]}' to spread{closest(unknown[0], known)} Nodes: {listed(known)}.")
    chosen = {node.path: node.partition for node in everyone(tree.start)}
    numbers = tree.numbers(*here)
    q = accelerations(numbers).part(tree.system.q)
    derivatives = _derivatives(tree.system, here)
    recurring = _Recurring(derivatives, chosen, q, step, dict(spread or {}))
    root = recurring.node(given_at(tree.system, *here))
    return _solved(tree, here, q, root, recurring)


@dataclass(frozen=True, eq=False)
class _Recurring:
    derivatives: Mapping[str, Mapping[str, tuple[Labelled, Labelled, Labelled, Labelled]]]
    chosen: Mapping[str, Partition]
    q: Labelled
    step: float | None
    spread: Mapping[str, Spread]

    def rows(self, path: str, given: Given) -> tuple[str, ...]:
        """Return the constraints of a node that count."""
        return given.A.rows if path in self.spread else self.chosen[path].rows

    def node(self, given: Given) -> LinearNode:
        children = tuple(self.node(child) for child in given.children)
        R = put_together(Linear(Labelled.identity(given.extra)), *(child.S for child in children)).part(given.q)
        rows = self.rows(given.path, given)
        B = self.constraints(given).part(rows) @ R
        own = self.spread.get(given.path, Spread())
        found = linearised(
            B.reference,
            B.changes,
            self.chosen[given.path].independent,
            step=self.step,
            weights=own.weights or None,
            symmetry=own.symmetry or None,
            where=given.path,
        )
        C = Linear(found.reference.matrix, found.changes)
        f = put_together(R.T @ self.forces(given), *(child.fbar for child in children)).part(R.reference.columns)
        return LinearNode(given.path, B, C, R @ C, f, C.T @ f, children)

    def constraints(self, given: Given) -> Linear:
        return Linear(given.A, {name: parts[0] for name, parts in self.derivatives[given.path].items()})

    def misfits(self, given: Given) -> Linear:
        """Return A q + b to first order in the states and inputs, at the accelerations of the reference."""
        q = self.q.part(given.q)
        changes = {name: parts[0] @ q + parts[1] for name, parts in self.derivatives[given.path].items()}
        return Linear(given.A @ q + given.b, changes)

    def forces(self, given: Given) -> Linear:
        """Return own forces g - M q to first order, in changes of the accelerations, too."""
        q = self.q.part(given.q)
        changes = {name: parts[3] - parts[2] @ q for name, parts in self.derivatives[given.path].items()}
        for label in given.q:
            column = given.M.part(..., label).matrix
            if column.any():
                changes[CHANGE + label] = Labelled(-column, given.q)
        return Linear(given.g - given.M @ q, changes)


def _derivatives(system: System, here: Reference) -> dict[str, dict[str, tuple[Labelled, Labelled, Labelled, Labelled]]]:
    """Return, for every node and every state or input that it depends on, the derivatives of A, b, M and g."""
    t, states, inputs, p = system.arguments
    names = (*system.states, *system.inputs)
    by = ca.vertcat(states, inputs)
    found: dict[str, dict[str, tuple[Labelled, Labelled, Labelled, Labelled]]] = {}
    waiting = [system.given]
    while waiting:
        given = waiting.pop()
        waiting += given.children
        parts = (given.A, given.b, given.M, given.g)
        stacked = ca.vertcat(*(ca.vec(ca.densify(part.matrix)) for part in parts))
        slopes = ca.Function("slopes", [t, states, inputs, p], [ca.densify(ca.jacobian(stacked, by))])(*here).full()
        own: dict[str, tuple[Labelled, Labelled, Labelled, Labelled]] = {}
        for j, name in enumerate(names):
            if slopes[:, j].any():
                pieces, first = [], 0
                for part in parts:
                    shape = part.matrix.shape
                    count = shape[0] * shape[1]
                    # CasADi stacks columns.
                    values = slopes[first : first + count, j].reshape(shape, order="F")
                    pieces.append(Labelled(values, part.rows, part.columns))
                    first += count
                own[name] = (pieces[0], pieces[1], pieces[2], pieces[3])
        found[given.path] = own
    return found


def _solved(
    tree: Tree,
    here: Reference,
    q: Labelled,
    root: LinearNode,
    recurring: _Recurring,
) -> DirectLinearisation:
    """Solve Lqbar = 0 and Lfbar = 0 for the changes of the accelerations, and put these into the rates of the states."""
    system = tree.system
    labels, names = system.q, (*system.states, *system.inputs)
    # Lq = E x + S0 zeta: what invariants ask for while independent accelerations stay, and all that they leave.
    E = _following(system, recurring, here, labels, names)
    S = root.S.reference.part(labels).matrix
    balance = root.fbar.changes
    size = len(root.fbar.reference.rows)
    zero = np.zeros((size, 1))
    by_q = np.hstack([balance[CHANGE + label].matrix if CHANGE + label in balance else zero for label in labels])
    by_x = np.hstack([np.zeros((size, 0)), *(balance[name].matrix if name in balance else zero for name in names)])
    zeta = -np.linalg.solve(by_q @ S, by_q @ E + by_x) if size else np.zeros((0, len(names)))
    moved = E + S @ zeta
    t, states, inputs, p = system.arguments
    own = system.symbols
    rates = ca.vertcat(*(own.rates[label] for label in system.states))
    accelerating = own.column(labels)
    slopes = ca.Function(
        "rates", [t, states, inputs, p, accelerating],
        [ca.densify(ca.jacobian(rates, ca.vertcat(states, inputs))), ca.densify(ca.jacobian(rates, accelerating))],
    )  # fmt: skip
    direct, through = (item.full() for item in slopes(*here, q.matrix))
    whole = Labelled(direct + through @ moved, system.states, names)
    return DirectLinearisation(whole.part(..., system.states), whole.part(..., system.inputs), q, root)


def _following(
    system: System,
    recurring: _Recurring,
    here: Reference,
    labels: tuple[str, ...],
    names: tuple[str, ...],
) -> FloatArray:
    """Return the changes of accelerations that changes of states ask of the invariants, independent ones held."""
    A_rows, rest, weights = [], [], []
    waiting = [given_at(system, *here)]
    while waiting:
        given = waiting.pop()
        waiting += given.children
        rows = recurring.rows(given.path, given)
        misfit = recurring.misfits(given).part(rows)
        A_rows.append(assemble(given.A.part(rows), Labelled.zeros((), labels)).part(..., labels).matrix)
        zero = np.zeros((len(rows), 1))
        columns = [misfit.changes[name].matrix if name in misfit.changes else zero for name in names]
        rest.append(np.hstack([np.zeros((len(rows), 0)), *columns]))
        own = recurring.spread.get(given.path, Spread()).weights
        weights += [np.sqrt(own.get(row, 1.0)) for row in rows]
    A, misfits = np.vstack(A_rows), np.vstack(rest)
    held = recurring.chosen[system.given.path].independent
    free = [i for i, label in enumerate(labels) if label not in held]
    root = np.array(weights)[:, None]
    E = np.zeros((len(labels), len(names)))
    if len(A) and free:
        E[free] = -np.linalg.lstsq(root * A[:, free], root * misfits, rcond=None)[0]
    return E
