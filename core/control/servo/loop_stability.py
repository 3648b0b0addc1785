"""Whether a machine with a sampled controller settles at the end of its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.blocks.description import DiscreteBlock
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.feedback import ServoLoop
from kingpost.control.servo.index.points import CONSISTENT, at_rest
from kingpost.statics.linearize import Linearisation, linearize

Sample: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
#: Samples in which the memory of a controller comes to rest while the machine is held.
SETTLING = 2000
#: Where it counts as at rest, in parts of its size.
AT_REST = 1e-10
#: The cube root of the precision: the best reach of central differences.
REACH = 6e-6


@dataclass(frozen=True)
class LoopStability:
    """The largest factor by which a small error changes from sample to sample around rest at the end of the path.

    ``at_once``: inputs act from the sample on, ``late``: from the next one on, as with masters that let all components step at
    once. Below one errors decay.
    """

    at_once: float
    late: float

    @property
    def sentence(self) -> str:
        """What both numbers mean."""

        def word(factor: float) -> str:
            return "unstable" if factor > 1 + 1e-6 else "stable" if factor < 1 - 1e-6 else "neither decays nor grows"

        return (
            f"largest factor from sample to sample {self.at_once:.6g} ({word(self.at_once)}); one sample late {self.late:.6g} "
            f"({word(self.late)})"
        )


def loop_stability(loop: ServoLoop, block: DiscreteBlock) -> LoopStability | str:
    """Return how errors change around rest at the end of the path, or why that cannot be said."""
    problem = loop.problem
    e = problem.equations
    if loop.path_from != "inside":
        return "the path comes from outside, so that its end is not known"
    if not e.joint_coordinates:
        return f"formulation '{e.formulation}' has no joint coordinates"
    if [entry.name for entry in block.inputs][: e.nx] != [item.name for item in loop.quantities]:
        return "the controller does not measure the whole state of the machine"
    system = FirstOrder(problem)
    t = problem.task.t_end
    rest, left = at_rest(system, t, system.start)
    if not left < CONSISTENT:
        return f"no state of rest was found at the end of the path (residual {left:.1e})"
    at = system.unknowns
    x, u = rest[: e.nx], problem.posed.u0.copy()
    u[list(problem.driven)] = rest[at.u]
    try:
        linear = linearize(e, t, x, u, problem.p)
    except SolverError as error:
        return str(error)
    sample, memory = _controller(block, x, t)
    if not np.isfinite(sample(memory, x)).all():
        return "the controller finds no inputs for rest at the end of the path"
    return _factors(linear, block, sample, memory, x, _directions(loop, linear, x), list(problem.driven))


def _directions(loop: ServoLoop, linear: Linearisation, x: FloatArray) -> FloatArray:
    """Return what the measured state changes by with the states of the linear system, at rest."""
    problem, e = loop.problem, loop.problem.equations
    q, _ = e.split(x)
    N = np.array([np.asarray(e.kinematics(q, unit, problem.p)).ravel() for unit in np.eye(e.nv)]).reshape(e.nv, e.nq).T
    T = np.zeros((e.nx, len(linear.states)))
    positions, speeds = linear.displacement_map.shape[1], linear.speed_map.shape[1]
    T[: e.nq, :positions] = N @ linear.displacement_map
    T[e.nq : e.nq + e.nv, positions : positions + speeds] = linear.speed_map
    names = problem.row_names["z"]
    for k, name in enumerate(linear.states[positions + speeds :]):
        T[e.nq + e.nv + names.index(name), positions + speeds + k] = 1.0
    return T


def _controller(block: DiscreteBlock, x: FloatArray, t: float) -> tuple[Sample, FloatArray]:
    """Return the function (memory, measured state) -> memory, outputs after the end of the path, and the memory at rest."""
    p = np.array([entry.default for entry in block.parameters])
    further = np.array([entry.default for entry in block.inputs])[len(x) :]

    def sample(memory: FloatArray, state: FloatArray) -> FloatArray:
        found: Any = block.step(t, memory, np.concatenate([state, further]), p, block.sample_time)
        return np.concatenate([np.asarray(part).ravel() for part in found])

    memory = np.array([entry.start for entry in block.memory])
    for _ in range(SETTLING):
        after = sample(memory, x)[: len(memory)]
        moved = np.abs(after - memory).max(initial=0.0)
        memory = after
        if not moved > AT_REST * (1 + np.abs(memory).max(initial=0.0)):
            break
    return sample, memory


def _factors(
    linear: Linearisation,
    block: DiscreteBlock,
    sample: Sample,
    memory: FloatArray,
    x: FloatArray,
    directions: FloatArray,
    driven: list[int],
) -> LoopStability:
    """Return the spectral radii of machine and controller, the machine with inputs that are held between samples."""
    n, m = len(linear.states), len(block.outputs)
    exponent = np.zeros((n + m, n + m))
    exponent[:n, :n], exponent[:n, n:] = linear.A, linear.B[:, driven]
    import scipy.linalg  # slow to import

    held = scipy.linalg.expm(exponent * block.sample_time)
    A, B = held[:n, :n], held[:n, n:]
    by_memory = _slope(lambda part: sample(part, x), memory)
    by_state = _slope(lambda part: sample(memory, x + directions @ part), np.zeros(n))
    k = len(memory)
    (M_m, C), (M_x, D) = ((part[:k], part[k:]) for part in (by_memory, by_state))
    at_once = np.block([[A + B @ D, B @ C], [M_x, M_m]])
    late = np.block([[A, np.zeros((n, k)), B], [M_x, M_m, np.zeros((k, m))], [D, C, np.zeros((m, m))]])
    return LoopStability(*(float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0)) for matrix in (at_once, late)))


def _slope(function: Callable[[FloatArray], FloatArray], at: FloatArray) -> FloatArray:
    """Return the derivative of a function by central differences."""
    columns = []
    for i in range(len(at)):
        reach = REACH * max(1.0, abs(float(at[i])))
        ahead, behind = at.copy(), at.copy()
        ahead[i] += reach
        behind[i] -= reach
        columns.append((function(ahead) - function(behind)) / (2 * reach))
    return np.array(columns).T.reshape(len(function(at)), len(at))
