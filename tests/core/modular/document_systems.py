"""Systems of document 002 as subsystems: the variables, invariants and forces that the document gives them."""

import casadi as ca

from kingpost.modular.subsystem import Subsystem

GRAVITY = {"m": 1.0, "g": 9.81, "r": 1.0}
#: The start of notes 3.7; gravity is along x.
PLACE = {"x": 0.6, "y": 0.8, "z": 0.0}
SPEED = {"x_dot": 0.0, "y_dot": 0.0, "z_dot": 1.0}
FALLING = {"x": "m * g - m * x_ddot", "y": "-m * y_ddot", "z": "-m * z_ddot"}
SPHERE = {"sphere": "x**2 + y**2 + z**2 - r**2"}


def pendulum_in_angles():
    """Ex. 4.1 (i): theta from the direction of gravity, phi about it; forces along three motion variables."""
    return Subsystem(
        "angles",
        variables={0: ("theta", "phi")},
        motion={"x": "r * cos(theta)", "y": "r * sin(theta) * cos(phi)", "z": "r * sin(theta) * sin(phi)"},
        forces=FALLING,
        parameters=GRAVITY,
        start={"theta": float(ca.acos(0.6)), "phi": 0.0, "theta_dot": 0.0, "phi_dot": 1 / 0.8},
    )


def pendulum_in_place():
    """Ex. 4.1 (ii): Cartesian coordinates and one invariant of order 0."""
    return Subsystem(
        "place",
        variables={0: ("x", "y", "z")},
        invariants=SPHERE,
        forces=FALLING,
        parameters=GRAVITY,
        start={**PLACE, **SPEED},
    )


def pendulum_with_upsilon(start=None, independent=("y", "z")):
    """Ex. 4.1 (iii) and 4.6: the square of the speed is one more quasi-velocity, so that the constraint order is 2."""
    return Subsystem(
        "upsilon",
        variables={0: ("x", "y", "z"), 1: ("u",)},
        invariants={**SPHERE, "speed": "x_dot**2 + y_dot**2 + z_dot**2 - u"},
        forces=FALLING,
        parameters=GRAVITY,
        start={**PLACE, **SPEED} if start is None else start,
        independent=independent,
    )


def newton_euler_body():
    """A free body that falls along -z: velocities in inertial axes, angular velocity in body axes, no orientation."""
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
    )


def pendulum_of_a_body():
    """Sec. 5.1: a Newton-Euler body whose centre is tied to a sphere in two extra angles (5.1)."""
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
        start={"theta": float(ca.acos(0.6)), "phi": 0.0, "phi_dot": 1 / 0.8, "theta_dot": 0.0},
        independent=("phi", "theta", "wx", "wy", "wz"),
    )


def two_rod_slider(l1=1.0, l2=2.0, line=0.0, with_angle=True, start=None, independent=None):
    """Ex. 2.2 to 2.4: two rods between the origin and a slider on y = line, z = 0; masses make it a machine."""
    angle = {"angle": "x2**2 + y2**2 + z2**2 - l1**2 - l2**2 - 2 * l1 * l2 * cos(theta)"} if with_angle else {}
    return Subsystem(
        "P",
        variables={0: ("x1", "y1", "z1", "x2", "y2", "z2", *(("theta",) if with_angle else ()))},
        invariants={
            "rod1": "x1**2 + y1**2 + z1**2 - l1**2",
            "rod2": "(x1 - x2)**2 + (y1 - y2)**2 + (z1 - z2)**2 - l2**2",
            "line_y": "y2 - line",
            "line_z": "z2",
            **angle,
        },
        forces={
            "x1": "-m1 * x1_ddot",
            "y1": "-m1 * y1_ddot",
            "z1": "-m1 * z1_ddot - m1 * g",
            "x2": "-m2 * x2_ddot",
        },
        parameters={"l1": l1, "l2": l2, "line": line, "m1": 1.0, "m2": 2.0, "g": 9.81},
        start={"z1": 0.3, "x2": 2.0} if start is None else start,
        guess={"x1": 0.3, "y1": 0.8, **({"theta": 1.0} if with_angle else {})} if start is None else {},
        independent=independent,
    )


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


