"""Checks of FMUs: every defect is found by the check that is there for it, and nothing in a clean FMU."""

import os
import platform
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from kingpost.fmu.checks import CHECKS, Check, CheckOptions, Nursery, check_fmu
from kingpost.fmu.checks.runner import UnknownCheckError
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, first_order, needs_compiler, oscillator, oscillator3
from tests.fmu.checks.defects import DEFECTS, LINUX, SPREADING, WEIGHTS, X86

# One process for all, so that FMUs and the nursery are made once.
pytestmark = pytest.mark.xdist_group("fmu-check")
NAMES = [check.name for check in CHECKS]
QUICK = CheckOptions(timeout=20, instances=10)

#: What stock pythonfmu gets wrong whatever the slave does.
STOCK = {"validate", "units", "structure", "unknown-references", "after-error", "nan-input", "folder-name"}
FREED = {"after-error", "exit"}


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as home:
        yield home


@pytest.fixture
def check(nursery):
    def run(path, *only, **options):
        return check_fmu(path, CheckOptions(**{**vars(QUICK), **options}), only=only or None, nursery=nursery)

    return run


def outcomes(report):
    return {result.name: result.outcome for result in report.results}


@needs_compiler
@pytest.mark.parametrize("kind", ["co-simulation", "model-exchange", "FMI 3"])
def test_nothing_is_found_in_a_clean_fmu(folder, check, kind):
    if kind == "FMI 3":
        report = check(oscillator3(folder))
    else:
        path = oscillator(folder, interfaces=(MODEL_EXCHANGE, CO_SIMULATION), name="both")
        report = check(path, interface=kind)
        assert report.fmu["interface"] == kind
    assert list(outcomes(report)) == NAMES
    assert not report.findings and not report.faults, [(r.name, r.summary, r.details) for r in report.findings]
    expected = {"step-size", "odd-steps", "interpolation"} if kind == "model-exchange" else {"interpolation"}
    assert {name for name, outcome in outcomes(report).items() if outcome == "not applicable"} == expected


@needs_compiler
@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_found(folder, check, defect):
    _skip_elsewhere(defect)
    names, said = DEFECTS[defect]
    report = check(oscillator(folder, defect), *names, timeout=2.0 if defect == "HANG" else 20.0)
    assert {result.name for result in report.findings} == set(names)
    first = report[names[0]]
    assert said in first.summary
    assert first.severity == WEIGHTS.get(defect, "error")


def _skip_elsewhere(defect):
    if defect in X86 and platform.machine() != "x86_64":
        pytest.skip("only x86 processors have this")
    if defect in LINUX and sys.platform != "linux":
        pytest.skip("only Linux shows this")


INTERPOLATES = {'providesDirectionalDerivative="true"': 'providesDirectionalDerivative="true" canInterpolateInputs="true"'}


@needs_compiler
@pytest.mark.parametrize(
    ("defects", "severity", "said"),
    [
        (("FOLLOW",), None, "inputs that rise during a step are followed: 1.0"),
        ((), "error", "(canInterpolateInputs), but fmi2SetRealInputDerivatives ends with status 'error'"),
        (("IGNORE_SLOPE",), "warning", "(canInterpolateInputs), and takes their derivatives without an effect"),
    ],
)
def test_a_claim_to_interpolate_inputs_is_tried(folder, check, defects, severity, said):
    path = oscillator(folder, *defects, change=INTERPOLATES, name=f"claims{len(defects)}{''.join(defects)}")
    result = check(path, "interpolation")["interpolation"]
    assert result.severity == severity and said in result.summary


@needs_compiler
def test_a_claim_to_give_derivatives_of_outputs_is_tried(folder, check):
    claim = {'providesDirectionalDerivative="true"': 'maxOutputDerivativeOrder="2"'}
    result = check(oscillator(folder, change=claim, name="derived"), "interpolation")["interpolation"]
    assert result.severity == "error" and "fmi2GetRealOutputDerivatives of order 1 ends with status 'error'" in result.summary


@needs_compiler
def test_an_instance_is_asked_nothing_after_an_error(folder, check):
    """FMI ends an instance by an error: this one dies if anything but its end is asked of it then, or beyond its stop time."""
    report = check(oscillator(folder, "STRICT_ERROR"), "unknown-references", "after-error")
    assert report["unknown-references"].outcome == "pass"
    result = report["after-error"]
    # Masters terminate all the same, which is worth a warning.
    assert result.severity == "warning" and "was killed by SIGABRT while terminating" in result.summary


