"""Pictures of histories: the command, and what the writer of a run draws by itself."""

import importlib.util

import numpy as np
import pytest
from matplotlib.image import imread

from kingpost.base.channels import Channel
from kingpost.results import figures
from kingpost.results.figures import USUAL_PANELS, draw, make_panels, role_of, thinned, usual_figure
from kingpost.results.history import History
from kingpost.results.read_write import write_history

LOADS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def wrench(prefix, side="child", at=(0.0, 0.0, 0.0)):
    return [Channel(f"{prefix}.{name}", "N.m" if name[0] == "M" else "N", "child", side, at) for name in LOADS]


def make_history(joints=("slew", "luff"), samples=201, scale=1.0):
    channels = [Channel(f"{joint}.angle", "rad") for joint in joints]
    channels += [Channel(f"{joint}.angle.rate", "rad/s") for joint in joints]
    channels += [Channel(f"tip.{axis}", "m", "world") for axis in "xyz"]
    channels += [Channel(f"energy.{name}", "J") for name in ("kinetic", "potential", "total")]
    for joint in joints:
        for prefix in (joint, f"{joint}.constraint", f"{joint}.actuator"):
            channels += wrench(prefix)
    channels += [
        Channel(f"king.pose.{name}", "m" if name[0] == "p" else "1", "world") for name in ("px", "py", "pz", "ew", "ex")
    ]
    channels += [
        Channel(f"king.motion.{name}", unit, "body") for name, unit in (("wx", "rad/s"), ("alphax", "rad/s2"), ("ax", "m/s2"))
    ]
    channels += [Channel(f"loads.gravity.{axis}", "m/s2", "world") for axis in "xyz"]
    channels += [Channel("loads.residual.force", "N"), Channel("loads.residual.moment", "N.m")]
    time = np.linspace(0, 20, samples)
    values = scale * np.sin(np.outer(time, np.arange(1, len(channels) + 1) / 7))
    return History(time, tuple(channels), values, {"model": {"name": "crane"}, "integrator": {"name": "rk4"}})


@pytest.fixture
def result(plugins, tmp_path):
    path = tmp_path / "h.npz"
    write_history(make_history(), path, plugins)
    return path


def drawn(figure):
    """Return the names of the lines of each panel."""
    return [
        (axis.get_title(loc="left"), [line.get_label().partition("\n")[0] for line in axis.get_legend_handles_labels()[0]])
        for axis in figure.axes
        if axis.axison
    ]


# The command


def test_the_command_draws_a_run(kingpost_cli, tmp_path):
    assert kingpost_cli("run", "double-pendulum", "--t-end", "1", "--write", "csv", "--out", "o").status == 0
    outcome = kingpost_cli("plot", "o")
    assert (outcome.status, outcome.err) == (0, "")
    assert "time      0 s to 1 s, 101 samples\nfile      o/plot.png\n" in outcome.out
    assert imread(tmp_path / "o" / "plot.png").shape[1] == 1672  # two columns of 7.6 inches at 110 dots


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_suffix_chooses_the_format(kingpost_cli, result, tmp_path, suffix, start):
    outcome = kingpost_cli("plot", result, "--out", f"new/x.{suffix}", "--joint", "luff")
    assert outcome.status == 0
    assert (tmp_path / "new" / f"x.{suffix}").read_bytes().startswith(start)


def test_size_is_in_centimetres(kingpost_cli, result, tmp_path):
    assert (
        kingpost_cli("plot", result, "--channels", "tip.*", "--out", "x.png", "--width", "25.4", "--height", "12.7").status == 0
    )
    assert imread(tmp_path / "x.png").shape[:2] == (550, 1100)


def texts(kingpost_cli, result, monkeypatch, *words):
    """Return what a command draws: panels, lines, and the history they are drawn from."""
    seen = []

    def keep(history, panels, size):
        figure = draw(history, panels, size)
        seen.append((drawn(figure), history, figure))
        return figure

    monkeypatch.setattr("kingpost.results.figures.draw", keep)
    outcome = kingpost_cli("plot", result, *words)
    assert outcome.status == 0, outcome.err
    return (*seen[0], outcome.out)


def test_the_usual_channels_are_drawn_unasked(kingpost_cli, result, monkeypatch):
    panels, history, figure, out = texts(kingpost_cli, result, monkeypatch)
    assert panels == [
        ("coordinates", ["slew.angle", "luff.angle"]),
        ("rates", ["slew.angle.rate", "luff.angle.rate"]),
        ("tip, world axes", ["tip.x", "tip.y", "tip.z"]),
        ("energies", ["energy.kinetic", "energy.potential", "energy.total"]),
        ("slew: moment on the child, child axes", ["slew.Mx", "slew.My", "slew.Mz"]),
        ("slew: force on the child, child axes", ["slew.Fx", "slew.Fy", "slew.Fz"]),
        ("luff: moment on the child, child axes", ["luff.Mx", "luff.My", "luff.Mz"]),
        ("luff: force on the child, child axes", ["luff.Fx", "luff.Fy", "luff.Fz"]),
    ]
    assert len(history) == 201
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "[rad]", "[rad/s]", "[m]", "[J]", "[N.m]", "[N]", "[N.m]", "[N]",
    ]  # fmt: skip
    assert [axis.get_xlabel() for axis in figure.axes[-2:]] == ["time [s]", "time [s]"]
    assert figure.get_suptitle() == "crane, rk4"
    assert f"channels  22 of {len(history.channels)}" in out


