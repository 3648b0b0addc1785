"""Hydrodynamic data are whole, or not made at all."""

import numpy as np
import pytest

from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.data import HydroData


def made(**changes):
    fields = {
        "name": "hull",
        "frequencies": [0.5, 1.0],
        "headings": [0.0, np.pi / 2, np.pi],
        "added_mass": np.tile(np.eye(6), (2, 1, 1)),
        "damping": np.zeros((2, 6, 6)),
        "excitation": np.ones((2, 3, 6)),
        "water_density": 1025.0,
        "gravity": 9.81,
        "reference": [0, 0, 0],
    }
    return HydroData(**{**fields, **changes})


def test_arrays_are_copies_that_cannot_be_written():
    given = np.zeros((2, 6, 6))
    data = made(damping=given)
    given[0, 0, 0] = 5.0
    assert data.damping[0, 0, 0] == 0.0
    assert data.excitation.dtype == complex
    with pytest.raises(ValueError, match="read-only"):
        data.added_mass[0, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frequencies": [1.0, 0.5]}, "positive, finite and rising"),
        ({"frequencies": [0.0, 0.5]}, "fields of their own"),
        ({"frequencies": []}, "positive, finite and rising"),
        ({"headings": [0.0, 1.0, 7.0]}, "within one turn"),
        ({"headings": [0.0, 1.0, 1.0]}, "must rise"),
        ({"damping": np.zeros((3, 6, 6))}, r"damping must have the shape \(2, 6, 6\).* got \(3, 6, 6\)"),
        ({"excitation": np.full((2, 3, 6), np.nan)}, r"excitation holds 36 value\(s\) that are not finite"),
        ({"added_mass": "heavy"}, "added mass must be an array of numbers"),
        ({"water_density": -1.0}, "water density must be a positive number; got -1.0"),
        ({"gravity": float("nan")}, "gravity must be"),
        ({"depth": 0.0}, "depth must be"),
        ({"volume": True}, "volume must be"),
        ({"reference": [0, 0]}, "reference must have the shape"),
    ],
)
def test_what_is_not_whole_is_refused(changes, words):
    with pytest.raises(KingpostError, match=words):
        made(**changes)


def test_drift_may_be_unknown_in_parts():
    drift = np.full((2, 3, 6), np.nan)
    drift[:, :, 0] = 1.0
    assert np.isnan(made(drift=drift).drift[0, 0, 2])
    with pytest.raises(KingpostError, match="drift"):
        made(drift=np.full((2, 3, 6), np.inf))


def test_deep_water_is_infinite():
    assert made(depth=float("inf")).depth == float("inf")
    assert made(volume=np.float64(3)).volume == 3.0


def test_notes_grow():
    assert made(notes=("one",)).with_notes("two", name="other").notes == ("one", "two")
