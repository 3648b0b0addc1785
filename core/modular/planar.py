"""Bodies, joints and a base in a plane as subsystems: the nodal elements of document 002, section 5.3.

A body has nodes, points with coordinates x1, y1, x2, y2, ... of their own, and an angular velocity w. Its name stands behind
all of its labels: x2_B3 is that of the second node of B3. Joints hold nodes of two bodies together, or on a line; each says
what it adds to the assembly that it is in, at any level of a tree.

The document takes the nodes that a pin holds together for one and sums up the forces on them, (5.27), (5.30). Here they stay
two, and the pin is two external invariants: that is the same, since the complement of these invariants sums the forces up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np

from kingpost.base.errors import MechanismError, listed
from kingpost.base.formulas import Scalar, as_scalar, evaluate
from kingpost.modular.labelled import Labelled
from kingpost.modular.subsystem import Subsystem

Point: TypeAlias = tuple[float, float]
#: A node: the name of its body, and its number.
NodeOf: TypeAlias = tuple[str, int]
#: A line through two nodes of a body: its name, and their numbers.
LineOf: TypeAlias = tuple[str, int, int]

#: (5.25): what a force (Fx, Fy) on the centre of mass and a moment Tz are along two nodes i, j and the angular velocity.
ACTIVE = (
    ("1 - a1", "-a2", "0"),
    ("a2", "1 - a1", "0"),
    ("a1", "a2", "0"),
    ("-a2", "a1", "0"),
    ("0", "0", "1"),
)
_A3, _A4, _A5 = "((a1 - 1)**2 + a2**2)", "(a1**2 + a2**2)", "(a2**2 + (a1 - 1)*a1)"
#: (5.26): inertia forces by the rates of these variables; the document prints the variables themselves on the right.
INERTIA = (
    (f"-m*{_A3}", "0", f"m*{_A5}", "m*a2", "0"),
    ("0", f"-m*{_A3}", "-m*a2", f"m*{_A5}", "0"),
    (f"m*{_A5}", "-m*a2", f"-m*{_A4}", "0", "0"),
    ("m*a2", f"m*{_A5}", "0", f"-m*{_A4}", "0"),
    ("0", "0", "0", "0", "-J"),
)


def active_forces(a1: float, a2: float, labels: Sequence[str], loads: Sequence[str] = ("Fx", "Fy", "Tz")) -> Labelled:
    """Return the matrix of (5.25), whose rows are the variables x_i, y_i, x_j, y_j, w of a body, as ``labels`` calls them."""
    return Labelled(_numbers(ACTIVE, {"a1": a1, "a2": a2}), tuple(labels), tuple(loads))


def inertia_forces(mass: float, moment: float, a1: float, a2: float, labels: Sequence[str], rates: Sequence[str]) -> Labelled:
    """Return the matrix of (5.26): inertia forces along x_i, y_i, x_j, y_j, w by the rates of their velocities."""
    return Labelled(_numbers(INERTIA, {"m": mass, "J": moment, "a1": a1, "a2": a2}), tuple(labels), tuple(rates))


def _numbers(texts: Sequence[Sequence[str]], values: Mapping[str, float]) -> np.ndarray:
    return np.array([[float(evaluate(as_scalar(text), values)) for text in row] for row in texts])


def node_labels(node: NodeOf) -> tuple[str, str]:
    """Return the labels of the coordinates of a node."""
    body, number = node
    return f"x{number}_{body}", f"y{number}_{body}"


def spin_label(body: str) -> str:
    """Return the label of the angular velocity of a body."""
    return f"w_{body}"


def rigid_body(
    name: str,
    nodes: Sequence[Point],
    mass: float,
    moment: float,
    *,
    between: tuple[int, int] = (1, 2),
    centre: tuple[float, float] = (0.5, 0.0),
    loads: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0),
) -> Subsystem:
    """Return a rigid body with some nodes, in its own labels.

    Parameters
    ----------
    name
        What it is called; its labels end with it.
    nodes
        Where its nodes are at the start (m): first guesses, which joints correct, and the shape of the body, which stays.
    mass, moment
        Mass (kg), and moment of inertia about the centre of mass (kg m2).
    between, centre
        The nodes i and j from which the centre of mass is found, at a1 times the vector from i to j, and a2 times this vector
        turned by a right angle. The centre of a body with one node is there.
    loads
        A force (N) on the centre of mass and a moment (N m): numbers, or formulas of labels and the time.

    """
    count = len(nodes)
    if count < 1:
        raise MechanismError(f"body '{name}' has no nodes; give the place of at least one")
    if count > 1 and nodes[0] == nodes[1]:
        raise MechanismError(
            f"body '{name}': nodes 1 and 2 are both at {nodes[0]}; they say how it is turned, so set them apart"
        )
    if count > 1 and (between[0] == between[1] or not all(1 <= i <= count for i in between)):
        raise MechanismError(f"body '{name}' has nodes 1 to {count}; its centre is found from two of them, not from {between}")
    own = _own_labels(name)
    labels = [label for k in range(1, count + 1) for label in node_labels((name, k))]
    parameters = {own["m"]: mass, own["J"]: moment}
    units = {own["m"]: "kg", own["J"]: "kg.m2", spin_label(name): "rad/s", **dict.fromkeys(labels, "m")}
    guess = dict(zip(labels, (value for node in nodes for value in node), strict=True))
    if count == 1:
        forces = _forces(name, ((name, 1), (name, 1)), loads, own)
        invariants: dict[str, str] = {}
    else:
        parameters |= {own["a1"]: centre[0], own["a2"]: centre[1]}
        forces = _forces(name, ((name, between[0]), (name, between[1])), loads, own)
        invariants, shape = _rigid(name, nodes)
        parameters |= shape
        units[f"l12_{name}"] = "m"
    return Subsystem(
        name,
        variables={0: tuple(labels), 1: (spin_label(name),)},
        invariants=invariants,
        forces=forces,
        parameters=parameters,
        guess=guess,
        units=units,
        # The others follow from these wherever the body is: the block to be solved is d of the first two nodes and its turn.
        independent=(*labels[:2], spin_label(name)),
    )


def _own_labels(name: str) -> dict[str, str]:
    return {key: f"{key}_{name}" for key in ("m", "J", "a1", "a2")}


def _forces(name: str, ends: tuple[NodeOf, NodeOf], loads: tuple[Scalar, ...], own: Mapping[str, str]) -> dict[str, str]:
    """Return the effective forces Af + If along the nodes i and j, and the angular velocity."""
    spin = spin_label(name)
    if ends[0] == ends[1]:
        labels: tuple[str, ...] = (*node_labels(ends[0]), spin)
        active: Sequence[Sequence[str]] = (("1", "0", "0"), ("0", "1", "0"), ("0", "0", "1"))
        inertia: Sequence[Sequence[str]] = (("-m", "0", "0"), ("0", "-m", "0"), ("0", "0", "-J"))
    else:
        labels, active, inertia = (*node_labels(ends[0]), *node_labels(ends[1]), spin), ACTIVE, INERTIA
    rates = [f"{label}_ddot" if label != spin else f"{label}_dot" for label in labels]
    forces = {}
    for label, acting, resisting in zip(labels, active, inertia, strict=True):
        pairs = [*zip(acting, (f"({as_scalar(load)})" for load in loads), strict=True), *zip(resisting, rates, strict=True)]
        terms = [f"({_renamed(factor, own)}) * {what}" for factor, what in pairs if factor != "0" and what != "(0.0)"]
        forces[label] = " + ".join(terms)
    return forces


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a formula with names in the place of its own ones."""
    for key, label in names.items():
        text = "".join(label if part == key else part for part in _words(text))
    return text


