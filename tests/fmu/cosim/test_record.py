"""The record of a coupled run: the machines in it make one picture."""

import numpy as np
import pytest
from fmpy import read_model_description

from kingpost import simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.fmu.running import run_fmu
from kingpost.report.channels import take_inventory
from kingpost.report.scene import make_scene
from tests.core.results.watches import WatchedProgress
from tests.fmu.cosim.coupled import quarter_car
from tests.fmu.machines import tumbling


def test_all_parts_of_a_coupled_system_stand_in_one_scene(plugins):
    system = System(
        "split",
        components=[
            Component("crane", model="offshore-crane-on-base", loads="all"),
            Component("vessel", model="offshore-vessel", loads="all"),
        ],
        connections=[Connection("crane.foot", "vessel.mount")],
        step=0.01,
        t_end=0.05,
        master="interface-inertia",
    )
    history = cosimulate(system, plugins=plugins)
    inventory = take_inventory(history)
    scene = make_scene(history, inventory, inventory.loads)
    names = {body["name"] for body in scene["bodies"]}
    assert {name.partition(".")[0] for name in names} == {"crane", "vessel"}
    hulls = [body["name"] for body in scene["bodies"] if any(shape["kind"] == "hull" for shape in body["shapes"])]
    assert len(hulls) == 1 and hulls[0].startswith("vessel.")
    # The rope belongs to the crane, with all its points on the crane's bodies.
    assert [line["name"] for line in scene["lines"]] and all(
        point["body"] in names | {"world"} for line in scene["lines"] for point in line["points"]
    )
    assert {arrow["joint"].partition(".")[0] for arrow in scene["arrows"]} == {"crane", "vessel"}
    assert np.isfinite(scene["box"]).all()


def test_free_joints_move_the_same_in_runs_fmus_and_coupled_systems(native, plugins):
    """Yaw goes on through full turns in each of them, also where nothing else of the joint is recorded."""
    start = {"flight.wx": 0.0, "spin": 0.0, "flight.wz": 5.0}
    words = ["flight.yaw", "flight.roll", "flight.pitch", "flight.heave"]
    run = simulate(tumbling(), 2.0, settings=start, step=0.01, plugins=plugins)
    assert run["flight.yaw"][-1] == pytest.approx(10.0, abs=1e-6)
    path = native(tumbling(), step=0.01)
    alone = run_fmu(path, 2.0, step=0.01, settings=start, outputs=words, isolated=False)
    parts = [Component("model", model=tumbling(), settings=start, step=0.01), Component("fmu", fmu=path, settings=start)]
    names = ("model.flight.yaw", "fmu.flight.yaw")
    coupled = cosimulate(System("two", parts, step=0.01, t_end=2.0, record=names), plugins=plugins)
    assert set(coupled.names) == set(names)
    for found in (alone["flight.yaw"], *(coupled[name] for name in names)):
        assert np.abs(found - run["flight.yaw"]).max() < 1e-9
    assert alone.unit("flight.yaw") == "rad" and alone.unit("flight.heave") == "m"
    said = {variable.name: variable.description for variable in read_model_description(str(path)).modelVariables}
    assert said["flight.yaw"] == "yaw of free joint flight, R = Rz(yaw) Ry(pitch) Rx(roll), within half a turn"


@pytest.mark.parametrize("often", [1, 4])
def test_samples_are_handed_over_while_a_system_runs(plugins, often):
    progress = WatchedProgress(often)
    history = cosimulate(quarter_car(master="jacobi", t_end=0.2), plugins=plugins, progress=progress)
    watch = progress.watch
    assert len(watch.times) > 1
    assert np.array_equal(watch.time, history.time)
    for column, channel in enumerate(watch.channels):
        assert np.array_equal(watch.values[:, column], history[channel.name])
