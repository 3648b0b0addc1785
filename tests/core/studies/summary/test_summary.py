"""What runs say together, against sums by hand and against a table of states of kingpost fatigue."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kingpost.fatigue import combine_hot_spots
from kingpost.fatigue.states import Weighted
from kingpost.studies.case import Case, Outcome
from kingpost.studies.case_table import case_table
from kingpost.studies.limits import Limit
from kingpost.studies.running import begin, carry_out, check_steps, read_cases, summary_of
from kingpost.studies.store import Store, StoredCase
from kingpost.studies.summary.operability import find_operability
from kingpost.studies.summary.page_runs import page_runs
from kingpost.studies.summary.record import summary_record
from kingpost.studies.summary.worst import step_change
from tests.core.studies.synthetic import SCALE, level, numbers, synthetic_plan, synthetic_runs


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return synthetic_plan(tmp_path_factory.mktemp("study"))


def run(plan, folder, fails=lambda case: "", leaves=lambda case: ""):
    with Store(folder) as store:
        begin(plan, store)
        carry_out(plan, store, synthetic_runs(fails, leaves))
        check_steps(plan, store, synthetic_runs())
        return summary_of(plan, store)


@pytest.fixture(scope="module")
def summary(plan, tmp_path_factory):
    return run(plan, tmp_path_factory.mktemp("whole"))


def test_damage_is_that_of_a_table_of_states(plan, summary):
    """The same damages and weights through kingpost.fatigue.combine_hot_spots: a state for each condition, seeds averaged."""
    for item in summary.damage:
        weighted, found = [], []
        for case in plan.cases():
            labels = {name: value for name, value in case.labels.items() if name != "seed"}
            damage = numbers(case)[f"hot spot {item.spot.name}:damage_per_year"]
            result = SimpleNamespace(
                spot=item.spot, curve=None, thickness_factor=1.0, damage_per_year=damage, spectral=None,
                signal=SimpleNamespace(cycles=SimpleNamespace(largest_range=1.0, total=1.0), equivalent_ranges=()),
            )  # fmt: skip
            weighted.append(Weighted(json.dumps(labels), Path(), case.weight))
            window = SimpleNamespace(duration=540.0)
            found.append(SimpleNamespace(results=[result], window=window, options=SimpleNamespace(f_ref=1.0)))
        (combined,) = combine_hot_spots(weighted, found)
        assert item.damage_per_year == combined.damage_per_year  # exactly: the same sum
        assert item.life_years == combined.life_years == 1 / (item.spot.dff * item.damage_per_year)
        assert math.fsum(part.added for part in item.cells) == pytest.approx(item.damage_per_year, rel=1e-13)
        shares = {}
        for state, added in combined.shares.items():
            labels = json.loads(state)
            shares[labels["Hs"], labels["Tp"]] = shares.get((labels["Hs"], labels["Tp"]), 0.0) + added
        for part in item.cells:
            assert part.added == pytest.approx(shares[part.labels["Hs"], part.labels["Tp"]], rel=1e-13)


def test_damage_by_position_is_conditional(plan, summary):
    ring = next(item for item in summary.damage if item.spot.name == "ring")
    for part in ring.positions:
        cases = [case for case in plan.cases() if case.labels["position"] == part.labels["position"]]
        added = math.fsum(case.weight * numbers(case)["hot spot ring:damage_per_year"] for case in cases)
        assert part.added == pytest.approx(added, rel=1e-13)
        assert part.alone == pytest.approx(added / math.fsum(case.weight for case in cases), rel=1e-13)


def test_operability_is_the_weight_of_runs_within_all_limits(plan, summary):
    def within(case):
        found = numbers(case)
        return found["slew.Mx:max"] <= 2.5e5 and found["tip.z:range"] <= 1.5

    expected = math.fsum(case.weight for case in plan.cases() if within(case))
    assert summary.operability.percent == pytest.approx(100 * expected, rel=1e-12)
    for share in summary.operability.cells:
        inside = [case for case in plan.cases() if (case.labels["Hs"], case.labels["Tp"]) == tuple(share.labels.values())]
        part = math.fsum(case.weight for case in inside if within(case)) / math.fsum(case.weight for case in inside)
        assert share.within == pytest.approx(part, rel=1e-12)
        assert share.runs == len(inside)


def test_extremes_have_the_distribution_that_runs_were_drawn_from(summary):
    """Peaks are level (1 + 0.08 g) with g of Gumbel: location = level, scale = 0.08 level, within four sigma of 12 values."""
    first = summary.extremes[0]
    assert (first.channel, first.side, len(first.values)) == ("slew.Mx", "max", 12)
    size = level(first.labels)
    assert first.fit.location == pytest.approx(size, abs=4 * 1.053 * SCALE * size / math.sqrt(12))
    assert first.fit.scale == pytest.approx(SCALE * size, rel=4 * 0.78 / math.sqrt(12))
    expected = first.expected()
    assert expected.most_probable == pytest.approx(first.fit.location + first.fit.scale * math.log(20.0))  # 3 h / 540 s
    assert expected.most_probable_low < expected.most_probable < expected.most_probable_high
    assert expected.fractile > expected.most_probable
    smallest = next(item for item in summary.extremes if item.side == "min")
    assert smallest.expected().most_probable < smallest.mean < 0
    assert smallest.expected().most_probable_low < smallest.expected().most_probable_high


def test_failed_seeds_are_stood_for_by_the_others(plan, tmp_path):
    def fails(case):
        return "exploded" if case.labels["seed"] == 5 and case.labels["Hs"] == 3.0 else ""

    found = run(plan, tmp_path, fails)
    assert found.table.weights.of.sum() == pytest.approx(1.0)
    assert found.table.weights.uncovered == 0.0
    assert "4 of 192 runs failed" in found.warnings[0]
    ring = next(item for item in found.damage if item.spot.name == "ring")
    sums: dict[str, list[tuple[float, float]]] = {}
    for case in plan.cases():
        labels = json.dumps({name: value for name, value in case.labels.items() if name != "seed"})
        if not fails(case):
            sums.setdefault(labels, []).append((case.weight * 12, numbers(case)["hot spot ring:damage_per_year"]))
    by_hand = math.fsum(weight * damage / len(parts) for parts in sums.values() for weight, damage in parts)
    assert ring.damage_per_year == pytest.approx(by_hand, rel=1e-12)


def test_conditions_without_any_result_are_told_and_are_not_workable(plan, summary, tmp_path):
    found = run(plan, tmp_path, lambda case: "exploded" if case.labels["Hs"] == 1.0 else "")
    assert found.table.weights.uncovered == pytest.approx(0.4)
    assert any("40.000% of the time have no result at all" in warning for warning in found.warnings)
    assert found.operability.unknown == pytest.approx(0.4)
    assert found.operability.percent == pytest.approx(summary.operability.percent - 40.0)


def test_cases_outside_linear_theory_are_counted_nowhere_and_are_not_workable(plan, summary, tmp_path):
    """One seed of a sea state capsizes at every heading and position, and another one fails there."""

    def there(case, seed):
        return case.labels["seed"] == seed and case.labels["Hs"] == 3.0

    def leaves(case):
        return "'hull' tilts by up to 90 deg" if there(case, 5) else ""

    found = run(plan, tmp_path, lambda case: "exploded" if there(case, 6) else "", leaves)
    # What the failed seed stood for, 1/60 of the time, is shared by the 11 others, the capsized one among them.
    left_out = 0.2 / 11
    weights = found.table.weights
    assert weights.left_out == pytest.approx(left_out) and weights.uncovered == 0.0
    assert weights.of.sum() == pytest.approx(1.0 - left_out)
    assert "4 of 192 runs left the small angles of linear theory: 1.818% of the time" in found.warnings[0]
    by_hand = math.fsum(
        case.weight * (12 / 11 if case.labels["Hs"] == 3.0 else 1.0) * numbers(case)["hot spot ring:damage_per_year"]
        for case in plan.cases()
        if not (there(case, 5) or there(case, 6))
    )
    ring = next(item for item in found.damage if item.spot.name == "ring")
    assert ring.damage_per_year == pytest.approx(by_hand, rel=1e-12)
    assert {len(item.values) for item in found.extremes if item.labels["Hs"] == 3.0} == {10}
    # Over the side this sea is beyond the limits anyway; parked it was within them before.
    parked = 0.7 * left_out
    assert found.operability.percent == pytest.approx(summary.operability.percent - 100 * parked)
    assert found.operability.outside == pytest.approx(left_out)
    assert found.operability.by_limit["outside linear theory"] == pytest.approx(left_out)
    assert found.operability.workable + found.operability.beyond == pytest.approx(1.0)
    (cell,) = (share for share in found.operability.cells if share.labels["Hs"] == 3.0)
    assert (cell.outside, cell.failed, cell.done) == (4, 4, 40)
    (place,) = (share for share in found.operability.positions if share.labels["position"] == "parked")
    assert place.limiting == "outside linear theory"
    record = summary_record(found)
    assert record["cases"]["outside_linear_theory"] == 4 and record["cases"]["done"] == 184
    told = record["outside_linear_theory"]
    assert told["part_of_time"] == pytest.approx(left_out) and len(told["runs"]) == 4
    assert told["cells"] == [{"labels": {"Hs": 3.0, "Tp": 8.0}, "part_of_time": pytest.approx(left_out)}]
    assert told["runs"][0]["why"] == "'hull' tilts by up to 90 deg"
    assert set(found.table.state) == {"done", "failed", "outside linear theory"}
    assert not {told["runs"][k]["key"] for k in range(4)} & {found.table.keys[i] for i in found.ranking.worst(200)}


def test_a_study_whose_cases_all_leave_linear_theory_says_nothing_but_that(plan, tmp_path):
    found = run(plan, tmp_path, leaves=lambda case: "'hull' tilts")
    assert found.table.weights.left_out == pytest.approx(1.0)
    assert found.operability.percent == 0.0 and found.operability.unknown == 0.0
    assert found.extremes == () and all(item.damage_per_year == 0.0 for item in found.damage)
    json.dumps(summary_record(found), allow_nan=False)


def test_half_a_step_that_leads_out_of_linear_theory_is_told(plan, tmp_path):
    with Store(tmp_path) as store:
        begin(plan, store)
        carry_out(plan, store, synthetic_runs())
        changes = check_steps(plan, store, synthetic_runs(leaves=lambda case: "'hull' tilts by up to 90 deg"))
    assert {change.error for change in changes} == {"it goes outside linear theory: 'hull' tilts by up to 90 deg"}


def test_the_step_check_finds_what_changes(summary):
    assert [change.name for change in summary.step_changes] == ["slew.Mx:max", "slew.Mx:max"]
    assert all(change.part == pytest.approx(0.002 / 1.002, rel=1e-9) for change in summary.step_changes)
    bad = step_change(
        "k",
        {"slew.Mx:max": 1.0, "slew.My:max": 0.01, "tip.z:max": 1.0},
        {"slew.Mx:max": 1.0, "slew.My:max": 0.02, "tip.z:max": 1.5},
    )
    assert (bad.name, bad.part) == ("tip.z:max", pytest.approx(1 / 3))  # the small moment changes by 1 % of the joint's largest
    assert step_change("k", {}, {}, "failed").part == math.inf


def test_the_record_is_json_without_gaps(summary):
    record = summary_record(summary)
    again = json.loads(json.dumps(record, allow_nan=False))
    assert again["cases"] == {"planned": 192, "done": 192, "failed": 0, "outside_linear_theory": 0, "open": 0, "cpu_s": 48.0}
    assert again["worst"]["by"] == "excess over the limits"
    assert again["worst"]["runs"][0]["labels"]["Hs"] == 3.0


def test_the_page_gets_the_worst_of_many_runs(summary):
    everything, some = page_runs(summary), page_runs(summary, most=40)
    assert len(everything["rows"]) == 192 and not everything["note"]
    assert len(some["rows"]) == 40
    assert "152 of 192 runs are in the table of cases only" in some["note"]
    worst = summary.table.keys[summary.ranking.worst(1)[0]]
    assert worst in {row[0] for row in some["rows"]}


def test_limits_of_one_sort_each():
    entries = [
        StoredCase(
            k,
            Case(f"{k:020x}", labels={"seed": k}, weight=0.5),
            Outcome("", {"x:max": peak, "x:min": -peak, "x:share above 2": share}),
        )
        for k, (peak, share) in enumerate([(1.0, 0.0), (3.0, 0.02)])
    ]
    table = case_table(entries)
    for limit, percent in [
        (Limit("x", max=2.0), 50),
        (Limit("x", min=-2.0), 50),
        (Limit("x", max=2.0, share=0.05), 100),
        (Limit("x", max=0.0), 0),
    ]:
        assert find_operability(table, [limit]).percent == pytest.approx(percent)
    assert find_operability(table, []) is None


def test_one_seed_says_nothing_about_errors():
    entries = [StoredCase(0, Case("0" * 20, labels={"seed": 1}, weight=1.0), Outcome("", {"a": 1.0}))]
    from kingpost.studies.summary.damage import seed_error

    assert math.isnan(seed_error(case_table(entries), np.array([1.0])))


def test_the_error_of_seeds_is_that_of_a_mean():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    entries = [
        StoredCase(k, Case(f"{k:020x}", labels={"seed": k}, weight=0.25), Outcome("", {"a": v})) for k, v in enumerate(values)
    ]
    from kingpost.studies.summary.damage import seed_error

    assert seed_error(case_table(entries), values) == pytest.approx(values.std(ddof=1) / 2)


def test_cases_read_back_are_the_planned_ones(plan, tmp_path):
    with Store(tmp_path) as store:
        begin(plan, store)
        table = read_cases(store)
    assert list(table.keys) == [case.key for case in plan.cases()]
    assert not table.done.any()
