"""Histories: lookup, data frames, pictures, and what they say of themselves."""

import dataclasses
import importlib.util
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

from kingpost import History, KingpostError, PluginError, simulate
from kingpost.base.channels import Channel
from kingpost.testing.problems import pendulum

LOAD = Channel("slew.Mx", "N.m", "child", "child", (0.0, 0.0, 0.5))
CHANNELS = (Channel("slew.angle", "rad"), Channel("tip.z", "m", "world"), LOAD)


def make_history(samples=11, channels=CHANNELS, **provenance):
    time = np.linspace(0.0, 2.0, samples)
    values = np.outer(time, np.arange(1.0, len(channels) + 1)) - 1.0
    return History(time, tuple(channels), values, {"model": {"name": "crane"}, **provenance})


@pytest.fixture
def history():
    return make_history()


def test_channels_are_found_by_name(history):
    assert history.names == ("slew.angle", "tip.z", "slew.Mx")
    assert history["tip.z"].tolist() == history.values[:, 1].tolist()
    assert history.unit("tip.z") == "m"
    assert history.channel("slew.Mx") is LOAD
    assert history.select(["slew.Mx", "slew.angle"]).tolist() == history.values[:, [2, 0]].tolist()
    assert "tip.z" in history and "tip.y" not in history and 0 not in history


def test_an_unknown_channel_is_answered_with_the_nearest_and_not_with_thousands():
    history = make_history(channels=[Channel(f"link{i}.angle", "rad") for i in range(4000)])
    with pytest.raises(KingpostError, match=r"no channel 'link7.angel'; did you mean 'link\d*7.angle'\?") as error:
        history["link7.angel"]
    assert str(error.value).endswith("link19.angle and 3980 more.")
    with pytest.raises(KingpostError, match="no channel '0'"):
        history[0]


def test_names_must_differ():
    with pytest.raises(KingpostError, match="a history has several channels called a, b; names must differ"):
        make_history(channels=[Channel(name, "1") for name in "babac"])


def test_a_history_is_frozen_and_its_arrays_are_read_only(history):
    with pytest.raises(dataclasses.FrozenInstanceError):
        history.time = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        history.values[0, 0] = 1.0
    with pytest.raises(TypeError, match="unhashable"):
        hash(history)


def test_equal_means_equal_in_everything(history):
    assert history == make_history() != make_history(seed=1)
    assert history == pickle.loads(pickle.dumps(history))
    assert history != dataclasses.replace(history, values=history.values + 1e-15)
    renamed = (*CHANNELS[:2], dataclasses.replace(LOAD, side="parent"))
    assert history != dataclasses.replace(history, channels=renamed)
    assert history.names is history.names
    assert dataclasses.replace(history, channels=(Channel("a", "1"), *CHANNELS[1:])).names[0] == "a"


def test_a_stretch_of_time_is_a_history(history):
    stretch = history.between(0.4, 1.0)
    assert stretch.time.tolist() == pytest.approx([0.4, 0.6, 0.8, 1.0])
    assert stretch["tip.z"].tolist() == history["tip.z"][2:6].tolist()
    assert (stretch.channels, stretch.provenance) == (history.channels, history.provenance)
    assert history.between() == history
    with pytest.raises(KingpostError, match="no sample between 3 s and inf s; the history goes from 0 s to 2 s"):
        history.between(3.0)


# In words and in notebooks


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (make_history(), "<History of crane: 0 s to 2 s, 11 samples, 3 channels>"),
        (History(np.array([1.5]), CHANNELS[:1], np.ones((1, 1))), "<History: 1.5 s to 1.5 s, 1 sample, 1 channel>"),
        (History(np.empty(0), (), np.empty((0, 0)), {"model": "?"}), "<History: 0 samples, 0 channels>"),
    ],
)
def test_a_history_says_what_it_is_in_one_line(history, words):
    assert repr(history) == words


