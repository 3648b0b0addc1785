"""Inverse dynamics on the complement of all constraints (document 002, theorem 4.3)."""

import dataclasses

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, PluginSet, RunSettings, ServoTask, SolverError
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import consistent_start
from kingpost.gallery.document_002.numbers import THREE_LEGS
from kingpost.mechanism.trajectories import RestToRest
from kingpost.plugins.inverse_dynamics.modular import Modular
from kingpost.registry.selection import select
from kingpost.testing.problems import parallelogram

PLUGINS = PluginSet(entry_points=False)


def driven(machine, *coordinates):
    """Return a machine with torques on some of its coordinates, t1, t2, ..."""
    inputs = [Input(f"t{i + 1}", "N.m") for i in range(len(coordinates))]
    drives = [
        ForceElement("joint-effort", name=f"drive{i + 1}", coordinate=name, effort=signal)
        for i, (name, signal) in enumerate(zip(coordinates, inputs, strict=True))
    ]
    return dataclasses.replace(machine, inputs=inputs, forces=(*machine.forces, *drives))


def task(measure, first, last, *inputs):
    return ServoTask({measure: RestToRest(first, last, 0.0, 1.0)}, inputs, 1.0)


def solved(machine, wanted, method, samples=21):
    """Return the servo problem and what a method finds at some times."""
    problem = pose_servo(machine, wanted, RunSettings(formulation="kane", backend="vm"), plugins=PLUGINS)
    start = consistent_start(problem, 2)
    way = select(PLUGINS.of("inverse_dynamics"), method)
    times = np.linspace(wanted.t_start, wanted.t_end, samples)
    return problem, ServoSolution(*way.solve(problem, start, times, lambda done: None))


def assert_alike(machine, wanted, options=""):
    (problem, ours), (_, others) = (solved(machine, wanted, f"{method}{options}") for method in ("modular", "computed-torque"))
    for part in ("q", "v", "a", "lam", "u"):
        found, exact = (solution.part(problem, part) for solution in (ours, others))
        # Newton's method of the other leaves 1e-12 of the unknowns.
        np.testing.assert_allclose(found, exact, atol=1e-10 * max(1.0, np.abs(exact).max(initial=0.0)), rtol=0)
    return ours.part(problem, "u")


def arm():
    bodies = [Body(name, mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3)) for name in ("upper", "lower")]
    joints = [
        Joint("shoulder", "revolute", "world", "upper", axis=(0, 1, 0), start=0.3),
        Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), position=(1, 0, 0), start=0.5),
    ]
    return Mechanism("arm", bodies, joints, forces=[ForceElement("gravity")])


def test_measures_that_are_coordinates_need_no_solving():
    machine = driven(arm(), "shoulder.angle", "elbow.angle")
    path = {"shoulder.angle": RestToRest(0.3, 1.0, 0.0, 1.0), "elbow.angle": RestToRest(0.5, -0.5, 0.0, 1.0)}
    assert_alike(machine, ServoTask(path, ("t1", "t2"), 1.0))


def test_a_loop_is_driven_as_by_the_whole_system_of_equations():
    machine = driven(parallelogram("point-on-line"), "a.angle")
    assert_alike(machine, task("d.angle", 0.9, 0.2, "t1"))


@pytest.mark.parametrize("options", ["", ":weights=t1:3/t2:1"])
def test_more_inputs_than_needed_share_by_their_cost(options):
    machine = driven(parallelogram("point-on-line"), "a.angle", "d.angle")
    wanted = task("d.angle", 0.9, 0.2, "t1", "t2")
    u = assert_alike(machine, wanted, options)
    # Both cranks turn alike, so that costs times efforts are equal where their sum is smallest.
    np.testing.assert_allclose(u[:, 0] * (3.0 if options else 1.0), u[:, 1], atol=1e-9)


def crank(angle):
    """A crank that moves a piston along x, at an angle; at 0 all is in line, and no force on the piston turns it."""
    machine = PLUGINS.models.get("slider-crank")().build()
    lean = -np.arcsin(np.sin(angle) / 3)
    starts = {"shaft": angle, "crank-pin": lean - angle, "bore": 0.1 * np.cos(angle) + 0.3 * np.cos(lean)}
    joints = [dataclasses.replace(joint, start=float(starts[joint.name]), start_rate=0.0) for joint in machine.joints]
    return dataclasses.replace(machine, joints=joints)


def test_a_crank_driven_by_its_piston():
    assert_alike(crank(0.5), task("shaft.angle", 0.5, 2.5, "gas_force"))


def test_variables_that_cannot_be_independent_are_refused_with_rank_and_margin():
    wanted = task("shaft.angle", 0.0, 0.5, "gas_force")  # E11 = 0 of example 4.5
    problem = pose_servo(crank(0.0), wanted, RunSettings(formulation="kane"), plugins=PLUGINS)
    why = Modular().refusal(problem)
    assert "takes what the inputs gas_force work on for the independent variables, and at t = 0 s they are none" in why
    assert "have rank 2 of 3 there (smallest scaled singular value" in why
    torque = task("shaft.angle", 0.0, 0.5, "torque")
    assert Modular().refusal(pose_servo(crank(0.0), torque, RunSettings(formulation="kane"), plugins=PLUGINS)) == ""


def test_a_dead_centre_on_the_way_is_found():
    with pytest.raises(SolverError, match=r"at t = 0\.5 s they are none: constraints and inputs have rank 2 of 3"):
        solved(crank(-0.5), task("shaft.angle", -0.5, 0.5, "gas_force"), "modular")


@pytest.mark.slow
def test_the_torques_of_the_3rrr_are_those_of_document_002():
    model = PLUGINS.models.get("rrr-parallel")()
    problem, solution = solved(model.build(), model.tasks()["002"], "modular", samples=321)
    u = solution.part(problem, "u")
    np.testing.assert_allclose(u[20:160:20], THREE_LEGS, atol=6e-6)  # five digits


@pytest.mark.slow
def test_the_torque_of_the_whitworth_is_that_of_document_002():
    model = PLUGINS.models.get("whitworth")()
    problem, solution = solved(model.build(), model.tasks()["002"], "modular", samples=3201)
    u, cycle = solution.part(problem, "u")[:, 0], slice(0, 801)
    # Extrema between samples of 5 ms are missed by u'' h^2 / 8, some 1e-4.
    assert u[0] == pytest.approx(0.03654, abs=6e-6)
    assert u[cycle].max() == pytest.approx(0.95237, abs=2e-4)
    assert u[cycle].min() == pytest.approx(-1.00406, abs=2e-4)
    # The crank turns evenly, so that the work of a cycle is what the machine has gained: nothing.
    assert abs(np.mean(u[:800])) < 1e-9
