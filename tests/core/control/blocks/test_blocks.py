"""Blocks in this process: what they compute, when samples are due, and how they are written down and read back."""

import json

import casadi as ca
import numpy as np
import pytest

from kingpost import ExportError, Input, MechanismError, Parameter
from kingpost.base.channels import Channel
from kingpost.control.blocks import Block, DiscreteBlock, Measured, State, block_model, step_function
from kingpost.control.blocks.clock import sample_times, time_reached, verdict
from kingpost.control.blocks.written import read_block, write_block


def counter(sample_time=0.1):
    inputs, memory, parameters = (Measured("load.x", "m"),), (State("sum", "m", 1.0),), (Parameter("gain", 2.0, "1"),)
    step = step_function(inputs, memory, parameters, lambda s: ([s["sum"] + s["load.x"]], [s["gain"] * s["load.x"]]))
    return DiscreteBlock("counter", inputs, (Channel("y", "m"),), step, sample_time, memory, parameters, held=(5.0,))


def lag():
    return Block(
        "lag", (Input("u", "N"),), (Channel("y", "N"),), (State("x", "N", 3.0),), (Parameter("tau", 0.5, "s"),),
        rates=lambda s: [(s["u"] - s["x"]) / s["tau"]], values=lambda s: [2 * s["x"] + s["t"]],
    )  # fmt: skip


def test_the_state_of_a_sampled_block():
    model = block_model(counter())
    names = [channel.name for channel in model.equations.channels]
    assert names == [
        *("sum", "refused_samples", "failed_samples", "sample.bad", "sample.held.y", "sample.origin"), "y",
    ]  # fmt: skip
    assert model.samples.hidden == {"sample.bad", "sample.held.y", "sample.origin"}
    step, observe = model.problem.stepper.step, model.equations.observe
    p = model.p0

    def seen(t, x, u):
        return float(observe(t, x, [u], p)[-1])

    x = model.x0
    assert seen(0.0, x, 3.0) == 6.0
    assert seen(0.05, x, 3.0) == 5.0  # nothing was sampled yet
    x = np.asarray(step(0.0, x, [3.0], p, 0.1)).ravel()
    assert x.tolist() == [4.0, 0.0, 0.0, 0.0, 6.0, 0.0]
    assert seen(0.05, x, 100.0) == 6.0
    assert seen(0.1, x, 1.0) == 2.0
    assert seen(0.1, x, float("inf")) == 6.0
    x = np.asarray(step(0.1, x, [float("nan")], p, 0.1)).ravel()
    assert x.tolist() == [4.0, 1.0, 0.0, 1.0, 6.0, 0.0]
    x = np.asarray(step(0.2, x, [1e300 * 1e10], p, 0.1)).ravel()
    assert x[:4].tolist() == [4.0, 2.0, 0.0, 2.0]
    # A result beyond all numbers has failed, though its input was one.
    x = np.asarray(step(0.3, x, [1.7e308], p, 0.1)).ravel()
    assert x[:4].tolist() == [4.0, 2.0, 1.0, 3.0]
    x = np.asarray(step(0.4, x, [1.0], p, 0.1)).ravel()
    assert x.tolist() == [5.0, 2.0, 1.0, 0.0, 2.0, 0.0]


def test_when_samples_are_due():
    assert sample_times(0.0, 0.0, 0.1, 0.1) == [0.0]
    assert sample_times(0.0, 0.1, 0.1 + 0.1 + 0.1, 0.1) == pytest.approx([0.1, 0.2])
    assert sample_times(0.0, 0.04, 0.09, 0.1) == []
    assert sample_times(0.5, 0.5, 0.75, 0.1) == pytest.approx([0.5, 0.6, 0.7])
    # Rounding of added steps neither takes a sample twice nor leaves one out.
    t, found = 0.0, []
    for _ in range(1000):
        found += sample_times(0.0, t, t + 0.001, 0.003)
        t = time_reached(0.0, t + 0.001, 0.003)
    assert len(found) == 334
    np.testing.assert_allclose(found, 0.003 * np.arange(334), atol=1e-12)


def test_what_is_said_of_samples():
    rows = block_model(counter()).samples
    good, bad = np.array([1.0, 0, 0, 0, 0, 0]), np.array([1.0, 1, 0, 1, 0, 0])
    worse, failed = np.array([1.0, 2, 0, 2, 0, 0]), np.array([1.0, 0, 1, 1, 0, 0])
    u = np.array([float("nan")])
    assert verdict(rows, ["load.x"], u, good, good, 0.1) == ""
    assert verdict(rows, ["load.x"], u, good, bad, 0.1).startswith("'load.x' is nan at t = 0.1 s: the sample is refused")
    assert verdict(rows, ["load.x"], u, bad, worse, 0.2) == ""
    assert verdict(rows, ["load.x"], u, good, failed, 0.1).startswith("the sample at t = 0.1 s has no finite result")
    after = worse.copy()
    after[3] = 0
    assert (
        verdict(rows, ["load.x"], u, worse, after, 0.3)
        == "the sample at t = 0.3 s is good again, after 2 that were refused or failed"
    )


@pytest.mark.parametrize("block", [counter(), lag()])
def test_written_down_and_read_back(block):
    again = read_block(json.loads(json.dumps(write_block(block))))
    assert type(again) is type(block)
    assert [entry.name for entry in again.variables] == [entry.name for entry in block.variables]
    one, other = block_model(block), block_model(again)
    np.testing.assert_array_equal(one.x0, other.x0)
    arguments = (0.1, one.x0, [0.7], one.p0)
    assert (one.equations.observe(*arguments) == other.equations.observe(*arguments)).is_one() or np.array_equal(
        one.equations.observe(*arguments), other.equations.observe(*arguments)
    )
    step = (0.1, one.x0, [0.7], one.p0, 0.1)
    np.testing.assert_array_equal(one.problem.stepper.step(*step), other.problem.stepper.step(*step))


def test_a_body_of_mx():
    x, u = ca.MX.sym("x"), ca.MX.sym("u")
    body = ca.Function(
        "body", [ca.MX.sym("t"), x, u, ca.MX(0, 1)], [u - x, ca.solve(ca.diag(ca.vertcat(x, 2.0)), ca.vertcat(u, 4.0))]
    )
    block = Block("b", (Input("u", "1"),), (Channel("y", "1"), Channel("z", "1")), (State("x", "1", 2.0),), body=body)
    model = block_model(block)
    assert np.asarray(model.equations.observe(0.0, [2.0], [3.0], [])).ravel().tolist() == [2.0, 1.5, 2.0]
    assert float(model.equations.rhs(0.0, [2.0], [3.0], [])) == 1.0
    with pytest.raises(
        ExportError, match=r"its body takes \[1, 1, 1, 0\] numbers and returns \[1, 2\]; expected is \[1, 0, 1, 0\]"
    ):
        block_model(Block("b", block.inputs, block.outputs, (), body=body))


def test_names_of_measurements():
    assert Measured("pulley-centre.z.rate", "m/s").name == "pulley-centre.z.rate"
    for name in ("", "load x", ".x", "x.", "1st"):
        with pytest.raises(MechanismError, match="use letters, digits and"):
            Measured(name, "m")
    with pytest.raises(MechanismError, match="it must be finite"):
        Measured("x", "m", float("nan"))
