"""``kingpost plot``: what is drawn of a run, and how it is chosen."""

import importlib.util

import pytest
from matplotlib.image import imread

from kingpost.results.figures import USUAL_PANELS, draw, make_panels, usual_figure
from kingpost.results.read_write import write_history
from tests.core.results.drawn import drawn, make_history


@pytest.fixture
def result(plugins, tmp_path):
    path = tmp_path / "h.npz"
    write_history(make_history(), path, plugins)
    return path


# The command


def test_the_command_draws_a_run(kingpost_cli, tmp_path):
    assert kingpost_cli("run", "double-pendulum", "--t-end", "1", "--write", "csv", "--out", "o").status == 0
    outcome = kingpost_cli("plot", "o")
    assert (outcome.status, outcome.err) == (0, "")
    assert "time      0 s to 1 s, 101 samples\nfile      o/plot.png\n" in outcome.out
    assert imread(tmp_path / "o" / "plot.png").shape[1] == 1672  # two columns of 7.6 inches at 110 dots


@pytest.mark.quick("svg-*")
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
        (("h.npz", "--channels", "slew.mx"), 6, "--channels slew.mx: no channel is called 'slew.mx'; did you mean 'slew.Mx'?"),
        (
            ("h.npz", "--channels", "tip.*,slow.*"),
            6,
            "--channels tip.*,slow.*: no channel is called 'slow.*'; did you mean 'slew.Mz'?",
        ),
        (("h.npz", "--channels", "tip.x", "--joint", "slew"), 6, "--channels tip.x: no channel of 'slew' is called 'tip.x'"),
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
