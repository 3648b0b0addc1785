"""What a mechanism accepts, and what it says when it does not."""

import dataclasses

import pytest

from kingpost import Body, ForceElement, Input, Joint, KingpostError, MechanismError, Output, Parameter, simulate
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.testing import random_tree
from tests.core.mechanism.small import BOB, PIVOT, body, machine


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Body("bob", mass="2 *"), "body 'bob': mass: '2 *' is not a formula"),
        (lambda: Body("bob", mass=1, com=(0, 1)), "body 'bob': com: expected 3 entries, got 2"),
        (lambda: Body("bob", mass=1, inertia=(1, 2)), "inertia has 2 entries; give Ixx, Iyy, Izz"),
        (lambda: Body("world", mass=1), "this name is taken by the inertial frame"),
        (lambda: Body("my body", mass=1), "body name 'my body': use a letter"),
        (lambda: Parameter("sin", 1.0, "m"), "'sin' is taken by the formula language"),
        (lambda: Parameter("t", 1.0, "m"), "'t' is taken by the formula language"),
        (lambda: Parameter("a-b", 1.0, "m"), "since formulas use it"),
        (lambda: Parameter("a", 1.0, ""), "parameter 'a' lacks a unit; write '1'"),
        (lambda: Parameter("a", -1.0, "kg", minimum=0.0), "parameter 'a' is -1 kg, outside its range [0, inf] kg"),
        (lambda: Joint("j", "revolut", "world", "b", axis=(1, 0, 0)), "unknown kind 'revolut'; did you mean 'revolute'?"),
        (lambda: Joint("j", "revolute", "world", "b"), "joint 'j' is revolute and lacks 'axis'"),
        (lambda: Joint("j", "revolute", "world", "b", axis=(0, 0, 0)), "axis is [0, 0, 0]; give a direction"),
        (
            lambda: Joint("j", "revolute", "world", "b", axis=(1, 0, 0), start=(1, 2)),
            "start has 2 entries, but a revolute joint has 1",
        ),
        (lambda: Output("tip", "bob", quantity="speed"), "output 'tip': quantity: expected one of 'position', 'velocity'"),
        (lambda: machine(bodies=[BOB, BOB]), "two bodies are called 'bob'"),
        (lambda: machine(joints=[]), "body 'bob' is not connected: no joint has it as its child"),
        (
            lambda: machine(joints=[dataclasses.replace(PIVOT, parent="bobb")]),
            "its parent 'bobb' is not a body; did you mean 'bob'?",
        ),
        (
            lambda: machine(joints=[PIVOT, dataclasses.replace(PIVOT, name="second")]),
            "body 'bob' is the child of two joints, 'pivot' and 'second'",
        ),
        (
            lambda: machine(
                bodies=[BOB, body("a"), body("b")],
                joints=[
                    PIVOT,
                    Joint("ja", "weld", "b", "a"),
                    Joint("jb", "weld", "a", "b"),
                ],
            ),
            "the bodies a -> b -> a carry each other in a loop that never reaches 'world'",
        ),
        (
            lambda: machine(parameters=[Parameter("mass", 1.0, "kg")], bodies=[Body("bob", mass="mas")]),
            "body 'bob': mass = 'mas' uses 'mas', which is not declared; did you mean 'mass'?",
        ),
        (
            lambda: machine(parameters=[Parameter("a", 1.0, "m")], inputs=[Input("a", "m")]),
            "two parameters or inputs are called 'a'",
        ),
        (lambda: machine(outputs=[Output("tip", "bib")]), "output 'tip': 'bib' is not a body; did you mean 'bob'?"),
        (lambda: machine(outputs=[Output("pivot", "bob")]), "has the name of a joint or of the energies"),
        (lambda: machine(forces=["gravity"]), "forces[0] is 'gravity', expected a ForceElement"),
    ],
)
def test_a_description_that_breaks_a_rule_is_refused(make, message):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("unit", "formula", "message"),
    [
        ("t", "m", "body 'bob': mass = 'm' would take a number in t for one in SI units; write 'm * 1000', or give 'm' in SI"),
        ("degC", "m", "write 'm + 273.15'"),
        ("%", "m", "write 'm * 0.01'"),
        ("t", "1000 * m", ""),
        ("kg", "m", ""),
    ],
)
def test_a_field_that_is_a_parameter_in_another_unit_is_refused(unit, formula, message, plugins):
    """A formula can convert; a bare name would be off by the factor without a word."""

    def make():
        return machine(bodies=(body("bob", mass=formula),), parameters=(Parameter("m", 2.0, unit),))

    if not message:
        assert make().parameters[0].unit == unit
        return
    with pytest.raises(MechanismError) as caught:
        make()
    assert message in str(caught.value)


