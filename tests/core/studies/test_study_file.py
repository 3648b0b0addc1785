"""Study files are read strictly: what does not fit is answered with file, line, the nearest word and the numbers."""

import pytest

from kingpost import FileError, PluginSet
from kingpost.studies.study import Histories, plain
from kingpost.studies.study_file import read_study
from tests.core.studies.synthetic import TEXT, write_study

PLUGINS = PluginSet(entry_points=False)


def read(folder, text=TEXT, **files):
    return read_study(write_study(folder, text, **files), PLUGINS)


def test_everything_of_a_study_is_there(tmp_path):
    study = read(tmp_path)
    assert (study.name, study.model, study.t_end, study.skip, study.run.step) == ("deck lifts", "small-crane", 600, 60, 0.01)
    assert [sampler.name for sampler in study.samplers] == ["scatter", "list"]
    assert study.count == 4 * 2 * 12 * 2
    assert study.keep.slopes == (3.0, 5.0)
    assert study.keep.statistics == ("max", "min", "std")
    assert [spot.name for spot in study.keep.spots] == ["ring", "foot"]
    assert [limit.channel for limit in study.limits] == ["slew.Mx", "tip.z"]
    assert study.check.step_halving == 2
    assert study.loads() == ("slew",)
    names = [name for name, _ in study.reductions()]
    assert names == ["statistics", "statistics", "statistics", "equivalent-range", "hot-spots"]
    assert len(study.reducers(PLUGINS)) == 5
    assert study.spec["sea"]["scatter"][0] == [1.0, 6.0, 0.4]  # what the file said, not only its name


def test_limits_with_a_share_count_the_time_beyond(tmp_path):
    study = read(tmp_path, TEXT.replace("{ max = 2.5e5 }", "{ max = 2.5e5, share = 0.01 }"))
    assert ("exceedance", {"limits": {"slew.Mx": {"max": 2.5e5}}}) in study.reductions()


def test_vary_is_a_grid_unless_it_says_otherwise(tmp_path):
    head, _, rest = TEXT.partition("[[vary]]")
    tail = rest[rest.index("[keep]") :]
    study = read(tmp_path, f'{head}[vary]\n"slew.angle" = [0, 1]\nl3 = {{ from = 1.5, to = 2.5, count = 3 }}\n{tail}')
    assert study.samplers[1].name == "grid"
    assert study.samplers[1].count() == 6


