"""``kingpost fmu-check`` as a user meets it."""

import functools
import json
import zipfile

import pytest

from kingpost.base.errors import FileError, KingpostError
from kingpost.fmu.checks import CHECKS
from kingpost.fmu.commands.check import FINDINGS, FmuCheck
from kingpost.fmu.file.opened import FmuError
from tests.fmu.building import needs_compiler, oscillator

NAMES = [check.name for check in CHECKS]


@pytest.fixture
def command(run_verb):
    return functools.partial(run_verb, FmuCheck())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"this is not a ZIP archive", "is not an FMU, which would be a ZIP archive"),
        ({"readme.txt": "hello"}, "holds no modelDescription.xml"),
        ({"modelDescription.xml": "<broken"}, "modelDescription.xml is not XML"),
        ({"modelDescription.xml": '<fmiModelDescription fmiVersion="1.0"/>'}, "FMU of version '1.0'"),
        ({"modelDescription.xml": '<fmiModelDescription fmiVersion="4.0"/>'}, "FMU of version '4.0'"),
        ({"modelDescription.xml": '<fmiModelDescription fmiVersion="2.0"/>'}, "neither co-simulation nor model exchange"),
        (
            {"modelDescription.xml": '<fmiModelDescription fmiVersion="2.0"><CoSimulation/></fmiModelDescription>'},
            "cannot be understood",
        ),
    ],
)
def test_what_is_no_fmu_is_a_file_problem(tmp_path, command, content, said):
    path = tmp_path / "x.fmu"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
    status, _, err = command(path)
    assert status == FileError.exit_code and said in err


@needs_compiler
def test_the_command_prints_a_line_for_each_check_and_details_of_findings(folder, command):
    words = ("--instances", 5, "--skip", "memory,speed,many-instances")
    status, out, _ = command(oscillator(folder), *words)
    assert status == 0
    lines = out.splitlines()
    assert len(lines) == len(NAMES) - 3 + 1
    assert lines[0].startswith("pass    archive             3 members")
    assert (
        lines[-1]
        == "oscillator (FMI 2.0 co-simulation, made by a text editor): 30 checks, 29 passed, 0 errors, 0 warnings, 0 notes, "
        "1 not applicable"
    )
    status, out, _ = command(oscillator(folder, "PASS_NAN"), "--only", "nan-input")
    assert status == 0  # a warning
    assert command(oscillator(folder, "PASS_NAN"), "--only", "nan-input", "--strict")[0] == FINDINGS == 8
    first, second, *_ = out.splitlines()
    assert first.startswith("warning nan-input           'force' = nan: passed on")
    assert second.startswith(" " * 28 + "'force' = inf: passed on")


@needs_compiler
def test_the_command_speaks_json_and_lists(folder, command):
    status, out, _ = command(oscillator(folder, "HIDDEN_STATE"), "--json", "--only", "rollback,units", "--step", 0.005)
    data = json.loads(out)
    assert (status, data["findings"], data["errors"], data["warnings"], data["notes"]) == (8, 1, 1, 0, 0)
    assert [check["severity"] for check in data["checks"]] == [None, "error"]
    assert data["fmu"]["experiment"] == {"t_start": 0.0, "t_stop": 1.0, "step": 0.005}
    assert [check["outcome"] for check in data["checks"]] == ["pass", "finding"]
    status, out, _ = command("--list")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == NAMES
    assert command()[0] == 2
    assert command("x.fmu", "--only", "rollbak")[0] == 2
    assert command(oscillator(folder), "--kind", "me")[0] == FmuError.exit_code
    assert command(oscillator(folder), "--timeout", "0")[0] == KingpostError.exit_code
