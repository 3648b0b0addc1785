"""What inverse dynamics finds: the motion, its accelerations, multipliers and inputs at all times, and what is seen of them."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.rubbing import Rubbing, forces_of_motion
from kingpost.control.servo.system import SOLUTION
from kingpost.equations.equations import Equations

LEVELS = ("position", "speed", "acceleration")


@dataclass(frozen=True, eq=False)
class ServoSolution:
    """q, v, a, z, lam and u side by side in the rows of ``values``, one row for each time."""

    times: FloatArray
    values: FloatArray

    def part(self, problem: ServoProblem, name: str) -> FloatArray:
        """Return one of q, v, a, z, lam, u at all times."""
        ends = np.cumsum([0, *solution_sizes(problem)])
        k = SOLUTION.index(name)
        return self.values[:, ends[k] : ends[k + 1]]


def solution_sizes(problem: ServoProblem) -> list[int]:
    """Return the sizes of q, v, a, z, lam and u."""
    e = problem.equations
    return [e.nq, e.nv, e.nv, e.nz, e.constraints.count, len(problem.driven)]


def solution_channels(problem: ServoProblem, equations: Equations) -> tuple[Channel, ...]:
    """Return what is seen of a solution: what a run shows, inputs, desired measures, and errors of the servo-constraints."""
    inputs = {signal.name: signal.unit for signal in equations.mechanism.inputs}
    units = _measure_units(equations)
    measures = problem.task.measures
    frames = {channel.name: channel.frame for channel in equations.output_channels}
    return (
        *equations.channels,
        *(Channel(name, inputs[name]) for name in problem.input_names),
        *(Channel(f"desired.{name}", units[name], frames.get(name, "")) for name in measures),
        *(
            Channel(f"servo.{level}.{name}", f"{units[name]}{suffix}")
            for level, suffix in zip(LEVELS, ("", "/s", "/s2"), strict=True)
            for name in measures
        ),
        Channel("servo.power", "W"),
        *(Channel(f"multiplier.{owner}", "1") for owner in _numbered(equations.constraints.owners)),
    )


def _measure_units(equations: Equations) -> dict[str, str]:
    coordinates = [*equations.position_quantities, *equations.mechanism.coordinates]
    return {item.name: item.unit for item in coordinates} | {item.name: item.unit for item in equations.output_channels}


def _numbered(owners: tuple[str, ...]) -> list[str]:
    """Return names of rows: that of their owner, with a number where it has several."""
    seen: dict[str, int] = {}
    names = []
    for owner in owners:
        seen[owner] = seen.get(owner, 0) + 1
        names.append(owner if owners.count(owner) == 1 else f"{owner}.{seen[owner]}")
    return names


def observer(problem: ServoProblem, equations: Equations) -> ca.Function:
    """Return the function (t, solution, signals, p) -> values of :func:`solution_channels`, called kp_observe."""
    sizes = solution_sizes(problem)
    t, row, p = ca.MX.sym("t"), ca.MX.sym("solution", sum(sizes)), ca.MX.sym("p", equations.np)
    count = problem.outputs + len(problem.given_inputs)
    signals = ca.MX.sym("signals", (EXPRESSED + 1) * count)
    q, v, a, z, lam, u = ca.vertsplit(row, [0, *np.cumsum(sizes).tolist()])
    acting = problem.acting(u, signals[problem.outputs : count, :], z)
    shown = equations.observations(t, q, v, acting, p)
    if problem.rubbing:
        rubbing = Rubbing(problem, forces_of_motion(problem)).seen(t, q, v, a, z, lam, u, signals, p)
        shown = problem.mechanics.observations(t, q, v, ca.vertcat(acting, rubbing), p)
    values = [ca.vertcat(q, v, z), shown]
    values += [seen.values(equations, t, q, v, a, lam, acting, p) for seen in equations.observed.observers]
    s = problem.symbols
    symbols = [s.t, s.q, s.v, s.a, s.z, s.lam, s.u, ca.vertcat(*s.signals), s.p]
    errors = ca.Function(
        "kp_servo_errors",
        symbols,
        [
            ca.densify(
                ca.vertcat(
                    problem.servo_positions,
                    problem.servo_speeds,
                    problem.servo_accelerations,
                    ca.dot(ca.densify(problem.B @ s.u), s.v),
                )
            )
        ],
    )
    values += [u, signals[: problem.outputs, :], errors(t, q, v, a, z, lam, u, signals, p), lam]
    return ca.Function("kp_observe", [t, row, signals, p], [ca.densify(ca.vertcat(*values))])
