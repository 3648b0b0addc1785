"""What native FMUs do when they are called well, and when they are not: values, phases, steps, messages."""

import math
import re

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

from kingpost import simulate
from tests.fmu.export.native.calls import TORQUE, both, refused
from tests.fmu.hosting import Hosted
from tests.fmu.machines import locking, rig


@both
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_by_name_and_time_and_nothing_else_happens(fmi, bad, native):
    # In this order: fmpy hands the messages of all FMI 2 instances to the last one.
    with Hosted(native(rig(), fmi=fmi)) as twin, Hosted(native(rig(), fmi=fmi)) as fmu:
        for one in (fmu, twin):
            one.initialize()
            one.set({"torque": 1.0})
            one.steps(25, 0.01)
        refused(3, fmu.set, {"length": 2.0, "torque": bad})
        word = str(bad)
        assert re.fullmatch(f"'torque' was set to -?{word.lstrip('-')} at t = 0.25 s; it must be finite", fmu.said)
        assert list(fmu.get(["length", "torque"])) == [1.0, 1.0]  # all or nothing
        for one in (fmu, twin):
            one.steps(25, 0.01, first=25)
        assert list(fmu.get(fmu.outputs)) == list(twin.get(twin.outputs))


@both
def test_what_cannot_be_read_or_set_is_refused(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        getter, setter = (fmu.raw.getReal, fmu.raw.setReal) if fmi == 2 else (fmu.raw.getFloat64, fmu.raw.setFloat64)
        last = max(fmu.references.values())
        refused(3, getter, [TORQUE, 1000])
        assert fmu.said == f"there is no variable with value reference 1000; the last one is {last}"
        refused(3, setter, [4000000000], [1.0])
        assert "there is no variable with value reference 4000000000" in fmu.said
        refused(3, fmu.set, {"tip.x": 1.0})
        assert fmu.said == "'tip.x' is computed by the model and cannot be set"
        refused(3, fmu.set, {"time": 1.0})
        assert fmu.said == "'time' is computed by the model and cannot be set"
        refused(3, fmu.set, {"pivot.angle": 1.0})
        assert fmu.said == "the start value of 'pivot.angle' can be set only before the end of the initialization"
        other, kind = (fmu.raw.getInteger, "Integer") if fmi == 2 else (fmu.raw.getInt32, "Int32")
        refused(3, other, [0])
        assert fmu.said.startswith(f"this model has no {kind} variables; all its variables are of type")
        if fmi == 3:
            refused(3, fmu.raw.setFloat64, [TORQUE], [1.0, 2.0])
            assert fmu.said == "1 value references came with 2 values; they stand for 1"
        fmu.step(0.0, 0.01)  # none of this has hurt it


@both
def test_an_error_ends_an_instance_of_fmi_3_and_not_one_of_fmi_2(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        fmu.steps(5, 0.01)
        state, before = fmu.save(), fmu.get(fmu.outputs)
        with pytest.raises(FMICallException):
            fmu.set({"torque": math.nan})
        assert list(fmu.get(fmu.outputs)) == list(before)  # what it has can be read
        if fmi == 2:
            fmu.step(0.05, 0.01)
            return
        with pytest.raises(FMICallException):
            fmu.step(0.05, 0.01)
        assert fmu.said == "a step was asked for, but the model is terminated"
        fmu.raw.terminate()  # what importers do then, and nothing is said against it
        assert fmu.said == "a step was asked for, but the model is terminated"
        fmu.restore(state)
        fmu.step(0.05, 0.01)
        with pytest.raises(FMICallException):
            fmu.step(9.0, 0.01)
        fmu.raw.reset()
        fmu.initialize()
        fmu.step(0.0, 0.01)
        fmu.forget(state)


def test_a_discarded_step_of_fmi_3_leaves_no_trace(native):
    with Hosted(native(locking(), fmi=3)) as fmu:
        fmu.initialize()
        fmu.steps(10, 0.01)
        before = fmu.get(fmu.outputs)
        refused(2, fmu.step, 0.1, 0.2)  # locks on the way, at 0.17 s
        assert "is about to lock at t = 0.1" in fmu.said
        assert list(fmu.get(fmu.outputs)) == list(before) and fmu.get("time") == 0.1
        fmu.step(0.1, 0.01)


@pytest.mark.parametrize(("kind", "other"), [("cs", "me"), ("me", "cs")])
@both
def test_an_instance_of_the_other_kind_is_refused(fmi, kind, other, native):
    # A test of what instances are told apart by: the other class of fmpy for the same library.
    classes = {(2, "cs"): FMU2Slave, (2, "me"): FMU2Model, (3, "cs"): FMU3Slave, (3, "me"): FMU3Model}
    with Hosted(native(rig(), fmi=fmi, fmu=kind)) as fmu:
        raw = classes[fmi, other](
            guid=fmu.description.guid, unzipDirectory=fmu.raw.unzipDirectory, modelIdentifier=fmu.raw.modelIdentifier
        )
        with pytest.raises(Exception, match="Failed to instantiate"):
            raw.instantiate()


@both
def test_steps_that_make_no_sense_are_refused(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        refused(3, fmu.step, 0.0, 0.01)
        assert fmu.said == "a step was asked for, but the model is instantiated"
        fmu.initialize(t_stop=1.0)
        for call, message in (
            ((0.5, 0.01), "a step from t = 0.5 s was asked for, but the model is at t = 0 s"),
            ((0.0, -0.01), "a communication step of -0.01 s is impossible"),
            ((0.0, math.nan), "a communication step of nan s is impossible"),
            ((math.nan, 0.01), "a step from t = nan s was asked for, but the model is at t = 0 s"),
            ((0.0, 1.5), "a step to t = 1.5 s was asked for, beyond the stop time of 1 s"),
        ):
            refused(3, fmu.step, *call)
            assert fmu.said == message
        before = fmu.get(fmu.outputs)
        fmu.step(0.0, 0.0)
        assert list(fmu.get(fmu.outputs)) == list(before) and fmu.get("time") == 0.0
        # A thousand times a thousandth is not quite one; nobody should mind.
        t = 0.0
        for _ in range(1000):
            fmu.step(t, 0.001)
            t += 0.001
        assert t != 1.0
        refused(3, fmu.step, 1.0, 0.001)
        fmu.raw.terminate()
        refused(3, fmu.step, 1.0, 0.001)
        assert fmu.said == "a step was asked for, but the model is terminated"
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        refused(3, fmu.step, 0.0, 1e9)
        assert fmu.said == "a step of 1e+09 s holds more than 1e9 internal steps of 0.001 s"
        refused(3, fmu.step, 0.0, 1e300)
        fmu.step(0.0, 100.0)  # long, but possible
        assert fmu.get("time") == 100.0


@both
def test_phases_come_in_their_order(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        refused(3, fmu.raw.exitInitializationMode)
        assert fmu.said == "there is no initialization to end: the model is instantiated"
        refused(3, fmu.begin, 5.0, 4.0)
        assert fmu.said == "a run from t = 5 s to 4 s makes no sense"
        fmu.initialize(t_start=5.0)
        assert fmu.get("time") == 5.0
        refused(3, fmu.begin)
        assert "the model is between two steps; reset it first" in fmu.said
        fmu.step(5.0, 0.01)


@both
def test_a_step_is_divided_into_internal_steps_that_do_not_depend_on_the_importer(fmi, native):
    ends = []
    for size, count in ((0.001, 200), (0.01, 20), (0.2, 1), (0.04, 5)):
        with Hosted(native(rig(), fmi=fmi)) as fmu:
            fmu.initialize()
            fmu.steps(count, size)
            ends.append(fmu.get(fmu.outputs))
    for end in ends[1:]:
        assert list(end) == list(ends[0])
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        fmu.steps(80, 0.0025)  # three internal steps each
        assert fmu.get(fmu.outputs) == pytest.approx(ends[0], rel=1e-11)


@both
def test_start_values_follow_the_parameters_in_their_formulas_unless_they_are_set(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.set({"tilt": 0.5})
        fmu.begin()
        assert fmu.get("pivot.angle") == 1.0
        fmu.set({"tilt": 0.2, "length": 2.0})
        assert fmu.get("pivot.angle") == 0.4
        assert fmu.get("tip.x") == pytest.approx(-2.0 * math.sin(0.4), rel=1e-15)
        fmu.raw.exitInitializationMode()
        assert fmu.get(["pivot.angle", "pivot.angle.rate"]) == pytest.approx([0.4, 0.1], rel=1e-15)
        fmu.set({"tilt": 1.0})  # too late to matter
        assert fmu.get("pivot.angle") == 0.4
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.begin()
        fmu.set({"pivot.angle": 0.7})
        fmu.set({"tilt": 0.1})
        fmu.raw.exitInitializationMode()
        assert fmu.get("pivot.angle") == 0.7


def test_start_values_that_are_not_shown_follow_their_formulas_too(native):
    with Hosted(native(rig(), outputs=["tip.*"])) as fmu:
        assert "pivot.angle" not in fmu.references
        fmu.initialize({"tilt": 0.4})
        assert fmu.get("tip.x") == pytest.approx(-math.sin(0.8), rel=1e-15)


@both
def test_start_values_that_the_user_of_the_exporter_has_set_are_no_formulas_any_more(fmi, native):
    with Hosted(native(rig(), fmi=fmi, settings={"pivot.angle": 0.25, "mass": 3.0, "torque": 0.5})) as fmu:
        variables = {variable.name: variable for variable in fmu.description.modelVariables}
        assert (variables["pivot.angle"].initial, float(variables["pivot.angle"].start)) == ("exact", 0.25)
        assert float(variables["mass"].start) == 3.0 and float(variables["torque"].start) == 0.5
        fmu.initialize({"tilt": 1.0})
        assert list(fmu.get(["pivot.angle", "mass", "torque"])) == [0.25, 3.0, 0.5]


@both
def test_parameters_can_be_changed_between_steps(fmi, native, plugins):
    first = simulate(rig(), 0.2, plugins=plugins)
    middle = {name: first[name][-1] for name in ("pivot.angle", "pivot.angle.rate")}
    second = simulate(rig(), 0.5, t_start=0.2, settings={**middle, "length": 1.5, "mass": 0.5}, plugins=plugins)
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        fmu.steps(20, 0.01)
        fmu.set({"length": 1.5, "mass": 0.5})
        fmu.steps(30, 0.01, first=20)
        assert fmu.get(fmu.outputs) == pytest.approx([second[name][-1] for name in fmu.outputs], rel=1e-9)


@both
def test_a_binary_with_another_description_is_refused(fmi, native):
    said = []
    original = Hosted._take
    try:
        Hosted._take = lambda self, status, text: said.append((status, text.decode()))
        with pytest.raises(Exception, match="Failed to instantiate"):
            Hosted(native(rig(), fmi=fmi), token="{11111111-2222}")
    finally:
        Hosted._take = original
    ((status, text),) = said
    assert status == 3
    assert text.startswith("this binary belongs to another model description: it has {")
    assert text.endswith("it was given {11111111-2222}")


@both
def test_derivatives_that_are_not_finite_are_named(fmi, native):
    with Hosted(native(rig(), fmi=fmi, fmu="me")) as fmu:
        fmu.initialize({"length": 0.0})
        refused(3, fmu.get, "der(pivot.angle.rate)")
        assert re.fullmatch(r"'der\(pivot.angle.rate\)' is -?(nan|inf) at t = 0 s", fmu.said)
        fmu.set({"length": 1.0})
        assert np.isfinite(fmu.get("der(pivot.angle.rate)"))
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize({"length": 0.0})
        refused(2, fmu.step, 0.0, 0.01)
        assert re.match(
            r"'pivot.angle(.rate)?' becomes -?(nan|inf) in the step of 0.001 s from t = 0 s, where it was ", fmu.said
        )
        assert np.isfinite(fmu.get(["pivot.angle", "pivot.angle.rate"])).all()
