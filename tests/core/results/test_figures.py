"""Pictures of histories: panels, extremes, thinning, and roles of channels."""

import numpy as np
import pytest

from kingpost.base.channel_roles import role_of
from kingpost.base.channels import Channel
from kingpost.results import figures
from kingpost.results.figures import draw, make_panels, thinned, usual_figure
from kingpost.results.history import History
from kingpost.results.read_write import write_history
from tests.core.results.drawn import drawn, wrench


def test_extremes_of_loads_are_marked():
    time = np.linspace(0, 1, 11)
    values = np.zeros((11, 6))
    values[3, 0], values[7, 0] = -2500.0, 41000.0
    values[:, 1] = 7.0
    values[4, 2], values[5, 2] = 1e-12, -1e-12  # rounding, beside 41000
    history = History(time, tuple(wrench("slew", "parent", (0.0, 0.0, 1.5))), values)
    figure = draw(history, make_panels(history.channels))
    axis = figure.axes[0]
    assert axis.get_title(loc="left") == "slew: moment on the parent, child axes about (0, 0, 1.5) m"
    assert axis.get_ylabel() == "[kN.m]"
    labels = [line.get_label() for line in axis.get_legend_handles_labels()[0]]
    assert labels == ["slew.Mx\n-2.5 to 41", "slew.My\n0.007 throughout", "slew.Mz\n0 throughout"]
    marks = {line.get_marker(): line.get_xydata()[0].tolist() for line in axis.lines if line.get_marker() in ("v", "^")}
    assert marks == {"v": [time[3], -2.5], "^": [time[7], 41.0]}


@pytest.mark.parametrize(
    ("values", "unit", "label"),
    [([9999.0], "N", "[N]"), ([-10_000.0], "N", "[kN]"), ([3e7], "N.m", "[MN.m]"), ([1e9], "m", "[m]"), ([np.nan], "N", "[N]")],
)
def test_large_loads_get_a_prefix(values, unit, label):
    history = History(np.zeros(1), (Channel("a.Fx", unit),), np.array([values]))
    assert draw(history, make_panels(history.channels)).axes[0].get_ylabel() == label


def test_what_is_not_finite_or_not_there_is_drawn_around(plugins, tmp_path):
    values = np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan]])
    history = History(np.arange(3.0), (Channel("a.Fx", "N"), Channel("a.Fy", "N")), values)
    figure = draw(history, make_panels(history.channels))
    assert [line.get_label() for line in figure.axes[0].get_legend_handles_labels()[0]] == ["a.Fx\n1 to 3", "a.Fy"]
    for short in (
        History(np.empty(0), (Channel("a.Fx", "N"),), np.empty((0, 1))),
        History(np.arange(3.0), (), np.empty((3, 0))),
    ):
        write_history(short, tmp_path / "x.png", plugins)
        assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_odd_names_are_shown_as_they_are(plugins, tmp_path):
    history = History(np.arange(2.0), (Channel("_a", "1"), Channel("$x", "$"), Channel("y$\\", "$")), np.eye(2, 3))
    figure = draw(history, make_panels(history.channels))
    labels = [text.get_text() for axis in figure.axes for text in axis.get_legend().get_texts()]
    assert labels == [" _a", r"\$x", "y\\$\\"]
    write_history(history, tmp_path / "x.png", plugins)


