"""The same system of FMUs, of models in this process, in other processes, and in libcosim."""

import gc
from pathlib import Path

import numpy as np
import pytest

from kingpost import Input, simulate
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, prepare_cosimulation
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.running import Between
from tests.fmu.building import needs_compiler, oscillator, oscillator3
from tests.fmu.cosim.coupled import CONNECTIONS, in_process, left
from tests.fmu.export.masters import in_master
from tests.fmu.hosting import reference
from tests.fmu.machines import rig

PLACES = ["a.position", "b.position", "b.force"]


@pytest.mark.quick("jacobi", "iterated")
@pytest.mark.parametrize(
    "master", ["jacobi", "gauss-seidel", "iterated:ramp=false", "iterated", "jacobi:extrapolation=1", "jacobi:extrapolation=2"]
)
def test_fmus_give_the_numbers_of_the_models_in_process(master, as_fmus, plugins):
    expected = cosimulate(in_process(step=0.02, master=master, t_end=1.0), plugins=plugins)
    # Where inputs change during a step, FMI 2 takes their derivatives, and FMI 3 asks for them in between.
    for fmi in (2, 3):
        found = cosimulate(as_fmus(fmi=fmi, step=0.02, master=master, t_end=1.0), plugins=plugins)
        np.testing.assert_allclose(found.select(PLACES), expected.select(PLACES), rtol=0, atol=1e-9)
        assert found.unit("b.force") == "N"


def test_inputs_that_cannot_be_followed_hold_at_their_means(as_fmus, plugins, monkeypatch):
    """Order 2 as well: a mean is wrong only in the third power of the step."""
    options = {"fmi": 3, "isolate": False, "step": 0.01, "t_end": 1.0}
    follow = cosimulate(as_fmus(master="jacobi:extrapolation=1", **options), plugins=plugins)
    monkeypatch.setattr(FmuComponent, "asks_for", lambda self, labels: False)
    hold = cosimulate(as_fmus(master="jacobi:extrapolation=1", **options), plugins=plugins)
    plain = cosimulate(as_fmus(**options), plugins=plugins)
    difference = np.abs(follow["a.position"] - hold["a.position"]).max()
    assert 0 < difference < 0.05 * np.abs(follow["a.position"] - plain["a.position"]).max()


def test_an_fmu_that_says_it_asks_for_inputs_and_never_does_gets_means(as_fmus, plugins, monkeypatch):
    """From its second step on: what it does not ask for in the first shows that it never will."""
    options = {"fmi": 3, "isolate": False, "step": 0.01, "t_end": 0.5, "master": "jacobi:extrapolation=1"}
    follow = cosimulate(as_fmus(**options), plugins=plugins)
    monkeypatch.setattr(Between, "__call__", lambda self, *told: None)
    silent = cosimulate(as_fmus(**options), plugins=plugins)
    monkeypatch.setattr(FmuComponent, "asks_for", lambda self, labels: False)
    means = cosimulate(as_fmus(**options), plugins=plugins)
    # The first step holds in any case, since there are no samples before it; rounding of the parabolas that it makes is left.
    np.testing.assert_allclose(silent.values, means.values, rtol=0, atol=1e-12)
    assert np.abs(silent["a.position"] - follow["a.position"]).max() > 1e-9


@pytest.mark.quick("2-bdf2", "3-rk4")
@pytest.mark.parametrize("integrator", ["rk4", "bdf2"])
@pytest.mark.parametrize("fmi", [2, 3])
def test_inputs_on_parabolas_act_alike_in_process_and_in_an_fmu(fmi, integrator, native, plugins):
    """A pendulum that an oscillator pushes, with a tenth of its turn in each communication step, to 1e-9."""
    push = Block(
        "push", (), (Channel("y", "N.m"),), (State("x", "N.m", 50.0), State("v", "N.m/s")),
        rates=lambda s: [s["v"], -1000.0 * s["x"]], values=lambda s: [s["x"]],
    )  # fmt: skip
    found = {}
    for kind, pendulum in (
        ("fmu", {"fmu": native(rig(), fmi=fmi, integrator=integrator)}),
        ("model", {"model": rig(), "step": 0.001, "integrator": integrator}),
    ):
        components = (Component("push", model=push, step=0.0001), Component("rig", **pendulum))
        wires = (Connection("push.y", "rig.torque"),)
        system = System(kind, components, wires, t_end=0.4, step=0.02, master="jacobi:extrapolation=2")
        found[kind] = cosimulate(system, plugins=plugins)
    assert np.ptp(found["fmu"]["rig.pivot.angle"]) > 0.01
    for name in ("rig.pivot.angle", "rig.tip.z", "rig.energy.total"):
        scale = max(1.0, np.abs(found["model"][name]).max())
        np.testing.assert_allclose(found["fmu"][name], found["model"][name], rtol=0, atol=1e-9 * scale, err_msg=name)


