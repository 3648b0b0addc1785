"""The documentation says what the code does."""

import importlib.util
import math
import re
import textwrap
from pathlib import Path

import pytest

import kingpost
from kingpost import PluginSet, open_model, read_model
from kingpost.base.earlier_names import EarlierModule
from kingpost.base.toml import tomllib
from kingpost.cli.main import EXIT_CODES
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.registry.hookspecs import KINDS_HOOK

ROOT = Path(__file__).parents[2]
HOOKS = [KINDS_HOOK, *(kind.hook for kind in PluginSet(entry_points=False).kinds.values())]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_heading_with_its_signature_and_a_test(hook):
    assert f"\n### {hook}()\n" in (ROOT / "docs" / "plugins.md").read_text()
    assert f"def test_hook_{hook}(" in (ROOT / "tests" / "core" / "registry" / "test_hooks.py").read_text()


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), flags=re.S)


def test_the_model_file_of_the_docs_can_be_read(tmp_path, plugins):
    whole, run_file, _, _, actuator, shapes, *_ = blocks("docs/model-files.md", "toml")
    path = tmp_path / "model.toml"
    path.write_text(whole.replace("[[outputs]]", f"{actuator}\n[[outputs]]"))
    assert read_model(path, plugins).name == "pendulum"
    assert run_file.startswith('model = "double-pendulum"')
    (tmp_path / "boom.stl").write_text("solid\n" + "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n")
    path.write_text(
        whole.replace(
            '[[joints]]\nname = "pivot"',
            shapes + '[[joints]]\nname = "foot"\nkind = "weld"\nparent = "world"\nchild = "boom"\n[[joints]]\nname = "pivot"',
        )
    )
    assert [shape.kind for shape in read_model(path, plugins).body("boom").shape] == ["box", "cylinder", "sphere", "mesh"]


def test_the_paths_and_the_task_of_the_docs_are_some(tmp_path, plugins):
    names = {}
    for code in blocks("docs/paths.md", "python"):
        exec(compile(code, "docs/paths.md", "exec"), names)
    assert [found.order for found in names["up"].breaks()] == [7, 7]
    assert (names["turn"].angle, *names["turn"].direction) == pytest.approx((1.5244, 0.568, 0.290, 0.770), abs=5e-4)
    (text,) = blocks("docs/paths.md", "toml")
    path = tmp_path / "task.toml"
    path.write_text(text)
    task = kingpost.read_task(path, names["crane"])
    assert all(task.path[measure] == names["task"].path[measure] for measure in task.measures)


def test_the_measures_of_the_docs_run_and_can_be_read(tmp_path, plugins, capsys):
    (code,) = blocks("docs/measures.md", "python")
    found = {}
    exec(compile(code, "measures.md", "exec"), found)
    assert float(capsys.readouterr().out) == pytest.approx(-4 * math.sin(0.1))
    first, turning = blocks("docs/measures.md", "toml")
    in_file = tomllib.loads(first)["measures"]
    described = found["swinging"].to_dict()
    again = mechanism_from_dict({**described, "measures": in_file})
    assert again.measures == (found["swinging"].measures[0], found["swinging"].measures[2])
    whole = blocks("docs/model-files.md", "toml")[0]
    renamed = turning.replace('"load"', '"bob"').replace('of = "mast"', 'of = "world"').replace("slew.angle", "pivot.angle")
    (tmp_path / "model.toml").write_text(whole.replace("[[outputs]]", f"{renamed}\n[[outputs]]"))
    assert [measure.name for measure in read_model(tmp_path / "model.toml", plugins).measures] == [
        "from-mast",
        "bearing",
        "height",
    ]


def test_the_inputs_of_the_docs_move(tmp_path, plugins):
    whole, _, declared, run_file, *_ = blocks("docs/model-files.md", "toml")
    path = tmp_path / "model.toml"
    line = declared.splitlines()[1].replace('"most"', '"length"')
    path.write_text(whole.replace('torque = { unit = "N.m", default = 0.0 }', line))
    assert open_model(path, plugins).inputs["torque"].kind == "rest-to-rest"
    (tmp_path / "measured.csv").write_text("time,winch\n0,-9.81\n10,-9.81\n20,-9.0\n")
    path.write_text(run_file)
    history = open_model(path, plugins).simulate(t_end=0.02)
    assert {"slew_torque", "trolley_force", "winch_torque"} <= set(history.names)


