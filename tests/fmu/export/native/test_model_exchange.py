"""Model exchange keeps its constraints: whatever the importer's solver does, step events bring the state back."""

import ctypes

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

from kingpost.fmu.running import run_fmu
from kingpost.simulation.problem import pose
from kingpost.simulation.settings import RunSettings
from tests.fmu.hosting import Hosted
from tests.fmu.machines import locking, rig, tumbling

#: Errors, in parts of what a solver lets pass in one step, at which an FMU asks for an event (KP_DRIFT in c/core.h).
DRIFT = 100
#: The tolerance that an FMU counts on where none is told.
OWN = 1e-8
TOP = ("heavy-top", 2, {"formulation": "directors", "step": 0.001})
TOP_NULLSPACE = ("heavy-top", 3, {"formulation": "nullspace", "step": 0.001})
TOP_QUATERNION = ("heavy-top", 3, {"formulation": "kane", "step": 0.001})
LOOP = ("four-bar", 3, {"formulation": "kane", "step": 0.001})
cases = pytest.mark.parametrize(
    "case", [TOP, TOP_NULLSPACE, TOP_QUATERNION, LOOP], ids=["directors", "nullspace", "kane", "loop"]
)


@pytest.fixture
def exchange(native, machine):
    """Export a case for model exchange."""

    def export(case, **options):
        model, fmi, how = case
        return native(machine(model), fmi=fmi, fmu="me", **how, **options)

    return export


def frame_errors(found):
    """Return how far directors are from a frame, or a quaternion from unit length, at each time."""
    if "top.d1.x" in found.dtype.names:
        D = np.array([[found[f"top.d{i}.{axis}"] for axis in "xyz"] for i in (1, 2, 3)])
        return np.abs(np.einsum("iat,jat->ijt", D, D) - np.eye(3)[:, :, None]).max(axis=(0, 1))
    return np.abs(np.sqrt(sum(found[f"tip.q{axis}"] ** 2 for axis in "wxyz")) - 1)


@pytest.fixture
def events(monkeypatch):
    """The events that fmpy enters."""
    counted = []
    for cls in (fmpy.fmi2.FMU2Model, fmpy.fmi3.FMU3Model):
        enter = cls.enterEventMode
        monkeypatch.setattr(cls, "enterEventMode", lambda self, enter=enter: (counted.append(1), enter(self))[1])
    return counted


@pytest.mark.quick("1e-08-kane", "1e-08-nullspace")
@pytest.mark.parametrize("case", [TOP, TOP_NULLSPACE, TOP_QUATERNION], ids=["directors", "nullspace", "kane"])
@pytest.mark.parametrize("tolerance", [OWN, 1e-6, 1e-4])
def test_cvode_of_fmpy_cannot_leave_the_constraints(case, tolerance, exchange, events):
    found = fmpy.simulate_fmu(
        str(exchange(case)), stop_time=4.0, relative_tolerance=tolerance, output_interval=0.04, record_events=False
    )
    assert len(found) == 101
    # fmpy does not tell its tolerance, and completes a step at each of the 100 output points alone. After each of them a
    # component d of a director is within DRIFT * OWN * (|d| + 1) of where it belongs, or there is an event; for a product of
    # two directors, of length 1, that makes twice the sum of |d| (|d| + 1) over three components, at most 2 (1 + sqrt(3)).
    assert frame_errors(found).max() < 2 * (1 + 3**0.5) * DRIFT * OWN
    # Events come where they are needed: a solver that is as good as was suggested is not restarted all the time.
    assert len(events) <= (30 if tolerance == OWN else 100)
    assert tolerance == OWN or case is TOP_QUATERNION or len(events) == 100


def test_with_the_suggested_tolerance_the_top_moves_as_it_does_in_co_simulation(exchange, native, machine):
    grid = {"stop_time": 4.0, "output_interval": 0.04}
    found = fmpy.simulate_fmu(str(exchange(TOP)), relative_tolerance=OWN, record_events=False, **grid)
    together = fmpy.simulate_fmu(str(native(machine("heavy-top"), **TOP[2])), **grid)
    # The closed form, steady precession at 10 rad/s, is the judge of both. Steps of 1 ms are a tenth of a radian of spin, of
    # which fourth order leaves some 1e-4 of a radian after 40 radians of precession; CVode lets 1e-8 pass in each of some
    # 1e4 steps.
    radius = 0.075 * np.sin(np.pi / 3)
    for run in (found, together):
        assert np.hypot(run["centre.x"], run["centre.y"]) == pytest.approx(radius, rel=1e-3)
        assert np.abs(run["centre.x"] - radius * np.sin(10.0 * run["time"])).max() < 5e-3 * radius
        assert run["centre.z"] == pytest.approx(0.0375, abs=5e-5)


@cases
@pytest.mark.parametrize("tolerance", [OWN, 1e-4])
def test_our_own_solver_cannot_leave_the_constraints(case, tolerance, exchange, machine, plugins):
    path = exchange(case)
    history = run_fmu(path, t_end=2.0, step=0.02, tolerance=tolerance, isolated=False, outputs=["*"])
    problem = pose(machine(case[0]), RunSettings(formulation=case[2]["formulation"]), plugins=plugins)
    names = [quantity.name for quantity in problem.equations.state_quantities]
    nominal = {
        variable.name: float(variable.nominal or 1) for variable in fmpy.read_model_description(str(path)).modelVariables
    }
    sizes = np.array([nominal[name] for name in names])
    x = np.column_stack([history[name] for name in names])
    # Errors of the state are less than DRIFT times the tolerance after every step that is completed, in parts of its size.
    for row in x:
        mended = np.asarray(problem.stepper.mended(0.0, row, problem.u0, problem.p)).ravel()
        assert (np.abs(row - mended) <= 1.01 * DRIFT * tolerance * (np.abs(mended) + sizes)).all()


