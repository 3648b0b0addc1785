"""Machines with closed loops, and implicit integrators, as FMUs in plain C."""

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportSelection, prepare_export, simulate
from kingpost.fmu.export.native.exporter import NativeFmu
from kingpost.registry.selection import select


@pytest.mark.quick("four-bar-kane-energy-momentum", "slider-crank-recursive-midpoint", "slider-crank-modular:mode=numeric-rk4")
@pytest.mark.parametrize(
    ("model", "formulation", "integrator"),
    [
        ("four-bar", "kane", "rk4"),
        ("slider-crank", "recursive", "midpoint"),
        ("slider-crank", "modular:mode=numeric", "rk4"),
        ("four-bar", "kane", "energy-momentum"),
        ("heavy-top", "directors", "energy-momentum"),
        ("slider-crank", "kane", "generalized-alpha"),
    ],
)
def test_an_fmu_moves_like_the_run_in_process(plugins, tmp_path, model, formulation, integrator):
    mechanism = select(plugins.models, model).build()
    options = {"formulation": formulation, "integrator": integrator, "step": 0.001, "loads": "all", "plugins": plugins}
    path = tmp_path / "loop.fmu"
    NativeFmu().export(prepare_export(mechanism, **options), ExportSelection(), path)
    assert validate_fmu(str(path)) == []
    found = fmpy.simulate_fmu(str(path), stop_time=0.2, step_size=0.01, output_interval=0.01)
    history = simulate(mechanism, 0.2, output_step=0.01, **options)
    shown = [name for name in found.dtype.names if name in history.names]
    assert len(shown) > 10
    for name in shown:
        scale = max(1.0, np.abs(history[name]).max())
        assert np.abs(found[name] - history[name]).max() <= 1e-9 * scale, name
