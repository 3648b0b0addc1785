"""A history to draw, and what is seen of it."""

import numpy as np

from kingpost.base.channels import Channel
from kingpost.results.history import History

LOADS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def wrench(prefix, side="child", at=(0.0, 0.0, 0.0)):
    return [Channel(f"{prefix}.{name}", "N.m" if name[0] == "M" else "N", "child", side, at) for name in LOADS]


def make_history(joints=("slew", "luff"), samples=201, scale=1.0):
    channels = [Channel(f"{joint}.angle", "rad") for joint in joints]
    channels += [Channel(f"{joint}.angle.rate", "rad/s") for joint in joints]
    channels += [Channel(f"tip.{axis}", "m", "world") for axis in "xyz"]
    channels += [Channel(f"energy.{name}", "J") for name in ("kinetic", "potential", "total")]
    for joint in joints:
        for prefix in (joint, f"{joint}.constraint", f"{joint}.actuator"):
            channels += wrench(prefix)
    channels += [
        Channel(f"king.pose.{name}", "m" if name[0] == "p" else "1", "world") for name in ("px", "py", "pz", "ew", "ex")
    ]
    channels += [
        Channel(f"king.motion.{name}", unit, "body") for name, unit in (("wx", "rad/s"), ("alphax", "rad/s2"), ("ax", "m/s2"))
    ]
    channels += [Channel(f"loads.gravity.{axis}", "m/s2", "world") for axis in "xyz"]
    channels += [Channel("loads.residual.force", "N"), Channel("loads.residual.moment", "N.m")]
    time = np.linspace(0, 20, samples)
    values = scale * np.sin(np.outer(time, np.arange(1, len(channels) + 1) / 7))
    return History(time, tuple(channels), values, {"model": {"name": "crane"}, "integrator": {"name": "rk4"}})


def drawn(figure):
    """Return the names of the lines of each panel."""
    return [
        (axis.get_title(loc="left"), [line.get_label().partition("\n")[0] for line in axis.get_legend_handles_labels()[0]])
        for axis in figure.axes
        if axis.axison
    ]
