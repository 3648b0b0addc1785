"""From what a client asks for to the words of a command line, and what is refused on the way."""

import argparse

import pytest

from kingpost.base.toml import read_toml
from kingpost.base.toml_text import toml_text
from kingpost.fmu.service.data_guard import check_data, check_words, file_names
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.kinds import KINDS, LEFT_OUT
from kingpost.fmu.service.planning import Asked, Known, plan_job
from kingpost.fmu.service.store import Blob, Job
from kingpost.registry.pluginset import PluginSet

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
BLOBS = {
    ONE: Blob(ONE, "crane.fmu", 10, "fmu", {}, 1.0),
    TWO: Blob(TWO, "system.toml", 10, "toml", {"holds": "system"}, 1.0),
    THREE: Blob(THREE, "winds.csv", 10, "csv", {}, 1.0),
}
DATA = {TWO: {"components": {"crane": {"fmu": "parts/crane.fmu", "inputs": {"u": "winds.csv:speed"}}}}}


def job(number):
    if number != 7:
        raise ServiceError(f"there is no job {number}", status=404)
    return Job(7, "run", "crane", "done", {}, 0.0, 0.0, 1.0, 1.0, None, 1, 0, False, None, None, 0, None, ())


def blob(digest):
    if digest not in BLOBS:
        raise ServiceError(f"there is no file '{digest}'", status=404)
    return BLOBS[digest]


KNOWN = Known(
    models=lambda: ["vessel-crane", "double-pendulum"],
    blob=blob,
    blob_named=lambda name: next((each for each in BLOBS.values() if each.name == name), None),
    text_of=lambda found: DATA.get(found.hash, {}),
    job=job,
)


def planned(**asked):
    return plan_job(Asked(**asked), KNOWN)[0]


def refused(**asked):
    with pytest.raises(ServiceError) as refusal:
        planned(**asked)
    return str(refusal.value)


def test_a_run():
    plan = planned(
        kind="run",
        model="vessel-crane",
        settings={"m1": 1500.0, "slew.angle": 0.25},
        options={"t_end": 5, "loads": ["slew", "luff"], "report": False, "monitors": False, "write": "csv"},
    )
    assert plan.words == [
        *("run", "vessel-crane", "--set=m1=1500.0", "--set=slew.angle=0.25", "--t-end=5", "--loads=slew", "--loads=luff"),
        *("--no-monitors", "--write=csv", "--out={results}", "--json"),
    ]
    assert plan.foreign is False


def test_a_run_writes_a_report_and_files_that_are_quick_to_read_unless_told_otherwise():
    assert {"--report", "--write=csv,npz"} <= set(planned(kind="run", model="vessel-crane").words)


def test_a_system_brings_the_files_along_that_it_names():
    plan = planned(kind="cosim", file=TWO, options={"t_end": 1.5, "check": True})
    assert plan.blobs == {"system.toml": TWO, "parts/crane.fmu": ONE, "winds.csv": THREE}
    assert plan.words[:4] == ["cosim", "system.toml", "--t-end=1.5", "--check"]
    assert plan.foreign is True


def test_a_system_as_plain_data_becomes_a_file_in_which_hashes_are_names(tmp_path):
    system = {"name": "two", "components": {"a": {"fmu": ONE}, "b": {"model": "vessel-crane"}}, "connections": []}
    plan = planned(kind="cosim", system=system)
    (tmp_path / "system.toml").write_text(plan.texts["system.toml"])
    assert read_toml(tmp_path / "system.toml")[1]["components"] == {"a": {"fmu": "crane.fmu"}, "b": {"model": "vessel-crane"}}
    assert plan.blobs == {"crane.fmu": ONE}
    assert plan.foreign is True


def test_options_that_are_files_are_given_by_their_hash():
    plan = planned(kind="fmu-run", file=ONE, options={"inputs": THREE, "report": False})
    assert "--inputs=winds.csv" in plan.words
    plan = planned(
        kind="run", model="vessel-crane", options={"input": {"u": {"file": THREE, "column": "w"}, "v": "2*sin(t)/3"}}
    )
    assert {"--input=u=winds.csv:w", "--input=v=2*sin(t)/3"} <= set(plan.words)


def test_reports_and_fatigue_of_a_job():
    plan = planned(kind="fatigue", job=7, options={"slopes": [3, 5], "joint": ["slew:frame=parent,side=parent"]})
    assert plan.words == [
        *("fatigue", "job-7", "--slopes=3,5", "--joint=slew:frame=parent,side=parent", "--out={results}/fatigue.json", "--json")
    ]
    assert plan.results == {"job-7": 7}
    assert "--out={results}/report.html" in planned(kind="report", job=7).words


