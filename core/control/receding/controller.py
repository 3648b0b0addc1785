"""Receding-horizon controllers: an optimal task becomes a block that plans anew at every sample, by one real-time iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, listed
from kingpost.control.blocks.description import DiscreteBlock, Measured, State
from kingpost.control.optimal.problem import OptimalProblem, pose_optimal
from kingpost.control.receding.checks import check_holding, checked_horizon
from kingpost.control.receding.horizon import Horizon
from kingpost.control.receding.iteration import RealTimeIteration
from kingpost.control.receding.options import RecedingOptions
from kingpost.control.receding.planning import IN_A_SAMPLE, Plan, Rest, planned
from kingpost.mechanism.elements import Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.registry.plugin import Plugin
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make, split_selection
from kingpost.simulation.settings import RunSettings

#: The integrator of predictions where nobody says.
DEFAULT_INTEGRATOR = "rk4"
#: The largest disturbance that is believed, in parts of the sizes of inputs.
BELIEVED = 1.0
#: Of directions of inputs that a disturbance cannot be seen in.
UNSEEN = 1e-9
#: What is told of plans: cost, iterations of the quadratic program, change of inputs in parts of their sizes, age in samples.
TOLD = (("plan.cost", "1"), ("plan.iterations", "1"), ("plan.change", "1"), ("plan.age", "1"))


class RecedingHorizon(Plugin):
    """The law: at every sample the optimal motion over a horizon is planned anew, and its first inputs are given."""

    kind = "feedback"
    name = "receding-horizon"
    Options = RecedingOptions

    @classmethod
    def selected(cls, selection: Any) -> RecedingHorizon:
        """Return the law that ``"receding-horizon:sample_time=0.05"``, a class or an instance selects."""
        if isinstance(selection, RecedingHorizon):
            return selection
        if isinstance(selection, type) and issubclass(selection, RecedingHorizon):
            return selection()
        name, options = split_selection(selection) if isinstance(selection, str) else (str(selection), {})
        if name != cls.name:
            raise MechanismError(
                f"feedback '{name}' keeps machines on the path of a servo task; the law for an optimal task is '{cls.name}'"
            )
        return make(cls, options)


class Receding:
    """A receding-horizon controller in the making: its problem, its horizon, and what it begins with."""

    def __init__(self, problem: OptimalProblem, options: RecedingOptions) -> None:
        self.problem, self.options = problem, options
        self.horizon: Horizon = checked_horizon(problem, options)
        self.iteration, self.rest = RealTimeIteration(self.horizon), Rest(self.horizon)
        task = problem.task
        self.arrival = task.t_start + task.horizon.high if options.arrival is None else options.arrival

    @property
    def numbers(self) -> dict[str, FloatArray]:
        """The numbers that a horizon takes, as they are at the start."""
        horizon, posed, options = self.horizon, self.problem.posed, self.options
        own = {
            "t": posed.t_start, "p": posed.p, "given": posed.u0, "d": np.zeros(horizon.nu), "hold": np.zeros(horizon.nu),
            "target": horizon.target_values, "arrival": self.arrival, "target_weight": options.target_weight,
            "terminal_weight": options.terminal_weight, "bound_weight": options.bound_weight,
            "limits": [row.limit for row in horizon.rows],
        }  # fmt: skip
        return {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in own.items()}

    def beginning(self) -> tuple[FloatArray, Plan, FloatArray]:
        """Return what holds the target, the first plan, and its numbers theta."""
        horizon, numbers = self.horizon, self.numbers
        held = self.rest.found(_joined(horizon, numbers))
        check_holding(horizon, held[horizon.nx :] * horizon.sizes)
        theta = _joined(horizon, numbers | {"hold": held[horizon.nx :] * horizon.sizes})
        before = self.problem.posed.u0[list(self.problem.driven)] / horizon.sizes
        s0 = np.concatenate([self.problem.x0, before])[: horizon.ns]
        return held, planned(horizon, s0, held, theta), theta

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of the machine, with the values that they have here, and those of the controller."""
        posed, options = self.problem.posed, self.options
        machine = [
            Parameter(
                item.name, float(posed.values.parameters[item.name]), item.unit, item.description, item.minimum, item.maximum
            )
            for item in posed.mechanism.parameters
        ]
        units = self.problem.units
        own = [
            Parameter("arrival", self.arrival, "s", "time at which the target is to be reached"),
            Parameter("target_weight", options.target_weight, "1/s", "of the distance from the target", minimum=0.0),
            Parameter("terminal_weight", options.terminal_weight, "1", "of it at the end of a plan", minimum=0.0),
            Parameter("bound_weight", options.bound_weight, "1", "of bounds that are violated", minimum=1e-9),
            Parameter("disturbance_gain", options.disturbance_gain, "1", "part of a disturbance believed", 0.0, 1.0),
        ]
        for row in self.horizon.rows:
            unit = f"{units[row.name]}/s" if row.kind == "rate" else units[row.name]
            own.append(Parameter(row.parameter, row.limit, unit, f"limit of '{row.name}'"))
        taken = [item.name for item in own if item.name in {entry.name for entry in machine}]
        if taken:
            raise MechanismError(
                f"'{posed.mechanism.name}' has a parameter '{taken[0]}', and so has the controller; call the machine's "
                "otherwise"
            )
        return (*machine, *own)

    def block(self) -> DiscreteBlock:
        """Return the controller."""
        horizon, problem, task = self.horizon, self.problem, self.problem.task
        held, plan, _ = self.beginning()
        posed, units = problem.posed, problem.units
        given = [row for row in range(problem.equations.nu) if row not in problem.driven]
        signals = posed.mechanism.inputs
        inputs = (
            *(
                Measured(item.name, item.unit, float(value), "measured")
                for item, value in zip(problem.equations.state_quantities, problem.x0, strict=True)
            ),
            *(Measured(signals[row].name, signals[row].unit, float(posed.u0[row]), "as the machine gets it") for row in given),
            *(
                Measured(f"desired.{name}", units[name], float(value), "target")
                for name, value in zip(horizon.targets, horizon.target_values, strict=True)
            ),
        )
        outputs = (*(Channel(name, units[name]) for name in task.inputs), *(Channel(*item) for item in TOLD))
        first = posed.u0[list(problem.driven)]
        memory = self._memory(plan, held, first)
        parameters = self.parameters()
        sizes = [1, len(memory), len(inputs), len(parameters), 1]
        return DiscreteBlock(
            f"{posed.mechanism.name}-{RecedingHorizon.name}",
            inputs=inputs,
            outputs=outputs,
            step=self._step(sizes, given),
            sample_time=horizon.h,
            memory=memory,
            parameters=parameters,
            held=(*(float(value) for value in first), *(0.0 for _ in TOLD)),
            description=(
                f"receding-horizon controller of '{posed.mechanism.name}' for {task.title}: {horizon.intervals} intervals of "
                f"{horizon.h:g} s"
            ),
            fallback=self._fallback(sizes),
        )

    def _memory(self, plan: Plan, held: FloatArray, first: FloatArray) -> tuple[State, ...]:
        """Return inputs of the plan by interval, its states by node, disturbances, rest, inputs before, cost and counts."""
        horizon, problem = self.horizon, self.problem
        units = problem.units
        names = problem.task.inputs
        rows = [
            *((f"plan.{k + 1}.{name}", units[name], plan.inputs[i, k] * horizon.sizes[i])
              for k in range(horizon.intervals) for i, name in enumerate(names)),
            *((f"plan.{k}.{item.name}", item.unit, plan.states[i, k])
              for k in range(horizon.intervals + 1) for i, item in enumerate(problem.equations.state_quantities)),
            *((f"disturbance.{name}", units[name], 0.0) for name in names),
            *((f"rest.{k + 1}", "1", value) for k, value in enumerate(held)),
            *((f"before.{name}", units[name], value) for name, value in zip(names, first, strict=True)),
            ("samples", "1", 0.0), ("plan_age", "1", 0.0), ("plan_cost", "1", plan.cost),
        ]  # fmt: skip
        return tuple(State(name, unit, float(value), shown=False) for name, unit, value in rows)

    def _remembered(self, memory: ca.MX) -> list[ca.MX]:
        """Return plan, its states, disturbances, rest, inputs before, samples, age, cost."""
        h = self.horizon
        sizes = [h.nu * h.intervals, h.nx * (h.intervals + 1), h.nu, h.nx + h.nu, h.nu, 1, 1, 1]
        parts = list(ca.vertsplit(memory, [0, *(int(end) for end in np.cumsum(sizes))]))
        parts[0] = ca.reshape(parts[0], h.nu, h.intervals)
        parts[1] = ca.reshape(parts[1], h.nx, h.intervals + 1)
        return parts

    def _numbers(self, t: ca.MX, p: ca.MX) -> dict[str, Any]:
        """Return the numbers of a horizon that are parameters, and the gain of disturbances."""
        count, rows = self.problem.equations.np, len(self.horizon.rows)
        own = p[count:, :]
        names = ("arrival", "target_weight", "terminal_weight", "bound_weight", "gain")
        numbers = {name: own[i] for i, name in enumerate(names)}
        return {"t": t, "p": p[:count, :], "limits": own[5 : 5 + rows, :], **numbers}

    def _step(self, sizes: list[int], given: list[int]) -> ca.Function:
        """Return the function (t, memory, inputs, parameters, h) -> memory, outputs; no number where there is no plan."""
        horizon, problem = self.horizon, self.problem
        scale = ca.DM(horizon.sizes)
        t, memory, u, p, _ = symbols = [ca.MX.sym(name, size) for name, size in zip("tmuph", sizes, strict=True)]
        plan, along, d, rest, before, samples, _, _ = self._remembered(memory)
        x, others = u[: horizon.nx, :], u[horizon.nx : horizon.nx + len(given), :]
        numbers = self._numbers(t, p)
        rows: list[Any] = [ca.MX(value) for value in problem.posed.u0]
        for i, row in enumerate(given):
            rows[row] = others[i]
        numbers |= {"given": ca.vertcat(ca.MX(0, 1), *rows), "target": u[horizon.nx + len(given) :, :], "d": d}
        still = horizon.theta(**numbers, hold=ca.MX.zeros(horizon.nu))
        for _ in range(IN_A_SAMPLE):
            rest = self.rest.nearer(rest, still)
        theta = horizon.theta(**numbers, hold=rest[horizon.nx :, :] * scale)
        states, inputs, cost, change, good, iterations, B = self.iteration.iteration(
            self._state(x, before),
            self._state(along, ca.horzcat(before, plan)),
            plan / ca.repmat(scale, 1, horizon.intervals),
            theta,
        )
        away = ca.if_else(samples > 0, x - along[:, 0], ca.MX.zeros(horizon.nx))
        d = ca.fmax(
            ca.fmin(d + numbers["gain"] * scale * _cause(B[: horizon.nx, :], away), BELIEVED * scale), -BELIEVED * scale
        )
        first = inputs[:, 0] * scale
        planned_on = inputs[:, 1:] * ca.repmat(scale, 1, horizon.intervals - 1)
        after = [
            *self._moved_on(planned_on, states[: horizon.nx, 1:], rest, d, first, theta),
            d, rest, first, samples + 1, ca.MX(0), cost,
        ]  # fmt: skip
        outputs = ca.vertcat(first, cost, iterations, change, 0)
        outputs = ca.if_else(good, outputs, ca.MX(ca.DM.nan(outputs.numel())))
        return ca.Function("kp_block_step", symbols, [ca.densify(ca.vertcat(*after)), ca.densify(outputs)])

    def _fallback(self, sizes: list[int]) -> ca.Function:
        """Return the function (t, memory, parameters, h) -> memory, outputs, of a sample that follows the plan as it is."""
        horizon = self.horizon
        scale = ca.DM(horizon.sizes)
        t, memory, p, _ = symbols = [ca.MX.sym(name, sizes[i]) for name, i in (("t", 0), ("m", 1), ("p", 3), ("h", 4))]
        plan, along, d, rest, before, samples, age, cost = self._remembered(memory)
        numbers = self._numbers(t, p)
        own = {name: ca.MX(ca.DM(self.numbers[name])) for name in ("given", "target")}
        theta = horizon.theta(**{**numbers, **own}, d=d, hold=ca.MX.zeros(horizon.nu))
        first = horizon.clipped(self._state(along[:, 0], before), plan[:, 0] / scale, theta) * scale
        after = [
            *self._moved_on(plan[:, 1:], along[:, 1:], rest, d, first, theta), d, rest, first, samples + 1, age + 1, cost,
        ]  # fmt: skip
        outputs = ca.vertcat(first, cost, 0, 0, age + 1)
        return ca.Function("kp_block_fallback", symbols, [ca.densify(ca.vertcat(*after)), ca.densify(outputs)])

    def _moved_on(self, plan: ca.MX, along: ca.MX, rest: ca.MX, d: ca.MX, first: ca.MX, theta: ca.MX) -> list[ca.MX]:
        """Return a plan and its states for the next sample: where the horizon moves on, the target is held."""
        horizon = self.horizon
        scale = ca.DM(horizon.sizes)
        last = self._state(along[:, -1], ca.horzcat(first, plan)[:, -1])
        u = horizon.clipped(last, rest[horizon.nx :, :] - d / scale, theta)
        following = horizon.step(last, u, horizon.intervals, theta)[: horizon.nx, :]
        return [ca.vec(ca.horzcat(plan, u * scale)), ca.vec(ca.horzcat(along, following))]

    def _state(self, x: ca.MX, before: ca.MX) -> ca.MX:
        """Return states as the horizon has them, with the inputs before where something asks for these."""
        scale = ca.repmat(ca.DM(self.horizon.sizes), 1, before.shape[1])
        return ca.vertcat(x, before / scale) if self.horizon.before else x


