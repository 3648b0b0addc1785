"""FMUs that others made: a folder of them is named by KINGPOST_FOREIGN_FMUS, such as Modelica's Reference FMUs.

Each is checked, by both interfaces, and gets no error. One that brings what it should give, as the Reference FMUs do in
``extra/org.fmi-standard.fmi-ls-ref/NAME_out.csv``, gives just that in co-simulation.
"""

import csv
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kingpost.base.errors import KingpostError
from kingpost.fmu.checks import CheckOptions, check_fmu
from kingpost.fmu.file.opened import open_fmu
from kingpost.fmu.running import run_fmu

FOLDER = os.environ.get("KINGPOST_FOREIGN_FMUS", "")
FMUS = sorted(Path(FOLDER).rglob("*.fmu")) if FOLDER else []
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FMUS, reason="KINGPOST_FOREIGN_FMUS names no folder with FMUs"),
]
REFERENCE = "extra/org.fmi-standard.fmi-ls-ref/"


@pytest.mark.parametrize("path", FMUS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
@pytest.mark.parametrize("interface", ["co-simulation", "model-exchange"])
def test_no_error_is_found(path, interface):
    fmu = _opened(path)
    if interface not in fmu.capabilities:
        pytest.skip(f"it does not offer {interface}")
    report = check_fmu(path, CheckOptions(timeout=60, instances=20, interface=interface), skip=["memory", "speed"])
    assert not report.errors and not report.faults, [(r.name, r.summary, r.details) for r in (*report.errors, *report.faults)]


@pytest.mark.parametrize("path", FMUS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_it_gives_what_it_says_that_it_gives(path):
    fmu = _opened(path)
    known = f"{REFERENCE}{path.stem}_out.csv"
    if known not in fmu.members or any(variable.causality == "input" for variable in fmu.description.modelVariables):
        pytest.skip("it does not say what it gives, or for which inputs")
    with zipfile.ZipFile(path) as archive:
        names, *rows = csv.reader(io.StringIO(archive.read(known).decode("utf-8")))
    try:
        history = run_fmu(path, interface="co-simulation")
    except KingpostError as error:
        pytest.skip(str(error))
    shared = [name for name in names if name in history.names]
    if not shared:
        pytest.skip("what it says that it gives is not among its outputs")
    table = np.array(rows, dtype=float)
    # An FMU may end the run, as Stair does: what it gave last is not lost.
    assert table[-1, 0] <= history.time[-1] * (1 + 1e-9)
    for name in shared:
        found = np.interp(table[:, 0], history.time, history[name])
        np.testing.assert_allclose(found, table[:, names.index(name)], rtol=1e-9, atol=1e-12)


def _opened(path):
    try:
        return open_fmu(path)
    except KingpostError as error:
        pytest.skip(str(error))
