"""FMUs with Python inside on machines that lack something: packages, plugins, libraries, Python itself."""

import shutil
import zipfile
from dataclasses import replace

import fmpy
import pytest

from kingpost import ForceElement, PluginSet
from kingpost.fmu.export.python.exporter import PythonOptions
from kingpost.kernel.compiler import find_compiler
from tests.fmu.export.python.python_fmus import FRAGILE, export_python, fragile, run_script
from tests.fmu.machines import rig

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="the library and the bridge need a C compiler")

BINARIES = ("bridge", "pythonfmu")


@pytest.fixture
def exported(shared_folder, plugins):
    return lambda mechanism, options=None, **arguments: export_python(
        shared_folder, mechanism, arguments.pop("plugins", plugins), options, **arguments
    )


def without(folder, *modules):
    """Return a search path on which some packages cannot be imported."""
    for name in modules:
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n")
    return str(folder)


MISSING = """
try:
    one = fmu(logging=True)
except Exception as refused:
    answer(made=False, why=str(refused))
    sys.exit()
statuses = [status(one.initialize), status(one.set, {"torque": 1.0}), status(one.step, 0.0, 0.01), status(one.step, 0.0, 0.01)]
statuses += [status(one.raw.terminate)]
values = [str(value) for value in one.get(["pivot.angle", "tip.x"])]
one.__exit__()
answer(made=True, statuses=statuses, values=values, said=[text for level, text in one.messages if level >= 2])
"""


@pytest.mark.parametrize("binary", BINARIES)
def test_a_package_that_is_missing(binary, tmp_path, exported):
    path = exported(rig(), PythonOptions(binary=binary, engine="package"))
    found = run_script(MISSING, path, PYTHONPATH=without(tmp_path, "casadi", "pluggy"))
    if binary == "bridge":
        assert not found["made"]  # the importer is told at once
    else:
        assert found["made"]
        assert found["statuses"] == [0, 0, 2, 2, 0]
        assert found["values"] == ["nan", "nan"]
        told = found["said"][0]
        for words in (
            "needs 'casadi' (No module named 'casadi'), 'pluggy'",
            "Python 3.",
            "-m pip install 'casadi==",
            "'pluggy==",
        ):
            assert words in told
        assert told in found["stderr"]


def test_the_bridge_says_what_is_missing(tmp_path, exported):
    code = """
import ctypes
import tests.fmu.hosting
texts = []
tests.fmu.hosting.Hosted._take = lambda self, status, text: texts.append(text.decode())
try:
    fmu()
except Exception:
    pass
answer(texts=texts)
"""
    path = exported(rig(), PythonOptions(engine="package"))
    (text,) = run_script(code, path, PYTHONPATH=without(tmp_path, "casadi"))["texts"]
    assert text.startswith(
        "fmi2Instantiate: 'rig' runs in Python and needs 'casadi' (No module named 'casadi'), which Python 3."
    )
    assert "cannot import. Install what it was exported with: " in text
    assert "-m pip install 'casadi==" in text


def test_the_compiled_library_needs_no_package(tmp_path, exported):
    """fmpy needs NumPy; everything else may be missing, Kingpost itself included."""
    code = """
with fmu(logging=True) as one:
    one.initialize()
    one.steps(10, 0.01)
    angle = one.get("pivot.angle")
answer(angle=angle, said=one.messages[0][1], loaded=[name for name in ("casadi", "kingpost", "pluggy") if name in sys.modules])
"""
    path = without(tmp_path, "casadi", "pluggy", "kingpost")
    found = run_script(code, exported(rig()), PYTHONPATH=path)
    assert found["said"].startswith("'rig' runs with: compiled library ")
    assert found["loaded"] == []


def test_the_copy_of_kingpost_is_all_it_needs(exported):
    code = """
sys.modules["kingpost"] = None  # any import of it fails from here on
with fmu(logging=True) as one:
    one.initialize()
    one.steps(10, 0.01)
    angle = one.get("pivot.angle")
answer(angle=angle, said=one.messages[0][1])
"""
    found = run_script(code, exported(rig(), PythonOptions(engine="package")))
    assert "'rig' runs with: Kingpost" in found["said"]


