"""What joint loads cost: the vessel-crane with the loads of all joints against the motion alone, and against Pinocchio's rnea.

Each row is the ratio of shortest times on the processor over many alternating repeats in this process, so that both sides meet
the same machine.

    python benchmarks/joint_loads.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kingpost import PluginSet, prepare

REPEATS = 40


def best(*functions: Callable[[], object]) -> list[float]:
    """Return the shortest time of each function, called in turn."""
    shortest = [np.inf] * len(functions)
    for _ in range(REPEATS):
        for k, function in enumerate(functions):
            started = time.process_time()
            function()
            shortest[k] = min(shortest[k], time.process_time() - started)
    return shortest


def march(output_step: float, **loads: object) -> Callable[[], object]:
    """Return 20 s of the vessel-crane in steps of 1 ms as one call into compiled code."""
    plugins = PluginSet(entry_points=False)
    crane = plugins.models.get("vessel-crane")().build()
    run = prepare(crane, 20.0, output_step=output_step, plugins=plugins, backend="c", **loads)  # type: ignore[arg-type]
    y = np.empty((run.grid.samples, len(run.equations.channels)))
    grid = run.grid
    return lambda: run.kernel.march(y, grid.substeps, grid.t_start, grid.step, run.x0, run.inputs, run.p, at_once=True)


def main() -> None:
    """Print the table."""
    print("loads of all four joints of the vessel-crane, with parts, poses and accelerations (20 s, RK4, 1 ms)")
    for output_step, said in ((0.01, "samples every 10 ms (default)"), (0.001, "samples at every step")):
        plain = march(output_step)
        for method in ("auxiliary-speeds", "recursive"):
            motion, loaded = best(plain, march(output_step, loads="all", load_method=method))
            print(f"  {said:30s} {method:17s} {100 * (loaded / motion - 1):5.1f} % on top of the motion")
    try:
        import pinocchio
    except ImportError:
        print("pinocchio is not installed: pip install pin")
        return
    model = pinocchio.Model()
    parent = 0
    for axis in (pinocchio.JointModelRZ(), pinocchio.JointModelRY(), *[pinocchio.JointModelRX()] * 4):
        parent = model.addJoint(parent, axis, pinocchio.SE3.Random(), f"joint{parent}")
        model.appendBodyToJoint(parent, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    data = model.createData()
    q, v, a = np.zeros(6), np.ones(6), np.ones(6)
    calls = 2000
    plugins = PluginSet(entry_points=False)
    crane = plugins.models.get("vessel-crane")().build()
    run = prepare(crane, 20.0, plugins=plugins, backend="c", loads="all", load_method="recursive")
    t, x, u = np.zeros(calls), np.tile(run.x0, (calls, 1)), np.tile(run.inputs[0], (calls, 1))
    ours, theirs = best(
        lambda: run.kernel.sample(t, x, u, run.p), lambda: [pinocchio.rnea(model, data, q, v, a) for _ in range(calls)]
    )
    print(
        f"accelerations, loads with parts, poses and accelerations of all bodies, by Kingpost: {1e6 * ours / calls:.2f} us; "
        f"loads alone from given accelerations, by pinocchio.rnea from Python: {1e6 * theirs / calls:.2f} us "
        f"(ratio {theirs / ours:.1f})"
    )


if __name__ == "__main__":
    main()
