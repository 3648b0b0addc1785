"""Forces of current and wind on a vessel, by coefficients from model tests or flow computations over the relative heading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.multibody.force import Force, Kinematics, Loads

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

#: Coefficients of motions that change their sign when a vessel with equal sides is mirrored.
ODD = ("sway", "roll", "yaw")
TABLES = ("surge", "sway", "roll", "pitch", "yaw")
#: Angles that differ by less (rad) are the same: tables are printed with four digits of a degree or so.
SAME_ANGLE = 1e-4
#: Below this speed (m/s) a flow has no direction; its force is below 1e-9 of that at 30 m/s.
STILL = 1e-4
#: The projection of a body's x axis on the horizontal has no direction if it is shorter.
UPRIGHT = 1e-9


@dataclass(frozen=True)
class CoefficientOptions:
    """Coefficients of ``surge``, ``sway``, ``roll``, ``pitch`` and ``yaw`` at ``headings`` (rad): where the flow goes to.

    A heading is counted from the vessel's x axis to its y axis: pi is flow from ahead. Tables from 0 to pi are mirrored, for
    vessels with equal sides; others go all the way round. With the pressure q = density V^2 / 2 of the flow relative to the
    point ``at`` of the body frame (m), forces are q ``frontal_area`` C in surge and q ``lateral_area`` C in sway, moments about
    that point q lateral_area ``height`` C in roll, q frontal_area height C in pitch, q lateral_area ``length`` C in yaw (m^2,
    m).
    ``velocity`` is that of the flow in world axes (m/s), of which the horizontal part counts: numbers, formulas or inputs.
    """

    body: BodyName
    velocity: Vector3
    headings: tuple[float, ...]
    surge: tuple[float, ...] = ()
    sway: tuple[float, ...] = ()
    roll: tuple[float, ...] = ()
    pitch: tuple[float, ...] = ()
    yaw: tuple[float, ...] = ()
    frontal_area: Scalar = 1.0
    lateral_area: Scalar = 1.0
    length: Scalar = 1.0
    height: Scalar = 1.0
    at: Vector3 = ZERO_VECTOR
    density: Scalar = 1.0

    #: What the force is called in messages.
    kind: ClassVar[str] = "coefficients"

    def __post_init__(self) -> None:
        what, n = f"{self.kind} on '{self.body}'", len(self.headings)
        angles = np.array(self.headings)
        if n < 4 or not (np.diff(angles) > 0).all():
            raise MechanismError(
                f"{what}: there are {n} headings; give at least four, rising, in rad, over half a turn or a whole one",
                path=("headings",),
            )
        span = angles[-1] - angles[0]
        if not self.mirrored and (span > 2 * math.pi + SAME_ANGLE or 2 * math.pi - span > 2 * np.diff(angles).max()):
            raise MechanismError(
                f"{what}: headings go from {angles[0]:.4g} to {angles[-1]:.4g} rad; give them from 0 to pi, which is mirrored, "
                "or all the way round",
                path=("headings",),
            )
        self._check_tables(what, n)
        for name in ("frontal_area", "lateral_area", "length", "height", "density"):
            number = as_scalar(getattr(self, name))
            if isinstance(number, float) and number < 0:
                raise MechanismError(f"{what}: {name} is {number:g}; it must not be negative", path=(name,))

    def _check_tables(self, what: str, n: int) -> None:
        given = [name for name in TABLES if getattr(self, name)]
        if not given:
            raise MechanismError(f"{what} has no coefficients; give some of surge, sway, roll, pitch and yaw")
        for name in given:
            table = getattr(self, name)
            if len(table) != n:
                raise MechanismError(f"{what}: {name} has {len(table)} coefficients for {n} headings", path=(name,))
            ends = (table[0], table[-1])
            if self.mirrored and name in ODD and any(abs(end) > 1e-6 * max(map(abs, table)) for end in ends):
                raise MechanismError(
                    f"{what}: {name} is {ends[0]:g} at heading 0 and {ends[1]:g} at pi; a table for half a turn is mirrored, "
                    "so both must be zero; give the whole turn for a vessel with unequal sides",
                    path=(name,),
                )
            if self._closed and abs(ends[0] - ends[1]) > 1e-6 * max(map(abs, table)):
                raise MechanismError(
                    f"{what}: {name} is {ends[0]:g} at the first heading and {ends[1]:g} a whole turn later", path=(name,)
                )

    @property
    def mirrored(self) -> bool:
        """Whether the tables go over half a turn."""
        return abs(self.headings[0]) < SAME_ANGLE and abs(self.headings[-1] - math.pi) < SAME_ANGLE

    @property
    def _closed(self) -> bool:
        return abs(self.headings[-1] - self.headings[0] - 2 * math.pi) < SAME_ANGLE

    def spline(self, name: str) -> PPoly:
        """Return a coefficient as a periodic cubic spline over -pi to pi."""
        from scipy.interpolate import CubicSpline  # slow to import, and seldom needed

        angles, values = np.array(self.headings), np.array(getattr(self, name), dtype=float)
        if self.mirrored:
            sign = -1.0 if name in ODD else 1.0
            angles, values = np.concatenate([-angles[:0:-1], angles]), np.concatenate([sign * values[:0:-1], values])
            angles[[0, -1]], values[-1] = (-math.pi, math.pi), values[0]
            return CubicSpline(angles, values, bc_type="periodic")
        if self._closed:
            angles, values = angles[:-1], values[:-1]
        turned = np.concatenate([angles, [angles[0] + 2 * math.pi]])
        periodic = CubicSpline(turned, np.concatenate([values, values[:1]]), bc_type="periodic")
        knots = np.unique(np.concatenate([[-math.pi, math.pi], (angles + math.pi) % (2 * math.pi) - math.pi]))
        # The same curve with pieces from -pi on: a spline through its own knots, with one more where the turn is cut.
        return _recut(periodic, knots)


@dataclass(frozen=True)
class CurrentOptions(CoefficientOptions):
    """As in :class:`CoefficientOptions`, in water."""

    density: Scalar = 1025.0
    kind: ClassVar[str] = "current-coefficients"


@dataclass(frozen=True)
class WindOptions(CoefficientOptions):
    """As in :class:`CoefficientOptions`, in air."""

    density: Scalar = 1.225
    kind: ClassVar[str] = "wind-coefficients"


class FlowForce(Force):
    """A force by coefficients over the direction of a flow relative to the vessel, times its pressure."""

    def loads(self, kinematics: Kinematics) -> Loads:
        options: CoefficientOptions = self.options
        X_WB, twist, at = kinematics.pose(options.body), kinematics.twist(options.body), kinematics.vector(options.at)
        c, s = _heading(X_WB.R)
        R_WH = ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        flow = R_WH.T @ (kinematics.vector(options.velocity) - X_WB.R @ (twist[3:] + ca.cross(twist[:3], at)))
        square = flow[0] ** 2 + flow[1] ** 2
        moves = square > STILL**2
        # A still flow has no angle; any serves, since its pressure vanishes.
        angle = ca.atan2(ca.if_else(moves, flow[1], 0.0), ca.if_else(moves, flow[0], 1.0))
        pressure = kinematics.value(options.density) * square / 2
        front, side, length, height = (
            kinematics.value(value) for value in (options.frontal_area, options.lateral_area, options.length, options.height)
        )
        sizes = {"surge": front, "sway": side, "roll": side * height, "pitch": front * height, "yaw": side * length}
        found = {
            name: pressure * size * _expression(options.spline(name), angle) if getattr(options, name) else ca.SX(0)
            for name, size in sizes.items()
        }
        force_B = X_WB.R.T @ (R_WH @ ca.vertcat(found["surge"], found["sway"], 0))
        moment_B = X_WB.R.T @ (R_WH @ ca.vertcat(found["roll"], found["pitch"], found["yaw"]))
        wrench = ca.densify(ca.vertcat(moment_B + ca.cross(at, force_B), force_B))
        signals = {"speed": (ca.sqrt(square), "m/s"), "direction": (angle, "rad")}
        return Loads(wrenches={options.body: wrench}, signals=signals)


class CurrentCoefficients(FlowForce):
    """Drag of a current on a vessel by coefficients over the relative heading: surge, sway, yaw; roll and pitch if known."""

    name = "current-coefficients"
    Options = CurrentOptions


class WindCoefficients(FlowForce):
    """Wind on a vessel by coefficients over the relative heading: surge, sway, yaw; roll and pitch if known."""

    name = "wind-coefficients"
    Options = WindOptions


def _heading(R: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return cosine and sine of a body's yaw: the direction of its x axis in the horizontal."""
    length = ca.sqrt(R[0, 0] ** 2 + R[1, 0] ** 2 + UPRIGHT**2)
    return R[0, 0] / length, R[1, 0] / length


