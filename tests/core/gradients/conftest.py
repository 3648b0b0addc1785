"""What tests of gradients share."""

from __future__ import annotations

import numpy as np
import pytest

import kingpost
from kingpost.gradients.functional import read_functional
from kingpost.gradients.readings import Record


@pytest.fixture(scope="session")
def along_differences(plugins):
    """Return a function that gives the derivative along a direction in all names at once, and that by differences.

    Differences of fourth order with steps of 1e-3 of numbers of the size one leave some 1e-12 of truncation and 1e-13 / 1e-3 of
    rounding, so that 1e-6 is far from both.
    """

    def compare(mechanism, of, to, t_end, settings=None, part=1e-3, **choices):
        settings = dict(settings or {})
        found = kingpost.sensitivity(mechanism, of, to, t_end, settings=settings, plugins=plugins, **choices)
        rng = np.random.default_rng(4)
        sizes = {name: part * max(abs(value), 0.1) * rng.uniform(0.2, 1.0) for name, value in found.at.items()}

        def value(amount):
            moved = {**settings, **{name: found.at[name] + amount * size for name, size in sizes.items()}}
            loads = {} if "loads" in choices else {"loads": "all"}
            history = kingpost.simulate(mechanism, t_end, settings=moved, plugins=plugins, **loads, **choices)
            return read_functional(of).read(Record(history.time, {name: history[name] for name in history.names})).value

        difference = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / 12
        return found, sum(slope * sizes[name] for name, slope in found.gradient.items()), difference

    return compare
