"""Machines for servo tasks: models by name, and some of our own that show one thing each."""

from dataclasses import replace

from kingpost import Mechanism, Output
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import RestToRest
from kingpost.modelfiles.opened import open_model
from kingpost.simulation.settings import RunSettings


def posed(model, task="003", formulation=None, **values):
    """Return the servo problem of a model and its task by name."""
    opened = open_model(model)
    how = RunSettings(formulation=formulation) if formulation else None
    return pose_servo(opened.mechanism, opened.tasks[task], how, values=values)


def move(*measures, by=1.0, t_end=2.0):
    """Return paths from rest to rest with four continuous derivatives."""
    return {name: RestToRest(0.0, by, 0.0, t_end) for name in measures}


def sliders(count, inputs):
    """Return masses side by side on rails with springs between them, and a force on some by their number."""
    forces = {i: Input(f"force{i}", "N") for i in inputs}
    return Mechanism(
        name="sliders",
        inputs=tuple(forces.values()),
        bodies=tuple(Body(f"block{i}", mass=float(i)) for i in range(1, count + 1)),
        joints=tuple(
            Joint(f"rail{i}", "prismatic", "world", f"block{i}", axis=(1, 0, 0), coordinates=("x",))
            for i in range(1, count + 1)
        ),
        forces=(
            *(
                ForceElement("joint-effort", name=f"drive{i}", coordinate=f"rail{i}.x", effort=force)
                for i, force in forces.items()
            ),
            *(
                ForceElement("joint-spring", name=f"spring{i}", coordinate=f"rail{i + 1}.x", other=f"rail{i}.x", stiffness=10.0)
                for i in range(1, count)
            ),
        ),
    )


def slide(mechanism, measures, inputs, **values):
    """Return the servo problem of sliders."""
    return pose_servo(mechanism, ServoTask(move(*measures), inputs, 2.0), values=values)


def two_forces_on_one():
    """Return a slider that two inputs push in the same way, and another that nothing pushes."""
    first, second = Input("left", "N"), Input("right", "N")
    plain = sliders(2, [1])
    return replace(
        plain,
        inputs=(first, second),
        forces=(
            ForceElement("joint-effort", name="pushes", coordinate="rail1.x", effort=first),
            ForceElement("joint-effort", name="pulls", coordinate="rail1.x", effort=second),
            plain.forces[-1],
        ),
    )


def dependent_crane():
    """Return an overhead crane whose load is a point of its own, tied to the trolley by a rope that a winch pays out."""
    mass = Parameter("load_mass", 100.0, "kg")
    force, torque = Input("trolley_force", "N"), Input("winch_torque", "N.m")
    return Mechanism(
        name="roped",
        parameters=(mass,),
        inputs=(force, torque),
        bodies=(
            Body("trolley", mass=10.0),
            Body("winch", mass=0.0, inertia=(0.1, 0.1, 0.1)),
            Body("slide", mass=0.0),
            Body("load", mass=mass),
        ),
        joints=(
            Joint("rail", "prismatic", "world", "trolley", axis=(1, 0, 0), coordinates=("x",)),
            Joint("axle", "revolute", "trolley", "winch", axis=(0, 1, 0)),
            Joint("across", "prismatic", "world", "slide", axis=(1, 0, 0), coordinates=("x",)),
            Joint("down", "prismatic", "slide", "load", axis=(0, 0, 1), coordinates=("z",), start=-4.0),
        ),
        closures=(Closure("rope", "rope", "trolley", "load", length=4.0, radius=0.1, coordinates=("axle.angle",)),),
        forces=(
            ForceElement("gravity", acceleration=(0, 0, -9.81)),
            ForceElement("joint-effort", name="trolley-drive", coordinate="rail.x", effort=force),
            ForceElement("joint-effort", name="winch-drive", coordinate="axle.angle", effort=torque),
        ),
        outputs=(Output("load", "load"),),
    )


def floating_block():
    """Return a free body, whose attitude is a quaternion, with a force along each axis of the world and a moment about each."""
    pushes, turns = [Input(f"push_{axis}", "N") for axis in "xyz"], [Input(f"turn_{axis}", "N.m") for axis in "xyz"]
    return Mechanism(
        name="block",
        inputs=(*pushes, *turns),
        bodies=(Body("block", mass=2.0, inertia=(0.3, 0.4, 0.5)),),
        joints=(Joint("free", "free", "world", "block"),),
        forces=(ForceElement("body-wrench", body="block", frame="world", force=tuple(pushes), moment=tuple(turns)),),
        outputs=(Output("centre", "block"),),
        measures=tuple(Measure(f"rotation_{axis}", "rotation", body="block", axis=axis) for axis in "xyz"),
    )


def turntable():
    """Return a wheel on an axle with a torque."""
    torque = Input("torque", "N.m")
    return Mechanism(
        name="turntable",
        inputs=(torque,),
        bodies=(Body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1)),),
        forces=(ForceElement("joint-effort", coordinate="axle.angle", effort=torque),),
    )
