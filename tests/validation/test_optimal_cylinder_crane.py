"""A crane on a rolling deck whose boom a hydraulic cylinder luffs, a closed loop, in optimal control.

The crane is the luffing crane with the oil column taken out: the force of the cylinder is an input, as is the torque of the
slewing drive. The load is slewed and raised from rest on deck to rest on deck at the least effort.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, OptimalTask, RunSettings, optimise, simulate
from kingpost.mechanism.sampled import Sampled
from kingpost.modelfiles.opened import open_model

TIME, SLEWED, RAISED = 4.0, 0.15, 0.06
#: Where the boom is at the start, and the rope, which hangs straight down from it (rad).
BOOM = 0.35
KANE = RunSettings(integrator="midpoint")
INPUTS = ("slew_torque", "cylinder_force")
#: Of some 130 kN that hold the boom, and its torque about the bearing.
LIMITS = {"slew_torque": (-80e3, 80e3), "cylinder_force": (0.0, 400e3)}


@pytest.fixture(scope="module")
def crane(plugins):
    """The luffing crane on a deck that rolls by 2 and pitches by 1 degree, pushed by its cylinder."""
    whole = open_model("luffing-crane", plugins).mechanism
    push = Input("cylinder_force", "N", description="force of the cylinder; positive lifts the boom")
    turned = ("0.035 * sin(2 * pi * t / 7)", "0.017 * sin(2 * pi * t / 6)", 0)
    deck = Joint("sea", "given", "world", "deck", pose=(0, 0, 0, *turned))
    joints = [replace(joint, parent="deck", start_rate=0.0) if joint.name == "slew" else joint for joint in whole.joints]
    forces = [force for force in whole.forces if force.name != "cylinder"]
    gone = ("cylinder_stiffness", "cylinder_damping", "stroke")
    return replace(
        whole,
        name="cylinder-crane",
        parameters=tuple(item for item in whole.parameters if item.name not in gone),
        inputs=(*whole.inputs, push),
        bodies=(Body("deck", mass=0), *whole.bodies),
        joints=(deck, *joints),
        forces=(*forces, ForceElement("joint-effort", name="cylinder", coordinate="stroke.length", effort=push)),
    )


@pytest.fixture(scope="module")
def solved(crane, plugins):
    known = {}

    def solve(intervals, how=KANE, **changes):
        key = (intervals, how.formulation, how.integrator, *changes)
        if key not in known:
            end = {"slew.angle": SLEWED, "boom-foot.angle": BOOM + RAISED, "rope.across": 0.0, "rope.along": BOOM + RAISED}
            rest = {f"{name}.rate": 0.0 for name in end}
            task = OptimalTask(INPUTS, TIME, end=end | rest, bounds=LIMITS, intervals=intervals, guess="line")
            known[key] = optimise(crane, replace(task, **changes), how=how, plugins=plugins)
            assert known[key].status == "optimal"
        return known[key]

    return solve


def replayed(found, crane, plugins, **how):
    """Return a run with the inputs that were found, held over intervals."""
    inputs = {
        name: Sampled(found.times, np.append(row, row[-1]), "hold") for name, row in zip(INPUTS, found.inputs.T, strict=True)
    }
    return simulate(crane, TIME, inputs=inputs, output_step=found.h, loads=["slew", "cylinder-foot"], plugins=plugins, **how)


@pytest.mark.slow
def test_a_manoeuvre_is_found_and_replayed(solved, crane, plugins):
    """With the same steps a run goes through the nodes; to what is left of Newton's method there and of the solver here."""
    found = solved(20)
    history = replayed(found, crane, plugins, integrator="midpoint", step=found.h)
    names = found.problem.state_names
    for i, name in enumerate(names):
        assert history[name] == pytest.approx(found.states[:, i], abs=1e-6)
    assert (found.inputs >= [-80e3, 0.0]).all() and (found.inputs <= [80e3, 400e3]).all()


@pytest.mark.slow
def test_the_replay_with_small_steps_differs_by_the_errors_of_the_intervals(solved, crane, plugins):
    """Another integrator with steps of a hundredth: it ends where it should to h^2, a quarter with half of the intervals."""
    away = []
    for intervals in (20, 40, 80):
        history = replayed(solved(intervals), crane, plugins, integrator="rk4", step=TIME / 4000)
        at_end = {"slew.angle": SLEWED, "boom-foot.angle": BOOM + RAISED, "rope.along": BOOM + RAISED}
        away.append([history[name][-1] - value for name, value in at_end.items()])
        # The loop stays closed: the boom's own angle says how long the cylinder is.
        x, z = 4.0 * np.cos(history["boom-foot.angle"]) - 1.0, 4.0 * np.sin(history["boom-foot.angle"]) + 2.0
        assert history["stroke.length"] == pytest.approx(np.hypot(x, z), abs=1e-9)
    coarse, fine = np.array(away[0]) / away[1], np.array(away[1]) / away[2]
    # Ratios of 4, off by b h^2 with terms of order four, which is a quarter as much on the finer grid, half at most.
    assert (np.abs(fine - 4) <= np.maximum(np.abs(coarse - 4) / 2, 0.05)).all()


@pytest.mark.slow
def test_coordinates_do_not_matter(solved):
    """With multipliers and without, as `modular` closes loops, costs tend to one; limits are right to order four, doubled."""
    limits = []
    for how in (KANE, RunSettings(formulation="modular", integrator="midpoint")):
        costs = [solved(intervals, how).cost for intervals in (10, 20, 40)]
        once = [fine + (fine - coarse) / 3 for coarse, fine in pairwise(costs)]
        limits.append((once[1], abs(once[1] - once[0]) / 15 * 2))
    (kane, error), (reduced, other) = limits
    assert kane == pytest.approx(reduced, abs=error + other)


@pytest.mark.slow
def test_a_limit_of_the_cylinder_is_kept_and_costs(solved):
    """Less by a fifth of the range of forces than the crane would take."""
    free = solved(20)
    force = free.inputs[:, 1]
    high = force.min() + 0.8 * np.ptp(force)
    tight = solved(20, bounds={**LIMITS, "cylinder_force": (0.0, float(high))})
    assert tight.inputs[:, 1].max() <= high
    assert tight.cost > free.cost
    assert [item["name"] for item in tight.active] == ["cylinder_force"]
