"""States of native FMUs that are saved, restored, reset and carried elsewhere, and instances beside each other."""

import subprocess
import sys
import threading

from tests.fmu.export.native.calls import both, refused
from tests.fmu.hosting import Hosted
from tests.fmu.machines import rig, tumbling


@both
def test_going_back_is_exact(fmi, native, machine):
    for mechanism in (rig(), tumbling(), machine("double-pendulum")):
        with Hosted(native(mechanism, fmi=fmi)) as fmu:
            fmu.initialize()
            fmu.steps(7, 0.01)
            state, time = fmu.save(), fmu.get("time")
            runs = []
            for _ in range(3):
                fmu.restore(state)
                assert fmu.get("time") == time
                fmu.steps(20, 0.01, first=7)
                runs.append(fmu.get(fmu.outputs).tobytes())
            assert len(set(runs)) == 1
            later = fmu.save()
            fmu.restore(state)
            fmu.restore(later)
            assert fmu.get(fmu.outputs).tobytes() == runs[0]
            for kept in (state, later):
                fmu.forget(kept)


CONTINUE = """
import sys
from pathlib import Path
from tests.fmu.hosting import Hosted
with Hosted(Path(sys.argv[1])) as fmu:
    state = fmu.from_bytes(bytes.fromhex(sys.stdin.read()))
    fmu.restore(state)
    fmu.steps(20, 0.01, first=7)
    print(fmu.get(fmu.outputs).tobytes().hex())
"""


@both
def test_a_state_can_go_on_in_another_process(fmi, native, root):
    path = native(tumbling(), fmi=fmi)
    with Hosted(path) as fmu:
        fmu.initialize({"spin": 1.3})
        fmu.set({"push": 3.0})
        fmu.steps(7, 0.01)
        state = fmu.save()
        content = fmu.to_bytes(state)
        fmu.steps(20, 0.01, first=7)
        here = fmu.get(fmu.outputs).tobytes().hex()
        refused(3, fmu.from_bytes, content[:-1])
        assert fmu.said == f"these {len(content) - 1} bytes are not a state of this model"
        refused(3, fmu.from_bytes, b"x" * len(content))
        fmu.forget(state)
    done = subprocess.run(
        [sys.executable, "-c", CONTINUE, path], input=content.hex(), capture_output=True, text=True, cwd=root, check=True
    )
    assert done.stdout.strip() == here
    with Hosted(native(rig(), fmi=fmi)) as other:
        refused(3, other.from_bytes, content)
        assert "are not a state of this model" in other.said


@both
def test_a_reset_instance_is_as_new(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        runs = []
        for _ in range(2):
            fmu.initialize()
            runs.append(fmu.get(fmu.outputs).tobytes())
            fmu.set({"torque": 3.0, "length": 2.0})
            fmu.steps(10, 0.01)
            runs.append(fmu.get(fmu.outputs).tobytes())
            fmu.raw.reset()
        assert runs[:2] == runs[2:]
        assert list(fmu.get(["torque", "length"])) == [0.0, 1.0]


@both
def test_instances_do_not_see_each_other(fmi, native):
    path = native(rig(), fmi=fmi)
    with Hosted(path) as alone:
        alone.initialize()
        alone.steps(50, 0.01)
        expected = alone.get(alone.outputs).tobytes()
    several = [Hosted(path, name=f"number {i}") for i in range(20)]
    for i, one in enumerate(several):
        one.initialize({"torque": float(i)})
    for k in range(50):
        for one in several:
            one.step(k * 0.01, 0.01)
    assert several[0].get(several[0].outputs).tobytes() == expected
    assert len({one.get(one.outputs).tobytes() for one in several}) == 20
    for one in several:
        one.__exit__()


@both
def test_instances_in_threads_of_python_do_not_either(fmi, native):
    path, results = native(tumbling(), fmi=fmi), {}
    # One after the other: fmpy changes the working folder, which all threads share, while it loads a library.
    loaded = [Hosted(path, name=f"number {i}") for i in range(6)]

    def work(i):
        with loaded[i] as fmu:
            fmu.initialize({"spin": 1.0 + i % 2})
            fmu.steps(300, 0.01)
            results[i] = fmu.get(fmu.outputs).tobytes()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(loaded))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({results[0], results[2], results[4]}) == 1 == len({results[1], results[3], results[5]})
    assert results[0] != results[1]


@both
def test_an_instance_may_be_called_anything(fmi, native):
    for name in ("", 'Ålesund "crane" 100 %s %n', "x" * 5000):
        with Hosted(native(rig(), fmi=fmi), name=name) as fmu:
            fmu.initialize()
            refused(3, fmu.step, 9.0, 0.01)
            assert fmu.said == "a step from t = 9 s was asked for, but the model is at t = 0 s"
