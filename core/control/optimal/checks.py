"""What can be said about a task before it is solved: too few intervals, ends that depend on each other or are out of reach."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.transcription import Grid

#: Part of the largest singular value below which a direction of the end cannot be told from one that nothing moves.
RANK = 1e-9
#: Inputs of the motion near which that is looked at, as a part of their size; Newton's iterations for it, and their last step.
DISTURBED, NEWTON, SETTLED = 1e-2, 20, 1e-10
#: Intervals through which inputs reach every end that they can, mostly: twice as many numbers as there are conditions. Where
#: they do not, more intervals are looked at, and all of them in the end.
TWICE, MORE = 2, 24


def check_intervals(problem: OptimalProblem, grid: Grid) -> None:
    """Refuse grids with fewer inputs in all intervals than conditions at the end."""
    task = problem.task
    wanted = sum(limits.prescribed for limits in task.end.values())
    free = len(task.inputs) * grid.intervals + (0 if task.horizon.prescribed else 1) + len(task.free)
    if free < wanted:
        needed = -(-wanted // len(task.inputs))
        raise MechanismError(
            f"{task.title}: {wanted} values are prescribed at the end, and {grid.intervals} intervals with {len(task.inputs)} "
            f"inputs leave {free} numbers to be found; take at least {needed} intervals"
        )


def check_end(problem: OptimalProblem, program: NonlinearProgram, w: FloatArray) -> None:
    """Refuse end conditions that inputs cannot change independently of each other, near a motion.

    The slopes of all prescribed end values by all inputs are found through the intervals, one after the other. Where they are
    dependent, either the inputs do not reach the end, or one condition follows from the others, and no multipliers are unique.
    """
    names = [name for name, limits in problem.task.end.items() if limits.prescribed]
    if not names:
        return
    N = program.layout.intervals
    few = TWICE * -(-len(names) // len(problem.task.inputs))
    for count in dict.fromkeys((min(few, N), min(MORE, N), N)):
        moved = _nearby(program, w, count)
        slopes = None if moved is None else _reach(problem, program, moved, names, count)
        if slopes is None or _independent(slopes):
            return
    assert slopes is not None
    _refuse(problem, names, slopes)


def _independent(slopes: FloatArray) -> bool:
    """Say whether end values can be changed independently of each other."""
    sizes = np.abs(slopes).max(axis=1)
    if not sizes.min() > RANK * sizes.max():
        return False
    values = np.linalg.svd(slopes / sizes[:, None], compute_uv=False)
    return len(values) == len(slopes) and bool(values[-1] > RANK * values[0])


def _refuse(problem: OptimalProblem, names: list[str], slopes: FloatArray) -> None:
    """Refuse end conditions that depend on each other, or on nothing."""
    sizes = np.abs(slopes).max(axis=1)
    largest = sizes.max(initial=0.0)
    still = [name for name, size in zip(names, sizes, strict=True) if not size > RANK * largest]
    title, machine = problem.task.title, problem.posed.mechanism.name
    if still:
        raise MechanismError(
            f"{title}: no input changes {listed(repr(name) for name in still)} at the end of '{machine}', so that it cannot be "
            f"prescribed there; leave it out, or add an input that moves it. Inputs: {listed(problem.task.inputs)}",
            path=("end", still[0]),
        )
    scaled = slopes / sizes[:, None]
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    missing = int((values <= RANK * values[0]).sum()) + max(0, len(names) - len(values))
    if missing:
        weights = np.abs(left[:, -1])
        involved = [name for name, weight in zip(names, weights, strict=True) if weight > 0.05 * weights.max()]
        raise MechanismError(
            f"{title}: {missing} of the {len(names)} end conditions follow from the others, or contradict them: inputs of "
            f"'{machine}' cannot change {listed(repr(name) for name in involved)} independently (smallest singular value "
            f"{values[-1] / values[0]:.1e} of the largest). Leave {'one' if missing == 1 else missing} of them out",
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
    unknown = np.r_[layout.node : layout.node + layout.inner, layout.stride : layout.local]
    for k in range(count):
        own = slice(k * layout.stride, k * layout.stride + layout.local)
        local = x[own].copy()
        local[layout.node + layout.inner : layout.stride] = DISTURBED * rng.normal(size=layout.inputs)
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
    change: FloatArray = np.zeros((n, count * layout.inputs))
    for k in range(count):
        block = _local_slopes(program, x[k * layout.stride : k * layout.stride + layout.local], k)[dynamic]
        before, inner, inputs, after = np.split(block, np.cumsum([n, layout.inner, layout.inputs]), axis=1)
        right = before @ change
        right[:, k * layout.inputs : (k + 1) * layout.inputs] += inputs
        solved, _, rank, _ = np.linalg.lstsq(np.hstack([after, inner]), -right, rcond=1e-13)
        if rank < n + layout.inner:
            return None
        change = np.asarray(solved[:n], dtype=np.float64)
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
        "horizon, wider bounds, more intervals, or other starts"
    )
