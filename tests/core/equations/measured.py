"""Machines with measures of every kind."""

import dataclasses

from kingpost import Body, ForceElement, Joint, Measure, Mechanism, Output, Parameter
from kingpost.testing.problems import random_tree

REACH = Parameter("reach", 0.7, "m", "of the point that is measured")


def every_kind(body, other, coordinates):
    """Measures of two bodies, and of some coordinates of one unit."""
    point = {"body": body, "at": ("reach", 0.2, -0.3)}
    return (
        Measure("height", "position", axis="z", **point),
        Measure("along", "position", axis=(1, "reach", -1), of=other, origin=(0.1, 0, 0), **point),
        Measure("apart", "distance", other=other, other_at=(0, "reach", 0), **point),
        Measure("far", "distance", **point),
        Measure("bearing", "azimuth", axis="y", of=other, **point),
        Measure("heading", "azimuth", axis=(1, 2, 3), zero=(1, 0, 0), near="2 * reach", origin=(5, 5, 5), **point),
        Measure("turn-x", "rotation", body=body, axis="x", of=other),
        Measure("turn", "rotation", body=body, axis=(0, 1, 1), reference=(0.1, "reach", -0.2)),
        Measure("first", "coordinate", coordinate=coordinates[0]),
        Measure("mixed", "combination", terms={name: f"{i + 1} * reach" for i, name in enumerate(coordinates)}),
        Measure("sum", "combination", terms={"height": 0.5, "apart": -2, "tip.x": "reach"}),
    )


def measured_tree(seed, kinds, bodies=4):
    """A random tree of joints of some kinds, with measures of every kind on its last two bodies."""
    tree = random_tree(seed, bodies=bodies, kinds=kinds)
    first = tree.coordinates[0].unit
    names = [item.name for item in tree.coordinates if item.unit == first]
    measures = every_kind(tree.bodies[-1].name, tree.bodies[-2].name, names)
    outputs = (
        *tree.outputs,
        Output("tip", tree.bodies[0].name, at=(0.3, 0, 0)),
        Output("speed", "body0", quantity="velocity"),
    )
    return dataclasses.replace(tree, parameters=(*tree.parameters, REACH), outputs=outputs, measures=measures)


def planar_arm():
    """A cart with an arm of two bars that turn about y, and measures of every kind on them."""
    bar = {"mass": 2.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.2, 0.3)}
    joints = (
        Joint("rail", "prismatic", "world", "cart", axis=(1, 0, 0), start=0.2),
        Joint("shoulder", "revolute", "cart", "upper", axis=(0, 1, 0), start=0.4),
        Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), position=(1, 0, 0), start=-0.7),
    )
    return Mechanism(
        "planar-arm",
        bodies=(Body("cart", **bar), Body("upper", **bar), Body("lower", **bar)),
        joints=joints,
        outputs=(Output("tip", "lower"),),
        parameters=(Parameter("scale", 1.0, "1"), REACH),
        forces=(ForceElement("gravity"),),
        measures=every_kind("lower", "upper", ["shoulder.angle", "elbow.angle"]),
    )
