"""Friction that depends on joint loads by every formalism: each finds it with accelerations and multipliers of its own road."""

import numpy as np
import pytest

from kingpost import RunSettings, simulate
from kingpost.registry.selection import select
from kingpost.simulation.problem import pose
from tests.plugins.forces.test_bearing import G, friction_of_pendulum, pendulum, posed, seen
from tests.plugins.formalisms.machines import EXACT, FORMALISMS, PLUGINS

#: One whose road is a sparse system with the reactions of all joints, one that leaves multipliers to the equations, one that
#: does not know multipliers but by a pseudo-inverse; all others in the long tests.
QUICK = ("newton-euler", "lagrange", "udwadia-kalaba")
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORMALISMS if name != "kane"]
#: Slider and crank of the document, pushed and moving, with friction at its full size.
STATE = {"shaft.angle.rate": 3.0, "torque": 8.0}


@pytest.mark.parametrize("name", NAMES)
def test_a_pendulum_on_a_journal_has_the_friction_of_its_quadratic(name):
    """Without closures; rounding of a few hundred operations, as for `kane`."""
    problem = posed(pendulum(), name, loads=("pin",))
    for angle, rate in ((0.7, 1.3), (-2.0, 0.4), (1.4, -2.5)):
        found, (vdot,) = seen(problem, np.array([angle, rate]))
        effort, N, coupling, J = friction_of_pendulum(angle, rate, 0.3 * 0.2 * np.tanh(rate / 0.01))
        assert vdot == pytest.approx((effort - 2.0 * G * 0.5 * np.sin(angle)) / J, rel=1e-12, abs=1e-12)
        assert [found["journal.load"], found["journal.coupling"]] == pytest.approx([N, coupling], rel=1e-12)
        assert found["journal.residual"] < 1e-12 * abs(effort)


@pytest.fixture(scope="module")
def reference():
    return observed("kane")


def observed(name):
    mechanism = select(PLUGINS.models, "spatial-slider-crank").build()
    settings = RunSettings(formulation=name, loads=("guide",))
    return seen(pose(mechanism, settings, values=STATE, plugins=PLUGINS))


@pytest.mark.parametrize("name", NAMES)
def test_the_slider_crank_has_the_accelerations_and_loads_of_kane(name, reference):
    """A loop: loads come with multipliers. What penalties miss of constraints, they miss of 1e3 N and m/s^2 here."""
    channels, vdot = reference
    found, own = observed(name)
    way = PLUGINS.formalisms.get(name)()
    # Of the largest acceleration; loads are those on masses of up to 2 kg, and friction at most doubles an error here.
    allowed = 1e-11 * np.abs(vdot).max() if name in EXACT else 1e3 * way.miss() + 1e-9
    assert np.abs(own - vdot).max() <= allowed
    for channel in ("guide.Fx", "guide.Fy", "guide.Fz", "guide.friction.Fx", "rub.load"):
        assert abs(found[channel] - channels[channel]) <= 4 * allowed, channel
    assert abs(channels["guide.friction.Fx"]) > 1.0
    assert found["rub.residual"] < 1e-10 and found["rub.coupling"] == pytest.approx(channels["rub.coupling"], rel=1e-4)


@pytest.mark.parametrize("name", ["newton-euler", pytest.param("maggi", marks=pytest.mark.slow)])
def test_it_runs_in_compiled_steps(name):
    """Ten steps with a smooth friction: as far as `kane` goes, but for rounding."""
    mechanism = select(PLUGINS.models, "spatial-slider-crank").build()
    how = {"settings": {**STATE, "transition": 0.5}, "step": 0.002, "output_step": 0.02, "backend": "vm", "plugins": PLUGINS}
    one, other = (simulate(mechanism, 0.02, formulation=formulation, **how) for formulation in ("kane", name))
    np.testing.assert_allclose(other.values[:, :8], one.values[:, :8], rtol=0, atol=1e-10)
