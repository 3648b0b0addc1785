"""Machines at sea: the waves of a sea as parameters, so that another sea, seed or heading is other numbers for the same code.

>>> from kingpost import PluginSet, open_model
>>> plugins = PluginSet()
>>> crane = at_sea(open_model("small-crane").mechanism, "jonswap:Hs=1,Tp=6,components=40", plugins)
>>> len(sea_settings(crane, "jonswap:Hs=2,Tp=7,heading=120,seed=5,components=40", plugins)) % 40
0
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError, listed
from kingpost.base.formulas import Expression, as_scalar
from kingpost.marine.components import WaveComponents
from kingpost.marine.sea import Sea
from kingpost.marine.seas import sea_of
from kingpost.mechanism.elements import WaveNumber
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import make_forces
from kingpost.multibody.force import Force
from kingpost.registry.pluginset import PluginSet

#: Room is made for a multiple of so many waves, which code can go through in strides.
TOGETHER = 8


def at_sea(
    mechanism: Mechanism, sea: Sea | str, plugins: PluginSet | None = None, *, components: int | None = None
) -> Mechanism:
    """Return a machine in a sea: its forces that know of seas have the numbers of every wave as parameters.

    These parameters are kept out of listings and records; their defaults are this sea. ``components`` makes room for more waves
    than the sea has, for others that have more.
    """
    sea, plugins = sea_of(sea), plugins or PluginSet()
    waves = sea.components()
    waves = padded(waves, TOGETHER * math.ceil((components or len(waves.frequency)) / TOGETHER))
    plain = tuple(parameter for parameter in mechanism.parameters if not isinstance(parameter, WaveNumber))
    forces = _taking(make_forces(mechanism, plugins), mechanism)
    numbers = [
        WaveNumber(name, value, "1", "one of the numbers of a wave", force=force)
        for force, name, value in _numbers(forces, waves)
    ]
    return replace(mechanism, parameters=(*plain, *numbers))


def sea_settings(mechanism: Mechanism, sea: Sea | str, plugins: PluginSet | None = None) -> dict[str, float]:
    """Return the parameters of a machine at sea (:func:`at_sea`) for a sea: settings of a run, never anything to compile.

    A sea of fewer waves than there is room for is filled up with waves of no height; one of more is refused.
    """
    sea, plugins = sea_of(sea), plugins or PluginSet()
    forces = _taking(make_forces(mechanism, plugins), mechanism)
    waves = padded(sea.components(), room(mechanism, forces))
    return {name: value for _, name, value in _numbers(forces, waves)}


def check_given(mechanism: Mechanism, given: Collection[str], plugins: PluginSet) -> None:
    """Refuse numbers of waves that a force has of its own, where a sea takes the place of these."""
    for name, force in _taking(make_forces(mechanism, plugins), mechanism).items():
        parts = (as_scalar(part) for wave in getattr(force.options, "components", ()) for part in wave)
        idle = sorted({own for part in parts if isinstance(part, Expression) for own in part.names} & set(given))
        if idle:
            raise MechanismError(
                f"{listed(idle)} would have no effect: the sea takes the place of the waves that force '{name}' has by itself. "
                "Leave it out, or say what waves there are in the sea, e.g. regular:H=1,T=8"
            )


def sea_record(mechanism: Mechanism, sea: Sea, plugins: PluginSet) -> dict[str, Any]:
    """Return what the record of a run says of its sea, of the forces in it, and of every wave, as pictures show them."""
    forces, waves = _taking(make_forces(mechanism, plugins), mechanism), sea.components()
    own = {name: dict(said) for name, force in forces.items() if (said := force.sea_record(waves))}
    options = [force.options for force in forces.values()]
    ramp = max((getattr(each, "ramp", 0.0) for each in options), default=0.0)
    depth = min((getattr(each, "depth", None) or math.inf for each in options), default=math.inf)
    columns = {name: values.tolist() for name, values in vars(waves).items()}
    drawn = {**columns, "ramp": ramp, "depth": depth if math.isfinite(depth) else None}
    return {**sea.record(), **({"forces": own} if own else {}), **drawn}


def room(mechanism: Mechanism, forces: Mapping[str, Force]) -> int:
    """Return for how many waves a machine at sea has parameters; refuse one that is ashore."""
    for name, force in forces.items():
        count = len(mechanism.wave_numbers(name))
        if count:
            return count // len(force.sea_rows)
    raise MechanismError(
        f"'{mechanism.name}' has no parameters for waves yet; run it with a sea (sea = 'jonswap:Hs=2,Tp=8'), or make room "
        "for waves by kingpost.at_sea(mechanism, sea)"
    )


def padded(waves: WaveComponents, number: int | None) -> WaveComponents:
    """Return waves filled up to a number with waves of no height."""
    own = len(waves.frequency)
    if number is None or number == own:
        return waves
    if number < own:
        raise MechanismError(
            f"the sea has {own} components, and there is room for {number}; write components={number}, or make more room where "
            "the machine is put to sea"
        )
    more = number - own

    def longer(values: Any, value: float) -> Any:
        return np.concatenate([values, np.full(more, value)])

    return WaveComponents(
        longer(waves.amplitude, 0.0),
        longer(waves.frequency, float(waves.frequency[0])),
        longer(waves.phase, 0.0),
        longer(waves.direction, float(waves.direction[0])),
    )


def _taking(forces: Mapping[str, Force], mechanism: Mechanism) -> dict[str, Force]:
    """Return the forces that know of seas; refuse a machine without."""
    taking = {name: force for name, force in forces.items() if force.sea_rows}
    if taking:
        return taking
    waves = [name for name, force in forces.items() if force.name == "wave-excitation"]
    why = (
        f"its force '{waves[0]}' has numbers for its own waves only; give it a 'table' over frequencies and headings"
        if waves
        else f"none of its forces knows of waves: {listed(forces) or 'it has none'}"
    )
    raise MechanismError(f"'{mechanism.name}' takes no sea: {why}")


def _numbers(forces: Mapping[str, Force], waves: WaveComponents) -> Iterator[tuple[str, str, float]]:
    """Yield force, name and value of every number of every wave."""
    for name, force in forces.items():
        prefix = name.replace("-", "_")
        try:
            values = force.at_sea(waves)
        except MechanismError as error:
            raise MechanismError(f"force '{name}' ({force.name}): {error}") from None
        for own, value in values.items():
            yield name, f"{prefix}_sea_{own}", value
