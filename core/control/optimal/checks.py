"""What can be said about a task before it is solved, too few intervals, and when no motion is found."""

from __future__ import annotations

from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.optimal.biting import biting_bounds
from kingpost.control.optimal.optimum import Attempt, Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid

#: Part of its size within which a limit counts as reached by a motion at which a search gave up, which is no optimum.
BARELY = 0.02


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
        f"{task.title}: {words}. The worst constraint is {name} at t = {t:.6g} s, violated by {size:.3g}.{_held(optimum)} "
        "Try a longer horizon, wider bounds, more intervals, or other starts. Tried: "
        f"{listed(map(_told, optimum.attempts))}"
    )


def _held(optimum: Optimum) -> str:
    """Return which limits the motion reaches that comes nearest, for one of them is what is in the way mostly."""
    reached = [item for part in optimum.parts for item in biting_bounds(part, BARELY)]
    found = [
        f"'{item['name']}' is at its {item['limit']} limit {item['value']:.6g} for {item['duration_s']:.3g} s"
        for item in sorted(reached, key=lambda item: -item["share"])
    ]
    return f" On the way that comes nearest, {listed(found)}." if found else ""


def _told(attempt: Attempt) -> str:
    """Return in few words from where a search began, and how it ended."""
    stage = f" with {attempt.stage}" if attempt.stage else ""
    ended = f"violation {attempt.violation:.1g}" if attempt.status != "optimal" else f"cost {attempt.cost:.6g}"
    return f"'{attempt.start}'{stage} ({attempt.status}, {ended})"
