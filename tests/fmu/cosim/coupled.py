"""Small systems whose solutions are known, as blocks: two masses on springs, cut at the spring between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, System
from kingpost.mechanism.elements import Input

M1, M2, K1, K2, K = 1.0, 1.5, 10.0, 20.0, 30.0
#: x1, v1, x2, v2 of the two masses together.
WHOLE = np.array([[0, 1, 0, 0], [-(K1 + K) / M1, 0, K / M1, 0], [0, 0, 0, 1], [K / M2, 0, -(K2 + K) / M2, 0]])


def left() -> Block:
    """The first mass: a force in, its place out; starts at 1 m."""
    return Block(
        "left", (Input("force", "N"),), (Channel("position", "m"), Channel("velocity", "m/s")),
        (State("x", "m", 1.0), State("v", "m/s")),
        rates=lambda s: [s["v"], (s["force"] - K1 * s["x"]) / M1], values=lambda s: [s["x"], s["v"]],
    )  # fmt: skip


def right() -> Block:
    """The second mass with the spring between them: the place of the first in, the force on the first out."""
    return Block(
        "right", (Input("other", "m"), Input("speed", "m/s")), (Channel("force", "N"), Channel("position", "m")),
        (State("x", "m"), State("v", "m/s")),
        rates=lambda s: [s["v"], (-K2 * s["x"] - K * (s["x"] - s["other"])) / M2],
        values=lambda s: [K * (s["x"] - s["other"]), s["x"]],
    )  # fmt: skip


def exact(times: np.ndarray) -> np.ndarray:
    """The places of both masses at some times."""
    values, vectors = np.linalg.eig(WHOLE)
    modes = np.linalg.solve(vectors, [1.0, 0, 0, 0])
    return (vectors[[0, 2]] @ (modes[:, None] * np.exp(np.outer(values, times)))).real.T


CONNECTIONS = (Connection("a.position", "b.other"), Connection("b.force", "a.force"))


def in_process(**options: Any) -> System:
    """The two masses as blocks in this process."""
    components = (Component("a", model=left(), step=0.001), Component("b", model=right(), step=0.001))
    return System("two masses", components, CONNECTIONS, **{"t_end": 2.0, **options})


def inertia_split(ratio: float, **options: Any) -> System:
    """A mass M on a spring and a mass m = ratio M that rides on it, coupled by acceleration and force: f = -m a at once."""
    carrier = Block(
        "carrier", (Input("force", "N"),), (Channel("acceleration", "m/s2"), Channel("position", "m")),
        (State("x", "m", 1.0), State("v", "m/s")),
        rates=lambda s: [s["v"], s["force"] - 4 * s["x"]], values=lambda s: [s["force"] - 4 * s["x"], s["x"]],
    )  # fmt: skip
    rider = Block(
        "rider", (Input("acceleration", "m/s2"),), (Channel("force", "N"),), values=lambda s: [-ratio * s["acceleration"]]
    )
    components = (Component("carrier", model=carrier), Component("rider", model=rider))
    connections = (Connection("carrier.acceleration", "rider.acceleration"), Connection("rider.force", "carrier.force"))
    return System("inertia", components, connections, **{"t_end": 2.0, **options})


def with_interface_inertia(ratio: float, **options: Any) -> System:
    """A carrier and a rider with a mass on a spring inside: the force is w = w0 - A a, and the carrier takes w0 and A."""
    carrier = Block(
        "carrier", (Input("mount_w0", "N"), Input("mount_A", "kg")), (Channel("at.x", "m"), Channel("acceleration", "m/s2")),
        (State("x", "m", 1.0), State("v", "m/s")),
        rates=lambda s: [s["v"], (s["mount_w0"] - 4 * s["x"]) / (1 + s["mount_A"])],
        values=lambda s: [s["x"], (s["mount_w0"] - 4 * s["x"]) / (1 + s["mount_A"])],
    )  # fmt: skip
    rider = Block(
        "rider", (Input("place_x", "m"),), (Channel("base.w0", "N"), Channel("base.A", "kg"), Channel("inside", "m")),
        (State("y", "m"), State("s", "m/s")),
        rates=lambda s: [s["s"], 9 * (s["place_x"] - s["y"])],
        values=lambda s: [9 * (s["y"] - s["place_x"]), ratio, s["y"]],
    )  # fmt: skip
    components = (
        Component("rider", model=rider, ports={"base": ["base.*", "place_*"]}),
        Component("carrier", model=carrier, ports={"mount": ["mount_*", "at.*"]}),
    )
    return System("inertia", components, (Connection("rider.base", "carrier.mount"),), **{"t_end": 2.0, **options})


def rider_exact(ratio: float, t: float) -> np.ndarray:
    """Where carrier and inner mass are: (1 + m) x'' = -4 x + 9 (y - x), y'' = 9 (x - y)."""
    whole = np.array([[0, 1, 0, 0], [-13 / (1 + ratio), 0, 9 / (1 + ratio), 0], [0, 0, 0, 1], [9, 0, -9, 0]])
    return (expm(whole * t) @ [1.0, 0, 0, 0])[[0, 2]]


def quarter_car(**options: Any) -> System:
    """Wheel and chassis of a quarter car: force one way, speed the other, a power bond between them."""
    mc, mw, kc, cc, kw, cw = 400.0, 40.0, 15000.0, 1000.0, 150000.0, 500.0
    chassis = Block(
        "chassis", (Input("speed", "m/s"),), (Channel("force", "N"), Channel("position", "m"), Channel("velocity", "m/s")),
        (State("x", "m"), State("v", "m/s"), State("d", "m")),
        rates=lambda s: [s["v"], (kc * s["d"] + cc * (s["speed"] - s["v"])) / mc, s["speed"] - s["v"]],
        values=lambda s: [kc * s["d"] + cc * (s["speed"] - s["v"]), s["x"], s["v"]],
    )  # fmt: skip
    wheel = Block(
        "wheel", (Input("force", "N"),), (Channel("speed", "m/s"), Channel("place", "m")),
        (State("x", "m"), State("v", "m/s")),
        rates=lambda s: [s["v"], (-s["force"] + kw * (0.1 - s["x"]) - cw * s["v"]) / mw],
        values=lambda s: [s["v"], s["x"]],
    )  # fmt: skip
    components = (Component("chassis", model=chassis, step=1e-4), Component("wheel", model=wheel, step=1e-4))
    connections = (Connection("chassis.force", "wheel.force"), Connection("wheel.speed", "chassis.speed"))
    return System("quarter car", components, connections, **{"t_end": 1.0, "step": 1e-3, **options})
