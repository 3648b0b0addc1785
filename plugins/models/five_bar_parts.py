"""The subsystems of the five-bar of document 002, Ex. 2.7 and 4.3: each in the variables that the document gives it."""

from __future__ import annotations

from math import pi

from kingpost.modular.subsystem import Subsystem
from kingpost.plugins.models import five_bar as bodies
from kingpost.plugins.models import paths

GRAVITY = float(paths.GRAVITY.default)
#: As in the model of bodies: uniform rods, both halves alike.
CRANK = {"a": bodies.CRANK, "gamma": 0.5, "m": bodies.CRANK_MASS, "J": bodies.CRANK_MASS * bodies.CRANK**2 / 12, "b": 0.01}
ROD = {"a": bodies.ROD, "gamma": 0.5, "m": bodies.ROD_MASS, "J": bodies.ROD_MASS * bodies.ROD**2 / 12}
MOTOR = {
    **{"k": bodies.TORQUE_CONSTANT, "kappa": bodies.TORQUE_CONSTANT, "res": bodies.RESISTANCE},
    **{"ind": 5e-3, "Jm": 1e-5, "bm": 1e-6},
}
#: Angles of the cranks at the start, and first guesses of those of the rods.
CRANKS = {"L": bodies.START, "R": pi - bodies.START}
RODS = dict(zip("LR", bodies.rod_angles(*CRANKS.values()), strict=True))
_SPEEDS = {"vx": "m/s", "vy": "m/s", "w": "rad/s"}
_PART = {"gamma": "1", "m": "kg", "J": "kg.m2", "g": "m/s2"}


def crank(base: float) -> Subsystem:
    """Return U_K: node 1 fixed at (p1x, p1y), node 2 moving, the centre of mass at gamma between them (Ex. 2.6)."""
    return Subsystem(
        "U",
        variables={0: ("p2x", "p2y"), 1: ("vx", "vy", "w")},
        invariants={
            "pivot_x": "vx + w * gamma * (p2y - p1y)",
            "pivot_y": "vy - w * gamma * (p2x - p1x)",
            "end_x": "vx - w * (1 - gamma) * (p2y - p1y) - p2x_dot",
            "end_y": "vy + w * (1 - gamma) * (p2x - p1x) - p2y_dot",
        },
        forces={"vx": "-m * vx_dot", "vy": "-m * vy_dot - m * g", "w": "-J * w_dot - b * w"},
        parameters={"p1x": base, "p1y": 0.0, **{key: CRANK[key] for key in ("gamma", "m", "J", "b")}, "g": GRAVITY},
        units={**_PART, **_SPEEDS, "p1x": "m", "p1y": "m", "b": "N.m.s/rad", **_places(2)},
        independent=("w",),
    )


def rod() -> Subsystem:
    """Return B_K: two moving nodes."""
    return Subsystem(
        "B",
        variables={0: ("p1x", "p1y", "p2x", "p2y"), 1: ("vx", "vy", "w")},
        invariants={
            "first_x": "vx + w * gamma * (p2y - p1y) - p1x_dot",
            "first_y": "vy - w * gamma * (p2x - p1x) - p1y_dot",
            "second_x": "vx - w * (1 - gamma) * (p2y - p1y) - p2x_dot",
            "second_y": "vy + w * (1 - gamma) * (p2x - p1x) - p2y_dot",
        },
        forces={"vx": "-m * vx_dot", "vy": "-m * vy_dot - m * g", "w": "-J * w_dot"},
        parameters={**{key: ROD[key] for key in ("gamma", "m", "J")}, "g": GRAVITY},
        units={**_PART, **_SPEEDS, **_places(1, 2)},
        independent=("vx", "vy", "w"),
    )


def half(side: str, base: float) -> Subsystem:
    """Return H_K, a crank and a rod, with the extra angles theta and phi."""
    chain = Subsystem(
        "H",
        children=(crank(base).used_as("U", suffix="U", keep=("g",)), rod().used_as("B", suffix="B", keep=("g",))),
        variables={0: ("theta", "phi")},
        invariants={
            "joint_x": "p1xB - p2xU",
            "joint_y": "p1yB - p2yU",
            "turn_U": "theta_dot - wU",
            "turn_B": "phi_dot - wB",
            # (f): where the nodes are, which rates alone do not say. At higher orders these follow from the rows above.
            "place_Ux": "p2xU - p1xU - aU * cos(theta)",
            "place_Uy": "p2yU - p1yU - aU * sin(theta)",
            "place_Bx": "p2xB - p1xB - aB * cos(phi)",
            "place_By": "p2yB - p1yB - aB * sin(phi)",
        },
        parameters={"aU": CRANK["a"], "aB": ROD["a"]},
        guess={"theta": CRANKS[side], "phi": RODS[side]},
        units={"aU": "m", "aB": "m", "theta": "rad", "phi": "rad", "theta_dot": "rad/s", "phi_dot": "rad/s"},
        independent=("theta", "phi"),
    )
    return chain.used_as(f"H{side}", suffix=side, keep=("g",))


def motor(side: str) -> Subsystem:
    """Return A_K: an angular speed and a current, neither of which has a coordinate."""
    return Subsystem(
        "A",
        variables={1: ("w", "i")},
        forces={"w": "k * i - Jm * w_dot - bm * w", "i": "-ind * i_dot - res * i - kappa * w"},
        inputs={"V": "i"},
        parameters=MOTOR,
        units={
            **{"w": "rad/s", "i": "A", "V": "V", "k": "N.m/A", "Jm": "kg.m2", "bm": "N.m.s/rad", "ind": "H", "res": "Ohm"},
            "kappa": "V.s/rad",
        },
    ).used_as(f"A{side}", {"w": f"wM{side}"}, suffix=side)


def payload() -> Subsystem:
    """Return L: a particle."""
    return Subsystem(
        "L",
        variables={0: ("x", "y")},
        forces={"x": "-mL * x_ddot", "y": "-mL * y_ddot - mL * g"},
        parameters={"mL": bodies.PAYLOAD, "g": GRAVITY},
        units={"mL": "kg", "g": "m/s2", "x": "m", "y": "m", "x_dot": "m/s", "y_dot": "m/s"},
    )


def linkage() -> Subsystem:
    """Return R: both halves and the payload at their ends, with the extra angle chi between the rods."""
    return Subsystem(
        "R",
        children=(half("L", -bodies.HALF), half("R", bodies.HALF), payload()),
        variables={0: ("chi",)},
        invariants={
            "end_Lx": "p2xBL - x",
            "end_Ly": "p2yBL - y",
            "end_Rx": "p2xBR - x",
            "end_Ry": "p2yBR - y",
            "chi": "phiR - phiL - chi",
        },
        start={f"theta{side}": angle for side, angle in CRANKS.items()},
        units={"chi": "rad", "chi_dot": "rad/s"},
        independent=("thetaL", "thetaR"),
    )


def five_bar() -> Subsystem:
    """Return P: the linkage and its two motors with gears."""
    return Subsystem(
        "P",
        children=(motor("L"), motor("R"), linkage()),
        invariants={"gear_L": "thetaL_dot - wML / etaL", "gear_R": "thetaR_dot - wMR / etaR"},
        parameters={"etaL": bodies.RATIO, "etaR": bodies.RATIO},
        units={"etaL": "1", "etaR": "1"},
        independent=("iL", "iR", "thetaL", "thetaR"),
    )


def _places(*nodes: int) -> dict[str, str]:
    labels = [f"p{node}{axis}" for node in nodes for axis in "xy"]
    return {**dict.fromkeys(labels, "m"), **{f"{label}_dot": "m/s" for label in labels}}