def test_a_force_takes_no_parameter_in_another_unit_as_it_is(plugins):
    force = ForceElement("gravity", acceleration=(0, 0, "g"))
    with pytest.raises(MechanismError, match=r"acceleration = 'g' would take a number in km/s2 for one in SI units"):
        simulate(machine(forces=(force,), parameters=(Parameter("g", 0.00981, "km/s2"),)), t_end=0.1, plugins=plugins)


def test_plain_data_and_back_is_the_same_mechanism():
    mechanism = random_tree(3)
    again = mechanism_from_dict(mechanism.to_dict())
    assert again == mechanism
    assert again.digest() == mechanism.digest()
    assert dataclasses.replace(mechanism, description="another").digest() != mechanism.digest()


def test_mechanisms_cannot_be_changed():
    for entry, name in [(machine(), "name"), (BOB, "mass"), (ForceElement("gravity"), "kind")]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(entry, name, "other")
    with pytest.raises(TypeError):
        ForceElement("gravity", acceleration=(0, 0, 1)).options["acceleration"] = 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (ForceElement("gravty"), "unknown force 'gravty'; did you mean 'gravity'?"),
        (
            ForceElement("gravity", acceleratoin=1),
            "has no 'acceleratoin'; did you mean 'acceleration'? It takes: acceleration =",
        ),
        (ForceElement("joint-spring"), "lacks 'coordinate'. It takes: coordinate (required), stiffness = 0.0"),
        (
            ForceElement("joint-spring", coordinate="pivot.angel"),
            "coordinate: 'pivot.angel' is not a joint coordinate; did you mean 'pivot.angle'?",
        ),
        (
            ForceElement("joint-effort", coordinate="pivot.angle", effort="push"),
            "effort = 'push' uses 'push', which is not declared. Known here: t.",
        ),
        (ForceElement("gravity", acceleration=9.81), "acceleration: expected a list, got 9.81"),
    ],
)
def test_a_force_that_does_not_fit_is_refused(force, message, plugins):
    with pytest.raises(KingpostError) as error:
        simulate(machine(forces=[force]), 1.0, plugins=plugins)
    assert message in str(error.value)


def test_a_massless_tip_is_refused_before_the_run(plugins):
    tip = body("tip", mass=0.0)
    mechanism = machine(bodies=[BOB, tip], joints=[PIVOT, Joint("wrist", "revolute", "bob", "tip", axis=(1, 0, 0))])
    with pytest.raises(MechanismError, match=r"nothing resists an acceleration of 'wrist.angle' \(M\[1, 1\] = 0\)"):
        simulate(mechanism, 1.0, plugins=plugins)


def test_forces_without_a_name_are_numbered_from_the_second_of_a_kind_on():
    spring = {"coordinate": "pivot.angle", "stiffness": 1.0}
    forces = [
        ForceElement("joint-spring", **spring),
        ForceElement("gravity"),
        ForceElement("joint-spring", **spring),
        ForceElement("joint-spring", name="joint-spring-3", **spring),
        ForceElement("joint-spring", **spring),
    ]
    made = machine(forces=forces)
    assert [force.name for force in made.forces] == [
        "joint-spring", "gravity", "joint-spring-2", "joint-spring-3", "joint-spring-4",
    ]  # fmt: skip
    # Names stay what they are when a machine is changed, and one that is given twice is a mistake.
    further = dataclasses.replace(made, forces=[*made.forces, ForceElement("gravity")])
    assert [force.name for force in further.forces][-2:] == ["joint-spring-4", "gravity-2"]
    with pytest.raises(MechanismError, match="two forces are called 'mine'"):
        machine(forces=[ForceElement("gravity", name="mine"), ForceElement("joint-spring", name="mine", **spring)])
