"""``run_fmu``: right numbers, and nothing lost when an FMU fails."""

import json
import math
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted, MechanismError, SolverError
from kingpost.base.scratch import LOCK
from kingpost.fmu.running import FmuError, prepare_fmu, run_fmu
from kingpost.results.history import History
from kingpost.results.read_write import read_history, write_history
from tests.core.results.watches import WatchedProgress
from tests.fmu.building import MODEL_EXCHANGE, needs_compiler, oscillator, oscillator3, slave

pytestmark = [pytest.mark.xdist_group("fmu-run"), needs_compiler]
MASS, STIFFNESS, DAMPING, START = 2.0, 50.0, 0.4, 0.1


def exact(t, force=0.0, start=START):
    """Return position and velocity of m a = F - c v - k x from rest."""
    decay = DAMPING / (2 * MASS)
    w = math.sqrt(STIFFNESS / MASS - decay**2)
    still = force / STIFFNESS
    swing = (start - still) * np.exp(-decay * t)
    position = still + swing * (np.cos(w * t) + decay / w * np.sin(w * t))
    return position, -swing * (w + decay**2 / w) * np.sin(w * t)


def test_an_oscillator_swings_as_its_closed_form_says(folder):
    history = run_fmu(oscillator(folder), 2.0, settings={"force": 3.0}, isolated=False)
    position, velocity = exact(history.time, 3.0)
    # RK4 with h = 1 ms and w = 5 rad/s: a local error of (w h)^5 / 120 = 2.6e-14 of the amplitude in each of 2000 steps, 5e-11.
    assert history["position"] == pytest.approx(position, abs=1e-10 * START)
    assert history["velocity"] == pytest.approx(velocity, abs=1e-10 * START * 5)
    assert len(history) == 201 and history.time[-1] == 2.0


def test_a_process_of_its_own_changes_no_bit(folder):
    path = oscillator(folder)
    apart, here = (run_fmu(path, 0.5, isolated=isolated) for isolated in (True, False))
    assert np.array_equal(apart.values, here.values) and np.array_equal(apart.time, here.time)


def test_model_exchange_is_integrated(folder):
    path = oscillator(folder, interfaces=(MODEL_EXCHANGE,), name="exchange")
    history = run_fmu(path, 1.0, tolerance=1e-8, isolated=False)
    position, _ = exact(history.time)
    # CVode keeps each local error below 1e-8 of the nominal value 1; in a damped system the errors of its steps, some
    # hundreds, at most add up, position and velocity being mixed by the factor w = 5.
    assert history["position"] == pytest.approx(position, abs=1e-8 * 500 * 5)
    errors = []
    for step in (2e-3, 1e-3):
        euler = run_fmu(path, 1.0, step=step, solver="Euler", isolated=False)
        errors.append(np.abs(euler["position"] - exact(euler.time)[0]).max())
    # Euler's method is of the first order; what follows in the expansion is of the size of h w.
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


def test_state_events_of_model_exchange_are_met(folder):
    path = oscillator(
        folder,
        "WALL",
        interfaces=(MODEL_EXCHANGE,),
        change={'numberOfEventIndicators="0"': 'numberOfEventIndicators="1"'},
        name="wall",
    )
    history = run_fmu(path, 1.0, settings={"damping": 0.0}, tolerance=1e-8, isolated=False)
    # Without damping an elastic wall at -0.05 m turns time back: x = A cos(w |t - 2 k t1|), t1 being when the wall is met.
    w, first = 5.0, math.acos(-0.5) / 5.0
    apart = np.abs(history.time - 2 * first * np.round(history.time / (2 * first)))
    # The bound of the test above, and the precision of the root; two bounces.
    assert history["position"] == pytest.approx(START * np.cos(w * apart), abs=1e-8 * 500 * 5)
    assert history["position"].min() > -0.05 - 1e-5


def test_time_events_of_model_exchange_are_met(folder):
    path = oscillator(folder, "KICK", interfaces=(MODEL_EXCHANGE,), name="kick")
    history = run_fmu(path, 0.5, tolerance=1e-8, isolated=False)
    position, _ = exact(history.time)
    after = history.time > 0.255
    # A force of 10 N from 0.255 s on, between two samples, adds the response from rest to the free motion.
    position[after] += exact(history.time[after] - 0.255, 10.0, 0.0)[0]
    assert history["position"] == pytest.approx(position, abs=1e-8 * 500 * 5)
    assert np.abs(history["position"] - exact(history.time)[0]).max() > 0.1


