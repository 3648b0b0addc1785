"""What docs/modular.md shows is so."""

import re
from pathlib import Path

from kingpost import open_model

PAGE = Path(__file__).parents[2] / "docs" / "modular.md"


def test_the_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    exec(compile(code, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "2 degrees of freedom, constraint order 1" in printed
    assert "left out" in printed


def test_the_file_of_the_page_can_be_read_and_run(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    (tmp_path / "m.toml").write_text(text)
    history = open_model(str(tmp_path / "m.toml")).simulate(t_end=0.01)
    assert {"pair.xL", "pair.yR", "pair.open"} <= {item.name for item in history.channels}
    assert history["pair.open"].max() < 1e-9
