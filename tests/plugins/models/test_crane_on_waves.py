"""Motion RAOs of the vessels against their own time-domain models, and cranes on them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kingpost import Body, Joint, Mechanism, PluginSet, open_model, simulate
from kingpost.marine.seas import read_sea
from kingpost.marine.wave_tables import WaveTable
from kingpost.plugins.models.crane_on_waves import FREQUENCIES, HEADINGS, motion_table
from kingpost.plugins.models.offshore_data import LARGE, SMALL
from kingpost.plugins.models.offshore_vessel import CARRIER, vessel_parts


def angles(history):
    """Roll, pitch and yaw of the hull."""
    w, x, y, z = history.select([f"hull.{name}" for name in ("qw", "qx", "qy", "qz")]).T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return roll, np.arcsin(2 * (w * y - x * z)), np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def stiff(ship):
    """The vessel with its crane as weights that do not move."""
    parts = vessel_parts(ship)
    for name, place in ship.crane.places.items():
        parts.bodies.append(Body(f"{name}-weight", mass=ship.crane.masses[name]))
        where = tuple(float(a) for a in np.add(ship.vessel.foot, place))
        parts.joints.append(Joint(f"{name}-weld", "weld", CARRIER, f"{name}-weight", position=where))
    return Mechanism("stiff", **vars(parts))


@pytest.mark.slow
@pytest.mark.parametrize(("w", "heading"), [(0.7, 60.0), (1.2, 150.0), (1.5, -100.0)])
def test_motion_raos_are_the_steady_motions_of_the_model_in_small_regular_waves(w, heading):
    machine = stiff(SMALL)
    end, step = 400.0, 0.02
    history = simulate(
        machine, end, sea=f"regular:a=0.005,w={w},heading={heading}", settings={"roll_quadratic": 0.0}, step=step,
        output_step=0.1, loads=["none"],
    )  # fmt: skip
    late = history.time > 250.0
    t = history.time[late]
    basis = np.column_stack([np.cos(w * t), np.sin(w * t), np.ones_like(t), t])
    roll, pitch, yaw = angles(history)
    exact = motion_table(SMALL).at(np.array([w]), np.radians([heading]))[0]
    largest = np.abs(exact)
    for i, series in enumerate([history["hull.x"], history["hull.y"], history["hull.z"], roll, pitch, yaw]):
        c, s, *_ = np.linalg.lstsq(basis, series[late], rcond=None)[0] / 0.005
        # The table's cubics miss by 1 % near the narrowest peak; what is left of the start after 250 s is e^-17 in roll.
        group = largest[:3].max() if i < 3 else largest[3:].max()
        assert abs(complex(c, -s) - exact[i]) < 0.015 * group


def test_long_waves_carry_a_vessel_along():
    for ship in (SMALL, LARGE):
        table = motion_table(ship)
        assert table.around
        w = float(FREQUENCIES[4])  # 0.35 rad/s, a wave of 500 m
        k = w**2 / 9.81
        beam, head = table.at(np.array([w, w]), np.array([math.pi / 2, math.pi]))
        # Signs and sizes of slopes: heave 1, roll -i k sin, pitch i k cos; up to a quarter of that for what inertia adds, and
        # for damping that is taken against still water: 2 * 0.25 * w / wn.
        assert beam[2] == pytest.approx(1.0, abs=0.25)
        assert head[4] / (-1j * k) == pytest.approx(1.0, abs=0.25)
        # Station keeping has a period of two minutes and 0.6 of the critical damping.
        assert beam[1] == pytest.approx(-1j, abs=0.25)
        if ship is SMALL:  # the large one rolls in ten seconds
            assert beam[3] / (-1j * k) == pytest.approx(1.0, abs=0.25)
    assert len(HEADINGS) == 24


@pytest.mark.slow
def test_a_crane_on_waves_moves_as_its_table_says():
    sea = "jonswap:Hs=1,Tp=6,heading=120,seed=2,components=16"
    model = open_model("small-crane-on-waves")
    history = model.simulate(sea=sea, t_end=0.3, step=0.01, output_step=0.1, backend="vm", loads=["none"])
    waves, t = read_sea(sea).components(), history.time
    rao = motion_table(SMALL).at(waves.frequency, waves.direction)
    moved = np.real(np.exp(1j * (np.outer(t, waves.frequency) + waves.phase)) @ (waves.amplitude[:, None] * rao))
    s = t / 10.0
    grown = s**3 * (10 - 15 * s + 6 * s**2)
    assert history["waves.roll"] == pytest.approx(moved[:, 3] * grown, abs=1e-14)
    assert history.provenance["sea"]["forces"]["waves"]["energy_outside_table_percent"] < 0.1


@pytest.mark.slow
def test_the_spectrum_of_a_response_is_that_of_the_sea_times_the_square_of_the_rao():
    """One hour of a vessel in an irregular sea, as linear as a small one makes it."""
    sea = read_sea("jonswap:Hs=0.05,Tp=6,heading=70,seed=11,components=400")
    end, dt = 3800.0, 0.2
    history = simulate(stiff(SMALL), end, sea=sea, settings={"roll_quadratic": 0.0}, step=0.02, output_step=dt, loads=["none"])
    late = history.time > 200.0
    waves = sea.components()
    rao = motion_table(SMALL).at(waves.frequency, waves.direction)
    lines = waves.amplitude[:, None] ** 2 / 2 * np.abs(rao) ** 2
    roll, pitch, _ = angles(history)
    for i, series in ((2, history["hull.z"]), (3, roll), (4, pitch)):
        values = series[late] - series[late].mean()
        # The variance of an hour: of N waves, each pair beats; what is left scatters by the root of the sum of the squares of
        # the lines over the number of correlation times, here at most 6 % for roll.
        assert values.var() == pytest.approx(lines[:, i].sum(), rel=0.12)
        # Bands of the spectrum, by the periodogram: with n lines in a band its energy scatters by less than 2 / sqrt(n).
        power = 2 * np.abs(np.fft.rfft(values * np.hanning(len(values)))) ** 2 / len(values) ** 2 / 0.375
        frequency = 2 * math.pi * np.fft.rfftfreq(len(values), dt)
        for low, high in ((0.75, 1.0), (1.0, 1.2), (1.2, 1.5)):
            inside = (waves.frequency >= low) & (waves.frequency < high)
            energy, expected = power[(frequency >= low) & (frequency < high)].sum(), lines[inside, i].sum()
            assert energy == pytest.approx(expected, rel=2 / math.sqrt(inside.sum()) + 0.05)


def test_a_table_of_motions_may_be_put_in_the_place_of_the_model_s_own(plugins: PluginSet):
    mechanism = open_model("small-crane-on-waves").mechanism
    still = WaveTable(np.array([0.1, 6.0]), np.radians([0.0, 90.0, 180.0]), np.zeros((2, 3, 6)), "motion")
    waves = next(force for force in mechanism.forces if force.kind == "wave-motion")
    options = {**waves.options, "table": still}
    other = type(waves)("wave-motion", name="waves", **options)
    changed = replace(mechanism, forces=[other if force is waves else force for force in mechanism.forces])
    with pytest.raises(Exception, match="a gap must not be wider than 45 degrees"):
        simulate(changed, 0.1, sea="jonswap:Hs=1,Tp=6,heading=120", plugins=plugins, backend="vm")
