"""All formalisms give the same accelerations: of random trees and loops, of models, and of what else a machine can be."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, MechanismError, Parameter
from kingpost.mechanism.closures import Closure
from kingpost.registry.selection import select
from kingpost.testing.problems import RANDOM_CLOSURES, bare_winch, lagging_cart, pendulum, random_loop, random_tree
from tests.plugins.formalisms.machines import EXACT, FORMALISMS, PLUGINS, place

#: Of the largest acceleration, with or without constraints: rounding of 1e-16 in some 1e4 operations, times condition numbers
#: of masses and constraints of up to 1e3.
TOLERANCE = 1e-11
KINDS = list(RANDOM_CLOSURES)
TREES, LOOPS = ([f"random-{shape}-{seed}" for seed in range(10)] for shape in ("tree", "loop"))
#: The smallest are compared in every run of the tests, all twenty in the long ones.
QUICK = ("random-tree-1", "random-tree-3", "random-loop-4", "random-loop-8")
RANDOM = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in (*TREES, *LOOPS)]
LARGER = [f"random-{shape}-{seed}" for shape in ("tree", "loop") for seed in range(20, 24)]


@cache
def machine(name):
    """Return a random machine by its name; loops have closures of every kind in turn, also those that cannot be integrated."""
    _, shape, number = name.split("-")
    seed, larger = int(number), name in LARGER
    if shape == "tree":
        return random_tree(seed, bodies=5 if larger else 2)
    if larger:
        return random_loop(seed, bodies=4)
    return random_loop(seed, bodies=2 + seed % 2, kind=KINDS[seed % len(KINDS)] if seed not in (2, 3, 6) else "")


def assert_all_agree(here, names=EXACT):
    off = {name: here.apart(name) / here.size for name in names if name != "kane"}
    assert all(part <= TOLERANCE for part in off.values()), {name: part for name, part in off.items() if not part <= TOLERANCE}


@pytest.mark.quick("random-tree-*", "random-loop-4")
@pytest.mark.parametrize("name", RANDOM)
def test_random_machines(name):
    here = place(machine(name))
    assert len(here.reference) > here.machine.constraints.count
    assert_all_agree(here)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_larger_random_machines(name):
    assert_all_agree(place(machine(name)))


def test_the_random_loops_have_what_they_are_for():
    closures = [machine(name).closures[0] for name in LOOPS]
    assert {closure.kind for closure in closures} >= {"rolling", "rolling-disc", "spherical", "distance"}
    joints = {joint.kind for name in (*TREES, *LOOPS) for joint in machine(name).joints}
    assert joints >= {"spherical", "free", "gimbal", "cardan", "planar"}


@pytest.mark.parametrize("name", ["four-bar", "double-pendulum", "heavy-top"])
def test_models(name):
    assert_all_agree(place(select(PLUGINS.models, name).build(), shake=0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "andrews-squeezer",
        "branched",
        "slider-crank",
        "luffing-crane",
        "cablev",
        "overhead-crane",
        "passive-joint-arm",
        "rotary-crane",
        "satellite",
    ]
    + ["six-axis-arm", "slider-pendulum", "spacecraft-arm", "three-link-manipulator", "vessel-crane", "small-crane"]
    + ["small-crane-on-base", "rrr-parallel", "whitworth", "spatial-slider-crank:friction=none", "whipple-bicycle"],
)
def test_further_models(name):
    assert_all_agree(place(select(PLUGINS.models, name).build(), shake=0.5))


def driven_machine():
    """Return a machine with everything: a moving base, an input, a rotor, a drive with a state, damping, and a loop."""
    turn = {"axis": (0, 1, 0)}
    inertia = (0.4, 0.5, 0.6, 0.02, -0.03, 0.05)
    return Mechanism(
        "driven",
        inputs=(
            Input("push", "N.m", 0.7),
            Input("sway", "rad", 0.1),
            Input("rate", "rad/s", -0.4),
            Input("more", "rad/s2", 1.3),
        ),
        parameters=(Parameter("load", 2.0, "kg"),),
        bodies=(
            Body("deck", mass=50.0, inertia=(5.0, 6.0, 7.0)),
            Body("table", mass=9.0, com=(0.1, 0.0, 0.2), inertia=inertia),
            Body("crank", mass=1.5, com=(0.3, 0.0, 0.1), inertia=inertia),
            Body("ball", mass="load", com=(0.05, 0.1, 0.0), inertia=inertia),
        ),
        joints=(
            Joint("sea", "given", "world", "deck", pose=("0.3 * sin(2 * t)", "0", "0.2 * t", "0.1 * sin(t)", "0.3 * t", "0.2")),
            Joint(
                "stage",
                "given",
                "deck",
                "table",
                position=(0.5, 0.2, 0.1),
                pose=("0", "0", "0", "sway", "0", "0"),
                twist=("rate", "0", "0", "0", "0", "0"),
                twist_rate=("more", "0", "0", "0", "0", "0"),
            ),
            Joint("a", "revolute", "table", "crank", position=(0.2, 0.1, 0.3), start=0.4, start_rate=1.5, **turn),
            Joint("b", "spherical", "crank", "ball", position=(0.7, 0.1, 0.0), start_rate=(0.3, -0.8, 0.5)),
        ),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-spring", coordinate="a.angle", stiffness=30.0, rest=0.2),
            ForceElement("joint-friction", coordinate="a.angle", viscous=1.1, coulomb=0.4),
            ForceElement("joint-effort", name="motor", coordinate="a.angle", effort="push * cos(t)"),
            ForceElement(
                "joint-actuator", name="drive", coordinate="a.angle", stiffness=2.0, damping=0.1, effort=3.0, time_constant=0.5
            ),
        ),
    )


def test_moving_bases_inputs_parameters_and_states_of_forces():
    """Bases that move by formulas of the time, and by inputs whose rates are given, are no obstacle to differentiation."""
    assert_all_agree(place(driven_machine(), {"load": 3.1, "push": 4.0}, t=0.7))


def test_machines_with_one_speed():
    """A cart whose drive has a state; a pendulum that carries a welded body; a bar that a closure holds altogether."""
    assert_all_agree(place(lagging_cart()))
    weight = (Body("weight", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3)),)
    weld = (Joint("bolt", "weld", "bob", "weight", position=(0, 0, -1)),)
    swinging = pendulum()
    assert_all_agree(place(replace(swinging, bodies=(*swinging.bodies, *weight), joints=(*swinging.joints, *weld)), shake=1.0))
    held = Closure("stay", "point-on-plane", "world", "bob", position=(0, 0, -1), axis=(0, 0, 1), child_position=(0.5, 0, 0))
    assert_all_agree(place(replace(swinging, closures=(held,))))


def test_a_loop_across_a_moving_base():
    """A closure between the world and what a given joint carries: its rows depend on the time."""
    bodies = (Body("cart", mass=3.0, inertia=(1, 1, 1)), Body("arm", mass=2.0, com=(0, 0, -0.4), inertia=(0.2, 0.3, 0.1)))
    mechanism = Mechanism(
        "tied",
        bodies=(*bodies, Body("tip", mass=1.0, inertia=(0.1, 0.1, 0.1))),
        joints=(
            Joint("rail", "given", "world", "cart", pose=("0.2 * sin(3 * t)", "0", "0", "0", "0", "0")),
            Joint("pivot", "revolute", "cart", "arm", axis=(0, 1, 0), start=0.0, start_rate=0.3),
            Joint("slide", "planar-translational", "arm", "tip", position=(0, 0, -0.8), axis=(0, 0, 1), axis2=(1, 0, 0)),
        ),
        forces=(ForceElement("gravity"),),
        closures=(Closure("eye", "point-on-line", "world", "tip", position=(0, 0, -0.8), axis=(0, 0, 1)),),
    )
    assert_all_agree(place(mechanism))


def test_added_inertia_and_rotors():
    """What water adds to a hull, and what a drive adds to a joint: parts of the mass matrix that no body has."""
    mechanism = select(PLUGINS.models, "small-vessel-plain").build()
    assert any(loads.inertias for loads in place(mechanism).machine.loads)
    assert_all_agree(place(mechanism, shake=0.2), ["lagrange", "newton-euler", "gauss", "virtual-power", "boltzmann-hamel"])
    rotor = select(PLUGINS.models, "rotary-crane").build()
    assert_all_agree(place(rotor, shake=0.2), ["hamilton", "gibbs-appell", "newton-euler", "gauss", "virtual-power", "maggi"])


def test_energies_are_differentiated_where_forces_have_them():
    here = place(driven_machine(), t=0.7)
    names = [element.kind for element in here.machine.mechanism.forces]
    slopes = dict(zip(names, here.machine.conservative, strict=True))
    assert slopes["gravity"]
    assert slopes["joint-spring"]
    assert not slopes["joint-friction"]
    assert not slopes["joint-actuator"]


@pytest.mark.parametrize("alpha", [1e3, 1e6])
def test_penalties_leave_the_error_that_they_say(alpha):
    """In rows and speeds of the size one, penalties leave M^-1 A' (1/alpha + A M^-1 A')^-1 y / alpha: one part in alpha."""
    here = place(select(PLUGINS.models, "four-bar").build(), shake=0.5)
    error = here.apart(f"penalty:alpha={alpha:g}") / here.size
    assert 0.01 / alpha < error < 100 / alpha
    assert select(PLUGINS.formalisms, f"penalty:alpha={alpha:g}").leaves() == (
        f"misses constraints by some {1 / alpha:.1g} of what they hold"
    )


def test_multipliers_take_over_what_penalties_leave():
    """Each iteration leaves one part in alpha, times some number of the size one, of what the one before has left."""
    here = place(select(PLUGINS.models, "four-bar").build(), shake=0.5)
    errors = [here.apart(f"augmented-lagrangian:alpha=100,iterations={n}") / here.size for n in (1, 2, 3)]
    assert errors[1] < errors[0] / 10
    assert errors[2] < errors[1] / 10


SINGULAR = [name for name in FORMALISMS if PLUGINS.formalisms.get(name).singular_mass]


def test_singular_mass_matrices():
    """Those that invert nothing take machines with speeds without inertia; the others name the speed, and who takes it."""
    assert {"maggi", "udwadia-phohomsiri", "udwadia-schutte"} < set(SINGULAR)
    here = place(bare_winch())
    assert_all_agree(here, [name for name in SINGULAR if name in EXACT])
    for name in set(FORMALISMS) - set(SINGULAR):
        with pytest.raises(MechanismError, match=r"singular: along axle\.angle nothing has inertia .* Take 'maggi'"):
            here.apart(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rotary-crane-two-winches", "us-navy-crane-2d", "us-navy-crane-3d", "rolling-sphere"])
def test_models_with_singular_mass_matrices(name):
    assert_all_agree(place(select(PLUGINS.models, name).build(), shake=0.2), [name for name in SINGULAR if name in EXACT])


def test_multipliers_agree():
    here = place(select(PLUGINS.models, "four-bar").build(), shake=0.5)
    for name in EXACT:
        # Multipliers of penalties are alpha = 1e5 times errors of the size of rounding.
        allowed = 1e-10 if name == "augmented-lagrangian" else 1e-12
        np.testing.assert_allclose(here.found(name)[1], here.multipliers, atol=allowed * np.abs(here.multipliers).max())
