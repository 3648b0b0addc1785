"""Machines of revolute pins that hold themselves more than once, cut wherever one likes, and their statics by hand.

At the start the frames of all bodies are those of the world, so every place and direction is given in it.
"""

from dataclasses import dataclass, field

import numpy as np

from kingpost import Body, ForceElement, Joint, LoadRequest, Mechanism, simulate
from kingpost.base.load_frames import COMPONENTS
from kingpost.mechanism.closures import Closure
from tests.core.mechanism.closed import PLUGINS


@dataclass(frozen=True)
class Pin:
    """A pin between two bodies, at a point and along an axis."""

    name: str
    one: str
    other: str
    at: tuple[float, ...]
    axis: tuple[float, ...]
    stiffness: tuple[float, ...] = ()


@dataclass(frozen=True)
class Linkage:
    """Bodies and pins."""

    bodies: list[Body]
    pins: list[Pin]
    #: Angular velocity and velocity of the point at the origin, of each body.
    twists: dict[str, np.ndarray]
    forces: list[ForceElement] = field(default_factory=list)

    def cut(self, *names, **changes):
        """Return the mechanism in which these pins are closures and the others make a tree."""
        placed, joints, waiting = {"world"}, [], [pin for pin in self.pins if pin.name not in names]
        while waiting:
            pin = next(pin for pin in waiting if pin.one in placed or pin.other in placed)
            parent, child = (pin.one, pin.other) if pin.one in placed else (pin.other, pin.one)
            place = {"axis": pin.axis, "position": pin.at, "child_position": pin.at, "stiffness": pin.stiffness}
            between = self.twists[child][:3] - self.twists[parent][:3]
            rate = float(between @ np.array(pin.axis)) / float(np.linalg.norm(pin.axis))
            joints.append(Joint(pin.name, "revolute", parent, child, start_rate=(rate,), **place))
            placed.add(child)
            waiting.remove(pin)
        closures = [
            Closure(
                pin.name, "revolute", pin.one, pin.other, axis=pin.axis, position=pin.at, child_position=pin.at,
                stiffness=pin.stiffness,
            )
            for pin in self.pins if pin.name in names
        ]  # fmt: skip
        forces = [ForceElement("gravity"), *self.forces]
        return Mechanism("linkage", self.bodies, joints, forces, closures=closures, **changes)

    def loads(self, mechanism, *, sample=0, t_end=0.01, step=0.005, **how):
        """Return the loads of all pins on their other body, about themselves in world axes, one row each; and the history."""
        how = {"backend": "vm", "step": step, "output_step": step, "plugins": PLUGINS} | how
        history = simulate(mechanism, t_end, loads=self.requests(), **how)
        return self.loads_in(history, mechanism, sample), history

    def requests(self):
        """Return what must be asked for to find the loads of all pins in a history."""
        return [LoadRequest(pin.name, "world") for pin in self.pins]

    def loads_in(self, history, mechanism, sample=0):
        """Return the loads of all pins as :meth:`loads` does, from a history."""
        rows = []
        for pin in self.pins:
            edge = next(edge for edge in (*mechanism.joints, *mechanism.closures) if edge.name == pin.name)
            sign = 1.0 if edge.child == pin.other else -1.0
            rows.append([sign * history[f"{pin.name}.{component}"][sample] for component in COMPONENTS])
        return np.array(rows)

    def demand(self, history, sample=0):
        """Return what the pins must do to each body, about the origin, from its motion alone: Newton and Euler."""
        wrenches = []
        for body in self.bodies:
            motion = {
                name: np.array([history[f"{body.name}.motion.{name}{axis}"][sample] for axis in "xyz"])
                for name in ("w", "alpha", "a")
            }
            w, alpha, c = motion["w"], motion["alpha"], np.array(body.com)
            acceleration = motion["a"] + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
            force = body.mass * (acceleration + np.array([0, 0, 9.81]))
            inertia = np.diag(body.inertia)
            moment = inertia @ alpha + np.cross(w, inertia @ w) + np.cross(c, force)
            for element in self.forces:
                if element.kind == "body-wrench" and element.options["body"] == body.name:
                    moment = moment - np.array(element.options["moment"])
                    force = force - np.array(element.options["force"])
            wrenches.append([*moment, *force])
        return np.ravel(wrenches)

    def equilibrium(self):
        """Return the matrix from the loads of all pins, five each, to the wrenches on all bodies about the origin.

        And, for each pin, the six components of its load about itself from these five.
        """
        names = [body.name for body in self.bodies]
        columns, bases = [], []
        for pin in self.pins:
            axis = np.array(pin.axis) / np.linalg.norm(pin.axis)
            sides = np.linalg.svd(axis[None, :])[2][1:]
            basis = np.zeros((6, 5))
            basis[:3, :2], basis[3:, 2:] = sides.T, np.eye(3)
            about_origin = basis.copy()
            about_origin[:3] += np.cross(np.array(pin.at), basis[3:], axisb=0).T
            block = np.zeros((6 * len(names), 5))
            for name, sign in ((pin.other, 1.0), (pin.one, -1.0)):
                if name != "world":
                    block[6 * names.index(name) : 6 * names.index(name) + 6] += sign * about_origin
            columns.append(block)
            bases.append(basis)
        return np.hstack(columns), bases

    def of_minimum_norm(self, demand, length):
        """Return the loads of smallest length, moments over ``length``, that meet a demand: by a pseudo-inverse."""
        E, bases = self.equilibrium()
        scale = np.tile([length, length, 1.0, 1.0, 1.0], len(self.pins))
        r = scale * (np.linalg.pinv(E * scale, rcond=1e-10) @ demand)
        return np.array([basis @ part for basis, part in zip(bases, r.reshape(-1, 5), strict=True)])

    def of_elastic_pins(self, demand):
        """Return the loads that meet a demand with pins that yield, by the displacement method: rigid bodies move a little."""
        E, bases = self.equilibrium()
        K = np.zeros((5 * len(self.pins), 5 * len(self.pins)))
        for i, (pin, basis) in enumerate(zip(self.pins, bases, strict=True)):
            k = np.array(pin.stiffness if len(pin.stiffness) == 6 else [pin.stiffness[0]] * 3 + [pin.stiffness[1]] * 3)
            # A load r stores r' basis' (1/k) basis r / 2.
            K[5 * i : 5 * i + 5, 5 * i : 5 * i + 5] = np.linalg.inv(basis.T @ (basis / k[:, None]))
        moved = np.linalg.pinv(E @ K @ E.T, rcond=1e-10) @ demand
        r = K @ E.T @ moved
        return np.array([basis @ part for basis, part in zip(bases, r.reshape(-1, 5), strict=True)])

    @property
    def size(self):
        """The root of the mean square distance of the pins from their middle."""
        points = np.array([pin.at for pin in self.pins])
        return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))


