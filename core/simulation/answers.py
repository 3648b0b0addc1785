"""What a machine is at one state, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.equations.equations import ENERGIES, Equations
from kingpost.kernel.kernel import Evaluator
from kingpost.simulation.problem import Problem
from kingpost.symbols.externals import python_forces_named


def evaluation(problem: Problem) -> dict[str, Any]:
    """Return what a machine is at the start of a problem, as plain data."""
    with python_forces_named(problem.equations.all_externals):
        return _evaluated(problem)


def _evaluated(problem: Problem) -> dict[str, Any]:
    equations, mechanism = problem.equations, problem.mechanism
    t, x, u, p = problem.t_start, problem.x0, problem.u0, problem.p
    q, v = equations.split(x)
    acting = equations.acting(u, x)
    M, f, vdot = (np.asarray(result) for result in equations.descriptor(t, q, v, acting, p))
    y = Evaluator(equations.observe)(t, x, u, p)
    observed = {channel.name: float(value) for channel, value in zip(equations.channels, y, strict=True)}
    coordinates, speeds = equations.position_quantities, equations.speed_quantities
    return {
        "model": mechanism.name,
        "formulation": equations.formulation,
        "t": t,
        "q": q.tolist(),
        "v": v.tolist(),
        **({"z": equations.states_of(x).tolist()} if equations.nz else {}),
        "u": u.tolist(),
        "M": M.tolist(),
        "f": f.ravel().tolist(),
        "vdot": vdot.ravel().tolist(),
        **({"zdot": np.asarray(equations.state_rates(t, q, v, acting, p)).ravel().tolist()} if equations.nz else {}),
        "energy": {name.partition(".")[2]: observed[name] for name in ENERGIES},
        "outputs": {channel.name: observed[channel.name] for channel in equations.output_channels},
        "loads": _loads(equations, observed),
        **({"constraints": _constraints(equations, t, q, v, acting, p)} if equations.constraints.count else {}),
        "names": {
            "q": [coordinate.name for coordinate in coordinates],
            "v": [speed.name for speed in speeds],
            **({"z": [state.name for state in equations.states.quantities]} if equations.nz else {}),
            "u": [signal.name for signal in mechanism.inputs],
        },
        "units": {
            "q": [coordinate.unit for coordinate in coordinates],
            "v": [speed.unit for speed in speeds],
            **({"z": [state.unit for state in equations.states.quantities]} if equations.nz else {}),
            "vdot": [f"{speed.unit.removesuffix('/s')}/s2" for speed in speeds],
            "u": [signal.unit for signal in mechanism.inputs],
            "energy": "J",
            "outputs": {channel.name: channel.unit for channel in equations.output_channels},
            "wrench": list(UNITS),
        },
        "parameters": {
            parameter.name: {"value": float(value), "unit": parameter.unit}
            for parameter, value in zip(mechanism.parameters, p, strict=True)
        },
    }


def _loads(equations: Equations, observed: dict[str, float]) -> dict[str, Any]:
    """Return the total wrench of each joint [Mx, My, Mz, Fx, Fy, Fz], and the parts it is the sum of."""

    def wrench(prefix: str) -> list[float]:
        return [observed[f"{prefix}.{component}"] for component in COMPONENTS]

    answer = {}
    for joint, record in (equations.observed.loads.record["joints"] if equations.observed.loads else {}).items():
        total, parts = wrench(joint), record["parts"]
        answer[joint] = {
            "wrench": total,
            "frame": record["frame"],
            "side": record["side"],
            "at": record["at"],
            "parts": {part: total if len(parts) == 1 else wrench(f"{joint}.{part}") for part in parts},
        }
    return answer


def _constraints(equations: Equations, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> dict[str, Any]:
    """Return errors and multipliers of the constraints, row by row."""
    position, speed = (np.asarray(part).ravel() for part in equations.constraint_residuals(t, q, v, p))
    return {
        "owners": list(equations.constraints.owners),
        "position": position.tolist(),
        "speed": speed.tolist(),
        "multipliers": np.asarray(equations.multipliers(t, q, v, u, p)).ravel().tolist(),
        "redundant_closures": list(equations.constraints.redundant),
    }
