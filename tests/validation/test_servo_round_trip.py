"""There and back: inputs found by inverse dynamics lead the load along its path in a run with another formulation."""

import numpy as np
import pytest

from kingpost import inverse, simulate
from kingpost.modelfiles.opened import open_model


def way_off(model, task, step, formulation, axes, **how):
    """Return the largest distance (m) of the load from its path in a forward run with the inputs of ``flat``."""
    opened = open_model(model)
    what = opened.task(task)
    found = inverse(opened.mechanism, what, method="flat", stepper=f"bdf2:step={step}", plugins=opened.plugins)
    there = simulate(
        opened.mechanism,
        what.t_end,
        settings=dict(what.settings),
        inputs=found,
        formulation=formulation,
        step=step,
        output_step=0.1,
        plugins=opened.plugins,
        **how,
    )
    wanted = [what.path[f"load.{axis}"].jets_at(there.time, 0)[:, 0] for axis in axes]
    return max(np.abs(there[f"load.{axis}"] - path).max() for axis, path in zip(axes, wanted, strict=True))


def test_overhead_crane():
    # Between samples of 10 ms inputs are cubic splines, of fourth order: 1.3e-8 m were found.
    assert way_off("overhead-crane", "000-4.4.1", 0.01, "recursive", "xz") < 1e-6


# Inputs of `flat` are exact at samples of 2 ms, and splines between them begin anew at corners of the path: of fourth order,
# 1.6e-11 m at 4 ms and 1.1e-12 m at 2 ms with rk4. The other formulations have their own integrators.
@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors"])
def test_rotary_crane_over_twenty_seconds(formulation):
    assert way_off("rotary-crane", "000-4.4.2", 0.002, formulation, "xyz") < 1e-6
