"""Suggestions in messages."""

import pytest

from kingpost.base.errors import closest


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("slew.MX", "slew.Mx"),
        ("SLEW.fz", "slew.Fz"),
        ("slew.Mq", "slew.M"),
        ("slw.Fy", "slew.Fy"),
        ("Luff.angle", "luff.angle"),
    ],
)
def test_suggestions_look_past_small_and_large_letters_and_keep_to_the_kind(wrong, meant):
    known = [f"{joint}.{part}" for joint in ("slew", "luff") for part in ("Mx", "My", "Mz", "Fx", "Fy", "Fz", "angle")]
    assert f"did you mean '{meant}" in closest(wrong, known)


def test_of_two_spellings_the_nearer_is_meant():
    assert closest("ea", ["EA", "Ea"]) == "; did you mean 'Ea'?"
