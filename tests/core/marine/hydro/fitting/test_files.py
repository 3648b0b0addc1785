"""Radiation memories in files: what no memory can have is refused, whatever is wrong with the file."""

import contextlib
import io

import numpy as np
import pytest

from kingpost import FileError
from kingpost.marine.hydro.fitting.files import FORM, read_memory

GOOD = {
    "form": np.array(FORM),
    "source": np.array("nothing"),
    "added_mass_inf": np.eye(6),
    "reference": np.zeros(3),
    "motions_0": np.array([2, 4]),
    "poles_0": np.array([-0.5 + 1j, -0.3]),
    "residues_0": np.ones((2, 2, 2)) + 0j,
}


def packed(**changes):
    content = io.BytesIO()
    np.savez(content, **{name: value for name, value in {**GOOD, **changes}.items() if value is not None})
    return content.getvalue()


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "memory.npz").write_bytes(packed())
    memory, source = read_memory(tmp_path / "memory.npz")
    assert (memory.states, memory.blocks[0].names, source) == (6, ("heave", "pitch"), "nothing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": np.array("other")}, "no radiation memory of this version: its form is 'other'"),
        ({"reference": None}, "reference"),
        ({"added_mass_inf": np.full((6, 6), np.nan)}, "'added_mass_inf' must hold finite numbers, 6 by 6; it has float64"),
        ({"added_mass_inf": np.eye(3)}, r"'added_mass_inf' .* it has float64 of shape \(3, 3\)"),
        ({"reference": np.array(["a", "b", "c"])}, "'reference' must hold finite numbers, 3; it has <U1"),
        ({"motions_0": np.array(2)}, "'motions_0' must hold finite numbers, any"),
        ({"motions_0": np.array([2, 6])}, "motions_0 are not numbers from 0 to 5"),
        ({"motions_0": np.array([2, 2])}, "a motion is in two blocks, or twice in one"),
        ({"poles_0": np.array([0.5 + 1j, -0.3])}, "poles_0 have a real part that is not below zero"),
        ({"poles_0": np.array([-0.5])}, r"'residues_0' must hold finite numbers, 1 by 2 by 2; .* \(2, 2, 2\)"),
    ],
)
def test_numbers_that_no_memory_has_are_refused(tmp_path, changes, message):
    (tmp_path / "memory.npz").write_bytes(packed(**changes))
    with pytest.raises(FileError, match=message):
        read_memory(tmp_path / "memory.npz")


def test_a_damaged_file_is_refused(tmp_path):
    """Cut anywhere, or with a byte that is another; only one of which nothing is read changes nothing."""
    whole = packed()
    path = tmp_path / "memory.npz"
    for place in range(0, len(whole), 37):
        path.write_bytes(whole[:place])
        with pytest.raises(FileError, match="cannot be read as a radiation memory"):
            read_memory(path)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(FileError):
            memory, _ = read_memory(path)
            assert (memory.added_mass_inf == np.eye(6)).all()