def test_a_joint_is_drawn_with_the_parts_of_its_load(kingpost_cli, result, monkeypatch):
    panels, *_ = texts(kingpost_cli, result, monkeypatch, "--joint", "luff")
    assert [title for title, _ in panels] == [
        "coordinates",
        "rates",
        "luff: moment on the child, child axes",
        "luff: force on the child, child axes",
        "luff, constraint: moment on the child, child axes",
        "luff, constraint: force on the child, child axes",
        "luff, actuator: moment on the child, child axes",
        "luff, actuator: force on the child, child axes",
    ]
    assert all(name.startswith("luff.") for _, names in panels for name in names)


def test_patterns_choose_channels_and_times_a_stretch(kingpost_cli, result, monkeypatch):
    words = ("--channels", "s*w.Mx, *.pose.e?,loads.*", "--from", "5", "--to", "15")
    panels, history, *_ = texts(kingpost_cli, result, monkeypatch, *words)
    assert panels == [
        ("slew: moment on the child, child axes", ["slew.Mx"]),
        ("king: orientation, world axes", ["king.pose.ew", "king.pose.ex"]),
        ("gravity, world axes", ["loads.gravity.x", "loads.gravity.y", "loads.gravity.z"]),
        ("residual of Newton and Euler's equations", ["loads.residual.force"]),
        ("residual of Newton and Euler's equations", ["loads.residual.moment"]),
    ]
    assert (history.time[0], history.time[-1], len(history)) == (5.0, 15.0, 101)


def test_a_joint_and_a_pattern_narrow_each_other(kingpost_cli, result, monkeypatch):
    panels, *_ = texts(kingpost_cli, result, monkeypatch, "--joint", "king", "--channels", "*x")
    assert [names for _, names in panels] == [
        ["king.pose.px"], ["king.pose.ex"], ["king.motion.wx"], ["king.motion.alphax"], ["king.motion.ax"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("gone",), 6, "there is no file or folder 'gone'"),
        (("h.npz", "--channels", "slew.mx"), 6, "--channels slew.mx: no channel is called so; did you mean 'slew.Mx'?"),
        (("h.npz", "--channels", "tip.*,slow.*"), 6, "--channels slow.*: no channel is called so; did you mean 'slew.Mz'?"),
        (("h.npz", "--channels", "tip.x", "--joint", "slew"), 6, "--channels tip.x: no channel of 'slew' is called so"),
        (
            ("h.npz", "--joint", "slaw"),
            6,
            "--joint slaw: no channel belongs to 'slaw'; did you mean 'slew'? There are: energy, king",
        ),
        (("h.npz", "--from", "21"), 6, "there is no sample between 21 s and inf s; the history goes from 0 s to 20 s"),
        (("h.npz", "--from", "5", "--to", "4"), 6, "there is no sample between 5 s and 4 s"),
        (("h.npz", "--out", "x.jpg"), 6, "--out x.jpg: a picture's name must end in one of .png, .svg, .pdf"),
        (("h.npz", "--out", "h.npz/x.png"), 6, "cannot be written"),
        (("h.npz", "--width", "1"), 2, "1 cm is not between 2 cm and 500 cm"),
        (("h.npz", "--width", "wide"), 2, "invalid"),
    ],
)
def test_a_wrong_command_is_answered(kingpost_cli, result, words, status, message):
    outcome = kingpost_cli("plot", *words)
    assert outcome.status == status
    assert message in outcome.err
    assert sorted(path.name for path in result.parent.iterdir()) == ["h.npz"]


def test_a_long_list_of_channels_is_shortened(kingpost_cli, result):
    message = kingpost_cli("plot", result, "--channels", "zzz").err
    assert "slew.angle, luff.angle" in message
    assert "and 39 more." in message


def test_without_matplotlib_the_extra_is_named(kingpost_cli, result, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name))
    outcome = kingpost_cli("plot", result)
    assert outcome.status == 4
    assert "pictures need matplotlib; install it with: pip install 'kingpost[viz]'" in outcome.err


def test_help_has_an_example(kingpost_cli):
    assert "example:\n  kingpost plot results/" in kingpost_cli("plot", "-h").out


# Large machines


def test_a_large_machine_stays_readable_unasked(kingpost_cli, plugins, tmp_path):
    history = make_history(joints=[f"link{i}" for i in range(30)], samples=20)
    panels = make_panels(history.channels)
    assert max(len(panel.channels) for panel in panels) == 8
    figure, left_out = usual_figure(history)
    assert len(drawn(figure)) == USUAL_PANELS == 24
    assert left_out == len(panels) - 24 > 0
    assert figure.get_suptitle() == f"crane, rk4 ({left_out} more panels left out)"
    write_history(history, tmp_path / "h.npz", plugins)
    outcome = kingpost_cli("plot", "h.npz")
    assert f"left out  {left_out} panels, the first one '" in outcome.out
    assert "narrow --channels, or give --joint" in kingpost_cli("plot", "h.npz", "--channels", "*").err


def test_the_writer_of_a_run_draws_the_same(plugins, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("kingpost.plugins.writers.png.save", lambda figure, path: saved.append(figure))
    plugins.writers.get("png")().write(make_history(), tmp_path / "x.png")
    names = [name for _, names in drawn(saved[0]) for name in names]
    assert "luff.Mx" in names
    assert not [name for name in names if "constraint" in name or "pose" in name or "motion" in name or "residual" in name]


# What is drawn


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
