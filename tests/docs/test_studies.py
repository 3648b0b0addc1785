"""The study of the docs can be read, and its commands run."""

import json
import re
from pathlib import Path

import pytest

from kingpost import PluginSet
from kingpost.studies.planning import plan_study
from kingpost.studies.study_file import KEEP_KEYS, KEYS, read_study

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
PLUGINS = PluginSet(entry_points=False)


def write(folder):
    study, spots, positions = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.S)
    (scatter,) = re.findall(r"```text\n(Hs.*?)```", PAGE, flags=re.S)
    for name, text in (("sea.toml", study), ("spots.toml", spots), ("scatter.csv", scatter)):
        (folder / name).write_text(text)
    return study, positions


def test_the_study_of_the_docs_can_be_planned(tmp_path):
    study, positions = write(tmp_path)
    plan = plan_study(read_study(tmp_path / "sea.toml", PLUGINS), PLUGINS)
    assert plan.count == 3 * 2 * 3
    # small-crane-parked has a rope without stretch, and a length all the same.
    (tmp_path / "more.toml").write_text(study.replace("[keep]", f"{positions}\n[keep]"))
    assert plan_study(read_study(tmp_path / "more.toml", PLUGINS), PLUGINS).count == 2 * 3 * 2 * 3


def test_every_key_and_every_sampler_is_explained():
    for word in (*KEYS, *KEEP_KEYS, *PLUGINS.samplers):
        assert re.search(rf"\b{re.escape(word)}\b", PAGE), word


@pytest.mark.slow
def test_the_commands_of_the_docs_run(kingpost_cli, tmp_path):
    write(tmp_path)
    plan, run, replay = re.findall(r"^    kingpost (study .*?)(?:  +#.*)?$", PAGE, flags=re.M)
    assert kingpost_cli(*plan.split()).status == 0
    done = kingpost_cli(*run.split())
    assert done.status == 0, done.err
    record = json.loads((tmp_path / "results" / "sea" / "study.json").read_text())
    assert record["cases"]["done"] == 18
    key = record["worst"]["runs"][0]["key"]
    again = kingpost_cli(*replay.replace("3f9c", key[:8]).split())
    assert again.status == 0, again.err
    assert (tmp_path / "results" / "sea" / "runs" / key / "report.html").is_file()
