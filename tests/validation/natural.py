"""Equations in natural coordinates beside those in joint coordinates, and how close their numbers must be."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kingpost import Body, ForceElement, Joint, Mechanism, PluginSet
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.kane import Kane
from kingpost.registry.selection import select
from kingpost.simulation.problem import start_state

PLUGINS = PluginSet(entry_points=False)
#: Some 1e4 operations, and condition numbers of M and of G M^-1 G' up to 1e4.
TOLERANCE = 1e-10


def derive(mechanism: Mechanism, formulation: str = "directors") -> Any:
    return select(PLUGINS.formulations, formulation).derive(assemble(mechanism, PLUGINS))


def model(name: str) -> Mechanism:
    return PLUGINS.models.get(name)().build()


def numbers(result: Any) -> np.ndarray:
    return np.asarray(result).ravel()


def assert_close(found: Any, expected: Any, what: str, tolerance: float = TOLERANCE) -> None:
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    difference = np.abs(np.subtract(found, expected)).max(initial=0.0)
    assert difference <= tolerance * scale, f"{what}: {difference:.2e} of {scale:.2e}"


def saddle_condition(equations: Any, row: Any) -> float:
    """Return the condition number of [M A'; A 0], scaled to the size one: that of accelerations and multipliers."""
    both = equations.function("saddle", [ca.densify(equations.M), ca.densify(equations.constraints.A)])
    M, A = (np.asarray(part) for part in both.call(list(row)))
    K = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    for _ in range(20):
        scale = 1 / np.sqrt(np.abs(K).max(axis=1))
        K = K * np.outer(scale, scale)
    return float(np.linalg.cond(K))


def plane_loop(kind: str) -> Mechanism:
    """Return a four-bar linkage of bodies with volume; closed by a hinge it is held three times too often."""

    def bar(name: str, length: float) -> Body:
        return Body(name, mass=2.0, com=(length / 2, 0, 0), inertia=(0.02, length**2 / 6, length**2 / 6 + 0.01))

    crank, coupler, rocker = 1.0471975511965976, 0.33005263, 1.7
    return Mechanism(
        "plane-loop",
        bodies=(bar("crank", 1.0), bar("coupler", 3.0), bar("rocker", 2.5)),
        joints=(
            Joint("a", "revolute", "world", "crank", axis=(0, -1, 0), start=crank, start_rate=2.0),
            Joint("b", "revolute", "crank", "coupler", axis=(0, -1, 0), position=(1, 0, 0), start=coupler - crank),
            Joint("d", "revolute", "world", "rocker", axis=(0, -1, 0), position=(3, 0, 0), start=rocker),
        ),
        closures=(Closure("c", kind, "coupler", "rocker", axis=(0, -1, 0), position=(3, 0, 0), child_position=(2.5, 0, 0)),),
        forces=(ForceElement("gravity"),),
    )


SATELLITE = model("satellite")
#: Eq. (4.77), and friction; the document's torque on the rotors is -u.
CASE_A = {f"torque{i}": -200.0 for i in (1, 2, 3)}
CASE_B = {"motion.wx": 0.2, "motion.wy": 0.3, "motion.wz": 0.4, "friction": 100.0}
CASE_B |= {f"spin{i}.angle.rate": float(i) for i in (1, 2, 3)}


def joint_start(mechanism):
    """Return joint coordinates and speeds at the start, at the default parameters."""
    assembly = assemble(mechanism, PLUGINS)
    return start_state(assembly, Kane().derive(assembly), resolve_values(mechanism, {}))
