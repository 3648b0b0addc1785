"""Hydrodynamic data of one hull in one convention, whatever file they came from.

SI units and radians; x forward, y to port, z up, with the origin in the still water surface; the order surge, sway, heave,
roll, pitch, yaw; the time factor exp(+i w t), so that a positive phase leads the crest at the origin; headings are where waves
go to, from +x towards +y. Readers turn what their format has into this, and say so in ``notes``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError

ComplexArray = NDArray[np.complex128]
MOTIONS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
#: Shapes of the fields, in frequencies n and headings m.
_SHAPES: dict[str, tuple[int | str, ...]] = {
    "added_mass": ("n", 6, 6),
    "damping": ("n", 6, 6),
    "added_mass_inf": (6, 6),
    "added_mass_zero": (6, 6),
    "excitation": ("n", "m", 6),
    "motions": ("n", "m", 6),
    "restoring": (6, 6),
    "drift": ("n", "m", 6),
    "inertia": (6, 6),
    "reference": (3,),
    "centre_of_gravity": (3,),
    "centre_of_buoyancy": (3,),
}
_COMPLEX = ("excitation", "motions")
#: Numbers beyond these are damage, and their squares would overflow: of tables, and of frequencies in rad/s.
_HUGE = 1e60
_FREQUENCIES = (1e-9, 1e9)


@dataclass(frozen=True, eq=False)
class HydroData:
    """Added mass, damping, wave forces, restoring and drift of a hull over frequencies and headings.

    Arrays are read-only. What a file does not hold is None.

    Parameters
    ----------
    name
        Of the hull.
    frequencies
        Circular frequencies (n) in rad/s, positive and rising.
    headings
        Where waves go to (m), in rad, rising, within one turn.
    added_mass, damping
        Of radiation (n, 6, 6), about ``reference``.
    added_mass_inf, added_mass_zero
        Limits of the added mass for infinite and for vanishing frequency (6, 6).
    excitation
        Wrench per metre of wave amplitude (n, m, 6), about ``reference``.
    motions
        Motion of ``reference`` per metre of wave amplitude (n, m, 6): m/m and rad/m.
    restoring
        Hydrostatic stiffness (6, 6) about ``reference``, with weight and buoyancy where ``restoring_has_weight``.
    drift
        Mean wrench per square metre of wave amplitude (n, m, 6); NaN where a component is not known.
    inertia
        Mass matrix of the hull (6, 6) about ``reference``.
    reference
        The point about which moments and motions are taken, in m.
    centre_of_gravity, centre_of_buoyancy, volume
        In m, m and m^3.
    water_density, gravity, depth
        In kg/m^3, m/s^2 and m; the depth may be infinite.
    source
        The file.
    notes
        What a reader or a cleaner did to the numbers, in sentences.

    """

    name: str
    frequencies: FloatArray
    headings: FloatArray
    added_mass: FloatArray
    damping: FloatArray
    water_density: float
    gravity: float
    reference: FloatArray
    depth: float = float("inf")
    added_mass_inf: FloatArray | None = None
    added_mass_zero: FloatArray | None = None
    excitation: ComplexArray | None = None
    motions: ComplexArray | None = None
    restoring: FloatArray | None = None
    restoring_has_weight: bool = True
    drift: FloatArray | None = None
    inertia: FloatArray | None = None
    centre_of_gravity: FloatArray | None = None
    centre_of_buoyancy: FloatArray | None = None
    volume: float | None = None
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._keep("frequencies", _array(self.frequencies, "frequencies", float))
        self._keep("headings", _array(self.headings, "headings", float))
        self._check_axes()
        sizes = {"n": len(self.frequencies), "m": len(self.headings)}
        for name, shape in _SHAPES.items():
            given = getattr(self, name)
            if given is not None:
                array = _array(given, name, complex if name in _COMPLEX else float)
                _check_array(name, array, tuple(sizes.get(str(size), size) for size in shape))
                self._keep(name, array)
        for name in ("water_density", "gravity", "depth", "volume"):
            self._check_positive(name)

    def about(self, point: ArrayLike) -> HydroData:
        """Return the same hull with moments and motions about another point, in m."""
        from kingpost.marine.hydro.points import moved

        return moved(self, point)

    def full_turn(self) -> HydroData:
        """Return the same hull with the headings that its symmetry to port and starboard adds."""
        from kingpost.marine.hydro.headings import full_turn

        return full_turn(self)

    def at_heading(self, heading: float) -> HydroData:
        """Return the same hull with one heading, in rad, between those of the table."""
        from kingpost.marine.hydro.tables import at_heading

        return at_heading(self, heading)

    def excitation_at(self, frequency: ArrayLike, heading: ArrayLike) -> ComplexArray:
        """Return the wrench per metre of amplitude (k, 6) of waves with these frequencies (k) in rad/s and headings (k) in rad.

        See :mod:`kingpost.marine.hydro.tables` for what is done between and beyond the rows of the table.
        """
        from kingpost.marine.hydro.tables import excitation_at

        return excitation_at(self, frequency, heading)

    def motions_at(self, frequency: ArrayLike, heading: ArrayLike) -> ComplexArray:
        """Return the motions per metre of amplitude (k, 6), as :meth:`excitation_at` does the wrench."""
        from kingpost.marine.hydro.tables import motions_at

        return motions_at(self, frequency, heading)

    def drift_at(self, frequency: ArrayLike, heading: ArrayLike) -> FloatArray:
        """Return the mean wrench per square metre of amplitude (k, 6), as :meth:`excitation_at` does the first-order one."""
        from kingpost.marine.hydro.tables import drift_at

        return drift_at(self, frequency, heading)

    def with_notes(self, *sentences: str, **changes: Any) -> HydroData:
        """Return a copy with further notes, and with other values in some fields."""
        return replace(self, notes=(*self.notes, *sentences), **changes)

    def _keep(self, name: str, array: NDArray[Any]) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def _check_axes(self) -> None:
        w, headings = self.frequencies, self.headings
        if w.ndim != 1 or not len(w) or not np.isfinite(w).all() or w[0] <= 0 or not (np.diff(w) > 0).all():
            raise KingpostError(
                "frequencies must be positive, finite and rising, in rad/s; the limits for zero and infinite frequency have "
                f"fields of their own; got {_shown(w)}"
            )
        if not _FREQUENCIES[0] <= w[0] <= w[-1] <= _FREQUENCIES[1]:
            raise KingpostError(f"frequencies from {w[0]:.3g} to {w[-1]:.3g} rad/s are not those of waves")
        rising = headings.ndim == 1 and np.isfinite(headings).all() and bool((np.diff(headings) > 0).all())
        if not rising or (len(headings) and headings[-1] - headings[0] >= 2 * math.pi):
            raise KingpostError(f"headings must rise and lie within one turn, in rad; got {_shown(headings)}")

    def _check_positive(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        infinite = name == "depth" and value == math.inf
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not (infinite or 1 / _HUGE < value < _HUGE)
        ):
            raise KingpostError(f"{name.replace('_', ' ')} must be a positive number; got {value!r}")
        object.__setattr__(self, name, float(value))


def _array(given: Any, name: str, kind: type) -> NDArray[Any]:
    try:
        return np.array(given, dtype=kind)
    except (TypeError, ValueError):
        raise KingpostError(f"{name.replace('_', ' ')} must be an array of numbers; got {type(given).__name__}") from None


def _check_array(name: str, array: NDArray[Any], shape: tuple[Any, ...]) -> None:
    words = name.replace("_", " ")
    if array.shape != shape:
        raise KingpostError(f"{words} must have the shape {shape}, as the frequencies and headings say; got {array.shape}")
    bad = np.isinf(array) if name == "drift" else ~np.isfinite(array)
    if bad.any():
        raise KingpostError(f"{words} holds {int(bad.sum())} value(s) that are not finite, the first at {_first(bad)}")
    huge = np.abs(array) > _HUGE
    if huge.any():
        raise KingpostError(f"{words} holds {abs(array[huge][0]):.3g} at {_first(huge)}, more than any hull can have")


def _first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _shown(values: NDArray[Any]) -> str:
    return np.array2string(np.asarray(values), precision=6, threshold=8, edgeitems=3)
