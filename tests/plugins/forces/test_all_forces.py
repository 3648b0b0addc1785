"""All built-in forces: conservative ones are the slopes of their potentials, and two formulations agree on every one."""

import casadi as ca
import numpy as np
import pytest

from kingpost import (
    ForceElement,
    Input,
    Parameter,
)
from kingpost.mechanism.trajectories import Sampled, Sequence
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, ROUNDING, applied, derive
from tests.plugins.forces.machines import FEW, KNOTS, LEVELS, MANY, NEAR, crane, rates, restoring, states

MATRIX = restoring(7)
CONSERVATIVE = {
    "gravity": (ForceElement("gravity", acceleration=(0.3, -0.5, -9.7)),),
    "joint-spring": (
        ForceElement("joint-spring", name="linear", coordinate="slew.angle", stiffness=30.0, rest=0.2),
        ForceElement("joint-spring", name="polynomial", coordinate="slide.displacement", stiffness=(40.0, 5.0, 30.0)),
        ForceElement(
            "joint-spring", name="between", coordinate="slew.angle", other="luff.angle", stiffness=(9.0, 2.0), rest=0.1
        ),
    ),
    "point-spring": (
        ForceElement(
            "point-spring",
            name="mooring",
            body="barge",
            at=(0.5, 0.2, 0),
            other="world",
            other_at=(4, 1, -2),
            stiffness=(9.0, 2.0),
        ),
        ForceElement(
            "point-spring",
            name="stay",
            body="load",
            at=(0.1, 0, 0.3),
            other="barge",
            other_at=(0.4, 0, 0),
            length=0.5,
            stiffness=20.0,
        ),
        ForceElement(
            "point-spring", name="tie", body="load", other="trolley", other_at=(0, 0.2, 0), length=0.3, stiffness=15.0
        ),
        ForceElement("point-spring", name="fender", body="barge", other="buoy", length=2.0, stiffness=(5.0, 0.0, 1.0)),
    ),
    "uniform-field": (ForceElement("uniform-field", body="load", at=(0.1, 0.2, -0.3), field=(3.0, -1.0, 0.5), charge=-1.7),),
    "central-gravity": (ForceElement("central-gravity", body="load", strength=1000.0, centre=(0.5, 0.3, -6.0)),),
    "hydrostatic": (
        ForceElement("hydrostatic", body="barge", matrix=MATRIX.tolist(), position=(0.5, 0, -0.3)),
        ForceElement(
            "hydrostatic",
            name="waterplane",
            body="barge",
            matrix=np.pad(MATRIX[2:5, 2:5], ((2, 1), (2, 1))).tolist(),
            buoyancy=50.0,
            centre=(0.1, 0.2, -0.4),
            follows_yaw=True,
        ),
    ),
}
CONSERVATIVE["all"] = tuple(force for forces in CONSERVATIVE.values() for force in forces)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("forces", CONSERVATIVE)
def test_a_conservative_force_changes_no_energy(forces, formulation):
    mechanism = crane(*CONSERVATIVE[forces])
    equations = derive(mechanism, formulation)
    t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
    energy = equations.kinetic + equations.potential
    vdot = equations.accelerations(t, q, v, u, p)
    power = ca.jtimes(energy, q, equations.kinematics(q, v, p)) + ca.jtimes(energy, v, vdot)
    size = ca.sum1(ca.fabs(ca.gradient(energy, v) * vdot))
    evaluate = ca.Function("power", [t, q, v, u, p], [power, size])
    for state in states(mechanism, np.random.default_rng(8)):
        change, scale = (float(result) for result in evaluate(0, *state, [], []))
        assert abs(change) < ROUNDING * max(1.0, scale)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("forces", CONSERVATIVE)
