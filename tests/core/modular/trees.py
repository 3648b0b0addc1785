"""Small trees of subsystems, each with something that is hard to keep."""

from functools import cache

from kingpost import Subsystem
from kingpost.modular.tree import Tree, assembled


@cache
def tree_of(build) -> Tree:
    """Return a tree as it stands, put together once for all tests."""
    return assembled(build())


def pendulum(**changes):
    """A particle on a circle, by its place: one of the two coordinates follows, y as long as it is below the centre."""
    fields = {
        "name": "bob",
        "variables": {0: ("x", "y")},
        "invariants": {"circle": "x**2 + y**2 - l**2"},
        "forces": {"x": "-m * x_ddot", "y": "-m * y_ddot - m * g"},
        "parameters": {"m": 2.0, "l": 0.5, "g": 9.81},
        "units": {"x": "m", "y": "m", "l": "m", "m": "kg", "g": "m/s2"},
        "start": {"x": 0.3},
        "guess": {"y": -0.4},
        "independent": ("x",),
    }
    return Subsystem(**{**fields, **changes})


def arm():
    """The example of docs/modular.md: the circle is said twice, and a motor without any coordinate drives it."""
    bob = pendulum(start={}, guess={}, independent=None, parameters={"m": 1.0, "l": 0.5, "g": 9.81})
    motor = Subsystem(
        "motor",
        variables={1: ("w", "i")},
        forces={"w": "k * i - J * w_dot", "i": "-L * i_dot - R * i - k * w"},
        inputs={"V": "i"},
        parameters={"k": 0.5, "J": 1e-3, "L": 1e-2, "R": 1.0},
    )
    return Subsystem(
        "arm",
        children=(bob, motor),
        variables={0: ("angle",)},
        invariants={"along": "x - l * sin(angle)", "down": "y + l * cos(angle)", "gear": "angle_dot - w / 5"},
        start={"angle": 0.3, "w": 2.0},
        independent=("angle", "i"),
    )


def skate():
    """A blade that turns on ice and is pushed along itself; nothing slides across it: an invariant of speeds alone."""
    return Subsystem(
        "skate",
        variables={0: ("x", "y", "a")},
        invariants={"edge": "x_dot * sin(a) - y_dot * cos(a)"},
        forces={"x": "-m * x_ddot + 3 * cos(a)", "y": "-m * y_ddot + 3 * sin(a)", "a": "-J * a_ddot"},
        parameters={"m": 2.0, "J": 0.5},
        start={"a_dot": 1.0, "x_dot": 0.5, "a": 0.2},
        independent=("x", "a"),
    )


def top():
    """A body that turns freely: a unit quaternion, whose length rates keep by themselves, up to errors of integration."""
    rates = {
        "e0": "(-e1 * wx - e2 * wy - e3 * wz) / 2",
        "e1": "(e0 * wx + e2 * wz - e3 * wy) / 2",
        "e2": "(e0 * wy + e3 * wx - e1 * wz) / 2",
        "e3": "(e0 * wz + e1 * wy - e2 * wx) / 2",
    }
    return Subsystem(
        "top",
        variables={0: tuple(rates), 1: ("wx", "wy", "wz")},
        rates=rates,
        invariants={"unit": "e0**2 + e1**2 + e2**2 + e3**2 - 1"},
        forces={
            "wx": "-A * wx_dot + (B - C) * wy * wz",
            "wy": "-B * wy_dot + (C - A) * wz * wx",
            "wz": "-C * wz_dot + (A - B) * wx * wy",
        },
        parameters={"A": 1.0, "B": 2.0, "C": 3.0},
        start={"e1": 0.0, "e2": 0.0, "e3": 0.0, "wx": 0.1, "wy": 2.0, "wz": 0.1},
        guess={"e0": 1.0},
    )


def breathing():
    """A pendulum whose length is a function of time, which puts energy in and takes it out."""
    return pendulum(
        invariants={"length": "x**2 + y**2 - (l + 0.1 * sin(3 * t))**2"},
        parameters={"m": 2.0, "l": 0.5, "g": 9.81},
    )


def led():
    """A pendulum that an input turns at a given rate: an invariant of speeds in which an input stands."""
    return pendulum(
        variables={0: ("x", "y", "angle")},
        invariants={"along": "x - l * sin(angle)", "down": "y + l * cos(angle)", "rate": "angle_dot - turning"},
        forces={"x": "-m * x_ddot", "y": "-m * y_ddot - m * g", "angle": "-0.1 * angle_ddot"},
        inputs={"turning": ""},
        start={"angle": 0.3},
        guess={},
        independent=(),
    )
