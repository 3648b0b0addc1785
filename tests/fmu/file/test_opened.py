"""FMUs as files: what they say of themselves, and what is unpacked of them."""

import hashlib
import pickle
import time

import pytest

from kingpost import FileError
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.file.opened import FmuError, open_fmu
from kingpost.fmu.file.variables import recorded, variables_of
from tests.fmu.building import CO_SIMULATION, SOURCES


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


def test_an_empty_folder_is_no_platform(described):
    fmu = open_fmu(described(**{"binaries/linux32/other.so": b"", "binaries/amiga/": b""}))
    assert fmu.binary_platforms() == ["linux32"]
    assert fmu.missing_binary().endswith("it has some for linux32")
    assert open_fmu(described(**{"binaries/amiga/": b""})).missing_binary().endswith("it has none at all")


def test_what_a_run_uses_is_a_small_part_of_a_large_fmu(described):
    """Handed to another process, which then need not read the file."""
    fmu = open_fmu(described())
    used = pickle.loads(pickle.dumps(fmu.reduced(["position", "mass"])))
    assert list(variables_of(used)) == ["position", "mass"]
    assert (used.identifier, used.description.guid, used.sha256) == (fmu.identifier, fmu.description.guid, fmu.sha256)
    assert len(fmu.description.modelVariables) == 11


def test_many_variables_take_time_in_proportion(tmp_path):
    """30,000 in CPU time that a search through lists, once for each, would spend many times over."""
    fmu = many_variables(tmp_path / "many.fmu", 30_000)
    begin = time.process_time()
    opened = open_fmu(fmu)
    assert len(recorded(variables_of(opened), ["big*"])) == 30_000
    # About 1 s; what was quadratic in it took 20 s.
    assert time.process_time() - begin < 8


@pytest.mark.slow
def test_300000_variables_open_in_seconds(tmp_path):
    fmu = many_variables(tmp_path / "many.fmu", 300_000)
    begin = time.process_time()
    variables_of(open_fmu(fmu))
    assert time.process_time() - begin < 30


def many_variables(path, count):
    text = (SOURCES / "oscillator2.xml").read_text(encoding="utf-8").replace("<!-- interfaces -->", CO_SIMULATION)
    variable = '<ScalarVariable name="big.part[{}]" valueReference="1" causality="local"><Real unit="m"/></ScalarVariable>'
    more = "".join(variable.format(i) for i in range(count))
    write_archive(path, {"modelDescription.xml": text.replace("</ModelVariables>", f"{more}</ModelVariables>").encode()})
    return path
