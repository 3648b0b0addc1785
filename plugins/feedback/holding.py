"""The sample of the controller that holds a load in the world: drives' set-points from base motion and load, within bounds.

Set-points that leave at a sample act from the next one on, until the one after it. So they are made for a time that lies
``lead`` ahead of the sample; the base is where its pose, twist and rate of twist take it by then. Drives that know when their
set-points were true move on by themselves between samples; for others that time is in the middle of the sample over which they
hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    @property
    def _sizes(self) -> list[int]:
        return [self.n] * 7 + [3] * 4 + [1] * 4

    def step(self, inputs: int, parameters: int) -> ca.Function:
        """Return the function (t, memory, inputs, parameters, h) -> memory, outputs.

        Inputs: the machine's inputs that are no set-points, the drives' coordinates, the load's place and perhaps velocity, and
        what else there is for the path. Outputs: set-points and their rates, when these are true where somebody asks, the gap's
        size, and how many drives a bound holds.
        """
        n, base = self.n, len(self.suspension.base_inputs)
        sizes = [1, sum(self._sizes), inputs, parameters, 1]
        t, memory, u, p, h = symbols = [ca.MX.sym(name, size) for name, size in zip("txuph", sizes, strict=True)]
        ends = [0]
        for size in self._sizes:
            ends.append(ends[-1] + size)
        out, out_rate, q, v, first, found, given_way, gap, integral, offset, seen, begun, begin, bound, true_at = ca.vertsplit(
            memory, ends
        )
        # Outputs come from the memory alone: no master has a loop to solve, and what a bound allows holds in any of them.
        missing = ca.norm_2(gap)
        stamps = [true_at] * len(self.suspension.stamps)
        shown = [ca.densify(ca.vertcat(*(ca.vertcat(out[k], out_rate[k]) for k in range(n)), *stamps, missing, bound))]

        machine, own = p[: self.machine_parameters, :], p[self.machine_parameters :, :]
        names = (
            "correction",
            "damping",
            "integral",
            "integral_limit",
            "posture",
            "engage",
            "lead",
            "motion_first",
            "smoothing",
        )
        law = dict(zip(names, ca.vertsplit(own[: len(names), :]), strict=True))
        limits = ca.reshape(own[len(names) :, :], 5, n).T
        rate_limit, acceleration, minimum, maximum, weight = (limits[:, k] for k in range(5))
        given, angles, place = u[:base, :], u[base : base + n, :], u[base + n : base + n + 3, :]

        fresh = begun == 0
        q, first = ca.if_else(fresh, angles, q), ca.if_else(fresh, angles, first)
        begin, seen = ca.if_else(fresh, t, begin), ca.if_else(fresh, place, seen)
        velocity = u[base + n + 3 : base + n + 6, :] if self.measured_velocity else (place - seen) / h
        now = self.path.call([t, u, machine, ca.MX(0)])
        offset = ca.if_else(fresh, place - now[0], offset)

        ahead = t + law["lead"]
        wanted = self.path.call([t, u, machine, law["lead"]])
        fading = self._fading(ahead - begin, law["engage"])
        faded_now = self._fading(t - begin, law["engage"])
        y = wanted[0] + fading[0] * offset + integral
        g = self.suspension.gravity_function(t, given, machine)
        down = g / ca.norm_2(g)
        length = self.suspension.gap_function(t, q, given, machine, place, -g)[2]
        swing = 2 * law["damping"] * ca.sqrt(ca.norm_2(g) / ca.fmax(length, 1e-3))
        late = now[1] + faded_now[1] * offset - velocity
        # Along the rope's direction at rest the rope itself is the spring; only swinging is damped here.
        late = late - down * ca.dot(down, late)
        free = wanted[2] + fading[2] * offset + swing * late - g

        midway = q + h / 2 * v
        gap_before, _, _ = self.suspension.gap_function.call([ahead, q, given, machine, y, free])
        _, J, _ = self.suspension.gap_function.call([ahead, midway, given, machine, y, free])
        gap = ca.if_else(fresh, gap_before, gap)
        b = -(gap_before - (1 - ca.fmin(law["correction"] * h, 1)) * gap) / h
        low, high = self._bounds(q, v, h, rate_limit, acceleration, minimum, maximum)
        resting = law["posture"] * (first - q)
        weights = weight * (law["motion_first"] / ca.fmax(rate_limit, 1e-9)) ** 2
        speed = self.allocate(J, b, resting, weights, low, high)
        q_next = q + h * speed
        gap_after, _, _ = self.suspension.gap_function.call([ahead, q_next, given, machine, y, free])
        short = ca.norm_2(J @ speed - b)

        # The mean rate of the last h is that of its middle: half of it on, at the time the set-points are for.
        rate = ca.fmin(ca.fmax(speed + (speed - v) / 2, -rate_limit), rate_limit)
        carrying = self.suspension.setpoint_function(ahead, q_next, rate, (speed - v) / h, given, machine, free)
        # On a light vessel what drives push against moves the base, which they would answer at once: not faster than this.
        follow = ca.if_else(fresh, 1, 1 - ca.exp(-h / ca.fmax(law["smoothing"], 1e-9)))
        given_way = given_way + follow * (carrying - q_next - given_way)
        found = ca.if_else(fresh, out - q_next - given_way, found)
        aim = q_next + given_way + fading[0] * found
        least, most = ca.fmax(out - h * rate_limit, minimum), ca.fmin(out + h * rate_limit, maximum)
        # A set-point beyond its range comes back at its rate.
        aim = ca.fmin(ca.fmax(aim, ca.fmin(least, out + h * rate_limit)), ca.fmax(most, out - h * rate_limit))
        held = ca.logic_or(speed <= low, speed >= high)
        # What goes on with its rate until the next sample stays in its range, too.
        sent = ca.fmin(ca.fmax(rate, ca.fmin(minimum - aim, 0) / h), ca.fmax(maximum - aim, 0) / h)

        # What the load does while it is taken over is no error that stays.
        gain = ca.if_else(short < SHORT, h, 0) * law["integral"] * (1 - faded_now[0])
        grown = integral + gain * (now[0] + faded_now[0] * offset - place)
        integral = ca.fmin(ca.fmax(grown, -law["integral_limit"]), law["integral_limit"])
        after = ca.vertcat(
            aim, sent, q_next, speed, first, found, given_way, gap_after, integral, offset, place, 1, begin, ca.sum1(held),
            ahead,
        )  # fmt: skip
        return ca.Function("kp_block_step", symbols, [ca.densify(after), *shown])

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
    def _bounds(q: Any, v: Any, h: Any, rate: Any, acceleration: Any, minimum: Any, maximum: Any) -> tuple[Any, Any]:
        """Return the least and the largest rate: that of the drive, what it can reach from v, and what it can still brake."""

        def brake(room: Any) -> Any:
            # Braking from v after a step of h takes h v + v^2 / (2 a).
            step = acceleration * h
            return ca.fmin(ca.sqrt(step**2 + 2 * acceleration * ca.fmax(room, 0)) - step, ca.fmax(room, 0) / h)

        high = ca.fmin(rate, brake(maximum - q))
        low = -ca.fmin(rate, brake(q - minimum))
        # The range of a drive comes before its acceleration.
        return ca.fmax(low, ca.fmin(high, v - acceleration * h)), ca.fmin(high, ca.fmax(low, v + acceleration * h))
