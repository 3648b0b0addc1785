"""Shapes that a model gives are drawn, in the place of what is made up."""

from itertools import pairwise

import numpy as np
import pytest

from kingpost import Shape
from kingpost.report.channels import take_inventory
from kingpost.report.given_shapes import drawn_shape
from kingpost.report.scene import make_scene
from kingpost.report.shapes import body_shapes
from tests.core.report.drawn_machines import load_on_a_rope, pictured

BOX = {"kind": "box", "size": [2.0, 1.0, 4.0], "frame": {"position": [1.0, 0.0, 0.0], "rotation": np.eye(3).tolist()}}


def volume(shape):
    """Return the volume within faces that are counter-clockwise from outside, by the divergence theorem."""
    points, total = np.array(shape["points"]), 0.0
    for face in shape["faces"]:
        a, *rest = points[face]
        total += sum(np.dot(a, np.cross(b, c)) for b, c in pairwise(rest)) / 6
    return total


def test_a_box_is_closed_and_turned_outwards():
    assert volume(drawn_shape(BOX)) == pytest.approx(8.0)


def test_a_turned_box_keeps_its_volume_and_its_middle():
    quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    turned = drawn_shape({**BOX, "frame": {"position": [1.0, 0.0, 0.0], "rotation": quarter}})
    assert volume(turned) == pytest.approx(8.0)
    assert np.mean(turned["points"], axis=0) == pytest.approx([1, 0, 0])
    assert np.ptp(turned["points"], axis=0) == pytest.approx([1, 2, 4])


def test_a_body_with_shapes_is_drawn_with_them_alone():
    shape = [
        Shape("box", size=(1, 2, 3), at=(0, 0, "-1 / 2")),
        Shape("sphere", radius=0.3),
        Shape("cylinder", radius=1, length=2),
    ]
    history, geometry, poses = pictured(load_on_a_rope(8.5, shape=shape), 0.1)
    drawn = body_shapes(geometry, poses)["load"]
    assert [part["kind"] for part in drawn] == ["mesh", "ball", "drum"]
    assert np.ptp(drawn[0]["points"], axis=0) == pytest.approx([1, 2, 3])
    assert drawn[2]["axis"] == [0, 0, 1]
    inventory = take_inventory(history)
    low, _ = make_scene(history, inventory, inventory.loads)["box"]
    # The box about everything holds the box's lowest corner: 2 m below the load, which fell 0.05 m from z = 4.
    assert low[2] <= 4 - 9.81 * 0.1**2 / 2 - 2 + 1e-5
