"""Steps in machine code: the same bits as in Python, whatever is connected, and the same words where they fail."""

from __future__ import annotations

import math
import os
import signal
import threading
import time

import casadi as ca
import numpy as np
import pytest

from kingpost import Input, SolverError
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, PowerBond, System, compiled, cosimulate
from kingpost.fmu.cosim.components.operations import TYPES, Operation, pack, unpack
from tests.fmu.building import MODEL_EXCHANGE, first_order, needs_compiler, oscillator, oscillator1, oscillator3
from tests.fmu.cosim.coupled import in_process, left, quarter_car, right
from tests.fmu.cosim.wiring.pairs import gain, pair
from tests.fmu.machines import rig

pytestmark = needs_compiler
HERE = {"isolate": False}
TWO = ("jacobi", "gauss-seidel")


@pytest.fixture
def both(plugins, monkeypatch):
    """Run a system by the loop in Python and by that in machine code."""

    def run(system, attempt=lambda run: run()):
        found = []
        for worth in (10**9, 1):
            monkeypatch.setattr(compiled, "WORTH_COMPILING", worth)
            found.append(attempt(lambda: cosimulate(system, plugins=plugins)))
        return found

    return run


@pytest.fixture
def same(both):
    """Check that both loops come to the same bits; return the history of the one in machine code."""

    def check(system):
        slow, fast = both(system)
        assert slow.provenance["statistics"]["loop"] == "Python, because there are fewer than 1000000000 steps"
        assert fast.provenance["statistics"]["loop"] == "machine code"
        assert fast.provenance["statistics"]["steps"] == slow.provenance["statistics"]["steps"]
        assert fast.provenance["warnings"] == slow.provenance["warnings"]
        assert fast.names == slow.names
        np.testing.assert_array_equal(fast.time, slow.time)
        np.testing.assert_array_equal(fast.values, slow.values)
        assert np.ptp(fast.values, axis=0).any()
        return fast

    return check


@pytest.fixture
def same_end(both):
    """Check that both loops fail with the same words after the same samples; return the words."""

    def check(system):
        def ended(run):
            with pytest.raises(SolverError) as error:
                run()
            return error.value

        slow, fast = both(system, ended)
        assert fast.history.provenance["statistics"]["loop"] == "machine code"
        assert str(fast) == str(slow)
        np.testing.assert_array_equal(fast.history.time, slow.history.time)
        np.testing.assert_array_equal(fast.history.values, slow.history.values)
        return str(fast)

    return check


def wave(name="wave", unit="N", amplitude=1.0):
    """A block without inputs that swings."""
    return Block(
        name, (), (Channel("y", unit), Channel("rate", "1")), (State("x", unit, amplitude), State("v", "1")),
        rates=lambda s: [s["v"], -400.0 * s["x"]], values=lambda s: [s["x"], s["v"]],
    )  # fmt: skip


def pushed(path, **options):
    """An FMU that a swinging force pushes."""
    settings = {"step": 0.01, "t_end": 0.4, "record": ("*",), **options}
    components = (Component("wave", model=wave()), Component("spring", fmu=path, **{**HERE, **settings.pop("component", {})}))
    return System("pair", components, (Connection("wave.y", "spring.force", factor=1.0),), **settings)


@pytest.mark.parametrize("master", TWO)
@pytest.mark.parametrize(
    "options",
    [{}, {"record": ("*",)}, {"output_step": 0.05}, {"t_start": 0.5, "t_end": 3.0}, {"step": 0.0125}],
)
def test_models_in_process(master, options, same):
    """All that is recorded, samples of several steps, another start, and steps that do not fit a model's own."""
    same(in_process(master=master, **{"t_end": 1.0, **options}))


def test_a_start_between_the_models_own_steps(both):
    """Steps of 10 ms that begin at 0.3 ms are no multiples of a step of 1 ms; of a step of 0.1 ms they are."""
    slow, fast = both(in_process(t_start=0.0003, t_end=0.2003))
    assert "'a': t = 0.0103 s is no multiple of its own step of 0.001 s" in fast.provenance["statistics"]["loop"]
    np.testing.assert_array_equal(fast.values, slow.values)


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("master", TWO)
def test_native_fmus(fmi, master, as_fmus, same):
    same(as_fmus(fmi=fmi, isolate=False, master=master, record=("*",)))


