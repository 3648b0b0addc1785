"""The samplers: every one conforms, and chooses what its options say."""

import itertools
import math

import numpy as np
import pytest

from kingpost import KingpostError, MechanismError, PluginSet
from kingpost.base.fields import fill
from kingpost.plugins.samplers.grid import Grid
from kingpost.plugins.samplers.latin_hypercube import LatinHypercube
from kingpost.plugins.samplers.listed import Listed
from kingpost.plugins.samplers.one_at_a_time import OneAtATime
from kingpost.plugins.samplers.scatter import Scatter, own_seed
from kingpost.plugins.samplers.values import values_by_name
from kingpost.testing.samplers import SAMPLER_CHECKS, SamplerSubject, check_sampler

ROWS = [[1.0, 6.0, 0.4], [2.0, 6.0, 0.1], [2.0, 8.0, 0.5], [3.0, 8.0, 0.0]]
SUBJECTS = {
    "grid": {"values": {"mass": [1.0, 2.0, 3.0], "length": {"from": 0.0, "to": 1.0, "count": 5}}},
    "list": {"cases": [{"name": "parked", "probability": 0.75, "settings": {"a": 1}}, {"name": "out", "probability": 0.25}]},
    "latin-hypercube": {"ranges": {"a": [0.0, 1.0], "b": [10.0, 1000.0]}, "count": 40, "logarithmic": ["b"]},
    "one-at-a-time": {"values": {"a": [1, 2], "b": [3]}, "base": {"a": 1.5}},
    "scatter": {"scatter": ROWS, "headings": [150, 180], "seeds": 3},
}


def made(cls, **options):
    return cls(fill(cls.Options, options, f"sampler '{cls.name}'"))


@pytest.mark.parametrize("check", SAMPLER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SUBJECTS)
def test_conformance(name, check):
    check(SamplerSubject(name, SUBJECTS[name], PluginSet(entry_points=False)))


def test_every_sampler_of_ours_is_checked():
    assert set(PluginSet(entry_points=False).samplers) == set(SUBJECTS)


def test_a_grid_has_every_combination_with_the_same_weight():
    samples = list(made(Grid, **SUBJECTS["grid"]).cases())
    expected = set(itertools.product([1.0, 2.0, 3.0], [0.0, 0.25, 0.5, 0.75, 1.0]))
    assert {tuple(sample.settings.values()) for sample in samples} == expected
    assert {sample.weight for sample in samples} == {1 / 15}


def test_every_part_of_every_range_of_a_latin_hypercube_has_one_point():
    sampler = made(LatinHypercube, **SUBJECTS["latin-hypercube"])
    points = np.array([tuple(sample.settings.values()) for sample in sampler.cases()])
    parts = np.column_stack([points[:, 0], np.log10(points[:, 1]) / 2 - 0.5])
    assert [sorted(np.floor(40 * column).astype(int).tolist()) for column in parts.T] == [list(range(40))] * 2
    other = made(LatinHypercube, ranges={"a": [0.0, 1.0]}, count=40, seed=1)
    assert [sample.settings["a"] for sample in other.cases()] != points[:, 0].tolist()


def test_one_number_at_a_time_differs_from_the_base_case():
    samples = list(made(OneAtATime, **SUBJECTS["one-at-a-time"]).cases())
    assert [sample.settings for sample in samples] == [{"a": 1.5}, {"a": 1}, {"a": 2}, {"a": 1.5, "b": 3}]
    assert [sample.weight for sample in samples] == [1, 0, 0, 0]
    assert [sample.labels["changed"] for sample in samples] == ["base", "a = 1", "a = 2", "b = 3"]


def test_sea_states_come_from_all_sides_with_seeds_of_their_own():
    sampler = made(Scatter, scatter=ROWS, headings=[[150, 0.25], [180, 0.75]], seeds=3, components=40, options={"gamma": 2.0})
    samples = list(sampler.cases())
    assert len(samples) == 3 * 2 * 3  # the one that never occurs is not run
    assert math.fsum(sample.weight for sample in samples) == pytest.approx(1.0, abs=1e-15)
    first = samples[0]
    assert first.labels == {"Hs": 1.0, "Tp": 6.0, "heading": 150.0, "seed": 1}
    assert first.weight == pytest.approx(0.4 * 0.25 / 3)
    assert first.sea == f"jonswap:Hs=1,Tp=6,heading=150,seed={own_seed(1.0, 6.0, 150.0, 1)},gamma=2,components=40"
    assert len({sample.sea.partition("seed=")[2] for sample in samples}) == len(samples)
    common = made(Scatter, scatter=ROWS, seeds=[7, 9], common_seeds=True)
    assert [sample.sea for sample in common.cases()][:2] == [
        "jonswap:Hs=1,Tp=6,heading=180,seed=7",
        "jonswap:Hs=1,Tp=6,heading=180,seed=9",
    ]


