"""The spatial systems of document 002 in formulations and load methods that share no mechanics."""

import numpy as np
import pytest

from kingpost import LoadRequest
from kingpost.equations.consistency import consistent_start
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import start_state
from tests.validation.natural import PLUGINS, assert_close, derive, numbers, saddle_condition

#: Of 1e4 operations, and the least condition number that is taken for granted.
ROUNDING, LEAST_CONDITION = 1e-14, 1e3

SYSTEMS = (
    "rolling-sphere",
    "whipple-bicycle",
    "spatial-slider-crank:friction=none",
    "spherical-pendulum:joint=angles",
    "spherical-pendulum:joint=universal",
    "spherical-pendulum:joint=point",
    "spherical-pendulum:joint=body",
    "knife-edge-disc",
    "knife-edge-disc:contact=surface",
    "two-rod-slider",
    "delta",
)


def near_the_start(mechanism, equations, p, count=2):
    """Return states near the start that satisfy all closures."""
    rng = np.random.default_rng(6)
    start = start_state(assemble(mechanism, PLUGINS), equations, resolve_values(mechanism, {}))
    rows = quaternion_rows(mechanism)
    size = 2e-3 if mechanism.name == "rolling-sphere" else 0.05
    for _ in range(count):
        x = start + size * rng.normal(size=len(start))
        x[equations.nq :] += 0.3 * rng.normal(size=equations.nv)
        for row in rows:
            x[row : row + 4] /= np.linalg.norm(x[row : row + 4])
        x = consistent_start(equations, 0.0, x, p, far=True).x
        for row in rows:
            x[row : row + 4] /= np.linalg.norm(x[row : row + 4])
        yield equations.split(x)


@pytest.mark.quick(*(name for name in SYSTEMS if name != "delta"))
@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_and_loads_are_the_same_in_joint_and_in_natural_coordinates(name):
    """kane, recursive, modular and directors; auxiliary speeds, recursion and multipliers.

    Rounding of 1e-16 in some 1e4 operations, which add up like the root of their number, times the condition of the scaled
    system of accelerations and multipliers, the worse of joint and natural coordinates: up to 1e3, but 2e6 for a sphere of
    1 cm, whose directors have its square for inertia.
    """
    mechanism = select(PLUGINS.models, name).build()
    assembly = assemble(mechanism, PLUGINS)
    p = np.array([item.default for item in mechanism.parameters])
    u = np.full(len(mechanism.inputs), 0.7)
    kane, recursive, modular, ours = (
        derive(mechanism, formulation) for formulation in ("kane", "recursive", "modular", "directors")
    )
    names = [*(joint.name for joint in mechanism.joints), *(closure.name for closure in mechanism.closures)]
    requests = [LoadRequest(item) for item in names]

    def loads(equations, method):
        return derive_loads(assembly, equations, select(PLUGINS.joint_loads, method), requests)

    by = {
        "auxiliary-speeds": (kane, loads(kane, "auxiliary-speeds")),
        "recursive": (recursive, loads(recursive, "recursive")),
        "multipliers": (ours, loads(ours, "multipliers")),
    }
    channels = by["recursive"][1].channels
    compared = [i for i, channel in enumerate(channels) if ".pose.e" not in channel.name]
    for q, v in near_the_start(mechanism, kane, p):
        Q, V = ours.split(numbers(ours.coordinates.initial(q, v, p)))
        conditions = saddle_condition(kane, (0.3, q, v, u, p)), saddle_condition(ours, (0.3, Q, V, u, p))
        tolerance = ROUNDING * max(LEAST_CONDITION, *conditions)
        vdot = numbers(kane.accelerations(0.3, q, v, u, p))
        assert_close(numbers(recursive.accelerations(0.3, q, v, u, p)), vdot, "recursive", tolerance)
        assert_close(numbers(modular.accelerations(0.3, q, v, u, p)), vdot, "modular", tolerance)
        own = ours.accelerations(0.3, Q, V, u, p)
        assert_close(numbers(ours.coordinates.joint_state(Q, V, own, p)[2]), vdot, "directors", tolerance)
        found = {}
        for method, (equations, derived) in by.items():
            at = (Q, V, own) if equations is ours else (q, v, vdot)
            lam = equations.multipliers(0.3, at[0], at[1], u, p)
            found[method] = numbers(derived.function(0.3, *at, lam, u, p))[compared]
        for method in ("auxiliary-speeds", "multipliers"):
            assert_close(found[method], found["recursive"], method, tolerance)


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_row_is_redundant(name):
    """So every load of theirs is unique."""
    mechanism = select(PLUGINS.models, name).build()
    equations = derive(mechanism, "kane")
    p = np.array([item.default for item in mechanism.parameters])
    x = start_state(assemble(mechanism, PLUGINS), equations, resolve_values(mechanism, {}))
    assert without_redundant_rows(equations, 0.0, x, p).constraints.redundant == ()
