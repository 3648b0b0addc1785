"""Scatter tables: what is read, and what is refused with file, line and numbers."""

import math

import pytest

from kingpost import FileError, KingpostError
from kingpost.studies.scatter import ScatterTable, SeaState, read_scatter, scatter_table


def test_probabilities_and_observations(tmp_path):
    path = tmp_path / "scatter.csv"
    path.write_text("# measured\nTp [s], Hs [m], probability\n6, 1.0, 0.25\n8, 2.5, 0.75\n\n")
    assert read_scatter(path).states == (SeaState(1.0, 6.0, 0.25), SeaState(2.5, 8.0, 0.75))
    path.write_text("Hs,Tp,occurrences\n1,6,30\n2,8,10\n3,8,0\n")
    table = read_scatter(path)
    assert [state.probability for state in table.states] == [0.75, 0.25, 0.0]
    assert table.total == 1.0


def test_toml_and_rows(tmp_path):
    path = tmp_path / "scatter.toml"
    path.write_text('rest = "calm"\n[[states]]\nHs = 1.0\nTp = 6.0\nprobability = 0.6\n')
    table = read_scatter(path)
    assert (table.states, table.rest) == ((SeaState(1.0, 6.0, 0.6),), "calm")
    assert scatter_table([[1, 6, 0.6]], "calm") == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; a scatter table has rows"),
        (
            "Hs,Tp,p\n1,6,1\n",
            r"scatter.csv:1: the first line must name the columns, 'probability' once among them; it has 'Hs', 'Tp', 'p'",
        ),
        ("Hs,Tp,probability\n1,6,0.4\n2,8,0.5\n", "the 2 sea states add up to 0.9, not 1. If the rest of the time"),
        ("Hs,Tp,probability\n1,6,0.6\n2,8,0.5\n", "add up to 1.1, more than 1; correct them, or name the column 'occurrences'"),
        ("Hs,Tp,probability\n1,6,40\n", r"scatter.csv:2: the probability of Hs = 1 m, Tp = 6 s is 40, not between 0 and 1"),
        ("Hs,Tp,probability\n1,6,0.5\n1,6,0.5\n", "two rows for Hs = 1 m, Tp = 6 s; add them together"),
        ("Hs,Tp,probability\n1,x,1\n", r"scatter.csv:2: Tp is 'x', not a finite number"),
        ("Hs,Tp,probability\n1,6\n", r"scatter.csv:2: probability is missing"),
        ("Hs,Tp,probability\n0,6,1\n", r"scatter.csv:2: Hs = 0 m is no significant wave height"),
        ("Hs,Tp,probability\n1,600,1\n", r"scatter.csv:2: Tp = 600 s is no peak period"),
        ("Hs,Tp,probability\n1,nan,1\n", "not a finite number"),
        ("Hs,Tp,occurrences\n1,6,0\n", "the occurrences add up to 0"),
        ("Hs,Tp,occurrences\n1,6,-3\n2,6,9\n", r"scatter.csv:2: Hs = 1 m, Tp = 6 s occurs -3 times"),
        ("Hs,Tp,probability\n", "the scatter table is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, message):
    path = tmp_path / "scatter.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        read_scatter(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[[states]]\nHs = 1\nTp = 6\nprob = 1\n",
            r"scatter.toml:1: sea state number 1 has no 'prob'; did you mean 'probability'",
        ),
        ("[[states]]\nHs = 1\nTp = 'x'\nprobability = 1\n", "Tp = 'x' is not a finite number"),
        (
            "[[states]]\nHs = 1\nTp = 6\nprobability = 0.5\n",
            r"scatter.toml:1: the probabilities of the 1 sea states add up to 0.5",
        ),
        ("rest = 'stormy'\n[[states]]\nHs = 1\nTp = 6\nprobability = 0.5\n", "says nothing about the rest"),
        ("state = 3\n", "did you mean 'states'"),
    ],
)
def test_toml_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "scatter.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        read_scatter(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "give the name of a file, or rows"),
        ([], "give the name"),
        ([[1, 2]], "row 1 of the scatter table"),
        ("a.txt", "must end in .csv or .toml"),
    ],
)
def test_other_things_are_no_tables(source, message):
    with pytest.raises(KingpostError, match=message):
        scatter_table(source)


def test_a_tenth_ten_times_is_one():
    states = tuple(SeaState(1.0 + k, 8.0, 0.1) for k in range(10))
    assert math.isclose(ScatterTable(states).total, 1.0)
