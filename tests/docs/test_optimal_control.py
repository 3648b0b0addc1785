"""The page on optimal control: its task can be read, and its Python runs."""

import re
from pathlib import Path

from kingpost import open_model, read_optimal_task

PAGE = Path(__file__).parents[2] / "docs" / "optimal-control.md"


def test_the_task_of_the_page_is_one_of_its_machine(tmp_path, plugins):
    text, phased, *_ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), flags=re.S)
    file = tmp_path / "task.toml"
    file.write_text(text)
    task = read_optimal_task(str(file), open_model("overhead-crane", plugins))
    assert [part.term for part in task.costs] == ["time", "effort"]
    assert not task.horizon.prescribed
    file.write_text(phased)
    assert [phase.keeps for phase in read_optimal_task(str(file)).phases] == ["speeds", "momenta"]


def test_every_transcription_cost_term_and_solver_is_explained(plugins):
    text = PAGE.read_text()
    for kind in ("optimal_control", "cost_terms", "nlp_solvers"):
        for name in plugins.of(kind):
            assert f"| `{name}" in text, name
