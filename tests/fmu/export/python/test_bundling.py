"""Copies of Python code for FMUs: imports under other names, and nothing left behind."""

import ast
import importlib
import sys
import types

import pytest

from kingpost import PluginSet
from kingpost.fmu.export.python.bundling import copy_package, copy_plugins, used_plugins
from kingpost.fmu.export.python.module import RUNTIME, slave_files
from kingpost.fmu.export.python.runtime.engine import EngineError
from kingpost.fmu.export.python.runtime.importing import check_requirements, install, rename_imports
from kingpost.simulation.export_model import prepare_export
from tests.fmu.machines import rig

STATEMENTS = {
    "import old": "old.value",
    "import old as short": "short.value",
    "import old.inner": "old.inner.value - 1",
    "import old.inner as short": "short.value - 1",
    "import sys, old.inner, math": "old.inner.value - 1 + 0 * math.pi * len(sys.path)",
    "import sys, \\\n    old": "old.value",
    "from old import value": "value",
    "from old import (\n    # why\n    value as short,\n)": "short",
    "from old.inner import value": "value - 1",
    "from  old.inner  import value; other = value": "other - 1",
    "def f():\n    from old import value\n    return value": "f()",
    "æ = 'old'; import old; from old import inner": "old.value if inner.value and æ == 'old' else 0",
    "text = 'import old'\nfrom old import value": "value if text == 'import old' else 0",
    "import older": "older.value + 1",
    "from older import value": "value + 1",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_imports_go_elsewhere_and_lines_stay_where_they_are(statement, monkeypatch):
    def module(name, value):
        made = types.ModuleType(name)
        made.value = value
        monkeypatch.setitem(sys.modules, name, made)
        return made

    module("old", 1).inner = module("old.inner", 2)
    new = module("new", 3)
    new.inner = module("new.inner", 4)
    module("older", 2)
    source = f"{statement}\nresult = {STATEMENTS[statement]}\n"
    renamed = rename_imports(source, {"old": "new"})
    assert len(renamed.splitlines()) == len(source.splitlines())
    namespace = {}
    exec(renamed, namespace)
    assert namespace["result"] == 3


def test_what_is_not_meant_stays_as_it_is():
    source = "# import kingpost\nimport numpy as np\nfrom . import kingpost\nfrom .kingpost import x\nkingpost = 'kingpost'\n"
    assert rename_imports(source, {"kingpost": "other"}) == source


def test_the_copy_of_kingpost_imports_nothing_of_kingpost():
    copy = copy_package()
    assert f"{copy.name}/fmu/export/python/runtime/rebuilding.py" in copy.files
    assert f"{copy.name}/plugins/formulations/kane.py" in copy.files
    # Neither commands nor exporters nor file formats travel along.
    assert not any(part in place for place in copy.files for part in ("/cli/", "exporter.py", "/writers/", "/report/") if
                   place != f"{copy.name}/simulation/exporter.py")  # fmt: skip
    for place, text in copy.files.items():
        for node in ast.walk(ast.parse(text, place)):
            names = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                top = name.split(".")[0]
                assert top != "kingpost", place
                if top == copy.name:
                    inside = name.replace(".", "/")
                    assert f"{inside}.py" in copy.files or f"{inside}/__init__.py" in copy.files, f"{place} imports {name}"
    assert {entry["module"] for entry in copy.requires} == {"casadi", "numpy", "pluggy", "scipy", "tomli"}


def test_the_copy_registers_what_kingpost_registers():
    copy = copy_package()
    for kind in ("formulations", "integrators", "joint_loads", "forces"):
        text = copy.files[f"{copy.name}/plugins/{kind}/hooks.py"]
        hooks = importlib.import_module(f"kingpost.plugins.{kind}.hooks")
        for cls in getattr(hooks, f"kingpost_register_{kind}")():
            assert cls.__name__ in text


def test_the_rest_needs_nothing_but_an_old_python():
    files = slave_files("0123", "a model")
    for name in RUNTIME:
        text = files[f"kingpost_fmu_0123/{name}.py"]
        for node in ast.walk(ast.parse(text, feature_version=(3, 8))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.split(".")[0] in {*sys.stdlib_module_names, "__future__"}
            elif isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
    module = ast.parse(files["slave_0123.py"], feature_version=(3, 8))
    (slave,) = (node for node in module.body if isinstance(node, ast.ClassDef))
    assert slave.name == "Slave_0123"
    assert sum(isinstance(node, ast.FunctionDef) for node in slave.body) > 10


def test_only_plugins_that_are_used_travel(tmp_path):
    (tmp_path / "idle.py").write_text(
        "import kingpost\n@kingpost.hookimpl\ndef kingpost_register_forces():\n    return []\n", encoding="utf-8"
    )
    plugins = PluginSet([tmp_path / "idle.py"], entry_points=False)
    model = prepare_export(rig(), plugins=plugins)
    copies = copy_plugins(model, "elsewhere")
    assert (copies.files, copies.distributions, copies.requires) == ({}, (), ())
    assert {source.origin for source, _ in used_plugins(model)} == {"built-in"}


def test_a_python_that_is_too_old():
    with pytest.raises(EngineError, match="'x' runs in Python and needs Python 99.1 or newer; this is Python 3"):
        check_requirements([], "99.1", "x")


def test_an_incomplete_archive(tmp_path):
    with pytest.raises(EngineError, match="the FMU is incomplete: there is no package in .*Unpack it again"):
        install("nothing_there", tmp_path)
