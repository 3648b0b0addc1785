"""Steps of components, written for masters of others."""

import pytest

from kingpost.fmu.cosim.description.steps import fitting_step


@pytest.mark.parametrize(
    ("wanted", "step", "expected", "noted"),
    [
        (2e-4, 1e-4, 2e-4, False),
        (2.03e-4, 1e-4, 2e-4, True),
        (1e-4, 1e-4, None, False),
        (1.9e-4, 1e-4, None, True),
        (0.3, 0.1, 0.3, False),  # 0.3 / 0.1 is a little less than 3
        (None, 0.1, None, False),
        (0.2, None, 0.2, False),
        (0.05, 0.1, 0.05, False),
        (1e308, 0.01, 1e308, False),  # their ratio is beyond the range of numbers
    ],
)
def test_steps_become_whole_communication_steps(wanted, step, expected, noted):
    found, note = fitting_step("crane", wanted, step)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))
    assert bool(note) == noted
