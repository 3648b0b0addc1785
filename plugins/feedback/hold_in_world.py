"""Hold a load in the world, or move it there, from a machine on a base that moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.control.blocks.description import DiscreteBlock, Measured
from kingpost.control.servo.feedback import Feedback, FeedbackOptions, ServoLoop
from kingpost.control.servo.problem import ServoProblem
from kingpost.mechanism.elements import Input
from kingpost.plugins.feedback.holding import Holding, Law, drive_parameters, law_parameters
from kingpost.plugins.feedback.suspension import Drive, Suspension

#: Where nobody says: rates of drives that turn and that slide, and the speed of a rope on its drum (rad/s, m/s).
TURNING, SLIDING, HAULING = 0.1, 1.0, 2.0
#: A drive reaches its rate in this time (s), and has no end within this range (rad, m), where nobody says.
SPEED_UP, ENDLESS = 0.5, 1e4
#: Times along a path at which it is tried whether the load can be there, and how near is there (m).
TRIED, REACHED = 25, 1e-3
EACH = ("rates", "accelerations", "minimum", "maximum", "weights")


@dataclass(frozen=True)
class HoldInWorldOptions(FeedbackOptions):
    """Bounds and weights of the drives, and how the load is held.

    ``rates``, ``accelerations``, ``minimum``, ``maximum`` and ``weights`` are one number for all drives, or one for each by its
    name (the input of its set-point without ``_target``): a table, or a text such as ``"slew=0.1 luff=0.08"``. What is not
    given: 0.1 rad/s, 1 m/s, or 2 m/s of rope; that rate in 0.5 s; no ends; a weight of 1.

    ``correction`` (1/s): how fast drives make up for what bounds kept them from. ``damping``: the damping ratio that the swing
    of the load gets by feedback. ``integral`` (1/s) and ``integral_limit`` (m): feedback of the load's position. ``posture``
    (1/s): how fast drives return to their first angles as far as the load does not feel it. ``engage`` (s): time from where the
    load is found to where the path is. ``lead`` (s): how far ahead of a sample set-points are true; where nobody says, one
    sample until they act, and half of one more for drives that hold them. ``motion_first`` (m/s): the smaller, the more the
    load's motion comes before the norm of the rates. ``smoothing`` (s): time constant of what set-points add for the loads that
    drives give way under.
    """

    rates: Any = None
    accelerations: Any = None
    minimum: Any = None
    maximum: Any = None
    weights: Any = 1.0
    correction: float = 1.0
    damping: float = 0.3
    integral: float = 0.05
    integral_limit: float = 1.0
    posture: float = 0.05
    engage: float = 10.0
    lead: float | None = None
    motion_first: float = 1e-3
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("correction", "damping", "integral", "integral_limit", "posture", "engage", "smoothing"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise MechanismError(f"{name} = {value:g}: it must be finite and not negative", path=(name,))
        if not (math.isfinite(self.motion_first) and self.motion_first > 0):
            raise MechanismError(f"motion_first = {self.motion_first:g} m/s: it must be positive", path=("motion_first",))
        for name in EACH:
            object.__setattr__(self, name, _each(name, getattr(self, name)))

    def law(self, usual_lead: float) -> Law:
        """Return the numbers of the law."""
        lead = usual_lead if self.lead is None else self.lead
        return Law(
            self.correction,
            self.damping,
            self.integral,
            self.integral_limit,
            self.posture,
            self.engage,
            lead,
            self.motion_first,
            self.smoothing,
        )


class HoldInWorld(Feedback):
    """Hold the end of a rope in the world, or lead it along a path, from a machine whose base moves.

    Base motion comes in as pose, twist and rate of twist. Since a load on a rope is flat, its place and acceleration say where
    the rope's upper end and how long the rope must be; the drives share that by weighted least norm within their bounds.
    Set-points hold what the drives' springs give way under load, and their rates are fed forward. Feedback of the load's
    velocity damps its swing, that of its place takes away what stays.
    """

    name = "hold-in-world"
    Options = HoldInWorldOptions
    exact = False

    def controller(self, loop: ServoLoop) -> DiscreteBlock:
        """Return the controller; drives may be more than the three coordinates of the load, so no index is asked for."""
        return self.block(loop)

    def block(self, loop: ServoLoop) -> DiscreteBlock:
        problem, options = loop.problem, self.options
        mechanism, task = problem.equations.mechanism, problem.task
        suspension = Suspension(mechanism, task.inputs, task.measures, problem.posed.plugins)
        bounds = [self._bounds(suspension, drive, problem) for drive in suspension.drives]
        velocity = suspension.velocity_output()
        inputs = self._inputs(loop, suspension)
        first = len(inputs) - 3 * len(task.measures) if loop.path_from == "inputs" else len(inputs)
        own = [*law_parameters(options.law((1.0 if suspension.stamps else 1.5) * options.sample_time))]
        for drive, numbers in zip(suspension.drives, bounds, strict=True):
            own += drive_parameters(drive, numbers)
        parameters = loop.parameters(*own)
        path = self._path(loop, len(inputs), first, suspension)
        holding = Holding(suspension, path, len(mechanism.parameters), velocity is not None)
        self._check_reach(loop, suspension, path, bounds)
        targets = [float(problem.posed.values.inputs[drive.target]) for drive in suspension.drives]
        outputs = [
            channel
            for drive in suspension.drives
            for channel in (Channel(drive.target, drive.unit), Channel(drive.rate, f"{drive.unit}/s"))
        ]
        stamps = [Channel(name, "s") for name in suspension.stamps]
        held = [value for target in targets for value in (target, 0.0)]
        return DiscreteBlock(
            f"{mechanism.name}-{self.name}",
            inputs=inputs,
            outputs=(*outputs, *stamps, Channel("gap", "m"), Channel("drives_at_bounds", "1")),
            step=holding.step(len(inputs), len(parameters)),
            sample_time=options.sample_time,
            memory=holding.memory(targets),
            parameters=parameters,
            held=(*held, *(0.0 for _ in stamps), 0.0, 0.0),
            description=f"holds '{suspension.point.name}' of '{mechanism.name}' in the world, or leads it along its path",
        )

    def _inputs(self, loop: ServoLoop, suspension: Suspension) -> tuple[Input, ...]:
        """Return what is measured: base, drives, load; and the path, if it comes from outside."""
        problem = loop.problem
        values = problem.posed.values
        base = (
            Measured(signal.name, signal.unit, values.inputs[signal.name], "as the machine gets it")
            for signal in suspension.base_inputs
        )
        angles = suspension.coordinates_at_start({**values.parameters, **values.start})
        drives = (
            Measured(drive.coordinate, drive.unit, float(angle), "measured")
            for drive, angle in zip(suspension.drives, angles, strict=True)
        )
        place = (Measured(f"{suspension.point.name}.{axis}", "m", 0.0, "measured, in the world") for axis in "xyz")
        velocity = suspension.velocity_output()
        moving = (
            (Measured(f"{velocity.name}.{axis}", "m/s", 0.0, "measured, in the world") for axis in "xyz") if velocity else ()
        )
        path = loop._path_inputs(2) if loop.path_from == "inputs" else ()
        return (*base, *drives, *place, *moving, *path)

    def _path(self, loop: ServoLoop, inputs: int, first: int, suspension: Suspension) -> ca.Function:
        """Return the function (t, inputs, p, lead) -> place of the load, its rate and its acceleration at t + lead."""
        count = len(loop.problem.equations.mechanism.parameters)
        t, u, p, lead = (ca.MX.sym(name, size) for name, size in zip("tupl", (1, inputs, count, 1), strict=True))
        order = [loop.problem.task.measures.index(f"{suspension.point.name}.{axis}") for axis in "xyz"]
        if loop.path_from == "inputs":
            y, rate, acceleration = (u[first + 3 * k : first + 3 * (k + 1), :] for k in range(3))
            columns = [y + lead * rate + lead**2 / 2 * acceleration, rate + lead * acceleration, acceleration]
        else:
            columns = list(loop.path_function(2).call([t + lead, p]))
        return ca.Function("kp_led", [t, u, p, lead], [ca.densify(column[order, :]) for column in columns])

    def _bounds(self, suspension: Suspension, drive: Drive, problem: ServoProblem) -> dict[str, float]:
        """Return the numbers of a drive."""
        options = self.options
        names = [entry.name for entry in suspension.drives]
        found = {}
        for key in EACH:
            given: Mapping[str, float] | float | None = getattr(options, key)
            if isinstance(given, Mapping):
                for name in given:
                    if name not in names:
                        raise MechanismError(
                            f"{key}: there is no drive '{name}'{closest(name, names)} Drives: {listed(names)}.",
                            path=(key, name),
                        )
                given = given.get(drive.name)
            if given is not None:
                found[key] = float(given)
        if "rates" not in found:
            found["rates"] = self._usual_rate(suspension, drive, problem)
        found.setdefault("accelerations", found["rates"] / SPEED_UP)
        found.setdefault("minimum", -ENDLESS)
        found.setdefault("maximum", ENDLESS)
        found.setdefault("weights", 1.0)
        for key in ("rates", "accelerations", "weights"):
            if not found[key] > 0:
                raise MechanismError(f"{key} of the drive '{drive.name}' is {found[key]:g}; it must be positive", path=(key,))
        if not found["minimum"] < found["maximum"]:
            raise MechanismError(
                f"the drive '{drive.name}' goes from {found['minimum']:g} to {found['maximum']:g} {drive.unit}; the maximum "
                "must be the larger one",
                path=("maximum",),
            )
        return found

    @staticmethod
    def _usual_rate(suspension: Suspension, drive: Drive, problem: ServoProblem) -> float:
        if drive.coordinate == suspension.rope.drum:
            s = suspension.symbols
            k = suspension.drives.index(drive)
            radius = ca.Function("kp_radius", [s["p"]], [ca.jacobian(suspension.paid_out, s["q"])[k]])
            return HAULING / abs(float(radius(problem.p)))
        return TURNING if drive.unit == "rad" else SLIDING

    def _check_reach(self, loop: ServoLoop, suspension: Suspension, path: ca.Function, bounds: list[dict[str, float]]) -> None:
        """Refuse a path that leads where the drives cannot bring the load, with the base as it is at the start."""
        problem = loop.problem
        values, task = problem.posed.values, problem.task
        q = suspension.coordinates_at_start({**values.parameters, **values.start})
        low, high = (np.array([entry[key] for entry in bounds]) for key in ("minimum", "maximum"))
        for drive, angle, least, most in zip(suspension.drives, q, low, high, strict=True):
            if not least <= angle <= most:
                raise MechanismError(
                    f"the drive '{drive.name}' starts at {angle:g} {drive.unit}, outside its range from {least:g} to {most:g}"
                )
        if loop.path_from == "inputs":
            return
        given = [values.inputs[signal.name] for signal in suspension.base_inputs]
        unused = np.zeros(path.numel_in(1))
        for t in np.linspace(task.t_start, task.t_end, TRIED):
            y, _, a = (np.asarray(column).ravel() for column in path(t, unused, problem.p, 0.0))
            q, gap = _posture(suspension, float(t), q, given, problem.p, y, a, low, high)
            if np.linalg.norm(gap) > REACHED:
                place = ", ".join(f"{value:.4g}" for value in y)
                at_end = [
                    f"{drive.name} ({angle:.4g} {drive.unit})"
                    for drive, angle, least, most in zip(suspension.drives, q, low, high, strict=True)
                    if angle <= least or angle >= most
                ]
                raise MechanismError(
                    f"{task.title}: at t = {t:.4g} s '{suspension.point.name}' would have to be at ({place}) m, and the drives "
                    f"of '{suspension.whole.name}' come no nearer than {np.linalg.norm(gap):.3g} m with the base as it starts; "
                    f"at an end of their range: {listed(at_end) if at_end else 'none: the boom is too short'}"
                )


def _posture(
    suspension: Suspension, t: float, q: FloatArray, u: Any, p: FloatArray, y: FloatArray, a: FloatArray, low: Any, high: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the angles nearest to those given with which the load is where it should be, or as near as can be; and the gap."""
    function, g = suspension.gap_function, np.asarray(suspension.gravity_function(t, u, p)).ravel()
    from scipy.optimize import least_squares  # a second to import, and only needed here

    def gap(angles: FloatArray) -> FloatArray:
        return np.asarray(function(t, angles, u, p, y, a - g)[0]).ravel()

    def slope(angles: FloatArray) -> FloatArray:
        return np.asarray(function(t, angles, u, p, y, a - g)[1])

    found = least_squares(gap, q, slope, bounds=(low - 1e-12, high + 1e-12), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return found.x, found.fun


def _each(name: str, given: Any) -> Mapping[str, float] | float | None:
    """Return one number for all drives, or numbers by name, from what was written."""
    if given is None or (isinstance(given, int | float) and not isinstance(given, bool)):
        return given
    if isinstance(given, str):
        pairs = [word.partition("=") for word in given.split()]
        given = {key: value for key, _, value in pairs}
    if not isinstance(given, Mapping):
        raise MechanismError(
            f"{name} = {given!r}: give a number, or one for each drive, e.g. 'slew=0.1 luff=0.08'", path=(name,)
        )
    numbers = {}
    for drive, value in given.items():
        try:
            numbers[str(drive)] = float(value)
        except (TypeError, ValueError):
            raise MechanismError(
                f"{name}: '{drive}' has {value!r}, which is no number; write e.g. 'slew=0.1 luff=0.08'", path=(name, str(drive))
            ) from None
        if not math.isfinite(numbers[str(drive)]):
            raise MechanismError(f"{name}: '{drive}' has {value!r}; it must be finite", path=(name, str(drive)))
    return numbers
