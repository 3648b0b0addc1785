"""Units as an FMU itself defines them, which need not be those that are known elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from kingpost.base.numbers import finite_in
from kingpost.base.units import BASE, Unit, parse_unit
from kingpost.fmu.file.opened import Fmu

#: No quantity has a higher power of a base unit.
LARGEST_POWER = 100


def declared_units(fmu: Fmu) -> dict[str, Unit]:
    """Return the units that the description defines by base units."""
    units = {}
    for unit in fmu.description.unitDefinitions or ():
        base = unit.baseUnit
        if base is not None:
            units[unit.name] = defined_unit(unit.name, {key: getattr(base, key, None) for key in (*BASE, "factor", "offset")})
    return units


def defined_unit(name: str, base: Mapping[str, str | float | None]) -> Unit:
    """Return a unit from the attributes of its BaseUnit; one that is not made of numbers is a name and no more."""
    numbers = {key: finite_in(str(value)) for key, value in base.items() if value is not None}
    if any(value is None for value in numbers.values()):
        return Unit(name, known=False)
    powers = {key: int(numbers.get(key) or 0) for key in BASE}
    if any(abs(power) > LARGEST_POWER for power in powers.values()):
        return Unit(name, known=False)
    factor = numbers.get("factor")
    if factor == 0:
        return Unit(name, known=False)
    return Unit(
        name,
        1.0 if factor is None else factor,
        {key: power for key, power in powers.items() if power},
        offset=numbers.get("offset") or 0.0,
    )


def unit_named(name: str | None, declared: Mapping[str, Unit]) -> Unit | None:
    """Return a unit by its name: as it is declared, else as it is known to all; None if no unit is named."""
    if not name:
        return None
    return declared.get(name) or parse_unit(name)
