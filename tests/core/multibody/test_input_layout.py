"""Rows of numbers for inputs that move, and the expressions of them in equations."""

import casadi as ca
import numpy as np

from kingpost.mechanism.trajectories import Constant
from kingpost.multibody.input_layout import InputForm, InputLayout


def evaluated(layout: InputLayout, name: str, row: np.ndarray, times: np.ndarray) -> np.ndarray:
    t, u, a = ca.SX.sym("t"), ca.SX.sym("u", layout.size), ca.SX.sym("a")
    value = ca.Function("value", [t, u, a], [layout.value(name, t, u, {"a": a})])
    return np.array([float(value(time, row, 2.0)) for time in times])


def test_a_row_holds_values_then_what_moving_inputs_need():
    layout = InputLayout(("held", "bent", "driven"), {"bent": InputForm(2, 2)}, {"driven": Constant("a * t")})
    assert layout.size == 3 + 1 + 2 + 4
    assert layout.further == ("since", "bent.1", "bent.2", "bent.1.begin", "bent.1.0", "bent.1.1", "bent.1.2")
    assert layout.moving == ("bent", "driven")
    rows = np.zeros((1, layout.size))
    rows[0, 0] = 7.0
    layout.write(rows, "bent", 0, np.array([10.0]), np.array([[1.0, 2.0, 3.0]]))
    layout.write(rows, "bent", 1, np.array([10.5]), np.array([[-4.0]]))
    times = np.array([10.0, 10.25, 10.5, 10.75])
    np.testing.assert_array_equal(evaluated(layout, "held", rows[0], times), 7.0)
    np.testing.assert_allclose(evaluated(layout, "bent", rows[0], times), [1.0, 1.0 + 0.5 + 0.1875, -4.0, -4.0], rtol=1e-15)
    np.testing.assert_allclose(evaluated(layout, "driven", rows[0], times), 2 * times, rtol=1e-15)


def test_without_moving_inputs_a_row_is_its_values():
    layout = InputLayout(("a", "b"))
    assert (layout.size, layout.moving, layout.further) == (2, (), ())
