"""Intermediate update (FMI 3): what an importer can see and give between communication points."""

import math
from xml.etree import ElementTree

import fmpy
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Slave

from tests.fmu.interface.descriptions import described
from tests.fmu.machines import flywheel, rig


class Between:
    """An instance with intermediate update; ``ask`` is what the importer does when it is called."""

    def __init__(self, path, folder, *, wanted=(), early=False, event_mode=False):
        self.description = fmpy.read_model_description(str(path))
        self.references = {variable.name: variable.valueReference for variable in self.description.modelVariables}
        self.said, self.calls, self.ask = [], [], lambda *_: None
        self.raw = FMU3Slave(
            guid=self.description.guid,
            unzipDirectory=fmpy.extract(str(path), str(folder)),
            modelIdentifier=self.description.coSimulation.modelIdentifier,
        )
        self.raw.instantiate(
            eventModeUsed=event_mode,
            earlyReturnAllowed=early,
            logMessage=lambda _, __, ___, text: self.said.append(text.decode()),
            intermediateUpdate=self._take,
            requiredIntermediateVariables=[self.references[name] for name in wanted],
        )

    def _take(self, _, time, set_requested, get_allowed, finished, can_return, requested, until):
        self.calls.append((time, set_requested, get_allowed, finished, can_return))
        answer = self.ask(time, finished)
        if answer is not None:
            requested[0], until[0] = True, answer

    def begin(self):
        self.raw.enterInitializationMode(startTime=0.0)
        self.raw.exitInitializationMode()

    def get(self, name):
        return self.raw.getFloat64([self.references[name]])[0]

    def set(self, name, value):
        self.raw.setFloat64([self.references[name]], [value])


@pytest.fixture
def between(tmp_path):
    made = []

    def make(path, **options):
        made.append(Between(path, tmp_path / str(len(made)), **options))
        return made[-1]

    yield make
    for one in made:
        if one.raw.component:
            one.raw.freeInstance()


def test_outputs_between_communication_points_are_those_of_short_communication_steps(native, between):
    path = native(rig(), fmi=3, step=0.01)
    coarse, fine = between(path, wanted=["tip.x"]), between(path)
    seen, expected = [], []
    coarse.ask = lambda time, finished: seen.append((coarse.get("time"), time, coarse.get("tip.x"), coarse.get("energy.total")))
    coarse.begin(), fine.begin()
    coarse.raw.doStep(0.0, 0.1)
    for k in range(10):
        fine.raw.doStep(k * 0.01, 0.01)
        now = fine.get("time")
        expected.append((now, now, fine.get("tip.x"), fine.get("energy.total")))
    assert seen == expected  # to the bit
    assert [call[1:] for call in coarse.calls] == [(False, True, True, False)] * 10


def followed(between, native, torque, count, **options):
    """Return a flywheel of 2 kg m^2 after 1 s in one communication step, asked for its torque within ``count`` steps."""
    fmu = between(native(flywheel(), fmi=3, step=1.0 / count, **options), wanted=["torque"])
    fmu.ask = lambda time, finished: fmu.set("torque", torque(time))
    fmu.begin()
    fmu.set("torque", torque(0.0))
    fmu.raw.doStep(0.0, 1.0)
    assert fmu.get("torque") == torque(1.0)
    return fmu


def test_inputs_between_communication_points_are_asked_for_in_the_middle_and_at_the_end_of_steps(native, between):
    # torque = 1 + 3 t + 6 t^2: angle = t^2 / 4 + t^3 / 4 + t^4 / 4, which rk4 gives without an error.
    fmu = followed(between, native, lambda t: 1 + 3 * t + 6 * t**2, 10)
    assert fmu.get("axle.angle.rate") == pytest.approx(0.5 + 0.75 + 1.0, rel=1e-14)
    assert fmu.get("axle.angle") == pytest.approx(0.75, rel=1e-14)
    times = [call[0] for call in fmu.calls]
    assert times == pytest.approx([(k + part) / 10 for k in range(10) for part in (0.5, 1, 1)], rel=1e-12)
    # Before a step has been taken inputs alone can be given; at its end there are outputs as well.
    assert [call[1:4] for call in fmu.calls] == [(True, False, False), (True, False, False), (True, True, True)] * 10


