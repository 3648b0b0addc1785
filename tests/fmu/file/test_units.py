"""Units as FMUs define them."""

import pytest

from kingpost.fmu.file.units import defined_unit


def test_a_unit_is_made_of_its_base_units():
    unit = defined_unit("kN", {"kg": "1", "m": "1", "s": "-2", "factor": "1e3", "offset": None})
    assert (unit.factor, dict(unit.exponents), unit.known) == (1e3, {"kg": 1, "m": 1, "s": -2}, True)


@pytest.mark.parametrize("base", [{"s": "1" + "0" * 400}, {"m": "1e9"}, {"factor": "inf"}, {"offset": "half"}, {"factor": "0"}])
def test_one_that_is_not_made_of_numbers_is_a_name_and_no_more(base):
    assert not defined_unit("odd", base).known