@needs_compiler
def test_an_archive_that_cannot_be_unpacked_is_an_error(folder, check):
    path = oscillator(folder, name="linked")
    link = zipfile.ZipInfo("resources")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc")
    report = check(path)
    assert {result.name for result in report.errors} >= {"archive", "start"}
    assert any("'resources' is a symbolic link" in line for line in (report["archive"].summary, *report["archive"].details))
    assert "cannot be unpacked" in report["start"].summary


@needs_compiler
def test_equal_members_of_one_name_are_no_error(folder, check):
    path = oscillator(folder, name="twice")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/note.txt", "nothing is needed here\n")
    assert check(path, "archive")["archive"].severity == "warning"
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/note.txt", "another\n")
    result = check(path, "archive")["archive"]
    assert result.severity == "error" and "3 different members are called 'resources/note.txt'" in result.summary


@needs_compiler
def test_derivatives_that_are_rough_weigh_less(folder, check):
    result = check(oscillator(folder, "ROUGH_DERIVATIVE"), "derivatives")["derivatives"]
    assert result.severity == "warning" and "is said to be 0.505, differences give 0.5" in result.summary


@needs_compiler
def test_derivatives_of_coarsely_rounded_values_are_right(folder, check):
    """The value is near zero and a multiple of 1.2e-10, so that differences over 6e-6 N are off by 1e-5: more than they are."""
    assert (
        "is said to be" in check(oscillator(folder, "CANCELLATION", "WRONG_DERIVATIVE"), "derivatives")["derivatives"].summary
    )
    assert check(oscillator(folder, "CANCELLATION"), "derivatives")["derivatives"].outcome == "pass"


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found_by_its_own_checks_only(folder, check, defect):
    _skip_elsewhere(defect)
    report = check(oscillator(folder, defect), timeout=2.0 if defect == "HANG" else 20.0)
    found, expected = {result.name for result in report.findings}, set(DEFECTS[defect][0])
    assert found >= expected if defect in SPREADING else found == expected
    assert not report.faults


@needs_compiler
def test_an_fmu_that_allows_one_instance_only_is_not_asked_for_more(folder, check):
    claim = {'providesDirectionalDerivative="true"': 'canBeInstantiatedOnlyOncePerProcess="true"'}
    report = check(oscillator(folder, "ONE_INSTANCE", change=claim, name="alone"))
    assert not report.findings, [(r.name, r.summary) for r in report.findings]
    left_out = {name for name, outcome in outcomes(report).items() if outcome == "not applicable"}
    assert left_out == {"two-instances", "two-loads", "derivatives", "interpolation"}
    assert "only one at once is promised" in report["many-instances"].summary


@needs_compiler
def test_results_that_depend_on_an_address_do_not_repeat(folder, check):
    report = check(oscillator(folder, "RANDOM"), "repeat")
    assert "the same steps of a second instance differ" in report["repeat"].summary


@needs_compiler
def test_a_state_that_is_a_pointer_cannot_be_continued_elsewhere(folder, check):
    (result,) = check(oscillator(folder, "SERIAL_POINTER"), "serialise").findings
    assert result.name == "serialise"


@needs_compiler
def test_a_crash_says_what_the_fmu_had_said(folder, check):
    (result,) = check(oscillator(folder, "CRASH_LATER"), "run").findings
    assert "printed: [warning] the spring is about to break" in result.details
    assert result.data["exit_code"] == -11
    assert result.data["reached"] == pytest.approx(0.03, rel=1e-12)


@needs_compiler
def test_the_leak_is_measured(folder, check):
    result = check(oscillator(folder, "LEAK"), "memory")["memory"]
    # 4096 bytes are lost per step, plus the 16 of malloc's own book-keeping; memory comes in pages of 4096.
    assert result.data["bytes"] / result.data["steps"] == pytest.approx(4112, rel=0.02)


@needs_compiler
def test_defects_of_fmi_3_are_found(folder, check):
    report = check(oscillator3(folder, "PASS_NAN", "WRONG_DERIVATIVE"), "nan-input", "derivatives", "rollback")
    assert {result.name for result in report.findings} == {"nan-input", "derivatives"}
    assert "is said to be 0.001, differences give 0" in report["derivatives"].summary


