"""Imports under other names, and what an FMU says where it cannot be imported."""

import sys
import types

import pytest

from kingpost.fmu.export.python.runtime.engine import EngineError
from kingpost.fmu.export.python.runtime.importing import check_requirements, install, rename_imports

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


def test_a_python_that_is_too_old():
    with pytest.raises(EngineError, match="'x' runs in Python and needs Python 99.1 or newer; this is Python 3"):
        check_requirements([], "99.1", "x")


def test_an_incomplete_archive(tmp_path):
    with pytest.raises(EngineError, match="the FMU is incomplete: there is no package in .*Unpack it again"):
        install("nothing_there", tmp_path)
