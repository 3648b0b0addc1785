"""A small history with every kind of channel that a run may have."""

import numpy as np

from kingpost.base.channels import Channel
from kingpost.results.history import History

LOADS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def make_history(samples=50):
    time = np.arange(samples) * 0.1
    channels = [
        Channel("slew.angle", "rad"),
        Channel("slew.angle.rate", "rad/s"),
        *(Channel(f"tip.{axis}", "m", "world") for axis in "xyz"),
        Channel("energy.total", "J"),
        *(Channel(f"slew.{name}", "N.m" if name[0] == "M" else "N", "child", "child", (0.0, 0.1, -2.5)) for name in LOADS),
        *(
            Channel(f"slew.actuator.{name}", "N.m" if name[0] == "M" else "N", "child", "child", (0.0, 0.1, -2.5))
            for name in LOADS
        ),
        Channel("king.pose.px", "m", "world"),
        Channel("king.pose.ew", "1"),
        Channel("king.motion.alphax", "rad/s2", "body"),
        Channel("loads.residual.force", "N"),
    ]
    # Numbers that need all their digits, of very different sizes.
    values = np.sin(np.outer(time + 1, np.arange(1, len(channels) + 1))) * np.logspace(-12, 9, len(channels))
    provenance = {
        "model": {"name": "crane", "description": "naïve crane, 5 \N{DEGREE SIGN}"},
        "parameters": {"mass": {"value": 0.1, "unit": "kg"}},
        "loads": {"method": "recursive", "joints": {"slew": {"frame": "child", "at": [0.0, 0.1, -2.5]}}},
        "warnings": [],
        "time": {"step_s": None},
    }
    return History(time, tuple(channels), values, provenance)
