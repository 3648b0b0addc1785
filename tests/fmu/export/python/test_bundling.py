"""Copies of Python code for FMUs: what travels, and nothing left behind."""

import ast
import importlib

from kingpost import PluginSet
from kingpost.fmu.export.python.bundling import copy_package, copy_plugins, used_plugins
from kingpost.simulation.export_model import prepare_export
from tests.fmu.machines import rig


def test_the_copy_of_kingpost_imports_nothing_of_kingpost():
    copy = copy_package()
    assert f"{copy.name}/fmu/export/python/runtime/rebuilding.py" in copy.files
    assert f"{copy.name}/plugins/formulations/kane.py" in copy.files
    # Neither commands nor exporters nor file formats travel along, only what those of others derive from.
    interfaces = {f"{copy.name}/{place}.py" for place in ("cli/__init__", "cli/command", "simulation/exporter")}
    left_behind = ("/cli/", "exporter.py", "/writers/", "/report/")
    assert not [place for place in copy.files if any(part in place for part in left_behind) and place not in interfaces]
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


def test_only_plugins_that_are_used_travel(tmp_path):
    (tmp_path / "idle.py").write_text(
        "import kingpost\n@kingpost.hookimpl\ndef kingpost_register_forces():\n    return []\n", encoding="utf-8"
    )
    plugins = PluginSet([tmp_path / "idle.py"], entry_points=False)
    model = prepare_export(rig(), plugins=plugins)
    copies = copy_plugins(model, "elsewhere")
    assert (copies.files, copies.distributions, copies.requires) == ({}, (), ())
    assert {source.origin for source, _ in used_plugins(model)} == {"built-in"}
