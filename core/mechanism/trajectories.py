"""Set-points and paths as functions of time, with exact derivatives, for numbers and for CasADi symbols alike.

Every trajectory is a row of polynomial pieces with a constant before and after, so that one source serves both: at a number
one piece is evaluated, at a symbol the pieces are joined by ``if_else``. Derivatives are those of the polynomials. All kinds
can be had from here, and be read from plain data.

>>> RestToRest(0.0, 5.0, t_start=0.0, t_end=3.0).value(1.5)
2.5
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import fill
from kingpost.mechanism.joined import Joined
from kingpost.mechanism.moves import RestToRest, Sequence, ThreePhase
from kingpost.mechanism.pieces import Break, Piece, Pieces
from kingpost.mechanism.polynomials import HIGHEST_ORDER, differentiate, horner
from kingpost.mechanism.profiles import PROFILES, REST_TO_REST, SPEED_UP
from kingpost.mechanism.sampled import Interpolation, Sampled
from kingpost.mechanism.trajectory import NO_NAMES, Constant, Trajectory

__all__ = [
    "HIGHEST_ORDER",
    "NO_NAMES",
    "PROFILES",
    "REST_TO_REST",
    "SPEED_UP",
    "TRAJECTORY_KINDS",
    "Break",
    "Constant",
    "Interpolation",
    "Joined",
    "Piece",
    "Pieces",
    "RestToRest",
    "Sampled",
    "Sequence",
    "ThreePhase",
    "Trajectory",
    "differentiate",
    "horner",
    "read_trajectory",
]

TRAJECTORY_KINDS: dict[str, type[Trajectory]] = {
    cls.kind: cls for cls in (Constant, RestToRest, ThreePhase, Sequence, Sampled, Joined)
}


@dataclass(frozen=True)
class _SampledFile:
    """What a table may say about samples in a file."""

    file: str
    column: str | None = None
    interpolation: Interpolation = "linear"


def read_trajectory(data: Any, base: Path = Path()) -> Trajectory:
    """Return the trajectory that plain data describe, as in a TOML file.

    A number or a formula is a constant. A table holds ``kind`` and the fields of that trajectory; a ``sampled`` one may
    name a CSV ``file``, relative to ``base``, and the ``column`` in it.
    """
    if isinstance(data, Trajectory):
        return data
    if not isinstance(data, Mapping):
        return Constant(data)
    if "kind" not in data:
        raise MechanismError(f"the trajectory lacks 'kind'. Kinds: {listed(TRAJECTORY_KINDS)}.")
    kind, rest = data["kind"], {key: value for key, value in data.items() if key != "kind"}
    if not isinstance(kind, str) or kind not in TRAJECTORY_KINDS:
        raise MechanismError(
            f"there is no trajectory of kind {kind!r}{closest(str(kind), TRAJECTORY_KINDS)} Kinds: {listed(TRAJECTORY_KINDS)}.",
            path=("kind",),
        )
    if kind == Sampled.kind and "file" in rest:
        source = fill(_SampledFile, rest, "a sampled trajectory from a file")
        return Sampled.from_csv(base / source.file, source.column, source.interpolation)
    if kind == Joined.kind and isinstance(rest.get("parts"), list | tuple):
        rest["parts"] = tuple(_part(i, part, base) for i, part in enumerate(rest["parts"]))
    return fill(TRAJECTORY_KINDS[kind], rest, f"a {kind} trajectory")


def _part(i: int, data: Any, base: Path) -> Trajectory:
    try:
        return read_trajectory(data, base)
    except MechanismError as error:
        raise MechanismError(f"a joined trajectory: part {i + 1}: {error}", path=("parts", i, *error.path)) from None
