"""Floating bodies that tilt beyond what linear theory knows: found in whole runs, in kept ones and in blocks alike."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, SolverError, prepare, simulate
from kingpost.marine.wave_tables import WaveTable
from kingpost.simulation.at_sea import at_sea
from kingpost.simulation.small_angles import OUTSIDE, Tilts, TiltWatch

#: Natural frequency of roll and pitch, rad/s.
FREQUENCY = 1.0
STIFFNESS = tuple(tuple(50.0 if i == j else 0.0 for j in range(6)) for i in range(6))


def free_hull(angle, axis=(1.0, 0.0, 0.0), **joint):
    """Return a hull on linear springs of the sea, which starts at rest, turned by an angle about an axis."""
    s, c = math.sin(angle / 2), math.cos(angle / 2)
    start = (0, 0, 0, c, *(s * part for part in axis))
    return Mechanism(
        "hull",
        bodies=[Body("hull", mass=50.0, inertia=(50.0, 50.0, 50.0)), Body("mast", mass=0.1, inertia=(0.1, 0.1, 0.1))],
        joints=[
            Joint("afloat", "free", "world", "hull", start=start, **joint),
            Joint("foot", "weld", "hull", "mast", position=(0.0, 0.0, 1.0)),
        ],
        forces=[ForceElement("hydrostatic", body="hull", matrix=STIFFNESS)],
    )


def rolling_hull(angle):
    """Return a hull that can heave and roll by joints of its own, hung on a frame that is turned by a quarter."""
    return Mechanism(
        "rolling",
        bodies=[Body("guide", mass=1.0, inertia=(1.0, 1.0, 1.0)), Body("hull", mass=50.0, inertia=(50.0, 50.0, 50.0))],
        joints=[
            Joint("heave", "prismatic", "world", "guide", axis=(0, 0, 1)),
            Joint(
                *("roll", "revolute", "guide", "hull"),
                axis=(0, 1, 0),
                rotation=(0, 0, math.pi / 2),
                child_rotation=(0, 0, math.pi / 2),
                start=angle,
            ),
        ],
        forces=[ForceElement("hydrostatic", body="hull", matrix=STIFFNESS)],
    )


def outside(history):
    return history.provenance.get(OUTSIDE, {}).get("hull")


WAYS = {
    "whole": lambda run: run.run(),
    "kept": lambda run: run.run(keep=["energy.kinetic"]),
}
SHORT = {"step": 0.02, "output_step": 0.1, "backend": "vm"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("machine", [free_hull, rolling_hull])
def test_a_hull_that_swings_beyond_the_limit_is_told(plugins, machine, way):
    """It swings from 30 deg to -30 deg and back; half a period is the second time at which it is that far."""
    history = WAYS[way](prepare(machine(math.radians(30.0)), 5.0, plugins=plugins, **SHORT))
    found = outside(history)
    assert found["largest_tilt_deg"] == pytest.approx(30.0, abs=0.1)
    assert found["first_s"] == 0.0 and found["limit_deg"] == 20.0
    assert any(abs(found["at_s"] - time) < 0.25 for time in (0.0, math.pi / FREQUENCY))
    (warning,) = history.provenance["warnings"]
    assert "outside linear theory: 'hull' tilts by up to 30 deg" in warning and "beyond the 20 deg" in warning
    assert not history.provenance["diverges"]


@pytest.mark.parametrize("machine", [free_hull, rolling_hull])
def test_a_hull_within_the_limit_is_not_spoken_of(plugins, machine):
    history = simulate(machine(math.radians(19.0)), 5.0, plugins=plugins, **SHORT)
    assert OUTSIDE not in history.provenance and history.provenance["warnings"] == []


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors", "nullspace"])
def test_every_formulation_tells_it(plugins, formulation):
    history = simulate(rolling_hull(math.radians(25.0)), 0.5, plugins=plugins, formulation=formulation, **SHORT)
    assert outside(history)["largest_tilt_deg"] == pytest.approx(25.0, abs=1e-6)


def swaying_deck(plugins, heading, sea):
    """A mast on a base that rolls by 1 rad, and yaws by half of that, for each metre of a wave, about a pose that leans."""
    motions = np.zeros((2, 8, 6), dtype=complex)
    motions[:, :, 3], motions[:, :, 5] = 1.0, 0.5j
    table = WaveTable(np.array([0.5, 1.5]), np.arange(8) * np.pi / 4, motions, "motion")
    machine = Mechanism(
        "deck",
        bodies=[Body("base", mass=0.0), Body("mast", mass=1.0, inertia=(1.0, 1.0, 1.0))],
        joints=[
            Joint("deck", "given", "world", "base", pose=(0.0, 0.0, 0.0, 0.6, 0.0, heading)),
            Joint("foot", "revolute", "base", "mast", axis=(0, 0, 1)),
        ],
        forces=[ForceElement("wave-motion", name="raos", joint="deck", table=table)],
    )
    return at_sea(machine, sea, plugins)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
@pytest.mark.parametrize("way", WAYS)
def test_a_base_that_waves_tilt_beyond_the_limit_is_told(plugins, way, formulation):
    """Away from its own pose, which leans by 0.6 rad; by the matrix of the rotation vector, roll and yaw a quarter apart."""
    for a in (0.3, 0.36):
        machine = swaying_deck(plugins, 0.4, f"regular:a={a},w=1")
        run = prepare(machine, 7.0, plugins=plugins, formulation=formulation, **SHORT)
        found = WAYS[way](run).provenance.get(OUTSIDE, {}).get("base")
        vectors = np.stack([a * np.cos(run.grid.times), 0 * run.grid.times, -0.5 * a * np.sin(run.grid.times)], axis=1)
        tilts = np.degrees(np.arccos(Rotation.from_rotvec(vectors).as_matrix()[:, 2, 2]))
        assert (found is not None) == (tilts.max() > 20.0) == (a == 0.36)
    assert found["largest_tilt_deg"] == pytest.approx(tilts.max(), abs=1e-9)
    assert found["at_s"] == pytest.approx(run.grid.times[tilts.argmax()]) and found["first_s"] == 0.0


def test_yaw_is_no_tilt(plugins):
    history = simulate(free_hull(math.radians(150.0), axis=(0.0, 0.0, 1.0)), 1.0, plugins=plugins, **SHORT)
    assert outside(history) is None


def test_roll_and_pitch_tilt_together(plugins):
    """15 deg about x after 15 deg about y: neither is beyond 20 deg, the tilt is acos(cos^2 15 deg) = 21.1 deg."""
    half = math.radians(7.5)
    s, c = math.sin(half), math.cos(half)
    # The quaternion of Ry Rx.
    start = (0, 0, 0, c * c, c * s, c * s, -s * s)
    machine = free_hull(0.0)
    joint = Joint("afloat", "free", "world", "hull", start=start)
    machine = Mechanism("hull", bodies=machine.bodies, joints=[joint, machine.joints[1]], forces=machine.forces)
    history = simulate(machine, 0.1, plugins=plugins, **SHORT)
    assert outside(history)["largest_tilt_deg"] == pytest.approx(math.degrees(math.acos(math.cos(2 * half) ** 2)), abs=1e-3)


def test_the_limit_is_a_choice(plugins):
    machine = free_hull(math.radians(12.0))
    assert outside(simulate(machine, 0.5, plugins=plugins, **SHORT)) is None
    found = outside(simulate(machine, 0.5, tilt_limit=10.0, plugins=plugins, **SHORT))
    assert found["limit_deg"] == 10.0 and found["largest_tilt_deg"] == pytest.approx(12.0, abs=0.01)
    for limit in (0.0, -3.0, 181.0, math.nan):
        with pytest.raises(KingpostError, match="tilt_limit is .*; give the tilt in degrees"):
            simulate(machine, 0.5, tilt_limit=limit, plugins=plugins, **SHORT)


def test_bodies_that_do_not_float_may_tilt(plugins):
    history = simulate(plugins.models.get("double-pendulum")().build(), 1.0, plugins=plugins, **SHORT)
    assert OUTSIDE not in history.provenance


@pytest.mark.parametrize("machine", [free_hull, rolling_hull])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_give_what_the_whole_gives(plugins, machine, size):
    run = prepare(machine(math.radians(15.0)), 6.0, plugins=plugins, tilt_limit=14.0, **SHORT)
    tilts = Tilts(run)
    assert tilts.bodies == ("hull",)
    watch = TiltWatch(run, tilts)
    for block in run.blocks(size):
        watch.look(block.time, block.values)
    assert watch.record() == {OUTSIDE: {"hull": outside(run.run())}}


def test_samples_that_are_not_finite_are_passed_over(plugins):
    run = prepare(free_hull(math.radians(25.0)), 0.5, plugins=plugins, **SHORT)
    watch = TiltWatch(run)
    values = run.run().values.copy()
    values[1:] = np.nan
    watch.look(run.grid.times, values)
    assert [tilt.body for tilt in watch.beyond] == ["hull"]


def test_a_run_that_fails_says_it_as_well(plugins):
    """A hull without any restoring in heave that is driven to where nothing is finite any more."""
    machine = free_hull(math.radians(25.0))
    push = ForceElement("body-wrench", body="hull", force=(0.0, 0.0, "1e200 * exp(100 * t)"))
    machine = Mechanism("hull", bodies=machine.bodies, joints=machine.joints, forces=[*machine.forces, push])
    with pytest.raises(SolverError, match="outside linear theory: 'hull' tilts by up to 25 deg"):
        simulate(machine, 5.0, plugins=plugins, **SHORT)