def test_the_record_says_where_numbers_came_from(folder):
    history = run_fmu(oscillator(folder), 0.1, settings={"mass": 1.5}, outputs=["vel*", "mass"], isolated=False)
    assert history.channels == (Channel("velocity", "m/s"), Channel("mass", "kg"))
    record = history.provenance
    assert record["fmu"]["guid"] == "{oscillator}" and record["fmu"]["generation_tool"] == "a text editor"
    assert record["fmu"]["file"] == "oscillator.fmu" and record["fmu"]["fmi"] == "2.0"
    assert record["fmu"]["start_values"] == {"mass": 1.5}
    assert record["parameters"]["mass"] == {"value": 1.5, "unit": "kg"}
    assert record["parameters"]["stiffness"] == {"value": 50.0, "unit": "N/m"}
    assert record["time"]["step_s"] == 0.01 and record["fmpy"] == fmpy.__version__
    assert record["model"]["name"] == "oscillator" and record["outcome"] == "complete"
    json.dumps(dict(record), allow_nan=False)


def test_settings_of_every_type_are_taken(folder):
    settings = {"locked": "true", "order": "3", "label": "æøå", "damping": 0}
    history = run_fmu(
        oscillator(folder), 0.1, settings=settings, outputs=["locked", "order", "damping", "position"], isolated=False
    )
    last = dict(zip(history.names, history.values[-1], strict=True))
    assert last == {"locked": 1.0, "order": 3.0, "damping": 0.0, "position": START}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"settings": {"mas": 1}}, "no variable 'mas'; did you mean 'mass'?"),
        ({"settings": {"acceleration": 1}}, "'acceleration' cannot be set: its causality is output"),
        ({"settings": {"mass": "heavy"}}, "'mass' (Real) cannot be 'heavy'; give a finite number"),
        ({"settings": {"mass": math.nan}}, "give a finite number"),
        ({"settings": {"order": 1.5}}, "'order' (Integer) cannot be 1.5; give a whole number"),
        ({"settings": {"locked": "perhaps"}}, "give true or false"),
        ({"settings": {"mass": [1, 2]}}, "takes 1 value(s), got 2"),
        ({"outputs": ["velocty"]}, "no variable matches 'velocty'; did you mean 'velocity'?"),
        ({"outputs": ["label"]}, "'label' is a String and cannot be recorded"),
        ({"inputs": {"fore": math.sin}}, "no numeric input 'fore'; did you mean 'force'?"),
        ({"inputs": {"force": lambda t: math.inf}}, "input 'force' is inf at t = 0 s"),
        ({"inputs": {"force": math.sin}, "settings": {"force": 1}}, "is set to a constant and given over time"),
        ({"solver": "Cvode"}, "no solver 'Cvode'; did you mean 'CVode'?"),
        ({"interface": "model-exchange"}, "does not offer model-exchange; it offers co-simulation"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(folder, asked, said):
    with pytest.raises(FmuError) as error:
        prepare_fmu(oscillator(folder), **asked)
    assert said in str(error.value)
    assert error.value.exit_code == 3


def test_times_must_make_sense(folder):
    path = oscillator(folder)
    with pytest.raises(SolverError, match="not a whole number of steps of 0.3 s"):
        prepare_fmu(path, 1.0, step=0.3)
    with pytest.raises(SolverError, match="the end must be finite and after the start"):
        prepare_fmu(path, -1.0)
    # The FMU's own step is shortened where it does not fit, unless the FMU cannot handle that.
    assert prepare_fmu(path, 0.105).job.step == pytest.approx(0.105 / 11)
    fixed = oscillator(folder, change={'canHandleVariableCommunicationStepSize="true"': ""}, name="fixed")
    with pytest.raises(SolverError, match="not a whole number of steps"):
        prepare_fmu(fixed, 0.105)
    silent = oscillator(folder, change={'<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>': ""}, name="silent")
    with pytest.raises(FmuError, match="does not say how long to run"):
        prepare_fmu(silent)
    assert prepare_fmu(silent, 2.0).job.steps == 1000


def test_inputs_act_from_their_time_on(folder, tmp_path):
    table = tmp_path / "sea.csv"
    table.write_text("time,force,locked\n0,0,0\n0.2,10,0\n0.4,10,1\n")
    path = oscillator(folder)
    history = run_fmu(path, 0.6, inputs=table, isolated=False)
    force = np.interp(history.time, [0, 0.2], [0, 10])
    x, v, a = (history[name] for name in ("position", "velocity", "acceleration"))
    free = history.time < 0.4 - 1e-9
    # The same formula in the same precision; only the order of operations may differ.
    assert a[free] == pytest.approx(((force - DAMPING * v - STIFFNESS * x) / MASS)[free], abs=1e-13)
    assert np.array_equal(x[~free], np.full((~free).sum(), x[~free][0])) and not a[~free].any()
    assert history.provenance["inputs"]["force"] == {"first": 0.0, "unit": "N"}
    assert "go from 0 s to 0.4 s" in history.provenance["warnings"][0]
    functions = run_fmu(path, 0.3, inputs={"force": lambda t: min(50.0 * t, 10.0)}, isolated=False)
    assert functions["position"] == pytest.approx(x[:31], abs=1e-15)


def test_inputs_from_a_history_keep_their_units(folder, tmp_path):
    time = np.linspace(0.0, 1.0, 11)
    path = oscillator(folder)
    good = History(time, (Channel("force", "N"), Channel("tip.x", "m")), np.ones((11, 2)))
    (file, _) = write_history(good, tmp_path / "good.csv")
    assert run_fmu(path, 0.1, inputs=file, isolated=False).provenance["inputs"]["force"]["first"] == 1.0
    with pytest.raises(FmuError, match="'force' is in kN, but the FMU takes it in N"):
        prepare_fmu(path, inputs=History(time, (Channel("force", "kN"),), np.ones((11, 1))))
    with pytest.raises(FmuError, match="no numeric input 'tip.x'"):
        prepare_fmu(path, inputs=History(time, (Channel("tip.x", "m"),), np.ones((11, 1))))
    (tmp_path / "foreign.csv").write_text("time,force,fore\n0,1,1\n1,1,1\n")
    with pytest.raises(FmuError, match="no numeric input 'fore'"):
        prepare_fmu(path, inputs=tmp_path / "foreign.csv")


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        (
            "CRASH_LATER",
            ["was killed by SIGSEGV while stepping from t = 0.03 s by 0.01 s", "[warning] the spring is about to break"],
        ),
        ("EXIT", ["left by itself with exit status 3 while stepping from t = 0.03 s"]),
        (
            "FAIL_LATER",
            ["the step from t = 0.03 s by 0.01 s failed: fmi2DoStep ended with status 'error'", "[error] the spring broke"],
        ),
        ("NAN_LATER", ["after the step from t = 0.03 s by 0.01 s 'position' is nan (and 2 more are not finite)"]),
    ],
)
def test_failures_keep_what_was_computed(folder, defect, said):
    path = oscillator(folder, defect)
    with pytest.raises(SolverError) as error:
        run_fmu(path)
    assert all(words in str(error.value) for words in said)
    history = error.value.history
    assert len(history) == 4 and history.provenance["outcome"] == "failed"
    assert np.array_equal(history.values, run_fmu(oscillator(folder), 0.03, isolated=False).values)
    if defect in ("FAIL_LATER", "NAN_LATER"):
        with pytest.raises(SolverError) as inside:
            run_fmu(path, isolated=False)
        assert str(inside.value) == str(error.value) and len(inside.value.history) == 4


