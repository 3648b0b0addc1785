"""FMUs with Python inside when something goes wrong: a message that says what, and an importer that lives on."""

import pytest

from kingpost.fmu.export.python.exporter import PythonOptions
from kingpost.kernel.compiler import find_compiler
from tests.fmu.export.python.python_fmus import export_python, fragile, run_script
from tests.fmu.machines import locking, rig, tumbling

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="the library and the bridge need a C compiler")

BINARIES = ("bridge", "pythonfmu")
ENGINES = ("library", "package")
BOTH = (("bridge", "library"), ("pythonfmu", "package"))


@pytest.fixture
def exported(shared_folder, plugins):
    return lambda mechanism, options=None, **arguments: export_python(
        shared_folder, mechanism, arguments.pop("plugins", plugins), options, **arguments
    )


RAISES = """
one = fmu(logging=True)
one.initialize()
state = one.save()
one.set({"torque": 200.0})
statuses = []
for k in range(100):
    statuses.append(status(one.step, k * 0.01, 0.01))
    if statuses[-1]:
        break
again = status(one.step, k * 0.01, 0.01)
reached = one.get("pivot.angle")
said = [text for level, text in one.messages if level >= 2]
one.restore(state)
alive = status(one.step, 0.0, 0.01)
one.raw.terminate()
one.__exit__()
answer(statuses=statuses, again=again, reached=reached, said=said, alive=alive)
"""


@pytest.mark.quick("bridge")
@pytest.mark.parametrize("binary", BINARIES)
def test_an_exception_in_a_force(binary, tmp_path, exported):
    mechanism, plugins = fragile(tmp_path)
    found = run_script(RAISES, exported(mechanism, PythonOptions(binary=binary), plugins=plugins))
    assert set(found["statuses"][:-1]) == {0}
    assert found["statuses"][-1] == found["again"] == 2  # discarded, and again
    assert 0.8 < found["reached"] <= 0.9  # the last good state
    first, traceback, repeated = found["said"]
    assert "failed: force 'fragile' raised ValueError: 100%s beyond the end stop. Last good state, at t = 0." in first
    assert f"pivot.angle = {found['reached']:.9g}, pivot.angle.rate = " in first
    assert traceback.startswith("Traceback (most recent call last)")
    assert "fragile.py" in traceback
    assert 'raise ValueError("100%s beyond the end stop")' in traceback
    assert first in repeated
    assert found["alive"] == 0
    assert ("100%s beyond" in found["stderr"]) == (binary == "pythonfmu")  # whose log an importer need not have switched on


@pytest.mark.quick("pythonfmu")
@pytest.mark.parametrize("binary", BINARIES)
def test_nobody_listens_and_nobody_terminates(binary, tmp_path, exported):
    mechanism, plugins = fragile(tmp_path)
    silent = """
one = fmu()
one.initialize({"tilt": 0.44})
one.set({"torque": 200.0})
answer(statuses=[status(one.step, k * 0.01, 0.01) for k in range(30)])
"""
    path = exported(mechanism, PythonOptions(binary=binary), plugins=plugins)
    assert run_script(silent, path)["statuses"][-1] == 2
    assert run_script(silent + "one.__exit__()\n", path)["statuses"][-1] == 2


MISUSE = """
one = fmu(logging=True)
one.begin()
results = {}
def tried(name, function, *arguments):
    before = len(one.messages)
    results[name] = [status(function, *arguments), [text for level, text in one.messages[before:] if level >= 2]]

one.raw.exitInitializationMode()
one.steps(2, 0.01)
state = one.save()
tried("nan", one.set, {"torque": math.nan})
tried("after nan", one.step, 0.02, 0.01)
one.restore(state)
tried("back", one.step, 0.02, 0.01)
one.restore(state)
tried("infinite", one.set, {"mass": math.inf})
one.restore(state)
tried("late", one.set, {"pivot.angle": 0.1})
one.restore(state)
tried("output", one.set, {"tip.x": 0.1})
one.restore(state)
value = []
tried("unknown", lambda: value.extend(one.raw.getReal([4000000000])))
one.restore(state)
tried("set unknown", one.raw.setReal, [12345], [1.0])
one.restore(state)
tried("integer", one.raw.getInteger, [1])
one.restore(state)
tried("string", one.raw.setString, [1], ["x"])
one.restore(state)
tried("wrong time", one.step, 5.0, 0.01)
one.restore(state)
tried("negative", one.step, 0.02, -1.0)
one.restore(state)
tried("good", one.step, 0.02, 0.01)
angle = one.get("pivot.angle")
one.raw.terminate()
one.__exit__()
with fmu() as two:
    two.initialize()
    two.steps(3, 0.01)
    same = bool(two.get("pivot.angle") == angle)
answer(results=results, value=[str(number) for number in value], same=same)
"""
TEXTS = {
    "nan": "'torque' was set to nan at t = 0.02 s; it must be finite",
    "infinite": "'mass' was set to inf at t = 0.02 s; it must be finite",
    "late": "the start value of 'pivot.angle' can be set only before the end of the initialization",
    "output": "'tip.x' is computed by the model and cannot be set",
    "set unknown": "there is no variable with value reference 12345; the last one is",
    "integer": "this model has no Integer variables; all its variables are of type Real",
    "string": "this model has no String variables; all its variables are of type Real",
    "wrong time": "a step from t = 5 s was asked for, but the model is at t = 0.02 s",
    "negative": "a communication step of -1 s is impossible",
}


