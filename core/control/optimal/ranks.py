"""Whether inputs can change end conditions independently of each other, near a motion: ranks of the slopes of end values.

The slopes of all prescribed end values by all inputs, and by horizons and parameters that are found, go through the intervals,
one after the other, and from phase to phase through the rows where these meet. Where they are dependent, either the inputs do
not reach the end, or one condition follows from the others, and no multipliers are unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.control.optimal.phases import Piece
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram

#: Part of the largest singular value below which a direction of the end cannot be told from one that nothing moves: the motion
#: near which it is looked at is known to 1e-10.
RANK = 1e-9
#: Below this part a direction that a gap separates from the others counts as one, too, and how many times smaller it must be.
SEPARATE, GAP = 1e-8, 1e6
#: Below this part ends are independent, but only just, which is told.
JUST = 1e-5
#: Inputs of the motion near which that is looked at, as a part of their size; Newton's iterations for it, and their last step.
DISTURBED, NEWTON, SETTLED = 1e-2, 20, 1e-10
#: Intervals through which inputs reach every end that they can, mostly: twice as many numbers as there are conditions. Where
#: they do not, more intervals are looked at, and all of them in the end.
TWICE, MORE = 2, 24


@dataclass(frozen=True)
class End:
    """A value that is prescribed at the end of a phase; ``phase`` is empty where the task has none."""

    name: str
    piece: int
    phase: str = ""

    @property
    def words(self) -> str:
        """What messages call it."""
        return repr(self.name) + (f" at the end of phase '{self.phase}'" if self.phase else "")


class _NotSeenError(Exception):
    """Why it could not be found out whether ends depend on each other."""


def check_end(problem: OptimalProblem, pieces: Sequence[Piece], joints: Sequence[ca.Function] = ()) -> str:
    """Refuse end conditions that inputs cannot change independently of each other, near a motion.

    ``joints`` are the rows between the last node of each phase and the first of the next. Returns what is to be told: that ends
    are nearly dependent, or that it could not be found out.
    """
    ends = _ends(problem, pieces)
    if not ends:
        return ""
    inputs, every = len(problem.task.inputs), [piece.program.layout.intervals for piece in pieces]
    wanted = [sum(end.piece == i for end in ends) for i in range(len(pieces))]
    few = [TWICE * max(1, -(-count // inputs)) for count in wanted]
    tries = (few, [MORE] * len(pieces), every)
    for counts in dict.fromkeys(tuple(map(min, counts, every)) for counts in tries):
        try:
            slopes = _slopes(pieces, joints, counts, ends)
        except _NotSeenError as reason:
            return (
                f"whether the end conditions depend on each other could not be looked at: {reason}; if the search does not "
                "converge, leave one of them out"
            )
        found = _dependence(slopes)
        if not found.missing and not found.still:
            return _told_margin(ends, found)
    _refuse(problem, ends, found)
    return ""


def _ends(problem: OptimalProblem, pieces: Sequence[Piece]) -> list[End]:
    names = [phase.name for phase in problem.task.phases] or [""]
    return [
        End(name, i, names[i])
        for i, piece in enumerate(pieces)
        for name, limits in piece.problem.task.end.items()
        if limits.prescribed
    ]


@dataclass(frozen=True, eq=False)
class _Dependence:
    """How end values depend on each other: rows that nothing moves, and singular values as parts of the largest."""

    still: list[int]
    values: FloatArray
    #: How many directions cannot be reached, and how much each row has to do with the one that is reached least.
    missing: int
    weights: FloatArray


def _dependence(slopes: FloatArray) -> _Dependence:
    sizes = np.abs(slopes).max(axis=1)
    still = [int(i) for i in np.flatnonzero(~(sizes > RANK * sizes.max(initial=0.0)))]
    if still:
        return _Dependence(still, np.ones(0), 0, np.zeros(len(slopes)))
    left, values, _ = np.linalg.svd(slopes / sizes[:, None], full_matrices=False)
    parts = values / values[0]
    reached = int((parts > RANK).sum())
    for i in range(1, reached):
        if parts[i] < SEPARATE and parts[i] * GAP < parts[i - 1]:
            reached = i
            break
    return _Dependence(still, parts, len(slopes) - reached, np.abs(left[:, -1]))


def _involved(ends: Sequence[End], found: _Dependence) -> list[End]:
    return [end for end, weight in zip(ends, found.weights, strict=True) if weight > 0.05 * found.weights.max()]


def _told_margin(ends: Sequence[End], found: _Dependence) -> str:
    """Return how nearly end conditions depend on each other, if that is worth telling."""
    if found.values[-1] > JUST:
        return ""
    return (
        f"inputs can hardly change {listed(end.words for end in _involved(ends, found))} independently at the end: the "
        f"smallest singular value is {found.values[-1]:.1e} of the largest (below {RANK:.0e} they count as dependent), so that "
        "their multipliers are not known well"
    )


def _refuse(problem: OptimalProblem, ends: Sequence[End], found: _Dependence) -> None:
    """Refuse end conditions that depend on each other, or on nothing."""
    title, machine = problem.task.title, problem.posed.mechanism.name
    if found.still:
        still = [ends[i] for i in found.still]
        where = "" if problem.phases else f" at the end of '{machine}'"
        raise MechanismError(
            f"{title}: no input changes {listed(end.words for end in still)}{where}, so that it cannot be "
            f"prescribed there; leave it out, or add an input that moves it. Inputs: {listed(problem.task.inputs)}",
            path=_path(problem, still[0]),
        )
    involved, missing = _involved(ends, found), found.missing
    least = 0.0 if len(found.values) < len(ends) else found.values[-1]
    before = found.values[max(0, len(ends) - missing - 1)]
    raise MechanismError(
        f"{title}: {missing} of the {len(ends)} end conditions follow from the others, or contradict them: inputs of "
        f"'{machine}' cannot change {listed(end.words for end in involved)} independently (smallest singular value "
        f"{least:.1e} of the largest, {before:.1e} that of what they can change). Leave "
        f"{'one' if missing == 1 else missing} of them out",
        path=_path(problem, involved[0]),
    )


def _path(problem: OptimalProblem, end: End) -> tuple[str | int, ...]:
    if problem.phases and end.name in problem.task.phases[end.piece].end:
        return ("phases", end.piece, "end", end.name)
    return ("end", end.name)


def _slopes(pieces: Sequence[Piece], joints: Sequence[ca.Function], counts: Sequence[int], ends: Sequence[End]) -> FloatArray:
    """Return the slopes of end values by the inputs of so many intervals of every phase."""
    march = _March(pieces, counts)
    rows: dict[tuple[int, str], FloatArray] = {}
    for i, piece in enumerate(pieces):
        march.begin(piece, joints[i - 1] if i else None)
        for k in range(counts[i]):
            march.go(piece, k)
        names = [end.name for end in ends if end.piece == i]
        rows |= {(i, name): row for name, row in zip(names, march.seen(piece, names), strict=True)}
    found = np.array([rows[end.piece, end.name] for end in ends])
    if not np.isfinite(found).all():
        raise _NotSeenError("their slopes are not finite")
    return found


class _March:
    """A motion from the start with small inputs, and how its last node, scaled, changes with all that is found.

    They are the same ones always, so that no symmetry hides what inputs can do. Interval by interval, by Newton's method; it
    keeps what motions keep, such as momenta, which decides about ranks.
    """

    def __init__(self, pieces: Sequence[Piece], counts: Sequence[int]) -> None:
        self.rng = np.random.default_rng(7)
        programs = [piece.program for piece in pieces]
        size = len(_at_start(programs[0]))
        size += sum(
            program.layout.horizon + count * len(_columns(program)[0]) for program, count in zip(programs, counts, strict=True)
        )
        self.at = 0
        self.node: FloatArray = np.zeros(0)
        self.change: FloatArray = np.zeros((0, size))

    def begin(self, piece: Piece, joint: ca.Function | None) -> None:
        """Go to the first node of a phase: the start of the motion, or where the phase before leads."""
        layout = piece.program.layout
        first = (piece.start / piece.program.scales)[: layout.node]
        change = np.zeros((layout.node, self.change.shape[1]))
        found = list(range(layout.timing, layout.timing + layout.horizon))
        if joint is None:
            found += _at_start(piece.program)
            inputs = slice(layout.state, layout.state + (layout.before if layout.linear else 0))
            first[inputs] = DISTURBED * self.rng.normal(size=inputs.stop - inputs.start)
        else:
            self._follow(joint, first, change)
        change[found, range(self.at, self.at + len(found))] = 1.0
        self.node, self.change, self.at = first, change, self.at + len(found)

    def _follow(self, joint: ca.Function, first: FloatArray, change: FloatArray) -> None:
        """Let a first node, and its changes, be what the last one of the phase before makes of them."""
        slopes = joint.factory("kp_joint_slopes", ["i0", "i1"], ["o0", "jac:o0:i0", "jac:o0:i1"])
        tied = sorted(set(joint.jac_sparsity(0, 1).get_col()))
        for _ in range(NEWTON):
            rows, back, ahead = (np.asarray(item) for item in slopes(self.node, first))
            step = np.linalg.solve(ahead[:, tied], rows.ravel())
            first[tied] -= step
            if np.abs(step).max(initial=0.0) < SETTLED:
                break
        change[tied] = -np.linalg.solve(ahead[:, tied], back @ self.change)

    def go(self, piece: Piece, k: int) -> None:
        """Go to the next node."""
        program = piece.program
        layout, dynamic = program.layout, _dynamic_rows(program)
        driving, unknown = _columns(program)
        own = slice(self.at, self.at + len(driving))
        local = (piece.start / program.scales)[k * layout.stride : k * layout.stride + layout.local]
        local[: layout.node] = self.node
        local[driving] = DISTURBED * self.rng.normal(size=len(driving))
        if k == 0 and program.blocks.first_rows:
            self._remember(piece, local, driving, own)
        for _ in range(NEWTON):
            J, rows = _local_slopes(program, local, k)
            change = np.linalg.lstsq(J[np.ix_(dynamic, unknown)], -rows[dynamic], rcond=None)[0]
            local[unknown] += change
            if not np.isfinite(local).all():
                raise _NotSeenError("no motion near the start was found")
            if np.abs(change).max(initial=0.0) < SETTLED:
                break
        else:
            raise _NotSeenError("no motion near the start was found")
        block = _local_slopes(program, local, k)[0][dynamic]
        right = block[:, : layout.node] @ self.change
        right[:, own] += block[:, driving]
        solved, _, rank, _ = np.linalg.lstsq(block[:, unknown], -right, rcond=1e-13)
        if rank < len(unknown):
            raise _NotSeenError("the equations of an interval are dependent")
        whole = np.zeros((layout.local, right.shape[1]))
        whole[unknown] = solved
        whole[driving, own] = np.eye(len(driving))
        self.node, self.change, self.at = local[layout.stride :].copy(), whole[layout.stride :], own.stop

    def _remember(self, piece: Piece, local: FloatArray, driving: list[int], own: slice) -> None:
        """Put what the rule remembers at the start into the node, with how it changes with state and first inputs."""
        program, layout = piece.program, piece.program.layout
        kept = list(range(piece.problem.equations.nx, layout.state))
        others = [i for i in range(layout.node) if i not in kept]
        J = _dense(program.blocks.first_pattern, program.blocks.first_slope(local, program.theta))
        local[kept] -= np.linalg.solve(J[:, kept], np.asarray(program.blocks.first(local, program.theta)).ravel())
        right = J[:, others] @ self.change[others]
        right[:, own] += J[:, driving]
        self.change[kept] = -np.linalg.solve(J[:, kept], right)

    def seen(self, piece: Piece, names: Sequence[str]) -> FloatArray:
        """Return the slopes of values at the node by all inputs."""
        problem, posed, e = piece.problem, piece.problem.posed, piece.problem.equations
        scales = piece.program.scales[: e.nx]
        change = scales[:, None] * self.change[: e.nx]
        watched = tuple(name for name in names if name not in problem.state_names)
        slopes = {}
        if watched:
            observer = problem.observer(watched)
            jacobian = observer.factory(
                "kp_seen_slope", observer.name_in(), [f"jac:{observer.name_out(0)}:{observer.name_in(1)}"]
            )
            until = posed.t_start + problem.task.horizon.low
            values = np.asarray(jacobian(until, scales * self.node[: e.nx], posed.u0, posed.p))
            slopes = dict(zip(watched, values, strict=True))
        rows = [slopes[name] @ change if name in slopes else change[problem.state_names.index(name)] for name in names]
        return np.array(rows).reshape(len(names), change.shape[1])


def _at_start(program: NonlinearProgram) -> list[int]:
    """Return the places in the first node of a motion of what is found: linear inputs, which stand in nodes, and parameters."""
    layout = program.layout
    inputs = range(layout.state, layout.state + (layout.before if layout.linear else 0))
    return [*inputs, *range(layout.node - layout.parameters, layout.node)]


def _columns(program: NonlinearProgram) -> tuple[list[int], list[int]]:
    """Return the places of what an interval is driven by, and of what its equations determine, among what it sees."""
    layout = program.layout
    inner = list(range(layout.node, layout.node + layout.inner))
    after = list(range(layout.stride, layout.local))
    if layout.linear:
        inputs = after[layout.state : layout.state + layout.before]
    else:
        inputs = list(range(layout.node + layout.inner, layout.stride))
    return inputs, [*inner, *(place for place in after if place not in inputs)]


def _local_slopes(program: NonlinearProgram, local: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the Jacobian of the rows of an interval at what it sees, scaled, and the rows."""
    entries, rows = program.blocks.slope(local, k, program.theta)
    return _dense(program.blocks.slope_pattern, entries), np.asarray(rows).ravel()


def _dense(pattern: ca.Sparsity, nonzeros: ca.DM) -> FloatArray:
    found: FloatArray = np.zeros(pattern.shape)
    found[pattern.row(), pattern.get_col()] = np.asarray(nonzeros).ravel()
    return found


def _dynamic_rows(program: NonlinearProgram) -> list[int]:
    """Return the rows of an interval that are equations."""
    count = len(program.names["interval"])
    return [i for i in range(count) if program.row_low[i] == program.row_high[i]]
