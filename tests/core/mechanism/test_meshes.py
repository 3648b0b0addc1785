"""STL and OBJ files become the same triangles; fine meshes become coarser without shrinking."""

import struct

import numpy as np
import pytest

from kingpost import FileError
from kingpost.mechanism.meshes import coarser, read_mesh

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
ASCII = "solid thing\n" + "".join(
    "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS[t]) + "endloop\nendfacet\n"
    for t in TRIANGLES
)
BINARY = b"solid but binary".ljust(80) + struct.pack("<I", 4) + b"".join(
    struct.pack("<12fH", 0, 0, 0, *CORNERS[t].ravel(), 0) for t in TRIANGLES
)  # fmt: skip
OBJ = "# a comment\nv 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nvn 0 0 1\nf 1/1/1 3/1/1 2/1/1\nf 1//1 2//1 4//1\nf -4 -1 -2\nf 2 3 4\n"


def volume(corners, triangles):
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("name", "content"), [("a.stl", ASCII.encode()), ("b.STL", BINARY), ("c.obj", OBJ.encode())], ids=["ascii", "binary", "obj"]
)
def test_a_tetrahedron_is_the_same_in_every_format(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    corners, triangles = read_mesh(tmp_path / name)
    assert len(corners) == 4 and len(triangles) == 4
    assert volume(corners, triangles) == pytest.approx(1.0)  # 1 * 2 * 3 / 6


def test_a_face_of_many_corners_is_a_fan(tmp_path):
    (tmp_path / "square.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    corners, triangles = read_mesh(tmp_path / "square.obj")
    areas = np.linalg.norm(np.cross(*(corners[triangles[:, k]] - corners[triangles[:, 0]] for k in (1, 2))), axis=1) / 2
    assert areas.sum() == pytest.approx(1.0)


def test_a_fine_sphere_becomes_coarser_and_keeps_its_size():
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 200, endpoint=False), np.linspace(0.01, np.pi - 0.01, 100), indexing="ij")
    corners = np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v)], axis=-1).reshape(-1, 3)
    index = np.arange(200 * 100).reshape(200, 100)
    a, b = index[:, :-1], np.roll(index, -1, axis=0)[:, :-1]
    triangles = np.concatenate([np.stack([a, a + 1, b], -1).reshape(-1, 3), np.stack([b, a + 1, b + 1], -1).reshape(-1, 3)])
    fewer = coarser(corners, triangles, 1000)
    assert 300 < len(fewer[1]) <= 1000
    # Cells of about a twentieth of the diameter move the surface inwards by less than a tenth of the radius.
    assert volume(*fewer) == pytest.approx(4 * np.pi / 3, rel=0.1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.stl", b"x" + BINARY[1:-3], "not a whole STL file"),
        ("a.stl", BINARY[:-3], "no triangles"),
        ("a.stl", b"", "not a whole STL file"),
        ("a.stl", b"solid x\nvertex 1 2\nendsolid", "not a whole STL file"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "names corner"),
        ("a.obj", b"v 0 0 zero\n", "not a whole OBJ file"),
        ("a.obj", b"# nothing\n", "no triangles"),
        ("a.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("a.ply", b"", "must end in .stl or .obj"),
    ],
)
def test_damaged_files_are_told(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said):
        read_mesh(tmp_path / name)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        read_mesh(tmp_path / "none.stl")
