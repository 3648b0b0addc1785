"""Partners that crash, fail, are killed, or give numbers that are not finite: who, when, and what is kept."""

import os
import signal

import casadi as ca
import numpy as np
import pytest

from kingpost import FileError, SolverError
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, prepare_cosimulation
from kingpost.fmu.cosim.components.isolated import IsolatedFmu
from tests.fmu.building import first_order, needs_compiler


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
