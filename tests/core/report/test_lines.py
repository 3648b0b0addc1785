"""Ropes are drawn over their sheaves, and hang through when they are slack."""

import numpy as np
import pytest

from kingpost import PluginSet, open_model
from kingpost.gallery.projection import start_of
from kingpost.report.channels import take_inventory
from kingpost.report.lines import slack
from kingpost.report.scene import make_scene
from kingpost.report.shapes import body_shapes
from tests.core.report.drawn_machines import load_on_a_rope, pictured


def test_slack_is_what_the_rope_is_longer_than_its_way():
    """The load falls freely from z = 4: the way is sqrt(34) + 5 - z, until the rope of 8.5 m is taut at z = 2.33."""
    history, geometry, poses = pictured(load_on_a_rope(8.5), 0.6)
    (wire,) = geometry.lines
    spare = slack(wire, poses, history, np.arange(len(history)))
    fallen = 4 - 9.81 * history.time**2 / 2
    expected = np.maximum(8.5 - np.hypot(3, 5) - (5 - fallen), 0)
    # The transition rounds the corner off over 0.01 m, which may slow the load just before.
    free = expected > 0.02
    # Free fall by rk4 is exact up to rounding.
    assert spare[free] == pytest.approx(expected[free], abs=1e-9)
    assert (spare[expected == 0] < 0.01).all() and free.sum() > 5


def test_a_rope_that_pulls_has_no_slack_and_the_page_gets_none():
    # At rest: the way is sqrt(34) + 1 m, and 981 N stretch the rope by 6.7 mm.
    history, _, _ = pictured(load_on_a_rope(6.8243), 0.2)
    inventory = take_inventory(history)
    (line,) = make_scene(history, inventory, inventory.loads)["lines"]
    assert line["kind"] == "rope" and [point["body"] for point in line["points"]] == ["load", "world", "world"]
    assert "slack" not in line


def test_a_sheave_stands_where_the_rope_turns():
    _, geometry, poses = pictured(load_on_a_rope(8.5), 0.1)
    sheaves = [shape for shape in body_shapes(geometry, poses)["world"] if shape["kind"] == "drum"]
    assert [sheave["at"] for sheave in sheaves] == [[0.0, 0.0, 5.0]]
    # The rope lies in the plane y = 0.
    assert np.abs(sheaves[0]["axis"]) == pytest.approx([0, 1, 0])


def test_a_spring_hangs_on_the_body_that_it_pulls_at():
    """The squeezer's spring pulls at a point of K3 where no joint is: something of the body is there all the same."""
    geometry, poses = start_of(open_model("andrews-squeezer").mechanism, PluginSet(entry_points=False))
    (spring,) = geometry.lines
    body, at = spring.points[0]
    ends = [shape["to"] for shape in body_shapes(geometry, poses)[body] if shape["kind"] == "bar"]
    assert min(np.linalg.norm(np.array(end) - at) for end in ends) == pytest.approx(0, abs=1e-12)
