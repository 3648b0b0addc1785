"""Partners that crash, fail, are killed, or give numbers that are not finite: who, when, and what is kept."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from kingpost import FileError, MechanismError, SolverError
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, prepare_cosimulation
from kingpost.fmu.cosim.components.isolated import IsolatedFmu
from kingpost.results.read_write import read_history
from tests.fmu.building import first_order, needs_compiler, oscillator3


def clock(value=lambda t: t):
    """A block whose output is a function of time."""
    return Block("clock", (), (Channel("time", "s"), Channel("y", "1")), (State("x", "s"),), rates=lambda s: [1.0],
                 values=lambda s: [s["x"], value(s["x"])])  # fmt: skip


def pushed(path, **options):
    """The oscillator beside a clock."""
    settings = {"step": 0.01, "t_end": 0.1, **options}
    components = (Component("clock", model=clock()), Component("spring", fmu=path, **settings.pop("component", {})))
    return System("pair", components, (Connection("clock.y", "spring.force", factor=1.0),), **settings)


def stopped(system, plugins):
    with pytest.raises(SolverError) as error:
        cosimulate(system, plugins=plugins)
    return str(error.value), error.value.history


@needs_compiler
def test_a_crash_in_the_middle(broken, plugins):
    text, history = stopped(pushed(broken("CRASH_LATER")), plugins)
    assert (
        "system 'pair': component 'spring' failed in the step from t = 0.03 s by 0.01 s: its process was killed by SIGSEGV"
        in text
    )
    assert "while stepping" in text
    np.testing.assert_allclose(history.time, [0, 0.01, 0.02, 0.03])
    assert history.provenance["outcome"] == "failed"
    assert history["clock.time"][-1] == pytest.approx(0.03)


@needs_compiler
def test_an_error_of_a_partner(broken, plugins):
    text, history = stopped(pushed(broken("FAIL_LATER"), component={"isolate": False}), plugins)
    assert "component 'spring' failed in the step from t = 0.03 s by 0.01 s: fmi2DoStep ended with status 'error'" in text
    assert "It said: " in text
    assert text.endswith("[error] the spring broke")
    assert len(history) == 4


@needs_compiler
def test_numbers_that_are_not_finite_though_the_partner_reports_success(broken, plugins):
    system = pushed(broken("NAN_LATER"), component={"isolate": False})
    watcher = Component("other", fmu=system.components[1].fmu, isolate=False)
    connected = system.with_changes(
        components=(*system.components, watcher),
        connections=(*system.connections, Connection("spring.velocity", "other.force", factor=1.0)),
    )
    text, history = stopped(connected, plugins)
    assert "component 'spring': 'spring.velocity' is nan at t = 0.04 s, though the component reports success" in text
    assert "Last good values: spring.velocity = " in text
    assert len(history) == 4
    text, history = stopped(system, plugins)  # recorded, but not connected
    assert "'spring.position' is nan at t = 0.04 s" in text


def test_a_partner_that_gives_nan_from_five_seconds_on(tmp_path, plugins):
    step = 'self.y = float("nan") if current_time + step_size > 4.95 else self.u + 1.0'
    slave = first_order(tmp_path, "nanny", step)
    components = (Component("clock", model=clock(), step=0.1), Component("nanny", fmu=slave))
    connections = (Connection("clock.y", "nanny.u"),)
    text, history = stopped(System("pair", components, connections, step=0.1, t_end=10.0), plugins)
    assert "'nanny.y' is nan at t = 5 s" in text
    assert "Last good values: nanny.y = " in text
    assert history.time[-1] == pytest.approx(4.9)
    assert history["nanny.y"][-1] == pytest.approx(4.8 + 1)


@needs_compiler
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_partner_that_is_killed(broken, plugins, monkeypatch):
    sent = IsolatedFmu.send

    def kill_at_half_time(self, t, h, slopes=None):
        if t > 0.495:
            os.kill(self.process_id, signal.SIGKILL)
        sent(self, t, h, slopes)

    monkeypatch.setattr(IsolatedFmu, "send", kill_at_half_time)
    text, history = stopped(pushed(broken(), t_end=1.0), plugins)
    assert "component 'spring' failed in the step from t = 0.5 s by 0.01 s: its process was killed by SIGKILL" in text
    assert len(history) == 51


def test_a_model_in_this_process_that_fails(plugins):
    block = clock(lambda t: ca.if_else(t > 0.055, ca.sqrt(-t), t))
    text, history = stopped(System("one", (Component("clock", model=block),), t_end=0.1), plugins)
    assert "component 'clock' failed in the step from t = 0.05 s by 0.01 s: output 'y' is not finite, at t = 0.06 s" in text
    assert "state before it: x = 0.05" in text
    assert len(history) == 6


def test_an_interrupt_keeps_what_was_computed(plugins):
    def interrupt(fraction):
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted at t = 0.06 s") as stop:
        cosimulate(System("one", (Component("clock", model=clock()),), t_end=0.1), plugins=plugins, progress=interrupt)
    assert len(stop.value.history) == 7
    assert stop.value.history.provenance["outcome"] == "interrupted"


@needs_compiler
def test_what_cannot_start_or_go_back_is_named(broken, plugins, tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        cosimulate(pushed(tmp_path / "none.fmu"), plugins=plugins)
    stuck = broken(change={'canGetAndSetFMUstate="true"': 'canGetAndSetFMUstate="false"'}, name="stuck")
    with pytest.raises(
        CosimError, match="master 'iterated' cannot run system 'pair': 'spring' cannot go back to an earlier state"
    ):
        cosimulate(pushed(stuck, master="iterated", component={"isolate": False}), plugins=plugins)


@needs_compiler
def test_two_instances_of_an_fmu_that_can_have_one(broken, plugins):
    flag = {'canGetAndSetFMUstate="true"': 'canBeInstantiatedOnlyOncePerProcess="true"'}
    path = broken(change=flag, name="single")
    components = [Component(name, fmu=path, isolate=False) for name in ("one", "two")]
    with pytest.raises(CosimError, match="components 'one' and 'two': 'single.fmu' can be instantiated only once in a process"):
        prepare_cosimulation(System("s", components), plugins)
    prepare_cosimulation(System("s", [components[0], Component("two", fmu=path)]), plugins)


@needs_compiler
def test_a_start_value_that_is_refused(broken, plugins):
    with pytest.raises(CosimError, match="component 'spring': the FMU has no variable 'mas'; did you mean 'mass'"):
        cosimulate(pushed(broken(), component={"settings": {"mas": 1.0}}), plugins=plugins)


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are numbered as Linux does")
def test_a_partner_that_closes_the_files_of_its_process(broken, plugins):
    text, history = stopped(pushed(broken("CLOSE_FILES")), plugins)
    assert "component 'spring' failed in the step from t = 0 s by 0.01 s: its process left by itself with exit status 1" in text
    assert "the FMU has closed what it had not opened, the way to its master among it" in text
    assert "File " not in text
    assert len(history) == 1


@needs_compiler
def test_a_partner_that_hangs_at_its_end_costs_no_result(broken, plugins):
    found = cosimulate(pushed(broken("HANG_AT_END"), timeout=1.0), plugins=plugins)
    assert len(found) == 11 and found.provenance["outcome"] == "complete"
    (warning,) = found.provenance["warnings"]
    assert warning.startswith("'spring': it did not answer within 1 s while terminating, and its process was ended")


@pytest.mark.quick("HANG-*")
@needs_compiler
@pytest.mark.parametrize(
    ("defect", "when", "samples"),
    [
        ("HANG", "in the step from t = 0.03 s by 0.01 s: it did not answer within 1 s while stepping", 4),
        ("HANG_AT_START", "while initialising at t = 0 s: it did not answer within 1 s while instantiating", 0),
    ],
)
def test_a_partner_that_hangs(broken, plugins, defect, when, samples):
    text, history = stopped(pushed(broken(defect), timeout=1.0), plugins)
    assert f"component 'spring' failed {when}, and its process was ended" in text
    assert "allow more (timeout)" in text
    assert (0 if history is None else len(history)) == samples


@needs_compiler
def test_time_limits_of_components_and_of_the_run(broken, plugins):
    text, _ = stopped(pushed(broken("HANG"), component={"timeout": 0.5}), plugins)
    assert "did not answer within 0.5 s while stepping" in text
    # A step takes 20 ms, a process some seconds to start on a busy machine.
    text, history = stopped(pushed(broken("SLOW"), t_end=100.0, run_timeout=7.0), plugins)
    assert "the run was given 7 s, and has come to t = " in text or "the time for the whole run was over while stepping" in text
    assert 0 < len(history) <= 7.0 / 0.02 + 1
    with pytest.raises(MechanismError, match="component 'spring': its timeout is -1"):
        Component("spring", fmu="x.fmu", timeout=-1.0)


@pytest.mark.quick("options0-1", "options1-0", "options2-0")
@needs_compiler
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("options", [{}, {"step": 0.005}, {"isolate": False}])
def test_a_master_that_goes_back_takes_discarded_steps_in_shorter_ones(broken, plugins, part, options):
    """The force changes during a step; the FMU holds it at its mean in each part, which changes the motion a little."""
    system = pushed(broken(f"DISCARD={part}"), master="iterated", component=options)
    found = cosimulate(system, plugins=plugins)
    whole = cosimulate(pushed(broken(), master="iterated", component={"isolate": False, "step": 1e-3}), plugins=plugins)
    # The force rises by 0.01 N in a step of 10 ms. Held at its mean over parts of 4 ms instead of 1 ms, it is wrong by at most
    # 2e-3 N for 2 ms at a time: (2e-3 N / 2 kg) (2e-3 s)^2 / 2 = 2e-9 m for each of some 30 parts, of alternating sign.
    np.testing.assert_allclose(found["spring.position"], whole["spring.position"], rtol=0, atol=30 * 2e-9)
    (note,) = found.provenance["warnings"]
    assert note.startswith("'spring' discarded ") and note.endswith("communication steps, which were taken in shorter parts")


@needs_compiler
def test_which_master_can_take_discarded_steps_is_said(broken, plugins):
    text, history = stopped(pushed(broken("DISCARD=1")), plugins)
    assert "fmi2DoStep ended with status 'discard' for the step from t = 0 s by 0.01 s: it got as far as t = 0.004 s" in text
    assert "The master 'iterated' goes back and tries shorter steps; or take a communication step of at most 0.004 s" in text
    assert len(history) == 1
    stuck = broken("DISCARD=0", change={'canGetAndSetFMUstate="true"': ""}, name="stuck")
    text, _ = stopped(pushed(stuck, component={"isolate": False}), plugins)
    assert "It cannot go back to an earlier state, so no master can try shorter steps" in text
    rigid = broken("DISCARD=1", change={'canHandleVariableCommunicationStepSize="true"': ""}, name="rigid")
    text, _ = stopped(pushed(rigid, master="iterated", component={"isolate": False}), plugins)
    assert "It takes steps of one length only" in text


@needs_compiler
@pytest.mark.parametrize("defect", ["DISCARD", "EARLY_RETURN"])
def test_fmi_3_goes_on_with_every_master(tmp_path, plugins, defect):
    systems = [pushed(oscillator3(tmp_path, *defects), component={"isolate": False}) for defects in ([defect], [])]
    found, whole = (cosimulate(system, plugins=plugins) for system in systems)
    # The midpoint rule with 0.83 to 1 ms instead of 1 ms: (w h)^3 / 6 of the amplitude of 0.1 m in each of some 100 steps.
    np.testing.assert_allclose(found["spring.position"], whole["spring.position"], rtol=0, atol=0.1 * 120 * (5e-3) ** 3 / 6)
    notes = ["'spring' discarded 10 communication steps, which were taken in shorter parts"] if defect == "DISCARD" else []
    assert list(found.provenance["warnings"]) == notes


@needs_compiler
@pytest.mark.parametrize("damage", ["truncated", "aborting", "as it is"])
def test_an_fmu_that_only_says_it_is_ours_cannot_take_the_master_with_it(broken, masses, plugins, tmp_path, damage):
    """It has the annotation of one of ours, or is one of ours that lost the end of its binary."""
    if damage == "truncated":
        path = tmp_path / "cut.fmu"
        with zipfile.ZipFile(masses(2)["a"]) as source, zipfile.ZipFile(path, "w") as archive:
            for name in source.namelist():
                content = source.read(name)
                archive.writestr(name, content[: 2 * len(content) // 3] if name.startswith("binaries/") else content)
        system = System("one", (Component("a", fmu=path),), t_end=0.1)
        text, _ = stopped(system, plugins)
        assert "component 'a' failed while initialising at t = 0 s: " in text
        return
    annotated = {"extra": {"resources/kingpost.json": '{"model": {"name": "crane"}}'}, "name": "claims"}
    system = pushed(broken("ABORT_AT_EXIT" if damage == "aborting" else "CRASH_LATER", **annotated))
    plan = prepare_cosimulation(system, plugins)
    assert plan.components["spring"].facts["isolated"]
    if damage == "aborting":
        assert len(plan.run()) == 11
    else:
        assert "its process was killed by SIGSEGV" in stopped(system, plugins)[0]


def test_an_fmu_that_was_exported_here_runs_in_this_process(masses, plugins, tmp_path, monkeypatch):
    def isolated(path, **options):
        plan = prepare_cosimulation(System("s", (Component("a", fmu=path, **options),)), plugins)
        return plan.components["a"].facts["isolated"]

    ours = masses(2)["a"]
    assert not isolated(ours)
    assert isolated(ours, isolate=True)
    changed = tmp_path / "changed.fmu"
    with zipfile.ZipFile(ours) as source, zipfile.ZipFile(changed, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    assert isolated(changed)  # the same content in other bytes: nobody looks that closely
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "elsewhere"))  # as on another machine
    assert isolated(ours)
    assert not isolated(ours, isolate=False)


@pytest.mark.quick("15")
@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_master_that_is_ended_leaves_nothing_running(broken, tmp_path, number):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "system.toml").write_text(f'[run]\nt_end = 100\n[components.spring]\nfmu = "{broken("HANG")}"\n')
    words = [sys.executable, "-m", "kingpost", "cosim", "system.toml", "--out", "o", "--write", "csv"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60

    def busy():
        """Say whether the FMU has come to where it hangs: it has used half a second since it was unpacked."""
        found = children.read_text().split()
        return found and list((tmp_path / "temporary").glob("*/fmu")) and _processor_time(found[0]) > 2.0

    while not busy() and time.monotonic() < deadline:
        time.sleep(0.05)
    (child,) = children.read_text().split()
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
    if number == signal.SIGTERM:
        assert process.returncode == 143 and list((tmp_path / "temporary").iterdir()) == []
        assert "interrupted at t = 0.03 s (by SIGTERM)" in said
        assert len(read_history(tmp_path / "o" / "interrupted-history.csv")) == 4


def _processor_time(pid):
    """Return the seconds that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
