"""The machine that is drawn: poses, shapes, paths and load arrows."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import History
from kingpost.report.channels import take_inventory
from kingpost.report.geometry import Geometry, Poses, continuous
from kingpost.report.packing import unpacked
from kingpost.report.scene import frame_rows, make_scene
from kingpost.report.shapes import body_shapes, machine_size
from tests.core.report.synthetic import coordinates, crane_history, poses, world_force


@pytest.fixture(scope="module")
def crane():
    return crane_history()


@pytest.fixture(scope="module")
def scene(crane):
    inventory = take_inventory(crane)
    return make_scene(crane, inventory, inventory.loads)


def columns(packed):
    return np.column_stack([unpacked(column) for column in packed])


def step(values):
    """Half a step of the packing, for each column: what a packed number may be off."""
    return np.ptp(values, axis=0).max() / 65534 / 2 * 1.01


def test_bodies_stand_where_the_run_put_them(crane, scene):
    placed = poses(coordinates(crane.time))
    assert [body["name"] for body in scene["bodies"]] == list(placed)
    for body in scene["bodies"]:
        rotation, position = placed[body["name"]]
        found = columns(body["pose"])
        assert found[:, :3] == pytest.approx(position, abs=step(position) + 1e-12)
        w_last = found[:, [4, 5, 6, 3]]
        same = np.abs(np.sum(w_last * rotation.as_quat(), axis=1))
        assert same == pytest.approx(np.ones(len(same)), abs=4 / 65534)


def test_quaternions_never_jump(crane):
    values = crane.select([f"king.pose.{part}" for part in ("ew", "ex", "ey", "ez")]).copy()
    values[100:200] *= -1
    smooth = continuous(values)
    assert np.linalg.norm(np.diff(smooth, axis=0), axis=1).max() < 0.1
    assert np.abs(smooth) == pytest.approx(np.abs(values))


def test_the_path_of_an_output_is_its_channel(crane, scene):
    (path,) = scene["paths"]
    tip = crane.select(["tip.x", "tip.y", "tip.z"])
    assert path["name"] == "tip"
    assert columns(path["points"]) == pytest.approx(tip, abs=step(tip) + 1e-12)


def test_arrows_point_along_the_force_in_the_world(crane, scene):
    for arrow in scene["arrows"]:
        truth = world_force(arrow["joint"], crane.time)
        assert columns(arrow["force"]) == pytest.approx(truth, abs=step(truth) + 1e-9)
    assert scene["arrows"][1]["body"] == "king" and scene["arrows"][1]["at"] == [0.0, 0.0, 0.0]


def test_an_arrow_on_the_parent_starts_in_the_parent(crane):
    channels = tuple(replace(c, side="parent") if c.name.startswith("slew.") and c.side else c for c in crane.channels)
    entry = {"frame": "child", "side": "parent", "at": [0.0, 0.0, 0.0], "parts": ["constraint", "actuator"]}
    loads = {**crane.provenance["loads"], "joints": {**crane.provenance["loads"]["joints"], "slew": entry}}
    history = History(crane.time, channels, crane.values, {**crane.provenance, "loads": loads})
    inventory = take_inventory(history)
    arrow = make_scene(history, inventory, inventory.loads)["arrows"][1]
    assert arrow["body"] == "vessel" and arrow["at"] == [0, 0, 5]


def shapes_of(crane):
    bodies = take_inventory(crane).posed
    geometry = Geometry.read(crane.provenance["geometry"], bodies)
    return body_shapes(geometry, Poses(crane, bodies, np.arange(len(crane))))


def test_links_are_bars_between_joints(crane):
    shapes = shapes_of(crane)
    bars = [(shape["from"], shape["to"]) for shape in shapes["inner-boom"] if shape["kind"] == "bar"]
    assert bars == [([0.0, 0.0, 0.0], [2.0, 0.0, 0.0])]  # from the luffing to the knuckle joint
    bars = [(shape["from"], shape["to"]) for shape in shapes["outer-boom"] if shape["kind"] == "bar"]
    assert bars == [([0.0, 0.0, 0.0], [2.0, 0.0, 0.0])]  # from the knuckle joint to the tip
    drums = {body: [shape["axis"] for shape in shapes[body] if shape["kind"] == "drum"] for body in shapes}
    assert drums["king"] == drums["inner-boom"] == [[0.0, 0.0, 1.0]]


def test_a_floating_body_that_carries_others_is_a_hull_about_its_centre_of_mass(crane):
    (hull,) = [shape for shape in shapes_of(crane)["vessel"] if shape["kind"] == "hull"]
    length, beam, height = hull["size"]
    assert hull["at"] == [0, 0, 2.5] and hull["bow"]
    assert length > beam > height
    assert 2.5 + height / 2 < 5  # below the slewing joint
    reach = np.hypot(crane["tip.x"], crane["tip.y"]).max()
    assert length > 2 * reach


def test_the_box_holds_everything_at_all_times(crane, scene):
    low, high = map(np.array, scene["box"])
    tip = crane.select(["tip.x", "tip.y", "tip.z"])
    assert (tip >= low - 1e-9).all() and (tip <= high + 1e-9).all()
    outline = np.array(scene["outline"])
    assert outline.min(axis=0) == pytest.approx(low, abs=1e-6) and outline.max(axis=0) == pytest.approx(high, abs=1e-6)


def test_without_geometry_bodies_are_boxes(crane):
    record = {key: value for key, value in crane.provenance.items() if key != "geometry"}
    history = History(crane.time, crane.channels, crane.values, record)
    inventory = take_inventory(history)
    scene = make_scene(history, inventory, inventory.loads)
    assert "records no geometry" in scene["note"]
    assert all([shape["kind"] for shape in body["shapes"]] == ["box"] for body in scene["bodies"])
    assert scene["arrows"] == [] and scene["joints"] == []


def test_gaps_in_poses_do_no_harm(crane):
    values = crane.values.copy()
    values[:5, crane.names.index("king.pose.px") : crane.names.index("king.pose.px") + 7] = np.nan
    history = History(crane.time, crane.channels, values, crane.provenance)
    inventory = take_inventory(history)
    scene = make_scene(history, inventory, inventory.loads)
    assert np.isfinite(scene["box"]).all() and np.isfinite(scene["size"])


def pendulum(kind, axis, position):
    """Return the geometry of one body with its mass below the joint, and a history in which it stands still."""
    frame = {"position": [0.0, 0.0, 0.0], "rotation": np.eye(3).tolist()}
    record = {
        "bodies": {"bob": {"mass": 2.0, "com": [0.0, 0.0, -3.0]}},
        "joints": {
            "pivot": {
                "kind": kind,
                "parent": "world",
                "child": "bob",
                "parent_frame": frame,
                "child_frame": frame,
                "axis": axis,
            }
        },
    }
    template = crane_history(samples=3)
    values = np.zeros((3, 7))
    values[:, :3], values[:, 3] = position, 1.0
    channels = tuple(
        replace(channel, name=channel.name.replace("king", "bob"))
        for channel in template.channels
        if channel.name.startswith("king.pose")
    )
    return Geometry.read(record, ("bob",)), Poses(History(template.time, channels, values), ("bob",), np.arange(3))


def test_a_mass_away_from_its_joint_hangs_on_a_rod():
    geometry, placed = pendulum("revolute", [0.0, 1.0, 0.0], np.zeros((3, 3)))
    shapes = body_shapes(geometry, placed)
    assert machine_size(geometry, placed) == 3.0
    assert [(shape["kind"], shape.get("to", shape.get("at"))) for shape in shapes["bob"][:2]] == [
        ("bar", [0.0, 0.0, -3.0]), ("ball", [0.0, 0.0, -3.0]),
    ]  # fmt: skip
    assert [shape["kind"] for shape in shapes["world"]] == ["box"]  # the plate it stands on


def test_a_slide_has_a_rail_as_long_as_the_way_it_goes():
    way = np.array([[0.0, 0, 0], [1.5, 0, 0], [-0.5, 0, 0]])
    geometry, placed = pendulum("prismatic", [1.0, 0.0, 0.0], way)
    (rail,) = body_shapes(geometry, placed)["world"]
    margin = 0.1 * machine_size(geometry, placed)
    assert rail["from"] == pytest.approx([-0.5 - margin, 0, 0])
    assert rail["to"] == pytest.approx([1.5 + margin, 0, 0])


def test_frames_of_long_runs_are_spread_evenly():
    assert frame_rows(10, 20).tolist() == list(range(10))
    rows = frame_rows(100_000, 1000)
    assert rows[0] == 0 and rows[-1] == 99_999 and len(rows) == 1000
    assert set(np.diff(rows)) <= {100, 101}


def test_bars_reach_where_loops_are_closed(crane):
    """A cylinder from the king to the middle of the inner boom, as a body with a pin that closes the loop."""
    frame = {"position": [0.0, 0.0, 0.0], "rotation": np.eye(3).tolist()}
    pin = {
        "kind": "point-on-line", "parent": "king", "child": "outer-boom", "axis": [0.0, 0.0, 1.0],
        "parent_frame": {**frame, "position": [1.0, 0.0, 0.5]}, "child_frame": {**frame, "position": [1.0, 0.7, 0.0]},
    }  # fmt: skip
    record = {**crane.provenance["geometry"], "closures": {"eye": pin}}
    geometry = Geometry.read(record, ("vessel", "king", "inner-boom", "outer-boom"))
    assert geometry.named("eye").kind == "point-on-line"
    placed = Poses(crane, ("vessel", "king", "inner-boom", "outer-boom"), [0, 1])
    shapes = body_shapes(geometry, placed)
    assert [1.0, 0.0, 0.5] in [shape.get("to") for shape in shapes["king"]]
    assert [1.0, 0.7, 0.0] in [shape.get("to") for shape in shapes["outer-boom"]]
    assert {"drum"} == {shape["kind"] for shape in shapes["outer-boom"] if shape.get("at") == [1.0, 0.7, 0.0]}
