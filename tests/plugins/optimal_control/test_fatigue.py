"""Fatigue as a cost: the number that is counted in the result, exact derivatives, and what it is traded for."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import MechanismError, Phase, PluginError, RunSettings, optimise
from kingpost.control.optimal import search
from kingpost.control.optimal.counted import Count, CountedProgram, CountedRange, counts_of
from kingpost.control.optimal.record import history_of
from kingpost.fatigue.assessment import assess_hot_spots
from kingpost.fatigue.counting import count_cycles
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.sn import curve_set
from kingpost.mechanism.optimal_parts import CostPart
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")
STRESS = {"pivot.Fx": 5e6}
WEIGHTS = (1e5, 1e6)


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def solve(pendulum, plugins):
    def solved(*costs, solver=None, **changes):
        task = replace(pendulum.optimal_task("001"), costs=costs, intervals=16, **changes)
        return optimise(pendulum.mechanism, task, how=VM, plugins=plugins, solver=solver)

    return solved


def fatigue(weight, **changes):
    return CostPart("fatigue", weight, {"stress": STRESS, "curve": "D-air", **changes})


@pytest.fixture(scope="module")
def found(solve):
    return {weight: solve(CostPart("effort"), fatigue(weight)) for weight in WEIGHTS}


def effort(found):
    return found.h / 2 * (found.inputs**2).sum()


def damage(found):
    """What is counted in the result, by the same rule and curve."""
    spot = HotSpot("pivot", "D-air", STRESS)
    return assess_hot_spots(history_of(found, 0.0), [spot]).results[0].damage


def test_the_cost_is_the_damage_that_is_counted_in_the_result(found):
    for weight, each in found.items():
        assert each.status == "optimal"
        assert each.cost == pytest.approx(effort(each) + weight * damage(each), rel=1e-8)
        assert each.attempts[-1].stage.startswith("ranges counted")


def test_each_motion_is_the_best_for_its_own_weight(found):
    """Less damage for more effort, and with its own weight each costs less than the other."""
    low, high = (found[weight] for weight in WEIGHTS)
    assert damage(high) < damage(low)
    assert effort(high) > effort(low)
    for own, other, weight in ((low, high, WEIGHTS[0]), (high, low, WEIGHTS[1])):
        assert own.cost < effort(other) + weight * damage(other)


#: The same grid in two phases: 6 and 10 intervals of 3/16 s.
PHASES = {"horizon": None, "phases": (Phase(1.125, intervals=6), Phase(1.875, intervals=10))}


@pytest.fixture(scope="module")
def in_phases(solve):
    return solve(CostPart("effort"), fatigue(WEIGHTS[0]), **PHASES)


def test_ranges_go_through_phases(found, in_phases):
    """Phases without anything where they meet are one motion: the same cost, to what counts agree to, and the same damage."""
    whole = found[WEIGHTS[0]]
    assert in_phases.status == "optimal"
    assert in_phases.cost == pytest.approx(whole.cost, rel=2e-6)
    assert in_phases.inputs == pytest.approx(whole.inputs, abs=2e-3 * np.abs(whole.inputs).max())
    assert damage(in_phases) == pytest.approx(damage(whole), rel=1e-3)
    efforts = sum(part.cost for part in in_phases.parts)
    assert efforts == pytest.approx(sum(map(effort, in_phases.parts)), rel=1e-9)
    assert in_phases.cost == pytest.approx(efforts + WEIGHTS[0] * damage(in_phases), rel=1e-8)


def test_phases_with_other_costs_and_lengths_are_counted_too(solve):
    """The damage of the whole counts beside what a phase says; lengths are found."""
    phases = Phase((0.5, 2.0), intervals=6, costs=({"term": "effort", "weight": 2.0},)), Phase((1.0, 2.5), intervals=10)
    given = {"horizon": 3.0, "phases": phases}
    plain, tired = (solve(CostPart("effort"), *more, **given) for more in ((), (fatigue(1e6),)))
    efforts = [2 * effort(each.parts[0]) + effort(each.parts[1]) for each in (plain, tired)]
    damages = [uneven_damage(each) for each in (plain, tired)]
    assert tired.cost == pytest.approx(efforts[1] + 1e6 * damages[1], rel=1e-8)
    assert damages[1] < damages[0]
    assert efforts[1] > efforts[0]
    assert tired.cost < efforts[0] + 1e6 * damages[0]


def uneven_damage(found):
    """The same as :func:`damage` for samples that are not as far apart everywhere, which assessments refuse."""
    cycles = count_cycles(5e6 * history_of(found, 0.0, ["pivot"])["pivot.Fx"])
    return (cycles.count / curve_set(None).get("D-air").cycles_to_failure(cycles.range)).sum()


@pytest.mark.parametrize("phased", [False, True])
def test_derivatives_agree_with_finite_differences(found, in_phases, phased):
    """Of the program with ends of ranges, by central differences: errors and noise of 1e-9."""
    each = in_phases if phased else found[WEIGHTS[0]]
    program = CountedProgram(each.program, tuple(part.program for part in each.parts), each.problem, counts_of(each))
    rng = np.random.default_rng(5)
    x = program.start(each.solution.w) / program.scales
    x = x + 1e-3 * rng.normal(size=len(x))
    made, theta, lam = program.functions.options(), program.theta, rng.normal(size=program.rows)
    J, H = made["jac_g"](x, theta)[1].full(), made["hess_lag"](x, theta, 1.0, lam).full()
    H = H + np.triu(H, 1).T

    def slope(x):
        return np.asarray(made["grad_f"](x, theta)[1]).ravel() + np.asarray(made["jac_g"](x, theta)[1].T @ lam).ravel()

    for i in [*range(0, len(x), 7), *range(len(x) - 6, len(x))]:
        ahead, behind = (x + sign * 1e-5 * np.eye(len(x))[i] for sign in (1, -1))
        rows = [np.asarray(made["jac_g"](item, theta)[0]).ravel() for item in (ahead, behind)]
        assert J[:, i] == pytest.approx((rows[0] - rows[1]) / 2e-5, rel=1e-6, abs=1e-6)
        assert H[:, i] == pytest.approx((slope(ahead) - slope(behind)) / 2e-5, rel=1e-5, abs=1e-5)


def test_extremes_may_move_up_to_their_neighbours():
    values = np.array([0.0, 1.0, 3.0, 2.5, 2.0, -1.0, 0.5])
    count = Count(1.0, None, values, (CountedRange(2, 5, 4.0, 1.0, 3.0), CountedRange(2, 0, 3.0, 0.5, 3.0)))
    assert [list(count.around(sample)) for sample in (0, 2, 5)] == [[0, 1], [1, 2, 3, 4], [3, 4, 5]]
    assert count.ends == ((0, False), (2, True), (5, False))
    assert (count.cost, count.size) == (1.5, 4.0)


def test_ranges_that_do_not_settle_are_told(solve, monkeypatch):
    monkeypatch.setattr(search, "COUNTS", 1)
    monkeypatch.setattr(search, "AGREE", -1.0)
    each = solve(CostPart("effort"), fatigue(1e5))
    assert "still change after 1 counts: the motion costs" in each.notes[0]


@pytest.mark.parametrize(
    ("costs", "changes", "error", "message"),
    [
        ((fatigue(1.0),), {}, MechanismError, "in the motion that other costs lead to; add one, such as effort"),
        (("effort", fatigue(1.0, stress={})), {}, PluginError, "stress: give a number in Pa per N"),
        (("effort", fatigue(1.0, curve="Z")), {}, PluginError, "Z"),
        (("effort", fatigue(1.0)), {"solver": "fatrop"}, MechanismError, "counted ranges join distant ones; take 'ipopt'"),
        (
            ("effort",),
            {"horizon": None, "phases": (Phase(1.0), Phase(2.0, costs=("effort", fatigue(1.0))))},
            MechanismError,
            "is of the whole motion; name it among the costs of the task, not of a phase",
        ),
        (
            (fatigue(1.0),),
            {"horizon": None, "phases": (Phase(1.0, costs=("effort",)), Phase(2.0, name="back"))},
            MechanismError,
            "add one of phase 'back', such as effort",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(solve, costs, changes, error, message):
    with pytest.raises(error, match=message):
        solve(*costs, **changes)
