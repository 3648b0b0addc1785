"""``[vessel]`` of a model file: a floating body from a file of hydrodynamic data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, KingpostError, MechanismError
from kingpost.base.fields import fill
from kingpost.marine.hydro.fitting.files import read_memory
from kingpost.marine.hydro.reading import read_hydro
from kingpost.mechanism.elements import Body, ForceElement, Joint
from kingpost.vessels.options import VesselTable
from kingpost.vessels.parts import Vessel, make_vessel


def read_vessel(
    table: Mapping[str, Any], base: Path, forces: Sequence[ForceElement]
) -> tuple[tuple[Body, ...], tuple[Joint, ...], tuple[ForceElement, ...]]:
    """Return body, joint and forces of the vessel that a table describes; with gravity, if no other force is it."""
    vessel = vessel_of(table, base)
    gravity = () if any(force.kind == "gravity" for force in forces) else (vessel.gravity,)
    return vessel.bodies, vessel.joints, (*gravity, *vessel.forces)


def vessel_of(table: Mapping[str, Any], base: Path) -> Vessel:
    """Return the vessel that a table describes; its file is relative to ``base``."""
    try:
        options = fill(VesselTable, table, "[vessel]")
    except MechanismError as error:
        raise error.within("vessel") from None
    try:
        data = read_hydro(base / options.hydro, **options.read)
    except FileError as error:
        raise MechanismError(f"[vessel] hydro: {error}", path=("vessel", "hydro")) from None
    except KingpostError as error:
        raise MechanismError(f"[vessel] {options.hydro}: {error}", path=("vessel", "hydro")) from None
    try:
        fitted = read_memory(base / options.memory_file) if options.memory_file else None
    except FileError as error:
        raise MechanismError(f"[vessel] memory_file: {error}", path=("vessel", "memory_file")) from None
    try:
        return make_vessel(data, options, fitted=fitted)
    except MechanismError as error:
        raise MechanismError(f"[vessel] {error}", path=("vessel", *error.path)) from None
