"""Numbers from files and command lines: finite ones, or none."""

import math

import numpy as np
import pytest

from kingpost.base.numbers import finite, finite_in, shown


@pytest.mark.parametrize(("value", "number"), [(1, 1.0), (2.5, 2.5), (np.float32(0.5), 0.5), (np.int64(3), 3.0)])
def test_numbers_are_floats(value, number):
    assert finite(value) == number


@pytest.mark.parametrize("value", [math.nan, -math.inf, True, "1", b"1", None, [1.0], 1j, 10**400, np.array([1.0, 2.0])])
def test_what_is_no_finite_number_is_none(value):
    assert finite(value) is None


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1.0), (" -2e3 ", -2e3), ("nan", None), ("1e999", None), ("half", None), ("", None)]
)
def test_numbers_in_texts(text, number):
    assert finite_in(text) == number


def test_messages_show_no_more_of_a_value_than_helps():
    assert shown("ab") == "'ab'"
    assert shown("a" * 1000).endswith("... (1002 characters)")
    assert shown(10**400).endswith("... (401 characters)")
    # Python writes whole numbers of 4300 digits at most.
    assert shown(10**5000) == "a whole number of about 5000 digits"