@pytest.mark.parametrize("master", TWO)
def test_a_model_beside_the_fmu_of_another(master, masses, same):
    for components in (
        (Component("a", model=left()), Component("b", fmu=masses(3)["b"], **HERE)),
        (Component("a", fmu=masses(2)["a"], **HERE), Component("b", model=right())),
    ):
        same(in_process(master=master).with_changes(components=components))


@pytest.mark.parametrize("integrator", ["rk4", "bdf2", "generalized-alpha"])
def test_machines_whose_integrators_remember(integrator, same):
    """One of two inputs is fed, in a place of its own among them; inputs and parameters are recorded, too."""
    push = Component("push", model=wave(unit="N.m"), step=0.001)
    machine = Component("rig", model=rig(), step=0.002, integrator=integrator, settings={"mass": 3.0})
    links = (Connection("push.y", "rig.torque"),)
    found = same(System("rig", (machine, push), links, step=0.01, t_end=0.5, record=("*",), master="gauss-seidel"))
    assert {"rig.torque", "rig.mass"} <= set(found.names)
    np.testing.assert_array_equal(found["rig.mass"], 3.0)


@pytest.mark.parametrize("master", TWO)
def test_factors_offsets_units_and_sums(master, same):
    links = (
        Connection("wave.y", "two.u1", factor=-3.0, offset=0.1, add=True),
        Connection("wave.rate", "two.u1", factor=0.3, add=True),
        Connection("two.y2", "two.u2", factor=0.99, offset=0.25),
        Connection("wave.y", "cold.u1", convert=True),
        Connection("wave.y", "two.u3", hold=True),
    )
    components = (
        Component("wave", model=wave(unit="degC")), Component("two", model=gain("two", "degC", factor=1 / 3, count=4)),
        Component("cold", model=gain("cold", "K", factor=0.7)),
    )  # fmt: skip
    found = same(System("units", components, links, t_end=0.5, master=master))
    assert found["cold.y1"][5] == pytest.approx(0.7 * (found["wave.y"][4 if master == "jacobi" else 5] + 273.15), rel=1e-14)


def test_a_minus_zero_stays_what_it_is(same):
    """Numbers that pass as they are keep their sign; those that are multiplied get an offset of plus zero."""
    falling = Block("falling", (), (Channel("y", "1"),), (State("x", "1", 1.0), State("z", "1")),
                    rates=lambda s: [-s["x"], -s["z"]], values=lambda s: [-s["x"] * s["z"]])  # fmt: skip
    for factor in (1.0, 2.0):
        components = (Component("falling", model=falling), Component("gain", model=gain("gain")))
        system = System("zero", components, (Connection("falling.y", "gain.u1", factor=factor),), t_end=1.0, record=("*",))
        found = same(system)
        assert np.signbit(found["gain.y1"][-1]) == (factor == 1.0)


@pytest.mark.parametrize("master", TWO)
def test_power_through_bonds(master, same):
    bonds = (PowerBond("tyre", "chassis.force", "wheel.speed"),)
    found = same(quarter_car(master=master, bonds=bonds))
    assert {"bonds.tyre.power", "bonds.tyre.residual"} <= set(found.names)


@pytest.mark.parametrize("master", TWO)
def test_whole_numbers_truth_values_and_tables(master, relays, same):
    """An integer goes in circles by a table, a truth value to and fro by another, and an integer becomes a real number."""
    parts = tuple(Component(name, fmu=relays(), settings={"n": 2}, **HERE) for name in "ab")
    circle = tuple((k, (2 * k + 1) % 5) for k in range(5))  # 2 0 1 3 2 ...
    links = (
        Connection("a.n_out", "b.n", table=circle), Connection("b.n_out", "a.n"), Connection("b.n_out", "a.u", factor=0.5),
        Connection("a.b_out", "b.b", table=((0, 1), (1, 0))), Connection("b.b_out", "a.b"),
        Connection("a.y", "b.u", factor=1.0),
    )  # fmt: skip
    found = same(System("s", parts, links, step=0.01, t_end=0.5, record=("*",), master=master))
    assert set(found["b.n_out"]) == {0, 1, 2, 3}
    assert set(found["b.b_out"]) == {0, 1}


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_every_type_are_what_numpy_makes_of_them(name):
    """Forth and back through machine code and through NumPy, every other number."""
    given = np.array([0.0, 1.0, 3.7, 100.9, 1e-3, 7.0]) * (1 if name.startswith(("u", "b")) else -1)
    places, order = np.array([4, 0, 2]), np.array([1, 2, 0])
    row, expected = np.zeros(3, dtype=name), np.zeros(3, dtype=name)
    expected[order] = given[places]
    back, wanted = np.full(6, 9.0), np.full(6, 9.0)
    wanted[places] = expected[order]
    operations = [pack(given, places, row, order), unpack(row, order, back, places)]
    carry_out(operations)
    np.testing.assert_array_equal(row, expected)
    np.testing.assert_array_equal(back, wanted)