@needs_compiler
def test_an_fmu_that_ends_the_simulation_is_not_at_fault(folder, check):
    report = check(oscillator3(folder, "END_EARLY"), "run", "memory", "rollback")
    assert outcomes(report) == {"run": "pass", "rollback": "pass", "memory": "not applicable"}
    assert "asked to end the simulation at t = 0.5 s" in report["run"].summary


def test_stock_pythonfmu_loses_hidden_state(folder, check):
    path = first_order(
        folder,
        "hidingslave",
        "self.memory += step_size; self.y += step_size * (self.u - self.y + self.memory)",
        start="self.memory = 0.0",
        canGetAndSetFMUstate=True,
        canSerializeFMUstate=True,
    )
    report = check(path)
    found = {result.name for result in report.findings}
    # What it frees too early ends some of its programs: after an error as a rule, at their end now and then.
    assert found - FREED == (STOCK | {"rollback", "serialise"}) - FREED
    assert found & FREED
    assert all("was killed by SIG" in report[name].summary for name in found & FREED)
    assert report["structure"].summary == "InitialUnknowns lacks y"
    assert "'u' = nan: passed on" in report["nan-input"].summary
    assert report["derivatives"].outcome == "not applicable"


def test_an_exception_in_stock_pythonfmu_kills_the_process(folder, check):
    path = first_order(folder, "raisingslave", "self.y = 1.0 / (0.0 if current_time > 0.045 else 1.0)")
    report = check(path, "run", "after-error")
    assert {result.name for result in report.findings} == {"run", "after-error"}
    assert "the step from t = 0.046 s failed: fmi2DoStep ended with status 'fatal'" in report["run"].summary
    assert any("float division by zero" in line for line in report["run"].details)
    assert "was killed by SIG" in report["after-error"].summary
    assert any("a step failed" in line for line in report["after-error"].details)


def test_an_fmu_that_cannot_step_is_not_asked_for_steps(folder, check):
    path = first_order(folder, "stuckslave", "raise ValueError('no')")
    report = check(path, "run", "reset", "set-values")
    assert outcomes(report) == {"run": "finding", "set-values": "pass", "reset": "not applicable"}
    assert report["reset"].summary == "the FMU takes no step, see 'run'"


def test_a_slow_fmu_gets_fewer_steps(folder, check):
    path = first_order(folder, "slowslave", "time.sleep(0.05); self.y += step_size * (self.u - self.y)")
    report = check(path, "run", "memory", "reset", timeout=4.0)
    assert outcomes(report) == {"run": "pass", "reset": "pass", "memory": "not applicable"}
    assert "there is time for too few" in report["memory"].summary
    assert "steps of 0.001 s" in report["run"].summary and "(of 1000 to its stop time" in report["run"].summary


@needs_compiler
def test_an_fmu_that_does_not_start_is_asked_nothing_else(folder, check):
    path = oscillator(folder, change={'guid="{oscillator}"': 'guid="{another}"'}, name="another-guid")
    report = check(path, "rollback", "units")
    # 'start' was not asked for, but it is the reason.
    assert outcomes(report) == {"start": "finding", "units": "pass", "rollback": "not applicable"}
    assert report["rollback"].summary == "the FMU does not start, see 'start'"


@needs_compiler
def test_paths_that_leave_the_archive_are_found_and_not_followed(folder, check):
    path = oscillator(folder, name="escaping")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../escaped.txt", "out")
        archive.writestr("/tmp/absolute.txt", "out")
        archive.writestr("resources\\windows.txt", "out")
    report = check(path, "archive", "run")
    assert outcomes(report) == {"archive": "finding", "run": "pass"}
    text = "\n".join([report["archive"].summary, *report["archive"].details])
    assert "'../escaped.txt' has a way out of its folder" in text
    assert "'/tmp/absolute.txt' has an absolute path" in text
    assert "has a backslash" in text


