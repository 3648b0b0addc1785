"""Numbers of samples that go by are those of all samples at once, to the last bit."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kingpost import KingpostError
from kingpost.base.channels import Channel
from kingpost.fatigue import count_cycles, damage_equivalent_range
from kingpost.fatigue.counting import CycleCounter
from kingpost.fatigue.sn import curve_set, miner_damage
from kingpost.results.history import History
from kingpost.studies.streaming import LOT, Damages, EquivalentRanges, Exceedances, Mixed, Moments, RangeClasses, RangeSums

SLOPES = (3.0, 4.5, 10.0)
ROWS = 2 * LOT + 777


def signal(rows=ROWS, columns=3):
    """A random walk around a large mean, where sums of squares would lose all digits, noise, and one that hardly moves."""
    rng = np.random.default_rng(4)
    walk = np.cumsum(rng.normal(size=rows)) + 1e8
    return np.column_stack([walk, rng.normal(size=rows) * 1e6, 1e-3 * np.sin(np.arange(rows))])[:, :columns]


class NamedMoments(Moments):
    def found(self):
        what = {"max": self.largest, "min": self.smallest, "mean": self.mean, "std": self.deviation, "last": self.last}
        what["rms"] = self.root_mean_square
        return {f"{name}{i}": float(x) for name, column in what.items() for i, x in enumerate(column)}


class NamedClasses(RangeClasses):
    def found(self):
        return {f"{i}.{j}": float(x) for i, counted in enumerate(self.counted) for j, x in enumerate(counted)}


class NamedDamages(Damages):
    def found(self):
        return {f"{i}": float(x) for i, x in enumerate([*self.damage, *self.cycles, *self.largest])}


class NamedExceedances(Exceedances):
    def found(self):
        return {f"{i}": float(x) for i, x in enumerate([*self.beyond, *self.times])}


CURVE = next(iter(curve_set().curves.values()))
MATRIX = np.array([[1.0, -2.0, 0.5], [0.1, 0.3, 1e6]])
MAKERS = {
    "moments": lambda: NamedMoments(3),
    "equivalent": lambda: EquivalentRanges("abc", SLOPES, 1.0),
    "equivalent filtered": lambda: EquivalentRanges("abc", SLOPES, 1.0, 0.5),
    "classes": lambda: NamedClasses([np.linspace(0, 100.0, 9)] * 3),
    "damages": lambda: NamedDamages([CURVE] * 3, [1.0, 2.0, 1.0]),
    "exceedances": lambda: NamedExceedances([0, 1, 1], [1e8, 1e6, -1e6], [1.0, 1.0, -1.0], 3),
    "mixed": lambda: Mixed(MATRIX, ["a", "b", "c"], NamedDamages([CURVE] * 2, [1.0, 1.0])),
}


def added(accumulator, values, size):
    time = np.arange(len(values)) * 0.1
    for first in range(0, len(values), size):
        block = values[first : first + size].copy()
        accumulator.add(time[first : first + size], block)
        block[:] = np.nan  # the room is used again
    return accumulator


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_the_sizes_of_blocks_make_no_difference_to_any_bit(maker):
    values = signal()
    whole = added(maker(), values, ROWS).numbers()
    for size in (1, 13, LOT, LOT + 1):
        assert added(maker(), values, size).numbers() == whole
    halfway = added(maker(), values[: LOT + 5], 100)
    assert halfway.numbers() == halfway.numbers()  # asking changes nothing
    first, rest = np.arange(LOT + 5) * 0.1, np.arange(LOT + 5, ROWS) * 0.1
    assert len(first) == halfway.samples
    halfway.add(rest, values[LOT + 5 :])
    assert halfway.numbers() == whole


def test_moments_against_numpy():
    """About a mean of 1e8 the deviation of a walk is found to some 1e-13 of itself: means are taken off before squaring."""
    values = signal()
    found = added(MAKERS["moments"](), values, 100).numbers()
    exact = values.astype(np.longdouble)
    for i in range(3):
        assert found[f"max{i}"] == values[:, i].max()
        assert found[f"min{i}"] == values[:, i].min()
        assert found[f"last{i}"] == values[-1, i]
        scale = float(np.abs(values[:, i]).max())
        # Sums of n numbers in lots: some n eps of the largest at worst, root n as a rule.
        assert abs(found[f"mean{i}"] - float(exact[:, i].mean())) < 1e-14 * scale * np.sqrt(ROWS)
        std = float(exact[:, i].std())
        assert abs(found[f"std{i}"] - std) < 1e-12 * std
        assert abs(found[f"rms{i}"] - float(np.sqrt((exact[:, i] ** 2).mean()))) < 1e-12 * scale


def test_counted_cycles_are_those_of_counting_at_once():
    values = signal()
    equivalent = added(MAKERS["equivalent"](), values, 100).numbers()
    classes = added(MAKERS["classes"](), values, 100).numbers()
    damages = added(MAKERS["damages"](), values, 100).numbers()
    for i, name in enumerate("abc"):
        cycles = count_cycles(values[:, i])
        for slope in SLOPES:
            whole = damage_equivalent_range(cycles, slope, (ROWS - 1) * 0.1).range
            assert equivalent[f"{name}:del{slope:g}"] == pytest.approx(whole, rel=1e-13)
        edges = np.append(np.linspace(0, 100.0, 9), np.inf)
        assert [classes[f"{i}.{j}"] for j in range(9)] == np.histogram(cycles.range, edges, weights=cycles.count)[0].tolist()
        assert damages[str(i)] == pytest.approx(miner_damage(cycles, CURVE, [1.0, 2.0, 1.0][i]), rel=1e-12)
        assert (damages[str(3 + i)], damages[str(6 + i)]) == (cycles.total, cycles.largest_range)


SIGNALS = st.lists(st.integers(-4, 4), min_size=2, max_size=60)


@settings(deadline=None, max_examples=150)
@given(SIGNALS, st.lists(st.integers(1, 20), min_size=1, max_size=6), st.sampled_from([0.0, 1.5]))
def test_cycles_that_stand_can_be_let_go(levels, sizes, threshold):
    """Whatever the blocks: what was drained, then the result, is what is counted at once, in the same order."""
    counter, parts, first = CycleCounter(threshold), [], 0
    for size in sizes * len(levels):
        counter.add([float(x) for x in levels[first : first + size]])
        parts.append(counter.drained())
        assert len(counter.drained()) == 0
        first += size
        if first >= len(levels):
            break
    rest = counter.result()
    whole = count_cycles(levels, threshold)
    for name in ("range", "mean", "count", "start", "end"):
        joined = np.concatenate([*(getattr(part, name) for part in parts), getattr(rest, name)])
        assert np.array_equal(joined, getattr(whole, name)), name
    assert np.array_equal(rest.residue_value, whole.residue_value)


def test_exceedances_against_a_look_at_all():
    values = signal()
    found = added(MAKERS["exceedances"](), values, 100).numbers()
    for i, beyond in enumerate([values[:, 0] > 1e8, values[:, 1] > 1e6, values[:, 1] < -1e6]):
        assert found[str(i)] == beyond.sum()
        assert found[str(3 + i)] == np.count_nonzero(np.diff(beyond.astype(int)) == 1) + beyond[0]


def test_stresses_are_mixes_of_loads():
    values = signal()
    found = added(MAKERS["mixed"](), values, 100).numbers()
    for i, stress in enumerate((values @ MATRIX.T).T):
        cycles = count_cycles(stress)
        # Products in another order differ by eps of the largest contribution, and damage by the slope times that.
        assert found[str(i)] == pytest.approx(miner_damage(cycles, CURVE), rel=1e-6)


def test_memory_does_not_grow_with_the_number_of_samples():
    def used(lots):
        accumulators = [MAKERS[name]() for name in ("moments", "equivalent", "exceedances", "mixed")]
        values = np.sin(np.arange(3 * LOT) / 10).reshape(3, LOT).T.copy()  # some 30 cycles
        tracemalloc.start()
        for lot in range(lots):
            for accumulator in accumulators:
                accumulator.add(lot * LOT + np.arange(LOT) * 1.0, values)
        found = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return found

    assert used(30) < used(3) + 20_000  # cycles that are kept would take 100 000, samples 4 MB


def test_large_slopes_do_not_overflow():
    sums = RangeSums((1000.0,))
    for peak in (1e-3, 1e6, 1e-6):
        sums.add(count_cycles([0.0, peak, 0.0]))
    assert sums.equivalent(1000.0, 1.0, 1.0).range == pytest.approx(1e6)
    with pytest.raises(KingpostError, match="N_eq = T f_ref = 0 s"):
        sums.equivalent(1000.0, 0.0, 1.0)


def test_what_cannot_be_added_is_refused():
    with pytest.raises(KingpostError, match="there are no samples to make numbers of"):
        NamedMoments(2).numbers()
    with pytest.raises(KingpostError, match=r"3 samples of 2 channels came as an array of shape \(3, 1\)"):
        NamedMoments(2).add(np.zeros(3), np.zeros((3, 1)))


@pytest.mark.parametrize("name", ["statistics", "equivalent-range", "rainflow", "exceedance"])
def test_reducers_that_stream_give_what_they_find_in_a_history(plugins, name):
    options = {
        "statistics": {"channels": ("a", "b"), "of": ("max", "min", "mean", "std", "rms", "range", "absmax", "last")},
        "equivalent-range": {"channels": ("b", "a"), "slopes": SLOPES},
        "rainflow": {"largest": {"a": 50.0, "b": 1e7}},
        "exceedance": {"limits": {"b": {"max": 1e6, "min": -1e6}}},
    }[name]
    from kingpost.registry.selection import select

    reducer = select(plugins.of("reducers"), name, options)
    values = signal(3000)
    time = np.arange(3000) * 0.1
    channels = tuple(Channel(letter, "N") for letter in "abc")
    whole = reducer.reduce(History(time, channels, values))
    names = list(reducer.channels(channels))
    stream = reducer.begin([channel for word in names for channel in channels if channel.name == word])
    columns = ["abc".index(word) for word in names]
    for first in range(0, 3000, 100):
        stream.add(time[first : first + 100], values[first : first + 100, columns])
    assert stream.numbers() == whole
    assert whole
