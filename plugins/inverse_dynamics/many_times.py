"""The equations of a servo problem and their derivatives, solved at many times at once.

Some of the times lead: at these, Newton's method has a matrix of its own. The times between them begin with the series of the
nearest leader and keep its inverse, which is what costs most. That is right as long as nothing happens between two leaders. If
the determinant of the matrix vanishes between them, like s^m, then at a distance of one step of leaders or less; from this leader
to the next one away from there it changes by a factor of 2^m or more, or from one side to the other it changes its sign. Where
one of both is the case, and where errors grow, all times have matrices of their own.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.near_singular import EPS, FurtherDerivatives
from kingpost.control.servo.prolonged import Found, Prolonged, rank_of, shifted
from kingpost.control.servo.start import CONSISTENT, ServoStart

#: One of so many times leads.
LEADING = 16
#: Factor by which determinants of neighbouring leaders may differ; it would be two or more beside a zero.
STEADY = 1.5
#: Matrices of Newton's method, and steps with each; times that need more are solved alone.
ROUNDS, STEPS_PER_MATRIX = 4, 6
#: Sums of unknowns whose growth is looked at; one alone may miss what another sees.
PROBES = 3
#: What rounding may do to what is wanted, in the sizes of the unknowns, before further derivatives are asked.
ROUNDED = 1e-10
#: Parts of the unknowns, in their sizes: steps below the first that become no shorter are rounding, errors below the other none.
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
        #: Series with more coefficients than the equations hold, for guesses.
        self._guess = shifted(
            np.stack([anchor.known for anchor in anchors], axis=-1),
            (times - np.array([anchor.t for anchor in anchors])) / start.tau,
        )
        self.values = array.pack(self._guess[:, : array.k + 1])
        self.settled = np.zeros(len(times), dtype=bool)
        self.growth = np.full(len(times), np.inf)
        self._choose_rows(len(times) // 2)

    def _choose_rows(self, middle: int) -> None:
        """Choose combinations of rows that are independent; what they do not determine keeps its value."""
        J = self._jacobian(np.array([middle]))[0]
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
        """Solve the equations at some times, each with its own matrix; return the inverses, and signs and logarithms of determinants.

        Without the latter, where a matrix was singular.
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
            self._correct(at[todo], inverses[todo], np.arange(len(todo)))
        return inverses, determinants

    def _follow(self, leaders: Places, inverses: FloatArray, determinants: tuple[FloatArray, FloatArray] | None) -> None:
        """Solve the equations between leaders, where nothing happens between them."""
        if determinants is None or len(leaders) < 3:
            return
        steady = self._steady(leaders, *determinants)
        followers, whose = [], []
        for k in np.flatnonzero(steady):
            between = np.arange(leaders[k] + 1, leaders[k + 1])
            followers.append(between)
            whose.append(np.where(between - leaders[k] <= leaders[k + 1] - between, k, k + 1))
        if not followers:
            return
        at, leader = np.concatenate(followers), np.concatenate(whose)
        array, series = self.array, self._guess[:, :, leaders].copy()
        series[:, : array.k + 1][array.columns[:, 1], array.columns[:, 0]] = self.values[leaders].T
        away = (self.times[at] - self.times[leaders[leader]]) / self.start.tau
        self.values[at] = array.pack(shifted(series[:, :, leader], away)[:, : array.k + 1])
        self.growth[at] = self.growth[leaders[leader]]
        self._correct(at, inverses, leader)

    def _steady(self, leaders: Places, signs: FloatArray, logarithms: FloatArray) -> FloatArray:
        """Say between which neighbouring leaders, each and the next, nothing happens."""
        good = self.settled[leaders] & (EPS * self.growth[leaders] <= ROUNDED / 10)
        alike = (np.abs(np.diff(logarithms)) < np.log(STEADY)) & (signs[1:] == signs[:-1])
        pairs = good[1:] & good[:-1] & alike
        # What happens near a leader shows on its other side.
        around = np.concatenate([[True], pairs, [True]])
        return np.asarray(pairs & around[:-2] & around[2:])

    def _correct(self, at: Places, inverses: FloatArray, whose: Places) -> None:
        """Correct the values at some times with one matrix for several steps.

        From a guess that is off by e, steps with the matrix of the guess leave e^2, e^3, ...
        """
        before = np.zeros(len(at))
        for _ in range(STEPS_PER_MATRIX):
            left = np.flatnonzero(~self.settled[at])
            if not len(left):
                return
            here = at[left]
            r = self.array.residual(self.times[here], self.array.unpack(self.values[here]), self.signals[:, :, here])
            r /= self.size
            step = -self._applied(inverses, whose[left], r if self._turned is None else r @ self._turned.T)
            finite = np.isfinite(step).all(axis=1)
            step[~finite] = np.inf
            length = np.abs(step).max(axis=1, initial=0.0)
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
