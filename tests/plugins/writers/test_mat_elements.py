"""Our own reader of MATLAB files: what SciPy reads of whole files, and an error, never a crash, for damaged ones."""

import io
import struct
import zlib

import numpy as np
import pytest
import scipy.io

from kingpost.plugins.writers.mat_elements import HEADER, read_variables

CONTENT = {
    "time": np.linspace(0.0, 1.0, 7),
    "single": np.linspace(0.0, 1.0, 7, dtype=np.float32),
    **{f"v_{kind}": np.arange(1, 6, dtype=kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")},
    "scalar": 1.5,
    "empty": np.empty((0, 1)),
    "text": "words, naïve ones",
}
#: Kinds that no history has.
OTHERS = {"complex": np.ones(3) * 1j, "record": {"a": 1.0}, "cells": np.array([1, "x"], dtype=object)}


def saved(content, packed=True):
    file = io.BytesIO()
    scipy.io.savemat(file, content, do_compression=packed, oned_as="column")
    return file.getvalue()


@pytest.mark.parametrize("packed", [True, False])
def test_variables_are_those_that_scipy_reads(packed):
    content = saved(CONTENT | OTHERS, packed)
    theirs = scipy.io.loadmat(io.BytesIO(content))
    ours = read_variables(content)
    assert set(ours) == set(CONTENT)
    assert ours.pop("text") == theirs["text"].item() == CONTENT["text"]
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name].ravel())
        assert value.dtype == theirs[name].dtype


def test_the_other_order_of_bytes_is_read():
    numbers = struct.pack(">II3d", 9, 24, 1.0, 2.0, 3.0)
    parts = struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 3, 1) + struct.pack(">HH4s", 1, 1, b"x\0\0\0")
    matrix = struct.pack(">II", 14, len(parts + numbers)) + parts + numbers
    header = b"MATLAB 5.0".ljust(124) + b"\1\0MI"
    np.testing.assert_array_equal(read_variables(header + matrix)["x"], [1.0, 2.0, 3.0])
    packed = zlib.compress(matrix)
    np.testing.assert_array_equal(read_variables(header + struct.pack(">II", 15, len(packed)) + packed)["x"], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin as a MATLAB file"),
        (b"MATLAB 7.3 MAT-file".ljust(600), "of version 7.3, and level 5 is read; save it in MATLAB with '-v7'"),
        (saved({"x": 1.0})[:-1], "announces"),
        (saved({"x": 1.0})[:HEADER] + struct.pack("<II", 15, 4) + b"abcd", "a packed element is damaged"),
        (saved({"x": 1.0})[:HEADER] + struct.pack("<II", 15, 8) + zlib.compress(b""), "a packed element is not whole"),
        (saved({"x": 1.0}) + saved({"x": 1.0})[HEADER:], "it has two variables 'x'"),
        (saved({"x": 1.0}) + struct.pack("<IId", 9, 8, 1.0), "an element of type 9 where a variable should be"),
    ],
)
def test_what_is_wrong_is_said(content, message):
    with pytest.raises(ValueError, match=message):
        read_variables(content)


def test_no_damage_takes_the_process_down():
    """Also where the checksums are right, as those of a file are whose writer went wrong."""
    whole = saved(CONTENT | OTHERS)
    elements = []
    at = HEADER
    while at < len(whole):
        length = struct.unpack_from("<I", whole, at + 4)[0]
        elements.append(zlib.decompress(whole[at + 8 : at + 8 + length]))
        at += 8 + length
    rng = np.random.default_rng(5)
    answers = {"read": 0, "refused": 0}
    for _ in range(4000):
        damaged = [bytearray(element) for element in elements]
        for _ in range(rng.integers(1, 4)):
            element = damaged[rng.integers(len(damaged))]
            element[rng.integers(min(len(element), 80))] = rng.integers(256)
        content = whole[:HEADER]
        for element in damaged:
            packed = zlib.compress(element, 1)
            content += struct.pack("<II", 15, len(packed)) + packed
        try:
            read_variables(content)
            answers["read"] += 1
        except ValueError:
            answers["refused"] += 1
    assert answers["read"] > 100
    assert answers["refused"] > 1000
