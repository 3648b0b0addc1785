"""Numbers put into a mechanism: parameter values, start values and inputs, and whether they make physical sense."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import Expression, Scalar, evaluate
from kingpost.base.numbers import finite, shown
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, Joint
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS


@dataclass(frozen=True)
class Values:
    """Numbers for everything in a mechanism that has a name."""

    parameters: Mapping[str, float]
    inputs: Mapping[str, float]
    #: Start values that differ from the mechanism's own, by coordinate or rate name.
    start: Mapping[str, float]


def resolve_values(mechanism: Mechanism, settings: Mapping[str, float], further: Iterable[str] = ()) -> Values:
    """Sort ``settings`` into parameters, inputs and start values, and check that the machine they make is possible.

    ``further`` are names of states that are not the joints', and have start values, too.
    """
    parameters = {parameter.name: parameter for parameter in mechanism.parameters}
    inputs = {signal.name: signal.default for signal in mechanism.inputs}
    states = [*(quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)), *further]
    values = {name: parameter.default for name, parameter in parameters.items()}
    start: dict[str, float] = {}
    for name, given in settings.items():
        if isinstance(given, bool) or not isinstance(given, int | float | np.floating | np.integer):
            raise MechanismError(f"'{name}' was set to {given!r}, which is not a number")
        value = finite(given)
        if value is None:
            raise MechanismError(f"'{name}' was set to {shown(given)}; it must be finite")
        if name in parameters:
            parameters[name].check(value)
            values[name] = value
        elif name in inputs:
            inputs[name] = value
        elif name in states:
            start[name] = value
        else:
            known = [parameter.name for parameter in mechanism.shown_parameters]
            raise MechanismError(
                f"'{mechanism.name}' has nothing called '{name}' that could be set{closest(name, {*known, *inputs, *states})} "
                f"Parameters: {listed(known)}. Inputs: {listed(inputs)}. Start values: {listed(states)}."
            )
    check_values(mechanism, values)
    return Values(values, inputs, start)


def check_values(mechanism: Mechanism, parameters: Mapping[str, float]) -> None:
    """Refuse masses, inertias and directions that no machine can have, at the given parameter values."""
    for i, body in enumerate(mechanism.bodies):
        try:
            _check_body(body, parameters)
        except MechanismError as error:
            raise error.within("bodies", i) from None
    for i, joint in enumerate(mechanism.joints):
        _numbers(joint.start_values, parameters, f"joint '{joint.name}'", ("joints", i, "start"))
        for key in ("axis", "axis2", "position", "rotation", "child_position", "child_rotation"):
            numbers = _numbers(getattr(joint, key) or (), parameters, f"joint '{joint.name}'", ("joints", i, key))
            if key in ("axis", "axis2") and numbers and not any(numbers):
                raise MechanismError(
                    f"joint '{joint.name}': {key} is zero{_formulas(getattr(joint, key), parameters)}; give a direction",
                    path=("joints", i, key),
                )
        if joint.pitch is not None:
            _numbers((joint.pitch,), parameters, f"joint '{joint.name}'", ("joints", i, "pitch"))
        if joint.axis is not None and joint.axis2 is not None:
            _check_axes(joint, parameters, ("joints", i, "axis2"))
    for i, closure in enumerate(mechanism.closures):
        try:
            _check_closure(closure, parameters)
        except MechanismError as error:
            raise error.within("closures", i) from None
    for i, measure in enumerate(mechanism.measures):
        try:
            _check_measure(measure, parameters)
        except MechanismError as error:
            raise error.within("measures", i) from None


def _check_closure(closure: Closure, parameters: Mapping[str, float]) -> None:
    what = f"closure '{closure.name}'"
    if CLOSURE_KINDS[closure.kind].right_angle and closure.axis is not None and closure.axis2 is not None:
        axis, axis2 = (np.array(_numbers(a, parameters, what, ("axis2",))) for a in (closure.axis, closure.axis2))
        cosine = float(axis @ axis2 / np.linalg.norm(axis) / np.linalg.norm(axis2))
        if not abs(cosine) <= 1e-9:
            degrees = math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
            raise MechanismError(f"{what}: axis2 is {degrees:.6g} degrees from 'axis'; it must be 90", path=("axis2",))
    if closure.radius is not None and closure.child_radius is not None:
        _check_radii(what, closure, parameters)


def _check_radii(what: str, closure: Closure, parameters: Mapping[str, float]) -> None:
    """Refuse wheels that cannot touch."""
    scalars = tuple(scalar for scalar in (closure.radius, closure.child_radius) if scalar is not None)
    R1, R2 = _numbers(scalars, parameters, what, ("radius",))
    shown = f"radius = {R1:g} m and child_radius = {R2:g} m{_formulas(scalars, parameters)}"
    if R1 == 0.0 or R2 == 0.0:
        raise MechanismError(f"{what}: {shown}; a wheel has a positive one, a ring a negative one", path=("radius",))
    if R1 < 0.0 and R2 < 0.0:
        raise MechanismError(
            f"{what}: {shown} are both those of rings, which cannot touch from within; make that of the inner one positive",
            path=("radius",),
        )
    if R1 + R2 == 0.0:
        raise MechanismError(
            f"{what}: {shown}; a wheel that fills its ring cannot roll in it; make one of them smaller", path=("radius",)
        )
    if (R1 + R2 > 0.0) != (R1 > 0.0 and R2 > 0.0):
        raise MechanismError(f"{what}: {shown}; a wheel in a ring is smaller than the ring", path=("radius",))


def _check_measure(measure: Measure, parameters: Mapping[str, float]) -> None:
    what = f"measure '{measure.name}'"
    for key in ("at", "origin", "other_at", "reference"):
        _numbers(getattr(measure, key) or (), parameters, what, (key,))
    _numbers(() if measure.near is None else (measure.near,), parameters, what, ("near",))
    _numbers(tuple(weight for _, weight in measure.weights), parameters, what, ("terms",))
    if measure.axis is None:
        return
    axis = np.array(_numbers(measure.direction, parameters, what, ("axis",)))
    if not axis.any():
        formulas = _formulas(measure.direction, parameters)
        raise MechanismError(f"{what}: axis is zero{formulas}; give a direction", path=("axis",))
    if measure.kind == "azimuth":
        zero = np.array(_numbers(measure.zero_direction, parameters, what, ("zero",)))
        across = np.linalg.norm(np.cross(axis, zero)) / np.linalg.norm(axis)
        # The angle has as many digits less as zero has components along the axis.
        if not across > 1e-6 * np.linalg.norm(zero):
            raise MechanismError(
                f"{what}: zero, the direction at which the angle is zero, is along the axis"
                f"{_formulas((*measure.direction, *measure.zero_direction), parameters)}; give one across it",
                path=("zero",),
            )


def _check_axes(joint: Joint, parameters: Mapping[str, float], path: tuple[str | int, ...]) -> None:
    axis, axis2 = (np.array(_numbers(a or (), parameters, joint.name, path)) for a in (joint.axis, joint.axis2))
    cosine = float(axis @ axis2 / np.linalg.norm(axis) / np.linalg.norm(axis2))
    degrees = math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
    if joint.kind == "universal" and abs(cosine) > 1 - 1e-6:
        raise MechanismError(f"joint '{joint.name}': its two axes are parallel ({degrees:.3g} degrees apart)", path=path)
    if JOINT_KINDS[joint.kind].right_angle and abs(cosine) > 1e-9:
        raise MechanismError(
            f"joint '{joint.name}': axis2, the first direction in the plane, is {degrees:.6g} degrees from the normal 'axis'; "
            "it must be 90",
            path=path,
        )


def _check_body(body: Body, parameters: Mapping[str, float]) -> None:
    what = f"body '{body.name}'"
    (mass,) = _numbers((body.mass,), parameters, what, ("mass",))
    if mass < 0:
        raise MechanismError(
            f"{what}: mass is {mass:g} kg{_formulas((body.mass,), parameters)}; it cannot be negative", path=("mass",)
        )
    _numbers(body.com, parameters, what, ("com",))
    entries = _numbers(body.inertia, parameters, what, ("inertia",))
    xx, yy, zz, xy, xz, yz = entries if len(entries) == 6 else [*entries, 0.0, 0.0, 0.0]
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # Rounding in the eigenvalues is a few eps of the largest; 1e-9 also forgives sums written to ten digits.
    tolerance = 1e-9 * float(np.abs(moments).max())
    shown = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] < -tolerance:
        raise MechanismError(
            f"{what}: the principal moments of inertia are {shown} kg m^2; none can be negative. Check the signs of the "
            "products of inertia (entries of the matrix, not their negatives)",
            path=("inertia",),
        )
    if moments[0] + moments[1] < moments[2] - tolerance:
        raise MechanismError(
            f"{what}: no body has the principal moments of inertia {shown} kg m^2: the two smaller ones add up to "
            f"{moments[0] + moments[1]:.6g}, less than the largest (triangle inequality)",
            path=("inertia",),
        )


def _numbers(
    scalars: tuple[Scalar, ...], parameters: Mapping[str, float], what: str, path: tuple[str | int, ...]
) -> list[float]:
    numbers = []
    for scalar in scalars:
        try:
            number = float(evaluate(scalar, parameters))
        except MechanismError as error:
            raise MechanismError(f"{what}: {path[-1]}: {error}", path=path) from None
        except (OverflowError, TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise MechanismError(
                f"{what}: {path[-1]} is {number}{_formulas((scalar,), parameters)}; it must be a finite number", path=path
            )
        numbers.append(number)
    return numbers


def _formulas(scalars: tuple[Scalar, ...], parameters: Mapping[str, float]) -> str:
    """Return ``" ('m1 - 2' with m1 = 1)"`` for values that come from formulas, so that the user sees which number to change."""
    formulas = [scalar for scalar in scalars if isinstance(scalar, Expression)]
    names = sorted({name for formula in formulas for name in formula.names})
    if not names:
        return ""
    return f" ('{formulas[0]}' with {', '.join(f'{name} = {parameters[name]:g}' for name in names)})"
