"""Machines of our own for servo tasks, with parameters that change what kind of problem they are."""

from kingpost import Closure, Mechanism, Output
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import RestToRest
from kingpost.modelfiles.opened import open_model
from kingpost.simulation.settings import RunSettings


def posed(model, task, formulation=None, path=None, **values):
    """Return the servo problem of a model by name, on another path if one is given."""
    opened = open_model(model)
    found = opened.task(task)
    if path is not None:
        found = ServoTask(path, found.inputs, found.t_end, settings=found.settings)
    how = RunSettings(formulation=formulation) if formulation else None
    return pose_servo(opened.mechanism, found, how, values=values)


def sliders(count=2, inputs=1):
    """Return masses side by side on rails, the first ones with a force, and springs between them."""
    forces = [Input(f"force{i}", "N") for i in range(1, inputs + 1)]
    springs = [
        ForceElement("joint-spring", name=f"spring{i}", coordinate=f"rail{i + 1}.x", other=f"rail{i}.x", stiffness=10.0)
        for i in range(1, count)
    ]
    return Mechanism(
        name="sliders",
        inputs=tuple(forces),
        bodies=tuple(Body(f"block{i}", mass=float(i)) for i in range(1, count + 1)),
        joints=tuple(
            Joint(f"rail{i}", "prismatic", "world", f"block{i}", axis=(1, 0, 0), coordinates=("x",))
            for i in range(1, count + 1)
        ),
        forces=(
            *(
                ForceElement("joint-effort", name=f"drive{i}", coordinate=f"rail{i}.x", effort=force)
                for i, force in enumerate(forces, 1)
            ),
            *springs,
        ),
    )


def move(*measures, by=1.0, t_end=2.0):
    """Return paths from rest to rest."""
    return {name: RestToRest(0.0, by, 0.0, t_end) for name in measures}


def bent_arm():
    """Return the arm of document 003 with its measure."""
    opened = open_model("passive-joint-arm").mechanism
    return opened


def floating_block():
    """Return a free body, whose attitude is a quaternion, with a force at its centre along x, y and z and a torque about each."""
    pushes = [Input(f"push_{axis}", "N") for axis in "xyz"]
    turns = [Input(f"turn_{axis}", "N.m") for axis in "xyz"]
    return Mechanism(
        name="block",
        inputs=(*pushes, *turns),
        bodies=(Body("block", mass=2.0, inertia=(0.3, 0.4, 0.5)),),
        joints=(Joint("free", "free", "world", "block"),),
        forces=(ForceElement("body-wrench", body="block", force=tuple(pushes), moment=tuple(turns)),),
        outputs=(Output("centre", "block"),),
    )


__all__ = ["Closure", "Measure", "Parameter"]