def test_a_conservative_force_is_the_slope_of_its_potential(forces, formulation):
    mechanism = crane(*CONSERVATIVE[forces])
    equations = derive(mechanism, formulation)

    def potential(q):
        return float(equations.observations(0, q, np.zeros(equations.nv), [], [])[-2])

    for q, v in states(mechanism, np.random.default_rng(9)):
        slopes = [(potential(q + NEAR * rate) - potential(q - NEAR * rate)) / (2 * NEAR) for rate in rates(equations, q)]
        assert max(map(abs, slopes)) > 1.0
        # Potentials of up to 1e3 J over distances of order 1.
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx(np.negative(slopes), abs=1e3 * 1e-9)


EVERYTHING = (
    *CONSERVATIVE["all"],
    ForceElement("joint-spring", name="brake", coordinate="luff.angle", stiffness="k", damping=(0.5, 0.2, 0.1)),
    ForceElement("joint-effort", coordinate="luff.angle", effort="20 * sin(2 * t) + push"),
    ForceElement("joint-actuator", name="a1", coordinate="slew.angle", stiffness=12.0, damping="2 + k", target="sin(t) + wind"),
    ForceElement(
        "joint-actuator", name="a2", coordinate="slide.displacement", stiffness=9.0, damping=3.0, target=Sequence(KNOTS, LEVELS)
    ),
    ForceElement(
        "joint-actuator",
        name="a3",
        coordinate="luff.angle",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(MANY, np.sin(MANY), "cubic"),
    ),
    ForceElement(
        "joint-actuator",
        name="a4",
        coordinate="slew.angle",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(MANY, np.cos(MANY), "cubic"),
    ),
    ForceElement(
        "joint-actuator",
        name="a5",
        coordinate="heave.displacement",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(FEW, np.cos(FEW)),
    ),
    ForceElement("joint-spring", name="link", coordinate="slide.displacement", other="heave.displacement", damping=(3.0, "k")),
    ForceElement("joint-inertia", coordinates=("slew.angle", "slide.displacement"), ratios=("k", -2.0), inertia=0.7),
    ForceElement("joint-inertia", name="motor", coordinates=("luff.angle",), inertia="k / 10"),
    ForceElement(
        "dc-motor",
        coordinate="slew.angle",
        voltage="push + 2 * sin(t)",
        inductance=0.05,
        resistance="k",
        torque_constant=0.3,
        back_emf=0.2,
        gear_ratio=4.0,
        rotor_inertia=0.02,
        rotor_damping=0.01,
        start_current=0.7,
    ),
    ForceElement("joint-friction", coordinate="heave.displacement", viscous=0.4, coulomb=2.0, transition=0.5),
    ForceElement("bearing-friction", joint="luff", mu="k / 50", radius=0.1, thrust_radius=0.2, span=0.5, transition=0.5),
    ForceElement("bearing-friction", name="guide", joint="slide", mu=0.05, transition=0.5),
    ForceElement(
        "point-spring", name="rope", body="trolley", other="world", at=(0, 0, 0.2), stiffness="k", damping=(0.5, 0.3, 0.1)
    ),
    ForceElement("point-spring", name="inner", body="barge", other="barge", at=(1, 0, 0), stiffness=7.0, damping=2.0),
    ForceElement("body-wrench", name="thrust", body="load", moment=("push", 1, 0), force=(0, "wind * t", 3), at=(0.2, 0, 0.1)),
    ForceElement("body-wrench", name="wind", body="barge", force=("3 * wind", 0, "-k"), at=(0, 0, 2), frame="world"),
    ForceElement("added-mass", body="barge", matrix=restoring(12).tolist(), at=(0.2, 0, -0.5), current=(0.5, "wind", 0)),
    ForceElement(
        "added-mass", name="weed", body="trolley", matrix=[[("k" if i == j else 0) for i in range(6)] for j in range(6)]
    ),
    ForceElement(
        "carried-load",
        body="tower",
        wrench=("push", 1, 2, 0, "wind", 3),
        inertia=restoring(14)[np.triu_indices(6)].tolist(),
        position=(0.1, 0.2, 0),
        rotation=(0, 0.3, 0),
    ),
    ForceElement("body-damping", body="barge", matrix=restoring(13).tolist(), quadratic=(1, "k", 3, 1, 2, 3), at=(0, 0, 0.3)),
    ForceElement(
        "radiation",
        body="barge",
        poles=[(-0.5, 0.8), (-1.0, 0.0)],
        motions=[("sway", "roll"), ("heave",)],
        residues=[[(3.0, 1.5), (0.5, 0.2), (2.0, 1.0)], [(4.0, 0.0)]],
        added_mass=restoring(15).tolist(),
        at=(0.3, -0.1, 0.2),
        heading="k / 10",
    ),
    ForceElement("radiation", name="turning", body="load", added_mass=restoring(16).tolist(), at=(0.3, 0, 0), follows_yaw=True),
    ForceElement(
        "current-coefficients",
        body="barge",
        velocity=(1.5, "wind", 0),
        headings=np.linspace(0, np.pi, 7).tolist(),
        surge=(0.5, 0.4, 0.2, 0, -0.2, -0.4, -0.5),
        sway=(0, 0.5, 0.8, 0.9, 0.8, 0.5, 0),
        yaw=(0, 0.1, 0.05, 0, -0.05, -0.1, 0),
        lateral_area="k",
        density=3.0,
    ),
    ForceElement(
        "wind-coefficients",
        body="barge",
        velocity=(-4.0, "wind", 0),
        headings=(np.arange(8) * np.pi / 4).tolist(),
        roll=(0.1, 0.5, 0.7, 0.4, 0, -0.4, -0.8, -0.5),
        pitch=(0.3, 0.2, 0, -0.2, -0.3, -0.2, 0, 0.2),
        at=(0, 0, 3),
    ),
    ForceElement(
        "wave-excitation", body="barge", components=[(0.5, 1.1, 0.2), ("k", 0.7, 1.0)], transfer=[(3, 1, 9, 2, 4, 1)], ramp=2.0
    ),
    ForceElement(
        "rope",
        name="hoist",
        body="load",
        other="barge",
        via=[(1.0, 0, 0.2)],
        via_body="boom",
        length=0.5,
        EA=60.0,
        damping=3.0,
        drum="slew.angle",
        radius=0.1,
    ),
    ForceElement(
        "plane-contact",
        body="load",
        other="barge",
        points=[(0, 0, -3), (0.3, 0.2, 0)],
        stiffness=30.0,
        damping=4.0,
        friction=0.3,
    ),
)