def test_every_kind_can_be_planned_with_its_subject():
    subjects = {"model": {"model": "vessel-crane"}, "system": {"file": TWO}, "study": {"file": TWO}, "fmu": {"file": ONE}}
    for name, kind in KINDS.items():
        plan = planned(kind=name, **subjects.get(kind.subject, {"job": 7}))
        assert plan.words[0] == kind.verb
        assert ("--json" in plan.words) is kind.json


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "runn", "model": "vessel-crane"}, "'run'"),
        ({"kind": "run", "model": "../x"}, "no model '../x'"),
        ({"kind": "run"}, "takes model or file, one of them; none of them was given"),
        ({"kind": "run", "model": "vessel-crane", "file": TWO}, "model and file was given"),
        ({"kind": "run", "file": ONE}, "is a file of kind 'fmu'"),
        ({"kind": "run", "file": "4" * 64}, "no file"),
        ({"kind": "run", "model": "vessel-crane", "options": {"out": "x"}}, "no option 'out'"),
        ({"kind": "run", "model": "vessel-crane", "options": {"plugin": "x"}}, "no option 'plugin'"),
        ({"kind": "run", "model": "vessel-crane", "options": {"t_end": "5"}}, "not a number"),
        ({"kind": "run", "model": "vessel-crane", "options": {"report": 1}}, "not true or false"),
        ({"kind": "run", "model": "vessel-crane", "options": {"integrator": ["a", "b"]}}, "takes one text"),
        ({"kind": "run", "model": "vessel-crane", "options": {"input": ["u=/etc/passwd"]}}, "outside"),
        ({"kind": "run", "model": "vessel-crane", "options": {"input": {"u": "../x.csv:w"}}}, "outside"),
        ({"kind": "inverse", "model": "vessel-crane", "options": {"task": "../task.toml"}}, "outside"),
        ({"kind": "run", "model": "vessel-crane", "settings": {"a=b": 1.0}}, "no name of a parameter"),
        ({"kind": "run", "model": "vessel-crane", "settings": {"a": float("nan")}}, "not a finite number"),
        ({"kind": "cosim", "file": TWO, "settings": {"a": 1.0}}, "takes no settings"),
        ({"kind": "optimise", "model": "vessel-crane", "options": {"start_from": 3}}, "hash of an uploaded file"),
        ({"kind": "cosim", "system": {"plugins": ["evil.py"], "components": {}}}, "cannot load Python"),
        ({"kind": "cosim", "system": {"components": {"a": {"fmu": "/tmp/x.fmu"}}}}, "outside"),
        ({"kind": "report", "job": 8}, "no job 8"),
    ],
    ids=str,
)
def test_refusals_say_why(asked, words):
    assert words in refused(**asked)


def test_every_option_of_a_verb_is_either_taken_or_left_out_on_purpose():
    commands = PluginSet().commands
    for name, kind in KINDS.items():
        parser = argparse.ArgumentParser()
        commands.get(kind.verb)().configure(parser)
        flags = {option[2:].replace("-", "_") for action in parser._actions for option in action.option_strings}
        long = {flag for flag in flags if f"--{flag.replace('_', '-')}" in parser._option_string_actions}
        known = {flag for flag in long if not (flag.startswith("no_") and flag[3:] in long)}
        left = {*LEFT_OUT[""], *LEFT_OUT.get(kind.verb, ())}
        assert set(kind.options) <= known, name
        assert known - set(kind.options) <= left, name


@pytest.mark.parametrize(
    "data",
    [
        {"a": 1, "b": 2.5, "c": True, "d": 'x "y" \\ \n \x7f', "e": [1, 2], "f": []},
        {"run": {"t_end": 1.0}, "components": {"a b": {"set": {"m": 1.0}}, "ü": {"x": {"y": [{"z": 1}]}}}, "empty": {}},
        {"connections": [{"from": "a.x", "to": "b.y"}, {"from": "a", "to": "b", "factor": -2}]},
    ],
    ids=["values", "tables", "lists"],
)
def test_plain_data_as_toml_is_read_back_the_same(data, tmp_path):
    (tmp_path / "x.toml").write_text(toml_text(data), encoding="utf-8")
    assert read_toml(tmp_path / "x.toml")[1] == data


def test_what_toml_cannot_hold_is_refused():
    assert toml_text({"a": None, "b": {"c": None}}) == "\n[b]\n"
    for wrong in ({"a": 2**63}, {"a": "\ud800"}, {"a": object()}, {1: 2}):
        with pytest.raises(ValueError, match="."):
            toml_text(wrong)


@pytest.mark.parametrize(
    "text", ["force.py", "a=b.py", "x.PYC", "mod.py:Class", "/etc/passwd", "~/x", "a/../../b", "c:\\x", "file:x"]
)
def test_python_and_ways_out_are_refused(text):
    with pytest.raises(ServiceError):
        check_words(text, "here")
    with pytest.raises(ServiceError):
        check_data({"a": [{"b": text}]}, "here")


@pytest.mark.parametrize(
    "text", ["2*sin(3*t)/4", "slew:frame=parent,at=0/0/0.5", "parts/crane.fmu", "jonswap:Hs=2,Tp=8", "a..b"]
)
def test_words_of_every_day_are_not(text):
    check_words(text, "here")


def test_texts_for_people_may_say_what_they_like():
    check_data({"description": "/ as in a/../b.py", "name": "x.py"}, "here")


def test_tables_without_an_end_are_refused():
    data: dict = {}
    for _ in range(100):
        data = {"a": data}
    with pytest.raises(ServiceError, match="deep"):
        check_data(data, "here")


def test_names_of_files_are_found():
    data = {"a": "x.csv:col", "b": ["sub/y.toml", "not a file", 3], "c": {"d": "z.fmu"}, "e": "http://x/y.csv"}
    assert list(file_names(data)) == ["x.csv", "sub/y.toml", "z.fmu"]