def node_rates(node, first, second, centre="gamma", rho=None):
    """The node rows of Ex. 2.6: the velocity of a node by that of the centre of mass and the angular velocity."""
    along = f"{centre} * ({second}x - {first}x)"
    across = f"{centre} * ({second}y - {first}y)"
    if rho:
        along = f"({along} - {rho} * ({second}y - {first}y))"
        across = f"({across} + {rho} * ({second}x - {first}x))"
    # The place of the centre is first + (along, across); v_node = v + w z x (node - centre).
    return {
        f"{node}_x": f"vx - w * ({node}y - {first}y - {across}) - {node}x_dot",
        f"{node}_y": f"vy + w * ({node}x - {first}x - {along}) - {node}y_dot",
    }


def crank(base=0.0):
    """U_K of Ex. 2.7: node 1 fixed at (p1x, p1y), node 2 moving; centre of mass at gamma from node 1."""
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
        parameters={"p1x": base, "p1y": 0.0, "gamma": 0.45, "m": 1.2, "J": 0.05, "b": 0.02, "g": 9.81},
        independent=("w",),
    )


def rod():
    """B_K of Ex. 2.7: two moving nodes."""
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
        parameters={"gamma": 0.55, "m": 0.8, "J": 0.04, "g": 9.81},
        independent=("vx", "vy", "w"),
    )


def half(side, base, theta, phi):
    """H_K of Ex. 2.7, a crank and a rod with the extra angles theta and phi, for the left or the right."""
    upper = crank(base).used_as("U", suffix="U", keep=("g",))
    lower = rod().used_as("B", suffix="B", keep=("g",))
    chain = Subsystem(
        "H",
        children=(upper, lower),
        variables={0: ("theta", "phi")},
        invariants={
            "joint_x": "p1xB - p2xU",
            "joint_y": "p1yB - p2yU",
            "turn_U": "theta_dot - wU",
            "turn_B": "phi_dot - wB",
            # (f): where the nodes are, which the rates alone do not say; their rates follow from the rows above.
            "place_Ux": "p2xU - p1xU - aU * cos(theta)",
            "place_Uy": "p2yU - p1yU - aU * sin(theta)",
            "place_Bx": "p2xB - p1xB - aB * cos(phi)",
            "place_By": "p2yB - p1yB - aB * sin(phi)",
        },
        parameters={"aU": 0.6, "aB": 0.9},
        guess={"theta": theta, "phi": phi},
        independent=("theta", "phi"),
    )
    return chain.used_as(f"H{side}", suffix=side, keep=("g",))


def motor(side):
    """A_K of Ex. 2.7: an angular speed and a current, neither of which has a coordinate."""
    return Subsystem(
        "A",
        variables={1: ("w", "i")},
        forces={"w": "k * i - Jm * w_dot - bm * w", "i": "-ind * i_dot - res * i - kappa * w"},
        inputs={"V": "i"},
        parameters={"k": 0.05, "Jm": 2e-5, "bm": 1e-5, "ind": 1e-3, "res": 0.8, "kappa": 0.05},
    ).used_as(f"A{side}", suffix=f"M{side}")


def payload():
    """L of Ex. 2.7: a particle."""
    return Subsystem(
        "L",
        variables={0: ("x", "y")},
        forces={"x": "-mL * x_ddot", "y": "-mL * y_ddot - mL * g"},
        parameters={"mL": 1.5, "g": 9.81},
    )


def linkage():
    """R of Ex. 2.7: both halves and the payload at their ends, with the extra angle chi between the rods."""
    return Subsystem(
        "R",
        children=(half("L", -0.3, 2.2, 0.9), half("R", 0.3, 0.9, 2.2), payload()),
        variables={0: ("chi",)},
        invariants={
            "end_Lx": "p2xBL - x",
            "end_Ly": "p2yBL - y",
            "end_Rx": "p2xBR - x",
            "end_Ry": "p2yBR - y",
            "chi": "phiR - phiL - chi",
        },
        start={"thetaL": 2.2, "thetaR": 1.1},
        independent=("thetaL", "thetaR"),
    )


def five_bar():
    """P of Ex. 2.7 and 4.3."""
    return Subsystem(
        "P",
        children=(motor("L"), motor("R"), linkage()),
        invariants={"gear_L": "thetaL_dot - wML / etaL", "gear_R": "thetaR_dot - wMR / etaR"},
        parameters={"etaL": 30.0, "etaR": 30.0},
        independent=("iML", "iMR", "thetaL", "thetaR"),
    )
