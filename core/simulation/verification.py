"""A run looked at by a second formalism: the accelerations of every sample once more, by another road, as compiled code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, MechanismError, SolverError
from kingpost.base.numbers import finite
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.kernel.kernel import Kernel
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.problem import Problem, derive, start_state, with_closed_loops
from kingpost.simulation.run import Simulation


@dataclass(frozen=True, eq=False)
class Verification:
    """What looks at the samples of a run: a function (t, x, u, p) -> differences, and accelerations that they are parts of."""

    name: str
    equations: Equations
    kernel: Kernel

    def record(self, simulation: Simulation, history: History) -> dict[str, Any]:
        """Return the largest difference of accelerations in a history, as plain data."""
        states = np.ascontiguousarray(history.values[:, : simulation.states])
        rows = self.kernel.sample(history.time, states, simulation.inputs[: len(history)], simulation.p)
        n = self.equations.nv
        differences, own, free = rows[:, :n], rows[:, n : 2 * n], rows[:, 2 * n :]
        names = [item.name.removesuffix(".rate") for item in self.equations.speed_quantities]
        found = largest_difference(differences, np.hstack([own, free]), history.time, names)
        unit = "" if not n else f"{self.equations.speed_quantities[names.index(found.coordinate)].unit.removesuffix('/s')}/s2"
        return {
            "formulation": self.name,
            "largest_difference": finite(found.difference),
            "part": finite(found.part),
            "unit": unit,
            "at_s": found.at_s,
            "coordinate": found.coordinate,
            "samples": len(history),
            "backend": self.kernel.backend,
        }


@dataclass(frozen=True)
class Difference:
    """The largest difference of accelerations: itself, as a part of the largest acceleration, when, and of which coordinate."""

    difference: float
    part: float
    at_s: float
    coordinate: str


def largest_difference(differences: FloatArray, sizes: FloatArray, times: FloatArray, names: list[str]) -> Difference:
    """Return the largest of some differences; numbers that are not finite differ by infinity.

    ``sizes`` are the accelerations with and without constraints: what rounding errors are parts of, however still a machine is.
    """
    if not differences.size:
        return Difference(0.0, 0.0, float(times[0]), "")
    apart = np.nan_to_num(np.abs(differences), nan=np.inf)
    row, column = np.unravel_index(int(np.argmax(apart)), apart.shape)
    largest = float(apart[row, column])
    size = float(np.abs(sizes).max()) or 1.0
    return Difference(largest, largest / size, float(times[row]), names[int(column)])


def free_accelerations(equations: Equations) -> ca.SX:
    """Return what the accelerations would be without constraints; where a mass matrix is singular, with some inertia more."""
    return ca.solve(ca.densify(equations.regular_mass), equations.f) if equations.nv else equations.f


def verification(problem: Problem, way: Formulation) -> Verification:
    """Return what compares the accelerations of a problem with those of another formulation or formalism."""
    first = problem.equations.exact
    if way.name == first.formulation:
        raise MechanismError(
            f"verify = '{way.name}' would compare formulation '{way.name}' with itself; choose another formalism, 'gauss' or "
            "'newton-euler' for example"
        )
    derived = derive(problem.assembly, way, problem.plugins)
    if not derived.joint_coordinates:
        raise MechanismError(
            f"verify = '{way.name}': accelerations are compared in joint coordinates, and formulation '{way.name}' has others; "
            "choose a formalism, 'gauss' or 'newton-euler' for example"
        )
    start = start_state(problem.assembly, derived, problem.values)
    second = with_closed_loops(replace(problem, equations=derived), problem.t_start, start).exact
    sizes = {"t": 1, "x": first.nx, "u": first.nu, "p": first.np}
    t, x, u, p = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
    q, v = first.split(x)
    acting = first.acting(u, x)
    vdot = first.accelerations(t, q, v, acting, p)
    if first.coordinates.joint_state is not None:
        q, v, vdot = first.coordinates.joint_state(q, v, vdot, p)
    other = second.accelerations(t, q, v, acting, p)
    free = second.function("kp_free", [free_accelerations(second)])(t, q, v, acting, p)
    values = ca.densify(ca.vertcat(other - vdot, vdot, free))
    observe = ca.Function("kp_observe", symbols, [values])
    kernel = Kernel([observe], problem.how.backend or "auto", (*first.python_forces, *second.python_forces))
    return Verification(way.name, second, kernel)


def verified_run(simulation: Simulation, run: Callable[[], History]) -> History:
    """Carry a run out and return its history with a record of how far a second formalism is apart from it.

    What a run leaves that fails or is interrupted has it, too.
    """
    problem = simulation.problem
    second = verification(problem, select(problem.plugins.formulations, problem.how.verify))

    def verified(history: History) -> History:
        return replace(history, provenance={**history.provenance, "verification": second.record(simulation, history)})

    try:
        return verified(run())
    except (SolverError, Interrupted) as error:
        if error.history is not None:
            with contextlib.suppress(SolverError):
                error.history = verified(error.history)
        raise
