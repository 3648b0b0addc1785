"""What is in the wheel, and whether it works where nothing else is."""

import json
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("wheel")  # one worker, so that wheel and environment are made once


def test_the_wheel_holds_every_file_of_the_tree(wheel):
    expected = set()
    for folder, package in {"core": "kingpost", "plugins": "kingpost/plugins", "fmu": "kingpost/fmu"}.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md":
                expected.add(f"{package}/{path.relative_to(ROOT / folder).as_posix()}")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == expected
    code = {f"kingpost/kernel/{name}.c" for name in ("march", "lanes", "march_lanes")}
    assert {*code, "kingpost/py.typed", "kingpost/modelfiles/model.schema.json"} <= packed


def test_the_wheel_runs_from_any_directory(fresh, tmp_path):
    done = fresh.run("kingpost", "run", "double-pendulum", "--t-end", "10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "results" / "double-pendulum").iterdir())
    assert files == ["history.csv", "run.json"]  # no picture without the viz extra
    where = fresh.run("python", "-c", "import kingpost; print(kingpost.__file__)", cwd=tmp_path).stdout
    assert str(fresh.folder) in where


def test_built_ins_and_the_installed_example_are_listed(fresh, tmp_path):
    listing = json.loads(fresh.run("kingpost", "plugins", "--json", cwd=tmp_path).stdout)
    assert listing["broken"] == []
    rows = {(row["kind"], row["name"], row["distribution"], row["version"], row["origin"]) for row in listing["plugins"]}
    version = fresh.run("kingpost", "--version", cwd=tmp_path).stdout.split()[1]
    assert ("integrator", "rk4", "kingpost", version, "built-in") in rows
    assert ("integrator", "ssprk3", "kingpost-shu-osher", "0.3.0", "entry point") in rows
    assert ("force", "air-drag", "kingpost-shu-osher", "0.3.0", "entry point") in rows


def test_the_installed_example_passes_its_own_tests(fresh, tmp_path):
    tests = ROOT / "examples" / "C2_plugin_package" / "tests"
    done = fresh.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_an_fmi_tool_finds_what_it_needs(fresh, tmp_path):
    done = fresh.run("python", "-c", "import fmpy, pythonfmu, kingpost.fmu; print('ok')", cwd=tmp_path)
    assert done.stdout.strip() == "ok", done.stderr


@pytest.mark.slow
def test_the_editable_install_runs_from_any_directory(make_environment, checkout, tmp_path):
    environment = make_environment()
    environment.install("-e", checkout)
    done = environment.run("kingpost", "run", "double-pendulum", "--t-end", "10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    where = environment.run("python", "-c", "import kingpost; print(kingpost.__file__)", cwd=tmp_path).stdout
    assert Path(where.strip()) == checkout / "core" / "__init__.py"
