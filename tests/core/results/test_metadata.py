"""What files say about the numbers in them."""

import json

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.results.metadata import from_text, plain_json, to_text, unique_names


def test_a_description_comes_back_as_it_was(history):
    text = to_text(history)
    assert text.isascii() and "\n" not in text
    again = from_text(text).history(history.time, history.values)
    assert again == history
    assert again.channels == history.channels


def test_numbers_that_were_not_announced_are_refused(history):
    described = from_text(to_text(history))
    with pytest.raises(ValueError, match="50 samples of .* channels are announced, but the file holds times of shape"):
        described.history(history.time[1:], history.values[1:])
    with pytest.raises(ValueError, match=r"'slew.angle' has the shape \(49,\), but 50 samples are announced"):
        described.columns(history.time, [history.values[1:, 0], *history.values.T[1:]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "does not begin with the format 'kingpost history'"),
        ({"version": 2}, "it has version 2 of the format, and this Kingpost reads version 1"),
        ({"channels": [{"name": "a"}]}, "its 'channels.0.' lacks 'unit'"),
    ],
)
def test_other_descriptions_are_refused(history, change, message):
    with pytest.raises(ValueError, match=message):
        from_text(json.dumps(json.loads(to_text(history)) | change))


def test_names_that_a_format_cannot_take_are_told_apart():
    names = ["a.b", "a-b", "time", "abcdefgh", "abcdefgi"]
    found = unique_names(names, lambda name: name.replace(".", "_").replace("-", "_"), ["time"], 6)
    assert found == ["a_b", "a_b_2", "time_2", "abcdef", "abcd_2"]


def test_what_json_has_no_word_for_is_refused():
    with pytest.raises(KingpostError, match="must be plain JSON data"):
        plain_json({"a": np.array([1])}, "this")
