"""A history with every channel of a vessel with a crane, made of closed forms: no simulation, and the truth is known."""

import numpy as np
from scipy.spatial.transform import Rotation

from kingpost import History
from kingpost.base.channels import Channel

CARRIED = {"hull": 1290.0, "slew": 90.0, "luff": 60.0, "knuckle": 30.0}
BODIES = {"hull": "vessel", "slew": "king", "luff": "inner-boom", "knuckle": "outer-boom"}
PARENTS = {"hull": "world", "slew": "vessel", "luff": "king", "knuckle": "inner-boom"}
PLACES = {"hull": (0, 0, 0), "slew": (0, 0, 5), "luff": (0, 0, 2), "knuckle": (2, 0, 0)}
CENTRES = {"vessel": (0, 0, 2.5), "king": (0, 0, 1), "inner-boom": (1, 0, 0), "outer-boom": (1, 0, 0)}
MASSES = {"vessel": 1200.0, "king": 30.0, "inner-boom": 30.0, "outer-boom": 30.0}
TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # Rz(pi/2) Rx(pi/2)
COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def coordinates(time):
    """Return angles over time: the vessel in swell, the crane from one position to the next."""
    share = np.clip(time / time[-1], 0, 1)
    smooth = 3 * share**2 - 2 * share**3
    return {
        "hull.roll": 0.06 * np.sin(2 * np.pi * time / 8.0),
        "hull.pitch": 0.03 * np.sin(2 * np.pi * time / 6.5 + 0.7),
        "hull.yaw": 0.02 * np.sin(2 * np.pi * time / 11.0),
        "slew.angle": np.pi / 2 * smooth,
        "luff.angle": np.pi / 4 * smooth,
        "knuckle.angle": -3 * np.pi / 4 + np.pi / 2 * smooth,
    }


def about_z(angle):
    return Rotation.from_rotvec(angle[:, None] * np.array([0.0, 0.0, 1.0]))


def poses(q):
    """Return rotation and position of each body, as (Rotation, array) pairs."""
    hull = Rotation.from_euler("ZYX", np.column_stack([q["hull.yaw"], q["hull.pitch"], q["hull.roll"]]))
    king = hull * about_z(q["slew.angle"])
    inner = king * Rotation.from_matrix(TURN) * about_z(q["luff.angle"])
    outer = inner * about_z(q["knuckle.angle"])
    at_king = hull.apply((0, 0, 5))
    at_inner = at_king + king.apply((0, 0, 2))
    at_outer = at_inner + inner.apply((2, 0, 0))
    return {
        "vessel": (hull, np.zeros_like(at_king)),
        "king": (king, at_king),
        "inner-boom": (inner, at_inner),
        "outer-boom": (outer, at_outer),
    }


def world_force(joint, time):
    """Return the invented force on the child in world axes: the weight it carries, and some swell."""
    force = np.zeros((len(time), 3))
    force[:, 2] = 9.81 * CARRIED[joint] * (1 + 0.1 * np.sin(2 * np.pi * time / 4.0))
    force[:, 0] = 0.05 * 9.81 * CARRIED[joint] * np.sin(2 * np.pi * time / 8.0)
    return force


def geometry():
    """Return provenance["geometry"] of the machine."""
    identity = np.eye(3).tolist()
    return {
        "bodies": {name: {"mass": MASSES[name], "com": list(com)} for name, com in CENTRES.items()},
        "joints": {
            joint: {
                "kind": "cardan" if joint == "hull" else "revolute",
                "parent": PARENTS[joint],
                "child": BODIES[joint],
                "parent_frame": {"position": list(PLACES[joint]), "rotation": TURN.tolist() if joint == "luff" else identity},
                "child_frame": {"position": [0.0, 0.0, 0.0], "rotation": identity},
                "axis": None if joint == "hull" else [0.0, 0.0, 1.0],
            }
            for joint in BODIES
        },
        "outputs": [{"name": "tip", "body": "outer-boom", "at": [2.0, 0.0, 0.0]}],
    }  # fmt: skip


