"""Measures are the same function of the configuration in every formulation, and can be asked for by name."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Measure, Mechanism, MechanismError, Output, open_model, simulate
from kingpost.equations.measures import measure_expression, measure_names
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive
from kingpost.testing.problems import FREE_KINDS
from tests.core.equations.measured import every_kind, measured_tree, planar_arm

P = [1.0, 0.7]


def observed(mechanism, formulation, plugins):
    """The function (joint coordinates, joint speeds) -> values of all measures of a mechanism in a formulation, by name."""
    equations = derive(assemble(mechanism, plugins), select(plugins.formulations, formulation), plugins)
    names = [channel.name for channel in equations.output_channels]

    def values(q, v, p):
        if equations.coordinates.initial is not None:
            x = np.asarray(equations.coordinates.initial(q, v, p)).ravel()
            q, v = x[: equations.nq], x[equations.nq :]
        found = np.asarray(equations.observations(0.0, q, v, [0.0] * equations.u.numel(), p)).ravel()
        return {measure.name: found[names.index(measure.name)] for measure in mechanism.measures}

    return values, equations


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("formulation", ["recursive", "directors", "nullspace"])
def test_every_formulation_sees_the_same(seed, formulation, plugins):
    mechanism = measured_tree(seed, FREE_KINDS)
    ours, equations = observed(mechanism, formulation, plugins)
    kane, _ = observed(mechanism, "kane", plugins)
    rng = np.random.default_rng(seed)
    first = 3 * len(mechanism.outputs)
    assert [channel.name for channel in equations.output_channels[first:]][:11] == [item.name for item in mechanism.measures]
    for _ in range(3):
        q = rng.uniform(0.3, 1.2, len(mechanism.coordinates))
        for first in quaternion_rows(mechanism):
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        v = rng.normal(size=len(mechanism.speeds))
        there, here = kane(q, v, P), ours(q, v, P)
        assert len(there) == 11
        for name, value in there.items():
            assert here[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("formulation", ["recursive", "directors", "directors:planar=true", "nullspace"])
def test_in_a_plane_too(formulation, plugins):
    mechanism = planar_arm()
    ours, _ = observed(mechanism, formulation, plugins)
    kane, _ = observed(mechanism, "kane", plugins)
    state = [0.3, 2.0, -1.1], [0.1, 0.2, 0.3]
    assert ours(*state, P) == pytest.approx(kane(*state, P), rel=1e-13, abs=1e-13)


def test_quaternions_of_bodies_too(plugins):
    joints = (Joint("pivot", "spherical", "world", "top"), Joint("flight", "free", "world", "brick", rotation=(0.1, 0.2, 0.3)))
    mechanism = Mechanism(
        "top-and-brick",
        bodies=tuple(Body(name, mass=1.0, inertia=(1.0, 2.0, 2.5), com=(0, 0.1, 0.3)) for name in ("top", "brick")),
        joints=joints,
        outputs=(Output("tip", "brick"),),
        parameters=measured_tree(0, ["revolute"]).parameters,
        measures=every_kind("brick", "top", ["pivot.qw", "flight.qx"]),
    )
    rng = np.random.default_rng(3)
    q = rng.normal(size=len(mechanism.coordinates))
    for first in quaternion_rows(mechanism):
        # Bodies know a quaternion up to its sign; they begin at the one that they are given.
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    v = rng.normal(size=len(mechanism.speeds))
    kane = observed(mechanism, "kane", plugins)[0](q, v, P)
    for formulation in ("quaternions", "directors", "recursive"):
        assert observed(mechanism, formulation, plugins)[0](q, v, P) == pytest.approx(kane, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors", "nullspace"])
@pytest.mark.parametrize("seed", range(2))
def test_a_measure_depends_on_the_configuration_alone_and_its_rate_is_that_of_the_motion(formulation, seed, plugins):
    mechanism = measured_tree(seed, ["revolute", "prismatic", "spherical"])
    _, equations = observed(mechanism, formulation, plugins)
    t, q, v, p = equations.t, equations.q, equations.v, equations.p
    y = ca.vertcat(*(measure_expression(equations, measure.name) for measure in mechanism.measures))
    # A function of t, q and p: a symbol of v or u in it would be refused here.
    value = ca.Function("y", [t, q, p], [y])
    rate = ca.Function("rate", [q, v, p], [ca.jtimes(y, q, equations.kinematics(q, v, p))])
    rng = np.random.default_rng(seed)
    joints = rng.uniform(0.3, 1.2, len(mechanism.coordinates))
    for first in quaternion_rows(mechanism):
        joints[first : first + 4] /= np.linalg.norm(joints[first : first + 4])
    speeds = rng.normal(size=len(mechanism.speeds))
    x = np.concatenate([joints, speeds])
    if equations.coordinates.initial is not None:
        x = np.asarray(equations.coordinates.initial(joints, speeds, P)).ravel()
    place, speed = x[: equations.nq], x[equations.nq :]
    qdot = np.asarray(equations.kinematics(place, speed, P)).ravel()
    h = 1e-3
    ahead = [np.asarray(value(0.0, place + k * h * qdot, P)).ravel() for k in (-2, -1, 1, 2)]
    # Fourth order: an error of h^4 / 30 times the fifth derivative, of rounding / h beside it.
    slope = (ahead[0] - 8 * ahead[1] + 8 * ahead[2] - ahead[3]) / (12 * h)
    assert np.asarray(rate(place, speed, P)).ravel() == pytest.approx(slope, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors", "nullspace"])
def test_every_name_gives_its_expression(formulation, plugins):
    mechanism = planar_arm()
    _, equations = observed(mechanism, formulation, plugins)
    units = measure_names(equations)
    assert units["elbow.angle"] == "rad" and units["tip.z"] == "m" and units["sum"] == "m" and units["mixed"] == "rad"
    x = np.array([0.3, 2.0, -1.1, 0.1, 0.2, 0.3])
    if equations.coordinates.initial is not None:
        x = np.asarray(equations.coordinates.initial(x[:3], x[3:], P)).ravel()
    y = ca.Function("y", [equations.t, equations.q, equations.p], [measure_expression(equations, name) for name in units])
    found = dict(zip(units, (float(value) for value in y(0.0, x[: equations.nq], P)), strict=True))
    assert found["rail.displacement"] == pytest.approx(0.3)
    assert found["elbow.angle"] == pytest.approx(-1.1)
    assert found["mixed"] == pytest.approx(0.7 * 2.0 - 1.4 * 1.1)
    # Two bars that turn about y, downwards for positive angles.
    assert found["tip.x"] == pytest.approx(0.3 + np.cos(2.0))
    assert found["tip.z"] == pytest.approx(-np.sin(2.0))
    assert found["height"] == pytest.approx(-np.sin(2.0) - 0.7 * np.sin(0.9) - 0.3 * np.cos(0.9))


def test_a_coordinate_that_is_no_output_is_found_from_the_joints(plugins):
    """As in a formulation of somebody else's, whose outputs are none but those that are asked for."""
    _, equations = observed(planar_arm(), "directors", plugins)
    few = len(measure_names(equations)) - 3
    bare = replace(equations, outputs=equations.outputs[:few], output_channels=equations.output_channels[:few])
    x = np.asarray(equations.coordinates.initial([0.3, 7.0, -1.1], [0, 0, 0], P)).ravel()
    y = ca.Function("y", [bare.q, bare.p], [measure_expression(bare, "shoulder.angle")])
    assert float(y(x[: bare.nq], P)) == pytest.approx(7.0)


