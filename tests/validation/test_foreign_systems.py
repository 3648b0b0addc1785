"""Coupled systems that others made: a folder of them is named by KINGPOST_FOREIGN_SYSTEMS, such as libcosim's tests/data.

Each OspSystemStructure*.xml and each SSP archive in it that can be read runs, and gives what libcosim gives. With the
knuckle-boom crane of libcosim, its controller and their functions, power bonds and groups of variables are among them.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kingpost.base.errors import KingpostError
from kingpost.fmu.cosim import cosimulate, prepare_cosimulation
from kingpost.fmu.cosim.description.opening import open_system
from tests.validation import libcosim_values

FOLDER = os.environ.get("KINGPOST_FOREIGN_SYSTEMS", "")
FILES = sorted(path for end in ("OspSystemStructure*.xml", "*.ssp") for path in Path(FOLDER).rglob(end)) if FOLDER else []
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="KINGPOST_FOREIGN_SYSTEMS names no folder with systems"),
]
#: Of a run, in s.
LASTING = 0.3


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_runs_as_in_libcosim(path, tmp_path, plugins):
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(open_system(path, plugins)).system
        except KingpostError as error:
            pytest.skip(str(error))
        t_end = found.t_start + LASTING
        system = found.with_changes(t_end=t_end)
        history = cosimulate(system, plugins=plugins)
        assert history.provenance["outcome"] == "complete" and history.time[-1] == pytest.approx(t_end, rel=1e-12)
        plan = prepare_cosimulation(system, plugins)
    pytest.importorskip("libcosimpy.CosimExecution")
    names = [f"{owner}.{name}" for owner, name in plan.recorded if plan.components[owner].signals[name].kind == "real"]
    words = [sys.executable, libcosim_values.__file__, path, repr(t_end), json.dumps(names), tmp_path / "values.json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    there = json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))
    for name in names:
        scale = max(abs(history[name]).max(), 1e-9)
        # The same steps of the same machine code; only sums may be added in another order. With ecco, libcosim takes other
        # steps (docs/cosim.md), and both stay near the solution: to the first order in steps of 1e-4 s, not better.
        limit = 1e-9 if system.master == "jacobi" else 1e-2
        assert there["values"][name] == pytest.approx(history[name][-1], abs=limit * scale), name