def _words(text: str) -> list[str]:
    words = [""]
    for letter in text:
        if letter.isalnum() or letter == "_":
            words[-1] += letter
        else:
            words += [letter, ""]
    return words


def _rigid(name: str, nodes: Sequence[Point]) -> tuple[dict[str, str], dict[str, float]]:
    """Return what keeps a body rigid, and the numbers in it: length, turn, and where other nodes are by the first two."""
    (x1, y1), (x2, y2) = (node_labels((name, k)) for k in (1, 2))
    dx, dy, spin, length = f"({x2} - {x1})", f"({y2} - {y1})", spin_label(name), f"l12_{name}"
    invariants = {
        f"length_{name}": f"({dx}**2 + {dy}**2 - {length}**2) / (2 * {length})",
        # The turn of the line between two nodes: w = (d x d') / l^2, which never loses its rank.
        f"turn_{name}": f"({dx} * ({y2}_dot - {y1}_dot) - {dy} * ({x2}_dot - {x1}_dot)) / {length} - {length} * {spin}",
    }
    (ax, ay), (bx, by) = nodes[:2]
    far = math.hypot(bx - ax, by - ay)
    parameters = {length: far}
    for k, (px, py) in enumerate(nodes[2:], start=3):
        along = ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / far**2
        across = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / far**2
        s, c = f"along{k}_{name}", f"across{k}_{name}"
        parameters |= {s: along, c: across}
        x, y = node_labels((name, k))
        invariants |= {
            f"shape{k}x_{name}": f"{x} - {x1} - {s} * {dx} + {c} * {dy}",
            f"shape{k}y_{name}": f"{y} - {y1} - {s} * {dy} - {c} * {dx}",
        }
    return invariants, parameters


@dataclass(frozen=True)
class Joint:
    """What a joint, or a base, adds to an assembly."""

    variables: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    invariants: Mapping[str, str] = field(default_factory=dict)
    #: Torques and forces, and the variable that each acts along.
    inputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def base(name: str, nodes: Sequence[Point]) -> Joint:
    """Return nodes that stand still, and the lengths of the lines between them; joints take it for a body."""
    parameters = {spin_label(name): 0.0}
    for k, (x, y) in enumerate(nodes, start=1):
        parameters |= dict(zip(node_labels((name, k)), (x, y), strict=True))
    for (i, a), (j, b) in combinations(enumerate(nodes, start=1), 2):
        parameters[f"l{i}{j}_{name}"] = math.dist(a, b)
    units = {label: "rad/s" if label == spin_label(name) else "m" for label in parameters}
    return Joint(parameters=parameters, units=units)