def test_values_that_nobody_asked_for_may_be_nan(folder):
    assert len(run_fmu(oscillator(folder, "NAN_LATER"), outputs=["force"], isolated=False)) == 101


def test_an_fmu_that_does_not_start_says_so(folder):
    path = oscillator(folder, change={'guid="{oscillator}"': 'guid="{another}"'}, name="another-guid")
    with pytest.raises(SolverError, match="starting failed: the FMU did not instantiate") as error:
        run_fmu(path, isolated=False)
    assert error.value.history is None
    talking = oscillator(folder, "SAYS_WHY", change={'guid="{oscillator}"': 'guid="{another}"'}, name="talking")
    with pytest.raises(SolverError, match="did not instantiate") as error:
        run_fmu(talking, isolated=False)
    assert str(error.value).count("the GUID is") == 1
    empty = folder / "empty.fmu"
    with zipfile.ZipFile(oscillator(folder)) as source, zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("modelDescription.xml", source.read("modelDescription.xml"))
    with pytest.raises(FmuError, match="has no binary for this platform"):
        run_fmu(empty)


def test_trouble_after_the_last_sample_is_a_warning(folder):
    history = run_fmu(oscillator(folder, "TERMINATE_FAILS"), 0.1)
    assert history.provenance["outcome"] == "complete" and len(history) == 11
    assert history.provenance["warnings"] == ["the FMU could not be terminated: fmi2Terminate ended with status 'error'"]


