"""Coupled systems in live sessions: models and FMUs, masters that remember, components that cannot go back."""

import numpy as np
import pytest

from kingpost.base.errors import SolverError
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate
from kingpost.fmu.live import LiveError, LiveSession, LiveStoppedError
from kingpost.fmu.live.system import ready_system
from tests.fmu.building import needs_compiler, oscillator, oscillator3
from tests.fmu.cosim.coupled import in_process, inertia_split, quarter_car
from tests.fmu.machines import rig

MASTERS = ["jacobi", "jacobi:extrapolation=2", "gauss-seidel", "gauss-seidel:extrapolation=1", "iterated"]


def begun(system, plugins, frame=0.02, most=None, **options):
    return LiveSession(ready_system(system, plugins, frame, **options), most_states=most)


def played(session, frames, actions=None):
    rows = []
    for _ in range(frames):
        if actions and session.frame in actions:
            session.set(actions[session.frame])
        session.advance()
        rows.append(session.row)
    return np.array(rows)


def check_going_back(session, actions, frames=60):
    """Going back anywhere and playing on repeats all of it."""
    first = played(session, frames, actions)
    for frame in (0, frames // 3, frames // 2 + 1, 3):
        session.go(session.time_of(frame))
        assert session.frame == frame
        if frame:
            np.testing.assert_array_equal(session.row, first[frame - 1])
        np.testing.assert_array_equal(played(session, frames - frame), first[frame:])
    return first


@pytest.mark.parametrize("master", MASTERS)
def test_without_changes_it_gives_the_bits_of_a_run(plugins, master):
    session = begun(in_process(master=master), plugins)
    rows = played(session, 20)
    run = cosimulate(in_process(master=master, t_end=0.4, output_step=0.02), plugins=plugins)
    np.testing.assert_array_equal(rows, run.values[1:])
    assert [channel.name for channel in session.subject.channels] == list(run.names)
    assert session.t == run.time[-1]


@pytest.mark.quick("5-*")
@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("most", [5, None])
def test_systems_of_models_go_back_with_every_master(plugins, master, most):
    actions = {7: {"b.speed": 1.0}, 31: {"b.speed": -2.0}}
    check_going_back(begun(in_process(master=master), plugins, most=most), actions)


def test_a_master_that_chooses_steps_goes_back_too(plugins):
    system = quarter_car(master="ecco")
    system = system.with_changes(
        bonds=[*system.bonds, *_bond()],
    )
    session = begun(system, plugins)
    first = played(session, 30)
    times = [session.time_of(frame) for frame in range(31)]
    assert len({round(step, 9) for step in np.diff(times)}) > 1
    session.go(times[11])
    assert session.t == times[11]
    np.testing.assert_array_equal(played(session, 19), first[11:])


def _bond():
    from kingpost.fmu.cosim import PowerBond

    return [PowerBond("tyre", "chassis.force", "wheel.speed")]


def swinging(**options):
    """Two pendulums, of which the tip of one pulls at the other."""
    components = (Component("one", model=rig(), step=0.005), Component("two", model=rig(), step=0.005))
    return System("swing", components, (Connection("one.tip.x", "two.torque", factor=0.5),), **{"step": 0.01, **options})


def test_open_inputs_and_parameters_are_controls_and_connected_inputs_are_not(plugins):
    session = begun(swinging(), plugins)
    controls = session.subject.controls
    assert "one.torque" in controls.items
    assert controls.items["one.length"].minimum == 0.1
    assert controls.items["one.mass"].kind == "parameter"
    with pytest.raises(LiveError, match=r"'two.torque' cannot be changed while system 'swing' runs: 'one.tip.x' feeds it"):
        session.set({"two.torque": 1.0})
    with pytest.raises(LiveError, match=r"nothing called 'one.torqe' .*did you mean 'one.torque'"):
        session.set({"one.torqe": 1.0})


@pytest.mark.parametrize("integrator", ["rk4", "generalized-alpha"])
def test_parameters_of_models_change_and_go_back(plugins, integrator):
    system = swinging()
    components = tuple(Component(part.name, model=rig(), step=0.005, integrator=integrator) for part in system.components)
    session = begun(system.with_changes(components=components), plugins, most=8)
    actions = {5: {"one.mass": 4.0, "one.torque": 1.0}, 25: {"two.gravity": 1.0}, 40: {"one.mass": 2.0}}
    changed = check_going_back(session, actions)
    plain = played(begun(system.with_changes(components=components), plugins), 60)
    np.testing.assert_array_equal(changed[:5], plain[:5])
    assert not np.allclose(changed[-1], plain[-1], rtol=1e-3)


def test_a_refused_parameter_changes_nothing_in_other_components(plugins):
    session = begun(swinging(), plugins)
    session.advance(5)
    with pytest.raises(LiveError, match="component 'two': body 'bob': mass is -1 kg"):
        session.set({"one.torque": 5.0, "two.mass": -1.0})
    plain = begun(swinging(), plugins)
    plain.advance(5)
    np.testing.assert_array_equal(played(session, 10), played(plain, 10))


@pytest.mark.quick("True-2", "False-3")
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("isolate", [False, True])
def test_fmus_go_back_alone_and_in_processes_of_their_own(as_fmus, plugins, fmi, isolate):
    session = begun(as_fmus(fmi=fmi, isolate=isolate, step=0.01), plugins, most=6)
    try:
        check_going_back(session, {9: {"b.speed": 1.0}}, frames=24)
    finally:
        session.close()


@pytest.mark.parametrize("isolate", [False, True])
def test_tunable_parameters_and_open_inputs_of_fmus_change(native, plugins, isolate):
    path = native(rig(), step=0.005)
    system = System("one", (Component("fmu", fmu=path, isolate=isolate),), step=0.01)
    session = begun(system, plugins, most=6)
    model = begun(System("one", (Component("fmu", model=rig(), step=0.005),), step=0.01, record=system.record), plugins)
    try:
        actions = {4: {"fmu.torque": 1.5}, 12: {"fmu.mass": 5.0}}
        found = check_going_back(session, actions, frames=24)
        names = [channel.name for channel in session.subject.channels]
        own = [channel.name for channel in model.subject.channels]
        place = names.index("fmu.pivot.angle")
        np.testing.assert_allclose(found[:, place], played(model, 24, actions)[:, own.index("fmu.pivot.angle")], atol=1e-12)
    finally:
        session.close()
        model.close()


@needs_compiler
def test_an_fmu_that_cannot_save_its_state_is_named_and_the_session_goes_on(folder, plugins):
    told = {'canGetAndSetFMUstate="true" canSerializeFMUstate="true" ': ""}
    path = oscillator(folder, change=told, name="forgetful")
    system = System("mixed", (Component("old", fmu=path, isolate=True), Component("new", model=rig(), step=0.005)), step=0.01)
    session = begun(system, plugins)
    try:
        session.advance(5)
        session.set({"new.torque": 1.0})
        with pytest.raises(LiveError, match="it cannot go back: 'old' cannot save its state"):
            session.go(0.02)
        session.advance(5)
        assert session.values["new.torque"] == 1.0
    finally:
        session.close()


@pytest.mark.slow
@needs_compiler
def test_a_model_exchange_fmu_goes_back(folder, plugins):
    from tests.fmu.building import MODEL_EXCHANGE

    path = oscillator(folder, interfaces=(MODEL_EXCHANGE,), name="me")
    session = begun(System("one", (Component("me", fmu=path, isolate=False),), step=0.01), plugins, most=5)
    try:
        first = played(session, 20)
        session.go(0.1)
        # CVode begins anew there: the same path, though not the same steps.
        np.testing.assert_allclose(played(session, 15), first[5:], rtol=1e-4, atol=1e-6)
    finally:
        session.close()


def test_a_component_that_steps_less_often_cannot_go_back(as_fmus, plugins):
    system = as_fmus(step=0.01)
    slow = tuple(Component(part.name, fmu=part.fmu, step=0.03 if part.name == "b" else None) for part in system.components)
    session = begun(system.with_changes(components=slow), plugins, frame=0.01)
    try:
        session.advance(2)
        session.set({"b.speed": 1.0})
        session.advance(10)
        with pytest.raises(LiveError, match="'b' cannot save its state"):
            session.go(0.0)
    finally:
        session.close()


def test_a_master_of_somebody_that_does_not_say_what_it_remembers(plugins):
    from kingpost.fmu.cosim.masters.jacobi import Jacobi

    class Plain(Jacobi):
        name = "plain"

        def begin(self, coupling):
            return super().begin(coupling).step

    session = begun(in_process(master=Plain()), plugins)
    session.advance(3)
    with pytest.raises(LiveError, match="master 'plain' does not say what it remembers between steps"):
        session.go(0.0)
    session.advance(3)


def test_a_coupling_that_diverges_stops_with_the_words_of_a_run_and_can_go_back(plugins):
    session = begun(inertia_split(3.0), plugins)
    with pytest.raises(LiveStoppedError, match="system 'inertia': the coupling diverges: .* has grown") as stopped:
        session.advance(500)
    with pytest.raises(SolverError) as run:
        cosimulate(inertia_split(3.0, t_end=10.0), plugins=plugins)
    assert str(run.value) == str(stopped.value)
    t = session.t
    session.go(0.0)
    with pytest.raises(LiveStoppedError, match="diverges"):
        session.advance(500)
    assert session.t == t


def test_a_crash_of_an_isolated_fmu_ends_the_session_with_its_reason(as_fmus, plugins):
    import os
    import signal

    session = begun(as_fmus(isolate=True, step=0.01), plugins)
    try:
        session.advance(3)
        os.kill(session.subject._motion.running["b"].process_id, signal.SIGKILL)
        with pytest.raises(LiveStoppedError, match="component 'b' failed"):
            session.advance(3)
        with pytest.raises(LiveStoppedError, match="begin a new session"):
            session.go(0.0)
    finally:
        session.close()


def test_an_unfit_system_is_refused_at_the_start(plugins):
    with pytest.raises(CosimError):
        begun(System("x", (Component("a", model="no-such-model"),)), plugins)


@pytest.mark.slow
@needs_compiler
def test_an_fmi3_oscillator_of_others(folder, plugins):
    session = begun(System("o", (Component("o", fmu=oscillator3(folder), isolate=True),), step=0.01), plugins, most=4)
    try:
        if not session.subject.obstacle:
            check_going_back(session, {}, frames=12)
    finally:
        session.close()
