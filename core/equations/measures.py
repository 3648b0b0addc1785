"""Scalar functions of the configuration by name, as expressions of equations of motion."""

from __future__ import annotations

import casadi as ca

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.equations import ENERGIES, Equations
from kingpost.mechanism.measures import known_units
from kingpost.multibody.assembly import assembled
from kingpost.multibody.measures import Measures
from kingpost.multibody.tree import TreePlaces
from kingpost.symbols.types import Symbolic


def measure_names(equations: Equations) -> dict[str, str]:
    """Return the names that :func:`measure_expression` takes, with units.

    Measures, components of outputs that are positions (``load.x``), joint coordinates (``slew.angle``), and the motions of free
    joints (``hull.roll``).
    """
    mechanism = equations.mechanism
    return {**mechanism.measure_units, **known_units(mechanism)}


def measure_expression(equations: Equations, name: str) -> Symbolic:
    """Return a scalar function of the configuration, in the symbols t, q and p of the equations.

    Where joints are given by inputs, it depends on them, too; on speeds it never depends. Joint coordinates mean the same in
    every formulation: angles go on through full turns. Roll and yaw of free joints are within half a turn.

    Raises
    ------
    MechanismError
        When nothing has this name, or what has it is no function of the configuration.

    """
    known = measure_names(equations)
    if name not in known:
        raise MechanismError(_refusal(equations, name, list(known)))
    if equations.joint_coordinates:
        rows = [quantity.name for quantity in equations.position_quantities]
        if name in rows:
            return equations.q[rows.index(name)]
    channels = [channel.name for channel in equations.output_channels]
    if equations.joint_coordinates and isinstance(equations.q, ca.MX) and name not in equations.mechanism.measure_units:
        return _along_tree(equations, name)
    if name in channels:
        return equations.outputs[channels.index(name)]
    joint_state = equations.coordinates.joint_state
    assert joint_state is not None
    # Joint coordinates do not depend on speeds and accelerations; any will do.
    coordinates = [quantity.name for quantity in equations.mechanism.coordinates]
    at_rest = [type(equations.q).zeros(equations.nv)] * 2
    return joint_state(equations.q, *at_rest, equations.p)[0][coordinates.index(name)]


def _along_tree(equations: Equations, name: str) -> Symbolic:
    """Return a component of an output: in matrix expressions its row comes from functions that take all symbols there are."""
    mechanism = equations.mechanism
    bare = assembled(mechanism, {}, ())
    places = TreePlaces(bare)
    value = Measures(places)[name]
    here = [equations.t, equations.q, equations.u[: len(mechanism.inputs)], equations.p]
    used = [
        (there, symbol)
        for there, symbol in zip([bare.t, places.q, bare.u, bare.p], here, strict=True)
        if there.numel() and ca.depends_on(value, there)
    ]
    function = ca.Function("kp_measure", [there for there, _ in used], [ca.densify(value)])
    return ca.MX(function.call([symbol for _, symbol in used])[0])


def _refusal(equations: Equations, name: str, known: list[str]) -> str:
    mechanism = equations.mechanism
    there = f"Measures of '{mechanism.name}': {listed(known)}."
    velocities = {
        f"{output.name}.{axis}": f"a component of the output '{output.name}', which is a velocity; an output with quantity = "
        "'position' would do"
        for output in mechanism.outputs
        if output.quantity == "velocity"
        for axis in "xyz"
    }
    owner = name.partition(".")[0]
    if name in velocities:
        why = velocities[name]
    elif name in {quantity.name for quantity in (*mechanism.speeds, *equations.speed_quantities)}:
        why = f"a speed{closest(name.removesuffix('.rate'), known)}"
    elif name in ENERGIES:
        why = "an energy"
    elif any(channel.name == name for channel in equations.output_channels):
        why = f"a signal of the force '{owner}'"
    elif any(channel.name == name for channel in equations.channels):
        why = "a channel that depends on more"
    else:
        return f"'{mechanism.name}' has no measure '{name}'{closest(name, known)} {there}"
    return f"'{name}' is no measure, which is a function of the configuration alone: it is {why.rstrip('.')}. {there}"
