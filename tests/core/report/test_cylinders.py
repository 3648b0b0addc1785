"""Cylinders have a barrel and a rod that stay in one line and in each other; what stands on the ground is no hull."""

import numpy as np
import pytest

from kingpost import PluginSet
from kingpost.report.cylinders import cylinders
from kingpost.report.shapes import THICKNESS, body_shapes, is_hull, machine_size
from tests.core.report.drawn_machines import pictured, stewart_platform


@pytest.fixture(scope="module")
def platform():
    return pictured(stewart_platform(), 0.3)


def test_the_legs_of_a_platform_are_no_hulls(platform):
    _, geometry, poses = platform
    assert not any(is_hull(body, geometry) for body in poses.positions if body != "world")
    shapes = body_shapes(geometry, poses)
    assert not [shape for body in shapes for shape in shapes[body] if shape["kind"] == "hull"]
    # Six feet stand on plates; the platform stands on its legs.
    assert len(shapes["world"]) == 6


def test_barrel_and_rod_lie_on_the_line_between_the_pins(platform):
    _, geometry, poses = platform
    found = cylinders(geometry, poses, THICKNESS * machine_size(geometry, poses))
    assert sorted(found) == [f"stroke{k}" for k in range(6)]
    for k in range(6):
        cylinder = found[f"stroke{k}"]
        foot, barrel_end = (poses.point(f"barrel{k}", at) for at in cylinder.barrel)
        head, rod_end = (poses.point(f"rod{k}", at) for at in cylinder.rod)
        apart = head - foot
        distance = np.linalg.norm(apart, axis=1, keepdims=True)
        for point in (barrel_end, rod_end):
            along = np.sum((point - foot) * apart, axis=1, keepdims=True) / distance
            # A unit quaternion of 8 digits' worth of drift turns a 2 m leg by far less than this.
            assert np.abs(point - foot - along * apart / distance).max() < 1e-9
            assert (along > 0).all() and (along < distance).all()
        # The rod reaches into the barrel at all times.
        assert (np.linalg.norm(rod_end - foot, axis=1) < np.linalg.norm(barrel_end - foot, axis=1)).all()


def test_a_slide_on_the_ground_is_no_cylinder(platform):
    from tests.core.report.test_scene import pendulum

    geometry, poses = pendulum("prismatic", [1.0, 0.0, 0.0], np.array([[5.0, 0, 0], [5.5, 0, 0], [6.0, 0, 0]]))
    assert cylinders(geometry, poses, 0.01) == {}


def test_a_rope_that_is_a_body_without_mass_is_a_line_and_no_cylinder():
    crane = PluginSet(entry_points=False).models.get("overhead-crane")().build()
    _, geometry, poses = pictured(crane, 0.1)
    (rope,) = geometry.lines
    assert (rope.name, rope.kind, [body for body, _ in rope.points]) == ("reel", "rope", ["rope", "load"])
    assert cylinders(geometry, poses, 0.01) == {}
    assert body_shapes(geometry, poses)["rope"] == [
        shape for shape in body_shapes(geometry, poses)["rope"] if shape["kind"] == "drum"
    ]