def rod(name, one, other, mass, aside=0.0):
    """Return a body between two points, its centre of gravity ``aside`` of the plane of a linkage."""
    middle = (np.array(one) + np.array(other)) / 2
    return Body(name, mass=mass, com=tuple(middle + [0, aside, 0]), inertia=(0.11, 0.23, 0.31))


def moving(bodies, pins, driven, rate):
    """Return the twists of all bodies of a linkage with one degree of freedom, of which one pin turns at a rate."""
    names = [body.name for body in bodies]

    def of(name):
        matrix = np.zeros((6, 6 * len(names)))
        if name != "world":
            matrix[:, 6 * names.index(name) : 6 * names.index(name) + 6] = np.eye(6)
        return matrix

    rows, right = [], []
    for pin in pins:
        axis, at = np.array(pin.axis) / np.linalg.norm(pin.axis), np.array(pin.at)
        between = of(pin.other) - of(pin.one)
        sides = np.linalg.svd(axis[None, :])[2][1:]
        velocity = between[3:] - np.cross(np.eye(3), at) @ between[:3]  # v + w x at
        rows += [*(sides @ between[:3]), *velocity]
        right += [0.0] * 5
        if pin.name == driven:
            rows.append(axis @ between[:3])
            right.append(rate)
    found, *_ = np.linalg.lstsq(np.array(rows), np.array(right), rcond=1e-10)
    assert np.abs(np.array(rows) @ found - right).max() < 1e-9
    return {"world": np.zeros(6)} | {name: found[6 * i : 6 * i + 6] for i, name in enumerate(names)}


