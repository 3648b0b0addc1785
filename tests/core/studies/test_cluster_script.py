"""The script for SLURM."""

import ast

import pytest

from kingpost import KingpostError
from kingpost.studies.cluster_script import slurm_script


def test_the_script_is_python_and_says_what_was_asked_for():
    text = slurm_script("a folder/se'a.toml", workers=40, walltime="1-02:00:00", memory="4GB", queue="normal")
    tree = ast.parse(text)
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {"a folder/se'a.toml", "results/se'a", "1-02:00:00", "4GB", "normal", 40, "84240s", "--resume"} <= strings


def test_what_no_job_can_be_is_refused():
    with pytest.raises(KingpostError, match="walltime '4 hours' is no time; write"):
        slurm_script("sea.toml", walltime="4 hours")
    with pytest.raises(KingpostError, match="0 workers of 3600 s can do nothing"):
        slurm_script("sea.toml", workers=0)


def test_the_docs_show_it(root):
    assert slurm_script("sea.toml") in (root / "docs" / "executors.md").read_text()
