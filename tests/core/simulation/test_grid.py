"""The times of a run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingpost import PluginSet, SolverError, simulate
from kingpost.registry.selection import select
from kingpost.simulation.grid import _largest_divisor, check_memory, fixed_step_grid, output_grid


def test_samples_come_about_every_hundredth_of_a_second():
    assert fixed_step_grid(0.0, 10.0, 0.001, None).substeps == 10
    assert fixed_step_grid(0.0, 10.0, 0.05, None).substeps == 1
    assert fixed_step_grid(0.0, 0.007, 0.001, None).substeps == 7
    assert output_grid(0.0, 10.0, None).samples == 1000
    assert output_grid(0.0, 0.001, None).samples == 1


@given(steps=st.integers(1, 10**6), start=st.floats(-100, 100), step=st.sampled_from([1e-4, 1e-3, 0.003, 0.01, 1 / 3]))
def test_the_grid_ends_where_it_should(steps, start, step):
    grid = fixed_step_grid(start, start + steps * step, step, None)
    assert grid.samples * grid.substeps == steps
    assert grid.times[0] == start
    # One rounding in the product and one in the sum.
    assert grid.times[-1] == pytest.approx(start + steps * step, rel=1e-15, abs=1e-13)
    assert np.all(np.diff(grid.times) > 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed_step_grid(0, 10, 0.003, None), "end at 9.999 s or 10.002 s, or use a step of 0.00299940012 s"),
        (lambda: fixed_step_grid(0, 10, 0.002, 1e308), "an output step of 1e+308 s is longer than the run, which lasts 10 s"),
        (lambda: fixed_step_grid(0, 10, 0.002, 0.005), "an output step of 0.005 s is not a whole number of steps of 0.002 s"),
        (lambda: fixed_step_grid(0, 1, 0.01, 0.03), "is not a whole number of output steps of 0.03 s; end at 0.99 s or 1.02 s"),
        (lambda: output_grid(0, 1, 0.03), "end at 0.99 s or 1.02 s"),
        (lambda: fixed_step_grid(1, 1, 0.01, None), "the run goes from 1 s to 1 s; the end must be finite and after"),
        (lambda: fixed_step_grid(0, float("nan"), 0.01, None), "the run goes from 0 s to nan s"),
        (lambda: fixed_step_grid(0, 1, -0.01, None), "step is -0.01 s; it must be positive and finite"),
        (lambda: output_grid(0, 1, float("inf")), "output step is inf s; it must be positive and finite"),
        # Steps that no number can tell apart, and more of them than anybody waits for.
        (lambda: fixed_step_grid(0, 10, 1e-300, None), "step is 1e-300 s, but at t = 10 s neighbouring numbers are 1.78e-15 s"),
        (lambda: fixed_step_grid(0, 10, 5e-324, None), "step is 4.94066e-324 s, but at t = 10 s neighbouring numbers"),
        (lambda: output_grid(0, 10, 1e-300), "output step is 1e-300 s, but at t = 10 s neighbouring numbers are"),
        (lambda: fixed_step_grid(1e15, 1e15 + 1, 0.001, None), "at t = 1e+15 s neighbouring numbers are 0.125 s apart"),
        (
            lambda: output_grid(1e15, 1e15 + 1, None),
            "neighbouring numbers are 0.125 s apart, so that times would not rise evenly",
        ),
        (
            lambda: fixed_step_grid(0, 10, 1e-12, None),
            "1e+13 steps of 1e-12 s (step), which take 1.2e+02 days at a microsecond",
        ),
        (lambda: fixed_step_grid(0, 1e9, 1e-3, 1.0), "at most 1e+10 are taken. Take 0.1 s or more, or end earlier"),
        (lambda: output_grid(0, 1e9, 0.001), "1e+12 steps of 0.001 s (output step)"),
    ],
)
def test_times_that_do_not_fit_are_refused_with_ones_that_do(make, message):
    with pytest.raises(SolverError) as error:
        make()
    assert message in str(error.value)


def test_a_step_that_has_few_divisors_is_found_at_once():
    # 1e9 + 7 is a prime: a search from ten million downwards would go through all of them.
    assert _largest_divisor(10**9 + 7, 10**7) == 1
    assert _largest_divisor(2 * (10**9 + 7), 10**7) == 2


@given(number=st.integers(1, 10**6), most=st.integers(1, 10**6))
def test_the_largest_divisor(number, most):
    expected = next(k for k in range(min(most, number), 0, -1) if number % k == 0)
    assert _largest_divisor(number, most) == expected


def test_more_samples_than_memory_are_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr("kingpost.simulation.grid.memory", lambda: 2**20)
    grid = fixed_step_grid(0.0, 10.0, 0.001, 0.01)
    with pytest.raises(
        SolverError, match=r"1001 samples of 500 channels take 3.82 MiB, and this machine has 1 MiB; .* 0.038 s"
    ):
        check_memory(grid, 500)
    with pytest.raises(SolverError, match=r"1000001 samples of 2 channels take 15.3 MiB"):
        output_grid(0.0, 1.0, 1e-6)
    machine = select(PluginSet(entry_points=False).models, "double-pendulum").build()
    with pytest.raises(SolverError, match=r"10001 samples of \d+ channels take"):
        simulate(machine, 1.0, step=1e-4, output_step=1e-4, loads="all")
