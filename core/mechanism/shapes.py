"""What bodies look like in pictures. Shapes have no mass, and nothing collides with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields, fill
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3
from kingpost.mechanism.meshes import read_mesh

#: The fields that each kind needs.
SHAPE_KINDS: Mapping[str, tuple[str, ...]] = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": ("points", "triangles"),
}
_SIZES = tuple(dict.fromkeys(name for names in SHAPE_KINDS.values() for name in names))


@dataclass(frozen=True)
class Shape:
    """A box, cylinder, sphere or mesh, placed in the frame of a body by ``at`` (m) and ``rotation`` (roll, pitch, yaw in rad).

    A box has the lengths ``size`` along its axes, a cylinder lies along its z axis, both about their middle. A mesh has
    ``points`` (m) and ``triangles``, three points each, counted from 0 and counter-clockwise from outside;
    :meth:`from_file` reads one.
    """

    kind: Literal["box", "cylinder", "sphere", "mesh"]
    at: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR
    size: Vector3 | None = None
    radius: Scalar | None = None
    length: Scalar | None = None
    points: tuple[tuple[float, float, float], ...] = ()
    triangles: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in SHAPE_KINDS:
            nearest = closest(str(self.kind), SHAPE_KINDS)
            raise MechanismError(f"there is no shape of kind {self.kind!r}{nearest} Kinds: {listed(SHAPE_KINDS)}.")
        what = f"a {self.kind}"
        convert_fields(self, what)
        needed = SHAPE_KINDS[self.kind]
        for name in _SIZES:
            given = getattr(self, name) not in (None, ())
            if given != (name in needed):
                takes = listed(needed)
                raise MechanismError(f"{what} {'has no' if given else 'lacks'} '{name}'; it takes {takes}", path=(name,))
        for triangle in self.triangles:
            if not all(0 <= corner < len(self.points) for corner in triangle):
                raise MechanismError(f"{what}: triangle {triangle} names a point beyond the {len(self.points)} there are")

    @classmethod
    def from_file(
        cls, path: str | Path, *, scale: float = 1.0, at: Vector3 = ZERO_VECTOR, rotation: Vector3 = ZERO_VECTOR
    ) -> Shape:
        """Return the mesh in an STL or OBJ file, as fine as pictures need; ``scale`` is the unit of its numbers in m."""
        corners, triangles = read_mesh(path)
        x, y, z = ([float(f"{value:.6g}") for value in column] for column in (scale * corners).T)
        points = tuple(zip(x, y, z, strict=True))
        return cls("mesh", at, rotation, points=points, triangles=tuple(map(tuple, triangles.tolist())))

    @staticmethod
    def from_data(data: Any, base: Path = Path()) -> Shape:
        """Return the shape that plain data describe, as in a TOML file; a mesh may name a ``file``, relative to ``base``."""
        if isinstance(data, Shape):
            return data
        if not isinstance(data, Mapping):
            raise MechanismError(f'expected a shape, such as {{ kind = "sphere", radius = 0.1 }}; got {data!r}')
        if "file" not in data:
            return fill(Shape, data, "a shape")
        mesh = fill(_MeshFile, data, "a shape from a file")
        return Shape.from_file(base / mesh.file, scale=mesh.scale, at=mesh.at, rotation=mesh.rotation)


@dataclass(frozen=True)
class _MeshFile:
    file: str
    kind: Literal["mesh"] = "mesh"
    scale: float = 1.0
    at: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR


def read_shapes(data: Any, base: Path = Path()) -> tuple[Shape, ...]:
    """Return one shape, or a list of them."""
    several = data if isinstance(data, list | tuple) else [data]
    return tuple(Shape.from_data(item, base) for item in several)
