"""Parts of the service on their own: the folder, settings, the place of an attempt, what a process tells, its limits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kingpost.base.errors import FileError, KingpostError
from kingpost.fmu.commands.submit import _words
from kingpost.fmu.service.client import Client
from kingpost.fmu.service.crew import Crew
from kingpost.fmu.service.describing import Describer
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.executor import Executor
from kingpost.fmu.service.folder import ProjectFolder, only_server
from kingpost.fmu.service.job_process import LIMITS
from kingpost.fmu.service.leases import Leases
from kingpost.fmu.service.server import _names
from kingpost.fmu.service.settings import JobLimits, ServiceSettings
from kingpost.fmu.service.starting import Place, command_of, fill_place, results_of
from kingpost.fmu.service.watching import ProgressReader, Said, message_in, outcome
from tests.fmu.service.serving import plan_of


def test_a_token_is_made_once_and_read_again(tmp_path):
    folder = ProjectFolder(tmp_path)
    token = folder.token()
    assert len(token) >= 40
    assert folder.token() == token
    (tmp_path / "mine").write_text("short")
    with pytest.raises(FileError, match="5 characters"):
        folder.token(tmp_path / "mine")


def test_what_an_earlier_server_left_half_uploaded_is_gone(tmp_path):
    folder = ProjectFolder(tmp_path / "project")
    folder.make()
    (folder.incoming / "half").write_bytes(b"x")
    (folder.incoming / "place").mkdir()
    folder.make()
    assert list(folder.incoming.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="choose another"):
        ProjectFolder(tmp_path / "file").make()


def test_a_project_has_one_server(tmp_path):
    folder = ProjectFolder(tmp_path)
    with only_server(folder), pytest.raises(FileError, match="another 'kingpost serve'"), only_server(folder):
        pass
    with only_server(folder):
        pass


def test_settings_travel_as_text():
    settings = ServiceSettings(workers=3, on="dask://host:1", limits=JobLimits(memory=1e9, nice=5))
    assert ServiceSettings.of(settings.text()) == settings
    assert settings.limits.words == "1000000000 0 50000000000 5"


def test_names_under_which_a_server_answers():
    assert {"127.0.0.1:80", "localhost:80", "kp.example", "kp.example:80"} <= set(_names("127.0.0.1", 80, ["kp.example"]))
    assert "0.0.0.0:80" not in _names("0.0.0.0", 80, [])


def taken(context, kind="run", spec=None):
    context.store.add(kind, "x", spec or plan_of("run", "--out={results}"))
    if context.store.fact("epoch") is None:
        context.store.next_epoch()
    leases = Leases(context.store, 1, "one")
    return leases, leases.take()


def test_the_place_of_an_attempt_has_what_the_job_needs_and_nothing_outside(context):
    spec = plan_of("run")
    spec["plan"]["texts"] = {"sub/a.toml": "x = 1"}
    _, job = taken(context, spec=spec)
    place = fill_place(context.folder, job)
    assert (place.work / "sub" / "a.toml").read_text() == "x = 1"
    place.clear()
    assert sorted(path.name for path in place.root.iterdir()) == ["results"]
    assert results_of(context.folder, job.id) == place
    spec["plan"]["texts"] = {"../../evil": "x"}
    _, job = taken(context, spec=spec)
    with pytest.raises(FileError, match="outside"):
        fill_place(context.folder, job)


def test_a_study_goes_on_with_the_runs_of_an_earlier_attempt(context):
    leases, job = taken(context, "study", plan_of("study", "s.toml", "--out={results}"))
    place = fill_place(context.folder, job)
    (place.results / "study.sqlite").write_text("runs")
    leases.give_back(job)
    leases.give_back(leases.take())  # an attempt that came to nothing
    again = leases.take()
    assert again.attempts == 3
    place = fill_place(context.folder, again)
    assert (place.results / "study.sqlite").read_text() == "runs"
    words = command_of(again, place, ServiceSettings(workers=2))
    assert words == ["study", "s.toml", f"--out={place.results}", "--on=local", "--workers=2", "--resume"]
    assert "--on=dask://a:1" in command_of(again, place, ServiceSettings(on="dask://a:1"))


def test_progress_is_read_line_by_line(tmp_path):
    reader = ProgressReader(tmp_path / "p")
    assert reader.last() is None
    (tmp_path / "p").write_text('{"fraction": 0.25, "left_s": 3}\nnonsense\n[1]\n{"fraction": 0.5}\n{"frac')
    assert reader.last() == Said(0.5)
    assert reader.last() is None
    with (tmp_path / "p").open("a") as stream:
        stream.write('tion": 0.75, "left_s": 1.5}\n')
    assert reader.last() == Said(0.75, 1.5)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("kingpost: warning: beware\nkingpost: there is no model 'x'\n  in a.toml\n", "there is no model 'x'\n  in a.toml"),
        ("usage: kingpost run\nkingpost run: error: there is no option '--x'\n", "there is no option '--x'"),
        ("Killed\n", "Killed"),
    ],
)
def test_the_message_of_a_command_is_found_in_its_log(log, message):
    assert message_in(log) == message


def test_how_a_process_ends_is_told(tmp_path):
    place = Place(tmp_path)
    assert outcome("fmu-check", 8, place) == ("done", None)
    assert outcome("run", 8, place) == ("failed", "the command ended with status 8 and no message")
    place.log.write_text("kingpost: no\n")
    assert outcome("run", 3, place) == ("failed", "no")
    assert outcome("run", -11, place) == ("failed", "the process was ended by SIGSEGV: no")


def test_a_job_that_cannot_be_started_fails_with_the_reason(context):
    spec = plan_of("run")
    spec["plan"]["blobs"] = {"a.toml": "0" * 64}
    leases, job = taken(context, spec=spec)
    Executor(context.folder, leases, context.settings)._carry_out(job)
    found = context.store.job(job.id)
    assert found.state == "failed"
    assert "'a.toml' is not in the folder of the project any more" in found.error


@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
def test_a_job_is_held_to_its_limits_and_imports_nothing_from_its_folder(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "numpy.py").write_text("raise SystemExit('imported from the folder of the job')")
    words = [sys.executable, "-m", "kingpost.fmu.service.job_process", str(tmp_path / "work"), "--version"]
    environment = {**os.environ, LIMITS: "0 0 1000 3"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kingpost ")


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not share processors by sessions")
def test_the_session_of_a_job_is_as_nice_as_its_process():
    text = "from kingpost.fmu.service.job_process import _limit; import os; before = os.nice(0); _limit('0 0 0 7'); "
    text += "print(os.nice(0) - before, open('/proc/self/autogroup').read())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, start_new_session=True)
    niceness, _, session = done.stdout.strip().partition(" ")
    assert niceness == "7"
    assert session == "" or session.endswith("nice 7")  # empty within a control group, which has shares of its own


def test_a_crew_stops_what_it_started(context):
    crew = Crew(context.folder, context.store, context.settings)
    assert crew.start() == []
    assert crew.alive == len(crew.processes()) == 1
    crew.stop()
    assert crew.alive == 0


def test_a_description_that_fails_is_a_refusal(tmp_path):
    describer = Describer()
    (tmp_path / "x.fmu").write_bytes(b"no archive")
    with pytest.raises(ServiceError, match=r"x\.fmu"):
        describer.ask("fmu", str(tmp_path / "x.fmu"))
    describer.close()


def test_words_of_submit():
    assert _words(["a=1", "b=x", "c=true", "a=2"], "--option") == {"a": [1, 2], "b": "x", "c": True}
    with pytest.raises(KingpostError, match="NAME=VALUE"):
        _words(["a"], "--set")


def test_a_client_takes_its_token_from_the_project(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("abc\n")
    assert Client.of(tmp_path, "http://h:1/") == Client("http://h:1", "abc")
    monkeypatch.delenv("KINGPOST_TOKEN", raising=False)
    with pytest.raises(KingpostError, match="--token-file"):
        Client.of()
    with pytest.raises(FileError, match="folder of a server"):
        Client.of(tmp_path / "nothing")
    assert json.dumps(Client.of(tmp_path).token) == '"abc"'


def test_a_client_finds_the_server_of_a_project_on_any_port(tmp_path, monkeypatch):
    monkeypatch.delenv("KINGPOST_SERVER", raising=False)
    (tmp_path / "token").write_text("abc\n")
    assert Client.of(tmp_path).address == "http://127.0.0.1:8765"
    (tmp_path / "address").write_text("http://127.0.0.1:4711\n")
    assert Client.of(tmp_path).address == "http://127.0.0.1:4711"
    assert Client.of(tmp_path, "http://h:1/").address == "http://h:1"
