"""Shapes in Python and in model files."""

import pytest

from kingpost import Body, FileError, Joint, Mechanism, MechanismError, Shape, read_model
from kingpost.modelfiles.toml_model import mechanism_from_dict

MODEL = """
name = "boxed"
[parameters]
width = {{ default = 2.0, unit = "m" }}
[[bodies]]
name = "a"
mass = 1
inertia = [1, 1, 1]
shape = {shape}
[[joints]]
name = "j"
kind = "free"
parent = "world"
child = "a"
"""


def model(tmp_path, shape):
    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(shape=shape))
    return read_model(path)


def test_one_shape_or_several(tmp_path):
    one = model(tmp_path, '{ kind = "box", size = ["width", 1, 1] }')
    several = model(tmp_path, '[{ kind = "box", size = ["width", 1, 1] }, { kind = "sphere", radius = 0.5 }]')
    assert len(one.bodies[0].shape) == 1 and len(several.bodies[0].shape) == 2
    assert mechanism_from_dict(several.to_dict()) == several


def test_a_shape_is_no_part_of_a_machine_without_it():
    plain = Mechanism("m", bodies=[Body("a", mass=1)], joints=[Joint("j", "free", "world", "a")])
    assert "shape" not in plain.to_dict()["bodies"][0]


def test_a_mesh_is_read_beside_the_model(tmp_path):
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1000 0 0\nv 0 1000 0\nf 1 2 3\n")
    found = model(tmp_path, '{ file = "part.obj", scale = 0.001, at = [0, 0, 1] }')
    (shape,) = found.bodies[0].shape
    assert shape.kind == "mesh" and sorted(shape.points) == [(0, 0, 0), (0, 1, 0), (1, 0, 0)]
    # The numbers belong to the model: it can be copied without the file.
    (tmp_path / "part.obj").unlink()
    assert mechanism_from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ('{ kind = "ball", radius = 1 }', "no shape of kind|expected one of"),
        ('{ kind = "box" }', "lacks 'size'"),
        ('{ kind = "sphere", radius = 1, length = 2 }', "has no 'length'"),
        ('{ kind = "box", size = ["breadth", 1, 1] }', "'breadth'"),
        ('{ kind = "mesh", points = [[0, 0, 0]], triangles = [[0, 1, 2]] }', "beyond the 1"),
        ("3", "expected a shape"),
    ],
)
def test_wrong_shapes_are_told_with_their_line(shape, said, tmp_path):
    with pytest.raises(MechanismError, match=said) as error:
        model(tmp_path, shape)
    assert "model.toml:" in str(error.value)


def test_a_missing_mesh_is_told(tmp_path):
    with pytest.raises(FileError, match=r"body 'a': shape: .*none\.stl"):
        model(tmp_path, '{ file = "none.stl" }')


def test_in_python():
    assert Body("a", mass=1, shape=Shape("sphere", radius=1)).shape == (Shape("sphere", radius=1),)
    with pytest.raises(MechanismError, match="lacks 'length'"):
        Shape("cylinder", radius=1)
