"""What cannot work is refused before a run, with the number that decides."""

import json
from dataclasses import replace
from functools import cache

import pytest

from kingpost.base.errors import MechanismError
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import Demands, refusals, refuse_if_impossible
from kingpost.control.servo.index.report import IndexReport, shown_complex
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.elements import Body, Input
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import RestToRest, read_trajectory
from kingpost.modelfiles.opened import open_model
from tests.core.control.servo.machines import move, posed, slide, sliders, two_forces_on_one

OUTPUT_INPUT = Demands("output-input", realisation=("orthogonal",))
FLAT = Demands("flat", causal=False, internal_states=False)
STABLE = Demands("stable-inversion", causal=False)
SHARED = Demands("computed-torque", realisation=("orthogonal",), redundant_inputs=True)


@cache
def arm(kappa=1 / 3):
    return analyse(posed("passive-joint-arm", kappa=kappa))


@cache
def masses(**values):
    return analyse(posed("mass-chain", **values))


def test_nothing_in_the_way():
    assert refusals(arm()) == refusals(arm(), OUTPUT_INPUT) == ()
    refuse_if_impossible(arm(), OUTPUT_INPUT)


def test_a_path_that_is_not_smooth_enough():
    """Three masses need six continuous derivatives, and a polynomial of degree 9 has four."""
    chain = open_model("mass-chain:n=3").mechanism
    path = {"mass3.x": RestToRest(0.5, 3.0, 0.0, 6.0)}
    found = analyse(pose_servo(chain, ServoTask(path, "force", 6.0, name="rough")))
    text = r"task 'rough' of 'mass-chain' cannot work with 'flat': .*index 7: 'mass3.x' needs C\^6 and is C\^4.*smooth:6"
    with pytest.raises(MechanismError, match=text):
        refuse_if_impossible(found, FLAT)
    smooth = replace(found, smoothness_there={"mass3.x": 6})
    assert refusals(smooth, FLAT) == ()


def crane_along(**paths):
    """Overhead crane with a path from rest to rest in 3 s for some measures: start, end and profile."""
    crane = open_model("overhead-crane").mechanism
    course = {
        name: read_trajectory(
            {"kind": "rest-to-rest", "start": start, "end": end, "t_start": 0.0, "t_end": 3.0, "profile": profile}
        )
        for name, (start, end, profile) in paths.items()
    }
    inputs = ("trolley_force", "winch_torque")[: len(paths)]
    return analyse(pose_servo(crane, ServoTask(course, inputs, 3.0)))


def test_a_path_whose_acceleration_jumps_is_called_so_where_no_state_meets_it():
    found = crane_along(**{"load.x": (0.0, 5.0, "smooth:1"), "load.z": (-4.0, -1.5, "smooth:4")})
    assert found.index is None and found.stopped
    first, *_, last = refusals(found)
    assert "the path is not smooth enough for any index: 'load.x' needs C^2 and is C^1. Speeds or accelerations" in first
    assert "load.z" not in first and last.startswith("no state of the machine was found that meets the path at 0 s")


def test_an_input_that_does_not_act_on_its_measure_is_called_so_where_no_state_meets_the_path():
    """A trolley cannot lift its load: below it, its force acts along the other axis alone."""
    found = crane_along(**{"load.z": (-4.0, -1.5, "smooth:4")})
    first, *_ = refusals(found)
    assert "at 0 s the inputs trolley_force act on the accelerations of 0 of 1 measures (load.z; singular values " in first


def test_a_jump_in_the_path():
    ramp = read_trajectory({"kind": "sampled", "times": [0.0, 1.0, 2.0], "values": [0.0, 1.0, 1.0], "interpolation": "linear"})
    found = analyse(pose_servo(sliders(1, [1]), ServoTask({"rail1.x": ramp}, "force1", 2.0)))
    assert found.index == 3
    (sentence,) = refusals(found)
    assert "'rail1.x' needs C^2 and is C^0" in sentence


def test_an_input_that_does_not_act():
    """Refused where the problem is posed."""
    idle = sliders(2, [1])
    idle = replace(idle, inputs=(*idle.inputs, Input("idle", "N")))
    with pytest.raises(MechanismError, match="input idle acts on nothing in 'sliders'"):
        slide(idle, ("rail2.x",), ("idle",))


def test_inputs_that_do_the_same():
    """Two forces on one mass cannot lead two masses: (f + p)/2 is too small."""
    found = analyse(slide(two_forces_on_one(), ("rail1.x", "rail2.x"), ("left", "right")))
    assert found.index is None
    text = " ".join(refusals(found))
    assert "2 servo-constraints are more than (f + p)/2 = 1.5 with f = 2 degrees of freedom and rank p = 1" in text
    assert "only 1 of the inputs left, right act independently" in text


def test_measures_that_follow_from_each_other():
    """Two names for one coordinate, with paths that fit: nothing can be told about the inputs."""
    doubled = replace(sliders(2, [1, 2]), measures=(Measure("again", "combination", terms=(("rail1.x", 1.0),)),))
    found = analyse(slide(doubled, ("rail1.x", "again"), ("force1", "force2")))
    assert found.index is None
    text = " ".join(refusals(found))
    assert "only 1 of the 2 measures (rail1.x, again) are independent" in text
    assert "no index was found up to 9 (at 0.6 s, order 9: component" in text


