"""Solutions of servo tasks by every method, each derived once and stepped as often as is asked for; and what they should be."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import scipy.integrate

from kingpost import KingpostError, MechanismError, RunSettings, open_model
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import Demands, refuse_if_impossible
from kingpost.control.servo.marching import Compiled
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.record import InverseRecord, history_of
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import consistent_start
from kingpost.control.servo.system import DirectInverse
from kingpost.registry.selection import select
from kingpost.simulation.grid import fixed_step_grid
from tests.validation.servo_cases import BY_NAME


@dataclass(frozen=True, eq=False)
class Solved:
    """Times, and coordinates and inputs in columns."""

    times: np.ndarray
    q: np.ndarray
    u: np.ndarray


@functools.cache
def posed(name, formulation="kane"):
    """Return a case as a servo problem."""
    case = BY_NAME[name]
    opened = open_model(case.model)
    how = RunSettings(formulation=formulation)
    return pose_servo(opened.mechanism, opened.task(case.task), how, values=dict(case.values))


@functools.cache
def report(name):
    """Return the index analysis in joint coordinates; it is the same problem in others."""
    return analyse(posed(name))


def coordinates(name):
    return [item.name for item in posed(name).equations.position_quantities]


@functools.cache
def started(name, order, formulation):
    return consistent_start(posed(name, formulation), order)


@functools.cache
def chosen(name, method, formulation):
    """Return a method of inverse dynamics and the start that it wants, or its refusal."""
    problem = posed(name, formulation)
    way = select(problem.posed.plugins.of("inverse_dynamics"), method).chosen()
    try:
        refusal = way.refusal(problem)
        if refusal:
            raise MechanismError(refusal)
        demands = Demands(way.name, way.realisations, way.causal, way.internal_states, way.redundant_inputs)
        refuse_if_impossible(report(name), demands)
        return way, started(name, report(name).index - 1 if way.order is None else way.order, formulation)
    except KingpostError as error:
        return error


def stepping(name, stepper, step=0.01):
    return select(posed(name).posed.plugins.of("servo_steppers"), f"{stepper}:step={step!r}")


@functools.cache
def compiled(name, method, stepper, formulation):
    """Return the steps of a method, for any length."""
    way, start = chosen(name, method, formulation)
    return Compiled(way.reduce(posed(name, formulation), start.point), stepping(name, stepper))


@functools.cache
def solution(name, method, stepper, step, formulation):
    """Return the solution of a case, or the refusal."""
    taken = chosen(name, method, formulation)
    if isinstance(taken, KingpostError):
        return taken
    way, start = taken
    problem = posed(name, formulation)
    times = fixed_step_grid(problem.task.t_start, problem.task.t_end, step, step).times
    try:
        if isinstance(way, DirectInverse):
            return ServoSolution(*way.solve(problem, start, times, lambda fraction: None))
        steps = compiled(name, method, stepper, formulation)
        return steps.march(start, times, f"method '{way.name}'", {}, lambda fraction: None)
    except KingpostError as error:
        return error


def solved(name, method, stepper, step, formulation="kane"):
    """Return times, coordinates and inputs of a case, or the refusal."""
    found, problem = solution(name, method, stepper, step, formulation), posed(name, formulation)
    if isinstance(found, KingpostError):
        return found
    return Solved(found.times, found.part(problem, "q"), found.part(problem, "u"))


def joint_coordinates(name, method, step, formulation):
    """Return those joint coordinates that a history in another formulation shows."""
    found = solution(name, method, "backward-euler", step, formulation)
    way, _ = chosen(name, method, formulation)
    record = InverseRecord(way, stepping(name, "backward-euler", step), "complete", 0.0, {}, report(name))
    history = history_of(posed(name, formulation), found, record)
    return {column: history[column] for column in coordinates(name) if column in history}


@functools.cache
def reference(name, step):
    """Return what is right at every step, in columns: coordinates, then inputs."""
    case = BY_NAME[name]
    if not case.internal:
        found = solved(name, "flat", "backward-euler", step)
        assert not isinstance(found, KingpostError), found
        return np.hstack([found.q, found.u])
    times = np.linspace(0.0, 6.0, round(6.0 / step) + 1)
    return damped_chain(name, times) if "mass-chain" in name else led_arm(name, times)


def led_arm(name, times):
    """Return the angles and the torque of the arm: (12) and (13) of document 003 as ordinary differential equations."""
    from tests.plugins.models.test_passive_joint_arm import T, of_the_document

    values = {"damping": 0.0, "kappa": 1 / 3, **dict(BY_NAME[name].values)}
    H = np.array([1 - values["kappa"], values["kappa"]])
    (gamma,) = posed(name).task.path.values()

    def torque(t, x):
        M, f = of_the_document(1, 1, 2, 2, 1, values["damping"], x[:2], x[2:])
        return M, f, (float(gamma.value(t, order=2)) - H @ np.linalg.solve(M, f)) / (H @ np.linalg.solve(M, [1, 0]))

    def rates(t, x):
        M, f, u = torque(t, x)
        return [*x[2:], *np.linalg.solve(M, f + [u, 0])]

    ran = scipy.integrate.solve_ivp(rates, (0, 6), np.zeros(4), t_eval=times, method="DOP853", rtol=1e-12, atol=1e-13)
    return np.array([[*np.linalg.solve(T, x[:2]), torque(t, x)[2]] for t, x in zip(times, ran.y.T, strict=True)])


def damped_chain(name, times):
    """Return places and force of masses on springs and dampers, each led by the next: T = d y' + k (y + l0) for each spring."""
    count = len(coordinates(name))
    (path,) = posed(name).task.path.values()
    k, d, free = 10.0, 10.0, 0.5
    masses = [1.0] + [2.0] * (count - 1)

    def jets(t, stretches):
        """Return the derivatives of all places, the last mass first, and those of the force in front of all."""
        places = [np.array([float(path.value(t, {}, order)) for order in range(9)])]
        pull = masses[-1] * places[0][2:]
        for y0, mass in zip(stretches, masses[-2::-1], strict=True):
            y = [y0]
            for order in range(len(pull)):
                y.append((pull[order] - k * (y[order] + (free if order == 0 else 0.0))) / d)
            before = places[-1][: len(y)] + np.array(y)
            places.append(before)
            pull = pull[: len(before) - 2] + mass * before[2:]
        return places, pull

    def rates(t, stretches):
        places, _ = jets(t, stretches)
        return [before[1] - after[1] for after, before in itertools.pairwise(places)]

    ran = scipy.integrate.solve_ivp(
        rates, (0.0, 6.0), [-free] * (count - 1), t_eval=times, method="DOP853", rtol=1e-12, atol=1e-13
    )
    rows = []
    for t, stretches in zip(times, ran.y.T, strict=True):
        places, pull = jets(t, stretches)
        rows.append([*(place[0] for place in places[::-1]), pull[0]])
    return np.array(rows)