def test_a_hang_after_the_last_sample_is_a_warning(folder):
    history = run_fmu(oscillator(folder, "HANG_AT_END"), 0.1, timeout=1.0)
    assert history.provenance["outcome"] == "complete" and len(history) == 11
    (warning,) = history.provenance["warnings"]
    assert warning.startswith("after the run the FMU did not come back within 1 s while terminating, and its process was ended")


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are numbered as Linux does")
def test_an_fmu_that_closes_the_files_of_its_process_costs_nothing(folder):
    """What it is to tell is told through files that are opened anew."""
    found = run_fmu(oscillator(folder, "CLOSE_FILES"), 0.1)
    assert np.array_equal(found.values, run_fmu(oscillator(folder), 0.1, isolated=False).values)
    messages = []
    with pytest.raises(SolverError, match="was killed by SIGSEGV while stepping from t = 0.03 s by 0.01 s"):
        run_fmu(oscillator(folder, "CLOSE_FILES", "CRASH_LATER"), on_message=messages.append)
    assert messages[-1].text == "the spring is about to break"


@pytest.mark.parametrize("isolated", [True, False])
def test_an_interrupt_keeps_what_was_computed(folder, isolated):
    def interrupt(fraction):
        if fraction > 0.05:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted at t = ") as interrupted:
        run_fmu(oscillator(folder, "SLOW"), isolated=isolated, progress=interrupt)
    history = interrupted.value.history
    assert 5 < len(history) < 101 and history.provenance["outcome"] == "interrupted"
    assert np.isfinite(history.values).all()


@pytest.mark.parametrize(
    ("defect", "samples", "said"),
    [
        ("HANG", 4, "the FMU did not come back within 1 s while stepping from t = 0.03 s by 0.01 s, and its process was ended"),
        ("HANG_AT_START", 0, "the FMU did not come back within 1 s while instantiating, and its process was ended"),
    ],
)
def test_a_hang_is_named_and_keeps_what_was_computed(folder, defect, samples, said):
    with pytest.raises(SolverError) as error:
        run_fmu(oscillator(folder, defect), timeout=1.0)
    assert said in str(error.value) and "allow more (timeout)" in str(error.value)
    history = error.value.history
    assert (0 if history is None else len(history)) == samples


@pytest.mark.parametrize("isolated", [True, False])
def test_the_whole_run_has_a_limit_too(folder, isolated):
    """A sample takes 20 ms, a process some seconds to start on a busy machine."""
    limit = 7.0 if isolated else 0.5
    with pytest.raises(SolverError, match=rf"the run was given {limit:g} s, and has come to t = [\d.]+ s of 100 s") as error:
        run_fmu(oscillator(folder, "SLOW"), 100.0, isolated=isolated, run_timeout=limit)
    assert 1 < len(error.value.history) <= limit / 0.02 + 1
    with pytest.raises(MechanismError, match="run_timeout is -1 s; it must be positive, or 0 for no limit"):
        prepare_fmu(oscillator(folder), run_timeout=-1)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("isolated", [True, False])
def test_discarded_steps_are_taken_in_shorter_ones(folder, part, isolated):
    """The FMU takes no step above 4.5 ms: it says how far it got, or nothing."""
    path = oscillator(folder, f"DISCARD={part}", name=f"discarding-{part}")
    found = run_fmu(path, 0.1, isolated=isolated)
    expected = run_fmu(oscillator(folder), 0.1, isolated=False)
    # Internal steps of 0.83 to 1 ms instead of 1 ms: RK4 is wrong by (w h)^5 / 120 = 3e-14 of the amplitude in each of 100.
    assert found["position"] == pytest.approx(expected["position"], abs=1e-11 * START)
    assert found.provenance["warnings"] == ["the FMU discarded 10 steps, which were taken in shorter parts"]
    assert len(found) == 11


