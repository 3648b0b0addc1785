"""Cycles of signals that hardly turn."""

import numpy as np
import pytest

from kingpost.report.cycles import CLASSES, describe_cycles

pytest.importorskip("rainflow")
LOAD = 42.47854606


def test_a_load_at_rest_has_no_cycles_in_its_rounding():
    values = np.full(200, LOAD)
    values[::3] = np.nextafter(LOAD, 0)
    assert describe_cycles(values, (3.0,), 10.0) is None
    assert describe_cycles(np.zeros(200), (3.0,), 10.0) is None


@pytest.mark.parametrize("size", [1e-11, 1e-6, 1.0])
def test_a_load_that_turns_by_more_has_classes_that_hold_all_its_cycles(size):
    values = LOAD * (1 + size * np.sin(np.linspace(0, 60, 200)))
    cycles = describe_cycles(values, (3.0,), 10.0)
    low, high = cycles["matrix"]["mean"]
    assert low < high
    assert sum(number for _, _, number in cycles["matrix"]["cells"]) == pytest.approx(cycles["count"])
    assert np.diff(np.linspace(low, high, CLASSES + 1)).min() > 0