def test_no_engine_at_all(tmp_path, exported):
    path = exported(rig(), PythonOptions(engine="library", binary="pythonfmu"))
    other = tmp_path / "other.fmu"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"" if "/library/" in name else old.read(name))
    found = run_script(MISSING, other)
    assert found["statuses"] == [0, 0, 2, 2, 0]
    told = next(text for text in found["said"] if "no engine" in text)
    assert "'rig' has no engine that works on " in told
    assert "the FMU was exported with its compiled library alone. Export it again for this platform" in told


@pytest.mark.quick("pythonfmu")
@pytest.mark.parametrize("binary", BINARIES)
def test_an_installed_plugin_must_be_there(binary, tmp_path, exported, monkeypatch):
    """A distribution with an entry point: it is not copied, but asked for, and works with the copy of Kingpost in the FMU."""

    def install(folder, version, strength):
        package = folder / "acme_winch"
        (folder / f"acme_winch-{version}.dist-info").mkdir(parents=True)
        (folder / f"acme_winch-{version}.dist-info" / "METADATA").write_text(f"Name: acme-winch\nVersion: {version}\n")
        points = "[kingpost]\nwinch = acme_winch.hooks\n"
        (folder / f"acme_winch-{version}.dist-info" / "entry_points.txt").write_text(points)
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "law.py").write_text(f"def torque(angle):\n    return -{strength} * angle\n")
        (package / "hooks.py").write_text(
            FRAGILE.replace("def torque(angle):\n", "def unused(angle):\n", 1)
            .replace('"fragile"', '"acme-winch"')
            .replace("from dataclasses", "from acme_winch.law import torque\nfrom dataclasses")
        )
        return str(folder)

    right, wrong = install(tmp_path / "right", "1.2", 30.0), install(tmp_path / "wrong", "1.3", 60.0)
    monkeypatch.syspath_prepend(right)
    forces = (*rig().forces, ForceElement("acme-winch", coordinate="pivot.angle"))
    path = exported(replace(rig(), name="winch", forces=forces), PythonOptions(binary=binary), plugins=PluginSet())
    code = """
try:
    one = fmu(logging=True)
    one.initialize()
    one.steps(50, 0.01)
    found = one.get("pivot.angle")
except Exception as refused:
    found = None
answer(angle=found)
"""
    assert run_script(code, path, PYTHONPATH=right)["angle"] is not None
    for place, what in ((str(tmp_path), "it is not installed"), (wrong, "version 1.3 is installed")):
        found = run_script(code, path, PYTHONPATH=place)
        assert found["angle"] is None
        if binary == "pythonfmu":
            assert f"uses the plugin 'acme-winch' 1.2 (force 'acme-winch'), and {what} in Python" in found["stderr"]
            assert "-m pip install 'acme-winch==1.2'" in found["stderr"]


def test_no_python_for_a_program_without_it(tmp_path, exported, c_master, monkeypatch):
    path = exported(rig())
    shutil.unpack_archive(path, tmp_path / "rig", "zip")
    library, token = (
        tmp_path / "rig" / "binaries" / fmpy.platform / f"rig{fmpy.sharedLibraryExtension}",
        fmpy.read_model_description(str(path)).guid,
    )
    monkeypatch.setenv("KINGPOST_PYTHON", "/nowhere/python3")
    refused = c_master(2, library, token, "run", 3, 0.01, 1, check=False)
    assert refused.returncode == 1
    said = refused.stdout + refused.stderr
    assert (
        "this FMU runs in Python, and there is none: '/nowhere/python3' cannot be started. Install Python 3.8 or newer" in said
    )


def test_a_changed_plugin_is_noticed(tmp_path, exported):
    """What is derived in the FMU is compared with what was exported: nobody should run another model without knowing."""
    mechanism, plugins = fragile(tmp_path)
    path = exported(mechanism, PythonOptions(binary="pythonfmu"), plugins=plugins)
    changed = tmp_path / "changed.fmu"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b"return 0.0", b"return 0.5") if name.endswith("_fragile.py") else content)
    told = run_script(MISSING.replace('one.get(["pivot.angle", "tip.x"])', "[]"), changed)["said"][0]
    assert "the model derived here is not the one that was exported: 'der(pivot.angle.rate)' is " in told
    assert "A plugin or package may have changed; export it again" in told
