"""The solution at each time from the path and its derivatives there, without steps."""

from __future__ import annotations

import itertools

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.prolonged import Found, Prolonged, shifted
from kingpost.control.servo.start import KNOWN, ServoStart
from kingpost.control.servo.system import DirectInverse, Progress
from kingpost.plugins.inverse_dynamics.many_times import ManyTimes

#: Times at which equations are solved at once: enough to hide the cost of Python, few enough to stay in the cache.
CHUNK = 512
#: Parts of the path from one anchor to the next, at first, at most and at least.
FIRST, LONGEST, SHORTEST = 1 / 100, 1 / 20, 1e-7
#: The scaled residual of an anchor.
ROUGH = 1e-6
#: Changes from the prediction to the solution, in the sizes of the unknowns, beyond which the way was too long.
FAR = 0.2


class Flat(DirectInverse):
    """The equations and their derivatives solved at each time: no error of steps; for problems without internal states.

    Document 000, sections 4.3 and 6.3.6, for any machine. The path must be as smooth as the index asks for, less one: at a jump
    of that derivative the inputs jump. Where the equations lose rank, the solution goes on smoothly, and further derivatives
    of the path tell it.
    """

    name = "flat"
    internal_states = False

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        if start.internal_states:
            raise SolverError(
                f"method '{self.name}' needs a problem in which the path determines everything, and in "
                f"'{problem.equations.mechanism.name}' with the measures {', '.join(problem.task.measures)} it leaves "
                f"{start.internal_states} internal states free. Methods with steps, such as 'minimal-extension', take it; "
                "where the internal states are unstable, 'stable-inversion'"
            )
        anchors = self._anchors(start, times, lambda part: progress(0.5 * part))
        array = Prolonged(start.first_order, start.order, start.tau)
        rows = []
        nearest = np.searchsorted([0.5 * (a.t + b.t) for a, b in itertools.pairwise(anchors)], times)
        for first in range(0, len(times), CHUNK):
            here = slice(first, first + CHUNK)
            found = ManyTimes(array, start, [anchors[i] for i in nearest[here]], times[here])
            rows.append(solution_rows(start, found.solved()))
            progress(0.5 + 0.5 * min(1.0, (first + CHUNK) / len(times)))
        return times, np.vstack(rows)

    def _anchors(self, start: ServoStart, times: FloatArray, progress: Progress) -> list[Found]:
        """Return points along the path, each found from the one before."""
        array = Prolonged(start.first_order, start.order + KNOWN, start.tau)
        duration = float(times[-1] - start.t)
        anchors = [array.solve(start.t, start.series, start.weights, ROUGH)]
        way = FIRST * duration
        while anchors[-1].t < times[-1]:
            last = anchors[-1]
            t = min(last.t + way, float(times[-1]))
            guess = shifted(last.known, np.array([(t - last.t) / start.tau]))[:, :, 0]
            found = array.solve(t, guess, start.weights, ROUGH)
            moved = np.abs(found.series - guess)[start.first_order.unknowns.q, 0]
            if found.left <= ROUGH and moved.max(initial=0.0) <= FAR:
                anchors.append(found)
                way = min(1.5 * way, LONGEST * duration)
                progress((t - start.t) / duration)
                continue
            way = (t - last.t) / 2
            if way < SHORTEST * duration:
                raise SolverError(
                    f"the path does not determine the motion of '{start.problem.equations.mechanism.name}' beyond t = "
                    f"{last.t:.9g} s: there the equations are singular, or their solution goes to infinity (scaled residual "
                    f"{found.left:.1e} at t = {t:.9g} s). A path that keeps away from this place may help; an index analysis "
                    "says where ranks change"
                )
        return anchors


def solution_rows(start: ServoStart, x: FloatArray) -> FloatArray:
    """Return q, v, a, z, lam and u side by side from series (unknowns x orders x times)."""
    at = start.first_order.unknowns
    parts = (x[at.q, 0], x[at.v, 0], x[at.v, 1] / start.tau, x[at.z, 0], x[at.lam, 0], x[at.u, 0])
    return np.ascontiguousarray(np.concatenate(parts).T)
