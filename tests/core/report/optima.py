"""An optimum for reports: a pendulum that swings to hanging with a torque and a speed within bounds, from two starts."""

from dataclasses import replace

from kingpost import RunSettings, optimise
from kingpost.control.optimal.record import history_of
from kingpost.modelfiles.opened import open_model

TORQUE, SPEED = 2.65, 3.6


def bounded_pendulum():
    """Return the history of the optimum, with loads and poses."""
    opened = open_model("mathematical-pendulum")
    bounds = {"torque": (-TORQUE, TORQUE), "pivot.angle.rate": (-SPEED, SPEED)}
    task = replace(opened.optimal_task("001"), bounds=bounds)
    optimum = optimise(opened.mechanism, task, how=RunSettings(backend="vm"), starts=2)
    return history_of(optimum, 0.1, ("all",))
