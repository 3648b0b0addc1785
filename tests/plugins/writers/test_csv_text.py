"""Numbers as text by machine code: the same characters as Python's, and back to the same bits."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from kingpost.plugins.writers import csv_rows, csv_tables

pytestmark = pytest.mark.skipif(csv_rows.library() is None, reason="there is no C compiler")


def numbers():
    draw = np.random.default_rng(7)
    every_kind = draw.integers(0, 2**64, size=100_000, dtype=np.uint64).view(np.float64)
    special = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 1e16, 1e17, 0.1]
    powers = [*(float(f"1e{k}") for k in range(-323, 309)), *(2.0**k for k in range(-1074, 1024))]
    # Those of which 17 digits end in a tie, or nearly.
    ties = [*(k / 8 for k in range(2000)), *(float(2**56 + 8 * k) for k in range(50)), *(2.0**-k for k in range(40, 70))]
    short = np.round(draw.standard_normal(20_000), 3)
    found = np.concatenate([every_kind, special, powers, ties, short])
    return found[: len(found) // 10 * 10].reshape(-1, 10)


def test_characters_are_those_of_python():
    values = numbers()
    times = np.arange(len(values)) * 0.1
    assert csv_rows._compiled()(times, values) == csv_rows.rows_in_python(times, values)


def read(tmp_path, text, columns=1):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return csv_tables.quick_table(path, 0, columns)


def test_the_way_back(tmp_path, monkeypatch):
    values = numbers()
    monkeypatch.setattr(csv_tables, "BLOCK", 1_000_003)
    table = read(tmp_path, csv_rows.rows_in_python(np.zeros(len(values)), values).decode(), 11)
    known = ~np.isnan(values)
    assert np.array_equal(table[:, 1:][known].view(np.uint64), values[known].view(np.uint64))
    assert np.isnan(table[:, 1:][~known]).all()


def test_digits_of_others_are_rounded_as_python_does(tmp_path):
    draw = random.Random(5)
    texts = ["9007199254740993", "9007199254740993.00000000000000000001", "1e-400", "1e400", "00012.5", "5.", "-.5", "1e+05"]
    texts += [f"{draw.randint(0, 10**19)}e{draw.randint(-330, 300)}" for _ in range(20_000)]
    texts += [repr(draw.uniform(0, 1) * 10.0 ** draw.randint(-300, 300)) for _ in range(20_000)]
    for _ in range(200):  # exactly between two numbers, and a little beside it
        x = draw.uniform(1, 2) * 2.0 ** draw.randint(0, 50)
        half = (Fraction(x) + Fraction(math.nextafter(x, math.inf))) / 2
        digits = str(half.numerator * 10**60 // half.denominator)
        texts += [f"{digits}e-60", f"{digits}1e-61"]
    table = read(tmp_path, "\n".join(texts) + "\n")
    assert np.array_equal(table[:, 0].view(np.uint64), np.array([float(text) for text in texts]).view(np.uint64))


@pytest.mark.parametrize("odd", ["1,2\n", "\n", "1 \n", "a\n", "1e\n", "-\n", "nanx\n", "1\r", '"1"\n', " 1\n", "1"])
def test_what_is_no_row_is_left_to_others(tmp_path, odd):
    assert read(tmp_path, "1\n2\n" + odd) is None


def test_lines_of_windows(tmp_path):
    assert read(tmp_path, "1,2\r\n3,4\r\n", 2).tolist() == [[1, 2], [3, 4]]