@pytest.mark.quick("bridge-library", "pythonfmu-package")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("binary", BINARIES)
def test_what_makes_no_sense_is_refused_and_the_model_lives_on(binary, engine, exported):
    found = run_script(MISUSE, exported(rig(), PythonOptions(binary=binary, engine=engine)))
    results = found["results"]
    for name, text in TEXTS.items():
        assert any(text in said for said in results[name][1]), (name, results[name])
    assert "there is no variable with value reference 4000000000; the last one is 15" in results["unknown"][1][0]
    # pythonfmu's binary can be told of a failure by a step alone; so the next one fails, with the same text.
    steps = ("wrong time", "negative")
    expected = dict.fromkeys([*TEXTS, "unknown"], 3)
    if binary == "pythonfmu":
        expected = {name: 2 if name in steps else 0 for name in [*TEXTS, "unknown"]}
        assert found["value"] == ["nan"]
        assert results["after nan"][0] == 2
        assert TEXTS["nan"] in results["after nan"][1][0]
    else:
        assert results["after nan"] == [0, []]  # it was refused, and nothing was changed
    assert {name: results[name][0] for name in expected} == expected
    assert results["back"] == results["good"] == [0, []]
    assert found["same"]


@pytest.mark.quick("pythonfmu-package")
@pytest.mark.parametrize(("binary", "engine"), BOTH)
def test_a_step_that_cannot_be_taken(binary, engine, exported):
    code = """
with fmu(logging=True) as one:
    one.initialize()
    statuses = [status(one.step, k * 0.01, 0.01) for k in range(20)]
    texts = [text for level, text in one.messages if level == 2]
    one.raw.terminate()
answer(statuses=statuses, texts=texts)
"""
    found = run_script(code, exported(locking(), PythonOptions(binary=binary, engine=engine)))
    assert found["statuses"][0] == 0
    assert found["statuses"][-1] in (2, 3)
    assert "joint 'hinge' is about to lock at t = " in found["texts"][0]
    assert "Last good state" in found["texts"][0]


BAD_STATES = """
with fmu(logging=True) as one:
    one.initialize()
    state = one.save()
    kept = one.to_bytes(state)
    before = one.get(one.outputs).tolist()
    statuses = []
    for damaged in (kept[:-1], b"x" * len(kept), kept[:-17 * 8] + b"\\xff" * 8 + kept[-16 * 8 :], b""):
        found = []
        statuses.append([status(lambda: found.append(one.from_bytes(damaged)))] + [status(one.restore, s) for s in found])
    same = one.get(one.outputs).tolist() == before
    one.restore(state)
    alive = status(one.step, 0.0, 0.01)
    one.forget(state)
answer(statuses=statuses, same=same, alive=alive, said=[text for level, text in one.messages if level >= 2])
"""


@pytest.mark.quick("pythonfmu-package")
@pytest.mark.parametrize(("binary", "engine"), BOTH)
def test_bytes_that_are_no_state(binary, engine, exported):
    found = run_script(BAD_STATES, exported(tumbling(), PythonOptions(binary=binary, engine=engine)))
    assert any("bytes are not a state of this model" in text for text in found["said"])
    assert any("bytes are a damaged state" in text for text in found["said"])
    assert found["same"] and found["alive"] == 0
    if binary == "bridge":
        assert [group[0] for group in found["statuses"]] == [3, 3, 3, 3]


def test_other_bytes_than_the_description(exported):
    code = """
import tests.fmu.hosting
texts = []
tests.fmu.hosting.Hosted._take = lambda self, status, text: texts.append(text.decode())
try:
    fmu(token="{another}")
except Exception as refused:
    texts.append(type(refused).__name__)
answer(texts=texts)
"""
    found = run_script(code, exported(rig()))
    assert "this binary belongs to another model description: it has {" in found["texts"][0]
    assert "it was given {another}" in found["texts"][0]
