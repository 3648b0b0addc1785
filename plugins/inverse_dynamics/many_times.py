"""The equations of a servo problem and their derivatives, solved at many times at once.

Some of the times lead: at these, Newton's method has a matrix of its own. The times between them begin with a polynomial
through the nearest leaders and keep the inverse of one of these, which is what costs most. That is right as long as nothing
happens between two leaders. If the determinant of the matrix vanishes between them, like s^m at a part x of the way, its sign
changes, or the second difference of its logarithm does not vanish: it is m log(1/x^2 - 1) at the one and
m log(1/(1 - x)^2 - 1) at the other, of which one is m log 3 or more. Where there is no second difference, at the ends, the
first one tells: from the leader beyond to the next one the determinant changes by a factor of 2^m or more. Where one of these
is the case, and where errors grow, all times have matrices of their own.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.near_singular import EPS, FurtherDerivatives, no_values
from kingpost.control.servo.prolonged import Found, Prolonged, rank_of, shifted
from kingpost.control.servo.start import CONSISTENT, ServoStart

#: One of so many times leads, and the polynomial between them goes through so many leaders.
LEADING, THROUGH = 16, 6
#: Second differences of the logarithms of determinants of leaders, and first ones at the ends: about half of what a zero makes.
BENT, STEEP = 0.5 * math.log(3.0), 0.5 * math.log(2.0)
#: Matrices of Newton's method, steps with each, and steps with the matrix of another time.
ROUNDS, OWN_STEPS, BORROWED_STEPS = 4, 4, 10
#: Sums of unknowns whose growth is looked at; one alone may miss what another sees.
PROBES = 3
#: What rounding may do to what is wanted, in the sizes of the unknowns, before further derivatives are asked.
ROUNDED = 1e-10
#: Parts of the unknowns, in their sizes: steps below the first that become no shorter are rounding, errors below the next none.
SETTLED, NONE = 1e-11, 1e-14
#: Steps are not relied upon to become shorter by more than this.
BY_STEP = 0.01
#: Longer steps, in the sizes of the unknowns, are not taken.
LONGEST = 10.0

Places = NDArray[np.intp]


class ManyTimes:
    """The unknowns at some times, each near an anchor of which the series is known."""

    def __init__(self, array: Prolonged, start: ServoStart, anchors: list[Found], times: FloatArray) -> None:
        self.array, self.start, self.anchors, self.times = array, start, anchors, times
        self.scale = start.weights[array.columns[:, 1]]
        self.signals = array.signals(times)
        #: Series with more coefficients than the equations hold.
        self._guess = shifted(
            np.stack([anchor.known for anchor in anchors], axis=-1),
            (times - np.array([anchor.t for anchor in anchors])) / start.tau,
        )
        self.values = self._guessed(np.arange(len(times)))
        self.settled = np.zeros(len(times), dtype=bool)
        self.growth = np.full(len(times), np.inf)
        self._choose_rows(len(times) // 2)

    def _choose_rows(self, middle: int) -> None:
        """Choose combinations of rows that are independent; what they do not determine keeps its value."""
        J = self._jacobian(np.array([middle]))[0]
        if not np.isfinite(J).all():
            raise no_values(self.start.problem, float(self.times[middle]))
        self.size = np.abs(J).max(axis=1)
        self.size[self.size == 0.0] = 1.0
        U, singular, V = np.linalg.svd(J / self.size[:, None])
        self.rank = rank_of(singular)
        self._turned = None if self.rank == len(J) else U[:, : self.rank].T
        self._free = V[self.rank :]

    def _jacobian(self, at: Places) -> FloatArray:
        x = self.array.unpack(self.values[at])
        return np.asarray(self.array.jacobian(self.times[at], x, self.signals[:, :, at]) * self.scale)

    def solved(self) -> FloatArray:
        """Return the series of all unknowns at all times (unknowns x orders x times)."""
        count = len(self.times)
        leaders = np.unique(np.append(np.arange(0, count, LEADING), count - 1))
        inverses, determinants = self._newton(leaders)
        self._follow(leaders, inverses, determinants)
        self._newton(np.setdiff1d(np.flatnonzero(~self.settled), leaders))
        self.settled &= EPS * self.growth <= ROUNDED
        x = self.array.unpack(self.values)
        further = None if self.settled.all() else FurtherDerivatives(self.start)
        for i in np.flatnonzero(~self.settled):
            assert further is not None
            x[:, :, i] = further.solve(float(self.times[i]), self._guess[:, :, i])[:, : self.array.k + 1]
        return x

    def _newton(self, at: Places) -> tuple[FloatArray, tuple[FloatArray, FloatArray] | None]:
        """Solve the equations at some times, each with its own matrix.

        Return the inverses, and signs and logarithms of determinants; without the latter, where a matrix was singular.
        """
        n = self.values.shape[1]
        inverses, determinants = np.zeros((len(at), n, n)), (np.zeros(len(at)), np.zeros(len(at)))
        for _ in range(ROUNDS):
            todo = np.flatnonzero(~self.settled[at])
            if not len(todo):
                return inverses, determinants
            J = self._jacobian(at[todo]) / self.size[:, None]
            rows = J if self._turned is None else self._turned @ J
            full = np.concatenate([rows, np.broadcast_to(self._free, (len(todo), *self._free.shape))], axis=1)
            try:
                inverses[todo] = np.linalg.inv(full)
            except np.linalg.LinAlgError:
                return inverses, None
            for part, found in zip(determinants, np.linalg.slogdet(full), strict=True):
                part[todo] = found
            self.growth[at[todo]] = self._growth(inverses[todo])
            self._correct(at[todo], inverses[todo], np.arange(len(todo)), OWN_STEPS)
        return inverses, determinants

    def _follow(self, leaders: Places, inverses: FloatArray, determinants: tuple[FloatArray, FloatArray] | None) -> None:
        """Solve the equations between leaders, where nothing happens between them."""
        if determinants is None or len(leaders) < 3:
            return
        steady = self._steady(leaders, *determinants)
        followers, whose = [], []
        for k in np.flatnonzero(steady):
            between = self._between(leaders, int(k))
            followers.append(between)
            whose.append(np.where(between - leaders[k] <= leaders[k + 1] - between, k, k + 1))
        if not followers:
            return
        at, leader = np.concatenate(followers), np.concatenate(whose)
        self.growth[at] = self.growth[leaders[leader]]
        self._correct(at, inverses, leader, BORROWED_STEPS)
        again = at[~self.settled[at]]
        self.values[again] = self._guessed(again)

    def _guessed(self, at: Places) -> FloatArray:
        return self.array.pack(self._guess[:, : self.array.k + 1, at])

    def _between(self, leaders: Places, k: int) -> Places:
        """Return the times between a leader and the next, with the values of a polynomial through those around them."""
        between = np.arange(leaders[k] + 1, leaders[k + 1])
        first = min(max(0, k + 1 - THROUGH // 2), max(0, len(leaders) - THROUGH))
        through = leaders[first : first + THROUGH]
        nodes = self.times[through]
        weights = np.ones((len(between), len(nodes)))
        for i, j in itertools.permutations(range(len(nodes)), 2):
            weights[:, i] *= (self.times[between] - nodes[j]) / (nodes[i] - nodes[j])
        self.values[between] = weights @ self.values[through]
        return between

    def _steady(self, leaders: Places, signs: FloatArray, logarithms: FloatArray) -> FloatArray:
        """Say between which neighbouring leaders, each and the next, nothing happens."""
        good = self.settled[leaders] & (EPS * self.growth[leaders] <= ROUNDED / 10)
        steps = np.abs(np.diff(logarithms))
        calm = np.ones(len(leaders), dtype=bool)
        calm[1:-1] = np.abs(np.diff(logarithms, 2)) < BENT
        calm[0], calm[-1] = (steps[:2] < STEEP).all(), (steps[-2:] < STEEP).all()
        fine = good & calm
        return np.asarray(fine[1:] & fine[:-1] & (signs[1:] == signs[:-1]))

    def _correct(self, at: Places, inverses: FloatArray, whose: Places, steps: int) -> None:
        """Correct the values at some times with one matrix for several steps.

        From a guess that is off by e, steps with the matrix of the guess leave e^2, e^3, ...
        """
        before = np.zeros(len(at))
        for _ in range(steps):
            left = np.flatnonzero(~self.settled[at])
            if not len(left):
                return
            here = at[left]
            r = self.array.residual(self.times[here], self.array.unpack(self.values[here]), self.signals[:, :, here])
            r /= self.size
            step = -self._applied(inverses, whose[left], r if self._turned is None else r @ self._turned.T)
            length = np.nan_to_num(np.abs(step).max(axis=1, initial=0.0), nan=LONGEST, posinf=LONGEST)
            good = length < LONGEST
            self.values[here[good]] += self.scale * step[good]
            size = 1.0 + np.abs(self.values[here] / self.scale).max(axis=1, initial=0.0)
            # Steps that become shorter by a factor leave the error of the last one times this factor, if it is no accident.
            falling = np.where(before[left] > length, np.maximum(length / np.maximum(before[left], NONE), BY_STEP), 1.0)
            rounding = (length < SETTLED * size) & (before[left] > 0.0) & (falling > 0.5)
            enough = (falling * length < NONE * size) | rounding
            self.settled[here] = enough & (np.abs(r).max(axis=1, initial=0.0) <= CONSISTENT)
            before[left] = length

    def _applied(self, inverses: FloatArray, whose: Places, r: FloatArray) -> FloatArray:
        """Return what the inverses make of residuals; those of one leader stand side by side, and are done together."""
        step = np.empty((len(r), inverses.shape[1]))
        ends = [0, *(np.flatnonzero(np.diff(whose)) + 1).tolist(), len(whose)]
        for first, end in itertools.pairwise(ends):
            step[first:end] = r[first:end] @ inverses[whose[first], :, : self.rank].T
        return step

    def _growth(self, inverses: FloatArray) -> FloatArray:
        """Return by how much errors of the equations grow in what is wanted, at each time: sums with signs by chance."""
        wanted = np.concatenate([self.array.states, self.array.results])
        sums = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(wanted)))
        grown = sums @ inverses[:, wanted]
        return np.asarray(np.nan_to_num(np.linalg.norm(grown, axis=2).max(axis=1), nan=np.inf, posinf=np.inf))