def _cause(B: ca.MX, away: ca.MX) -> ca.MX:
    """Return the inputs, in parts of sizes, that explain best how far a state is from what was expected."""
    normal = B.T @ B
    size = normal.shape[0]
    return ca.solve(normal + UNSEEN * (1e-12 + ca.trace(normal)) * ca.MX.eye(size), B.T @ away, "qr")


def _joined(horizon: Horizon, numbers: Mapping[str, FloatArray]) -> FloatArray:
    return np.concatenate([numbers[name] for name in horizon.parts])


def receding_horizon(
    mechanism: Mechanism,
    task: OptimalTask,
    feedback: Any = RecedingHorizon,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
) -> DiscreteBlock:
    """Return the receding-horizon controller of a machine and an optimal task as a sampled block.

    Parameters
    ----------
    mechanism, task
        The machine, and where it is to go; what the task names at the end is the target, ``desired.NAME`` among the inputs.
    feedback
        The options, e.g. ``"receding-horizon:sample_time=0.05,horizon=2"``.
    settings
        Parameters, inputs that stay what they are, and start values by name; before those of the task.
    how
        Formulation and integrator of the predictions, as for :func:`kingpost.simulate`; rk4 where nobody says.
    plugins
        The plugins to choose from; by default all built-in and installed ones.

    """
    law = RecedingHorizon.selected(feedback)
    return receding(mechanism, task, law.options, settings=settings, how=how, plugins=plugins).block()


def receding(
    mechanism: Mechanism,
    task: OptimalTask,
    options: RecedingOptions,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
) -> Receding:
    """Return a controller in the making, with everything checked that can be before a plan is looked for."""
    how = how or RunSettings()
    if how.integrator is None:
        how = replace(how, integrator=DEFAULT_INTEGRATOR)
    if task.free:
        raise MechanismError(
            f"{task.title}: {listed(task.free)} is free; a controller finds inputs alone. Give the parameter a value in "
            "settings",
            path=("free",),
        )
    return Receding(pose_optimal(mechanism, task, how, values=settings, plugins=plugins), options)
