"""FMUs as files: what they say of themselves, and what is unpacked of them."""

import hashlib

import pytest

from kingpost import FileError
from kingpost.fmu.file.opened import FmuError, open_fmu
from tests.fmu.building import CO_SIMULATION


def test_a_description_is_read_and_nothing_is_run(described):
    path = described()
    fmu = open_fmu(path)
    assert (fmu.major, fmu.name, fmu.interface, fmu.identifier) == (2, "oscillator", "co-simulation", "oscillator")
    assert fmu.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (fmu.default("stopTime"), fmu.default("stepSize"), fmu.default("tolerance")) == (1.0, 0.01, None)
    assert open_fmu(path, "model-exchange").interface == "model-exchange"


def test_capabilities_are_the_same_in_the_spelling_of_either_standard(described):
    fmu = open_fmu(described())
    assert fmu.can("canGetAndSetFMUstate") and fmu.can("canGetAndSetFMUState")
    assert fmu.can("providesDirectionalDerivatives")
    assert not fmu.can("canInterpolateInputs")


def test_an_interface_that_is_not_offered_is_refused(described):
    with pytest.raises(FmuError, match="does not offer model-exchange; it offers co-simulation"):
        open_fmu(described((CO_SIMULATION,)), "model-exchange")


def test_what_would_leave_the_folder_is_not_unpacked(described, tmp_path):
    path = described(**{"resources/note.txt": b"here", "../escaped.txt": b"out", "/absolute.txt": b"out"})
    folder = open_fmu(path).unpack(tmp_path / "in" / "side")
    found = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    assert found == ["modelDescription.xml", "resources/note.txt"]
    assert not list(tmp_path.rglob("escaped.txt")) and not list(tmp_path.rglob("absolute.txt"))


def test_records_that_are_none_are_noted(described):
    fmu = open_fmu(described(**{"resources/kingpost.json": b"[1]"}))
    assert fmu.annotation == {}
    assert fmu.notes == ("resources/kingpost.json in the FMU is not used: it holds list, expected an object",)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"'.*none.fmu' does not exist"):
        open_fmu(tmp_path / "none.fmu")
