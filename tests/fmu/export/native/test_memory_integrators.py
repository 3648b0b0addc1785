"""Integrators that carry numbers from step to step, as FMUs: the same motion as in process, and every way to begin anew."""

import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportSelection, prepare_export, simulate
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.export.python.runtime.package import PackageEngine, Rebuilt
from kingpost.fmu.export.python.runtime.rebuilding import model_functions
from kingpost.fmu.interface.interface import build_interface
from tests.fmu.hosting import Hosted
from tests.fmu.machines import rig

H = 0.01
METHODS = ("bdf2", "generalized-alpha")


def torque(t):
    return 3 * np.sin(5 * t)


def options(method, plugins):
    return {"integrator": method, "step": 0.002, "plugins": plugins}


def in_process(method, plugins, count, settings=None, first=0, **inputs):
    """Return angle and rate after some communication steps; the torque is held over each of them."""
    history = simulate(
        rig(), (first + count) * H, t_start=first * H, settings=settings, inputs=inputs, output_step=H, backend="vm",
        **options(method, plugins),
    )  # fmt: skip
    return np.array([history["pivot.angle"][-1], history["pivot.angle.rate"][-1]])


def driven(fmu, count, first=0):
    for i in range(first, first + count):
        fmu.set({"torque": torque(i * H)})
        fmu.step(i * H, H)
    return fmu.get(["pivot.angle", "pivot.angle.rate"])


@pytest.mark.quick("bdf2-3", "generalized-alpha-2")
@pytest.mark.parametrize(("method", "fmi"), [("bdf2", 2), ("generalized-alpha", 2), ("bdf2", 3)])
def test_the_fmu_moves_like_the_run_in_process(fmi, method, native, plugins):
    path = native(rig(), fmi=fmi, integrator=method, step=0.002)
    assert validate_fmu(str(path)) == []
    expected = in_process(method, plugins, 40, torque=torque)
    with Hosted(path) as fmu:
        fmu.initialize()
        # The same operations, but for the order in which two compilers round.
        assert driven(fmu, 40) == pytest.approx(expected, rel=1e-9)
        assert fmu.messages == []
        # Without a memory, each communication step would begin with implicit Euler, or with other accelerations.
        assert np.abs(in_process("backward-euler", plugins, 40, torque=torque) - expected).max() > 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_the_memory_goes_back_with_the_state(method, native):
    with Hosted(native(rig(), integrator=method, step=0.002)) as fmu:
        fmu.initialize()
        driven(fmu, 5)
        state = fmu.save()
        once = driven(fmu, 5, 5)
        fmu.restore(state)
        assert (driven(fmu, 5, 5) == once).all()
        data = fmu.to_bytes(state)
        fmu.raw.reset()
        again = fmu.from_bytes(data)
        fmu.restore(again)
        assert (driven(fmu, 5, 5) == once).all()
        # A new start forgets everything: the same bits as the first time.
        fmu.raw.reset()
        fmu.initialize()
        assert (driven(fmu, 10) == once).all()
        fmu.forget(state)
        fmu.forget(again)


@pytest.mark.parametrize("method", METHODS)
def test_the_integrator_begins_anew_when_a_parameter_or_the_step_changes(method, native, plugins):
    """A run in process that starts from the state at the change is the reference: it begins anew, too."""
    with Hosted(native(rig(), integrator=method, step=0.002)) as fmu:
        fmu.initialize()
        fmu.steps(7, H)
        angle, rate = fmu.get(["pivot.angle", "pivot.angle.rate"])
        state = fmu.save()
        fmu.set({"mass": 2.0})  # which it is: nothing changes
        fmu.steps(5, H, 7)
        undisturbed = fmu.get(["pivot.angle", "pivot.angle.rate"])
        assert undisturbed == pytest.approx(in_process(method, plugins, 12), rel=1e-9)
        fmu.restore(state)
        fmu.set({"length": 1.5})
        fmu.steps(5, H, 7)
        settings = {"length": 1.5, "pivot.angle": angle, "pivot.angle.rate": rate}
        expected = in_process(method, plugins, 5, settings, 7)
        assert fmu.get(["pivot.angle", "pivot.angle.rate"]) == pytest.approx(expected, rel=1e-9)
        fmu.restore(state)
        for i in range(4):
            fmu.step(7 * H + i * 0.0015, 0.0015)
        fixed = {"pivot.angle": angle, "pivot.angle.rate": rate}
        history = simulate(
            rig(), 0.006, settings=fixed, integrator=method, step=0.0015, output_step=0.006, backend="vm", plugins=plugins
        )  # fmt: skip
        assert fmu.get("pivot.angle") == pytest.approx(history["pivot.angle"][-1], rel=1e-9)
        fmu.forget(state)


def test_fmu_check_finds_nothing(native):
    path = native(rig(), integrator="generalized-alpha", step=0.002)
    report = check_fmu(path, only=["reset", "repeat", "rollback", "serialise", "step-size"])
    assert report.findings == ()


@pytest.mark.parametrize("method", METHODS)
def test_the_engine_in_python_remembers_alike(method, native, plugins):
    interface = build_interface(prepare_export(rig(), **options(method, plugins)), ExportSelection())
    functions = {function.name(): function for function in model_functions(interface)}
    engine = PackageEngine(Rebuilt(interface, functions, "token", "test"))
    engine.setup(0.0, None)
    engine.enter_initialization()
    engine.exit_initialization()
    first = interface.first

    def go(start, count):
        for i in range(start, start + count):
            engine.set([first["u"]], [torque(i * H)])
            engine.step(i * H, H)
        return engine.get([first["x"], first["x"] + 1])

    go(0, 5)
    state = engine.get_state()
    found = go(5, 5)
    assert found == pytest.approx(in_process(method, plugins, 10, torque=torque), rel=1e-9)
    engine.set_state(state)
    assert go(5, 5) == found
    engine.set_state(state)
    engine.set([first["p"]], [1.5])
    changed = go(5, 5)
    assert changed != found
    # The bytes of a state have the layout of c/core.h, so that an engine can go on where another was.
    with Hosted(native(rig(), integrator=method, step=0.002)) as fmu:
        fmu.initialize()
        driven(fmu, 5)
        kept = fmu.save()
        there = fmu.to_bytes(kept)
        fmu.forget(kept)
    numbers = np.frombuffer(state[len(b"kpstate1token\0") :])
    assert np.frombuffer(there[-8 * numbers.size :]) == pytest.approx(numbers, rel=1e-9, abs=1e-12)


def test_steps_are_halved_inside_the_fmu(native, plugins):
    method, start = "bdf2:iterations=1,halvings=4", {"pivot.angle": 2.0}
    history = simulate(
        rig(), 0.5, settings=start, integrator=method, step=0.1, output_step=0.1, backend="vm", plugins=plugins
    )  # fmt: skip
    with Hosted(native(rig(), integrator=method, step=0.1)) as fmu:
        fmu.initialize(start)
        fmu.steps(5, 0.1)
        assert fmu.get("pivot.angle") == pytest.approx(history["pivot.angle"][-1], rel=1e-9)
    with Hosted(native(rig(), integrator="bdf2:iterations=1", step=0.1)) as fmu:
        fmu.initialize(start)
        with pytest.raises(Exception, match="fmi2DoStep failed with status 2"):
            fmu.step(0.0, 0.1)
        assert "in the step of 0.1 s from t = 0 s, where it was 2; try a shorter step" in fmu.said
        assert fmu.get("pivot.angle") == 2.0
