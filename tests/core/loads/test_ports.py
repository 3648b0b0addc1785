"""Ports: what they are on, and the energy that passes through them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import simpson

from kingpost import Body, Joint, MechanismError, Port, simulate
from kingpost.plugins.models.four_bar import FourBar
from kingpost.testing.problems import random_tree
from tests.core.multibody.shaken import COMPONENTS, on_given_base, shaken_pendulum


def test_the_load_of_a_given_joint_is_that_of_its_port(plugins):
    tree = random_tree(1, 3)
    history = simulate(
        on_given_base(tree), 0.02, step=0.01, output_step=0.01, loads="mount:side=parent", backend="vm",
        settings={"base_qw": 1.0}, inputs={"base_vz_rate": lambda t: 3.0, "base_wx": lambda t: 0.5},
    )  # fmt: skip
    for name in COMPONENTS:
        np.testing.assert_allclose(history[f"mount.{name}"], history[f"foot.{name}"], atol=1e-10)


def test_ports_name_what_they_are_on():
    mechanism = shaken_pendulum(pose=(0, 0, 0, 0, 0, 0))
    with pytest.raises(MechanismError, match="'swing' is not a given joint"):
        replace(mechanism, ports=(Port("foot", joint="swing"),))
    with pytest.raises(MechanismError, match=r"'bop' is not a body; did you mean 'bob'\?"):
        replace(mechanism, ports=(Port("foot", body="bop"),))
    with pytest.raises(MechanismError, match="not both"):
        Port("foot", joint="pivot", body="bob")


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_metered_port_counts_the_energy_that_passes(formulation, plugins):
    """Against Simpson's rule over the power of every step; the motion is that without the meter."""
    plain = replace(
        shaken_pendulum(pose=("0.3*cos(2*t)", 0, "0.1*sin(7*t)", 0, 0, 0)), ports=(Port("hand", joint="pivot", inertia=False),)
    )
    metered = replace(plain, ports=(Port("hand", joint="pivot", inertia=False, energy=True),))
    runs = [
        simulate(
            machine, 1.0, step=0.002, output_step=0.002, formulation=formulation, backend="vm", loads="swing", plugins=plugins
        )
        for machine in (plain, metered)
    ]
    for name in ("swing.angle", "hand.power", "swing.Fz"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=1e-10 * np.abs(runs[0][name]).max())
    passed = simpson(runs[1]["hand.power"], x=runs[1].time)
    # Simpson's rule on a power with w = 14 rad/s: (w h)^4 / 180 of it.
    assert runs[1]["hand.energy"][-1] == pytest.approx(passed, rel=1e-6)
    # What the hand takes, the machine loses.
    lost = runs[1]["energy.total"][0] - runs[1]["energy.total"][-1]
    assert runs[1]["hand.energy"][-1] == pytest.approx(lost, rel=1e-6)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "kane:independent=auto"])
def test_a_metered_port_of_a_machine_with_a_loop(formulation, plugins):
    """A four-bar on a base that is moved up and down: what passes is what the machine loses."""
    bar = FourBar().build()
    mount = Joint("mount", "given", "world", "frame", pose=(0, 0, "0.2*sin(3*t)", 0, 0, 0))
    joints = [replace(joint, parent="frame") if joint.parent == "world" else joint for joint in bar.joints]
    closures = [replace(closure, parent="frame") if closure.parent == "world" else closure for closure in bar.closures]
    carried = replace(
        bar,
        bodies=(Body("frame", mass=0), *bar.bodies),
        joints=(mount, *joints),
        closures=closures,
        ports=(Port("hand", joint="mount", inertia=False, energy=True),),
    )
    arguments = {"step": 0.001, "output_step": 0.01, "backend": "vm", "plugins": plugins}
    history = simulate(carried, 1.0, formulation=formulation, **arguments)
    lost = history["energy.total"][0] - history["energy.total"]
    assert np.abs(lost).max() > 1.0
    np.testing.assert_allclose(history["hand.energy"], lost, atol=1e-7 * np.abs(lost).max())
