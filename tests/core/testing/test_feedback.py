"""The conformance kit for feedback plugins: ours pass it, and broken ones do not."""

import casadi as ca
import pytest

from kingpost.control.blocks import Block
from kingpost.control.servo.feedback import Feedback
from kingpost.plugins.feedback.dae_step import DaeStep
from kingpost.plugins.feedback.dynamic_extension import DynamicExtension
from kingpost.plugins.feedback.lqr_along import LqrAlong
from kingpost.plugins.feedback.pd_output import PdOutput
from kingpost.testing import check_feedback


@pytest.mark.parametrize("cls", [PdOutput, DynamicExtension, LqrAlong, DaeStep])
@pytest.mark.slow
def test_our_own_laws_pass(cls):
    check_feedback(cls, **({"horizon": 0.002} if cls is DaeStep else {}))


class Nothing(Feedback):
    """Feed-forward of the start, for ever."""

    name = "nothing"

    def block(self, loop):
        inputs, parameters = loop.inputs(0), loop.parameters()
        symbols = [ca.MX.sym(f"i{k}", size) for k, size in enumerate((1, 0, len(inputs), len(parameters)))]
        body = ca.Function("kp_block", symbols, [ca.MX(0, 1), ca.MX(ca.DM(loop.held()))])
        return Block("nothing", inputs, loop.outputs, parameters=parameters, body=body)


class Swapped(PdOutput):
    """The wrong sign of the feedback."""

    name = "swapped"

    def block(self, loop):
        block = super().block(loop)
        symbols = [ca.MX.sym(f"i{k}", block.function.numel_in(k)) for k in range(4)]
        p = ca.vertcat(symbols[3][:-2, :], -symbols[3][-2:, :])
        body = ca.Function("kp_block", symbols, block.function.call([*symbols[:3], p]))
        return Block(block.name, block.inputs, block.outputs, parameters=block.parameters, body=body)


class Misnamed(PdOutput):
    """Outputs that the machine does not have."""

    name = "misnamed"

    def block(self, loop):
        block = super().block(loop)
        outputs = [type(entry)(f"other_{entry.name}", entry.unit) for entry in block.outputs]
        return Block(block.name, block.inputs, outputs, parameters=block.parameters, body=block.function)


@pytest.mark.quick("Swapped-*")
@pytest.mark.parametrize(
    ("cls", "sentence"),
    [(Nothing, "leaves its path by"), (Swapped, "is still|leaves its path|no inputs were found"), (Misnamed, "the outputs of")],
)
def test_broken_laws_do_not(cls, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_feedback(cls)
