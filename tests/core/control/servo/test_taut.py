"""Paths along which ropes stay taut."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from kingpost import MechanismError, SolverError
from kingpost.control.servo.inverse import prepare_inverse
from kingpost.control.servo.taut import between_samples, keep_taut, least_distance, slowed
from kingpost.modelfiles.opened import open_model

GRAVITY, MASS = 9.81, 100.0
TASK = "000-4.4.1"


@dataclass(frozen=True)
class Between:
    """A part of the way from one path to another."""

    one: Any
    other: Any
    part: float

    def jets_at(self, times, order):
        one, other = (path.jets_at(times, order) for path in (self.one, self.other))
        return one + self.part * (other - one)


def tension(path, t):
    """The rope carries the load alone: its tension is m |y'' - g|, whatever the crane is."""
    x, z = (path[name].jets_at([t], 2)[0, 2] for name in ("load.x", "load.z"))
    return MASS * math.hypot(x, z + GRAVITY)


def where_lowest(task):
    times = np.linspace(task.t_start, task.t_end, 400)
    at = times[int(np.argmin([tension(task.path, t) for t in times]))]
    width = times[1] - times[0]
    return minimize_scalar(lambda t: tension(task.path, t), bounds=(at - width, at + width), method="bounded")


def lowest(task):
    return float(where_lowest(task).fun)


def missed(task, h):
    """Return what samples at distances h miss of the lowest tension, and what is left of that with a parabola through three.

    With derivatives T2 and T3: the lowest sample is at most h / 2 away, so that T2 h^2 / 8 are missed. A parabola through
    samples at -h, 0 and h is off by T3 / 6 x (x - h) (x + h), at most T3 h^3 / 16 in between. The derivatives are the largest
    ones within 1.5 h of the lowest point, by differences over h / 4; samples themselves have no error, because the load alone
    determines the tension.
    """
    at, d = float(where_lowest(task).x), h / 4
    near = np.array([tension(task.path, at + k * d) for k in range(-6, 7)])
    second, third = (float(np.abs(np.diff(near, k)).max()) / d**k for k in (2, 3))
    return second * h**2 / 8, third * h**3 / 16


@pytest.fixture(scope="module")
def prepared():
    crane = open_model("overhead-crane:form=dependent")
    return prepare_inverse(
        crane.mechanism, crane.task(TASK), method="minimal-extension", stepper="bdf2:step=0.02", plugins=crane.plugins
    )


def test_the_shortest_duration_is_that_of_the_closed_form(prepared):
    task = prepared.problem.task
    assert lowest(task) == pytest.approx(841.2006, abs=2e-4)  # our notes' closed form
    want = brentq(lambda factor: lowest(slowed(task, factor)) - 900.0, 1.0, 3.0, xtol=1e-9)
    longer, found = keep_taut(prepared, 900.0)
    # To a thousandth, and up to the next whole step of 0.02 s in 5.4 s.
    assert want <= found.slower <= want * 1.001 + 0.02 / 3.0
    assert lowest(longer.problem.task) >= 900.0
    # Of the samples of a run, at 0.02 s, the highest of all errors.
    assert found.after["rope"] == pytest.approx(lowest(longer.problem.task), abs=missed(longer.problem.task, 0.02)[1])
    history = longer.run()
    assert history.provenance["inverse"]["kept_taut"]["slower"] == found.slower
    assert history["rope.tension"].min() >= 900.0 - 1e-6
    assert history.time[-1] == pytest.approx(3.0 * found.slower)
    assert found.before["rope"] == pytest.approx(lowest(task), abs=missed(task, 0.02)[1])
    assert "the manoeuvre takes 5." in found.sentence and "it was 841." in found.sentence


def test_what_is_lowest_may_lie_between_samples():
    """A parabola is found exactly wherever its lowest point lies; of a cosine, parts of h^4 are left."""
    for offset in (0.0, 0.3, 0.5, -0.45):
        x = np.arange(-3.0, 4.0) + offset
        found = between_samples(np.column_stack([3.0 + 2.0 * x**2, 1.0 - 2.0 * x**2]))
        assert found[:, 0].min() == pytest.approx(3.0, abs=1e-14)
        # What has no lowest point inside is left as it is.
        assert np.array_equal(found[:, 1], 1.0 - 2.0 * x**2)
        times = 0.1 * x + math.pi
        assert between_samples(np.cos(times)[:, None]).min() == pytest.approx(-1.0, abs=0.1**4 / 16)


def test_the_least_distance_with_inequalities():
    """To a plane along its normal; to a corner with multipliers that are not negative; and to nothing."""
    x, mu = least_distance(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([10.0, -7.0]))
    assert x == pytest.approx([1.2, 1.6], abs=1e-12)
    assert mu == pytest.approx([0.4, 0.0], abs=1e-12)
    x, mu = least_distance(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 4.0, 2.0]))
    assert x == pytest.approx([1.0, 2.0], abs=1e-12)
    assert mu == pytest.approx([1.0, 1.0, 0.0], abs=1e-12)
    # Nothing to be done: the inequalities hold at zero.
    assert least_distance(np.array([[1.0, 1.0]]), np.array([-1.0]))[0] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])) is None


@pytest.mark.slow
def test_the_nearest_path_keeps_the_duration_and_the_bound(prepared):
    nearest, found = keep_taut(prepared, 900.0, "path")
    task, taut = prepared.problem.task, nearest.problem.task
    assert (taut.t_start, taut.t_end) == (task.t_start, task.t_end)
    # Of the samples at half the steps, which are above the bound, and of those of a run.
    assert lowest(taut) >= 900.0 - missed(taut, 0.01)[1]
    assert found.after["rope"] == pytest.approx(lowest(taut), abs=missed(taut, 0.02)[1])
    assert nearest.run()["rope.tension"].min() >= 900.0
    # The search meets the bound at samples, to 1e-6 of the largest tension, and asks for what these miss.
    assert found.after["rope"] <= 900.0 + missed(taut, 0.02)[0] + 2e-6 * 1500.0
    # It is no further from the path than it must be: along a hundredth less of the correction the rope is not taut enough.
    path = {name: Between(task.path[name], taut.path[name], 0.99) for name in task.measures}
    short = SimpleNamespace(path=path, t_start=task.t_start, t_end=task.t_end)
    assert lowest(short) < 900.0 - missed(taut, 0.02)[0]
    times = np.linspace(0.0, 3.0, 961)
    for name, size in found.deviation.items():
        away = taut.path[name].jets_at(times, 0) - task.path[name].jets_at(times, 0)
        assert size == pytest.approx(np.abs(away).max(), rel=1e-12)
    for name in task.measures:
        assert taut.path[name].jets_at([0.0, 3.0], 4) == pytest.approx(task.path[name].jets_at([0.0, 3.0], 4), abs=1e-9)
    assert taut.smoothness >= 4


def test_a_path_that_is_taut_stays_what_it_is(prepared):
    same, found = keep_taut(prepared, 500.0)
    assert same is prepared
    assert found.slower == 1.0


def test_what_no_duration_helps_is_refused_with_the_tension_that_is_in_the_way(prepared):
    # At rest the rope carries 981 N.
    with pytest.raises(
        SolverError, match=r"even \d+\.?\d* times slower, the tension of 'rope' is 9\d\d\.?\d* N .* below 990 N"
    ):
        keep_taut(prepared, 990.0)


def test_a_machine_without_ropes_is_refused():
    chain = open_model("mass-chain")
    prepared = prepare_inverse(chain.mechanism, chain.task("003"), plugins=chain.plugins)
    with pytest.raises(MechanismError, match="'mass-chain' has no rope whose tension is known"):
        keep_taut(prepared)
