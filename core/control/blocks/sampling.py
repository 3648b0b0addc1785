"""Sampled blocks: how a block with memory becomes equations with a step of their own, and continuous blocks become sampled."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.control.blocks.description import FAILED, OWN, REFUSED, Block, DiscreteBlock, State
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap

#: Times that are a sample time up to this part of the time between samples are taken as just that (c/sampling.c).
SAME_TIME = 1e-6
LARGEST = float(np.finfo(float).max)


class SampledBlock:
    """The functions of a block with memory.

    Its state is [memory; refused samples; failed samples; bad samples in a row; outputs that are held; time of the first
    sample].
    """

    def __init__(self, block: DiscreteBlock) -> None:
        self.block = block
        nm, ny = len(block.memory), len(block.outputs)
        held = tuple(block.held) or (0.0,) * ny
        self.states = (
            *block.memory,
            State(REFUSED, "1"),
            State(FAILED, "1"),
            State(f"{OWN}bad", "1", shown=False),
            *(State(f"{OWN}held.{out.name}", out.unit, value, False) for out, value in zip(block.outputs, held, strict=True)),
            State(f"{OWN}origin", "s", shown=False),
        )
        self.refused, self.failed, self.bad, self.held = nm, nm + 1, nm + 2, nm + 3
        self.origin = len(self.states) - 1

    def _parts(self, x: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """Return memory, the three counts, what is held, and the time of the first sample."""
        memory, counts, held, origin = ca.vertsplit(x, [0, self.refused, self.held, self.origin, len(self.states)])
        return memory, counts, held, origin

    def _symbols(self) -> list[ca.MX]:
        block = self.block
        sizes = [1, len(self.states), len(block.inputs), len(block.parameters)]
        return [ca.MX.sym(name, size) for name, size in zip("txup", sizes, strict=True)]

    def _choice(self, name: str) -> ca.Function:
        """The function (whether to take a sample, t, memory, held, u, p, h) -> whether it is good, memory, outputs."""
        block = self.block
        sizes = [1, len(block.memory), len(block.outputs), len(block.inputs), len(block.parameters), 1]
        t, memory, held, u, p, h = symbols = [ca.MX.sym(f"i{k}", size) for k, size in enumerate(sizes)]
        results = block.step.call([t, memory, u, p, h])
        good = all_finite(ca.vertcat(*results))
        taken = ca.Function(f"{name}_taken", symbols, [good, *(ca.densify(item) for item in results)])
        kept = ca.Function(f"{name}_kept", symbols, [ca.MX(0), memory, held])
        return ca.Function.if_else(name, taken, kept)

    def step(self) -> ca.Function:
        """The function (t, x, u, p, h) -> x after the sample at t."""
        t, x, u, p = self._symbols()
        h = ca.MX.sym("h")
        memory, counts, held, origin = self._parts(x)
        complete = all_finite(u)
        good, after, outputs = self._choice("kp_sample").call([complete, t, memory, held, u, p, h])
        other_memory, other_outputs = self._otherwise(t, memory, held, p, h)
        # What is good is chosen, not weighed: what is no number times zero is none either.
        after, outputs = ca.if_else(good, after, other_memory), ca.if_else(good, outputs, other_outputs)
        refused, failed = counts[0] + ca.logic_not(complete), counts[1] + ca.logic_and(complete, ca.logic_not(good))
        bad = ca.if_else(good, 0, counts[2] + 1)
        following = ca.vertcat(after, refused, failed, bad, outputs, origin)
        return ca.Function("kp_sampled_step", [t, x, u, p, h], [ca.densify(following)])

    def _otherwise(self, t: ca.MX, memory: ca.MX, held: ca.MX, p: ca.MX, h: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return memory and outputs after a sample that is refused or fails."""
        if self.block.fallback is None:
            return memory, held
        after, outputs = self.block.fallback.call([t, memory, p, h])
        good = all_finite(ca.vertcat(after, outputs))
        return ca.if_else(good, after, memory), ca.if_else(good, outputs, held)

    def outputs(self) -> ca.Function:
        """The function (t, x, u, p) -> outputs: at a sample time what the step says, in between what is held.

        An output that no input reaches at once follows from the memory alone, whatever the inputs are.
        """
        t, x, u, p = self._symbols()
        h = ca.MX(self.block.sample_time)
        memory, _, held, origin = self._parts(x)
        place = (t - origin) / h
        number = ca.floor(place + 0.5)
        due = ca.fabs(place - number) <= SAME_TIME
        now = origin + number * h
        arguments = [ca.logic_and(due, all_finite(u)), now, memory, held, u, p, h]
        good, _, outputs = self._choice("kp_sample_seen").call(arguments)
        other = ca.if_else(due, self._otherwise(now, memory, held, p, h)[1], held)
        values = ca.if_else(good, outputs, other)
        remembered = self._remembered()
        if remembered:
            free = self.block.step.call([now, memory, ca.MX.zeros(u.numel()), p, h])[1][remembered]
            free = ca.if_else(ca.logic_and(due, all_finite(free)), free, held[remembered])
            rows = [free[remembered.index(k)] if k in remembered else values[k] for k in range(len(self.block.outputs))]
            values = ca.vertcat(*rows)
        return ca.Function("kp_sampled_outputs", [t, x, u, p], [ca.densify(values)])

    def _remembered(self) -> list[int]:
        """Return the outputs that no input reaches at once."""
        step = self.block.step
        if not self.block.outputs:
            return []
        reached = set(step.jac_sparsity(1, 2).row()) if self.block.inputs else set()
        return [k for k in range(len(self.block.outputs)) if k not in reached]


class Sampling(StepMap):
    """What advances a block with memory: its own step."""

    name = "sampled"
    order = 1

    def __init__(self, block: SampledBlock) -> None:
        super().__init__()
        self._step = block.step()

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        return self._step(t, x, u, p, h)


def all_finite(vector: ca.MX) -> ca.MX:
    """Return whether all entries are finite numbers."""
    return ca.sum1(ca.fabs(vector) <= LARGEST) == vector.numel() if vector.numel() else ca.MX(1)


def sampled(block: Block, sample_time: float, held: tuple[float, ...] = (), divisions: int = 1) -> DiscreteBlock:
    """Return a continuous block as one that works at sample times: outputs hold in between, and so do inputs.

    Its states go from sample to sample by ``divisions`` steps of the classical Runge-Kutta method, order 4.
    """
    body = block.function
    sizes = [1, len(block.states), len(block.inputs), len(block.parameters), 1]
    time, begin, given, numbers, length = symbols = [ca.MX.sym(name, size) for name, size in zip("txuph", sizes, strict=True)]

    def slope(now: ca.MX, state: ca.MX) -> ca.MX:
        return body.call([now, state, given, numbers])[0]

    state, part = begin, length / divisions
    for k in range(divisions if len(block.states) else 0):
        now = time + k * part
        k1 = slope(now, state)
        k2 = slope(now + part / 2, state + part / 2 * k1)
        k3 = slope(now + part / 2, state + part / 2 * k2)
        k4 = slope(now + part, state + part * k3)
        state = state + part / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    outputs = body.call([time, begin, given, numbers])[1]
    step = ca.Function("kp_block_step", symbols, [ca.densify(state), ca.densify(outputs)])
    return DiscreteBlock(
        block.name,
        inputs=block.inputs,
        outputs=block.outputs,
        step=step,
        sample_time=sample_time,
        memory=block.states,
        parameters=block.parameters,
        held=held,
        description=block.description,
    )
