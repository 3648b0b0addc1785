"""docs/sensitivity.md says what the code does."""

import re
from pathlib import Path

import pytest

from kingpost.gradients.functional import READINGS, read_functional

PAGE = (Path(__file__).parents[2] / "docs" / "sensitivity.md").read_text()


def test_the_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    found = {}
    exec(compile(code.replace(", 2.0)", ', 0.05, backend="vm")'), "sensitivity.md", "exec"), found)
    answer = found["found"]
    assert set(answer.gradient) == {"mass1", "mass2", "length2", "elbow.angle"}
    assert answer.elasticity["mass2"] == pytest.approx(answer.gradient["mass2"] * 1.0 / answer.value)


def test_every_way_to_read_a_channel_is_told():
    table = PAGE.partition("| text | number |")[2].partition("\n\n")[0]
    assert all(f"{word}" in table for word in READINGS)
    for text in re.findall(r"--of \"(.*?)\"", PAGE):
        assert list(read_functional(text).channels)
