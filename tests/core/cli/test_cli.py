"""The command line as a user meets it."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kingpost

KINGPOST = [sys.executable, "-m", "kingpost"]
FAST = ("--write", "csv")


def test_run_writes_history_record_and_picture(kingpost_cli, tmp_path):
    outcome = kingpost_cli("run", "double-pendulum", "--t-end", "1", "--plot")
    assert outcome.status == 0
    folder = tmp_path / "results" / "double-pendulum"
    assert sorted(path.name for path in folder.iterdir()) == ["history.csv", "history.png", "run.json"]
    rows = list(csv.DictReader((folder / "history.csv").read_text().splitlines()[1:]))
    assert list(rows[0])[:11] == [
        "time", "shoulder.angle", "elbow.angle", "shoulder.angle.rate", "elbow.angle.rate",
        "tip.x", "tip.y", "tip.z", "energy.kinetic", "energy.potential", "energy.total",
    ]  # fmt: skip
    assert len(rows) == 101
    assert float(rows[-1]["time"]) == 1.0
    record = json.loads((folder / "run.json").read_text())
    assert record["outcome"] == "complete"
    assert record["kingpost"] == kingpost.__version__
    assert record["parameters"]["mass1"] == {"value": 1.0, "unit": "kg"}
    assert record["time"] == {"start_s": 0.0, "end_s": 1.0, "step_s": 0.001, "output_step_s": 0.01}
    assert record["backend"]["name"] == "c"
    assert record["backend"]["loop"] == "compiled"
    assert record["statistics"] == {"steps": 1000}
    assert {"name": "shoulder.angle", "unit": "rad", "frame": "", "side": "", "at": []} in record["channels"]
    assert {plugin["distribution"] for plugin in record["plugins"]} == {"kingpost"}
    assert record["wall_time_s"] > 0
    assert (folder / "history.png").read_bytes().startswith(b"\x89PNG")
    assert "double-pendulum (2 degrees of freedom)" in outcome.out
    assert "history.csv" in outcome.out
    assert outcome.err == ""


def test_a_picture_is_drawn_on_request_and_one_of_an_earlier_run_is_named(kingpost_cli, tmp_path):
    folder = tmp_path / "results" / "double-pendulum"
    assert kingpost_cli("run", "double-pendulum", "--t-end", "0.1").err == ""
    assert sorted(path.name for path in folder.iterdir()) == ["history.csv", "run.json"]
    assert kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--plot").err == ""
    note = "'results/double-pendulum/history.png' is of an earlier run; --plot makes it anew"
    assert note in kingpost_cli("run", "double-pendulum", "--t-end", "0.1").err


def test_numbers_read_back_exactly(kingpost_cli, tmp_path):
    assert kingpost_cli("run", "double-pendulum", "--t-end", "1", "--write", "csv,npz", "--out", "o").status == 0
    table = np.genfromtxt(tmp_path / "o" / "history.csv", delimiter=",", names=True, deletechars="", skip_header=1)
    with np.load(tmp_path / "o" / "history.npz") as archive:
        assert np.array_equal(archive["time"], table["time"])
        for j, name in enumerate(archive["names"]):
            assert np.array_equal(archive["values"][:, j], table[str(name)])
        assert json.loads(str(archive["kingpost"]))["provenance"]["model"]["name"] == "double-pendulum"


def test_settings_reach_the_run(kingpost_cli):
    words = ("run", "slider-pendulum", "--t-end", "1", "--json", *FAST)
    settings = ("--set", "load_mass=700", "--set", "drive=100", "--set", "swing.angle=0", "--set", "swing.angle.rate=0.1")
    record = json.loads(kingpost_cli(*words, *settings).out)
    assert record["parameters"]["load_mass"]["value"] == 700.0
    assert record["inputs"]["drive"]["first"] == 100.0
    assert record["start"] == {
        "rail.displacement": 0.0, "swing.angle": 0.0, "rail.displacement.rate": 0.0, "swing.angle.rate": 0.1,
    }  # fmt: skip


def test_a_run_file_sets_model_numbers_and_plugins(kingpost_cli, tmp_path):
    (tmp_path / "euler.py").write_text(
        "import kingpost\n"
        "class Euler(kingpost.StepMap):\n"
        "    '''Explicit Euler.'''\n"
        "    name = 'euler'\n"
        "    order = 1\n"
        "    def step(self, equations, t, x, u, p, h):\n"
        "        return x + h * equations.rhs(t, x, u, p)\n"
        "@kingpost.hookimpl\n"
        "def kingpost_register_integrators():\n"
        "    return [Euler]\n"
    )
    (tmp_path / "run.toml").write_text(
        'model = "double-pendulum"\nplugins = ["euler.py"]\n[set]\nmass1 = 3\n"elbow.angle" = 1\n'
        '[run]\nt_end = 0.5\nintegrator = "euler"\nstep = 0.01\nwrite = ["csv"]\n'
    )
    record = json.loads(kingpost_cli("run", "run.toml", "--json").out)
    assert record["integrator"]["name"] == "euler"
    assert record["parameters"]["mass1"]["value"] == 3.0
    assert record["start"]["elbow.angle"] == 1.0
    assert record["time"]["end_s"] == 0.5
    # The command line comes before the file.
    record = json.loads(
        kingpost_cli("run", "run.toml", "--json", "--set", "mass1=4", "--t-end", "1", "--integrator", "lsoda").out
    )
    assert (record["parameters"]["mass1"]["value"], record["time"]["end_s"]) == (4.0, 1.0)
    assert record["time"]["step_s"] is None


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("run", "doble-pendulum"), 4, "unknown model 'doble-pendulum'; did you mean 'double-pendulum'?"),
        (("run", "gone.toml"), 6, "there is no file 'gone.toml'"),
        (("run", "./gone"), 6, "'./gone' is not a model file; its name must end in .toml or .urdf"),
        (("run", "double-pendulum", "--set", "mas1=2"), 3, "nothing called 'mas1' that could be set; did you mean 'mass1'?"),
        (("run", "double-pendulum", "--set", "mass1=heavy"), 3, "setting 'mass1=heavy': write NAME=VALUE with a finite number"),
        (("run", "double-pendulum", "--set", "mass1"), 3, "setting 'mass1': write NAME=VALUE"),
        (("run", "double-pendulum", "--set", "mass1=-1"), 3, "body 'upper': mass is -1 kg ('mass1' with mass1 = -1)"),
        (
            ("run", "double-pendulum", "--set", "damping=-1"),
            3,
            "parameter 'damping' is -1 N.m.s/rad, outside its range [0, inf]",
        ),
        (("run", "double-pendulum", "--integrator", "rk5"), 4, "unknown integrator 'rk5'; did you mean 'rk4'?"),
        (("run", "double-pendulum", "--formulation", "kan"), 4, "unknown formulation 'kan'; did you mean 'kane'?"),
        (("run", "double-pendulum", "--integrator", "lsoda:rtl=1"), 4, "integrator 'lsoda' has no 'rtl'; did you mean 'rtol'?"),
        (("run", "double-pendulum", "--integrator", "lsoda", "--step", "0.1"), 5, "'lsoda' chooses its own steps"),
        (
            ("run", "double-pendulum", "--step", "0.003"),
            5,
            "not a whole number of steps of 0.003 s; end at 9.999 s or 10.002 s",
        ),
        (("run", "double-pendulum", "--t-end", "-1"), 5, "the run goes from 0.0 s to -1.0 s"),
        (("run", "double-pendulum", "--write", "xls"), 4, "unknown writer 'xls'"),
        (("run", "double-pendulum", "--plugin", "gone.py"), 4, "gone.py' does not exist"),
        (("run", "double-pendulum", "--backend", "fortran"), 2, "invalid choice: 'fortran'"),
        (("run", "double-pendulum:links=3"), 4, "model 'double-pendulum' has no 'links'. It takes: none."),
        (("run",), 2, "the following arguments are required: MODEL|FILE.toml"),
        (("rum",), 2, "invalid choice: 'rum'"),
        (("run", "double-pendulum", "--tend", "2"), 2, "there is no option '--tend'; did you mean '--t-end'?"),
        (("run", "double-pendulum", "--xyz=2"), 2, "there is no option '--xyz'. 'kingpost run -h' explains"),
        (("run", "double-pendulum", "four-bar"), 2, "there is no place for 'four-bar'"),
        (("plugins", "--kind", "integrators"), 4, "unknown kind 'integrators'; did you mean 'integrator'?"),
        (("models", "tripel"), 4, "unknown model 'tripel'"),
        (("eval", "double-pendulum", "--at", "gone.json"), 6, "--at gone.json: there is no file 'gone.json'"),
    ],
)
def test_a_wrong_command_is_answered(kingpost_cli, words, status, message):
    outcome = kingpost_cli(*words)
    assert outcome.status == status
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "--at state.json: Expecting property name"),
        ("[1]", "expected an object with some of t, q, v, z, u, parameters"),
        ('{"qq": [1, 2]}', "a state has no 'qq'; did you mean 'q'?"),
        ('{"q": [1]}', "q must be a list of 2 numbers (shoulder.angle, elbow.angle), got 1"),
        ('{"v": 3}', "v must be a list of 2 numbers (shoulder.angle.rate, elbow.angle.rate), got 3"),
        ('{"q": [1, "a"]}', "q[1] = 'a' is not a finite number"),
        ('{"q": [1, NaN]}', "q[1] = nan is not a finite number"),
        ('{"t": "now"}', "t = 'now' is not a finite number"),
        ('{"parameters": [1]}', "parameters must be an object"),
        ('{"parameters": {"mas1": 1}}', "nothing called 'mas1' that could be set; did you mean 'mass1'?"),
        ('{"parameters": {"mass1": -1}}', "mass is -1 kg"),
    ],
)
def test_a_wrong_state_is_answered(kingpost_cli, tmp_path, state, message):
    (tmp_path / "state.json").write_text(state)
    outcome = kingpost_cli("eval", "double-pendulum", "--at", "state.json")
    assert outcome.status in (3, 6)
    assert message in outcome.err


def test_eval_prints_one_state(kingpost_cli, tmp_path):
    state = {"t": 0.0, "q": [0.0, 0.0], "v": [1.0, 0.0], "u": [], "parameters": {"mass1": 3.0}}
    (tmp_path / "state.json").write_text(json.dumps(state))
    answer = json.loads(kingpost_cli("eval", "double-pendulum", "--at", "state.json").out)
    # Hanging straight down: M11 = m1 l^2 / 3 + m2 (l^2 + l^2 / 3 + l^2), M22 = m2 l^2 / 3, M12 = m2 (l^2 / 3 + l^2 / 2).
    assert np.allclose(answer["M"], [[1 + 7 / 3, 5 / 6], [5 / 6, 1 / 3]], rtol=1e-14)
    assert answer["q"] == [0.0, 0.0]
    assert np.allclose(answer["vdot"], [0, 0], atol=1e-14)
    assert answer["energy"]["kinetic"] == pytest.approx((1 + 7 / 3) / 2)
    assert answer["energy"]["potential"] == pytest.approx(-9.81 * (3 / 2 + 3 / 2))
    assert answer["energy"]["total"] == pytest.approx(answer["energy"]["kinetic"] + answer["energy"]["potential"])
    assert answer["names"] == {
        "q": ["shoulder.angle", "elbow.angle"],
        "v": ["shoulder.angle.rate", "elbow.angle.rate"],
        "u": [],
    }
    assert answer["units"]["vdot"] == ["rad/s2", "rad/s2"]
    assert answer["parameters"]["mass1"] == {"value": 3.0, "unit": "kg"}
    assert answer["outputs"]["tip.z"] == pytest.approx(-2.0)


def test_listings_in_text_and_json(kingpost_cli):
    assert "double-pendulum" in kingpost_cli("models").out
    assert [row["name"] for row in json.loads(kingpost_cli("models", "--json").out)] == [
        "andrews-squeezer", "barge", "barge-crane", "branched", "cablev", "central-field-particle", "chain", "delta",
        "double-pendulum", "five-bar", "five-bar-subsystems", "four-bar", "heavy-top", "knife-edge-disc",
        "luffing-crane", "mass-chain", "mathematical-pendulum", "offshore-crane",
        "offshore-crane-cylinder",
        "offshore-crane-on-base", "offshore-crane-on-base-ned", "offshore-crane-on-waves",
        "offshore-vessel", "offshore-vessel-plain", "overhead-crane",
        "passive-joint-arm", "ring-and-disc", "rolling-crane", "rolling-sphere", "rotary-crane", "rotary-crane-two-winches",
        "rrr-parallel",
        "satellite", "six-axis-arm", "slider-crank", "slider-pendulum", "small-crane", "small-crane-on-base",
        "small-crane-on-waves",
        "small-crane-parked", "small-crane-parked-on-base", "small-vessel", "small-vessel-plain", "spacecraft-arm",
        "spatial-slider-crank", "spherical-pendulum", "spherical-pendulum-subsystems", "tadpole-tricycle",
        "three-link-manipulator", "two-rod-slider", "two-rod-slider-subsystems", "us-navy-crane-2d", "us-navy-crane-3d",
        "vessel-crane", "whipple-bicycle", "whitworth",
    ]  # fmt: skip
    assert "mass of the upper rod" in kingpost_cli("models", "double-pendulum").out
    boom = kingpost_cli("models", str(Path(__file__).parents[3] / "examples" / "A2_luffing_boom.toml")).out
    assert re.search(r"measure +radius +m +working radius", boom)
    assert json.loads(kingpost_cli("models", "double-pendulum", "--json").out)["bodies"][0]["name"] == "upper"
    listing = json.loads(kingpost_cli("plugins", "--json").out)
    assert {"kind", "name", "distribution", "version"} <= set(listing["plugins"][0])
    assert "rtol = 1e-09" in kingpost_cli("plugins", "--kind", "integrator", "-v").out
    report = json.loads(kingpost_cli("doctor", "--json").out)
    assert report["compiler"]["works"] is True
    assert report["requirements"]["casadi"]
    assert set(report) >= {"extra viz", "extra io", "extra fatigue", "extra test", "cache"}
    assert "compiler" in kingpost_cli("doctor").out


def test_doctor_clears_the_cache(kingpost_cli, tmp_path, monkeypatch):
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "cache"))
    kingpost_cli("run", "double-pendulum", "--t-end", "0.1", *FAST)
    kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--integrator", "euler-symplectic", *FAST)
    report = json.loads(kingpost_cli("doctor", "--json", "--clear-cache").out)
    assert report["cache"]["kernels"] == 1  # the one that tries the compiler


def test_the_second_start_compiles_nothing(kingpost_cli, tmp_path, monkeypatch):
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "cache"))
    first, second = (kingpost_cli("run", "double-pendulum", "--t-end", "1", "--verbose", *FAST) for _ in range(2))
    assert "kernel: machine code; compiled in" in first.err
    assert "kernel: machine code; cache hit" in second.err
    changed = kingpost_cli("run", "double-pendulum", "--t-end", "2", "--set", "mass1=2", "--verbose", *FAST)
    assert "cache hit" in changed.err  # a number never recompiles


def test_without_a_compiler_the_run_says_so(kingpost_cli, tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "cache"))
    outcome = kingpost_cli("run", "double-pendulum", "--t-end", "0.1", *FAST)
    assert outcome.status == 0
    assert "interpreter: no C compiler was found" in outcome.err
    assert kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--backend", "c", *FAST).status == 5


def test_a_failed_run_keeps_what_it_had_and_spares_earlier_results(kingpost_cli, tmp_path):
    good = kingpost_cli("run", "double-pendulum", "--t-end", "1", "--out", "o", *FAST)
    before = (tmp_path / "o" / "run.json").read_text()
    bad = kingpost_cli("run", "double-pendulum", "--t-end", "100", "--step", "0.5", "--out", "o", *FAST)
    assert (good.status, bad.status) == (0, 5)
    assert "is not finite; try a step smaller than 0.5 s" in bad.err
    assert "samples up to t = 1.5 s are in o/failed-history.csv, o/failed-run.json" in bad.err
    assert (tmp_path / "o" / "run.json").read_text() == before
    assert json.loads((tmp_path / "o" / "failed-run.json").read_text())["outcome"] == "failed"
    assert len((tmp_path / "o" / "failed-history.csv").read_text().splitlines()) == 6


def test_a_folder_that_cannot_be_written_is_found_before_the_run(kingpost_cli, tmp_path):
    (tmp_path / "taken").write_text("")
    outcome = kingpost_cli("run", "double-pendulum", "--out", "taken/deeper")
    assert outcome.status == 6
    assert "'taken' is a file, not a folder" in outcome.err


def test_a_writer_whose_package_is_missing_names_the_extra(kingpost_cli, plugins, monkeypatch):
    monkeypatch.setattr(plugins.writers.get("png"), "needs", ("no_such_module",))
    outcome = kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--write", "png")
    assert outcome.status == 4
    assert "needs no_such_module; install it with: pip install 'kingpost[viz]'" in outcome.err
    assert kingpost_cli("run", "double-pendulum", "--t-end", "0.1").status == 0  # unasked, it is left out


@pytest.mark.parametrize("verb", ["", "run", "models", "plugins", "eval", "doctor"])
def test_help_has_an_example(kingpost_cli, verb):
    outcome = kingpost_cli(*([verb] if verb else []), "-h")
    assert outcome.status == 0
    assert f"example:\n  {'kingpost' if verb != 'eval' else 'echo'}" in outcome.out


def test_a_fault_is_a_fault_and_says_so(kingpost_cli, monkeypatch):
    def faulty(*arguments):
        raise RuntimeError("oh")

    monkeypatch.setattr("kingpost.cli.listings.Models.run", faulty)
    outcome = kingpost_cli("models")
    assert outcome.status == 1
    assert "Traceback" in outcome.err and "RuntimeError: oh" in outcome.err
    assert "this is a fault in kingpost" in outcome.err


LONG = ("run", "double-pendulum", "--t-end", "1e6", "--output-step", "1000", "-v", "--write", "csv", "--out", "o")


@pytest.mark.quick("c")
@pytest.mark.parametrize("backend", ["c", "vm"])
def test_an_interrupted_run_leaves_whole_files(tmp_path, backend):
    words = [*LONG, "--backend", backend]
    if backend == "vm":
        words[words.index("1000")] = "0.01"
        words[words.index("1e6")] = "1e3"
    process = subprocess.Popen([*KINGPOST, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "kernel:" in process.stderr.readline()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "kingpost: interrupted at t = " in err
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["interrupted-history.csv", "interrupted-run.json"]
    record = json.loads((tmp_path / "o" / "interrupted-run.json").read_text())
    assert record["outcome"] == "interrupted"
    lines = (tmp_path / "o" / "interrupted-history.csv").read_text().splitlines()
    assert len({line.count(",") for line in lines[1:]}) == 1


def test_a_terminal_gets_a_progress_bar(tmp_path):
    master, slave = pty.openpty()
    words = [*KINGPOST, "run", "double-pendulum", "--t-end", "3000", "--output-step", "10", *FAST]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=slave, stdout=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert process.wait(timeout=60) == 0
    assert b"double-pendulum [#" in shown
    assert b"%" in shown
    assert shown.endswith(b"\x1b[K")  # wiped away


def test_output_into_a_closed_pipe_is_no_fault(tmp_path):
    words = " ".join(KINGPOST)
    done = subprocess.run(f"{words} plugins | true", shell=True, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "Traceback" not in done.stderr


def test_a_urdf_file_can_be_run(kingpost_cli, tmp_path):
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    words = ("run", "arm.urdf", "--t-end", "1", "--set", "hinge.angle=0.1", *FAST, "--json")
    record = json.loads(kingpost_cli(*words).out)
    assert record["model"]["name"] == "arm"
    assert record["start"]["hinge.angle"] == 0.1
    assert "there is no file" in kingpost_cli("run", "gone.urdf").err