def carry_out(operations):
    """Do operations once, in a step of nothing else."""
    from kingpost.fmu.cosim.watch import Watch

    watches = [Watch([], np.empty(0), 0.0).in_machine_code() for _ in range(2)]
    array = (Operation * len(operations))(*operations)
    nothing = np.zeros(1)
    job = compiled._Job(
        step=compiled.ctypes.addressof(array), steps=len(operations), h=1.0, limit=1.0, most=1, per_sample=2,
        watch=compiled.ctypes.addressof(watches[0]), beside=compiled.ctypes.addressof(watches[1]), inputs=nothing.ctypes.data,
    )  # fmt: skip
    assert compiled._library().kp_steps(compiled.ctypes.byref(job)) == compiled.End.GOES_ON
    assert job.done == 1


def test_fmus_of_every_version_and_steps_of_their_own(tmp_path, same):
    """Of FMI 1.0 all but aliases with the sign reversed."""
    one = ("spring.position", "spring.velocity", "spring.force", "spring.steps", "spring.locked")
    for path, record in ((oscillator1(tmp_path), one), (oscillator(tmp_path), ("*",)), (oscillator3(tmp_path), ("*",))):
        for own in ({}, {"step": 0.003}):
            same(pushed(path, component=own, record=record))


def test_fmus_with_python_inside(tmp_path, same):
    same(pushed_first_order(first_order(tmp_path, "lagging", "self.y += step_size * (self.u - self.y)")))


def pushed_first_order(path):
    components = (Component("wave", model=wave(unit="1")), Component("slave", fmu=path, **HERE))
    return System("slave", components, (Connection("wave.y", "slave.u"),), step=0.01, t_end=0.3)


@pytest.mark.parametrize("defect", ["DISCARD", "EARLY_RETURN"])
@pytest.mark.parametrize("master", TWO)
def test_steps_that_are_discarded_or_return_early(tmp_path, defect, master, same):
    """The spring stands before a component that steps after it, and behind one that stepped before."""
    path = oscillator3(tmp_path, defect)
    system = pushed(path, master=master)
    third = Component("gain", model=gain("gain", "m"))
    links = (*system.connections, Connection("spring.position", "gain.u1"))
    found = same(system.with_changes(components=(*system.components, third), connections=links))
    assert bool(found.provenance["warnings"]) == (defect == "DISCARD")


def test_what_fails_says_the_same(tmp_path, same_end):
    text = same_end(pushed(oscillator(tmp_path, "FAIL_LATER")))
    assert "component 'spring' failed in the step from t = 0.03 s by 0.01 s: fmi2DoStep ended with status 'error'" in text
    assert text.endswith("[error] the spring broke")
    nan = pushed(oscillator(tmp_path, "NAN_LATER"))
    assert "'spring.position' is nan at t = 0.04 s, though the component reports success" in same_end(nan)
    watcher = Component("other", fmu=oscillator(tmp_path), **HERE)
    link = Connection("spring.velocity", "other.force", factor=1.0)
    connected = nan.with_changes(components=(*nan.components, watcher), connections=(*nan.connections, link))
    assert "'spring.velocity' is nan at t = 0.04 s" in same_end(connected)


def test_a_model_that_fails_says_the_same(same_end):
    clock = Block("clock", (), (Channel("time", "s"), Channel("y", "1")), (State("x", "s"),), rates=lambda s: [1.0],
                  values=lambda s: [s["x"], ca.if_else(s["x"] > 0.055, ca.sqrt(-s["x"]), s["x"])])  # fmt: skip
    for step, begin in ((0.01, "0.05"), (0.0125, "0.05")):
        system = System("one", (Component("clock", model=clock, step=0.001 if step == 0.01 else 0.003),), step=step, t_end=0.1)
        text = same_end(system)
        assert f"component 'clock' failed in the step from t = {begin} s by {step} s: output 'y' is not finite" in text