def test_processes_of_their_own_change_no_bit_and_leave_nothing_behind(as_fmus, plugins, tmp_path, monkeypatch):
    """With 'iterated', which also goes back."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    handles = Path("/proc/self/fd")
    before = len(list(handles.iterdir())) if handles.is_dir() else 0
    system = as_fmus(isolate=True, step=0.02, t_end=0.2, master="iterated")
    apart = cosimulate(system, plugins=plugins)
    here = cosimulate(as_fmus(isolate=False, step=0.02, t_end=0.2, master="iterated"), plugins=plugins)
    np.testing.assert_array_equal(apart.values, here.values)
    assert apart.provenance["system"]["components"]["a"]["isolated"]
    assert list(tmp_path.iterdir()) == []
    gc.collect()  # what holds others that hold it
    assert not before or len(list(handles.iterdir())) <= before


def test_libcosim_comes_to_the_same_numbers(as_fmus, masses, plugins):
    """Jacobi is libcosim's fixed-step algorithm: values pass after each step, and once for each model at the start."""
    step = 0.01
    paths = masses(2)
    places = {name: reference(path) for name, path in paths.items()}
    task = {
        "step": step,
        "stop": 2.0,
        "models": {
            "a": {"path": str(paths["a"]), "read": [places["a"]["position"]], "start": [(places["a"]["v"], 0.5)]},
            "b": {"path": str(paths["b"]), "read": [places["b"][name] for name in ("position", "force")]},
        },
        "connections": [
            ["a", places["a"]["position"], "b", places["b"]["other"]],
            ["b", places["b"]["force"], "a", places["a"]["force"]],
        ],
    }
    other = in_master("libcosim", "libcosimpy.CosimExecution", task)
    system = as_fmus(step=step)
    system = system.with_changes(components=(Component("a", fmu=paths["a"], settings={"v": 0.5}), system.components[1]))
    found = cosimulate(system, plugins=plugins)
    # The force is an output that follows its input at once: it tells when libcosim passes values.
    assert found.select(PLACES)[-1] == pytest.approx([*other["a"], *other["b"]], rel=1e-9)


def test_a_model_alone_moves_as_it_does_in_a_run(plugins):
    machine = rig()
    system = System("alone", (Component("rig", model=machine, settings={"torque": 0.5, "mass": 3.0}),), t_end=0.5)
    found = cosimulate(system, plugins=plugins)
    expected = simulate(machine, 0.5, settings={"torque": 0.5, "mass": 3.0}, output_step=0.01, plugins=plugins)
    np.testing.assert_allclose(found["rig.pivot.angle"], expected["pivot.angle"], rtol=1e-12)
    np.testing.assert_allclose(found["rig.energy.total"], expected["energy.total"], rtol=1e-12)


