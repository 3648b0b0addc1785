"""Units that follow from those that subsystems state: of rates, and of what invariants exert.

An expression has a unit if it answers to a change of each base unit by one power of it, whatever its variables are. This is
tried with numbers, so that it does not matter how the expression is written; one in which metres are added to numbers has none.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from kingpost.base.units import BASE, parse_unit
from kingpost.modular.subsystem import TIME
from kingpost.modular.system import System

#: Where nothing is known, as everywhere.
NONE = "1"
#: Angles are pure numbers in formulas.
_SCALED = tuple(base for base in BASE if base != "rad")
#: How far powers of base units may be from whole numbers, for numbers of about 1.
WHOLE = 1e-6
#: Names that are preferred to products of base units; the first that fits is taken.
_NAMES = ("N", "N.m", "N/m", "N/m2", "N/m3", "N.s", "N.m.s", "N.s/m", "W", "V", "m/s", "m/s2")
_POWER = {"kg": 1, "m": 2, "s": -3}


def state_units(system: System) -> dict[str, str]:
    """Return the units of all states: as stated, or of a rate as that of what changes says."""
    units = system.symbols.units

    def unit(label: str) -> str:
        if label in units:
            return units[label]
        found = _stated(system, label)
        return NONE if found is None else _text(found)

    return {label: unit(label) for label in system.states}


def effort_units(system: System) -> dict[str, str]:
    """Return the unit of the effort along each invariant: power per rate of it, where its own unit is known."""
    units = {}
    for invariant in system.invariants:
        known = _unit_of(system, invariant.expression)
        found = NONE
        if known is not None:
            rate = {**known, "s": known.get("s", 0) + invariant.order - 1}
            found = _text({base: _POWER.get(base, 0) - rate.get(base, 0) for base in _SCALED})
        units[invariant.label] = found
    return units


def _stated(system: System, label: str) -> dict[str, int] | None:
    """Return the powers of base units of a variable, parameter or input, if they are stated and those of base units."""
    own, times = system.symbols, 0
    while label not in own.units and label in own.rate_of:
        label, times = own.rate_of[label], times + 1
    if label == TIME:
        return {"s": 1}
    unit = parse_unit(own.units[label]) if label in own.units else None
    if unit is None or not unit.coherent:
        return None
    return {**unit.exponents, "s": unit.exponents.get("s", 0) - times}


def _unit_of(system: System, expression: ca.SX) -> dict[str, int] | None:
    """Return the powers of base units of an expression, if those of all its symbols are known and it is of one unit."""
    symbols = ca.symvar(expression)
    powers = [_stated(system, symbol.name()) for symbol in symbols]
    if not symbols or any(power is None for power in powers):
        return None
    value = ca.Function("kp_value", [ca.vertcat(*symbols)], [expression])
    rng = np.random.default_rng(0)
    places = [rng.uniform(0.5, 1.5, len(symbols)) for _ in range(2)]
    found = {}
    for base in _SCALED:
        scale = np.array([2.0 ** (power or {}).get(base, 0) for power in powers])
        ratios = [float(value(place * scale)) / float(value(place)) for place in places]
        orders = [np.log2(ratio) if ratio > 0 else np.nan for ratio in ratios]
        order = round(orders[0]) if np.isfinite(orders).all() else 0
        if not all(abs(item - order) < WHOLE for item in orders):
            return None
        found[base] = order
    return found


def _text(powers: Mapping[str, int]) -> str:
    """Return the name of a unit of some powers of base units."""
    powers = {base: power for base, power in powers.items() if power}
    for name in _NAMES:
        if dict(parse_unit(name).exponents) == powers:
            return name
    above, below = ([(base, sign * powers[base]) for base in BASE if sign * powers.get(base, 0) > 0] for sign in (1, -1))
    words = [[f"{base}{power if power > 1 else ''}" for base, power in side] for side in (above, below)]
    top, bottom = ".".join(words[0]) or NONE, ".".join(words[1])
    if not bottom:
        return top
    return f"{top}/({bottom})" if len(words[1]) > 1 else f"{top}/{bottom}"