def revolute(first: NodeOf, second: NodeOf, torque: str = "") -> Joint:
    """Return a pin that holds two nodes together; ``torque`` names an input that turns the second body against the first."""
    at = f"{first[0]}{first[1]}_{second[0]}{second[1]}"
    invariants = {
        f"pin_{axis}_{at}": f"{b} - {a}" for axis, a, b in zip("xy", node_labels(first), node_labels(second), strict=True)
    }
    turning = _turning(first[0], second[0], torque)
    return Joint(turning.variables, {**invariants, **turning.invariants}, turning.inputs, units=turning.units)


def prismatic(line: LineOf, second: NodeOf, force: str = "") -> Joint:
    """Return a node that slides on a line of another body, without turning against it; ``force`` names an input along it.

    The place along the line from its first node, in m, is an extra coordinate s_B0_B1. The line goes through two nodes of a
    base, or through nodes 1 and 2 of a body.
    """
    sliding = slot(line, second, force)
    held = {f"turn_{line[0]}_{second[0]}": f"{spin_label(second[0])} - {spin_label(line[0])}"}  # (5.30)
    return Joint(sliding.variables, {**sliding.invariants, **held}, sliding.inputs, units=sliding.units)


def slot(line: LineOf, second: NodeOf, force: str = "", torque: str = "") -> Joint:
    """Return a pin that slides on a line of another body: prismatic and revolute at once; otherwise as :func:`prismatic`."""
    body, i, j = line
    if i == j:
        raise MechanismError(f"a line of '{body}' goes through two nodes, not through node {i} twice")
    place, length = f"s_{body}_{second[0]}", f"l{min(i, j)}{max(i, j)}_{body}"
    ends = zip("xy", node_labels(second), node_labels((body, i)), node_labels((body, j)), strict=True)
    # (5.31): l p - (l - s) p_i - s p_j = 0, over l, so that residuals are lengths.
    invariants = {f"line_{axis}_{body}_{second[0]}": f"{p} - {a} - {place} * ({b} - {a}) / {length}" for axis, p, a, b in ends}
    turning = _turning(body, second[0], torque)
    variables = {0: (place,), **turning.variables}
    inputs = ({force: place} if force else {}) | dict(turning.inputs)
    units = {place: "m", **({force: "N"} if force else {}), **turning.units}
    return Joint(variables, {**invariants, **turning.invariants}, inputs, units=units)


def _turning(first: str, second: str, torque: str) -> Joint:
    """Return the angular velocity of one body against another as a variable that a torque acts along (5.28), (5.29)."""
    if not torque:
        return Joint()
    rate = f"r_{first}_{second}"
    held = {f"rate_{first}_{second}": f"{rate} - ({spin_label(second)} - {spin_label(first)})"}
    return Joint({1: (rate,)}, held, {torque: rate}, units={rate: "rad/s", torque: "N.m"})


def plane_assembly(
    name: str,
    children: Sequence[Subsystem],
    joints: Sequence[Joint],
    independent: Sequence[str] | None = None,
    start: Mapping[str, Scalar] | None = None,
) -> Subsystem:
    """Return bodies, or assemblies of them, held together by joints and a base, if it has one.

    ``independent`` and ``start`` are those of the assembly: variables that describe all of its motions, and values that are
    held while the others are found.
    """
    called = [name for joint in joints for name in (*joint.invariants, *joint.inputs)]
    twice = [key for key in dict.fromkeys(called) if called.count(key) > 1]
    if twice:
        raise MechanismError(f"'{name}': two joints bring '{twice[0]}'; list a joint once, and give every input its own name")
    orders = sorted({order for joint in joints for order in joint.variables})
    return Subsystem(
        name,
        variables={order: tuple(v for joint in joints for v in joint.variables.get(order, ())) for order in orders},
        invariants={key: text for joint in joints for key, text in joint.invariants.items()},
        inputs={key: along for joint in joints for key, along in joint.inputs.items()},
        parameters={key: value for joint in joints for key, value in joint.parameters.items()},
        units={key: unit for joint in joints for key, unit in joint.units.items()},
        children=tuple(children),
        independent=independent,
        start=start or {},
    )


def mobility(bodies: int, joints: Mapping[int, int], *, plane: bool = False) -> int:
    """Return the degrees of freedom by the count of Chebychev, Gruebler and Kutzbach.

    ``bodies`` includes the base, ``joints`` says how many there are by the degrees of freedom that each leaves. The count knows
    no lengths: linkages whose constraints follow from each other move by more.
    """
    most = 3 if plane else 6
    unknown = [freedom for freedom in joints if not 0 < freedom < most]
    if bodies < 1 or unknown:
        what = f"joints with {listed(map(str, unknown))} degrees of freedom" if unknown else f"{bodies} bodies"
        raise MechanismError(
            f"mobility: {what}; there is at least a base, and a joint leaves 1 to {most - 1} degrees of freedom"
        )
    return most * (bodies - 1) - sum((most - freedom) * count for freedom, count in joints.items())
