"""Trees of subsystems in plain C: an FMU moves as the machine that it was made of."""

import fmpy
import numpy as np

from kingpost import open_model


def test_an_fmu_of_subsystems_moves_alike(tmp_path):
    """The same RK4 steps in both, so that only rounding, grown over half a second, differs."""
    opened = open_model("spherical-pendulum-subsystems:variables=speed-square")
    path = opened.export(tmp_path / "system.fmu").path
    run = opened.simulate(t_end=0.5, output_step=0.1)
    record = fmpy.simulate_fmu(str(path), stop_time=0.5, output_interval=0.1, output=["square.x", "square.u"])
    for name in ("square.x", "square.u"):
        assert np.allclose(record[name], run[name], rtol=0, atol=1e-11)
    assert np.ptp(run["square.x"]) > 0.1