@pytest.mark.quick("rk4-4", "generalized-alpha-2")
@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("radau2", 3), ("midpoint", 2), ("generalized-alpha", 2)])
def test_inputs_between_communication_points_keep_the_order_of_the_integrator(native, between, integrator, order):
    # torque = exp(3 t): angle = (exp(3) - 1 - 3) / 18. Parabolas are off by h^3, so no integrator of up to third order feels
    # it, and those of fourth order ask for values where they are right. What remembers inputs sees those in the middle: h^2.
    wanted = (math.exp(3.0) - 4.0) / 18.0
    errors = []
    for count in (20, 40):
        fmu = followed(between, native, lambda t: math.exp(3 * t), count, integrator=integrator)
        errors.append(abs(fmu.get("axle.angle") - wanted))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_the_importer_can_have_a_step_end_early(native, between):
    path = native(rig(), fmi=3, step=0.01)
    fmu, straight = between(path, early=True), between(path)
    for one in (fmu, straight):
        one.begin()
    fmu.ask = lambda time, finished: 0.055 if time > 0.025 else None
    event, ended, early, reached = fmu.raw.doStep(0.0, 0.1)
    assert (event, ended, early) == (False, False, True) and reached == 0.055
    assert fmu.calls[-1][0] == 0.055 and len(fmu.calls) == 6
    assert fmu.get("time") == 0.055
    # Five steps of 10 ms and one of 5 ms.
    for t, h in ((0.0, 0.05), (0.05, 0.005)):
        straight.raw.doStep(t, h)
    assert fmu.get("pivot.angle") == pytest.approx(straight.get("pivot.angle"), rel=1e-14)
    # It goes on from there; and at once, if it is asked to.
    fmu.ask = lambda time, finished: time
    assert fmu.raw.doStep(0.055, 0.045)[2:] == (True, pytest.approx(0.064))
    fmu.ask = lambda time, finished: None
    assert fmu.raw.doStep(fmu.get("time"), 0.1 - fmu.get("time"))[2] is False
    # The last call has nothing more to leave out.
    assert [call[4] for call in fmu.calls][-1] is False
    # An importer that did not say so at the beginning is not offered it, and not heard.
    straight.ask = lambda time, finished: time
    assert straight.raw.doStep(0.055, 0.045)[2] is False and not any(call[4] for call in straight.calls)


def test_what_makes_no_sense_within_a_step_is_refused(native, between):
    path = native(rig(), fmi=3, step=0.01)
    for wanted, call, message in (
        (["torque"], lambda fmu: fmu.set("length", 2.0), "'length' cannot be set within a step; inputs can, where"),
        (["tip.x"], lambda fmu: fmu.set("torque", 2.0), "'torque' cannot be set within a step"),
        (["torque"], lambda fmu: fmu.get("tip.x"), "there is nothing to get before the step"),
        ([], lambda fmu: fmu.raw.doStep(0.0, 0.1), "within a step variables can be got and set, and nothing else"),
        ([], lambda fmu: fmu.raw.getFMUState(), "within a step variables can be got and set, and nothing else"),
        ([], lambda fmu: fmu.raw.reset(), "within a step variables can be got and set, and nothing else"),
    ):
        fmu = between(path, wanted=wanted)
        fmu.begin()
        caught = []

        def ask(time, finished, fmu=fmu, call=call, caught=caught):
            with pytest.raises(FMICallException) as error:
                call(fmu)
            caught.append(error.value.status)

        fmu.ask = ask
        with pytest.raises(FMICallException):
            fmu.raw.doStep(0.0, 0.1)
        assert caught == [3] and fmu.said[0].startswith(message)


def test_event_mode_is_refused_since_it_is_not_declared(native, between, tmp_path):
    path = native(rig(), fmi=3)
    with pytest.raises(Exception, match="Failed to instantiate"):
        between(path, event_mode=True)
    description = fmpy.read_model_description(str(path)).coSimulation
    assert not description.hasEventMode and not description.mightReturnEarlyFromDoStep
    assert description.providesIntermediateUpdate and description.canReturnEarlyAfterIntermediateUpdate


def test_variables_that_can_be_seen_are_marked():
    variables = ElementTree.fromstring(described(rig(), 3)).find("ModelVariables")
    marked = {variable.get("causality") for variable in variables if variable.get("intermediateUpdate") == "true"}
    assert marked == {"input", "output"}
    assert all(variable.get("intermediateUpdate") for variable in variables if variable.get("causality") in marked)
    assert "intermediateUpdate" not in described(rig(), 3, "me") + described(rig(), 2)