def test_what_cannot_be_taken_in_shorter_steps_says_why(folder):
    stuck = oscillator(folder, "DISCARD=1", change={'canGetAndSetFMUstate="true"': ""}, name="no-state")
    with pytest.raises(SolverError) as error:
        run_fmu(stuck, 0.1, isolated=False)
    text = str(error.value)
    assert "fmi2DoStep ended with status 'discard' for the step from t = 0 s by 0.01 s: it got as far as t = 0.004 s" in text
    assert (
        "it cannot go back to an earlier state, so shorter steps cannot be tried; choose a shorter one for all (step)" in text
    )
    rigid = oscillator(folder, "DISCARD=1", change={'canHandleVariableCommunicationStepSize="true"': ""}, name="one-length")
    with pytest.raises(SolverError, match="it takes steps of one length only"):
        run_fmu(rigid, 0.1, isolated=False)


@pytest.mark.parametrize("defect", ["DISCARD", "EARLY_RETURN"])
def test_fmi_3_discards_and_returns_early(folder, defect):
    """Of FMI 3 an FMU that discards a step is as it was before it; one that returns early goes on from there."""
    found = run_fmu(oscillator3(folder, defect), 0.1, isolated=False)
    # The midpoint rule with at most 1 ms: (w h)^3 / 6 of the amplitude in each of 100 to 120 steps.
    assert found["position"] == pytest.approx(exact(found.time)[0], abs=START * 120 * (5e-3) ** 3 / 6)
    notes = ["the FMU discarded 10 steps, which were taken in shorter parts"] if defect == "DISCARD" else []
    assert found.provenance["warnings"] == notes


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_running(folder, tmp_path, number):
    """With SIGTERM nothing is left at all; after SIGKILL the next run removes the files."""
    path = oscillator(folder, "SLOW")
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    words = [sys.executable, "-m", "kingpost", "fmu-run", str(path), "--t-end", "100", "--write", "csv", "--out", "o"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "instantiated" in process.stderr.readline()
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}/stat").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
    left = list((tmp_path / "temporary").iterdir())
    if number == signal.SIGTERM:
        assert process.returncode == 143 and left == []
        assert "interrupted at t = " in said and len(read_history(tmp_path / "o" / "interrupted-history.csv")) > 1
        return
    assert process.returncode == -9 and len(left) == 1
    os.utime(left[0] / LOCK, (0, 0))
    done = subprocess.run([*words[:4], str(oscillator(folder)), "--out", "p"], cwd=tmp_path, env=environment, check=True)
    assert done.returncode == 0 and list((tmp_path / "temporary").iterdir()) == []


def test_fmi_3_and_its_arrays(folder):
    history = run_fmu(oscillator3(folder), 0.5, isolated=False)
    assert history.names == ("position", "velocity", "acceleration", "both[1]", "both[2]")
    assert np.array_equal(history["both[2]"], history["velocity"])
    # The midpoint rule with h = 1 ms: (w h)^3 / 6 of the amplitude in each of 500 steps.
    assert history["position"] == pytest.approx(exact(history.time)[0], abs=START * 500 * (5e-3) ** 3 / 6)
    early = run_fmu(oscillator3(folder, "END_EARLY"), isolated=False)
    assert early.time[-1] == pytest.approx(0.5) and early.provenance["outcome"] == "complete"
    assert early.provenance["warnings"] == ["the FMU asked to end the simulation at t = 0.5 s"]


LOADS = {"Mx": 1.0, "My": 2.0, "Mz": 3.0, "Fx": 10.0, "Fy": 20.0, "Fz": 30.0}