def test_the_python_of_the_readme_runs(capsys):
    (code,) = blocks("README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("0.3")


def test_the_plugin_of_the_docs_is_one(tmp_path):
    path = tmp_path / "heun.py"
    path.write_text(blocks("docs/plugins.md", "python")[0])
    assert "heun" in PluginSet([path]).integrators


def test_the_kind_of_the_docs_is_one(tmp_path):
    (code,) = (block for block in blocks("docs/plugins.md", "python") if "kingpost_register_kinds" in block)
    path = tmp_path / "spacings.py"
    path.write_text(code)
    plugins = PluginSet([path], entry_points=False)
    assert plugins.of("spacings").get("ends")().values(1, 2) == [1, 2]
    assert "spacing" in {row["kind"] for row in plugins.listing()}


def test_the_readme_shows_what_the_command_prints(kingpost_cli):
    shown = re.search(r"and prints\n\n(.*?)\n\nThen", (ROOT / "README.md").read_text(), flags=re.S)
    assert shown is not None
    printed = kingpost_cli("run", "vessel-crane", "--report").out

    def words_and_numbers(text):
        text = re.sub(r"in \S+ s$", "in ? s", textwrap.dedent(text).strip(), flags=re.M)  # the time it took
        number = r"(?<![\w.-])-?\d+\.?\d*(?:e-?\d+)?"
        return re.sub(number, "#", text), [float(item) for item in re.findall(number, text)]

    (words, numbers), (shown_words, shown_numbers) = words_and_numbers(printed), words_and_numbers(shown[1])
    assert words == shown_words
    # The upright vessel amplifies rounding, which differs with the mathematical library, by some 1e7.
    assert numbers == pytest.approx(shown_numbers, rel=1e-4, abs=1e-5)


def test_the_other_commands_of_the_readme_work(kingpost_cli, tmp_path):
    kingpost_cli("run", "vessel-crane", "--report", "--write", "csv")
    commands = re.findall(r"\.venv/bin/kingpost ((?:fatigue|export) .*)", (ROOT / "README.md").read_text())
    assert [command.split()[0] for command in commands] == ["fatigue", "export"]
    for command in commands:
        outcome = kingpost_cli(*command.split())
        assert outcome.status == 0, outcome.err
    assert (tmp_path / "vessel-crane.fmu").is_file()
    assert (tmp_path / "results" / "vessel-crane" / "report.html").stat().st_size < 6e6


def test_every_dependency_and_extra_is_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    readme = (ROOT / "README.md").read_text()
    for requirement in project["dependencies"]:
        name = re.match(r"[a-z0-9]+", requirement)
        assert name is not None
        assert f"| {name[0]} |" in readme
    for extra in project["optional-dependencies"]:
        assert f"`{extra}`" in readme


def test_exit_statuses_are_the_same_in_help_and_docs():
    table = (ROOT / "docs" / "command-line.md").read_text()
    for number in re.findall(r"\b(\d+) [a-z]", EXIT_CODES):
        assert f"\n| {number} | " in table


def test_links_lead_somewhere():
    pages = [page for folder in ("docs", "examples", "core", "plugins", "fmu") for page in (ROOT / folder).rglob("*.md")]
    for page in [*ROOT.glob("*.md"), *pages]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_verb_is_documented(plugins):
    text = (ROOT / "docs" / "command-line.md").read_text()
    for verb in plugins.commands:
        assert f"`kingpost {verb} " in text or f"`kingpost {verb}`" in text


def steps_to(names):
    """Yield what is met on the way to a name, and whether an earlier name was among it."""
    found, place, earlier = kingpost, "kingpost", False
    for name in names:
        place = f"{place}.{name}"
        if not hasattr(found, name) and importlib.util.find_spec(place):
            importlib.import_module(place)
        found = getattr(found, name, None)
        earlier = earlier or isinstance(found, EarlierModule)
        yield found, earlier


def test_modules_and_names_that_the_docs_use_exist_and_are_not_earlier_ones():
    pattern = re.compile(r"(?<![\w./-])kingpost((?:\.[A-Za-z_]\w*)+)")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    for page in pages:
        for path in set(pattern.findall(page.read_text())):
            if path in (".json", ".core"):
                continue  # a file inside FMUs, and a package that there is not
            *_, (found, earlier) = steps_to(path[1:].split("."))
            assert found is not None, f"{page.name} names kingpost{path}, which does not exist"
            assert not earlier, f"{page.name} names kingpost{path}, which is an earlier name"
