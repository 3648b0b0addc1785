"""The solution at each time from the path and its derivatives there, without steps."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.near_singular import EPS, FurtherDerivatives
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.prolonged import Found, Prolonged, rank_of, shifted
from kingpost.control.servo.start import CONSISTENT, KNOWN, ServoStart
from kingpost.control.servo.system import DirectInverse, Progress

#: Times at which equations are solved at once: enough to hide the cost of Python, few enough to stay in the cache.
CHUNK = 512
#: Matrices of Newton's method for many times at once, and steps with each; times that need more are solved alone.
ROUNDS, STEPS_PER_MATRIX = 4, 4
#: Parts of the path from one anchor to the next, at first, at most and at least.
FIRST, LONGEST, SHORTEST = 1 / 100, 1 / 20, 1e-7
#: The scaled residual of an anchor.
ROUGH = 1e-6
#: Sums of unknowns whose growth is looked at; one alone may miss what another sees.
PROBES = 3
#: What rounding may do to what is wanted, in the sizes of the unknowns, before further derivatives are asked.
ROUNDED = 1e-10
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
            rows.append(self._at_once(array, start, [anchors[i] for i in nearest[here]], times[here]))
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

    def _at_once(self, array: Prolonged, start: ServoStart, anchors: list[Found], times: FloatArray) -> FloatArray:
        """Return the solution at many times: Newton's method from the nearest anchors, for all of them at once."""
        distance = (times - np.array([anchor.t for anchor in anchors])) / start.tau
        series = np.stack([anchor.known for anchor in anchors], axis=-1)
        x = shifted(series, distance)[:, : array.k + 1]
        signals = array.signals(times)
        scale = start.weights[array.columns[:, 1]]
        values = array.pack(x)
        middle = len(times) // 2
        # What the equations do not determine keeps its value: with these rows, they determine everything.
        J = array.jacobian(times[middle : middle + 1], x[:, :, middle : middle + 1], signals[:, :, middle : middle + 1])[0]
        J = J * scale
        size = np.abs(J).max(axis=1)
        size[size == 0.0] = 1.0
        U, singular, V = np.linalg.svd(J / size[:, None])
        rank = rank_of(singular)
        kept, free = U[:, :rank].T / size, V[rank:]
        settled = np.zeros(len(times), dtype=bool)
        growth = np.full(len(times), np.inf)
        for _ in range(ROUNDS):
            todo = np.flatnonzero(~settled)
            if not len(todo):
                break
            inverse = self._inverse(array, kept, free, times[todo], array.unpack(values[todo]), signals[:, :, todo], scale)
            if inverse is None:
                break
            growth[todo] = self._growth(array, inverse)
            settled[todo] = self._corrected(array, kept, inverse, times, values, signals, scale, todo)
        residual = np.abs(array.residual(times, array.unpack(values), signals)) / size
        settled &= residual.max(axis=1, initial=0.0) <= CONSISTENT
        x = array.unpack(values)
        settled &= EPS * growth <= ROUNDED
        further = FurtherDerivatives(start) if not settled.all() else None
        for i in np.flatnonzero(~settled):
            assert further is not None
            guess = shifted(anchors[i].known, distance[i : i + 1])[:, :, 0]
            x[:, :, i] = further.solve(float(times[i]), guess)[:, : array.k + 1]
        return solution_rows(start, x)

    def _inverse(
        self,
        array: Prolonged,
        kept: FloatArray,
        free: FloatArray,
        times: FloatArray,
        x: FloatArray,
        signals: FloatArray,
        scale: FloatArray,
    ) -> FloatArray | None:
        """Return the inverse of the matrix of Newton's method at each time, or None where there is a singular one."""
        J = array.jacobian(times, x, signals) * scale
        full = np.concatenate([kept @ J, np.broadcast_to(free, (len(times), *free.shape))], axis=1)
        try:
            return np.asarray(np.linalg.inv(full))
        except np.linalg.LinAlgError:
            return None

    def _corrected(
        self,
        array: Prolonged,
        kept: FloatArray,
        inverse: FloatArray,
        times: FloatArray,
        values: FloatArray,
        signals: FloatArray,
        scale: FloatArray,
        todo: NDArray[np.intp],
    ) -> FloatArray:
        """Correct the values at some times with one matrix for several steps, which is what costs most; say which settled.

        From a guess that is off by e, steps with the matrix of the guess leave e^2, e^3, ...
        """
        settled = np.zeros(len(todo), dtype=bool)
        rank = len(kept)
        for _ in range(STEPS_PER_MATRIX):
            left = np.flatnonzero(~settled)
            if not len(left):
                break
            at = todo[left]
            r = array.residual(times[at], array.unpack(values[at]), signals[:, :, at])
            step = -np.matmul(inverse[left][:, :, :rank], (r @ kept.T)[:, :, None])[:, :, 0]
            step[~np.isfinite(step)] = 0.0
            length = np.abs(step).max(axis=1)
            good = length < 10.0
            values[at[good]] += scale * step[good]
            settled[left] = length < 1e-11 * (1.0 + np.abs(values[at] / scale).max(axis=1))
        return settled

    def _growth(self, array: Prolonged, inverse: FloatArray) -> FloatArray:
        """Return by how much errors of the equations grow in what is wanted, at each time: sums with signs by chance."""
        wanted = np.concatenate([array.states, array.results])
        sums = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(wanted)))
        grown = sums @ inverse[:, wanted]
        return np.asarray(np.nan_to_num(np.linalg.norm(grown, axis=2).max(axis=1), nan=np.inf, posinf=np.inf))


def solution_rows(start: ServoStart, x: FloatArray) -> FloatArray:
    """Return q, v, a, z, lam and u side by side from series (unknowns x orders x times)."""
    at = start.first_order.unknowns
    parts = (x[at.q, 0], x[at.v, 0], x[at.v, 1] / start.tau, x[at.z, 0], x[at.lam, 0], x[at.u, 0])
    return np.ascontiguousarray(np.concatenate(parts).T)
