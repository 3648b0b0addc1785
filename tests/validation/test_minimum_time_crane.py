"""A load from cradle to cradle on a rolling deck in the least time, within limits of moment, swing, pull and torque."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import optimise, simulate
from kingpost.modelfiles.opened import open_model

MOMENT = "norm(slew.Mx, slew.My)"
#: Samples of a replay in an interval.
FINE = 20


@pytest.fixture(scope="module")
def crane(plugins):
    return open_model("rolling-crane", plugins)


@pytest.fixture(scope="module")
def fastest(crane, plugins):
    known = {}

    def solve(intervals, transcription="step", start=None, **bounds):
        key = (intervals, transcription, str(bounds))
        if key not in known:
            task = crane.optimal_task("minimum-time")
            task = replace(task, bounds={**task.bounds, **bounds})
            starts = None if start is None else [start.path]
            found = optimise(
                crane.mechanism, task, intervals=intervals, transcription=transcription, starts=starts, plugins=plugins
            )
            assert found.status == "optimal"
            known[key] = found
        return known[key]

    return solve


def replayed(crane, found, plugins):
    """Return a run with the inputs that were found, held over their intervals, in short steps of another integrator."""
    task, h = found.problem.task, found.h / FINE
    inputs = {name: np.repeat(found.inputs[:, i], FINE) for i, name in enumerate(task.inputs)}
    return simulate(
        crane.mechanism,
        found.horizon,
        settings=task.settings,
        inputs={name: np.append(values, values[-1]) for name, values in inputs.items()},
        integrator="rk4",
        step=h,
        output_step=h,
        loads=("slew", "rope"),
        plugins=plugins,
    )


def seen(run, name):
    return np.hypot(run["slew.Mx"], run["slew.My"]) if name == MOMENT else run[name]


def exceeded(run, task):
    """Return by which part of their limits things are beyond these, by name."""
    found = {}
    for name, limits in task.bounds.items():
        if name in task.inputs:  # they are what was found
            continue
        values = seen(run, name)
        found[name] = max(values.max() - limits.high, limits.low - values.min(), 0.0) / limits.size
    return found


def check_replay(crane, found, plugins, end, beyond):
    task = found.problem.task
    run = replayed(crane, found, plugins)
    for name, limits in task.end.items():
        assert run[name][-1] == pytest.approx(limits.low, abs=end)
    for name, size in exceeded(run, task).items():
        assert size <= beyond, name
    return run


def test_the_crane_at_rest_carries_its_weight(crane, plugins):
    """Without roll and pitch and with the torque that holds the boom: weights times levers, by hand."""
    masses = {name: value.default for name, value in ((p.name, p) for p in crane.mechanism.parameters)}
    m = {name: masses[f"{name}_mass"] for name in ("king", "boom", "knuckle", "load")}
    inner, outer = 8.0 * np.cos(0.9), 5.0 * np.cos(0.2)
    moment = 9.81 * (m["boom"] * inner / 2 + m["knuckle"] * (inner + outer / 2) + m["load"] * (inner + outer))
    still = {"roll_amplitude": 0.0, "pitch_amplitude": 0.0, "luff_torque": moment}
    run = simulate(crane.mechanism, 0.1, settings=still, loads=("slew", "rope"), plugins=plugins, step=0.01, backend="vm")
    assert run["slew.My"] == pytest.approx(-moment, rel=1e-9)
    assert run["rope.Fz"] == pytest.approx(9.81 * m["load"], rel=1e-9)
    assert run["slew.Fz"] == pytest.approx(9.81 * sum(m.values()), rel=1e-9)
    assert run["offlead"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_the_limits_bite_and_the_replay_keeps_them(crane, fastest, plugins):
    """Limits hold at the points alone: between these they are exceeded by the curvature of what is limited times h^2 / 8.

    Swing of the rope, with w^2 = g / l = 1.5 / s^2 and torques that change its acceleration by up to 0.1 rad times w^2 and more
    within an interval of 0.13 s: 0.1 rad * 1.5 * 0.13^2 / 8 = 3e-4 rad, 0.3 % of the limit, for each such change; 2 % allows
    six of them. The states of the replay differ by those of collocation at three Radau points, of order 5: (w h)^5 = 1e-4.
    """
    found = fastest(60, "collocation:degree=3")
    biting = {item["name"] for item in found.active}
    assert {"slew_torque", "offlead", "sidelead", "rope.Fz", MOMENT} <= biting
    run = check_replay(crane, found, plugins, end=1e-4, beyond=0.02)
    # The pull of the rope is what moves the load against its weight: second differences of its place.
    h = run.time[1] - run.time[0]
    path = np.column_stack([run[f"hook.{axis}"] for axis in "xyz"])
    inside = np.arange(1, len(path) - 1) % FINE != 0  # torques jump at the others
    pull = 4000.0 * (np.diff(path, 2, axis=0) / h**2 + [0.0, 0.0, 9.81])[inside]
    assert np.linalg.norm(pull, axis=1) == pytest.approx(run["rope.Fz"][1:-1][inside], rel=1e-3)


@pytest.mark.slow
def test_two_transcriptions_tend_to_one_time(fastest):
    """Inputs are constant over intervals, so that both are of order h^2: so is what they differ by."""
    apart = []
    for intervals in (30, 60):
        ways = [fastest(intervals, way) for way in ("step", "collocation:degree=3")]
        apart.append(abs(ways[0].cost - ways[1].cost))
    assert apart[1] < apart[0] / 3
    # Their extrapolated limits differ by less than what is left of the distance.
    limits = []
    for way in ("step", "collocation:degree=3"):
        coarse, fine = (fastest(intervals, way).cost for intervals in (30, 60))
        limits.append(fine + (fine - coarse) / 3)
    assert limits[0] == pytest.approx(limits[1], abs=apart[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tighter"),
    [
        ("sidelead", [(-0.09, 0.09), (-0.08, 0.08)]),
        (MOMENT, [(0.0, 660e3), (0.0, 640e3)]),
        ("rope.Fz", [(30e3, 44e3), (30e3, 42e3)]),
        ("slew_torque", [(-50e3, 50e3), (-40e3, 40e3)]),
    ],
)
def test_tighter_limits_take_longer(fastest, name, tighter):
    first = fastest(20)
    times = [first.cost, *(fastest(20, start=first, **{name: limits}).cost for limits in tighter)]
    assert times[0] < times[1] < times[2]
