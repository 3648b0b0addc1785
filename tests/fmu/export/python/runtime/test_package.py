"""The engine in Python takes the steps that the compiled one takes."""

import numpy as np
import pytest

from kingpost.fmu.export.python.runtime.engine import EngineError
from kingpost.fmu.export.python.runtime.package import PackageEngine, Rebuilt
from kingpost.fmu.export.python.runtime.rebuilding import model_functions
from kingpost.fmu.interface.interface import build_interface
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.hosting import Hosted
from tests.fmu.machines import carried, rig


@pytest.fixture(scope="module")
def rebuilt(plugins):
    found = {}

    def make(integrator):
        if integrator not in found:
            model = prepare_export(rig(), integrator=integrator, step=0.001, plugins=plugins)
            interface = build_interface(model, ExportSelection())
            found[integrator] = Rebuilt(
                interface, {item.name(): item for item in model_functions(interface)}, "{t}", "in Python"
            )
        return found[integrator]

    return make


def started(rebuilt):
    engine = PackageEngine(rebuilt)
    engine.setup(0.0, None)
    engine.enter_initialization()
    engine.exit_initialization()
    return engine


def test_a_quaternion_from_outside_that_is_zero_is_named(plugins):
    interface = build_interface(prepare_export(carried(), step=0.001, plugins=plugins), ExportSelection())
    functions = {item.name(): item for item in model_functions(interface)}
    model = Rebuilt(interface, functions, "{t}", "in Python")
    engine = PackageEngine(model)
    engine.setup(0.0, None)
    engine.enter_initialization()
    engine.set([list(interface.names).index("base_qw")], [0.0])
    engine.exit_initialization()
    with pytest.raises(EngineError, match="the quaternion of 'base_qw', 'base_qx', 'base_qy', 'base_qz' is zero, which is no"):
        outputs(engine, model)


def outputs(engine, rebuilt):
    return engine.get([variable.reference for variable in rebuilt.interface.outputs])


@pytest.mark.quick("bdf2")
@pytest.mark.parametrize("integrator", ["rk4", "bdf2"])
def test_results_do_not_depend_on_how_communication_steps_are_divided(integrator, rebuilt, native):
    model, ends = rebuilt(integrator), []
    for size, count in ((0.001, 200), (0.01, 20), (0.2, 1), (0.04, 5)):
        engine = started(model)
        t = 0.0
        for _ in range(count):
            engine.step(t, size)
            t += size  # not quite a multiple of the step
        ends.append(outputs(engine, model))
        assert engine.time == 0.2
    assert all(end == ends[0] for end in ends[1:])
    # As the compiled one: the same internal steps at the same times, by other arithmetic.
    with Hosted(native(rig(), integrator=integrator, step=0.001)) as fmu:
        fmu.initialize()
        t = 0.0
        for _ in range(20):
            fmu.step(t, 0.01)
            t += 0.01
        np.testing.assert_allclose(ends[0], fmu.get(fmu.outputs), rtol=1e-11)
        assert fmu.get("time") == 0.2


def test_steps_that_are_no_whole_ones_are_divided_evenly(rebuilt):
    model = rebuilt("rk4")
    one, other = started(model), started(model)
    one.step(0.0, 0.2)
    t = 0.0
    for _ in range(80):
        other.step(t, 0.0025)
        t += 0.0025
    assert other.time == pytest.approx(0.2, rel=1e-14)
    np.testing.assert_allclose(outputs(one, model), outputs(other, model), rtol=1e-10)
    # A start that is no multiple of the step, as with a start time of its own.
    late = PackageEngine(model)
    late.setup(0.0304, None)
    late.enter_initialization()
    late.exit_initialization()
    late.step(0.0304, 0.2)
    np.testing.assert_allclose(outputs(late, model), outputs(one, model), rtol=1e-10)
    assert late.time == 0.0304 + 0.2
