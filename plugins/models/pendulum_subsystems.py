"""The spherical pendulum of document 002 as subsystems, in its four sets of variables: examples 4.1, 4.6 and section 5.1."""

from __future__ import annotations

from math import acos

from kingpost.modular.subsystem import Subsystem

#: Gravity is along x in document 002.
FALLING = {"x": "m * g - m * x_ddot", "y": "-m * y_ddot", "z": "-m * z_ddot"}
SPHERE = {"sphere": "x**2 + y**2 + z**2 - r**2"}
DATA = {"m": 1.0, "g": 9.81, "r": 1.0}
UNITS = {
    **{"m": "kg", "g": "m/s2", "r": "m"},
    **dict.fromkeys("xyz", "m"),
    **{f"{name}_dot": "m/s" for name in "xyz"},
}
PLACE = {"x": 0.6, "y": 0.8, "z": 0.0, "x_dot": 0.0, "y_dot": 0.0, "z_dot": 1.0}
ANGLES = {"theta": "rad", "phi": "rad", "theta_dot": "rad/s", "phi_dot": "rad/s"}
TILTED = {"theta": acos(0.6), "phi": 0.0, "theta_dot": 0.0, "phi_dot": 1 / 0.8}


def in_angles() -> Subsystem:
    """Return Ex. 4.1 (i): theta from the direction of gravity, phi about it; forces along three motion variables."""
    return Subsystem(
        "angles",
        variables={0: ("theta", "phi")},
        motion={"x": "r * cos(theta)", "y": "r * sin(theta) * cos(phi)", "z": "r * sin(theta) * sin(phi)"},
        forces=FALLING,
        parameters=DATA,
        start=TILTED,
        units={**{name: UNITS[name] for name in DATA}, **ANGLES},
    )


def in_place() -> Subsystem:
    """Return Ex. 4.1 (ii): Cartesian coordinates and one invariant."""
    return Subsystem(
        "place",
        variables={0: ("x", "y", "z")},
        invariants=SPHERE,
        forces=FALLING,
        parameters=DATA,
        start=PLACE,
        units=UNITS,
        independent=("y", "z"),
    )


def with_speed_square(start: dict[str, float] | None = None, independent: tuple[str, ...] = ("y", "z")) -> Subsystem:
    """Return Ex. 4.1 (iii) and 4.6: the square of the speed is one more quasi-velocity, so that the constraint order is 2."""
    return Subsystem(
        "square",
        variables={0: ("x", "y", "z"), 1: ("u",)},
        invariants={
            # Its second rate, where the square of the speed is u.
            "sphere": (
                SPHERE["sphere"],
                "2 * (x * x_dot + y * y_dot + z * z_dot)",
                "2 * (x * x_ddot + y * y_ddot + z * z_ddot) + 2 * u",
            ),
            "speed": "x_dot**2 + y_dot**2 + z_dot**2 - u",
        },
        forces=FALLING,
        parameters=DATA,
        start=PLACE if start is None else start,
        units={**UNITS, "u": "m2/s2"},
        independent=independent,
    )


def newton_euler_body() -> Subsystem:
    """Return a body that falls along -z: velocities in inertial axes, angular velocity in body axes, orientation unknown."""
    return Subsystem(
        "B",
        variables={0: ("px", "py", "pz"), 1: ("vx", "vy", "vz", "wx", "wy", "wz")},
        rates={"px": "vx", "py": "vy", "pz": "vz"},
        forces={
            "vx": "-m * vx_dot",
            "vy": "-m * vy_dot",
            "vz": "-m * vz_dot - m * g",
            "wx": "-Jx * wx_dot - (Jz - Jy) * wy * wz",
            "wy": "-Jy * wy_dot - (Jx - Jz) * wz * wx",
            "wz": "-Jz * wz_dot - (Jy - Jx) * wx * wy",
        },
        parameters={"m": 1.0, "g": 9.81, "Jx": 0.1, "Jy": 0.2, "Jz": 0.25},
        start={"wx": 0.3, "wy": 0.4, "wz": -0.2},
        units={
            **{"m": "kg", "g": "m/s2", "Jx": "kg.m2", "Jy": "kg.m2", "Jz": "kg.m2"},
            **{f"p{axis}": "m" for axis in "xyz"},
            **{f"v{axis}": "m/s" for axis in "xyz"},
            **{f"w{axis}": "rad/s" for axis in "xyz"},
        },
    )


def of_a_body() -> Subsystem:
    """Return Sec. 5.1: a Newton-Euler body whose centre is tied to a sphere by two extra angles (5.1)."""
    return Subsystem(
        "S",
        children=(newton_euler_body(),),
        variables={0: ("phi", "theta")},
        invariants={
            "x": "px - a * sin(theta) * cos(phi)",
            "y": "py - a * sin(theta) * sin(phi)",
            "z": "pz + a * cos(theta)",
        },
        parameters={"a": 1.0},
        start=TILTED,
        units={"a": "m", **ANGLES},
        independent=("phi", "theta", "wx", "wy", "wz"),
    )


SETS = {"angles": in_angles, "place": in_place, "speed-square": with_speed_square, "body": of_a_body}
