"""Gravity towards a point: orbits, the potential, and torque about the centre of mass."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, MechanismError, Parameter, open_model, simulate


def test_a_circle_closes(plugins):
    """On the unit circle with strength 1 the period is 2 pi; rk4 with 1 ms steps errs by 1e-12 a period."""
    particle = open_model("central-field-particle", plugins)
    history = particle.simulate(t_end=6.0, step=0.002, backend="vm")
    t = history.time
    assert history["particle.x"] == pytest.approx(np.cos(t), abs=1e-8)
    assert history["particle.y"] == pytest.approx(np.sin(t), abs=1e-8)
    assert np.ptp(history["energy.total"]) < 1e-10
    assert history["energy.total"][0] == pytest.approx(-0.5)


def machine(**force):
    strength = Parameter("strength", 8.0, "m3/s2")
    return Mechanism(
        name="falling",
        parameters=(strength,),
        bodies=(Body("stone", mass=2.0, com=(0, 0, 1.0), inertia=(1, 1, 1)),),
        joints=(Joint("place", "translational", "world", "stone", start=(3.0, 0.0, 0.0)),),
        forces=(ForceElement("central-gravity", body="stone", **{"strength": strength, **force}),),
    )


def test_the_pull_is_at_the_centre_of_mass_and_towards_the_centre(plugins):
    # From (3, 0, 1) towards (1, 0, 1): 8 / 2^2.
    history = simulate(machine(centre=(1.0, 0.0, 1.0)), t_end=0.01, step=0.001, backend="vm", plugins=plugins)
    assert history["place.x.rate"][-1] == pytest.approx(-0.02, rel=1e-3)
    assert history["energy.potential"][0] == pytest.approx(-2.0 * 8.0 / 2.0)


def test_a_strength_of_zero_is_refused(plugins):
    with pytest.raises(MechanismError, match=r"strength is 0 m\^3/s\^2 and never acts"):
        simulate(machine(strength=0.0), t_end=0.1, plugins=plugins)
