"""The times of a run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingpost import SolverError
from kingpost.simulation.grid import fixed_step_grid, output_grid


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
        (lambda: fixed_step_grid(0, 10, 0.002, 0.005), "an output step of 0.005 s is not a whole number of steps of 0.002 s"),
        (lambda: fixed_step_grid(0, 1, 0.01, 0.03), "is not a whole number of output steps of 0.03 s; end at 0.99 s or 1.02 s"),
        (lambda: output_grid(0, 1, 0.03), "end at 0.99 s or 1.02 s"),
        (lambda: fixed_step_grid(1, 1, 0.01, None), "the run goes from 1 s to 1 s; the end must be finite and after"),
        (lambda: fixed_step_grid(0, float("nan"), 0.01, None), "the run goes from 0 s to nan s"),
        (lambda: fixed_step_grid(0, 1, -0.01, None), "step is -0.01 s; it must be positive and finite"),
        (lambda: output_grid(0, 1, float("inf")), "output step is inf s; it must be positive and finite"),
    ],
)
def test_times_that_do_not_fit_are_refused_with_ones_that_do(make, message):
    with pytest.raises(SolverError) as error:
        make()
    assert message in str(error.value)
