"""What index analysis finds: one record for the command line, for methods that look before they run, and for results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kingpost.control.servo.index.array_index import HIGHEST, Level
from kingpost.control.servo.index.ranks import Gap
from kingpost.control.servo.index.realisation import NotDefined, Realisation
from kingpost.control.servo.index.signature import Signature
from kingpost.control.servo.index.zero_dynamics import NoRest, ZeroDynamics


@dataclass(frozen=True)
class Structural:
    """What the signature method says, and whether it may."""

    signature: Signature
    #: The rank of the system Jacobian at a generic time.
    jacobian: Gap
    row_names: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return self.jacobian.clear and self.jacobian.nullity == 0

    @property
    def offsets(self) -> dict[str, int]:
        """How often each row is differentiated."""
        return dict(zip(self.row_names, self.signature.row_offsets, strict=True))

    @property
    def sentence(self) -> str:
        gap, n = self.jacobian, self.jacobian.size
        if self.accepted:
            verdict = f"accepted: rank {n} of {n} of the system Jacobian, smallest singular value {gap.above:.1e}"
        else:
            verdict = f"not accepted: rank {gap.rank} of {n} (singular values {gap.above:.1e} and {gap.below:.1e})"
        return f"{self.signature.index}, {verdict}"


@dataclass(frozen=True)
class IndexReport:
    """How hard a servo task is, and what is in its way.

    Attributes
    ----------
    index
        The differentiation index; nothing if none was found up to order 9.
    internal_states
        How many states the path leaves free.
    structural, levels
        Both ways in which the index was found; ``levels`` at a time inside the manoeuvre, then at others.
    indices
        The index at each time that was looked at; nothing where none was found.
    realisation, realisations
        At a time inside the manoeuvre, and along the path.
    zero_dynamics
        Around rest at the end.
    singular_times
        Times in s at which the equations lose rank on the way.
    smoothness_needed, smoothness_there
        By measure: the highest derivative that must be continuous so that inputs are, and that is.

    """

    model: str
    task: str
    measures: tuple[str, ...]
    inputs: tuple[str, ...]
    index: int | None = None
    internal_states: int | None = None
    structural: Structural | None = None
    levels: tuple[Level, ...] = ()
    indices: tuple[tuple[float, int | None], ...] = ()
    realisation: Realisation | NotDefined | None = None
    realisations: tuple[Realisation | NotDefined, ...] = ()
    zero_dynamics: ZeroDynamics | NoRest | None = None
    singular_times: tuple[float, ...] = ()
    smoothness_needed: Mapping[str, int] | None = None
    smoothness_there: Mapping[str, int] | None = None
    #: What stopped the analysis, if something did.
    stopped: str = ""

    @property
    def eigenvalues(self) -> tuple[complex, ...]:
        """Those of the zero dynamics in 1/s."""
        return self.zero_dynamics.eigenvalues if isinstance(self.zero_dynamics, ZeroDynamics) else ()

    @property
    def flat(self) -> bool:
        """Whether the path determines everything."""
        return self.index is not None and self.internal_states == 0

    @property
    def ranks(self) -> tuple[tuple[float, int], ...]:
        """The rank of the realisation along the path."""
        return tuple((found.t, found.rank) for found in self.realisations if isinstance(found, Realisation))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, complex numbers as [re, im]."""
        from kingpost.control.servo.index.refusals import refusals

        structural, zero = self.structural, self.zero_dynamics
        return {
            "model": self.model,
            "task": self.task,
            "measures": list(self.measures),
            "inputs": list(self.inputs),
            "index": self.index,
            "highest_index_tried": HIGHEST,
            "internal_states": self.internal_states,
            "realisation": _realisation_record(self.realisation, self.ranks),
            "zero_dynamics": [[value.real, value.imag] for value in self.eigenvalues],
            "zero_dynamics_note": zero.sentence if isinstance(zero, NoRest) else "",
            "structural": None
            if structural is None
            else {
                "index": structural.signature.index,
                "accepted": structural.accepted,
                "jacobian_rank": structural.jacobian.rank,
                "of": structural.jacobian.size,
                "singular_values": [structural.jacobian.above, structural.jacobian.below],
                "offsets": structural.offsets,
            },
            "numeric": [_level_record(level) for level in self.levels],
            "index_along_path": {"t": [t for t, _ in self.indices], "index": [index for _, index in self.indices]},
            "singular_times": list(self.singular_times),
            "smoothness": {
                "needed": None if self.smoothness_needed is None else max(self.smoothness_needed.values()),
                "there": None if self.smoothness_there is None else min(self.smoothness_there.values()),
                "needed_by_measure": None if self.smoothness_needed is None else dict(self.smoothness_needed),
                "there_by_measure": None if self.smoothness_there is None else dict(self.smoothness_there),
            },
            "refusals": list(refusals(self)),
        }


def _level_record(level: Level) -> dict[str, Any]:
    gaps = {"with_states": level.with_states, "with_rates": level.with_rates, "beyond": level.beyond}
    return {
        "t": level.t,
        "order": level.order,
        "tau": level.tau,
        "determined": level.determined,
        "component": level.component,
        **{name: {"nullity": gap.nullity, "above": gap.above, "below": gap.below} for name, gap in gaps.items()},
    }


def _realisation_record(found: Realisation | NotDefined | None, ranks: tuple[tuple[float, int], ...]) -> dict[str, Any] | None:
    if found is None:
        return None
    common = {"of": found.of, "degrees_of_freedom": found.freedom}
    if isinstance(found, NotDefined):
        return {"rank": None, **common, "kind": None, "note": found.sentence}
    return {
        "rank": found.rank,
        **common,
        "kind": found.kind,
        "t": found.t,
        "singular_values": list(found.cosines),
        "matrix": [list(row) for row in found.Y],
        "rank_along_path": {"t": [t for t, _ in ranks], "rank": [rank for _, rank in ranks]},
    }


def shown_complex(value: complex) -> str:
    """Return a complex number in words."""
    real, imaginary = value.real, value.imag
    size = max(abs(value), math.ulp(1.0))
    # What is rounding is not shown.
    if abs(imaginary) < 1e-9 * size:
        return f"{real:.6g}"
    shown = f"{real:.6g}" if abs(real) > 1e-9 * size else ""
    return f"{shown}{imaginary:+.6g}i" if shown else f"{imaginary:.6g}i"
