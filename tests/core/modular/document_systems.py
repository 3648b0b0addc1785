"""Systems of document 002 that only tests need; the others are models."""

from kingpost.modular.subsystem import Subsystem


def quaternion_body():
    """Ex. 2.1: a quaternion and a place; angular velocity in body axes, seven maps for six quasi-velocities."""
    return Subsystem(
        "B",
        variables={0: ("qx", "qy", "qz", "qt", "x", "y", "z"), 1: ("wx", "wy", "wz", "vx", "vy", "vz")},
        maps={
            "wx": "2 * (qt * qx_dot + qz * qy_dot - qy * qz_dot - qx * qt_dot) - wx",
            "wy": "2 * (-qz * qx_dot + qt * qy_dot + qx * qz_dot - qy * qt_dot) - wy",
            "wz": "2 * (qy * qx_dot - qx * qy_dot + qt * qz_dot - qz * qt_dot) - wz",
            "norm": "qx * qx_dot + qy * qy_dot + qz * qz_dot + qt * qt_dot",
            "vx": "x_dot - vx",
            "vy": "y_dot - vy",
            "vz": "z_dot - vz",
        },
        forces={
            **{f"v{axis}": f"-m * v{axis}_dot" for axis in "xyz"},
            "wx": "-Jx * wx_dot - (Jz - Jy) * wy * wz",
            "wy": "-Jy * wy_dot - (Jx - Jz) * wz * wx",
            "wz": "-Jz * wz_dot - (Jy - Jx) * wx * wy",
        },
        parameters={"m": 1.0, "Jx": 0.1, "Jy": 0.2, "Jz": 0.25},
        start={"qt": 1.0},
    )


def two_node_element(gamma=0.35, rho=-0.2):
    """Ex. 2.6: a body in the plane by two nodes and the velocity of its centre of mass, off the line between them."""
    along, across = "gamma * (x2 - x1) - rho * (y2 - y1)", "gamma * (y2 - y1) + rho * (x2 - x1)"
    rows = {}
    for k in "12":
        # v_k = v + w z x (p_k - centre), with the centre at p_1 + (along, across).
        rows[f"node{k}_x"] = f"vx - w * (y{k} - y1 - ({across})) - x{k}_dot"
        rows[f"node{k}_y"] = f"vy + w * (x{k} - x1 - ({along})) - y{k}_dot"
    return Subsystem(
        "B",
        variables={0: ("x1", "y1", "x2", "y2"), 1: ("vx", "vy", "w")},
        invariants=rows,
        forces={"vx": "-m * vx_dot", "vy": "-m * vy_dot - m * g", "w": "-J * w_dot"},
        parameters={"gamma": gamma, "rho": rho, "m": 2.0, "J": 0.3, "g": 9.81},
        start={"x1": 0.1, "y1": -0.2, "x2": 0.9, "y2": 0.5, "w": 0.7, "vx": 0.2, "vy": -0.1},
        independent=("vx", "vy", "w"),
    )


def rolling_sphere():
    """Ex. 2.5: a sphere rolls on z = y^2 / 2; the place of the contact, a quaternion, and omega in the axes of the surface."""
    root = "sqrt(1 + y**2)"
    normal = ("0", f"-y / {root}", f"1 / {root}")
    # d/dt of contact + r n, with n' = dn/dy y'.
    turning = ("0", "-1 / (1 + y**2)**1.5", "-y / (1 + y**2)**1.5")
    slip = {
        "slip_x": f"vx - r * (wy * ({normal[2]}) - wz * ({normal[1]}))",
        "slip_y": f"vy - r * (wz * ({normal[0]}) - wx * ({normal[2]}))",
        "slip_z": f"vz - r * (wx * ({normal[1]}) - wy * ({normal[0]}))",
    }
    below = ("2 * (qx * qz + qt * qy)", "2 * (qy * qz - qt * qx)", "1 - 2 * qx**2 - 2 * qy**2")
    centre = [f"{axis} + r * ({n})" for axis, n in zip("xyz", normal, strict=True)]
    return Subsystem(
        "S",
        variables={0: ("qx", "qy", "qz", "qt", "x", "y", "z"), 1: ("wx", "wy", "wz", "vx", "vy", "vz")},
        maps={
            "wx": "2 * (qt * qx_dot - qz * qy_dot + qy * qz_dot - qx * qt_dot) - wx",
            "wy": "2 * (qz * qx_dot + qt * qy_dot - qx * qz_dot - qy * qt_dot) - wy",
            "wz": "2 * (-qy * qx_dot + qx * qy_dot + qt * qz_dot - qz * qt_dot) - wz",
            "norm": "qx * qx_dot + qy * qy_dot + qz * qz_dot + qt * qt_dot",
            **{f"v{axis}": f"{axis}_dot + r * ({turn}) * y_dot - v{axis}" for axis, turn in zip("xyz", turning, strict=True)},
        },
        invariants={"surface": "z - y**2 / 2", **slip},
        # The point b that is below the centre when the sphere is not turned: the charge sits there.
        motion={f"b{axis}": f"{place} - r * ({down})" for axis, place, down in zip("xyz", centre, below, strict=True)},
        forces={
            **{f"b{axis}": f"F{axis}" for axis in "xyz"},
            **{f"w{axis}": f"-2 / 5 * m * r**2 * w{axis}_dot" for axis in "xyz"},
            "vx": "-m * vx_dot",
            "vy": "-m * vy_dot",
            "vz": "-m * vz_dot - m * g",
        },
        parameters={"r": 0.01, "m": 0.05, "g": 9.8, "Fx": 0.0, "Fy": 0.0, "Fz": 0.0},
        start={"qt": 1.0, "x": 0.0, "y": 0.1, "z": 0.005},
        independent=("wx", "wy", "wz"),
    )
