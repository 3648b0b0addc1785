"""Tables of samples: what is refused, with file and line."""

import pytest

from kingpost import FileError, MechanismError
from kingpost.mechanism.trajectories import (
    Sampled,
)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("t,x\n0,1\n0.4,1\n\n0.3,2\n", None, "times must rise: line 5 has 0.3 s after 0.4 s; sort the lines"),
        ("t,x\n0,1\n0.4,1\n0.4,2\n", None, "times must rise: line 4 has 0.4 s after 0.4 s"),
        ("t,x\n0,1\n1,inf\n", None, "line 3 has inf in column 'x'; it must be finite"),
        ("t,x\nnan,1\n1,2\n", None, "line 2 has nan in column 't'; it must be finite"),
        ("t,x\n0,1\n1,two\n", None, "line 3 has 'two' in column 'x', which is not a number"),
        ("t,x\n0,1\n1,\n", None, "line 3 has '' in column 'x', which is not a number"),
        ("t,x\n0,1\n1\n", None, "line 3 has 1 entries, but the header names 2 columns"),
        ("t,x\n0,1\n", None, "holds 1 sample(s) below its header line; at least 2 are needed"),
        ("t,heave,pitch\n0,1,2\n", "heaf", "has no column 'heaf'; did you mean 'heave'? Columns: heave, pitch."),
        ("t,heave,pitch\n0,1,2\n", None, "has 2 columns beside 't': heave, pitch; say which 'column' to take"),
        ("t,x,x\n0,1,2\n", "x", "has 2 columns called 'x'; give them different names"),
        ("0,1\n1,2\n", None, "line 1 holds numbers; put a header above them, e.g. 'time,value'"),
        ("t;x\n0;1\n", None, "line 1 must name a time column and at least one other, separated by commas; got ['t;x']"),
        ("", None, "line 1 must name a time column"),
        (f"t,x\n0,{'1' * 200_000}\n", None, "line 2 is not CSV: field larger than field limit"),
    ],
)
def test_a_csv_file_that_cannot_be_used_is_refused_with_its_line(tmp_path, text, column, message):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as error:
        Sampled.from_csv(path, column)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_a_csv_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no file '.*none.csv'"):
        Sampled.from_csv(tmp_path / "none.csv")
    with pytest.raises(FileError, match="cannot be read"):
        Sampled.from_csv(tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"t,x\n\xff\xfe")
    with pytest.raises(FileError, match="binary.csv' cannot be read"):
        Sampled.from_csv(tmp_path / "binary.csv")
    (tmp_path / "short.csv").write_text("t,x\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(MechanismError, match="short.csv: sampled trajectory: quintic interpolation needs 6 samples, got 2"):
        Sampled.from_csv(tmp_path / "short.csv", interpolation="quintic")