def test_a_machine_in_process_is_its_fmu(native, plugins):
    """A pendulum that a block pushes, 0.01 s at a time: every output of the FMU, and to 1e-9."""
    push = Block(
        "push", (), (Channel("y", "N.m"),), (State("x", "N.m"),), rates=lambda s: [5.0 + 0 * s["x"]], values=lambda s: [s["x"]]
    )
    found = {}
    for kind, pendulum in (("fmu", {"fmu": native(rig())}), ("model", {"model": rig(), "step": 0.001})):
        components = (
            Component("push", model=push),
            Component("rig", settings={"mass": 3.0, "pivot.angle.rate": 0.3}, **pendulum),
        )
        system = System(kind, components, (Connection("push.y", "rig.torque"),), t_end=1.0, master="gauss-seidel")
        found[kind] = cosimulate(system, plugins=plugins)
    names = found["fmu"].names
    assert {"rig.pivot.angle", "rig.tip.z", "rig.energy.total"} <= set(names)
    for name in names:
        scale = max(1.0, np.abs(found["model"][name]).max())
        np.testing.assert_allclose(found["fmu"][name], found["model"][name], rtol=0, atol=1e-9 * scale, err_msg=name)


def test_a_model_beside_the_fmu_of_another(masses, plugins):
    """Any mixture of FMUs and models is the same system."""
    expected = cosimulate(in_process(step=0.02, t_end=0.4), plugins=plugins)
    components = (Component("a", model=left()), Component("b", fmu=masses(3)["b"]))
    found = cosimulate(System("mixed", components, CONNECTIONS, step=0.02, t_end=0.4), plugins=plugins)
    np.testing.assert_allclose(found.select(PLACES), expected.select(PLACES), atol=1e-12)


def test_steps_of_a_models_own_and_samples(plugins):
    history = cosimulate(in_process(step=0.01, output_step=0.1, t_end=1.0, record=("a.*",)), plugins=plugins)
    assert len(history) == 11
    assert history.names == ("a.force", "a.x", "a.v", "a.position", "a.velocity")
    every = cosimulate(in_process(step=0.01, t_end=1.0), plugins=plugins)
    np.testing.assert_array_equal(history["a.position"], every["a.position"][::10])


@needs_compiler
def test_strangers_run_apart_and_their_types_are_understood(tmp_path, plugins):
    """Booleans, integers, arrays of FMI 3, and steps of an FMU's own."""
    switch = Block("switch", (), (Channel("push", "N"),), (State("x", "1"),), rates=lambda s: [1.0], values=lambda s: [s["x"]])
    two, three = oscillator(tmp_path), oscillator3(tmp_path)
    system = System(
        "mixed",
        (
            Component("switch", model=switch),
            Component("two", fmu=two, isolate=False, settings={"locked": False}),
            Component("three", fmu=three, isolate=False),
            Component("fine", fmu=two, isolate=False, step=0.005),
        ),
        (
            Connection("switch.push", "two.force"),
            Connection("switch.push", "three.force"),
            Connection("switch.push", "fine.force"),
        ),
        t_end=0.2,
        record=("*.position", "three.both*", "two.order", "two.locked"),
    )
    plan = prepare_cosimulation(
        system.with_changes(components=(Component("s", fmu=two),), connections=(), record=None), plugins
    )
    assert plan.components["s"].facts["isolated"]
    history = cosimulate(system, plugins=plugins)
    assert history["two.order"][-1] == 4
    assert history["two.locked"][-1] == 0
    np.testing.assert_allclose(history["two.position"], history["three.position"], atol=1e-5)  # they integrate differently
    np.testing.assert_array_equal(history["three.both[1]"], history["three.position"])
    assert np.abs(history["fine.position"] - history["two.position"]).max() < 1e-6


def test_models_that_cannot_be_components_are_refused(plugins):
    with pytest.raises(CosimError, match="integrator 'dop853' chooses its own steps"):
        cosimulate(System("s", (Component("rig", model=rig(), integrator="dop853"),)), plugins=plugins)
    with pytest.raises(
        CosimError, match="component 'rig': 'rig' has nothing called 'masss' that could be set; did you mean 'mass'"
    ):
        cosimulate(System("s", (Component("rig", model=rig(), settings={"masss": 1.0}),)), plugins=plugins)
    block = Block("b", (Input("u", "1"),), (Channel("y", "1"),), values=lambda s: [s["u"]])
    with pytest.raises(CosimError, match="'b' has nothing called 'w'"):
        cosimulate(System("s", (Component("b", model=block, settings={"w": 1.0}),)), plugins=plugins)
