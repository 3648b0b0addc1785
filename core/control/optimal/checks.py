"""What can be said about a task before it is solved: too few intervals, ends that depend on each other or are out of reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.optimal.optimum import Attempt, Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.transcription import Grid

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


def check_intervals(problem: OptimalProblem, grid: Grid) -> None:
    """Refuse grids with fewer inputs in all intervals than conditions at the end."""
    task = problem.task
    wanted = sum(limits.prescribed for part in problem.parts for limits in part.task.end.values())
    timings = sum(not part.task.horizon.prescribed for part in problem.parts)
    free = len(task.inputs) * grid.intervals + timings + len(task.free)
    if free < wanted:
        needed = -(-wanted // len(task.inputs))
        where = "at the ends of its phases" if problem.phases else "at the end"
        raise MechanismError(
            f"{task.title}: {wanted} values are prescribed {where}, and {grid.intervals} intervals with {len(task.inputs)} "
            f"inputs leave {free} numbers to be found; take at least {needed} intervals"
        )


def check_end(problem: OptimalProblem, program: NonlinearProgram, w: FloatArray) -> str:
    """Refuse end conditions that inputs cannot change independently of each other, near a motion.

    The slopes of all prescribed end values by all inputs are found through the intervals, one after the other. Where they are
    dependent, either the inputs do not reach the end, or one condition follows from the others, and no multipliers are unique.
    Returns what is to be told: that they are nearly dependent, or that it could not be found out.
    """
    names = [name for name, limits in problem.task.end.items() if limits.prescribed]
    if not names:
        return ""
    N = program.layout.intervals
    few = TWICE * -(-len(names) // len(problem.task.inputs))
    for count in dict.fromkeys((min(few, N), min(MORE, N), N)):
        moved = _nearby(program, w, count)
        slopes = None if moved is None else _reach(problem, program, moved, names, count)
        if slopes is None:
            return (
                "whether the end conditions depend on each other could not be looked at: "
                + ("no motion near the start was found" if moved is None else "the equations of an interval are dependent")
                + "; if the search does not converge, leave one of them out"
            )
        found = _dependence(slopes)
        if not found.missing and not found.still:
            return _told_margin(names, found)
    _refuse(problem, names, found)
    return ""


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


def _involved(names: list[str], found: _Dependence) -> list[str]:
    return [name for name, weight in zip(names, found.weights, strict=True) if weight > 0.05 * found.weights.max()]


def _told_margin(names: list[str], found: _Dependence) -> str:
    """Return how nearly end conditions depend on each other, if that is worth telling."""
    if found.values[-1] > JUST:
        return ""
    return (
        f"inputs can hardly change {listed(repr(name) for name in _involved(names, found))} independently at the end: the "
        f"smallest singular value is {found.values[-1]:.1e} of the largest (below {RANK:.0e} they count as dependent), so that "
        "their multipliers are not known well"
    )


def _refuse(problem: OptimalProblem, names: list[str], found: _Dependence) -> None:
    """Refuse end conditions that depend on each other, or on nothing."""
    title, machine = problem.task.title, problem.posed.mechanism.name
    if found.still:
        still = [names[i] for i in found.still]
        raise MechanismError(
            f"{title}: no input changes {listed(repr(name) for name in still)} at the end of '{machine}', so that it cannot be "
            f"prescribed there; leave it out, or add an input that moves it. Inputs: {listed(problem.task.inputs)}",
            path=("end", still[0]),
        )
    involved, missing = _involved(names, found), found.missing
    least = 0.0 if len(found.values) < len(names) else found.values[-1]
    before = found.values[max(0, len(names) - missing - 1)]
    raise MechanismError(
        f"{title}: {missing} of the {len(names)} end conditions follow from the others, or contradict them: inputs of "
        f"'{machine}' cannot change {listed(repr(name) for name in involved)} independently (smallest singular value "
        f"{least:.1e} of the largest, {before:.1e} that of what they can change). Leave "
        f"{'one' if missing == 1 else missing} of them out",
        path=("end", involved[0]),
    )


def _nearby(program: NonlinearProgram, w: FloatArray, count: int) -> FloatArray | None:
    """Return a motion from the start with small inputs, the same ones always, so that no symmetry hides what inputs can do.

    Interval by interval, by Newton's method; it keeps what motions keep, such as momenta, which decides about ranks. None where
    the iteration does not converge.
    """
    layout, blocks, theta = program.layout, program.blocks, program.theta
    rng = np.random.default_rng(7)
    x = w / program.scales
    dynamic = _dynamic_rows(program)
    inputs, unknown = _columns(program)
    if layout.linear:
        x[layout.state : layout.state + layout.before] = DISTURBED * rng.normal(size=layout.before)
    for k in range(count):
        own = slice(k * layout.stride, k * layout.stride + layout.local)
        local = x[own].copy()
        local[inputs] = DISTURBED * rng.normal(size=len(inputs))
        for _ in range(NEWTON):
            rows = np.asarray(blocks.value(local, k, theta)).ravel()[dynamic]
            J = _local_slopes(program, local, k)[np.ix_(dynamic, unknown)]
            change = np.linalg.lstsq(J, -rows, rcond=None)[0]
            local[unknown] += change
            if not np.isfinite(local).all():
                return None
            if np.abs(change).max(initial=0.0) < SETTLED:
                break
        else:
            return None
        x[own] = local
    return x * program.scales


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


def _local_slopes(program: NonlinearProgram, local: FloatArray, k: int) -> FloatArray:
    """Return the Jacobian of the rows of an interval at what it sees, scaled."""
    pattern = program.blocks.slope_pattern
    J = np.zeros(pattern.shape)
    J[pattern.row(), pattern.get_col()] = np.asarray(program.blocks.slope(local, k, program.theta)[0]).ravel()
    return J


def _dynamic_rows(program: NonlinearProgram) -> list[int]:
    """Return the rows of an interval that are equations."""
    count = len(program.names["interval"])
    return [i for i in range(count) if program.row_low[i] == program.row_high[i]]


def _reach(
    problem: OptimalProblem, program: NonlinearProgram, w: FloatArray, names: list[str], count: int
) -> FloatArray | None:
    """Return the slopes of end values by the inputs of all intervals; None where the rows of an interval are dependent."""
    layout, dynamic = program.layout, _dynamic_rows(program)
    n, x = layout.node, w / program.scales
    driving, unknown = _columns(program)
    m = len(driving)
    # Linear inputs stand in the nodes, that of the start among them.
    at_start = layout.before if layout.linear else 0
    change: FloatArray = np.zeros((n, at_start + count * m))
    change[layout.state : layout.state + at_start, :at_start] = np.eye(at_start)
    for k in range(count):
        block = _local_slopes(program, x[k * layout.stride : k * layout.stride + layout.local], k)[dynamic]
        right = block[:, :n] @ change
        own = slice(at_start + k * m, at_start + (k + 1) * m)
        right[:, own] += block[:, driving]
        solved, _, rank, _ = np.linalg.lstsq(block[:, unknown], -right, rcond=1e-13)
        if rank < len(unknown):
            return None
        whole = np.zeros((layout.local, right.shape[1]))
        whole[unknown] = solved
        whole[driving, own] = np.eye(m)
        change = whole[layout.stride :]
    scales = program.scales[:n]
    seen = tuple(name for name in names if name not in problem.state_names)
    rows = []
    e, posed = problem.equations, problem.posed
    state = layout.states(w)[count, : e.nx]
    slopes = {}
    if seen:
        observer = problem.observer(seen)
        jacobian = observer.factory("kp_seen_slope", observer.name_in(), [f"jac:{observer.name_out(0)}:{observer.name_in(1)}"])
        values = np.asarray(jacobian(posed.t_start + problem.task.horizon.low, state, posed.u0, posed.p))
        slopes = dict(zip(seen, values, strict=True))
    for name in names:
        if name in slopes:
            rows.append((slopes[name] * scales[: e.nx]) @ change[: e.nx])
        else:
            i = problem.state_names.index(name)
            rows.append(scales[i] * change[i])
    found = np.array(rows)
    return found if np.isfinite(found).all() else None


def failure(optimum: Optimum) -> SolverError:
    """Return an error that says which constraint is worst and when, and what to try."""
    solution, task = optimum.solution, optimum.problem.task
    name, t, size = optimum.worst
    words = {
        "infeasible": "no motion was found that keeps all constraints",
        "iteration limit": f"{solution.iterations} iterations were not enough",
        "time limit": "the time limit was reached before any motion kept all constraints",
        "interrupted": "the search was interrupted before any motion kept all constraints",
    }.get(solution.status, f"the solver gave up ({solution.words})")
    return SolverError(
        f"{task.title}: {words}. The worst constraint is {name} at t = {t:.6g} s, violated by {size:.3g}. Try a longer "
        f"horizon, wider bounds, more intervals, or other starts. Tried: {listed(map(_told, optimum.attempts))}"
    )


def _told(attempt: Attempt) -> str:
    """Return in few words from where a search began, and how it ended."""
    stage = f" with {attempt.stage}" if attempt.stage else ""
    ended = f"violation {attempt.violation:.1g}" if attempt.status != "optimal" else f"cost {attempt.cost:.6g}"
    return f"'{attempt.start}'{stage} ({attempt.status}, {ended})"