def pointer(values):
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Exchanged(Hosted):
    """An instance for model exchange, beyond its first event."""

    def start(self, tolerance=None, **start):
        if self.major == 2:
            self.raw.setupExperiment(tolerance=tolerance)
            self.raw.enterInitializationMode()
        else:
            self.raw.enterInitializationMode(tolerance=tolerance)
        self.set(start)
        self.raw.exitInitializationMode()
        changed = self.update()
        self.raw.enterContinuousTimeMode()
        return changed

    def update(self):
        """Return whether the event update changed the states."""
        again, ended, nominals, values, defined, _ = (
            self.raw.newDiscreteStates if self.major == 2 else self.raw.updateDiscreteStates
        )()
        assert not (again or ended or nominals or defined)
        return bool(values)

    @property
    def x(self):
        values = np.zeros(self.description.numberOfContinuousStates)
        self.raw.getContinuousStates(pointer(values), len(values))
        return values

    @x.setter
    def x(self, values):
        self.raw.setContinuousStates(pointer(values), len(values))

    def completed(self):
        event, ended = self.raw.completedIntegratorStep()
        assert not ended
        return bool(event)


@cases
def test_a_state_is_mended_in_an_event_and_nowhere_else(case, exchange, machine, plugins):
    problem = pose(machine(case[0]), RunSettings(formulation=case[2]["formulation"]), plugins=plugins)
    with Exchanged(exchange(case)) as fmu:
        assert fmu.start() is False  # the start is consistent
        right = fmu.x
        assert not fmu.completed()
        generator = np.random.default_rng(1)
        off = right + 1e-3 * generator.standard_normal(len(right))
        fmu.x = off
        assert fmu.completed()
        assert (fmu.x == off).all()  # it only asks for the event
        fmu.raw.enterEventMode()
        assert (fmu.x == off).all()
        assert fmu.update() is True
        # What the equations say, by another road: in process, until it does not change any more.
        expected = off
        for _ in range(5):
            expected = np.asarray(problem.stepper.mended(0.0, expected, problem.u0, problem.p)).ravel()
        assert fmu.x == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert fmu.update() is False
        fmu.raw.enterContinuousTimeMode()
        assert not fmu.completed()


@pytest.mark.parametrize("fmi", [2, 3])
def test_events_come_by_the_tolerance_that_the_importer_tells(fmi, native):
    for tolerance in (None, 1e-8, 1e-5):
        with Exchanged(native(tumbling(), fmi=fmi, fmu="me")) as fmu:
            fmu.start(tolerance)
            x = fmu.x
            place = int(np.argmax(x == 1.0))  # the quaternion's qw; |x| + nominal is 2
            assert fmu.description.derivatives[place].variable.derivative.name == "flight.qw"
            for part, asks in ((0.98, False), (1.02, True)):
                off = x.copy()
                off[place] += part * DRIFT * (tolerance or OWN) * 2
                fmu.x = off
                assert fmu.completed() is asks
    with Exchanged(native(tumbling(), fmi=fmi, fmu="me")) as fmu, pytest.raises(FMICallException):
        fmu.start(-1.0)
    assert fmu.said == "a tolerance of -1 makes no sense"


def test_loops_that_are_open_at_the_start_are_closed_in_the_first_event(exchange, machine):
    names = [variable.name for variable in fmpy.read_model_description(str(exchange(LOOP))).modelVariables]
    angle = next(name for name in names if name.endswith(".angle"))
    with Exchanged(exchange(LOOP)) as fmu:
        fmu.start()
        given = fmu.get(angle)
    with Exchanged(exchange(LOOP)) as fmu:
        assert fmu.start(**{angle: given + 0.02}) is True
        assert not fmu.completed()
    with Exchanged(exchange(TOP)) as fmu:
        fmu.start()
        fmu.x = 0 * fmu.x
        assert fmu.completed()
        fmu.raw.enterEventMode()
        with pytest.raises(FMICallException):
            fmu.update()
        assert fmu.said.startswith("the constraints of the model cannot be satisfied near the state that it has at t = 0 s")
        assert (fmu.x == 0).all()


@pytest.mark.parametrize("fmi", [2, 3])
def test_what_needs_no_events_says_so(fmi, native):
    """Importers may leave steps untold that would make no difference; a joint that can lock wants to know of them."""
    for mechanism, needed in ((rig(), False), (tumbling(), True), (locking(), True)):
        description = fmpy.read_model_description(str(native(mechanism, fmi=fmi, fmu="me")))
        assert description.modelExchange.needsCompletedIntegratorStep is needed


def test_states_are_updated_in_events_alone(exchange):
    with Exchanged(exchange(TOP)) as fmu:
        fmu.start()
        with pytest.raises(FMICallException):
            fmu.update()
        assert fmu.said == "discrete states are updated in an event, but the model is in continuous time"


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [OWN, 1e-6, 1e-4])
def test_twenty_seconds(tolerance, exchange):
    found = fmpy.simulate_fmu(
        str(exchange(TOP)), stop_time=20.0, relative_tolerance=tolerance, output_interval=0.04, record_events=False
    )
    assert frame_errors(found).max() < 2 * (1 + 3**0.5) * DRIFT * OWN
    if tolerance == OWN:
        radius = 0.075 * np.sin(np.pi / 3)
        assert np.abs(found["centre.x"] - radius * np.sin(10.0 * found["time"])).max() < 1e-2 * radius
