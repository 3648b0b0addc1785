"""Components that step less often than values are exchanged."""

import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.base.errors import SolverError
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, prepare_cosimulation


def ramp():
    """A block whose output is the time."""
    return Block("ramp", (), (Channel("t", "rad"),), (State("x", "rad"),), rates=lambda s: [1.0], values=lambda s: [s["x"]])


def system(relays, isolate=False, **options):
    slow = Component("slow", fmu=relays(), step=0.03, isolate=isolate, settings=options.pop("settings", {}))
    components = (Component("ramp", model=ramp()), slow, Component("fast", fmu=relays(), isolate=False))
    links = (Connection("ramp.t", "slow.u"), Connection("slow.y", "fast.u"), Connection("slow.clock", "fast.k", factor=1.0))
    return System("pair", components, links[:2], **{"step": 0.01, "t_end": 0.1, "record": ("*",), **options})


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_a_slow_component_takes_part_at_its_own_steps(relays, isolate, master):
    """It takes the input at the beginning of 0.03 s and shows its output at the end; the last step ends with the run."""
    history = cosimulate(system(relays, isolate, master=master))
    ends = np.array([0, 0, 0, 0.03, 0.03, 0.03, 0.06, 0.06, 0.06, 0.09, 0.1])
    np.testing.assert_allclose(history["slow.clock"], ends, atol=1e-12)
    np.testing.assert_allclose(history["slow.stepped"][3:], [0.03] * 7 + [0.01], rtol=1e-12)
    # It knows the ramp as it was when the step began; with 'gauss-seidel' the ramp has stepped before.
    ahead = 0.0 if master == "jacobi" else 0.01
    known = np.array([0, 0, 0, 0, 0, 0, 0.03, 0.03, 0.03, 0.06, 0.09]) + ahead
    np.testing.assert_allclose(history["slow.y"][3:], known[3:], atol=1e-12)
    # The others see the output once it is there.
    np.testing.assert_allclose(history["fast.y"][4:], history["slow.y"][3:-1] if master == "jacobi" else history["slow.y"][4:])


def test_values_at_the_start_pass_as_always(relays):
    history = cosimulate(system(relays, settings={"a": 2.0}))
    np.testing.assert_allclose(history["fast.y"][:3], 2.0)


def test_what_does_not_fit_is_refused(relays):
    with pytest.raises(
        CosimError, match=r"component 'slow': its step of 0.03 s is no whole number of communication steps of 0.02 s"
    ):
        prepare_cosimulation(system(relays, step=0.02))
    with pytest.raises(CosimError, match="is no whole number of communication steps of 4.94066e-324 s"):
        prepare_cosimulation(system(relays, step=5e-324))
    with pytest.raises((CosimError, SolverError), match="cannot go back to an earlier state"):
        cosimulate(system(relays, master="iterated"))
