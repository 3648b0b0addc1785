"""Blocks that become FMUs: a controller, a filter, and what is refused."""

import casadi as ca
import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportError, Input, Parameter
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State, export_block, pi_controller


@pytest.mark.parametrize("to", ["native-fmu", "native-fmu:fmi=3", "native-fmu:fmu=me"])
def test_a_pi_controller_integrates_the_error(tmp_path, to):
    path = export_block(pi_controller(), tmp_path / "pi.fmu", to=to).path
    assert validate_fmu(str(path)) == []
    step = None if "me" in to else 0.01
    result = fmpy.simulate_fmu(
        str(path), start_values={"target": 0.2, "measured": 0.05}, stop_time=1.0, step_size=step, output_interval=0.01
    )
    # e = 0.15: kp e + ki e t with kp = 1000, ki = 500.
    np.testing.assert_allclose(result["effort"], 150 + 75 * result["time"], rtol=1e-9)


def test_a_limited_controller_does_not_wind_up(tmp_path):
    path = export_block(pi_controller(), tmp_path / "pi.fmu").path
    result = fmpy.simulate_fmu(
        str(path), start_values={"target": 1.0, "limit": 1100.0}, stop_time=2.0, step_size=0.01, output_interval=0.01
    )
    assert result["effort"].max() == pytest.approx(1100.0)
    # It stops integrating when 1000 + 500 I reaches the limit: I = 0.2, passed by one internal step of 1 ms at most.
    assert 0.2 <= result["integral"][-1] <= 0.2 + 1.1e-3


def test_a_block_of_ones_own(tmp_path):
    block = Block(
        "filter",
        inputs=(Input("u", "N"),),
        outputs=(Channel("y", "N"),),
        states=(State("x", "N", 3.0),),
        parameters=(Parameter("tau", 0.5, "s"),),
        rates=lambda s: [(s["u"] - s["x"]) / s["tau"]],
        values=lambda s: [2 * s["x"] + ca.sin(s["t"])],
    )
    path = export_block(block, tmp_path / "filter.fmu").path
    assert validate_fmu(str(path)) == []
    result = fmpy.simulate_fmu(str(path), stop_time=1.0, step_size=0.1, output_interval=0.1)
    # RK4 with 1 ms on a time constant of 0.5 s: (h / tau)^4 / 120 is below 1e-12.
    np.testing.assert_allclose(result["y"], 6 * np.exp(-2 * result["time"]) + np.sin(result["time"]), rtol=1e-10)


def test_wrong_blocks_are_refused(tmp_path):
    inputs, outputs = (Input("u", "1"),), (Channel("y", "1"),)
    with pytest.raises(ExportError, match="its values are 0 expressions, expected 1"):
        export_block(Block("b", inputs, outputs), tmp_path / "b.fmu")
    with pytest.raises(ExportError, match="two of its variables have the same name"):
        export_block(Block("b", inputs, (Channel("u", "1"),), values=lambda s: [s["u"]]), tmp_path / "b.fmu")
    assert not (tmp_path / "b.fmu").exists()
