"""What a worker of a study does with a case."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from kingpost import KingpostError, PluginError, SolverError, simulate
from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case
from kingpost.studies.summary.worst import step_change
from kingpost.studies.worker import Worker
from tests.core.studies.small import CHANNELS, HULL, cases, work

BOTH = (
    ("statistics", {"channels": CHANNELS, "of": ("max", "min", "mean", "std")}),
    ("extremes", {"channels": CHANNELS}),  # needs its channels as a whole
)


@pytest.fixture(scope="module")
def worker():
    return work(reducers=BOTH, skip=0.5).prepare()


def test_the_numbers_of_a_case_are_those_of_its_run(worker, plugins):
    machine = plugins.models.get("double-pendulum")().build()
    (case,) = cases(1)
    outcome = worker.run(case)
    history = simulate(machine, 2.0, settings=case.settings, step=0.01, output_step=0.02, plugins=plugins).between(0.5 - 1e-9)
    for name in CHANNELS:
        values = history[name]
        assert outcome.numbers[f"{name}:max"] == values.max()
        assert outcome.numbers[f"{name}:min"] == values.min()
        assert outcome.numbers[f"{name}:mean"] == pytest.approx(values.mean(), rel=1e-13)
        assert outcome.numbers[f"{name}:tmax"] == history.time[values.argmax()]
    assert (outcome.key, outcome.error) == ("case-0", "")
    assert outcome.cpu_s > 0.0
    assert np.array_equal(worker.history(case, CHANNELS).between(0.5 - 1e-9)["elbow.angle"], history["elbow.angle"])


def test_cases_do_not_disturb_each_other(worker):
    many = cases(3)
    forth = {case.key: worker.run(case).numbers for case in many}
    back = {case.key: worker.run(case).numbers for case in reversed(many)}
    assert forth == back
    assert len({numbers["elbow.angle:max"] for numbers in forth.values()}) == 3


def test_a_case_that_fails_is_an_outcome(worker):
    for settings, message in [
        ({"gravty": 1.0}, "has nothing called 'gravty' that could be set; did you mean 'gravity'"),
        ({"mass1": -1.0}, "mass"),
    ]:
        outcome = worker.run(Case("bad", settings))
        assert message in outcome.error
        assert (outcome.key, outcome.numbers) == ("bad", {})
    diverging = work(how=RunSettings(step=0.5, output_step=0.5), t_end=20.0).prepare().run(Case("far", {}))
    assert (
        "'double-pendulum' with rk4: the state after t = 1.5 s is not finite; try a step smaller than 0.5 s" in diverging.error
    )
    assert "Note: a step of 0.5 s is too long for rk4" in diverging.error


def test_work_travels_and_gives_the_same_bits(worker):
    there = pickle.loads(pickle.dumps(work(reducers=BOTH, skip=0.5))).prepare()
    (case,) = cases(1)
    assert there.run(case).numbers == worker.run(case).numbers
    assert isinstance(there, Worker)


def test_a_kernel_goes_with_the_work(tmp_path, monkeypatch):
    """To a machine without a compiler; without the kernel it refuses, and does not interpret unless that is asked for."""
    plain = work()
    (case,) = cases(1)
    numbers = plain.prepare().run(case).numbers
    shipped = pickle.loads(pickle.dumps(plain.with_kernel()))
    assert len(shipped.packs) == 1
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "far away"))
    with pytest.raises(
        SolverError, match=r"no machine code for 'double-pendulum' .*: no C compiler was found .* backend = \"vm\""
    ):
        plain.prepare()
    damaged = replace(shipped, packs=(replace(shipped.packs[0], processor="vax780"),))
    with pytest.raises(SolverError, match="no C compiler was found.*; kernel pack .* features that this one lacks: vax780"):
        damaged.prepare()
    there = shipped.prepare()
    assert there.simulation.kernel.backend == "c"
    assert there.run(case).numbers == numbers
    slow = work(how=RunSettings(step=0.01, output_step=0.02, backend="vm")).prepare()
    assert slow.run(case).numbers == numbers


def test_work_that_no_case_can_be_run_with_is_refused():
    for changes, message in [
        ({"model": "double-pendlum"}, "double-pendulum"),
        ({"reducers": ()}, "a study keeps nothing of its runs"),
        ({"reducers": (("statistic", {}),)}, "statistics"),
        ({"reducers": (("statistics", {"channels": ("elbo.angle",)}),)}, "did you mean 'elbow.angle'"),
        ({"skip": 3.0}, "skip = 3 s leaves nothing of runs"),
    ]:
        with pytest.raises((KingpostError, PluginError), match=message):
            work(**changes).prepare()


RAISING = '''
from kingpost import hookimpl
from kingpost.studies.reducer import Reducer

class Raising(Reducer):
    """Raises, or contradicts."""
    name = "raising"

    def channels(self, available):
        return [available[0].name]

    def reduce(self, history):
        if history.values[0, 0] > 5.0:
            return {"shoulder.angle:max": 0.0}
        raise ZeroDivisionError("by nothing")

@hookimpl
def kingpost_register_reducers():
    return [Raising]
'''


def test_a_reducer_that_raises_fails_its_case_alone(tmp_path):
    (tmp_path / "raising.py").write_text(RAISING)
    reducers = (("statistics", {"channels": CHANNELS}), ("raising", {}))
    worker = work(plugin_files=(str(tmp_path / "raising.py"),), reducers=reducers).prepare()
    assert worker.run(Case("one", {})).error == "not an error of ours: ZeroDivisionError: by nothing"
    other = worker.run(Case("two", {"shoulder.angle": 6.0}))
    assert "reducer 'raising' gives 'shoulder.angle:max' = 0, another one" in other.error


def test_half_the_step_shows_what_depends_on_it():
    """By order four, a tenth of the step changes a ten-thousandth as much; a thousandth leaves room for higher orders."""
    case = cases(2)[1]
    parts = []
    for step in (0.05, 0.005):
        own = work(how=RunSettings(step=step, output_step=0.05))
        before, after = (each.prepare().run(case).numbers for each in (own, own.finer()))
        assert after == work(how=RunSettings(step=step / 2, output_step=0.05)).prepare().run(case).numbers
        parts.append(step_change(case.key, before, after).part)
    assert parts[0] > 1000 * parts[1] > 0.0


@pytest.mark.parametrize("skip", [0.0, 5.0])
def test_a_case_outside_linear_theory_says_so_and_has_no_numbers(tmp_path, skip):
    """From 30 deg, damped: what is left out at the start counts for nothing, this neither."""
    (tmp_path / "hull.toml").write_text(HULL)
    how = RunSettings(step=0.02, output_step=0.1)
    reducers = (("statistics", {"channels": ("roll.angle",)}),)
    worker = work(model=str(tmp_path / "hull.toml"), t_end=10.0, how=how, reducers=reducers, skip=skip).prepare()
    calm, wild = (worker.run(Case(name, {"roll.angle": angle})) for name, angle in (("calm", 0.3), ("wild", math.radians(30))))
    assert calm.numbers and not calm.outside
    assert wild.error == ""
    if skip:
        assert wild.numbers and not wild.outside
    else:
        assert wild.numbers == {}
        assert wild.outside == "'hull' tilts by up to 30 deg (at t = 0 s, from 0 s on), beyond 20 deg"
