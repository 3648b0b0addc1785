"""The page on servo-constraints: its Python runs, and its commands name models and tasks that there are."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "servo-constraints.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_runs(capsys):
    (block,) = [found for found in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "analyse" in found]
    exec(compile(block, "servo-constraints.md", "exec"), {})
    assert capsys.readouterr().out == "5 0 mixed\n"


def test_the_commands_of_the_page_name_what_there_is():
    from kingpost.modelfiles.opened import open_model

    found = re.findall(r"^kingpost index (\S+) --task (\S+)", PAGE, re.MULTILINE)
    assert len(found) >= 3
    for model, task in found:
        assert open_model(model).task(task).measures
