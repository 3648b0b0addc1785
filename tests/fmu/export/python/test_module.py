"""The module with the slave in it."""

import ast
import sys

from kingpost.fmu.export.python.module import RUNTIME, slave_files


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