@pytest.mark.parametrize("step", [0.01, 0.05])
def test_a_coupling_that_diverges_is_seen_at_the_same_step(step, same_end):
    """A mass of 2 kg rides on one of 1 kg: with 'jacobi' the acceleration grows twofold from step to step."""
    carrier = Block(
        "carrier", (Input("force", "N"),), (Channel("acceleration", "m/s2"),), (State("x", "m", 1.0), State("v", "m/s")),
        rates=lambda s: [s["v"], s["force"] - 4 * s["x"]], values=lambda s: [s["force"] - 4 * s["x"]],
    )  # fmt: skip
    rider = Block("rider", (Input("a", "m/s2"),), (Channel("force", "N"),), values=lambda s: [-1.2 * s["a"]])
    components = (Component("carrier", model=carrier), Component("rider", model=rider))
    links = (Connection("carrier.acceleration", "rider.a"), Connection("rider.force", "carrier.force"))
    text = same_end(System("riding", components, links, step=step, t_end=20.0))
    assert "the coupling diverges: " in text


def test_values_that_grow_and_may(same):
    """A smooth rise by a factor of 1e6 is judged, and let pass."""
    rising = Block(
        "rising", (), (Channel("y", "1"),), (State("x", "1", 1.0),), rates=lambda s: [s["x"]], values=lambda s: [s["x"]]
    )
    system = System("up", (Component("rising", model=rising), Component("gain", model=gain("gain"))),
                    (Connection("rising.y", "gain.u1"),), step=0.1, t_end=14.0)  # fmt: skip
    assert same(system)["gain.y1"][-1] > 1e5


def test_a_component_that_asks_for_the_end(tmp_path, both):
    slow, fast = both(pushed(oscillator(tmp_path, "END_AT=0.105")))
    assert fast.provenance["statistics"]["loop"] == "machine code"
    assert fast.provenance["warnings"] == slow.provenance["warnings"]
    assert "component 'spring' ended the run at t = 0.1 s" in fast.provenance["warnings"][-1]
    np.testing.assert_array_equal(fast.values, slow.values)


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="needs signals")
def test_an_interrupt_comes_through_and_keeps_what_was_computed(plugins):
    """A run that would take minutes ends soon after the signal, with all samples up to then."""
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    system = in_process(t_end=1e6)
    timer.start()
    with pytest.raises(Interrupted) as stop:
        cosimulate(system.with_changes(output_step=1.0), plugins=plugins)
    timer.join()
    history = stop.value.history
    assert history.provenance["statistics"]["loop"] == "machine code"
    np.testing.assert_allclose(np.diff(history.time), 1.0, rtol=1e-6)
    assert history.provenance["statistics"]["steps"] >= 100 * (len(history) - 1) > 0


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="needs signals")
def test_an_interrupt_is_not_lost_in_the_python_of_an_fmu(tmp_path, plugins, monkeypatch):
    """All of the run but some microseconds is spent in the Python of a slave; an interrupt there would be its error."""
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 1)
    slave = first_order(tmp_path, "busy", "time.sleep(0.002); self.y += 1")
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(Interrupted) as stop:
        cosimulate(pushed_first_order(slave).with_changes(t_end=1000.0), plugins=plugins)
    timer.join()
    assert stop.value.history.provenance["statistics"]["loop"] == "machine code"
    assert stop.value.history["slave.y"][-1] == len(stop.value.history)


def test_the_time_for_the_run_is_kept_and_progress_told(plugins):
    told = []
    begun = time.monotonic()
    with pytest.raises(SolverError, match=r"the run was given 1 s, and has come to t = \S+ s of 1e\+06 s") as error:
        cosimulate(in_process(t_end=1e6, run_timeout=1.0, output_step=1.0), plugins=plugins, progress=told.append)
    assert time.monotonic() - begun < 30
    assert error.value.history.provenance["statistics"]["loop"] == "machine code"
    assert len(told) > 1 and told == sorted(told)