CHANGES = {
    "t_ends = 600": ("t_end = 600", r"study.toml:4: a study has no 't_ends'; did you mean 't_end'"),
    "t_end = 0": ("t_end = 600", r"study.toml:4: t_end = 0 s must be above 0"),
    "t_end = 'x'": ("t_end = 600", r"study.toml:4: t_end = 'x' is not a finite number"),
    "skip = 600": ("skip = 60", r"study.toml:5: skip = 600 s leaves nothing of runs of t_end = 600 s"),
    "step = -1": ("step = 0.01", "step = -1 s must be above 0"),
    "seed = 12": ("seeds = 12", r"study.toml:12: sampler 'scatter' has no 'seed'; did you mean 'seeds'"),
    "headings = [[150, 0.25], [180, 0.5]]": (
        "headings = [[150, 0.25], [180, 0.75]]",
        r"study.toml:11: the probabilities of the headings add up to 0.75, not 1",
    ),
    'sampler = "lists"': ('sampler = "list"', "'lists'; did you mean 'list'"),
    "probability = 0.4": ("probability = 0.3", r"study.toml:\d+: the probabilities of the cases add up to 1.1, not 1"),
    'load = ["slew"]': ('loads = ["slew"]', r"study.toml:2\d: \[keep\] has no 'load'; did you mean 'loads'"),
    'statistics = ["maxx"]': (
        'statistics = ["max", "min", "std", "del:3,5"]',
        "there is no statistic 'maxx'; did you mean 'max'",
    ),
    'statistics = ["del:"]': ('statistics = ["max", "min", "std", "del:3,5"]', "'del:' has no slopes"),
    'hotspots = "spot.toml"': ('hotspots = "spots.toml"', "there is no hot spot file"),
    '"slew.Mx" = { maximum = 2.5e5 }': (
        '"slew.Mx" = { max = 2.5e5 }',
        r"limits of 'slew.Mx' has no 'maximum'; did you mean 'max'",
    ),
    '"slew.Mx" = {}': ('"slew.Mx" = { max = 2.5e5 }', "limits of 'slew.Mx' say nothing"),
    '"slew.Mx" = { max = 1, min = 2 }': ('"slew.Mx" = { max = 2.5e5 }', "min = 2 is not below max = 1"),
    '"slew.Mx" = { max = 1, share = 2 }': ('"slew.Mx" = { max = 2.5e5 }', "share = 2 is no part of the time"),
    '"tip.z" = { range = -1 }': ('"tip.z" = { range = 1.5 }', "range = -1 is below 0"),
    "step_halvings = 2": ("step_halving = 2", "has no 'step_halvings'; did you mean 'step_halving'"),
    "step_halving = -2": ("step_halving = 2", "give a number of runs, 0 for none"),
    'histories = "some"\n[limits]': ("[limits]", r"histories = 'some' says not which runs are kept whole"),
    "[run]\nloads = ['all']\n[limits]": ("[limits]", r"\[run\] loads is not for studies; see \[keep\] loads"),
    "[run]\nintegratr = 'rk4'\n[limits]": ("[limits]", r"\[run\] has no 'integratr'; did you mean 'integrator'"),
    "[settings]\nl3 = 'long'\n[limits]": ("[limits]", "'l3' = 'long' is not a finite number"),
    "[[keep.reducers]]\nname = 'mine'\n[limits]": ("[limits]", "'mine'"),
    f'histories = "worst:{"9" * 5000}"\n[limits]': ("[limits]", r"histories = 'worst:9+\.\.\. \(5008 characters\) says not"),
    "[[vary]]\nl3 = { from = 0, to = 1, count = 900_000 }\n[keep]": (
        "[keep]",
        r"the study has 172800000 cases; at most 10000000 are run",
    ),
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[:60])
def test_what_does_not_fit_is_refused(tmp_path, change):
    before, message = CHANGES[change]
    assert before in TEXT
    with pytest.raises(Exception, match=message):
        read(tmp_path, TEXT.replace(before, change, 1))


def test_a_study_that_lacks_something_is_refused(tmp_path):
    with pytest.raises(FileError, match="the study lacks 'model'"):
        read(tmp_path, "t_end = 1\n")
    with pytest.raises(FileError, match="the study varies nothing"):
        read(tmp_path, 'model = "vessel-crane"\nt_end = 1\n')
    with pytest.raises(FileError, match="the study keeps nothing of its runs"):
        read(tmp_path, 'model = "vessel-crane"\nt_end = 1\n[vary]\nl3 = [1, 2]\n')
    with pytest.raises(FileError, match="samplers 'grid' and 'grid' both vary 'l3'"):
        read(tmp_path, 'model = "a"\nt_end = 1\n[[vary]]\nl3 = [1, 2]\n[[vary]]\nl3 = [3, 4]\n[keep]\nloads = ["slew"]\n')


def test_a_scatter_table_that_does_not_add_up_is_named(tmp_path):
    with pytest.raises(FileError, match=r"scatter.csv: the probabilities of the 1 sea states add up to 0.5, not 1"):
        read(tmp_path, scatter="Hs,Tp,probability\n1,6,0.5\n")


def test_histories_and_plain_data():
    assert Histories.parse("worst:5") == Histories("worst", 5)
    assert plain({"a": (1, Histories("all"))}) == {"a": [1, {"which": "all", "count": 0}]}