@needs_compiler
def test_a_damaged_or_oddly_packed_archive_is_found(folder, check):
    path = oscillator(folder, name="damaged")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/odd.txt", "odd " * 100, zipfile.ZIP_BZIP2)
        archive.writestr("resources/data.txt", "plain and stored", zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"plain and stored", b"plain and spoilt", 1))
    report = check(path, "archive", "units", "rollback")
    assert outcomes(report) == {"start": "finding", "archive": "finding", "units": "pass", "rollback": "not applicable"}
    assert "cannot be unpacked" in report["rollback"].summary
    result = report["archive"]
    assert "'resources/odd.txt' is packed by method 12" in result.summary
    assert any("'resources/data.txt' is damaged" in line for line in result.details)


@needs_compiler
def test_an_fmu_for_other_platforms_is_read_but_not_run(folder, check):
    path = folder / "elsewhere.fmu"
    with zipfile.ZipFile(oscillator(folder)) as source, zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", source.read("modelDescription.xml"))
        archive.writestr("binaries/amiga/oscillator.library", "")
    report = check(path, "archive", "units", "rollback")
    assert outcomes(report) == {"archive": "finding", "units": "pass", "rollback": "not applicable"}
    assert "there are amiga" in report["archive"].summary
    assert report["rollback"].summary == "there is no binary for this platform"


@needs_compiler
def test_a_missing_function_is_a_finding_with_its_name(folder, check):
    result = check(oscillator(folder, "INCOMPLETE"), "start")["start"]
    assert "lacks a function that FMI demands" in result.summary and "fmi2GetStatus" in result.summary


@needs_compiler
def test_what_is_written_is_compared_with_itself(folder, check):
    bare = oscillator(folder, change={'start="2" unit="kg"': 'start="2"'}, name="bare")
    result = check(bare, "units")["units"]
    assert (result.outcome, result.data["without_unit"]) == ("finding", ["mass"])
    incomplete = oscillator(
        folder, change={'<Unknown index="4"/><Unknown index="8"/>': '<Unknown index="8"/>'}, name="incomplete"
    )
    report = check(incomplete, "structure", "validate")
    assert report["structure"].summary == "InitialUnknowns lacks acceleration"
    assert "InitialUnknowns" in report["validate"].details[0]
    surplus = oscillator(folder, change={"</Outputs>": '<Unknown index="1"/></Outputs>'}, name="surplus")
    assert check(surplus, "structure")["structure"].summary == "Outputs should not list force"


@needs_compiler
def test_a_check_of_ones_own_is_a_function_and_a_line(folder, nursery, tmp_path, monkeypatch):
    (tmp_path / "ownchecks.py").write_text(
        "from kingpost.fmu.checks import finding, passed\n\n\n"
        "def at_rest(subject):\n"
        "    row = dict(zip(subject.start().observed.labels, subject.start().row()))\n"
        "    return passed('at rest') if row['velocity'] == 0 else finding('in motion')\n\n\n"
        "def broken(subject):\n"
        "    return subject.no_such_thing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import ownchecks

    own = [Check("at-rest", "it starts at rest", (ownchecks.at_rest,)), Check("broken", "it works", (ownchecks.broken,))]
    report = check_fmu(oscillator(folder), QUICK, checks=[*CHECKS, *own], only=["at-rest", "broken"], nursery=nursery)
    assert outcomes(report) == {"at-rest": "pass", "broken": "fault"}
    assert "AttributeError" in report["broken"].summary
    assert report.faults == (report["broken"],) and not report.findings


@pytest.mark.quick("SIGKILL")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_an_interrupt_leaves_no_process_behind(folder, tmp_path, number):
    path = first_order(folder, "sleepyslave", "import os; open(os.environ['WHO'], 'w').write(str(os.getpid())); time.sleep(60)")
    who = tmp_path / "who"
    process = subprocess.Popen(
        [sys.executable, "-c", f"from kingpost.fmu.checks import check_fmu; check_fmu({str(path)!r}, only=['run'])"],
        env=os.environ | {"WHO": str(who)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (who.is_file() and who.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(getattr(signal, number))
    assert process.wait(60) != 0
    while time.monotonic() < deadline:
        try:
            os.kill(int(who.read_text()), 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process of the check lives on")


def test_a_check_that_does_not_exist_is_answered_with_the_nearest():
    with pytest.raises(UnknownCheckError, match="no check 'rollbak'; did you mean 'rollback'"):
        check_fmu("any.fmu", only=["rollbak"])


def test_every_check_is_in_the_documentation(root: Path):
    text = (root / "docs" / "fmu-check.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"| `{name}` |" in text
