"""An overhead crane and a controller that plans anew at every sample, both as FMUs without Python, in closed loop.

The load goes 5 m along and 3 m up in 3 s, within bounds of force, torque, rope and swing; then the same with a load that is a
fifth heavier and a fifth lighter than the controller believes.

    python B8_receding_horizon.py
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from kingpost import export, open_model
from kingpost.fmu.blocks import export_controller
from kingpost.fmu.cosim import Component, Connection, System, cosimulate

STEP, SAMPLE = 0.01, 0.05
crane = open_model("overhead-crane")
task = replace(
    crane.optimal_task("001"),
    bounds={
        "trolley_force": (-400.0, 400.0),
        "winch_torque": (-200.0, 0.0),
        "reel.length": (0.8, 4.5),
        "swing.angle": (-0.6, 0.6),
    },
)
machine = export(crane.mechanism, Path("crane.fmu")).path
controller = export_controller(
    crane.mechanism, task, Path("controller.fmu"), feedback=f"receding-horizon:sample_time={SAMPLE}"
).path

measured = [item.name for item in (*crane.mechanism.coordinates, *crane.mechanism.speeds)]
for load in (100.0, 120.0, 80.0):
    system = System(
        "loop",
        [Component("crane", fmu=machine, settings={"load_mass": load}), Component("controller", fmu=controller)],
        [
            *(Connection(f"crane.{name}", f"controller.{name}") for name in measured),
            *(Connection(f"controller.{name}", f"crane.{name}") for name in task.inputs),
        ],
        step=STEP,
        t_end=10.0,
        master="gauss-seidel",
    )
    history = cosimulate(system)
    before = history.time < 3.0 - STEP / 2
    effort = sum(np.sum(history[f"controller.{name}"][before] ** 2) for name in task.inputs) * STEP / 2
    travel, swing = history["crane.travel.displacement"], np.abs(history["crane.swing.angle"])
    print(
        f"load of {load:.0f} kg: effort {effort:.0f}, travel {travel[before.sum()]:.3f} m when it should arrive and "
        f"{travel[-1]:.3f} m at the end, swing up to {swing.max():.3f} rad, then {swing[history.time > 4].max():.3f} rad"
    )