def test_every_built_in_force_is_among_those_of_the_next_test():
    # Those act on no body (tests/core/modular/test_machine.py), or on none without a sea (test_seas.py, test_wave_motion.py).
    alone = {"subsystems", "wave-drift", "wave-motion"}
    assert {force.kind for force in EVERYTHING} | alone == set(BUILT_IN.forces)


def test_all_forces_at_once_give_the_same_accelerations_in_both_formulations():
    mechanism = crane(*EVERYTHING, inputs=[Input("push", "N"), Input("wind", "N")], parameters=[Parameter("k", 5.0, "N/m")])
    kane, recursive = (derive(mechanism, formulation) for formulation in FORMULATIONS)
    # Tables are called from both; the system of load-dependent friction is one more call, or a part of the graph.
    assert len(kane.externals) - 1 == len(recursive.traced) == 4
    rng = np.random.default_rng(10)
    for q, v in states(mechanism, rng, 12):
        # The inputs, and behind them the current of the motor and what the water remembers.
        t, u, p = rng.uniform(0, 3), rng.uniform(-5, 5, 8), rng.uniform(1, 10, 1)
        exact, vdot = (np.asarray(equations.accelerations(t, q, v, u, p)).ravel() for equations in (kane, recursive))
        assert np.abs(vdot - exact).max() <= ROUNDING * max(1.0, np.abs(exact).max())
        exact, y = (np.asarray(equations.observations(t, q, v, u, p)).ravel() for equations in (kane, recursive))
        assert y == pytest.approx(exact, rel=ROUNDING)
