"""What ports show: names and units of motions, and of the inertia that a carrier feels."""

from __future__ import annotations

#: Rows and columns, counted from one, of the numbers that make up a symmetric 6 x 6 matrix.
TRIANGLE = tuple((i + 1, j + 1) for i in range(6) for j in range(i, 6))
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
#: What a port on a body shows: names and units.
MOTION = (
    ("t", "s"),
    *((axis, "m") for axis in "xyz"),
    *((f"q{axis}", "1") for axis in "wxyz"),
    *((angle, "rad") for angle in ("roll", "pitch", "yaw")),
    *((name, "rad/s" if name[0] == "w" else "m/s") for name in TWIST),
    *((f"{name}_rate", "rad/s2" if name[0] == "w" else "m/s2") for name in TWIST),
)


def inertia_unit(row: int, column: int) -> str:
    """Return the unit of an entry of an inertia in the order [angular; linear], counted from one."""
    return {0: "kg.m2", 1: "kg.m", 2: "kg"}[(row > 3) + (column > 3)]