def test_a_number_in_the_words_of_a_sea_keeps_all_its_digits():
    (sample,) = made(Scatter, scatter=[[2.123456789, 8.1, 1.0]], common_seeds=True).cases()
    words = dict(word.split("=") for word in sample.sea.partition(":")[2].split(","))
    assert (float(words["Hs"]), float(words["Tp"])) == (2.123456789, 8.1)


def test_a_row_that_is_added_changes_no_other_seed():
    before = {sample.sea for sample in made(Scatter, scatter=ROWS[:3], seeds=4).cases()}
    rows = [[0.5, 5.0, 0.1], [1.0, 6.0, 0.3], *ROWS[1:3]]
    assert before <= {sample.sea for sample in made(Scatter, scatter=rows, seeds=4).cases()}


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (Grid, {"values": {}}, "give values by name"),
        (Grid, {"values": {"a": [1, 1]}}, r"'a' has the values \[1.0, 1.0\]; give 1 or more that differ"),
        (Grid, {"values": {"a": [math.inf]}}, "no list of finite numbers"),
        (Grid, {"values": {"a": {"from": 0, "too": 1, "count": 3}}}, "did you mean 'to'"),
        (Grid, {"values": {"a": {"from": 0, "to": 1, "count": 1}}}, "a 'count' of 2 or more"),
        (Listed, {"cases": []}, "the list of cases is empty"),
        (Listed, {"cases": [{"name": "a"}, {"name": "a"}]}, "two cases are called 'a'"),
        (Listed, {"cases": [{"name": "a", "probability": 0.5}, {"name": "b"}]}, "1 of 2 cases have a probability"),
        (Listed, {"cases": [{"name": "a", "probability": 0.5}]}, "add up to 0.5, not 1"),
        (Listed, {"cases": [{"nam": "a"}]}, "did you mean 'name'"),
        (Listed, {"cases": [{"settings": {"x": "y"}}]}, "x = 'y' is not a finite number"),
        (LatinHypercube, {"ranges": {"a": [2, 1]}, "count": 3}, "give its lowest and highest number"),
        (LatinHypercube, {"ranges": {"a": [0, 1]}, "count": 0}, "give 1 point or more"),
        (LatinHypercube, {"ranges": {"a": [0, 1]}, "count": 2**63}, "give 1 point or more, up to 1000000"),
        (LatinHypercube, {"ranges": {"a": [0, 1]}, "count": 3, "seed": -1}, "seed = -1: give a whole number, 0 or more"),
        (Grid, {"values": {"a": {"from": 0, "to": 1, "count": 2**63}}}, "a 'count' of 2 or more, up to 1000000"),
        (LatinHypercube, {"ranges": {"a": [0, 1]}, "count": 3, "logarithmic": ["a"]}, "above 0"),
        (LatinHypercube, {"ranges": {"a": [0, 1]}, "count": 3, "logarithmic": ["b"]}, "'b' is to be logarithmic"),
        (OneAtATime, {"values": {"a": [1]}, "base": {"a": 1}}, "is the base case already"),
        (OneAtATime, {"values": {"a": [1]}, "base": {"a": "x"}}, "is not a finite number"),
        (Scatter, {"scatter": ROWS, "headings": []}, "there is no heading"),
        (Scatter, {"scatter": ROWS, "headings": [400]}, "not between -360 and 360"),
        (Scatter, {"scatter": ROWS, "headings": [0, 360]}, "a heading stands twice"),
        (Scatter, {"scatter": ROWS, "headings": [[150, 0.3], [180, 0.3]]}, "add up to 0.6, not 1"),
        (Scatter, {"scatter": ROWS, "headings": [[150, 0.3, 1]]}, "write degrees"),
        (Scatter, {"scatter": ROWS, "headings": [[150, 1.5]]}, "not between 0 and 1"),
        (Scatter, {"scatter": ROWS, "seeds": 0}, "give a number from 1 to 10000"),
        (Scatter, {"scatter": ROWS, "seeds": [1, 1]}, "a seed stands twice"),
        (Scatter, {"scatter": ROWS, "seeds": [-1]}, "not a whole number"),
        (Scatter, {"scatter": ROWS, "seeds": "many"}, "give a number of seeds"),
        (Scatter, {"scatter": ROWS, "components": -1}, "no number of waves"),
        (Scatter, {"scatter": ROWS[:2]}, "add up to 0.5, not 1"),
    ],
)
def test_nonsense_is_refused_with_its_numbers(cls, options, message):
    with pytest.raises(KingpostError, match=message):
        made(cls, **options)


def test_values_may_be_a_single_number():
    assert values_by_name({"a": 2}, "values") == {"a": (2.0,)}
    with pytest.raises(MechanismError, match="'values' is 3"):
        values_by_name(3, "values")


def test_a_sampler_that_draws_without_a_seed_is_found_out():
    class Careless(Grid):
        """Others every time."""

        name = "careless"

        def cases(self):
            for sample in super().cases():
                yield type(sample)({"a": np.random.default_rng().random()}, labels=sample.labels, weight=sample.weight)

    with pytest.raises(AssertionError, match="draw random numbers from a seed"):
        check_sampler(Careless, {"values": {"a": [1, 2]}}, PluginSet(entry_points=False))
