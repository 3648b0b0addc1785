"""The two-rod slider of document 002 by the places of its joints: examples 2.2 to 2.4."""

from __future__ import annotations

from kingpost.modular.subsystem import Subsystem
from kingpost.plugins.models.two_rod_slider import FIRST, HEIGHT, PLACE, SECOND

ANGLE = "x2**2 + y2**2 + z2**2 - l1**2 - l2**2 - 2 * l1 * l2 * cos(theta)"
#: As in the model of bodies.
DATA = {"l1": FIRST, "l2": SECOND, "line": 0.0, "m1": 1.0, "m2": 2.0, "ms": 3.0, "g": 9.81}
UNITS = {"l1": "m", "l2": "m", "line": "m", "m1": "kg", "m2": "kg", "ms": "kg", "g": "m/s2", "force": "N"}
POINTS = tuple(f"{axis}{end}" for end in "12" for axis in "xyz")


def in_points(
    with_angle: bool = True,
    *,
    start: dict[str, float] | None = None,
    independent: tuple[str, ...] | None = ("z1", "x2"),
    **data: float,
) -> Subsystem:
    """Return both rods by the places of their ends, with or without the angle theta between them.

    The slider is on y = line, z = 0. A thin uniform rod between points with the velocities v and w has the kinetic energy
    m (v.v + v.w + w.w) / 6; the document has no masses.
    """
    values = {**DATA, **data}
    forces = {
        **{f"{axis}1": f"-(m1 + m2) / 3 * {axis}1_ddot - m2 / 6 * {axis}2_ddot" for axis in "xyz"},
        **{f"{axis}2": f"-m2 / 3 * {axis}2_ddot - m2 / 6 * {axis}1_ddot" for axis in "xyz"},
    }
    forces["z1"] += " - (m1 + m2) / 2 * g"
    forces["z2"] += " - (m2 / 2 + ms) * g - ms * z2_ddot"
    forces["x2"] += " - ms * x2_ddot"
    forces["y2"] += " - ms * y2_ddot"
    return Subsystem(
        "P",
        variables={0: (*POINTS, *(("theta",) if with_angle else ()))},
        invariants={
            "rod1": "x1**2 + y1**2 + z1**2 - l1**2",
            "rod2": "(x1 - x2)**2 + (y1 - y2)**2 + (z1 - z2)**2 - l2**2",
            "line_y": "y2 - line",
            "line_z": "z2",
            **({"angle": ANGLE} if with_angle else {}),
        },
        forces=forces,
        inputs={"force": "x2"},
        parameters=values,
        start={"z1": HEIGHT, "x2": PLACE} if start is None else start,
        guess={"x1": 0.3, "y1": 0.8, **({"theta": 1.0} if with_angle else {})} if start is None else {},
        units={
            **UNITS,
            **dict.fromkeys(POINTS, "m"),
            **{f"{label}_dot": "m/s" for label in POINTS},
            **({"theta": "rad", "theta_dot": "rad/s"} if with_angle else {}),
        },
        independent=independent,
    )
