"""Inputs over time, and times of runs, from files that say little or nonsense."""

import numpy as np
import pytest

from kingpost import SolverError
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.file.opened import FmuError, open_fmu
from kingpost.fmu.file.variables import variables_of
from kingpost.fmu.running.experiment import experiment
from kingpost.fmu.running.inputs import input_table
from tests.fmu.building import CO_SIMULATION, SOURCES


@pytest.fixture
def described(tmp_path):
    """The description of the oscillator, changed, in an FMU without a binary."""

    def make(old="", new=""):
        text = (SOURCES / "oscillator2.xml").read_text(encoding="utf-8").replace("<!-- interfaces -->", CO_SIMULATION)
        write_archive(tmp_path / "x.fmu", {"modelDescription.xml": text.replace(old, new).encode()})
        return open_fmu(tmp_path / "x.fmu")

    return make


def test_a_file_without_samples_is_refused(described, tmp_path):
    (tmp_path / "inputs.csv").write_text("time,force\n")
    with pytest.raises(FmuError, match="there are no samples in it"):
        input_table(variables_of(described()), np.linspace(0.0, 1.0, 3), tmp_path / "inputs.csv", {})


def test_a_run_too_short_for_steps_is_refused(described):
    with pytest.raises(SolverError, match="too short to be divided into steps"):
        experiment(described('stopTime="1"', 'stopTime="5e-324"'))