def test_angles_go_on_through_full_turns_in_every_formulation(plugins):
    spun = Mechanism(
        "wheel",
        bodies=(Body("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1), start=0.5, start_rate=3.0),),
        measures=(
            Measure("turned", "coordinate", coordinate="axle.angle"),
            Measure("twice", "combination", terms={"turned": 2.0}),
            Measure("seen", "azimuth", body="wheel", at=(1, 0, 0), axis="z"),
        ),
    )
    for formulation in ("kane", "directors", "directors:planar=true", "nullspace"):
        history = simulate(spun, 5.0, formulation=formulation, plugins=plugins)
        exact = 0.5 + 3.0 * history.time
        assert history["turned"] == pytest.approx(exact, abs=1e-9)
        assert history["twice"] == pytest.approx(2 * exact, abs=2e-9)
        assert history["seen"] == pytest.approx(np.arctan2(np.sin(exact), np.cos(exact)), abs=1e-9)
        assert history.channel("turned").unit == "rad"


@pytest.mark.parametrize("formulation", ["kane", "directors"])
def test_names_that_are_no_measures_are_refused(formulation, plugins):
    crane = open_model("rotary-crane", plugins).mechanism
    crane = replace(crane, outputs=(*crane.outputs, Output("rush", "load", quantity="velocity")))
    spring = ForceElement("point-spring", name="guy", body="load", other="world", stiffness=1.0)
    crane = replace(crane, forces=(*crane.forces, spring))
    _, equations = observed(crane, formulation, plugins)

    def refused(name):
        with pytest.raises(MechanismError) as error:
            measure_expression(equations, name)
        text = str(error.value)
        assert "Measures of 'rotary-crane': slew.angle" in text and "load.z" in text
        return text

    assert "has no measure 'load.X'; did you mean 'load.x'?" in refused("load.X")
    assert "has no measure 'hook'" in refused("hook")
    assert "'rush.x' is no measure" in refused("rush.x") and "quantity = 'position'" in refused("rush.x")
    assert "it is a speed; did you mean 'slew.angle'?" in refused("slew.angle.rate")
    assert "it is an energy" in refused("energy.total")
    signals = [channel.name for channel in equations.output_channels if channel.name.startswith("guy.")]
    for name in signals:
        assert "it is a signal of the force 'guy'" in refused(name)


@pytest.mark.quick("kane", "recursive")
@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors"])
def test_a_machine_with_a_closed_loop_shows_them_in_a_run(formulation, plugins):
    """The rotary crane: rope length, bearing and radius of its load against its own coordinates and outputs."""
    crane = open_model("rotary-crane", plugins).mechanism
    measures = (
        Measure("rope-length", "distance", body="load", other="trolley"),
        Measure("bearing", "azimuth", body="load", axis="z", of="girder"),
        Measure("turned", "combination", terms={"slew.angle": 1, "bearing": 1}),
        Measure("drum", "combination", terms={"reel.length": 1, "load.z": 1}),
    )
    crane = replace(crane, measures=measures)
    inputs = {signal.name: 5.0 for signal in crane.inputs}
    history = simulate(crane, 1.0, formulation=formulation, settings=inputs, output_step=0.1, plugins=plugins)
    assert np.ptp(history["slew.angle"]) > 1e-3 and np.ptp(history["reel.length"]) > 1e-3
    assert history["rope-length"] == pytest.approx(history["reel.length"], abs=1e-9)
    # The bearing in the world, whatever the girder does.
    assert history["turned"] == pytest.approx(np.arctan2(history["load.y"], history["load.x"]), abs=1e-9)
    assert history["drum"] == pytest.approx(history["reel.length"] + history["load.z"], abs=1e-12)