@pytest.fixture(scope="module")
def crane(folder):
    """A slave with the channels of a joint load, and the annotation that Kingpost's exporters write."""
    half = math.sqrt(0.5)  # the king is turned by 90 degrees about z
    values = {f"slew.{name}": value for name, value in LOADS.items()}
    values |= dict.fromkeys((f"king.motion.{letter}{axis}" for letter in ("w", "alpha", "a") for axis in "xyz"), 0.0)
    values |= {"king.pose.px": 0.0, "king.pose.py": 0.0, "king.pose.pz": 0.0}
    values |= {"king.pose.ew": half, "king.pose.ex": 0.0, "king.pose.ey": 0.0, "king.pose.ez": half}
    values |= {"loads.gravity.x": 0.0, "loads.gravity.y": 0.0, "loads.gravity.z": -9.81}
    body = f"""
    VALUES = {values!r}


    class Craneslave(Fmi2Slave):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            for name in VALUES:
                variable = Real(name, causality=Fmi2Causality.output, getter=lambda name=name: VALUES[name])
                self.register_variable(variable, nested=False)

        def do_step(self, current_time, step_size):
            self.log("a step of %g s" % step_size)
            return True
    """
    path = slave(folder, "craneslave", body)
    place = {"position": [0.0, 0.0, 0.0], "rotation": np.eye(3).tolist()}
    joint = {
        "kind": "revolute",
        "parent": "world",
        "child": "king",
        "parent_frame": place,
        "child_frame": place,
        "axis": [0, 0, 1],
    }
    at = {"frame": "child", "side": "child", "at": [0.0, 0.0, 0.0]}
    other = {**at, "parts": ["constraint"]}
    record = {
        "geometry": {"bodies": {"king": {"mass": 5.0, "com": [0.0, 0.0, 0.5]}}, "joints": {"slew": joint}, "outputs": []},
        "loads": {"method": "recursive", "joints": {"slew": {**at, "parts": ["constraint", "actuator"]}, "luff": other}},
        "channels": [{"name": f"slew.{name}", "unit": "N", **at} for name in LOADS],
    }
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/kingpost.json", json.dumps(record))
    return path


def test_loads_of_kingposts_fmus_can_be_turned(crane):
    messages = []
    history = run_fmu(crane, 0.1, step=0.05, on_message=messages.append)
    assert history.channels[0] == Channel("slew.Mx", "N", "child", "child", (0.0, 0.0, 0.0))
    # The king's x axis is the world's y axis, its y axis the world's -x axis; on the parent everything is opposite.
    load = history.loads("slew", frame="world", side="parent")
    assert load.total[-1] == pytest.approx([2.0, -1.0, -3.0, 20.0, -10.0, -30.0])
    # Loads without channels, and parts without channels, are not promised.
    assert list(history.provenance["loads"]["joints"]) == ["slew"]
    assert history.provenance["loads"]["joints"]["slew"]["parts"] == []
    assert history.provenance["fmu"]["without_unit"][0] == "slew.Mx"
    assert [message.text for message in messages] == ["a step of 0.05 s"] * 2


def test_an_annotation_that_is_none_is_a_warning(folder):
    path = oscillator(folder, extra={"resources/kingpost.json": '{"loads": 3}'}, name="annotated")
    history = run_fmu(path, 0.1, isolated=False)
    assert "kingpost.json in the FMU is not used: its 'loads' is 3, expected a table" in history.provenance["warnings"][0]


def test_more_samples_than_fit_are_refused_with_the_numbers(folder):
    asked = {'stopTime="1"': 'stopTime="1e8"', 'stepSize="0.01"': 'stepSize="0.001"'}
    endless = oscillator(folder, change=asked, name="endless")
    with pytest.raises(
        FmuError, match=r"in steps of 0.001 s, as the FMU suggests, makes 1e\+11 samples of 3 numbers: 3.2e\+03 GB"
    ):
        run_fmu(endless)
    assert len(run_fmu(endless, 0.1, isolated=False)) == 101
    with pytest.raises(FmuError, match="Give an earlier end"):
        run_fmu(oscillator(folder), 1e9, step=1e-2)


def test_an_fmu_that_does_not_say_how_long_to_run_is_told_so(folder):
    path = oscillator(folder, change={'stopTime="1" ': ""}, name="open-end")
    with pytest.raises(FmuError, match="does not say how long to run: its description has no stop time. Give an end time"):
        run_fmu(path)
    assert len(run_fmu(path, 0.1, isolated=False)) == 11


@pytest.mark.parametrize("isolated", [True, False])
def test_samples_are_handed_over_while_an_fmu_runs(folder, isolated):
    progress = WatchedProgress()
    history = run_fmu(oscillator(folder), 0.5, isolated=isolated, progress=progress)
    watch = progress.watch
    count = len(watch.times) and len(watch.time)
    # One in another process may be over before it is looked at once more.
    assert count == len(history) or isolated
    assert [channel.name for channel in watch.channels] == list(history.names)
    if count:
        assert np.array_equal(watch.time, history.time[:count])
        assert np.array_equal(watch.values, history.values[:count])