def test_a_slow_fmu_comes_back_after_every_step(tmp_path, plugins, monkeypatch):
    """Steps of 30 ms: progress is told every second one, whatever fits into a call."""
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 1)
    told = []
    slave = first_order(tmp_path, "sleepy", "time.sleep(0.03); self.y += 1")
    history = cosimulate(pushed_first_order(slave), plugins=plugins, progress=told.append)
    assert history.provenance["statistics"]["loop"] == "machine code"
    assert len(history) == 31 and len(told) >= 14


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"master": "jacobi:extrapolation=1"}, "master 'jacobi': inputs follow polynomials over its steps"),
        ({"master": "gauss-seidel:extrapolation=1"}, "master 'gauss-seidel': inputs follow polynomials over its steps"),
        ({"master": "iterated"}, "master 'iterated': it repeats its steps"),
    ],
)
def test_masters_that_step_in_python_are_named(change, reason, both):
    slow, fast = both(in_process(t_end=0.2, **change))
    assert fast.provenance["statistics"]["loop"] == f"Python, because {reason}"
    np.testing.assert_array_equal(fast.values, slow.values)


def test_components_that_step_in_python_are_named(as_fmus, tmp_path, both, monkeypatch):
    def reason(system):
        slow, fast = both(system)
        np.testing.assert_array_equal(fast.values, slow.values)
        return fast.provenance["statistics"]["loop"].removeprefix("Python, because component ")

    assert reason(as_fmus(isolate=True, t_end=0.1)) == "'a': it runs in a process of its own"
    exchange = oscillator(tmp_path, interfaces=(MODEL_EXCHANGE,), name="exchange")
    assert reason(pushed(exchange)) == "'spring': a solver of this process takes its steps"
    assert reason(pushed(oscillator(tmp_path), component={"step": 0.02})) == "'spring': it steps less often than the others"
    reverse = pushed(oscillator1(tmp_path), record=("spring.depth",))
    assert reason(reverse) == "'spring': some of its variables are others with the sign reversed"
    interpreted = System("rig", (Component("rig", model=rig(), backend="vm"),), t_end=0.1)
    assert reason(interpreted) == "'rig': it has no machine code (interpreter, as asked)"
    ecco = quarter_car(master="ecco", bonds=(PowerBond("tyre", "chassis.force", "wheel.speed"),), t_end=0.1)
    assert both(ecco)[1].provenance["statistics"]["loop"] == "Python, because master 'ecco': its steps differ in length"


def test_interface_inertia_that_holds(same):
    carrier = Block(
        "carrier", (Input("w0", "N"), Input("A11", "kg")), (Channel("x", "m"),), (State("q", "m", 1.0), State("v", "m/s")),
        rates=lambda s: [s["v"], (s["w0"] - 4 * s["q"]) / (1 + s["A11"])], values=lambda s: [s["q"]],
    )  # fmt: skip
    rider = Block(
        "rider", (Input("x", "m"),), (Channel("w0", "N"), Channel("A11", "kg")), (State("y", "m"), State("s", "m/s")),
        rates=lambda s: [s["s"], 9 * (s["x"] - s["y"])], values=lambda s: [9 * (s["y"] - s["x"]), 2.0],
    )  # fmt: skip
    links = (Connection("carrier.x", "rider.x"), Connection("rider.w0", "carrier.w0"), Connection("rider.A11", "carrier.A11"))
    components = (Component("carrier", model=carrier), Component("rider", model=rider))
    same(System("riding", components, links, t_end=0.5, master="interface-inertia:extrapolation=0"))


def test_without_a_compiler_it_is_python(both, monkeypatch):
    monkeypatch.setattr(compiled, "find_compiler", lambda: None)
    monkeypatch.setattr(compiled, "built_elsewhere", lambda source: None)
    compiled._library.cache_clear()
    try:
        slow, fast = both(in_process(t_end=0.1))
    finally:
        compiled._library.cache_clear()
    assert fast.provenance["statistics"]["loop"] == "Python, because there is no C compiler"
    np.testing.assert_array_equal(fast.values, slow.values)


def test_short_runs_are_not_worth_it(plugins):
    history = cosimulate(in_process(t_end=0.1), plugins=plugins)
    assert history.provenance["statistics"]["loop"] == "Python, because there are fewer than 1000 steps"
    assert math.isclose(history.time[-1], 0.1)
    assert cosimulate(pair(t_end=0.01), plugins=plugins).provenance["statistics"] == {
        "steps": 1, "steps_s": pytest.approx(0.0, abs=10.0)
    }  # fmt: skip
