"""What tests of gradients share."""

from __future__ import annotations

import numpy as np
import pytest

import kingpost
from kingpost.gradients.functional import read_functional
from kingpost.gradients.readings import Record


def ridders(value, shrink=2.0, rounds=10):
    """Return the derivative at 0 of a function, and an estimate of its error.

    Central differences with steps that shrink from 1 are extrapolated to none (Richardson); that one of all is taken
    whose neighbours agree best with it, before rounding spoils them (Ridders).
    """
    best, error, before = 0.0, np.inf, []
    step = 1.0
    for _ in range(rounds):
        row = [(value(step) - value(-step)) / (2 * step)]
        for j, earlier in enumerate(before):
            factor = shrink ** (2 * (j + 1))
            row.append((factor * row[j] - earlier) / (factor - 1))
            apart = max(abs(row[-1] - row[-2]), abs(row[-1] - earlier))
            if apart < error:
                best, error = row[-1], apart
        if before and abs(row[-1] - before[-1]) > 4 * error:
            break
        before, step = row, step / shrink
    return best, error


@pytest.fixture(scope="session")
def along_differences(plugins):
    """Return a function that gives the derivative along a direction in all names at once, and that by differences.

    Differences of fourth order with steps of 1e-3 of numbers of the size one leave some 1e-12 of truncation and 1e-13 / 1e-3 of
    rounding, so that 1e-6 is far from both. Over long times, in which changes grow, ``extrapolated`` finds steps by itself.
    """

    def compare(mechanism, of, to, t_end, settings=None, part=1e-3, extrapolated=False, **choices):
        settings = dict(settings or {})
        found = kingpost.sensitivity(mechanism, of, to, t_end, settings=settings, plugins=plugins, **choices)
        rng = np.random.default_rng(4)
        sizes = {name: part * max(abs(value), 0.1) * rng.uniform(0.2, 1.0) for name, value in found.at.items()}

        def value(amount):
            moved = {**settings, **{name: found.at[name] + amount * size for name, size in sizes.items()}}
            loads = {} if "loads" in choices else {"loads": "all"}
            history = kingpost.simulate(mechanism, t_end, settings=moved, plugins=plugins, **loads, **choices)
            return read_functional(of).read(Record(history.time, {name: history[name] for name in history.names})).value

        if extrapolated:
            difference, error = ridders(value)
            assert error < 3e-7 * abs(difference), "differences are not good enough to compare with"
        else:
            difference = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / 12
        return found, sum(slope * sizes[name] for name, slope in found.gradient.items()), difference

    return compare
