"""The record of a coupled run: the machines in it make one picture."""

import numpy as np

from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.report.channels import take_inventory
from kingpost.report.scene import make_scene


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
