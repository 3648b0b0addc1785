"""``kingpost weather`` as a user meets it."""

import json

import pytest

HEAD = "time,Hs,Tp,wind\n"


@pytest.fixture
def weather(kingpost_cli, tmp_path):
    rows = [f"2023-{month:02d}-01T{hour:02d}:00,{1.0 if 6 <= hour < 14 else 2.0},{8 + month},{hour}\n"
            for month in (1, 2) for hour in range(24)]  # fmt: skip
    rows.insert(24, "".join(f"2023-01-{day:02d}T{hour:02d}:00,2.5,7,30\n" for day in range(2, 32) for hour in range(24)))
    (tmp_path / "sea.csv").write_text(HEAD + "".join(rows))
    return lambda *words: kingpost_cli("weather", *words)


def test_windows_are_printed_by_month(weather):
    outcome = weather("sea.csv", "--hs", "1.5", "--length", "6h")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].split("  ")[0] == "MONTH"
    assert lines[1].split() == ["Jan", "744", "1.1", "1.1", "0.4", lines[1].split()[5], "1"]
    assert lines[3].startswith("all")
    assert "Hs up to 1.5; samples every 1 h" in outcome.out
    assert "2 within the limits, 2 of them 6 h or longer (mean 8 h, longest 8 h)" in outcome.out
    assert "the record ends, or has a gap, before" in outcome.out


def test_limits_on_any_column_and_json(weather, tmp_path):
    outcome = weather(
        "sea.csv", "--hs", "1.5", "--tp", "9.5", "--below", "wind=9", "--length", "90min", "--json", "--out", "w.json"
    )
    record = json.loads(outcome.out)
    assert record == json.loads((tmp_path / "w.json").read_text())
    assert record["limits"] == {"Hs": 1.5, "Tp": 9.5, "wind": 9.0} and record["length_h"] == 1.5
    assert record["windows"] == {"count": 1, "long_enough": 1, "mean_length_h": 4.0, "longest_h": 4.0}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["sea.csv", "--length", "6h"], 2, "give at least one limit: --hs M, --tp S or --below COLUMN=X"),
        (["sea.csv", "--hs", "1.5"], 2, "--length"),
        (["sea.csv", "--hs", "1.5", "--length", "6"], 2, "'6' is no length of time; write a number and s, min, h or d"),
        (["sea.csv", "--hs", "1.5", "--length=-6h"], 2, "is no length of time"),
        (["sea.csv", "--below", "wind", "--length", "6h"], 2, "'wind' is no limit; write COLUMN=X"),
        (["sea.csv", "--below", "wing=3", "--length", "6h"], None, "sea.csv: there is no column 'wing'; did you mean 'wind'"),
        (["none.csv", "--hs", "1.5", "--length", "6h"], None, "none.csv"),
    ],
)
def test_wrong_input(weather, words, status, said):
    outcome = weather(*words)
    assert outcome.status == status if status is not None else outcome.status != 0
    assert said in outcome.err
