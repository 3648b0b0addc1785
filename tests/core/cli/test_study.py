"""kingpost study: planned, run, interrupted, killed, resumed, replayed; and what is refused before anything is run."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from kingpost import read_history, simulate
from kingpost.cli.study_tables import duration
from kingpost.modelfiles.opened import open_model
from tests.core.studies.small import HULL

TEXT = """
name = "lifts"
model = "vessel-crane"
t_end = 1
skip = 0.2
step = 0.002
output_step = 0.02

[vary]
"slew.angle" = [0.0, 0.4]
m4 = [20, 30]

[keep]
loads = ["slew"]
statistics = ["max", "min", "del:3"]
histories = "none"

[limits]
"slew.Mx" = { max = 1100.0 }

[check]
step_halving = 1
"""


#: A hull that starts at rest, tilted by a little or by more than linear theory holds for.
TILTED = """
name = "tilted"
model = "hull.toml"
t_end = 3
step = 0.02
output_step = 0.1
[vary]
"roll.angle" = [0.1, 0.6]
[keep]
channels = ["roll.angle"]
histories = "all"
[limits]
"roll.angle" = { max = 0.5 }
"""


def write(folder, text=TEXT):
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_study_from_plan_to_replay(kingpost_cli, tmp_path):
    write(tmp_path)
    plan = json.loads(kingpost_cli("study", "study.toml", "--plan", "--json").out)
    assert (plan["cases"], plan["by"], plan["timed_run"]["error"]) == (4, {"grid": 4}, "")
    assert plan["estimated_wall_s"] > 0
    assert not (tmp_path / "results").exists()

    done = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "out")
    assert done.status == 0, done.err
    assert "4 of 4 done, 0 failed" in done.out
    files = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")}
    assert {"study.sqlite", "cases.parquet", "study.json", "study.html"} <= files
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    assert record["ran"]["compilations"] <= 1
    assert "runs" not in files
    assert record["cases"]["done"] == 4
    (change,) = record["step_check"]["runs"]
    assert change["part"] < 1e-6  # of a smooth motion, in rk4 steps of 2 ms

    # The numbers are those of a plain run, to the last bit.
    worst = record["worst"]["runs"][0]
    plain = simulate(
        open_model("vessel-crane").mechanism, 1.0, settings=worst["labels"], step=0.002, output_step=0.02, loads="slew"
    ).between(0.2)
    with sqlite3.connect(tmp_path / "out" / "study.sqlite") as db:
        (count,) = db.execute("select count(*) from outcomes").fetchone()
    assert count == 5  # four cases, and one with half the step
    first = record["extremes"][0]
    assert (first["channel"], first["side"], first["worst"]) == ("slew.Mx", "max", worst["key"])
    assert first["largest"] == plain["slew.Mx"].max()

    # Once more: nothing is run, and the folder is as good as the file.
    again = kingpost_cli("study", "out")
    assert again.status == 0 and "4 of 4 runs are there already" in again.err
    replay = kingpost_cli("study", "out", "--replay", worst["key"][:9])
    assert replay.status == 0, replay.err
    whole = read_history(tmp_path / "out" / "runs" / worst["key"])
    assert whole.provenance["study"]["case"] == worst["key"]
    assert np.array_equal(whole.between(0.2)["slew.Mx"], plain["slew.Mx"])
    assert (tmp_path / "out" / "runs" / worst["key"] / "report.html").stat().st_size > 1e5

    # Other limits need no new runs; a shorter run would.
    write(tmp_path, TEXT.replace("1100.0", "1050.0"))
    changed = kingpost_cli("study", "study.toml", "--out", "out", "--json")
    assert "limits.slew.Mx.max: 1100.0 -> 1050.0" in changed.err
    assert json.loads(changed.out)["cases"]["done"] == 4
    write(tmp_path, TEXT.replace("t_end = 1", "t_end = 0.9"))
    refused = kingpost_cli("study", "out", "--replay", worst["key"])
    assert refused.status == 9 and "t_end: 1 -> 0.9" in refused.err


def test_failed_runs_do_not_end_a_study(kingpost_cli, tmp_path):
    write(tmp_path, TEXT.replace("m4 = [20, 30]", "m4 = [30, -1]").replace("step_halving = 1", "step_halving = 0"))
    done = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "out", "--json")
    assert done.status == 0
    record = json.loads(done.out)
    assert (record["cases"]["done"], record["cases"]["failed"]) == (2, 2)
    assert all("'m4' is -1 kg, outside its range" in item["error"] for item in record["failed"])
    assert "2 of 4 runs failed" in done.err


SHORT_WAVES = """
name = "short waves"
model = "barge"
t_end = 1
step = 0.05
[run]
backend = "vm"
[sea]
components = 8
scatter = [[0.1, 1.2, 0.25], [1.0, 8.0, 0.75]]
headings = [150]
[keep]
channels = ["hull.heave"]
[limits]
"hull.heave" = { max = 5.0 }
"""


@pytest.mark.slow
def test_a_sea_that_the_data_do_not_cover_fails_with_its_percentage_and_the_others_are_run(kingpost_cli, tmp_path):
    write(tmp_path, SHORT_WAVES)
    done = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "out", "--json")
    assert done.status == 0, done.err
    words = "100 % of the energy of the sea lies outside of the table's frequencies, 0.1 to 2.5 rad/s"
    assert "1 sea state (of one heading) is not covered by the data of the machine, 25 % of the time" in done.err
    record = json.loads(done.out)
    (failed,) = record["failed"]
    assert words in done.err and words in failed["error"]
    assert (record["cases"]["done"], record["operability"]["percent_of_year"]) == (1, 75.0)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nowhere.toml"], 6, "there is no study file 'nowhere.toml'"),
        (["."], 6, "is a folder without a study"),
        (["study.toml", "--workers", "0"], 2, "give 1 or more"),
        (["study.toml", "--plan", "--replay", "a"], 2, "give one of them"),
        (["study.toml", "--on", "cloud"], 4, "'cloud'"),
        (["study.toml", "--replay", "abc"], 6, "there is no study in 'results/lifts' yet"),
        (["study.toml", "--resum"], 0, ""),
    ],
)
@pytest.mark.quick("words0-*", "words1-*", "words2-*", "words3-*", "words4-*", "words5-*")
def test_what_cannot_be_done_is_refused(kingpost_cli, tmp_path, words, status, message):
    write(tmp_path)
    done = kingpost_cli("study", *words)
    assert done.status == status
    assert message in done.err


def test_an_unfinished_study_is_not_taken_up_unasked(kingpost_cli, tmp_path):
    from kingpost.registry.pluginset import PluginSet
    from kingpost.studies.case import Outcome
    from kingpost.studies.planning import plan_study
    from kingpost.studies.running import begin
    from kingpost.studies.store import Store
    from kingpost.studies.study_file import read_study

    path = write(tmp_path)
    plugins = PluginSet(entry_points=False)
    plan = plan_study(read_study(path, plugins), plugins)
    with Store(tmp_path / "out") as store:
        begin(plan, store)
        store.add(Outcome(next(plan.cases()).key, {}, "died", 0.0))
    refused = kingpost_cli("study", "study.toml", "--out", "out")
    assert refused.status == 9
    assert "'out' holds 1 of 4 runs of a study that was not finished; go on with --resume" in refused.err


def test_times_in_words():
    assert [duration(seconds) for seconds in (0.5, 42, 180, 9000, 400000)] == ["0.5 s", "42 s", "3 min", "2.5 h", "4.6 days"]


@pytest.mark.slow
def test_lives_are_those_of_kingpost_fatigue_on_the_same_runs(kingpost_cli, tmp_path):
    """All runs kept whole, counted again by kingpost fatigue from the table of states that the study writes."""
    spots = '[[hotspots]]\nname = "ring"\ncurve = "D-air"\ndff = 3.0\n[hotspots.stress]\n"slew.Mx" = 4e4\n"slew.Fz" = -8e3\n'
    (tmp_path / "spots.toml").write_text(spots)
    text = TEXT.replace('histories = "none"', 'histories = "all"\nhotspots = "spots.toml"')
    positions = [("a", 0.7, 0.0), ("b", 0.3, 0.4)]
    rows = ", ".join(
        f'{{ name = "{name}", probability = {part}, settings = {{ "slew.angle" = {angle} }} }}'
        for name, part, angle in positions
    )
    vary = f'[[vary]]\nsampler = "list"\ncases = [{rows}]\n[[vary]]\nsampler = "grid"\nvalues = {{ m4 = [20, 30] }}\n'
    text = text.replace('[vary]\n"slew.angle" = [0.0, 0.4]\nm4 = [20, 30]\n', vary)
    write(tmp_path, text)
    done = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "out", "--json")
    assert done.status == 0, done.err
    (ring,) = json.loads(done.out)["damage"]
    words = ("fatigue", "--states", "out/states.toml", "--hotspots", "spots.toml", "--skip", "0.2", "--json")
    counted = kingpost_cli(*words)
    assert counted.status == 0, counted.err
    (spot,) = json.loads(counted.out)["hot_spots"]
    # The same cycles; CSV files hold all digits, and sums are of the same terms.
    assert ring["damage_per_year"] == pytest.approx(spot["damage_per_year"], rel=1e-12)
    assert ring["life_years"] == pytest.approx(spot["life_years"], rel=1e-12)
    assert ring["cycles_per_year"] == pytest.approx(spot["cycles_per_year"], rel=1e-12)


LONG = TEXT.replace("t_end = 1\n", "t_end = 60\n").replace("m4 = [20, 30]", "m4 = { from = 20, to = 40, count = 30 }")


def started(tmp_path):
    """Start a long study in a process of its own, and wait until some runs are done."""
    write(tmp_path, LONG)
    words = [sys.executable, "-m", "kingpost", "study", "study.toml", "--workers", "2", "--out", "out"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ, text=True)
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None and count_done(tmp_path) < 3:
        time.sleep(0.1)
    assert process.poll() is None, process.stdout.read()
    return process


def count_done(tmp_path):
    store = tmp_path / "out" / "study.sqlite"
    if not store.is_file():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return db.execute("select count(*) from outcomes").fetchone()[0]
    except sqlite3.Error:
        return 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_whatever_ends_a_study_it_goes_on_to_the_same_numbers(kingpost_cli, tmp_path, name):
    number = getattr(signal, name)
    process = started(tmp_path)
    process.send_signal(number)
    said, _ = process.communicate(timeout=120)
    if name != "SIGKILL":
        assert process.returncode == 128 + number
        assert "runs are kept in 'out'" in said and "--resume --out out" in said
    kept = count_done(tmp_path)
    assert 3 <= kept < 60
    done = kingpost_cli("study", "study.toml", "--resume", "--workers", "2", "--out", "out", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["cases"]["done"] == 60
    whole = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "whole", "--json")
    first, second = (json.loads(outcome.out) for outcome in (done, whole))
    assert first["extremes"] == second["extremes"]
    assert first["equivalent_ranges"] == second["equivalent_ranges"]


def test_cases_outside_linear_theory_are_told_everywhere(kingpost_cli, tmp_path):
    (tmp_path / "hull.toml").write_text(HULL)
    write(tmp_path, TILTED)
    done = kingpost_cli("study", "study.toml", "--on", "threads", "--out", "out")
    assert done.status == 0, done.err
    assert "1 of 2 runs left the small angles of linear theory: 50.000% of the time" in done.err
    assert "1 of 2 done, 0 failed, 0 open" in done.out
    assert "1 runs left linear theory: 50.000% of the time is in no damage, life or extreme" in done.out
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    (run,) = record["outside_linear_theory"]["runs"]
    assert run["labels"] == {"roll.angle": 0.6} and "'hull' tilts by up to 34.4 deg" in run["why"]
    assert record["operability"]["percent_of_year"] == 50.0
    rows = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out" / "cases.parquet").to_pylist()
    assert [(row["roll.angle"], row["state"], row["outside"] != "") for row in rows] == [
        (0.1, "done", False),
        (0.6, "outside linear theory", True),
    ]
    assert rows[1]["roll.angle:max"] is None
    # Only runs that count are kept, and stand in the table for kingpost fatigue, with what they make of the time.
    assert {path.name for path in (tmp_path / "out" / "runs").iterdir()} == {rows[0]["key"]}
    assert "50.0000% of the time is left out" in (tmp_path / "out" / "states.toml").read_text()
    again = kingpost_cli("study", "out", "--replay", run["key"])
    assert again.status == 0 and "it left linear theory: 'hull' tilts" in again.out
    whole = read_history(tmp_path / "out" / "runs" / run["key"])
    assert whole.provenance["outside_linear_theory"]["hull"]["largest_tilt_deg"] == pytest.approx(34.4, abs=0.1)
    # A limit that the data are said to hold for needs new runs, and lets both count.
    write(tmp_path, TILTED + "[run]\ntilt_limit = 40\n")
    wider = json.loads(kingpost_cli("study", "study.toml", "--on", "threads", "--out", "wider", "--json").out)
    assert wider["cases"]["done"] == 2 and wider["outside_linear_theory"]["runs"] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_study_on_dask_has_the_bits_of_one_in_threads(kingpost_cli, tmp_path):
    """By the names of the command: a cluster of this machine, and a scheduler at an address."""
    distributed = pytest.importorskip("distributed")
    write(tmp_path)
    words = ("study", "study.toml", "--json", "--out")
    own = [json.loads(kingpost_cli(*words, "threads", "--on", "threads").out)]
    own.append(json.loads(kingpost_cli(*words, "cluster", "--on", "dask", "--workers", "1").out))
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        own.append(json.loads(kingpost_cli(*words, "address", "--on", address).out))
    assert [record["ran"]["on"] for record in own] == ["threads", "dask:workers=1", address]
    assert own[0]["extremes"] == own[1]["extremes"] == own[2]["extremes"]
    assert own[0]["step_check"] == own[1]["step_check"] == own[2]["step_check"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "dask://somewhere:8786", "--workers", "2"), "those at dask://somewhere:8786 are there already"),
        (("--on", "desk"), "did you mean 'dask'"),
    ],
)
def test_where_runs_are_made_must_make_sense(kingpost_cli, tmp_path, words, said):
    write(tmp_path)
    refused = kingpost_cli("study", "study.toml", *words)
    assert refused.status != 0 and said in refused.err


def test_options_of_an_executor_and_the_number_of_workers_go_together(kingpost_cli, tmp_path):
    write(tmp_path, TEXT.replace("m4 = [20, 30]", ""))
    done = kingpost_cli("study", "study.toml", "--on", "local:attempts=2", "--workers", "1", "--json", "--out", "out")
    assert done.status == 0, done.err
    assert json.loads(done.out)["ran"]["on"] == "local:attempts=2,workers=1"
