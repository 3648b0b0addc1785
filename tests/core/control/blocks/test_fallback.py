"""What blocks with memory do at samples that are refused or fail, if they have something to do."""

import casadi as ca
import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.base.channels import Channel
from kingpost.control.blocks import DiscreteBlock, State, block_model
from kingpost.control.blocks.clock import verdict
from kingpost.control.blocks.sampling import SampledBlock
from kingpost.control.blocks.written import read_block, write_block
from kingpost.mechanism.elements import Input


def counting(spare=lambda n: n + 10):
    """Count by the root of the input, which negative ones do not have; at bad samples by something else."""
    t, m, u, p, h = (ca.SX.sym(name, size) for name, size in (("t", 1), ("m", 1), ("u", 1), ("p", 0), ("h", 1)))
    step = ca.Function("kp_block_step", [t, m, u, p, h], [m + ca.sqrt(u), m + u])
    fallback = ca.Function("kp_block_fallback", [t, m, p, h], [spare(m), -m])
    memory = (State("n", "1"),)
    return DiscreteBlock("counter", (Input("u", "1"),), (Channel("y", "1"),), step, 0.1, memory, fallback=fallback)


def test_it_is_done_at_bad_samples_and_counted():
    step = SampledBlock(counting()).step()
    x = np.zeros(step.numel_in(1))
    seen = []
    for u in (4.0, float("nan"), -1.0, 9.0):
        x = step(0.0, x, u, [], 0.1).full().ravel()
        seen.append(x[:5].tolist())
    # Memory, refused, failed, bad in a row, what is held.
    assert seen == [[2, 0, 0, 0, 4], [12, 1, 0, 1, -2], [22, 1, 1, 2, -12], [25, 1, 1, 0, 31]]


def test_outputs_at_a_sample_time_are_those_of_the_fallback():
    outputs = SampledBlock(counting()).outputs()
    x = [7.0, 0, 0, 0, 3.0, 0.0]
    assert float(outputs(0.1, x, 4.0, [])) == 11.0
    assert float(outputs(0.1, x, -1.0, [])) == -7.0
    assert float(outputs(0.1, x, float("nan"), [])) == -7.0
    assert float(outputs(0.15, x, -1.0, [])) == 3.0


def test_where_it_finds_nothing_either_all_is_held():
    step = SampledBlock(counting(lambda n: ca.log(-1 - n))).step()
    after = step(0.0, [5.0, 0, 0, 0, 3.0, 0.0], -1.0, [], 0.1).full().ravel()
    assert after.tolist() == [5.0, 0.0, 1.0, 1.0, 3.0, 0.0]


def test_it_is_told_and_written(plugins):
    block = counting()
    rows = block_model(block, plugins=plugins).samples
    before, after = np.array([0, 0, 0, 0, 0, 0.0]), np.array([0, 0, 1, 1, 0, 0.0])
    said = verdict(rows, ["u"], np.array([-1.0]), before, after, 0.1)
    assert said == "the sample at t = 0.1 s has no finite result: the last good plan is followed"
    again = read_block(write_block(block))
    assert isinstance(again, DiscreteBlock)
    assert again.fallback is not None
    assert [float(item) for item in again.fallback(0.0, 3.0, [], 0.1)] == [13.0, -3.0]


def test_one_of_another_size_is_refused():
    block = counting()
    wrong = ca.Function("wrong", [ca.SX.sym("t")], [ca.SX(1)])
    with pytest.raises(KingpostError, match=r"block 'counter': its fallback takes \[1\] numbers and returns \[1\]"):
        DiscreteBlock(block.name, block.inputs, block.outputs, block.step, 0.1, block.memory, fallback=wrong)
