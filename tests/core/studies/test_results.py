"""The files of a study: the table of cases, states for kingpost fatigue, and one process at a time in a folder."""

import csv
import math

import pytest

from kingpost import FileError
from kingpost.fatigue import read_states
from kingpost.kernel.locks import locked
from kingpost.studies import folder as study_folder
from kingpost.studies import results
from kingpost.studies.case import Case, Outcome
from kingpost.studies.case_table import case_table
from kingpost.studies.store import StoredCase

CASES = [
    Case("a" * 20, {"mass": 1.0}, "jonswap:Hs=1,Tp=6", {"Hs": 1.0, "seed": 1, "position": 'over "the" side'}, 0.25),
    Case("b" * 20, {"mass": 1.0}, "jonswap:Hs=1,Tp=6", {"Hs": 1.0, "seed": 2, "position": 'over "the" side'}, 0.25),
    Case("c" * 20, {"mass": 2.0}, "", {"Hs": 2.0, "seed": 1, "position": "parked"}, 0.25),
]


@pytest.fixture
def table():
    outcomes = [
        Outcome("", {"x:max": math.pi, "x:min": -1 / 3}, "", 0.5),
        Outcome("", {"x:max": 2.0}, "", 0.5),
        Outcome("", {}, "boom", 0.1),
    ]
    return case_table(StoredCase(k, case, outcome) for k, (case, outcome) in enumerate(zip(CASES, outcomes, strict=True)))


def test_parquet_holds_every_bit_and_gaps(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    files, notes = results.case_files(table)
    assert list(files) == ["cases.parquet"] and not notes
    files["cases.parquet"](tmp_path / "cases.parquet")
    rows = parquet.read_table(tmp_path / "cases.parquet").to_pylist()
    assert rows[0] == {
        "key": "a" * 20, "Hs": 1.0, "seed": 1, "position": 'over "the" side', "mass": 1.0, "sea": "jonswap:Hs=1,Tp=6",
        "weight": 0.25, "state": "done", "error": "", "outside": "", "cpu_s": 0.5, "x:max": math.pi, "x:min": -1 / 3,
    }  # fmt: skip
    assert (rows[1]["x:min"], rows[2]["x:max"], rows[2]["error"]) == (None, None, "boom")


def test_without_pyarrow_there_is_a_csv_file_and_a_word_about_it(table, tmp_path, monkeypatch):
    monkeypatch.setattr(results.importlib.util, "find_spec", lambda name: None)
    files, notes = results.case_files(table)
    assert list(files) == ["cases.csv"]
    assert "install kingpost[io]" in notes[0]
    files["cases.csv"](tmp_path / "cases.csv")
    with (tmp_path / "cases.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["x:max"]) == math.pi and rows[1]["x:min"] == "" == rows[2]["x:max"]
    assert rows[0]["position"] == 'over "the" side'


def test_states_can_be_read_by_fatigue(table, tmp_path):
    path = tmp_path / "states.toml"
    path.write_text(results.states_text(table, rest=True))
    found = read_states(path)
    (state,) = found.states  # the other one failed
    assert (state.probability, found.rest) == (0.5, "calm")
    assert [run.relative_to(tmp_path).as_posix() for run in state.runs] == [f"runs/{'a' * 20}", f"runs/{'b' * 20}"]


def test_one_process_at_a_time_works_in_a_folder(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setattr(study_folder, "PATIENCE", 0.1)
    refused = pytest.raises(FileError, match="another process works on the study")
    with locked(tmp_path / study_folder.LOCK, 1.0), refused, study_folder.alone_in(tmp_path):
        pass
    with study_folder.alone_in(tmp_path):
        pass
