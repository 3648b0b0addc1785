"""The machine of a session as the report draws it."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.fmu.cosim import Component, System
from kingpost.fmu.live.scene import LiveScene
from kingpost.fmu.live.system import ready_system
from kingpost.report.channels import take_inventory
from kingpost.report.packing import unpacked
from kingpost.report.scene import make_scene
from tests.fmu.live.test_machine import ready
from tests.fmu.machines import rig


@pytest.fixture(scope="module")
def crane(plugins):
    opened = open_model("small-crane", plugins)
    return ready(opened.mechanism, plugins, t_end=10.0, loads="all")


def test_frames_are_what_the_report_of_a_run_draws(crane):
    scene, begin = LiveScene(crane), crane.save()
    times, rows, frames = [crane.t], [crane.row], [scene.frame()]
    for _ in range(25):
        crane.advance()
        times.append(crane.t)
        rows.append(crane.row)
        frames.append(scene.frame())
    history = crane.history(times, rows, "complete", 0.0)
    inventory = take_inventory(history)
    whole = make_scene(history, inventory, inventory.loads)
    assert [body["name"] for body in whole["bodies"]] == [body["name"] for body in scene.data["bodies"]]
    for i, body in enumerate(whole["bodies"]):
        for k, column in enumerate(body["pose"]):
            numbers = unpacked(column)
            found = np.array([frame["poses"][i][k] for frame in frames])
            np.testing.assert_allclose(found, numbers, atol=2e-6 + 1e-4 * np.ptp(numbers), err_msg=f"{body['name']} {k}")
    assert len(frames[0]["slack"]) == len(whole["lines"])
    for i, line in enumerate(whole["lines"]):
        slack = unpacked(line["slack"]) if "slack" in line else np.zeros(26)
        np.testing.assert_allclose([frame["slack"][i] for frame in frames], slack, atol=1e-4)
    crane.restore(begin)


def test_loads_are_the_arrows_of_the_report(crane):
    scene = LiveScene(crane)
    assert "slew" in scene.arrows
    history = crane.present()
    wanted = history.loads("slew", frame="world", at=(0, 0, 0)).total[0]
    np.testing.assert_allclose(scene.loads(["slew"])["slew"], wanted, rtol=1e-5, atol=1e-6)
    assert scene.loads([]) == {}


@pytest.mark.slow
def test_the_sea_is_in_the_scene(plugins):
    opened = open_model("small-crane", plugins)
    machine = ready(opened.mechanism, plugins, sea="jonswap:Hs=1,Tp=6,components=16", loads="slew")
    sea = LiveScene(machine).data["sea"]
    assert len(sea["amplitude"]) == 16
    assert sea["height"] == pytest.approx(1.0, rel=0.2)


def test_machines_of_a_system_are_drawn_under_their_full_names(plugins):
    system = ready_system(System("s", (Component("a", model=rig(), step=0.01, loads="all"),), step=0.02), plugins)
    scene = LiveScene(system)
    assert [body["name"] for body in scene.data["bodies"]] == ["a.bob"]
    assert len(scene.frame()["poses"]) == 1


def test_what_has_no_bodies_is_not_drawn(plugins):
    from tests.fmu.cosim.coupled import in_process

    scene = LiveScene(ready_system(in_process(), plugins))
    assert not scene.drawn
    assert scene.frame() == {}