def _recut(periodic: PPoly, knots: np.ndarray) -> PPoly:
    """Return a periodic spline with its pieces between other knots."""
    from scipy.interpolate import PPoly

    starts = knots[:-1]
    middles = (starts + knots[1:]) / 2
    # Derivatives in the middle of a piece belong to it alone; from there the cubic is carried back to where the piece begins.
    taylor = [periodic(middles, order) / math.factorial(order) for order in range(4)]
    back = starts - middles
    c0 = taylor[0] + back * (taylor[1] + back * (taylor[2] + back * taylor[3]))
    c1 = taylor[1] + back * (2 * taylor[2] + 3 * back * taylor[3])
    c2 = taylor[2] + 3 * back * taylor[3]
    return PPoly(np.array([taylor[3], c2, c1, c0]), knots)


def _expression(spline: PPoly, angle: ca.SX) -> ca.SX:
    """Return a piecewise cubic of an angle as one expression: the first piece, and at each knot what the next one adds."""
    start = angle - spline.x[0]
    total = _cubic(spline.c[:, 0], start)
    for k in range(1, spline.c.shape[1]):
        # Value, slope and curvature go on, so that pieces differ by a cube alone.
        before, after = spline.c[0, k - 1], spline.c[0, k]
        if after != before:
            total += (after - before) * ca.fmax(angle - spline.x[k], 0) ** 3
    return total


def _cubic(c: np.ndarray, x: ca.SX) -> ca.SX:
    return ca.SX(float(c[3])) + x * (float(c[2]) + x * (float(c[1]) + x * float(c[0])))