ACROSS = (0.0, -1.0, 0.0)


def four_bar(**stiffness):
    """Return a plane four-bar in space; the coupler's centre of gravity is beside the plane, and a wrench acts on it."""
    O, A, B, C = (0.0, 0.0, 0.0), (0.5, 0.0, 0.8), (3.2, 0.0, 2.1), (3.0, 0.0, 0.0)
    bodies = [rod("crank", O, A, 1.0), rod("coupler", A, B, 3.0, aside=0.4), rod("rocker", B, C, 2.0)]
    ends = {
        "O": ("world", "crank", O),
        "A": ("crank", "coupler", A),
        "B": ("coupler", "rocker", B),
        "C": ("rocker", "world", C),
    }
    pins = [Pin(name, *end, ACROSS, stiffness=stiffness.get(name, ())) for name, end in ends.items()]
    forces = [ForceElement("body-wrench", body="coupler", moment=(3.0, 1.0, -2.0), force=(4.0, 6.0, -5.0))]
    return Linkage(bodies, pins, moving(bodies, pins, "O", 2.0), forces)


def two_loops():
    """Return two plane four-bars one after the other that share a rocker and the ground."""
    points = {
        "O": (0.0, 0.0, 0.0), "A": (0.3, 0.0, 1.0), "B": (1.4, 0.0, 1.3), "C": (1.2, 0.0, 0.0),
        "D": (2.6, 0.0, 1.1), "E": (2.4, 0.0, 0.0),
    }  # fmt: skip
    bodies = [
        rod("first", points["O"], points["A"], 1.0, 0.1), rod("coupler", points["A"], points["B"], 2.0, 0.3),
        rod("shared", points["B"], points["C"], 1.5), rod("second", points["B"], points["D"], 1.2, -0.2),
        rod("last", points["D"], points["E"], 0.8),
    ]  # fmt: skip
    ends = {
        "O": ("world", "first"), "A": ("first", "coupler"), "B": ("coupler", "shared"), "C": ("world", "shared"),
        "F": ("shared", "second"), "D": ("second", "last"), "E": ("world", "last"),
    }  # fmt: skip
    points["F"] = points["B"]
    pins = [Pin(name, *bodies_, points[name], ACROSS) for name, bodies_ in ends.items()]
    return Linkage(bodies, pins, moving(bodies, pins, "O", 1.3))


def bennett():
    """Return Bennett's linkage, which moves against all counting: links a, b with twists sin(alpha) / a = sin(beta) / b."""
    a, b, alpha = 1.0, 1.6, 0.5
    beta = float(np.arcsin(b * np.sin(alpha) / a))
    theta = 1.1
    other = 2 * float(np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(theta / 2)))
    frame, points, axes = np.eye(4), [], []
    for angle, length, twist in ((theta, a, alpha), (other, b, beta), (-theta, a, alpha), (-other, b, beta)):
        points.append(tuple(frame[:3, 3]))
        axes.append(tuple(frame[:3, 2]))
        c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
        frame = frame @ np.array(
            [[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, 0], [0, 0, 0, 1]]
        )
    assert np.abs(frame - np.eye(4)).max() < 1e-12
    bodies = [rod(f"link{i}", points[i], points[(i + 1) % 4], 1.0 + i, aside=0.1) for i in range(3)]
    ends = [("world", "link0"), ("link0", "link1"), ("link1", "link2"), ("link2", "world")]
    pins = [Pin(f"p{i}", *ends[i], points[i], axes[i]) for i in range(4)]
    return Linkage(bodies, pins, moving(bodies, pins, "p0", 0.7))
