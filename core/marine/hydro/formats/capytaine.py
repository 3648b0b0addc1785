"""Datasets of capytaine in NetCDF.

Complex numbers are a dimension ``complex`` of two; dimensions have names and any order; degrees of freedom are named. The time
factor is exp(-i w t), so wave forces and motions are conjugated on the way in. Frequencies zero and infinite, where the dataset
has them, become the limits of the added mass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.errors import FileError, listed
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.formats.assembly import assemble, blaming
from kingpost.marine.hydro.formats.containers import Container, Variable, read_container

#: Dimensions in which a dataset of one hull has one entry.
SCALARS = ("rho", "g", "water_depth", "forward_speed", "body", "body_name")
DOFS = ("influenced_dof", "radiating_dof")


def read_capytaine(
    path: Path, *, reference: ArrayLike | None = None, body: str | None = None, name: str | None = None
) -> HydroData:
    """Return the hull in a dataset; ``reference`` is needed where the file has no ``rotation_center``."""
    with blaming(path):
        return _Dataset(path, read_container(path), body).data(reference, name)


class _Dataset:
    """A file, and which body of it is meant."""

    def __init__(self, path: Path, container: Container, body: str | None) -> None:
        self.path, self.variables, self.attributes = path, container.variables, container.attributes
        self.notes = ["capytaine: time factor exp(-i w t), so wave forces and motions were conjugated"]
        for needed in ("added_mass", "radiation_damping"):
            if needed not in self.variables:
                raise FileError(
                    f"'{path}' has no '{needed}', so it is no dataset of capytaine with radiation; it has: "
                    f"{listed(sorted(self.variables), most=12)}"
                )
        self.body = self._chosen(body)
        self.rows = {dim: self._rows(dim) for dim in DOFS}
        self.axis, self.omega = self._frequencies()

    def data(self, reference: ArrayLike | None, name: str | None) -> HydroData:
        self._refuse_speed()
        finite = np.flatnonzero(np.isfinite(self.omega) & (self.omega > 0))
        added, damping = (self._matrices(each, self.axis) for each in ("added_mass", "radiation_damping"))
        headings = self._headings()
        density, gravity, depth = (self._scalar(each) for each in ("rho", "g", "water_depth"))
        waves = {
            "excitation": self._excitation(headings),
            "motions": self._transfer("rao", "radiating_dof", headings),
            "drift": self._drift(headings),
        }
        return assemble(
            self.path,
            tuple(self.notes),
            name=name or self.body or self._body_names() or self.path.stem,
            frequencies=self.omega[finite],
            headings=headings if any(table is not None for table in waves.values()) else np.zeros(0),
            added_mass=added[finite],
            damping=damping[finite],
            added_mass_inf=self._limit("added_mass_inf", added, np.isposinf(self.omega)),
            added_mass_zero=self._limit("added_mass_zero", added, self.omega == 0),
            restoring=self._matrix("hydrostatic_stiffness"),
            inertia=self._matrix("inertia_matrix"),
            water_density=density,
            gravity=gravity,
            depth=depth,
            reference=self._reference(reference),
            centre_of_gravity=self._point("center_of_mass"),
            centre_of_buoyancy=self._point("center_of_buoyancy"),
            volume=self._number("disp_volume"),
            **{key: None if table is None else table[finite] for key, table in waves.items()},
        )

    # The dimensions

    def _names(self, dim: str) -> list[str]:
        if dim not in self.variables:
            raise FileError(f"'{self.path}' does not name its degrees of freedom: it has no '{dim}'")
        return [str(each) for each in np.atleast_1d(self.variables[dim].values)]

    def _chosen(self, body: str | None) -> str | None:
        """Return the prefix of the degrees of freedom that are meant, if they have any."""
        bodies = list(dict.fromkeys(each.rpartition("__")[0] for each in self._names("influenced_dof") if "__" in each))
        if not bodies:
            return None
        if body is None and len(bodies) > 1:
            raise FileError(f"'{self.path}' holds {len(bodies)} bodies; say which one is meant by 'body': {listed(bodies)}")
        if body is not None and body not in bodies:
            raise FileError(f"'{self.path}' has no body '{body}'; it has: {listed(bodies)}")
        if len(bodies) > 1:
            self.notes.append(f"of {len(bodies)} bodies this is '{body}'; what the others do to it by their motion is left out")
        return body or bodies[0]

    def _rows(self, dim: str) -> dict[int, int]:
        """Return which entry of a dimension each of the six motions is."""
        prefix = f"{self.body}__" if self.body else ""
        places = {each.lower(): i for i, each in enumerate(self._names(dim))}
        wanted = {k: f"{prefix}{motion}".lower() for k, motion in enumerate(MOTIONS)}
        found = {k: places[each] for k, each in wanted.items() if each in places}
        if not found:
            raise FileError(f"'{self.path}' has none of {listed(MOTIONS)} among '{dim}': {listed(self._names(dim), most=8)}")
        lacking = [motion for k, motion in enumerate(MOTIONS) if k not in found]
        note = f"the file has no {listed(lacking)}: their rows and columns are zero"
        if lacking and note not in self.notes:
            self.notes.append(note)
        return found

    def _frequencies(self) -> tuple[str, NDArray[np.float64]]:
        """Return the dimension that runs over frequencies, and the circular frequencies along it."""
        dims = [dim for dim in self.variables["added_mass"].dims if dim not in (*SCALARS, *DOFS, "wave_direction")]
        if len(dims) != 1:
            raise FileError(f"'{self.path}': added_mass runs over {listed(dims)}; expected one dimension, of frequencies")
        axis = dims[0]
        omega = self.variables.get("omega")
        if omega is None or omega.values.shape != (self._length(axis),):
            raise FileError(f"'{self.path}' has no circular frequencies 'omega' along '{axis}'")
        return axis, np.array(omega.values, dtype=float)

    def _length(self, dim: str) -> int:
        added = self.variables["added_mass"]
        return added.values.shape[added.dims.index(dim)]

    def _headings(self) -> NDArray[np.float64]:
        given = self.variables.get("wave_direction")
        return np.zeros(0) if given is None else np.atleast_1d(np.array(given.values, dtype=float))

    # Tables

    def _along(self, variable: Variable, *dims: str) -> NDArray[Any]:
        """Return values along these dimensions in this order; others may have one entry, or that of the body."""
        values, names = variable.values, list(variable.dims)
        for dim in [each for each in names if each not in (*dims, "complex")]:
            place = names.index(dim)
            values = np.take(values, self._entry(dim, values.shape[place]), axis=place)
            names.remove(dim)
        if "complex" in names:
            values = np.moveaxis(values, names.index("complex"), 0)
            if len(values) != 2:
                raise FileError(f"'{self.path}': the dimension 'complex' has {len(values)} entries, not 2")
            values = values[0] + 1j * values[1]
            names.remove("complex")
        lacking = [dim for dim in dims if dim not in names]
        if lacking:
            raise FileError(f"'{self.path}': a table does not run over {listed(lacking)}, only over {listed(variable.dims)}")
        return np.transpose(values, [names.index(dim) for dim in dims])

    def _entry(self, dim: str, length: int) -> int:
        if length == 1:
            return 0
        if dim in ("body", "body_name") and self.body and dim in self.variables:
            names = self._names(dim)
            if self.body in names:
                return names.index(self.body)
        raise FileError(f"'{self.path}' holds {length} values of '{dim}'; one hull at one {dim} is expected: select it first")

    def _six(self, values: NDArray[Any], dim: str, place: int) -> NDArray[Any]:
        """Return a table with the six motions along one place; those that the file lacks are zero."""
        shape = list(values.shape)
        shape[place] = 6
        table = np.zeros(shape, dtype=complex if np.iscomplexobj(values) else float)
        target, source = np.moveaxis(table, place, 0), np.moveaxis(values, place, 0)
        for k, i in self.rows[dim].items():
            target[k] = source[i]
        return table

    def _matrices(self, name: str, *axes: str) -> NDArray[Any]:
        values = self._along(self.variables[name], *axes, *DOFS)
        return self._six(self._six(values, DOFS[0], len(axes)), DOFS[1], len(axes) + 1).astype(float)

    def _matrix(self, name: str) -> NDArray[Any] | None:
        if name not in self.variables:
            return None
        matrix = self._matrices(name)
        if np.isfinite(matrix).all():
            return matrix
        self.notes.append(f"'{name}' is not known in the file: it holds values that are not numbers")
        return None

    def _limit(self, name: str, added: NDArray[Any], there: NDArray[np.bool_]) -> NDArray[Any] | None:
        rows = added[there]
        if len(rows) and np.isfinite(rows[0]).all():
            return rows[0]
        return self._matrix(name)

    def _transfer(self, name: str, dof: str, headings: NDArray[Any]) -> NDArray[Any] | None:
        if name not in self.variables or not len(headings):
            return None
        variable = self.variables[name]
        dof = dof if dof in variable.dims else next((each for each in DOFS if each in variable.dims), dof)
        if "wave_direction" not in variable.dims and len(headings) == 1:
            values = self._along(variable, self.axis, dof)[:, None, :]
        else:
            values = self._along(variable, self.axis, "wave_direction", dof)
        return np.conj(self._six(values, dof, 2).astype(complex))

    def _excitation(self, headings: NDArray[Any]) -> NDArray[Any] | None:
        whole = self._transfer("excitation_force", "influenced_dof", headings)
        if whole is not None:
            return whole
        parts = [self._transfer(each, "influenced_dof", headings) for each in ("diffraction_force", "Froude_Krylov_force")]
        if parts[0] is None or parts[1] is None:
            return None
        self.notes.append("wave forces are the sum of diffraction and Froude-Krylov forces")
        return parts[0] + parts[1]

    def _drift(self, headings: NDArray[Any]) -> NDArray[Any] | None:
        wanted = {k: f"drift_force_{each}" for k, each in enumerate(MOTIONS)}
        found = {k: self.variables[each] for k, each in wanted.items() if each in self.variables}
        if not found or not len(headings):
            return None
        table = np.full((len(self.omega), len(headings), 6), np.nan)
        for k, variable in found.items():
            values = self._along(variable, self.axis, *(dim for dim in variable.dims if dim.startswith("wave_direction")))
            table[:, :, k] = np.real(np.diagonal(values, axis1=1, axis2=2) if values.ndim == 3 else values)
        return table

    # Numbers and points

    def _scalar(self, name: str) -> float:
        value = self._number(name)
        if value is None:
            raise FileError(f"'{self.path}' has no number {name}, as every dataset of capytaine has")
        return value

    def _number(self, name: str) -> float | None:
        given = self._given(name)
        if given is None or not given.size:
            return None
        if given.size > 1 and np.ptp(given) > 0 and given.size != len(self._bodies()):
            raise FileError(f"'{self.path}' holds {given.size} values of '{name}'; one is expected: select it first")
        return float(given.ravel()[self._body_index() if given.size == len(self._bodies()) else 0])

    def _given(self, name: str) -> NDArray[np.float64] | None:
        if name in self.variables:
            return np.array(self.variables[name].values, dtype=float)
        return np.array(self.attributes[name], dtype=float) if name in self.attributes else None

    def _bodies(self) -> list[str]:
        return next((self._names(dim) for dim in ("body", "body_name") if dim in self.variables), [])

    def _body_index(self) -> int:
        return self._bodies().index(self.body) if self.body in self._bodies() else 0

    def _body_names(self) -> str:
        return self._bodies()[0] if len(self._bodies()) == 1 else ""

    def _point(self, name: str) -> NDArray[np.float64] | None:
        given = self._given(name)
        if given is None or given.size % 3 or not given.size:
            return None
        points = given.reshape(-1, 3)
        point = points[self._body_index() if len(points) == len(self._bodies()) else 0]
        return point if np.isfinite(point).all() else None

    def _reference(self, given: ArrayLike | None) -> Any:
        point = self._point("rotation_center")
        if point is None and given is None:
            raise FileError(
                f"'{self.path}' does not say about which point its moments are (it has no 'rotation_center'); give 'reference'"
            )
        if point is not None and given is not None and not np.allclose(point, np.asarray(given, dtype=float), atol=1e-9):
            raise FileError(
                f"'{self.path}' has its moments about {np.round(point, 6).tolist()} m, but 'reference' says "
                f"{np.asarray(given, dtype=float).tolist()} m; leave it out, and move the data by about()"
            )
        return point if point is not None else given

    def _refuse_speed(self) -> None:
        speed = self._number("forward_speed")
        if speed:
            raise FileError(f"'{self.path}' is for a forward speed of {speed:g} m/s; only hulls at rest are understood")
