"""Classes of EN 13001."""

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import (
    CountingOptions,
    assess_loads,
    count_cycles,
    crane_class,
    load_class,
    load_spectrum_factor,
    stress_class,
    use_class,
)
from kingpost.fatigue.assessment import YEAR
from kingpost.fatigue.en13001 import LOAD_CLASSES, STRESS_CLASSES, USE_CLASSES
from tests.core.fatigue.synthetic import cosine, load_history


def test_limits_belong_to_the_class_below():
    assert [stress_class(s) for s in (0.0, 0.001, 0.0011, 0.002, 0.0021, 0.125, 0.126, 4.0, 4.1)] == [
        "none", "none", "S02", "S02", "S01", "S4", "S5", "S9", ">S9",
    ]  # fmt: skip
    assert [use_class(c) for c in (1.0, 1.6e4, 1.7e4, 1e6, 8e6, 9e6)] == ["U0", "U0", "U1", "U6", "U9", ">U9"]
    assert [load_class(k) for k in (0.01, 0.0313, 0.05, 0.125, 0.3, 1.0)] == ["Q0", "Q0", "Q1", "Q2", "Q4", "Q5"]


@pytest.mark.parametrize("classes", [STRESS_CLASSES, LOAD_CLASSES, USE_CLASSES], ids=["S", "Q", "U"])
def test_each_class_reaches_about_twice_as_far_as_the_one_before(classes):
    limits = np.array([limit for _, limit in classes])
    assert np.all(np.abs(limits[1:] / limits[:-1] - 2.0) < 0.04)


def test_a_constant_range_over_a_life_by_hand():
    # Two million cycles of one range: k_m = 1, nu = 1, s_m = 1, class S7; twice as many are S8.
    _, values = cosine(10)
    cycles = count_cycles(values)
    found = crane_class(cycles, 3.0, 10.0, years=2e5 * 10.0 / YEAR, year=YEAR)
    assert found.parameter.s_m == pytest.approx(1.0) and found.stress_class == "S7"
    assert crane_class(cycles, 3.0, 10.0, 4e5 * 10.0 / YEAR, YEAR).stress_class == "S8"


def test_a_load_spectrum_by_hand():
    # A tenth of the lifts with the full load, the rest with half of it: 0.1 + 0.9 / 8.
    factor = load_spectrum_factor([10.0, 5.0], [1000, 9000], rated=10.0)
    assert factor == pytest.approx(0.1 + 0.9 / 8) and load_class(factor) == "Q3"


def test_assessments_have_classes_over_a_life():
    time, values = cosine(10)
    history = load_history(time, {"slew.Mx": values})
    found = assess_loads(history, channels=["slew.Mx"], options=CountingOptions(life=25.0))
    classes = found.signals[0].crane_classes
    assert [item.parameter.slope for item in classes] == [3.0, 4.0, 5.0]
    assert classes[0].parameter.cycles == pytest.approx(25 * YEAR)  # one cycle in a second
    assert {item.stress_class for item in classes} == {">S9"}
    assert assess_loads(history, channels=["slew.Mx"]).signals[0].crane_classes == ()


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: stress_class(-1.0), "s_m is -1; give a number of 0 or more"),
        (lambda: load_class(1.1), "above 1, which only loads above the rated one give"),
        (lambda: load_spectrum_factor([11.0], [1], 10.0), "a load of 11 is above the rated one of 10"),
        (lambda: load_spectrum_factor([1.0], [1, 2], 10.0), "as many loads as counts"),
        (lambda: load_spectrum_factor([1.0], [0], 10.0), "something must be lifted"),
        (lambda: CountingOptions(life=0.0), "a life of 0 years has no class"),
    ],
)
def test_refusals(work, said):
    with pytest.raises(KingpostError, match=said):
        work()
