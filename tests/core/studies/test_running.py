"""Studies carried out, interrupted, resumed and changed, with runs that are closed forms."""

import pytest

from kingpost.studies.planning import plan_study
from kingpost.studies.running import Progress, begin, carry_out, changes, done_keys, read_cases
from kingpost.studies.store import Store
from tests.core.studies.synthetic import TEXT, synthetic_plan, synthetic_runs


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return synthetic_plan(tmp_path_factory.mktemp("study"))


def counted(plan_runs):
    """Return runs that count themselves."""
    seen = []

    def runs(plan, cases):
        for outcome in plan_runs(plan, cases):
            seen.append(outcome.key)
            yield outcome

    return runs, seen


def test_keys_are_made_of_content(plan, tmp_path):
    again = synthetic_plan(tmp_path)
    assert [case.key for case in plan.cases()] == [case.key for case in again.cases()]
    assert len({case.key for case in plan.cases()}) == plan.count
    other = synthetic_plan(tmp_path, TEXT.replace("t_end = 600", "t_end = 500"))
    assert not {case.key for case in plan.cases()} & {case.key for case in other.cases()}
    assert plan.finer().digest != plan.digest


def test_limits_change_no_key(plan, tmp_path):
    """What limits are held against is kept whatever they are, so that other limits need no new runs."""
    other = synthetic_plan(tmp_path, TEXT.replace("max = 2.5e5", "max = 3e5"))
    assert [case.key for case in plan.cases()] == [case.key for case in other.cases()]


def test_an_interrupted_study_goes_on_where_it_was(plan, tmp_path):
    class StopError(Exception):
        pass

    def broken(plan, cases):
        for k, outcome in enumerate(synthetic_runs()(plan, cases)):
            if k == 50:
                raise StopError
            yield outcome

    told = []
    with Store(tmp_path) as store:
        assert begin(plan, store) == []
        with pytest.raises(StopError):
            carry_out(plan, store, broken, told.append)
        assert store.counts().done == 50
    runs, seen = counted(synthetic_runs())
    with Store(tmp_path) as store:
        assert begin(plan, store) == []
        carry_out(plan, store, runs, told.append)
        assert store.counts().open == 0
        table = read_cases(store)
    assert len(seen) == 192 - 50 and len(set(seen)) == len(seen)
    assert told[-1].fraction == 1.0
    with Store(tmp_path / "at once") as store:
        begin(plan, store)
        carry_out(plan, store, synthetic_runs())
        whole = read_cases(store)
    assert table.keys == whole.keys and (table.values == whole.values).all()


def test_a_study_that_changed_is_told_and_keeps_what_stays(plan, tmp_path):
    with Store(tmp_path) as store:
        begin(plan, store)
        carry_out(plan, store, synthetic_runs())
    other = synthetic_plan(tmp_path / "in", TEXT.replace("seeds = 12", "seeds = 13").replace("max = 2.5e5", "max = 2e5"))
    runs, seen = counted(synthetic_runs())
    with Store(tmp_path) as store:
        assert begin(other, store) == ["sea.seeds: 12 -> 13", "limits.slew.Mx.max: 250000.0 -> 200000.0"]
        carry_out(other, store, runs)
        assert store.counts().planned == len(done_keys(store)) == 4 * 2 * 13 * 2
    assert len(seen) == 4 * 2 * 2


def test_failures_are_kept_and_the_study_goes_on(plan, tmp_path):
    with Store(tmp_path) as store:
        begin(plan, store)
        carry_out(plan, store, synthetic_runs(lambda case: "boom" if case.labels["seed"] == 1 else ""))
        assert (store.counts().failed, store.counts().open) == (16, 0)
        assert {entry.outcome.error for entry in store.stored() if entry.state == "failed"} == {"boom"}


def test_changes_in_words():
    before = {"a": 1, "b": {"c": [1, 2], "d": 3}, "e": "x"}
    assert changes(before, {"a": 2, "b": {"c": [1, 2]}, "e": "x", "f": 1}) == [
        "a: 1 -> 2",
        "b.d is gone (it was 3)",
        "f = 1 is new",
    ]
    assert changes(before, before) == []


def test_the_time_left_is_at_the_pace_of_this_start():
    assert Progress(100, 40, 10, 0, 20.0).left == pytest.approx(100.0)
    assert Progress(100, 40, 0, 0, 20.0).left is None
    assert Progress(100, 40, 10, 0, 20.0).fraction == 0.5


def test_seas_and_names_that_the_machine_does_not_know_are_refused_before_any_run(tmp_path):
    with pytest.raises(Exception, match=r"sampler 'scatter': sea 'jonswap:.*'vessel-crane' takes no sea"):
        synthetic_plan(tmp_path, TEXT.replace("small-crane", "vessel-crane"))
    with pytest.raises(Exception, match=r"sampler 'list': .*'slow.angle'.*did you mean 'slew.angle'"):
        synthetic_plan(tmp_path, TEXT.replace('"slew.angle"', '"slow.angle"'))
    with pytest.raises(Exception, match="waves break"):
        synthetic_plan(tmp_path, scatter="Hs,Tp,probability\n6,4,1\n")


def test_seas_that_the_machine_cannot_be_run_in_are_named_and_the_study_goes_on(tmp_path):
    """A row of a scatter table whose waves would break, from two sides."""
    plan = synthetic_plan(tmp_path, scatter="Hs,Tp,probability\n6,4,0.25\n2,5,0.15\n1,6,0.6\n")
    assert all("waves break" in item.why for item in plan.refused)
    assert [item.weight for item in plan.refused] == pytest.approx([0.25 * 0.25, 0.25 * 0.75])
    assert "Hs=2,Tp=5" in plan.sea and plan.first_case().sea == plan.sea
    assert plan.count == len(list(plan.cases())) == 3 * 2 * 12 * 2


def test_plans_are_made_of_open_models(plan):
    assert plan_study(plan.study).opened.mechanism.name == "small-crane"
