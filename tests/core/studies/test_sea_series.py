"""Sea states from CSV files."""

import numpy as np
import pytest

from kingpost import FileError
from kingpost.studies.sea_series import read_sea_series


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "sea.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_dates(write):
    path = write("time,Hs [m],Tp (s)\n2023-01-31T23:00,1.0,8\n2023-02-01T00:00:00Z,1.5,\n2023-02-01 01:00,nan,7.5\n")
    found = read_sea_series(path)
    assert found.hours.tolist() == [0.0, 1.0, 2.0] and found.months.tolist() == [1, 2, 2]
    assert found.start == "2023-01-31T23:00"
    assert list(found.columns) == ["Hs", "Tp"]
    assert np.isnan(found.column("hs")[2]) and np.isnan(found.column("Tp")[1]) and found.column("TP")[2] == 7.5


@pytest.mark.parametrize(("unit", "hours"), [("h", 3.0), ("s", 3.0 / 3600), ("d", 72.0), ("min", 0.05)])
def test_numbers_with_their_unit(write, unit, hours):
    found = read_sea_series(write(f"time [{unit}],Hs\n3,1\n6,2\n9,-999\n"))
    assert found.hours == pytest.approx([0, hours, 2 * hours]) and found.months is None
    assert np.isnan(found.columns["Hs"][2])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,Hs\n0,1\n1,2\n", "the heading 'time' does not say of what; write their unit into it, one of time \\[s\\]"),
        ("time [h],Hs\n0,1\n", "holds 1 sample"),
        ("0,1\n1,2\n2,3\n", "line 1 holds numbers; put a header"),
        ("time [h]\n0\n1\n", "must name a time column and at least one other"),
        ("time [h],Hs,hs\n0,1,1\n1,1,1\n", "names .* twice"),
        ("time [h],Hs\n0,1\n0,2\n", "times must rise, and line 3 \\(0\\) does not"),
        ("time [h],Hs\n-1e308,1\n1,1\n2,1\n", "times must rise, and line 4 \\(2\\) does not"),
        ("time [h],Hs\n-1e308,1\n1e308,1\n", "times must rise, and line 3 \\(1e308\\) does not"),
        ("time [h],Hs\n0,1\n1,2,3\n", "line 3 has 3 entries, but the header names 2"),
        ("time [h],Hs\n0,1\n1,high\n", "line 3: 'high' is no number for 'Hs'"),
        ("time [h],Hs\n0,1\nlater,1\n", "line 3 has no number for its time"),
        ("time,Hs\n2023-01-01,1\n2023-13-01,1\n", "line 3: '2023-13-01' is no date"),
    ],
)
def test_refusals(write, text, said):
    with pytest.raises(FileError, match=said):
        read_sea_series(write(text))
