"""The files of daily habits can be read, and name things that exist."""

import re
from pathlib import Path

import pytest

import kingpost
from kingpost.base.toml import tomllib

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def recipes():
    """Return the recipes of the Justfile: name and lines."""
    found, name = {}, None
    for line in (ROOT / "Justfile").read_text().splitlines():
        if heading := re.match(r"([a-z_]+)(?: [^:=]*)?(?:=\"[^\"]*\")?:(?!=)", line):
            name = heading[1]
            found[name] = []
        elif name and line.startswith("    "):
            found[name].append(line.strip())
    return found


def test_the_justfile_has_the_recipes_that_are_promised():
    assert {"test", "fast", "docs", "bench", "coverage"} <= recipes().keys()
    assert all(lines for lines in recipes().values())


@pytest.mark.parametrize("name", recipes())
def test_recipes_name_what_exists(name):
    for line in recipes()[name]:
        for place in re.findall(r"(?<![\w/.-])((?:core|tests|tools|benchmarks|\.ci)/[\w/.{}-]*)", line):
            place = place.replace("{{name}}", "vessel_crane")
            assert (ROOT / place).exists(), f"just {name}: {place}"
        for module in re.findall(r"-m (pytest|ruff|mypy|kingpost)\b", line):
            assert module in ("kingpost",) or any(
                requirement.startswith(module) for requirement in project()["optional-dependencies"]["test"]
            )


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_branches_are_counted_and_nothing_fails_on_it():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["coverage"]["run"] == {"branch": True, "source_pkgs": ["kingpost"]}
    assert "fail_under" not in tools["coverage"]["report"]
    for package in ("codespell", "pre-commit", "pytest-cov", "rust-just"):
        assert any(requirement.startswith(package) for requirement in project()["optional-dependencies"]["dev"])


def test_hooks_before_a_commit_come_from_pypi_alone():
    yaml = pytest.importorskip("yaml")
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in configuration["repos"]] == ["local"]
    hooks = {hook["id"]: hook for hook in configuration["repos"][0]["hooks"]}
    assert {"ruff", "ruff-format", "codespell", "check-added-large-files", "end-of-file-fixer", "rooms"} <= hooks.keys()
    for hook in hooks.values():
        assert hook["language"] == "python"
        program = hook["entry"].split()[0]
        assert program == "python" or hook["additional_dependencies"]
    assert (ROOT / hooks["rooms"]["entry"].split()[1]).is_file()


def test_the_workflow_runs_what_the_script_runs():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert jobs["elsewhere"]["strategy"]["matrix"]["os"] == ["windows-latest", "macos-latest"]
    assert [step["run"] for step in jobs["linux"]["steps"] if "run" in step] == [".ci/run"]
    script = (ROOT / ".ci" / "run").read_text()
    commands = " ".join(step["run"] for step in jobs["elsewhere"]["steps"] if "run" in step)
    for command in ("-m ruff check .", "-m ruff format --check .", "-m mypy --config-file"):
        assert command in commands
        assert command in script
    # The script takes the job and the tests from the README.
    readme = (ROOT / "README.md").read_text()
    lines = {title: re.search(rf"^## {title}\n\n    (python3 .*)$", readme, flags=re.M) for title in ("Run", "Test")}
    assert all(lines.values()) and all(f"command_under {title}" in script for title in lines)
    assert "test" not in lines["Run"][1] and "kingpost run vessel-crane" in lines["Run"][1]
    for command in ('pip install ".[test]"', "-m pytest"):
        assert command in commands and command in lines["Test"][1]


def test_the_oldest_python_is_the_first_that_is_tried():
    assert project()["requires-python"] == f">={PYTHONS[0]}"


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    fields = dict(re.findall(r"^([a-z-]+): +(\S.*)$", text, flags=re.M))
    assert fields["cff-version"] == "1.2.0"
    assert fields["version"] == kingpost.__version__
    assert fields["license"] == project()["license"]
    assert fields["title"].strip('"').endswith(project()["description"].removeprefix("Multibody"))


def test_decisions_are_numbered_and_listed():
    folder = ROOT / "docs" / "decisions"
    pages = sorted(folder.glob("[0-9]*.md"))
    assert [page.name[:4] for page in pages] == [f"{k + 1:04}" for k in range(len(pages))]
    listing = (folder / "README.md").read_text()
    for page in pages:
        text = page.read_text()
        assert f"]({page.name})" in listing
        assert text.startswith(f"# {page.name[:4]}: ")
        for word in ("Question", "Decided", "Against it", "What would change it"):
            assert f"\n**{word}.** " in text, f"{page.name} lacks '{word}'"
