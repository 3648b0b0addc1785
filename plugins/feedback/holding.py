"""The sample of the controller that holds a load in the world: drives' set-points from base motion and load, within bounds.

Set-points that leave at a sample act from the next one on, until the one after it. So they are made for a time that lies
``lead`` ahead of the sample; the base is where its pose, twist and rate of twist take it by then. Drives that know when their
set-points were true move on by themselves between samples; for others that time is in the middle of the sample over which they
hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import casadi as ca

from kingpost.control.allocation import allocation
from kingpost.control.blocks.description import State
from kingpost.mechanism.elements import Parameter
from kingpost.plugins.feedback.suspension import Drive, Suspension

#: Coefficients of the polynomial that falls from 1 to 0 over 0 to 1 with two continuous derivatives, highest power first.
FADE = (-6.0, 15.0, -10.0, 0.0, 0.0, 1.0)
#: The integral of errors stops while drives cannot do what is asked of them by more than this (m/s).
SHORT = 1e-3
AXES = "xyz"


@dataclass(frozen=True)
class Law:
    """Numbers of the controller that its parameters start from; see the options of the plugin."""

    correction: float
    damping: float
    integral: float
    integral_limit: float
    posture: float
    engage: float
    lead: float
    motion_first: float
    smoothing: float


def law_parameters(law: Law) -> tuple[Parameter, ...]:
    """Return the parameters of the law."""
    return (
        Parameter("hold_correction", law.correction, "1/s", "how fast drives return after a bound has held them", minimum=0.0),
        Parameter("hold_damping", law.damping, "1", "damping ratio that the swing of the load is given", minimum=0.0),
        Parameter("hold_integral", law.integral, "1/s", "gain of the integral of the load's position error", minimum=0.0),
        Parameter("hold_integral_limit", law.integral_limit, "m", "largest correction by the integral", minimum=0.0),
        Parameter("hold_posture", law.posture, "1/s", "how fast drives return to their first angles where the load lets them",
                  minimum=0.0),
        Parameter("hold_engage", law.engage, "s", "time from where the load was found to where the path is", minimum=0.0),
        Parameter("hold_lead", law.lead, "s", "how far ahead of a sample the set-points are true"),
        Parameter("hold_motion_first", law.motion_first, "m/s",
                  "speed of the load that all drives at full rate are worth: the smaller, the more the motion comes first",
                  minimum=1e-9),
        Parameter("hold_smoothing", law.smoothing, "s", "time constant of what set-points hold against loads", minimum=0.0),
    )  # fmt: skip


def drive_parameters(drive: Drive, bounds: Mapping[str, float]) -> tuple[Parameter, ...]:
    """Return the bounds and the weight of a drive."""
    unit, name = drive.unit, drive.name
    return (
        Parameter(f"{name}_rate_limit", bounds["rates"], f"{unit}/s", f"largest rate of the {name} set-point", minimum=0.0),
        Parameter(f"{name}_acceleration_limit", bounds["accelerations"], f"{unit}/s2",
                  "largest change of that rate", minimum=1e-9),
        Parameter(f"{name}_minimum", bounds["minimum"], unit, f"smallest {name} set-point"),
        Parameter(f"{name}_maximum", bounds["maximum"], unit, f"largest {name} set-point"),
        Parameter(f"{name}_weight", bounds["weights"], "1", f"how much the {name} drive is spared", minimum=1e-9),
    )  # fmt: skip


class Memory(NamedTuple):
    """What is remembered from sample to sample, in the order of :meth:`Holding.memory`."""

    set_point: ca.MX
    set_point_rate: ca.MX
    planned: ca.MX
    planned_rate: ca.MX
    #: Where drives were found, and how far their set-points were from there.
    first: ca.MX
    found: ca.MX
    given_way: ca.MX
    gap: ca.MX
    integral: ca.MX
    #: How far the load was from its path at first, and where it was last.
    offset: ca.MX
    seen: ca.MX
    begun: ca.MX
    begin: ca.MX
    bound_drives: ca.MX
    true_at: ca.MX

    @staticmethod
    def sizes(drives: int) -> list[int]:
        """Return how many numbers each part has."""
        return [drives] * 7 + [3] * 4 + [1] * 4

    @staticmethod
    def split(whole: ca.MX, drives: int) -> Memory:
        """Return the parts of what is remembered."""
        ends = [0, *itertools.accumulate(Memory.sizes(drives))]
        return Memory(*ca.vertsplit(whole, ends))


class Limits(NamedTuple):
    """The bounds and the weight of every drive, in the order of :func:`drive_parameters`."""

    rate: ca.MX
    acceleration: ca.MX
    minimum: ca.MX
    maximum: ca.MX
    weight: ca.MX


class Sample(NamedTuple):
    """What is known when a sample is taken."""

    t: ca.MX
    h: ca.MX
    u: ca.MX
    machine: ca.MX
    law: Mapping[str, ca.MX]
    limits: Limits
    #: The inputs of the machine that are no set-points; where drives and load are; how fast it is, where that is measured.
    given: ca.MX
    angles: ca.MX
    place: ca.MX
    velocity: ca.MX | None
    #: Place, velocity and acceleration on the path at this time.
    now: Sequence[ca.MX]


class Goal(NamedTuple):
    """Where the load is to be when the set-points act, the acceleration less gravity there, and how far it is off now."""

    ahead: ca.MX
    place: ca.MX
    free: ca.MX
    error: ca.MX
    #: What is left of the first offset then, and now.
    fading: ca.MX
    fading_now: ca.MX


class Motion(NamedTuple):
    """What drives do over a sample: where they are after it and how fast, the gap then, and what they fall short of (m/s)."""

    planned: ca.MX
    speed: ca.MX
    gap: ca.MX
    short: ca.MX
    #: How many of them a bound holds.
    held: ca.MX


class Holding:
    """The step of the controller: memory, inputs and outputs, and what ties them."""

    def __init__(self, suspension: Suspension, path: ca.Function, parameters: int, measured_velocity: bool) -> None:
        self.suspension, self.path, self.measured_velocity = suspension, path, measured_velocity
        self.n, self.machine_parameters = len(suspension.drives), parameters
        self.allocate = allocation(3, self.n)

    def memory(self, targets: Sequence[float]) -> tuple[State, ...]:
        """Return what is remembered; set-points start at ``targets``."""
        drives = self.suspension.drives
        return (
            *(State(f"{d.name}.setpoint", d.unit, value) for d, value in zip(drives, targets, strict=True)),
            *(State(f"{d.name}.setpoint.rate", f"{d.unit}/s") for d in drives),
            *(State(f"{d.name}.planned", d.unit) for d in drives),
            *(State(f"{d.name}.planned.rate", f"{d.unit}/s") for d in drives),
            *(State(f"{d.name}.first", d.unit, shown=False) for d in drives),
            *(State(f"{d.name}.found", d.unit, shown=False) for d in drives),
            *(State(f"{d.name}.given_way", d.unit) for d in drives),
            *(State(f"gap.{axis}", "m") for axis in AXES),
            *(State(f"integral.{axis}", "m") for axis in AXES),
            *(State(f"offset.{axis}", "m", shown=False) for axis in AXES),
            *(State(f"seen.{axis}", "m", shown=False) for axis in AXES),
            State("begun", "1", shown=False),
            State("begin", "s", shown=False),
            State("bound_drives", "1"),
            State("true_at", "s"),
        )

    def step(self, inputs: int, parameters: int) -> ca.Function:
        """Return the function (t, memory, inputs, parameters, h) -> memory, outputs.

        Inputs: the machine's inputs that are no set-points, the drives' coordinates, the load's place and perhaps velocity, and
        what else there is for the path. Outputs: set-points and their rates, when these are true where somebody asks, the gap's
        size, and how many drives a bound holds.
        """
        sizes = [1, sum(Memory.sizes(self.n)), inputs, parameters, 1]
        t, memory, u, p, h = symbols = [ca.MX.sym(name, size) for name, size in zip("txuph", sizes, strict=True)]
        old = Memory.split(memory, self.n)
        shown = self._shown(old)
        sample = self._sample(t, u, p, h)
        old = self._taken_over(sample, old)
        goal = self._goal(sample, old)
        motion = self._motion(sample, old, goal)
        new = self._remembered(sample, old, goal, motion)
        return ca.Function("kp_block_step", symbols, [ca.densify(ca.vertcat(*new)), shown])

    def _shown(self, old: Memory) -> ca.MX:
        """Return the outputs, from the memory alone: no master has a loop to solve, and bounds hold in any of them."""
        set_points = (ca.vertcat(old.set_point[k], old.set_point_rate[k]) for k in range(self.n))
        stamps = [old.true_at] * len(self.suspension.stamps)
        return ca.densify(ca.vertcat(*set_points, *stamps, ca.norm_2(old.gap), old.bound_drives))

    def _sample(self, t: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> Sample:
        """Return what is known at a sample: measurements, and the parameters by name."""
        n, base = self.n, len(self.suspension.base_inputs)
        machine, own = p[: self.machine_parameters, :], p[self.machine_parameters :, :]
        names = [field.name for field in fields(Law)]
        law = dict(zip(names, ca.vertsplit(own[: len(names), :]), strict=True))
        limits = ca.reshape(own[len(names) :, :], 5, n).T
        given, angles, place = u[:base, :], u[base : base + n, :], u[base + n : base + n + 3, :]
        velocity = u[base + n + 3 : base + n + 6, :] if self.measured_velocity else None
        now = self.path.call([t, u, machine, ca.MX(0)])
        return Sample(t, h, u, machine, law, Limits(*(limits[:, k] for k in range(5))), given, angles, place, velocity, now)

    def _taken_over(self, sample: Sample, old: Memory) -> Memory:
        """Return the memory; at the first sample, of where drives and load are found."""
        fresh = old.begun == 0
        return old._replace(
            planned=ca.if_else(fresh, sample.angles, old.planned),
            first=ca.if_else(fresh, sample.angles, old.first),
            begin=ca.if_else(fresh, sample.t, old.begin),
            seen=ca.if_else(fresh, sample.place, old.seen),
            offset=ca.if_else(fresh, sample.place - sample.now[0], old.offset),
        )

    def _goal(self, sample: Sample, old: Memory) -> Goal:
        """Return where the load is to be when the set-points act, and the acceleration that its rope is to give it there."""
        t, law, machine = sample.t, sample.law, sample.machine
        now, wanted = sample.now, self.path.call([t, sample.u, machine, law["lead"]])
        ahead = t + law["lead"]
        fading, fading_now = self._fading(ahead - old.begin, law["engage"]), self._fading(t - old.begin, law["engage"])
        g = self.suspension.gravity_function(t, sample.given, machine)
        down = g / ca.norm_2(g)
        length = self.suspension.gap_function(t, old.planned, sample.given, machine, sample.place, -g)[2]
        swing = 2 * law["damping"] * ca.sqrt(ca.norm_2(g) / ca.fmax(length, 1e-3))
        velocity = (sample.place - old.seen) / sample.h if sample.velocity is None else sample.velocity
        late = now[1] + fading_now[1] * old.offset - velocity
        # Along the rope's direction at rest the rope itself is the spring; only swinging is damped here.
        late = late - down * ca.dot(down, late)
        return Goal(
            ahead,
            place=wanted[0] + fading[0] * old.offset + old.integral,
            free=wanted[2] + fading[2] * old.offset + swing * late - g,
            error=now[0] + fading_now[0] * old.offset - sample.place,
            fading=fading[0],
            fading_now=fading_now[0],
        )

    def _motion(self, sample: Sample, old: Memory, goal: Goal) -> Motion:
        """Return how drives move over a sample so that the gap closes, within their bounds."""
        h, law, limits, q = sample.h, sample.law, sample.limits, old.planned

        def gap_at(angles: ca.MX) -> list[ca.MX]:
            known = [goal.ahead, angles, sample.given, sample.machine, goal.place, goal.free]
            return list(self.suspension.gap_function.call(known))

        before, J = gap_at(q)[0], gap_at(q + h / 2 * old.planned_rate)[1]
        gap = ca.if_else(old.begun == 0, before, old.gap)
        b = -(before - (1 - ca.fmin(law["correction"] * h, 1)) * gap) / h
        low, high = self._bounds(q, old.planned_rate, h, limits)
        resting = law["posture"] * (old.first - q)
        weights = limits.weight * (law["motion_first"] / ca.fmax(limits.rate, 1e-9)) ** 2
        speed = self.allocate(J, b, resting, weights, low, high)
        after = q + h * speed
        held = ca.sum1(ca.logic_or(speed <= low, speed >= high))
        return Motion(after, speed, gap_at(after)[0], short=ca.norm_2(J @ speed - b), held=held)

    def _set_points(self, sample: Sample, old: Memory, goal: Goal, motion: Motion) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """Return the set-points by which drives do so, their rates, what they give way by, and what was found at the first."""
        h, limits, out = sample.h, sample.limits, old.set_point
        fresh, change = old.begun == 0, motion.speed - old.planned_rate
        # The mean rate of the last h is that of its middle: half of it on, at the time the set-points are for.
        rate = ca.fmin(ca.fmax(motion.speed + change / 2, -limits.rate), limits.rate)
        carrying = self.suspension.setpoint_function(
            goal.ahead, motion.planned, rate, change / h, sample.given, sample.machine, goal.free
        )
        # On a light vessel what drives push against moves the base, which they would answer at once: not faster than this.
        follow = ca.if_else(fresh, 1, 1 - ca.exp(-h / ca.fmax(sample.law["smoothing"], 1e-9)))
        given_way = old.given_way + follow * (carrying - motion.planned - old.given_way)
        found = ca.if_else(fresh, out - motion.planned - given_way, old.found)
        aim = motion.planned + given_way + goal.fading * found
        least, most = ca.fmax(out - h * limits.rate, limits.minimum), ca.fmin(out + h * limits.rate, limits.maximum)
        # A set-point beyond its range comes back at its rate.
        aim = ca.fmin(ca.fmax(aim, ca.fmin(least, out + h * limits.rate)), ca.fmax(most, out - h * limits.rate))
        # What goes on with its rate until the next sample stays in its range, too.
        sent = ca.fmin(ca.fmax(rate, ca.fmin(limits.minimum - aim, 0) / h), ca.fmax(limits.maximum - aim, 0) / h)
        return aim, sent, given_way, found

    def _remembered(self, sample: Sample, old: Memory, goal: Goal, motion: Motion) -> Memory:
        """Return the memory after a sample."""
        law = sample.law
        set_point, rate, given_way, found = self._set_points(sample, old, goal, motion)
        # What the load does while it is taken over is no error that stays.
        gain = ca.if_else(motion.short < SHORT, sample.h, 0) * law["integral"] * (1 - goal.fading_now)
        integral = ca.fmin(ca.fmax(old.integral + gain * goal.error, -law["integral_limit"]), law["integral_limit"])
        return Memory(
            set_point, rate, motion.planned, motion.speed, old.first, found, given_way, motion.gap, integral, old.offset,
            sample.place, ca.MX(1), old.begin, motion.held, goal.ahead,
        )  # fmt: skip

    @staticmethod
    def _fading(since: ca.MX, engage: ca.MX) -> list[ca.MX]:
        """Return what is left of the first offset after a time, with two derivatives; nothing at once if there is no time."""
        span = ca.fmax(engage, 1e-9)
        x = ca.fmin(ca.fmax(since / span, 0), 1)
        rows: list[Any] = []
        coefficients: Sequence[float] = FADE
        for order in range(3):
            value: Any = ca.MX(0)
            for c in coefficients:
                value = value * x + c
            rows.append(value / span**order)
            degree = len(coefficients) - 1
            coefficients = [c * (degree - k) for k, c in enumerate(coefficients[:-1])]
        return rows

    @staticmethod
    def _bounds(q: ca.MX, v: ca.MX, h: ca.MX, limits: Limits) -> tuple[ca.MX, ca.MX]:
        """Return the least and the largest rate: that of the drive, what it can reach from v, and what it can still brake."""
        acceleration = limits.acceleration

        def brake(room: Any) -> Any:
            # Braking from v after a step of h takes h v + v^2 / (2 a).
            step = acceleration * h
            return ca.fmin(ca.sqrt(step**2 + 2 * acceleration * ca.fmax(room, 0)) - step, ca.fmax(room, 0) / h)

        high = ca.fmin(limits.rate, brake(limits.maximum - q))
        low = -ca.fmin(limits.rate, brake(q - limits.minimum))
        # The range of a drive comes before its acceleration.
        return ca.fmax(low, ca.fmin(high, v - acceleration * h)), ca.fmin(high, ca.fmax(low, v + acceleration * h))