def crane_history(samples=401, t_end=20.0, *, loads=True, name="vessel-crane"):
    """Return the history; without ``loads`` only what a plain run keeps."""
    time = np.linspace(0.0, t_end, samples)
    q = coordinates(time)
    placed = poses(q)
    columns = {Channel(key, "rad"): values for key, values in q.items()}
    columns |= {Channel(f"{key}.rate", "rad/s"): np.gradient(values, time) for key, values in q.items()}
    tip = placed["outer-boom"][1] + placed["outer-boom"][0].apply((2, 0, 0))
    columns |= {Channel(f"tip.{axis}", "m", "world"): tip[:, i] for i, axis in enumerate("xyz")}
    kinetic, potential = 40 * np.sin(time) ** 2, 9.81 * 30 * tip[:, 2]
    for key, values in {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}.items():
        columns[Channel(f"energy.{key}", "J")] = values
    record = {
        "kingpost": "0.1.0", "outcome": "complete", "finished": "2026-01-02T03:04:05+00:00", "warnings": [],
        "model": {"name": name, "digest": "0123456789abcdef", "description": "A crane on a vessel, made of closed forms."},
        "parameters": {"l1": {"value": 5.0, "unit": "m"}, "m1": {"value": 1200.0, "unit": "kg"}},
        "inputs": {}, "start": {key: float(values[0]) for key, values in q.items()},
        "formulation": "kane", "integrator": {"name": "rk4", "options": {}},
        "time": {"start_s": 0.0, "end_s": t_end, "step_s": 0.001, "output_step_s": t_end / (samples - 1)},
        "plugins": [{"origin": "built-in", "location": "hooks", "distribution": "kingpost", "version": "0.1.0"}],
    }  # fmt: skip
    if loads:
        columns |= _load_channels(time, placed)
        entry = {"frame": "child", "side": "child", "at": [0.0, 0.0, 0.0], "parts": ["constraint", "actuator"]}
        record["loads"] = {"method": "recursive", "joints": {joint: dict(entry) for joint in BODIES}}
        record["geometry"] = geometry()
    return History(time, tuple(columns), np.column_stack(list(columns.values())), record)


def _load_channels(time, placed):
    columns = {}
    for joint, body in BODIES.items():
        force = placed[body][0].inv().apply(world_force(joint, time))
        drive = 0.2 * CARRIED[joint] * np.sin(2 * np.pi * time / 5.0)
        bending = CARRIED[joint] * np.column_stack([8 + np.sin(time), 3 * np.cos(0.7 * time), np.zeros_like(time)])
        constraint = np.column_stack([bending, force])
        actuator = np.zeros_like(constraint)
        actuator[:, 2] = drive
        for prefix, wrench in {"": constraint + actuator, ".constraint": constraint, ".actuator": actuator}.items():
            for i, letter in enumerate(COMPONENTS):
                channel = Channel(f"{joint}{prefix}.{letter}", "N.m" if i < 3 else "N", "child", "child", (0.0, 0.0, 0.0))
                columns[channel] = wrench[:, i]
    for body, (rotation, position) in placed.items():
        e = rotation.as_quat()[:, [3, 0, 1, 2]]
        for i, part in enumerate(("px", "py", "pz")):
            columns[Channel(f"{body}.pose.{part}", "m", "world")] = position[:, i]
        for i, part in enumerate(("ew", "ex", "ey", "ez")):
            columns[Channel(f"{body}.pose.{part}", "1", "world")] = e[:, i]
        for i, (prefix, unit) in enumerate({"w": "rad/s", "alpha": "rad/s2", "a": "m/s2"}.items()):
            for k, axis in enumerate("xyz"):
                columns[Channel(f"{body}.motion.{prefix}{axis}", unit, "body")] = 0.1 * np.sin(time * (1 + 0.2 * i) + k)
    for axis, value in zip("xyz", (0.0, 0.0, -9.81), strict=True):
        columns[Channel(f"loads.gravity.{axis}", "m/s2", "world")] = np.full_like(time, value)
    columns[Channel("loads.residual.force", "N")] = 1e-10 * np.abs(np.sin(3 * time))
    columns[Channel("loads.residual.moment", "N.m")] = 1e-11 * np.abs(np.sin(5 * time))
    return columns


def foreign_history():
    """Return what an FMU of some other tool might give: plain channels, no record."""
    time = np.linspace(0.0, 30.0, 601)
    channels = (Channel("ball.height", "m"), Channel("contact", "N"), Channel("der(x)", ""), Channel("temperature", "K"))
    values = [np.abs(np.sin(time)), 2e4 * np.clip(np.sin(3 * time), 0, 1), np.cos(time), np.full_like(time, 293.0)]
    return History(time, channels, np.column_stack(values))


def monitored_history(**how):
    """Return the crane with monitors: as of a closed loop that passes near a dead centre at 10 s, where its rank falls."""
    crane = crane_history(**how)
    time = crane.time
    near = np.abs(time - time[-1] / 2)
    columns = {Channel("energy.work", "J"): 5 * time, Channel("energy.error", "J"): 1e-7 * np.sin(time)}
    for kind, unit in (("linear", "kg.m/s"), ("angular", "kg.m2/s")):
        columns |= {Channel(f"momentum.{kind}.{axis}", unit, "world"): np.cos(time + k) for k, axis in enumerate("xyz")}
    error = 10.0 ** (-16 + 12 * np.exp(-((near / 2) ** 2)))
    error[0] = 0.0
    columns |= {Channel(f"constraints.{level}", "1"): error for level in ("position", "speed", "acceleration")}
    columns[Channel("constraints.rank", "1")] = np.where(near == near.min(), 1.0, 2.0)
    condition = 3 + 1 / np.maximum(near, 1e-9)
    condition[near == near.min()] = np.inf
    columns[Channel("constraints.condition", "1")] = condition
    values = np.column_stack([crane.values, *columns.values()])
    return History(time, (*crane.channels, *columns), values, crane.provenance)