def test_thinning_keeps_every_extreme():
    values = np.random.default_rng(0).standard_normal(100_003)
    values[[17, 50_000, 100_002]] = 9.0, -9.0, 8.0
    kept = thinned(values, stretches=100)
    assert len(kept) <= 2 * 100 + 1 + 100_003 % 1000
    assert {0, 17, 50_000, 100_002} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    for start in range(0, 100_000, 1000):
        inside = kept[(kept >= start) & (kept < start + 1000)]
        assert values[inside].min() == values[start : start + 1000].min()
        assert values[inside].max() == values[start : start + 1000].max()
    values[:1000] = np.nan
    values[1500] = np.nan
    kept = thinned(values, stretches=100)
    assert np.isnan(values[kept[kept < 1000]]).all()
    assert np.nanmax(values[kept[(kept >= 1000) & (kept < 2000)]]) == np.nanmax(values[1000:2000])
    assert thinned(np.zeros(5)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("channel", "role"),
    [
        (Channel("slew.angle", "rad"), "coordinates"),
        (Channel("ball.qw", "1"), "coordinates"),
        (Channel("ball.wx", "rad/s"), "rates"),
        (Channel("screw.angle.rate", "rad/s"), "rates"),
        (Channel("tip.x", "m/s", "world"), "outputs"),
        (Channel("energy.total", "J"), "energies"),
        (Channel("luff.Mx", "1"), "loads"),
        (Channel("luff.friction.Mx", "N.m", "child"), "parts"),
        (Channel("king.pose.px", "m", "world"), "positions"),
        (Channel("king.pose.ez", "1"), "orientations"),
        (Channel("king.motion.ax", "m/s2", "body"), "body motions"),
        (Channel("loads.gravity.z", "m/s2", "world"), "gravity"),
        (Channel("loads.residual.force", "N"), "residuals"),
        (Channel("heave", "1"), "others"),
        (Channel("", "1"), "others"),
    ],
)
def test_roles_are_told_from_names(channel, role):
    assert role_of(channel) == role
    assert role in (*figures.USUAL, *figures.FURTHER)


def test_monitors_are_drawn_with_axes_that_fit_them():
    """Errors over powers of ten, zeros at the least that is not; rank as a count; condition over powers only if it spreads."""
    names = ("energy.error", "constraints.position", "constraints.speed", "constraints.rank", "constraints.condition")
    channels = tuple(Channel(name, "J" if name.startswith("energy") else "1") for name in names)
    assert {role_of(channel) for channel in channels} == {"monitors"}
    time = np.linspace(0, 1, 11)
    small = 10.0 ** np.linspace(-16, -3, 11)
    small[3] = 0.0
    history = History(time, channels, np.column_stack([time, small, small, np.full(11, 2.0), 3 + time]))
    panels = make_panels(history.channels)
    assert [panel.title.partition(":")[0] for panel in panels] == [
        "Energy error",
        "Largest error of constraints",
        "Rank of the constraint Jacobian",
        "Condition of the constraint Jacobian",
    ]
    axes = draw(history, panels).axes
    assert [axis.get_yscale() for axis in axes] == ["linear", "log", "linear", "linear"]
    assert axes[1].get_lines()[0].get_ydata()[3] == pytest.approx(1e-16)
    assert axes[2].get_ylim() == (0, 3) and all(tick == int(tick) for tick in axes[2].get_yticks())
    wide = History(time, channels[-1:], (10.0 ** (8 * time))[:, None])
    assert draw(wide, make_panels(wide.channels)).axes[0].get_yscale() == "log"


def test_small_and_large_angles_have_panels_of_their_own_with_degrees_beside():
    names = ("hull.roll", "hull.pitch", "slew.angle", "luff.angle")
    wave = np.sin(np.linspace(0, 6, 50))
    values = np.outer(wave, [0.03, 0.02, 1.5, 0.9])
    history = History(np.linspace(0, 5, 50), tuple(Channel(name, "rad") for name in names), values)
    figure, _ = usual_figure(history)
    found = [panel for panel in drawn(figure) if panel[1]]
    assert [lines for _, lines in found] == [["hull.roll", "hull.pitch"], ["slew.angle", "luff.angle"]]
    beside = [child for axis in figure.axes for child in axis.child_axes]
    assert [axis.get_ylabel() for axis in beside] == ["[deg]", "[deg]"]


def test_zero_lines_and_empty_panels_are_left_out_and_named():
    channels = tuple(Channel(f"tip.{axis}", "m", "world") for axis in "xyz")
    channels += tuple(Channel(f"far.{axis}", "m", "world") for axis in "xyz")
    values = np.zeros((5, 6))
    values[:, 1] = np.arange(5)
    figure, left_out = usual_figure(History(np.arange(5.0), channels, values))
    assert [lines for _, lines in drawn(figure)] == [["tip.y"]] and left_out == 0
    assert figure.axes[0].get_legend().get_title().get_text() == "zero throughout:\ntip.x\ntip.z"


def test_a_load_that_is_rounding_is_left_out_of_the_usual_picture():
    values = np.ones((5, 6)) * 100.0
    values[:, 2] = 1e-12
    figure, _ = usual_figure(History(np.arange(5.0), tuple(wrench("slew")), values))
    assert drawn(figure)[0][1] == ["slew.Mx", "slew.My"]