class Cells(HTMLParser):
    """The cells of a table, row by row, and the text outside of it."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.beside, self.cell = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        assert tag in {"p", "table", "thead", "tbody", "tr", "th", "td"}
        if tag == "tr":
            self.rows.append([])
        self.cell = tag in {"td", "th"}
        if self.cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.cell = False

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data
        else:
            self.beside.append(data)


def test_a_notebook_shows_a_table(history):
    shown = Cells(history._repr_html_())
    assert shown.beside == ["History of crane: 0 s to 2 s, 11 samples, 3 channels"]
    assert shown.rows == [
        ["channel", "unit", "start", "end", "min", "max"],
        ["slew.angle", "rad", "-1", "1", "-1", "1"],
        ["tip.z", "m", "-1", "3", "-1", "3"],
        ["slew.Mx", "N.m", "-1", "5", "-1", "5"],
    ]


def test_the_table_ends_and_says_how_many_more_there_are():
    shown = Cells(make_history(channels=[Channel(f"c{i}", "1") for i in range(21)])._repr_html_())
    assert len(shown.rows) == 1 + 20
    assert shown.beside[-1] == "and 1 more channel"
    shown = Cells(make_history(channels=[Channel(f"c{i}", "1") for i in range(4000)])._repr_html_())
    assert shown.beside[-1] == "and 3980 more channels"


def test_names_and_units_are_no_markup():
    wicked = "<script>alert('&')</script>"
    text = make_history(channels=[Channel(wicked, wicked)], model={"name": wicked})._repr_html_()
    assert "<script" not in text
    shown = Cells(text)
    assert shown.rows[1][:2] == [wicked, wicked]
    assert shown.beside[0].startswith(f"History of {wicked}")


def test_gaps_have_no_extremes():
    values = np.array([[np.nan, np.nan, np.inf], [2.0, np.nan, 1.0]])
    shown = Cells(History(np.arange(2.0), CHANNELS, values)._repr_html_())
    assert [row[2:] for row in shown.rows[1:]] == [["nan", "2", "2", "2"], ["nan"] * 4, ["inf", "1", "1", "inf"]]
    assert Cells(History(np.empty(0), CHANNELS[:1], np.empty((0, 1)))._repr_html_()).rows[1] == ["slew.angle", "rad"] + [""] * 4


# Data frames


def test_a_data_frame_has_times_names_units_frames_and_sides(history):
    frame = history.to_pandas()
    assert (frame.index.name, frame.index.tolist()) == ("time", history.time.tolist())
    assert list(frame.columns) == list(history.names)
    assert (frame["tip.z"].to_numpy() == history["tip.z"]).all()
    assert frame.attrs == {
        "model": "crane",
        "units": {"slew.angle": "rad", "tip.z": "m", "slew.Mx": "N.m"},
        "frames": {"tip.z": "world", "slew.Mx": "child"},
        "sides": {"slew.Mx": "child"},
        "at": {"slew.Mx": (0.0, 0.0, 0.5)},
    }


def test_a_data_frame_is_its_own(history):
    before = history.values.copy()
    frame = history.to_pandas()
    frame["tip.z"] += 1.0
    frame.iloc[0, 0] = 99.0
    assert (history.values == before).all()
    assert history.to_pandas().dtypes.eq(float).all()


def without(monkeypatch, module):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))


def test_without_pandas_the_extra_is_named(history, monkeypatch):
    without(monkeypatch, "pandas")
    with pytest.raises(PluginError, match=r"data frames need pandas; install it with: pip install 'kingpost\[pandas\]'"):
        history.to_pandas()


# Pictures


def lines(figure):
    return [label.partition("\n")[0] for axis in figure.axes if axis.axison for label in axis.get_legend_handles_labels()[1]]


def test_a_picture_of_the_usual_channels(history):
    figure = history.plot()
    assert lines(figure) == ["slew.angle", "tip.z", "slew.Mx"]
    assert figure.get_suptitle() == "crane"
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_picture_of_chosen_channels_in_a_stretch_of_time(history, tmp_path):
    figure = history.plot("slew.M?", "tip.z", start=0.4, end=1.0, size=(5.0, 4.0))
    assert lines(figure) == ["tip.z", "slew.Mx"]
    assert figure.get_size_inches().tolist() == [5.0, 4.0]
    assert figure.axes[0].get_lines()[0].get_xdata().tolist() == pytest.approx([0.4, 0.6, 0.8, 1.0])
    figure.savefig(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 1000


def test_what_a_chosen_channel_is_is_told_from_all_channels():
    """A wrench below another one is a part, also where the other one is not drawn."""
    components = [f"foot.{word}{name}" for word in ("", "free.") for name in ("Mx", "Fx")]
    history = make_history(channels=[Channel(name, "N.m" if "M" in name else "N", "child") for name in components])
    assert lines(history.plot()) == ["foot.Mx", "foot.Fx"]
    assert lines(history.plot(joint="foot")) == ["foot.Mx", "foot.Fx", "foot.free.Mx", "foot.free.Fx"]
    assert lines(history.plot("foot.free.*")) == ["foot.free.Mx", "foot.free.Fx"]


def test_a_picture_of_nothing_known_is_refused(history):
    with pytest.raises(KingpostError, match=r"no channel is called 'slow.*'; did you mean 'slew"):
        history.plot("slow.*")
    with pytest.raises(KingpostError, match="no channel of 'tip' is called 'slew.Mx'"):
        history.plot("slew.Mx", joint="tip")
    with pytest.raises(KingpostError, match="no channel belongs to 'slaw'; did you mean 'slew'"):
        history.plot(joint="slaw")


def test_without_matplotlib_the_extra_is_named(history, monkeypatch):
    without(monkeypatch, "matplotlib")
    with pytest.raises(PluginError, match=r"pictures need matplotlib; install it with: pip install 'kingpost\[viz\]'"):
        history.plot()


def test_histories_are_read_only_and_name_their_channels():
    history = simulate(pendulum(), 0.1)
    with pytest.raises(ValueError, match="read-only"):
        history.values[0, 0] = 1.0
    with pytest.raises(Exception, match=r"no channel 'pivot.angel'; did you mean 'pivot.angle'\?"):
        history["pivot.angel"]
    assert history.unit("pivot.angle.rate") == "rad/s"
    assert history.select(["pivot.angle", "energy.total"]).shape == (11, 2)
