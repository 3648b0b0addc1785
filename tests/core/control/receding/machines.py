"""The overhead crane with bounds, as the tests of receding horizons take it."""

from dataclasses import replace

from kingpost.registry.selection import select

BOUNDS = {
    "trolley_force": (-400.0, 400.0),
    "winch_torque": (-200.0, 0.0),
    "reel.length": (0.8, 4.5),
    "swing.angle": (-0.6, 0.6),
}


def crane(plugins, **changes):
    """Return the machine, and the task of document 001 with bounds."""
    model = select(plugins.models, "overhead-crane")
    return model.build(), replace(model.optimal_tasks()["001"], **{"bounds": BOUNDS, **changes})