def test_paths_that_contradict_each_other():
    """One coordinate cannot be in two places: no state meets the path, and the row is named."""
    doubled = replace(sliders(2, [1, 2]), measures=(Measure("again", "combination", terms=(("rail1.x", 1.0),)),))
    task = ServoTask({**move("rail1.x"), "again": RestToRest(1.0, 3.0, 0.0, 2.0)}, ("force1", "force2"), 2.0)
    found = analyse(pose_servo(doubled, task))
    assert found.index is None
    sentence = " ".join(refusals(found))
    assert "no state of the machine was found that meets the path at" in sentence
    assert "servo-constraint" in sentence


def test_a_rank_that_changes_on_the_way():
    """The hook of a trolley with a rigid rod: Y = sin^2 / (M + m sin^2), zero at rest and in the middle."""
    crane = open_model("slider-pendulum").mechanism
    found = analyse(pose_servo(crane, ServoTask({"hook.x": RestToRest(0.0, 1.0, 0.0, 3.0)}, "drive", 3.0)))
    assert dict(found.ranks)[0.0] == 0
    assert {rank for _, rank in found.ranks} == {0, 1}
    assert dict(found.indices)[0.0] == 5
    with pytest.raises(MechanismError, match="the rank of the realisation changes on the way: .* 0 at 0 s, at 1.5 s, at 3 s"):
        refuse_if_impossible(found, OUTPUT_INPUT)


def test_a_determinant_that_vanishes_on_the_way():
    """Between two samples as well: at the time that was found by halving."""
    found = replace(arm(), singular_times=(2.25,))
    assert refusals(found) == (
        "the rank of the realisation falls below 1 on the way, at 2.25 s, where inputs would have to be infinite",
    )


def test_an_index_that_changes_inside_and_one_that_changes_at_the_ends():
    times = ((0.0, None), (1.0, 3), (2.0, 5), (3.0, 3))
    assert refusals(replace(arm(), indices=times)) == ("the index changes on the way: 3 at 1 s, 5 at 2 s",)
    assert refusals(replace(arm(), indices=((0.0, None), (1.0, 3), (2.0, 3), (3.0, 5)))) == ()


def test_unstable_zero_dynamics_with_a_causal_method():
    found = arm(0.5)
    with pytest.raises(MechanismError, match="zero dynamics are unstable: 2.44949 1/s .*'stable-inversion'"):
        refuse_if_impossible(found, OUTPUT_INPUT)
    assert refusals(found, STABLE) == refusals(found) == ()


def test_a_realisation_that_a_method_cannot_do():
    (sentence,) = refusals(masses(), OUTPUT_INPUT)
    assert sentence.startswith("the realisation is tangential (rank 0 of 1, singular values 0.00e+00)")
    assert refusals(masses(), FLAT) == ()


def test_a_realisation_that_is_not_defined():
    """A point without mass between two springs: two masses on half the stiffness, index 5, but no Y."""
    plain = sliders(3, [1])
    light = replace(plain, bodies=(plain.bodies[0], Body("block2", mass=0.0), plain.bodies[2]))
    found = analyse(slide(light, ("rail3.x",), ("force1",)))
    assert (found.index, found.internal_states) == (5, 0)
    assert refusals(found) == refusals(found, FLAT) == ()
    (sentence,) = refusals(found, OUTPUT_INPUT)
    assert "the mass matrix is singular along rail2.x.rate" in sentence


def test_internal_states_where_there_must_be_none():
    (sentence,) = refusals(masses(damping=10.0), FLAT)
    assert sentence == "the path leaves 1 internal state free, and the method is for tasks that have none"


def test_fewer_and_more_inputs_than_measures():
    few = analyse(slide(sliders(2, [1]), ("rail1.x", "rail2.x"), ("force1",)))
    (sentence,) = refusals(few, SHARED)
    assert "2 measures (rail1.x, rail2.x) are to be led by 1 input (force1)" in sentence
    many = analyse(slide(sliders(2, [1, 2]), ("rail1.x",), ("force1", "force2")))
    (sentence,) = refusals(many)
    assert "2 inputs (force1, force2) for 1 measure (rail1.x) leave 1 of them open" in sentence
    assert refusals(many, SHARED) == ()


def test_the_report_as_plain_data():
    record = arm().to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["index"], record["internal_states"]) == (3, 2)
    assert (record["realisation"]["rank"], record["realisation"]["of"]) == (1, 1)
    assert sorted(value for _, value in record["zero_dynamics"]) == pytest.approx([-3.0, 3.0])
    assert record["smoothness"]["needed"] == 2
    assert record["refusals"] == []
    assert record["structural"]["accepted"] is True
    assert record["structural"]["offsets"]["servo-constraint azimuth"] == 2
    empty = IndexReport("machine", "", ("y",), ("u",)).to_dict()
    assert json.loads(json.dumps(empty, allow_nan=False)) == empty


def test_complex_numbers_in_words():
    values = {3j: "3i", -3j: "-3i", -0.9 + 2.5j: "-0.9+2.5i", 2.0 + 1e-12j: "2", 1e-15 - 1j: "-1i", 0j: "0"}
    assert {value: shown_complex(value) for value in values} == values
