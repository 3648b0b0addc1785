"""Joint loads on the command line."""

import json

import numpy as np
import pytest

from kingpost import read_history

FAST = ("--t-end", "0.1", "--write", "csv", "--out", "o")


def test_run_computes_all_loads_of_a_small_machine_and_says_so(kingpost_cli, tmp_path):
    outcome = kingpost_cli("run", "vessel-crane", *FAST)
    assert "loads          4 joints by auxiliary-speeds" in outcome.out
    assert "slew           moment up to" in outcome.out
    history = read_history(tmp_path / "o")
    load = history.loads("slew", frame="parent", side="parent", at=(0, 0, 0.5))
    assert load.total.shape == (11, 6)
    channel = history.channels[history.names.index("slew.Fz")]
    assert (channel.unit, channel.frame, channel.side, channel.at) == ("N", "child", "child", (0.0, 0.0, 0.0))


def test_loads_of_large_machines_are_asked_for(kingpost_cli):
    assert "loads" in (out := kingpost_cli("run", "chain:links=14", *FAST).out)
    assert "none (ask with --loads all)" in out
    assert "14 joints by recursive" in kingpost_cli("run", "chain:links=14", *FAST, "--loads", "all").out


def test_joints_frames_and_methods_can_be_chosen(kingpost_cli):
    words = ("--loads", "slew:frame=parent,side=parent,at=0/0/0.5", "--loads", "luff,knuckle", "--load-method", "recursive")
    record = json.loads(kingpost_cli("run", "vessel-crane", *FAST, *words, "--json").out)["loads"]
    assert record["method"] == "recursive"
    assert record["joints"]["slew"]["at"] == [0, 0, 0.5]
    assert list(record["joints"]) == ["slew", "luff", "knuckle"]
    assert "loads" not in json.loads(kingpost_cli("run", "vessel-crane", *FAST, "--loads", "none", "--json").out)


def test_a_cut_adds_a_section_load(kingpost_cli, tmp_path):
    assert kingpost_cli("run", "vessel-crane", *FAST, "--cut", "inner-boom=0.8", "--cut", "outer-boom=1").status == 0
    history = read_history(tmp_path / "o")
    assert {"inner-boom-section.My", "outer-boom-section.Fx"} <= set(history.names)


def test_a_run_file_may_say_all_this(kingpost_cli, tmp_path):
    (tmp_path / "run.toml").write_text(
        'model = "vessel-crane"\n[run]\nloads = ["slew:frame=world"]\nload_method = "recursive"\ncut = ["inner-boom=0.8"]\n'
        "t_end = 0.1\n"
    )
    record = json.loads(kingpost_cli("run", tmp_path / "run.toml", "--write", "csv", "--json").out)
    assert record["loads"]["joints"]["slew"]["frame"] == "world"
    assert "inner-boom-section" in record["geometry"]["joints"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--loads", "slev"), "has no joint 'slev' whose load could be given; did you mean 'slew'?"),
        (("--loads", "slew:frame=chld"), "frame 'chld' does not exist; did you mean 'child'?"),
        (("--loads", "all", "--loads", "slew"), "'all' and 'none' stand alone"),
        (("--load-method", "magic"), "magic"),
        (("--load-method", "multipliers"), "formulation 'kane' has none"),
        (("--cut", "inner-boom"), "write BODY=DISTANCE"),
        (("--cut", "inner-boom=far"), "write BODY=DISTANCE"),
        (("--cut", "boom=1"), "has no body 'boom'"),
        (("--cut", "inner-boom=7"), "outside it: as a uniform bar it reaches from 0 m to 2 m"),
    ],
)
def test_wrong_words_are_answered(kingpost_cli, tmp_path, words, message):
    outcome = kingpost_cli("run", "vessel-crane", *FAST, *words)
    assert outcome.status not in (0, 2)
    assert message in outcome.err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("method", ["auxiliary-speeds", "recursive"])
def test_eval_prints_every_joints_load(kingpost_cli, tmp_path, method):
    (tmp_path / "state.json").write_text(json.dumps({"q": [0, 0, 0, 0.7, 0.4, -0.9], "v": [0] * 6}))
    answer = json.loads(kingpost_cli("eval", "vessel-crane", "--at", "state.json", "--load-method", method).out)
    assert list(answer["loads"]) == ["hull", "slew", "luff", "knuckle"]
    slew = answer["loads"]["slew"]
    assert (slew["frame"], slew["side"], slew["at"]) == ("child", "child", [0, 0, 0])
    assert np.allclose(slew["wrench"], np.add(slew["parts"]["constraint"], slew["parts"]["actuator"]), rtol=1e-12)
    # The slewing drive pulls towards its set-point, 0 rad: 5e4 N m/rad times 0.7 rad.
    assert slew["wrench"][2] == pytest.approx(-5e4 * 0.7, rel=1e-12)
    assert answer["units"]["wrench"] == ["N.m", "N.m", "N.m", "N", "N", "N"]


def test_eval_of_a_weld_has_no_parts_but_the_constraint(kingpost_cli, tmp_path):
    (tmp_path / "block.toml").write_text(
        'name = "block"\n[[bodies]]\nname = "block"\nmass = 2\n[[joints]]\nname = "weld"\nkind = "weld"\nparent = "world"\n'
        'child = "block"\n[[forces]]\nkind = "gravity"\n'
    )
    load = json.loads(kingpost_cli("eval", tmp_path / "block.toml").out)["loads"]["weld"]
    assert np.allclose(load["wrench"], [0, 0, 0, 0, 0, 2 * 9.81])
    assert list(load["parts"]) == ["constraint"]
