"""A vessel from hydrodynamic data: its body, its free joint and the forces of the water, ready for a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.hydro.data import HydroData
from kingpost.mechanism.elements import Body, ForceElement, Joint
from kingpost.vessels.hull import Floating, RigidHull, floating, rigid_hull
from kingpost.vessels.options import VesselOptions

if TYPE_CHECKING:
    from kingpost.marine.hydro.fitting.fit import MemoryFit
    from kingpost.marine.hydro.fitting.memory import Memory
    from kingpost.marine.hydro.fitting.report import FitReport

HORIZONTAL = (0, 1, 5)
GIVEN_MASS = "the mass matrix is not in the data; that of the hull as given is taken for all that floats"


@dataclass(frozen=True, eq=False)
class Vessel:
    """A vessel: what it was made of, and its parts.

    ``bodies``, ``joints`` and ``forces`` go into a mechanism with whatever stands on the vessel; gravity is not among them.
    """

    data: HydroData
    options: VesselOptions
    hull: RigidHull
    floating: Floating
    memory: Memory | None
    #: Where the memory comes from, in a line.
    source: str = ""
    #: How it was fitted; None for a vessel without memory, or with one that was fitted before.
    fit: MemoryFit | None = None

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The hull."""
        x, y, z = map(float, self.hull.centre_of_gravity)
        return (Body(self.options.body, self.hull.mass, (x, y, z), self.hull.entries),)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The free joint on which it moves."""
        return (Joint(self.options.joint, "free", "world", self.options.body),)

    @property
    def forces(self) -> tuple[ForceElement, ...]:
        """Buoyancy, radiation, damping, mooring and waves."""
        parts = (self._buoyancy(), self._radiation(), self._damping(), self._mooring(), self._waves())
        return tuple(force for part in parts for force in part)

    @property
    def gravity(self) -> ForceElement:
        """Gravity as the data have it."""
        return ForceElement("gravity", acceleration=(0.0, 0.0, -self.data.gravity))

    @cached_property
    def report(self) -> FitReport | None:
        """How good the memory is; None where it was not fitted here."""
        from kingpost.marine.hydro.fitting.report import report_fit

        return None if self.fit is None else report_fit(self.fit)

    @property
    def added_mass(self) -> FloatArray:
        """The added mass that acts at once (6, 6), about the point of reference."""
        return self._constant(self.data.added_mass) if self.memory is None else self.memory.added_mass_inf

    def mooring_stiffness(self) -> FloatArray:
        """Return the springs of surge, sway and yaw (3)."""
        period = self.options.mooring_period
        if period is None:
            return np.array(self.options.mooring)
        return np.diag(self.moved())[list(HORIZONTAL)] * (2 * np.pi / period) ** 2

    def moved(self) -> FloatArray:
        """Return mass and added mass together, about the point of reference."""
        return self.hull.matrix(self.data.reference) + self.added_mass

    def _at(self) -> tuple[float, ...]:
        return tuple(map(float, self.data.reference))

    def _buoyancy(self) -> list[ForceElement]:
        carried = self.floating
        return [
            ForceElement(
                "hydrostatic", name=f"{self.options.body}-buoyancy", body=self.options.body, matrix=_rows(carried.waterplane),
                buoyancy=carried.displaced * self.data.gravity, centre=tuple(map(float, carried.centre_of_buoyancy)),
                follows_yaw=True,
            )
        ]  # fmt: skip

    def _radiation(self) -> list[ForceElement]:
        name, body = f"{self.options.body}-radiation", self.options.body
        if self.memory is not None:
            more = {
                "source": "; ".join([self.source, *self.floating.assumed]),
                "follows_yaw": True,
                **self.memory.options(),
            }
            return [ForceElement("radiation", name=name, body=body, at=self._at(), **more)]
        return [
            ForceElement(
                "radiation", name=name, body=body, at=self._at(), added_mass=_rows(_symmetric(self.added_mass)),
                follows_yaw=True,
            ),
            ForceElement(
                "body-damping", name=f"{name}-damping", body=body, at=self._at(), axes="horizontal",
                matrix=_rows(_symmetric(self._constant(self.data.damping))),
            ),
        ]  # fmt: skip

    def _damping(self) -> list[ForceElement]:
        options = self.options
        linear = np.array(options.damping) + np.array(options.damping_ratio) * self._critical()
        if not linear.any() and not any(options.quadratic_damping):
            return []
        return [
            ForceElement(
                "body-damping", name=f"{options.body}-damping", body=options.body, at=self._at(), matrix=_rows(np.diag(linear)),
                quadratic=options.quadratic_damping, axes="horizontal",
            )
        ]  # fmt: skip

    def _critical(self) -> FloatArray:
        """Return 2 sqrt(C M) of every motion alone."""
        C = np.zeros(6)
        if self.data.restoring is not None:
            C = np.diag(self.restoring()).copy()
        C[list(HORIZONTAL)] += self.mooring_stiffness()
        return 2 * np.sqrt(np.maximum(C, 0.0) * np.diag(self.moved()))

    def restoring(self) -> FloatArray:
        """Return the stiffness (6, 6) of the hull alone about the point of reference, with its own weight."""
        from kingpost.marine.hydro.points import motion_matrix

        T = motion_matrix(-np.asarray(self.data.reference))
        C = T.T @ self.floating.waterplane @ T
        g, r = self.data.gravity, self.data.reference
        lever = self.floating.displaced * (self.floating.centre_of_buoyancy - r)[2]
        lever -= self.hull.mass * (self.hull.centre_of_gravity - r)[2]
        C[[3, 4], [3, 4]] += g * lever
        return C

    def _mooring(self) -> list[ForceElement]:
        options, springs = self.options, self.mooring_stiffness()
        found = []
        if springs.any():
            matrix = np.zeros((6, 6))
            matrix[HORIZONTAL, HORIZONTAL] = springs
            found.append(ForceElement("hydrostatic", name=f"{options.body}-mooring", body=options.body, matrix=_rows(matrix)))
        if any(options.mooring_damping):
            matrix = np.zeros((6, 6))
            matrix[HORIZONTAL, HORIZONTAL] = options.mooring_damping
            name = f"{options.body}-mooring-damping"
            found.append(ForceElement("body-damping", name=name, body=options.body, matrix=_rows(matrix), axes="horizontal"))
        return found

    def _waves(self) -> list[ForceElement]:
        if not self.options.waves or self.data.excitation is None:
            return []
        name = f"{self.options.body}-waves"
        return [
            ForceElement(
                "wave-excitation", name=name, body=self.options.body, at=self._at(), ramp=self.options.ramp,
                table=wave_table(self.data), follow="heading" if self.options.follows_yaw else "no", follows_yaw=True,
                **({"depth": self.data.depth} if np.isfinite(self.data.depth) else {}),
            )
        ]  # fmt: skip

    def _constant(self, table: FloatArray) -> FloatArray:
        """Return a table of the data at the frequency of a vessel without memory."""
        wanted, w = self.options.constant_frequency, self.data.frequencies
        assert wanted is not None
        if not w[0] <= wanted <= w[-1]:
            raise MechanismError(
                f"constant_frequency is {wanted:g} rad/s, and the data go from {w[0]:.4g} to {w[-1]:.4g} rad/s",
                path=("constant_frequency",),
            )
        k = min(int(np.searchsorted(w, wanted, side="right")) - 1, len(w) - 2)
        part = (wanted - w[k]) / (w[k + 1] - w[k])
        return (1 - part) * table[k] + part * table[k + 1]


def make_vessel(
    data: HydroData, options: VesselOptions | None = None, *, fitted: tuple[Memory, str] | None = None, **more: Any
) -> Vessel:
    """Return a vessel from hydrodynamic data.

    Parameters
    ----------
    data
        Of the hull, as :func:`kingpost.marine.hydro.reading.read_hydro` returns them.
    options
        What the data do not say.
    fitted
        A memory that was fitted before, and where it comes from (:func:`kingpost.marine.hydro.fitting.files.read_memory`).
    more
        Fields of :class:`VesselOptions` by keyword.

    """
    options = replace(options or VesselOptions(), **more)
    hull = _hull(data, options)
    complete = data if data.inertia is not None else replace(data, inertia=hull.matrix(data.reference))
    carried = floating(complete)
    if complete is not data:
        data, carried = complete, replace(carried, assumed=(*carried.assumed, GIVEN_MASS))
    if not options.memory:
        return Vessel(data, options, hull, carried, None)
    if fitted is not None:
        _check_reference(data, fitted[0])
        return Vessel(data, options, hull, carried, *fitted)
    from kingpost.marine.hydro.fitting.fit import fit_memory  # loaded only where a memory is fitted

    fit = fit_memory(data, limit=options.limit, orders=options.orders, correct_added_mass=options.correct_added_mass)
    return Vessel(data, options, hull, carried, fit.memory, fit.summary, fit)


def _check_reference(data: HydroData, memory: Memory) -> None:
    if not np.allclose(memory.reference, data.reference, atol=1e-6):
        raise MechanismError(
            f"the memory was fitted about the point {_point(memory.reference)} m, and the data of '{data.name}' are about "
            f"{_point(data.reference)} m; fit it again, or take the data that belong to it"
        )


def _point(values: FloatArray) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"


def wave_table(data: HydroData) -> dict[str, Any]:
    """Return the wave forces of the data as plain numbers, as the force ``wave-excitation`` takes them."""
    assert data.excitation is not None
    return {
        "frequencies": data.frequencies.tolist(),
        "headings": data.headings.tolist(),
        "real": data.excitation.real.tolist(),
        "imaginary": data.excitation.imag.tolist(),
    }


def _hull(data: HydroData, options: VesselOptions) -> RigidHull:
    """Return the rigid hull: that of the data, with what the user gives in the place of it."""
    given = (options.mass, options.centre_of_gravity, options.radii_of_gyration)
    hull = None if all(value is not None for value in given) else rigid_hull(data)
    mass = options.mass if options.mass is not None else hull.mass  # type: ignore[union-attr]
    centre = options.centre_of_gravity if options.centre_of_gravity is not None else hull.centre_of_gravity  # type: ignore[union-attr]
    if options.radii_of_gyration is None:
        # Another mass with the same radii of gyration.
        inertia = hull.inertia * (mass / hull.mass)  # type: ignore[union-attr]
    else:
        inertia = mass * np.diag(np.square(options.radii_of_gyration))
    return RigidHull(mass, np.array(centre, dtype=float), inertia)


def _symmetric(matrix: FloatArray) -> FloatArray:
    return (matrix + matrix.T) / 2


def _rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in matrix)
