"""What is loaded, and when: counted in modules, which are the same on every machine, not in seconds."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

#: Slow to import or optional; what does not need them must not load them.
HEAVY = frozenset(
    {"casadi", "fmpy", "h5py", "lxml", "matplotlib", "numpy", "pandas", "pyarrow", "pythonfmu", "scipy", "yourdfpy"}
) | {"fastapi", "pydantic", "starlette", "uvicorn", "websockets"}
#: What a run in compiled steps with csv files has no use for.
BEYOND_A_RUN = HEAVY - {"casadi", "numpy"}
COUNT = "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"


def verb(*words):
    return f"import contextlib\nfrom kingpost.cli.main import main\nwith contextlib.suppress(SystemExit): main({list(words)!r})"


@dataclass(frozen=True)
class Budget:
    """What some code may load: never ``without``, at most so many modules of ours and so many in all, and why."""

    code: str
    without: frozenset[str]
    ours: int
    total: int
    why: str


BUDGETS = {
    "import kingpost": Budget(
        "import kingpost",
        HEAVY | {"pluggy", "argparse"},
        8,
        25,
        "public names are a table; each is loaded when asked for",
    ),
    "import kingpost.fmu": Budget(
        "import kingpost.fmu", HEAVY | {"pluggy", "argparse"}, 9, 25, "the hooks of this package are asked at every start"
    ),
    "kingpost --version": Budget(
        verb("--version"), HEAVY | {"pluggy"}, 12, 60, "a number; no verb and no plugin is needed for it"
    ),
    "kingpost -h": Budget(verb("-h"), HEAVY, 77, 204, "the verbs say what they do; how they do it is imported when they do it"),
    "kingpost run -h": Budget(verb("run", "-h"), HEAVY, 77, 204, "the same"),
    "kingpost.simulate": Budget(
        "import kingpost; kingpost.simulate", BEYOND_A_RUN, 145, 400, "symbols and arrays, but no solver, picture or FMU"
    ),
    "all public names": Budget("from kingpost import *", BEYOND_A_RUN, 282, 526, "the same holds for all of them together"),
    "import kingpost.testing": Budget(
        "import kingpost.testing", BEYOND_A_RUN, 185, 450, "the kit runs machines, and is there for every test"
    ),
    "the files of results": Budget(
        "import kingpost; kingpost.read_history; len(kingpost.PluginSet(entry_points=False).writers)",
        HEAVY - {"numpy"},
        60,
        350,
        "results are arrays; no symbols are needed to read them",
    ),
    "an isolated FMU": Budget(
        "import kingpost.fmu.cosim.components.child",
        HEAVY - {"fmpy", "numpy"},
        95,
        450,
        "a program of its own for every FMU: numbers go in and out, and no symbols are needed",
    ),
    "a run": Budget(
        verb("run", "double-pendulum", "--t-end", "0.01", "--write", "csv", "--out", "out", "--backend", "vm"),
        BEYOND_A_RUN,
        356,
        600,
        "step maps are compiled; SciPy is for solvers, matplotlib for pictures, fmpy for FMUs of others",
    ),
}


def loaded(code, folder):
    """Return the modules in a fresh interpreter after some code, without those that are there at its start."""
    environment = {**os.environ, "KINGPOST_LOAD_PLUGINS": ""}  # what is installed beside us has its own budget

    def run(text):
        done = subprocess.run(
            [sys.executable, "-c", text + COUNT], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return set(json.loads(done.stdout.splitlines()[-1]))

    return run(code) - run("")


@pytest.mark.parametrize("name", BUDGETS)
def test_nothing_is_loaded_before_it_is_needed(name, tmp_path):
    budget = BUDGETS[name]
    modules = loaded(budget.code, tmp_path)
    packages = {module.partition(".")[0] for module in modules}
    assert not packages & budget.without, f"{name} loads {sorted(packages & budget.without)}, but: {budget.why}"
    ours = sorted(module for module in modules if module.partition(".")[0] == "kingpost")
    assert len(ours) <= budget.ours, f"{name} loads {len(ours)} modules of ours: {ours}, but: {budget.why}"
    assert len(modules) <= budget.total, f"{name} loads {len(modules)} modules, but: {budget.why}"


def test_the_count_sees_what_is_loaded(tmp_path):
    modules = loaded("import kingpost; kingpost.simulate", tmp_path)
    assert {"casadi", "numpy", "kingpost.simulation.simulate"} <= modules


def test_the_version_is_printed_and_the_same_everywhere(kingpost_cli):
    import kingpost

    assert kingpost_cli("--version").out == f"kingpost {kingpost.__version__}\n"


def test_help_names_the_pictures_that_can_be_drawn(kingpost_cli):
    from kingpost.results.figures import FORMATS

    assert all(suffix in kingpost_cli("plot", "-h").out for suffix in FORMATS)
