"""Loads that rigid bodies leave open, shared out among all joints and closures of their loops.

The loads r of the edges of some loops are r0 + D n: one set r0 that balances the motion, and self-stresses, the columns of D,
by any amounts n. Taken are the amounts for which the sum over the edges of r' G r is smallest, hence n from

    (D' G D) n = -D' G r0.

Nothing in this depends on which edges are joints and which are closures. G is made of 1 for forces and 1/L^2 for moments, with
the size L of the loops; or of compliances, and then the sum is twice the energy that the joints store: the loads are those of
bodies that are rigid against their joints (Castigliano's, or Menabrea's, theorem).

With closures' multipliers lam the self-stresses are those with A' lam = 0. A joint carries of them what the closures between
its two sides do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, PluginError, listed
from kingpost.equations.equations import Equations
from kingpost.loads.loops import Edge, Loops, OpenLoads, open_loads
from kingpost.loads.metric import LoadMetric, checked_metric
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import efforts_of
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose, rotation_rpy, shift_wrench, wrench_to
from kingpost.symbols.straightline import solve_symmetric

#: Edges that are parts of a body rather than joints, such as sections: they count only where nothing else does.
RIGID = ("weld", "given")
#: Edges that let their origins part: their moments are taken midway between the two, the same from either side.
SLIDING = ("prismatic", "cylindrical", "screw", "planar", "translational", "planar-translational")
#: Loops smaller than this (m) have all their joints in one point; moments are then divided by 1 m.
POINT = 1e-6
#: Eigenvalues of D' G D, scaled to a unit diagonal, below this are zero: the squares of round-off some 1e-8 above it.
SINGULAR = 1e-10
#: Edges with a smaller part in all self-stresses have none.
NO_PART = 1e-6
#: Systems of equations up to this size are solved in straight-line code.
STRAIGHT = 30


@dataclass(frozen=True, eq=False)
class Sharing:
    """How the open loads of a machine were shared, for the record of a run."""

    loops: tuple[Mapping[str, Any], ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """Joints whose loads rigid bodies leave open and, loop by loop, the measure by which they are smallest."""
        if not self.loops:
            return {}
        return {"not_unique": {"joints": [name for loop in self.loops for name in loop["joints"]], "loops": list(self.loops)}}


@dataclass(frozen=True, eq=False)
class ClosedLoops:
    """What the closures of a machine do, in the symbols of its dynamics."""

    #: Wrenches and efforts as in :class:`kingpost.multibody.constraints.Constraints`.
    reactions: dict[str, ca.MX] = field(default_factory=dict)
    sharing: Sharing = field(default_factory=Sharing)


def close_loops(dynamics: TreeDynamics, equations: Equations, metric: LoadMetric | None = None) -> ClosedLoops:
    """Take off what the closures do, open loads shared among all joints and closures by ``metric``."""
    if not dynamics.assembly.mechanism.closures:
        return ClosedLoops()
    reactions = closure_reactions(dynamics, equations)
    dynamics.close(reactions)
    found = open_loads(dynamics.assembly, equations)
    if found is None:
        return ClosedLoops(reactions)
    records = []
    for loops in found.loops:
        shares = _Shares(found, loops, equations.constraints.judged_at, checked_metric(metric))
        reactions |= shares.applied(dynamics, reactions)
        records.append(shares.record)
    dynamics.close(reactions)
    return ClosedLoops(reactions, Sharing(tuple(records)))


def closure_reactions(dynamics: TreeDynamics, equations: Equations) -> dict[str, ca.MX]:
    """Return wrenches and efforts of all closures as the multipliers give them, in the symbols of ``dynamics``."""
    wanted = _reactions_of(dynamics.assembly.mechanism.closures)
    missing = [name for name in wanted if name not in equations.constraints.reactions]
    if missing:
        raise PluginError(
            f"formulation '{equations.formulation}' does not say what its multipliers amount to in closure {listed(missing)}; "
            "joint loads need it. Use 'kane' or 'recursive'"
        )
    if not wanted:
        return {}
    given = [equations.t, equations.q, equations.v, equations.constraints.lam, equations.u, equations.p]
    function = ca.Function("closures", given, [ca.densify(equations.constraints.reactions[name]) for name in wanted])
    values = function.call([dynamics.t, dynamics.q, dynamics.v, dynamics.lam, dynamics.u, dynamics.p])
    return dict(zip(wanted, values, strict=True))


def closure_loads(
    assembly: Assembly, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, metric: LoadMetric | None
) -> dict[str, FloatArray]:
    """Return wrenches and efforts of all closures at a state, open loads shared by ``metric``."""
    dynamics = TreeDynamics(assembly, equations.constraints.count, equations.coordinates.joint_state)
    reactions = close_loops(dynamics, equations, metric).reactions
    function = ca.Function("closures", dynamics.symbols, list(reactions.values()))
    (q, v), acting = equations.split(x), equations.acting(u, x)
    vdot, lam = (derived(t, q, v, acting, p) for derived in (equations.exact.accelerations, equations.multipliers))
    values = function.call([t, q, v, vdot, lam, acting, p])
    return {name: np.asarray(value).ravel() for name, value in zip(reactions, values, strict=True)}


def _reactions_of(closures: Sequence[Closure]) -> list[str]:
    wanted = []
    for closure in closures:
        wanted += [closure.name] * bool(closure.child) + [efforts_of(closure.name)] * bool(closure.coordinates)
    return wanted


class _Shares:
    """The shares of the edges of some loops.

    Loads of an edge are wrenches on its child about the origin of M, in M; all edges' one below the other, and then the efforts
    of closures along joint coordinates.
    """

    def __init__(
        self, found: OpenLoads, loops: Loops, judged: Sequence[tuple[float, FloatArray, FloatArray]], metric: LoadMetric
    ) -> None:
        self.loops, self.judged, self.tree, self.held = loops, judged, found.tree, found.constraints
        self.edges = loops.edges
        self.efforts = [name for name in _reactions_of(loops.closures) if name.endswith(".efforts")]
        carrier = self.edges[0].child
        self.frames = {edge.name: _frames(self.tree, edge, carrier) for edge in self.edges}
        tree = self.tree
        A = self.held.A
        kept, following = A[list(loops.kept), :], A[list(loops.following), :]
        given = [tree.t, tree.q, tree.assembly.p]
        #: Of lam with A' lam = 0, the rows that are kept follow from the others by (A_K A_K') lam_K = -A_K A_R' lam_R.
        self._dependence = ca.Function("kp_dependence", given, [ca.densify(kept @ kept.T), ca.densify(-(kept @ following.T))])
        X = ca.SX.sym("X", len(loops.kept), len(loops.following))
        self._columns = ca.Function("kp_self_stresses", [*given, X], [ca.densify(self._self_stresses(X))])
        self._weighing = [_Weight(edge, self.frames[edge.name], tree) for edge in self.edges]
        self.metric = self._chosen(metric)

    def _self_stresses(self, X: ca.SX) -> ca.SX:
        """Return D: a column for each row that follows from others."""
        rows = (*self.loops.kept, *self.loops.following)
        Z = ca.SX(self.held.lam.numel(), X.shape[1])
        Z[list(rows), :] = ca.vertcat(X, ca.SX.eye(X.shape[1]))
        at_rest = ca.SX.zeros(self.tree.v.numel())

        def columns(name: str) -> ca.SX:
            by_lam = ca.substitute(ca.jacobian(self.held.reactions[name], self.held.lam), self.tree.v, at_rest)
            return by_lam @ Z

        closures = {closure.name: columns(closure.name) for closure in self.loops.closures if closure.child}
        carried = _carried(self.tree.mechanism)
        loads = []
        for joint in self.loops.joints:
            load = ca.SX(6, X.shape[1])
            for closure in self.loops.closures:
                sides = (closure.child in carried[joint.child]) - (closure.parent in carried[joint.child])
                if closure.child and sides:
                    X_MC = self.frames[joint.name].X_M.inverse() @ self.frames[closure.name].X_M
                    load -= sides * (wrench_to(X_MC) @ closures[closure.name])
            loads.append(self._constraint_part(joint) @ load if self.efforts else load)
        return ca.vertcat(*loads, *closures.values(), *(columns(name) for name in self.efforts))

    def _constraint_part(self, joint: Joint) -> ca.SX:
        """Return the matrix that leaves of a wrench what does no work; all of it, where no gear works on the joint."""
        kind, geometry = JOINT_KINDS[joint.kind], self.tree.geometry(joint)
        q = self.tree.q[self.tree.rows(joint)[0], :]
        return ca.SX.eye(6) - kind.effort_wrenches(q, geometry) @ kind.motion_subspace(q, geometry).T

    def _chosen(self, metric: LoadMetric) -> _Metric:
        """Return the metric for these loops, such that it leaves nothing open."""
        yielding = [edge.name for edge in self.edges if edge.stiffness]
        if metric == "stiffness" or (metric == "auto" and yielding):
            self._check_stiffness(yielding)
            chosen = _Metric("stiffness", tuple(yielding))
            if not yielding or not self._decides(chosen):
                rigid = [edge.name for edge in self.edges if not edge.stiffness]
                raise MechanismError(
                    f"the loads in the loops of joint {listed(edge.name for edge in self.edges)} are to be shared by "
                    f"stiffness, but {'only ' + listed(yielding) + ' has one' if yielding else 'none of them has one'}, which "
                    f"leaves some of them open. Give {listed(rigid)} a stiffness as well, or share by size "
                    "(load_metric = 'size')"
                )
            return chosen
        word, length = ("length", float(metric)) if isinstance(metric, float) else ("size", None)
        joints = tuple(edge.name for edge in self.edges if edge.kind not in RIGID)
        every = tuple(edge.name for edge in self.edges)
        for names in (joints, every):
            size = self._size(names)
            chosen = _Metric(word, names, 1.0 if length is None and size < POINT else length, size)
            if self._decides(chosen):
                return chosen
        raise AssertionError("self-stresses are loads, so all loads together decide them")

    def _check_stiffness(self, names: Sequence[str]) -> None:
        for weight in self._weighing:
            if weight.edge.name in names:
                values = np.asarray(ca.Function("k", [self.tree.assembly.p], [weight.stiffness])(self.judged[0][2])).ravel()
                if not (values > 0.0).all():
                    raise MechanismError(
                        f"joint '{weight.edge.name}': its stiffness is {listed(f'{value:g}' for value in values)}; all must be "
                        "positive"
                    )

    def _size(self, names: Sequence[str]) -> float:
        size = ca.Function("size", [self.tree.t, self.tree.q, self.tree.assembly.p], [_square_of_size(self._points(names))])
        return float(size(*self.judged[0])) ** 0.5

    def _points(self, names: Sequence[str]) -> list[ca.SX]:
        return [weight.point for weight in self._weighing if weight.edge.name in names]

    def _decides(self, metric: _Metric) -> bool:
        """Say whether a metric leaves no self-stress open, at the places where rows were found to follow from others."""
        D = ca.SX.sym("D", 6 * len(self.edges) + self._efforts, len(self.loops.following))
        weigh = ca.Function(
            "weigh", [self.tree.t, self.tree.q, self.tree.assembly.p, D], [ca.densify(self._weighed(metric, D))]
        )
        for place in self.judged:
            weighed = np.asarray(weigh(*place, self._numbers(place)))
            lengths = np.linalg.norm(weighed, axis=0)
            if lengths.min() == 0.0 or np.linalg.eigvalsh((weighed / lengths).T @ (weighed / lengths))[0] < SINGULAR:
                return False
        return True

    def _numbers(self, place: tuple[float, FloatArray, FloatArray]) -> FloatArray:
        """Return D at a place."""
        gram, right = (np.asarray(part) for part in self._dependence(*place))
        return np.asarray(self._columns(*place, np.linalg.solve(gram, right)))

    @cached_property
    def _efforts(self) -> int:
        return sum(len(closure.coordinates) for closure in self.loops.closures)

    def _weighed(self, metric: _Metric, columns: ca.SX) -> ca.SX:
        """Return columns of loads such that the sum of their squares is r' G r."""
        counted = [weight for weight in self._weighing if weight.edge.name in metric.edges]
        parts = []
        if metric.word == "stiffness":
            for weight in counted:
                parts.append(ca.diag(1 / ca.sqrt(weight.stiffness)) @ self._of(weight.edge, columns))
            return ca.vertcat(*parts)
        square = _square_of_size(self._points(metric.edges)) if metric.length is None else ca.SX(metric.length**2)
        length = ca.sqrt(ca.fmax(square, POINT**2))
        for weight in counted:
            about_point = shift_wrench(-weight.offset) @ self._of(weight.edge, columns)
            parts.append(ca.vertcat(about_point[:3, :] / length, about_point[3:, :]))
        units = [unit for closure in self.loops.closures for unit in _effort_units(self.tree.mechanism, closure)]
        for unit, row in zip(units, range(6 * len(self.edges), columns.shape[0]), strict=True):
            parts.append(columns[row, :] / (length if unit == "rad" else 1))
        return ca.vertcat(*parts)

    def _of(self, edge: Edge, columns: ca.SX) -> ca.SX:
        first = 6 * self.edges.index(edge)
        return columns[first : first + 6, :]

    def applied(self, dynamics: TreeDynamics, reactions: Mapping[str, ca.MX]) -> dict[str, ca.MX]:
        """Return the reactions of the closures of these loops with their shares, given one set that balances the motion."""
        q = dynamics.joint_motion[0]
        known = [dynamics.t, q, dynamics.p]
        D = self._columns(*known, _solved(*self._dependence(*known)))
        joints = [
            dynamics.joints[joint.name].constraint(dynamics.transmitted(joint), dynamics.own_q(joint), dynamics.known)
            for joint in self.loops.joints
        ]
        closing = [name for name in _reactions_of(self.loops.closures) if name not in self.efforts] + self.efforts
        loads = ca.vertcat(*joints, *(reactions[name] for name in closing))
        columns, r = ca.SX.sym("D", *D.shape), ca.SX.sym("r", loads.numel())
        weighed = self._weighed(self.metric, ca.horzcat(columns, r))
        by_column, by_load = weighed[:, :-1], weighed[:, -1]
        given = [self.tree.t, self.tree.q, self.tree.assembly.p, columns, r]
        normal = ca.Function("kp_normal", given, [ca.densify(by_column.T @ by_column), ca.densify(-by_column.T @ by_load)])
        change = D @ _solved(*normal(*known, D, loads))
        parts = ca.vertsplit(change, [0, *np.cumsum([6] * len(joints) + [reactions[name].numel() for name in closing])])
        for joint, part in zip(self.loops.joints, parts, strict=False):
            dynamics.shared[joint.name] = part
        return {name: reactions[name] + part for name, part in zip(closing, parts[len(joints) :], strict=True)}

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return which loads are open, in how many ways, and the measure by which they are smallest."""
        part = np.zeros(len(self.edges))
        for place in self.judged:
            basis = np.linalg.qr(self._numbers(place))[0]
            part = np.maximum(part, [np.linalg.norm(basis[6 * i : 6 * i + 6]) for i in range(len(self.edges))])
        names = [edge.name for edge, share in zip(self.edges, part, strict=True) if share > NO_PART]
        metric = self.metric
        record = {"joints": names, "ways": len(self.loops.following), "metric": metric.word}
        if metric.word == "stiffness":
            return {**record, "stiffness_of": list(metric.edges)}
        return {**record, "length_m": metric.size if metric.length is None else metric.length}


@dataclass(frozen=True)
class _Metric:
    word: str
    #: The edges that count.
    edges: tuple[str, ...]
    #: What moments are divided by, in m; None for the size of the loops as they move.
    length: float | None = None
    #: Size at the start.
    size: float = 0.0


@dataclass(frozen=True, eq=False)
class _EdgeFrames:
    """The frames of an edge on its parent and on its child, as seen from a body of its loops."""

    X_F: Pose
    X_M: Pose


def _frames(tree: TreeKinematics, edge: Edge, carrier: str) -> _EdgeFrames:
    X_PF, X_BM = (
        Pose(rotation_rpy(*ca.vertsplit(ca.densify(tree.vector(rotation)))), tree.vector(position))
        for position, rotation in ((edge.position, edge.rotation), (edge.child_position, edge.child_rotation))
    )
    return _EdgeFrames(tree.relative_pose(carrier, edge.parent) @ X_PF, tree.relative_pose(carrier, edge.child) @ X_BM)


class _Weight:
    """What the metrics need to know of an edge."""

    def __init__(self, edge: Edge, frames: _EdgeFrames, tree: TreeKinematics) -> None:
        self.edge, X_M = edge, frames.X_M
        midway = edge.kind in SLIDING
        #: The point that moments are taken about: from the origin of M in M, and as seen from the carrier.
        self.offset = X_M.R.T @ (frames.X_F.p - X_M.p) / 2 if midway else ca.SX(3, 1)
        self.point = (frames.X_F.p + X_M.p) / 2 if midway else X_M.p
        stiffness = [tree.value(value) for value in edge.stiffness]
        #: Along the axes of M: three for turning, three for shifting.
        self.stiffness = ca.vertcat(*([stiffness[0]] * 3 + [stiffness[1]] * 3 if len(stiffness) == 2 else stiffness))


def _square_of_size(points: Sequence[ca.SX]) -> ca.SX:
    """Return the mean square distance of points from their middle."""
    middle = sum(points, ca.SX(3, 1)) / max(len(points), 1)
    return sum((ca.sumsqr(point - middle) for point in points), ca.SX(0)) / max(len(points), 1)


def _carried(mechanism: Mechanism) -> dict[str, set[str]]:
    """Return, for each body, itself and all bodies that the tree carries on it."""
    carried = {body.name: {body.name} for body in mechanism.bodies}
    for joint in reversed(tuple(mechanism.tree)):
        if joint.parent in carried:
            carried[joint.parent] |= carried[joint.child]
    return carried


def _effort_units(mechanism: Mechanism, closure: Closure) -> list[str]:
    units = {quantity.name: quantity.unit for quantity in mechanism.coordinates}
    return [units[name] for name in closure.coordinates]


def _solved(matrix: ca.MX, right: ca.MX) -> ca.MX:
    """Return matrix^-1 right for a symmetric positive definite matrix."""
    if matrix.shape[0] == 0 or matrix.shape[0] > STRAIGHT:
        return ca.MX(solve_symmetric(matrix, right))
    a, b = ca.SX.sym("a", *matrix.shape), ca.SX.sym("b", *right.shape)
    return ca.MX(ca.Function("kp_solved", [a, b], [ca.densify(solve_symmetric(a, b))])(matrix, right))
