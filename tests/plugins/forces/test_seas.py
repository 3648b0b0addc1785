"""Forces of seas whose waves are parameters, against sums written out, and drift against closed forms."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, KingpostError
from kingpost.marine.components import WaveComponents
from kingpost.marine.sea import Sea
from kingpost.marine.seas import read_sea
from kingpost.marine.wave_tables import WaveTable, wave_number
from kingpost.plugins.forces.drift import WaveDrift, WaveDriftOptions
from kingpost.plugins.forces.wave_sums import cosine_and_sine, smooth_ramp, wave_sum
from kingpost.plugins.forces.waves import WaveExcitation, WaveExcitationOptions
from kingpost.simulation.at_sea import at_sea
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, derive, run
from tests.plugins.forces.floating import heaving, in_heave, rotation, shape, states, vessel

ORDER = [3, 4, 5, 0, 1, 2]


def hull_table(kind="force"):
    """A table that no symmetry could simplify, smooth over headings and frequencies."""
    w, b = np.linspace(0.2, 4.0, 40), np.radians(np.arange(0, 360, 15))
    rng = np.random.default_rng(3)
    parts = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))
    grid = w[:, None, None], b[None, :, None]
    values = (parts[0] + parts[1] * np.cos(grid[1]) + parts[2] * np.sin(grid[1])) * np.exp(-grid[0] / 2) + parts[3] * grid[0]
    return WaveTable(w, b, values if kind == "force" else values.real.astype(complex), kind)


def afloat(force, sea):
    """A vessel in a sea, with the values of its parameters."""
    mechanism = at_sea(vessel((3.0, np.zeros(3), np.eye(3)), shape(1), force), sea, BUILT_IN)
    return mechanism, [parameter.default for parameter in mechanism.parameters]


def test_cosines_and_sines_of_turns_are_right_to_rounding():
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [*cosine_and_sine(x)])
    turns = np.concatenate([np.linspace(-3, 3, 4001), np.random.default_rng(0).uniform(0, 2000, 2000)])
    for i, exact in ((0, np.cos), (1, np.sin)):
        found = np.asarray(function(turns.reshape(1, -1))[i]).ravel()
        # A sine of half the angle to two roundings, of which the square counts four times: 1e-15; and radians, other than
        # turns, are rounded, by 7e-16 for a whole turn.
        assert np.abs(found - exact(2 * np.pi * np.mod(turns, 1.0))).max() < 2e-15


@pytest.mark.parametrize("waves", [1, 6, 8, 24])
def test_a_sum_over_waves_is_that_of_all(waves):
    function = wave_sum("sums", 3, waves, ["t", "x"], lambda wave, t, x: ca.vertcat(wave[0] * t, wave[1] * x + wave[2]))
    numbers = np.random.default_rng(1).normal(size=(3, waves))
    found = np.asarray(function(2.0, 3.0, numbers)).ravel()
    assert found == pytest.approx([2 * numbers[0].sum(), 3 * numbers[1].sum() + numbers[2].sum()], rel=1e-13)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_sea_acts_by_the_table_for_its_frequencies_and_headings(formulation):
    table, at, heading, scale = hull_table(), np.array([0.5, -0.2, 0.1]), 0.8, np.array([1, 2, 3, 4, 5, 6.0])
    sea = read_sea("jonswap:Hs=2,Tp=6,heading=150,seed=3,components=13,cos2s=8")
    force = ForceElement(
        "wave-excitation",
        body="hull",
        table=table,
        at=at.tolist(),
        heading=heading,
        scale=scale.tolist(),
        ramp=4.0,
        outside=0.2,
    )
    mechanism, p = afloat(force, sea)
    waves = sea.components()
    found = table.at(waves.frequency, waves.direction - heading)
    turn = np.array([[math.cos(heading), -math.sin(heading), 0], [math.sin(heading), math.cos(heading), 0], [0, 0, 1]])
    for t, (q, v) in zip((3.0, 7.0, 500.0), states(), strict=True):
        wrench = scale * np.real(waves.amplitude @ (found * np.exp(1j * (waves.frequency * t + waves.phase))[:, None]))
        s = min(t / 4.0, 1.0)
        grown = 10 * s**3 - 15 * s**4 + 6 * s**5
        force_B, moment_B = rotation(q).T @ turn @ wrench[:3], rotation(q).T @ turn @ wrench[3:]
        exact = grown * np.concatenate([moment_B + np.cross(at, force_B), force_B, [0.0]])
        # Thirteen waves of some ten newtons, at angles of up to 5000 rad.
        assert applied(mechanism, q, v, t, p=p, formulation=formulation) == pytest.approx(exact, abs=1e-10)


def test_a_sea_follows_the_slow_position_and_heading_of_its_body():
    table, limit = hull_table(), math.radians(15.0)
    sea = read_sea("jonswap:Hs=2,Tp=6,heading=40,seed=3,components=8")
    force = ForceElement("wave-excitation", body="hull", table=table, follow="heading", depth=20.0, outside=0.2, cutoff=0.3)
    mechanism, p = afloat(force, sea)
    equations = derive(mechanism)
    waves = sea.components()
    k = wave_number(waves.frequency, 20.0)
    for yaw, exact_yaw in ((0.0, 0.0), (limit, limit), (-limit, -limit), (0.1, 0.1), (0.5, limit)):
        x, y, t = 12.0, -30.0, 17.0
        slow = [x, 0.0, y, 0.0, yaw, 0.0]
        (q, v) = next(states())
        got = np.asarray(equations.descriptor(t, q, v, slow, p)[1]).ravel()
        still = np.asarray(derive(vessel((3.0, np.zeros(3), np.eye(3)), shape(1))).descriptor(t, q, v, [], [])[1]).ravel()
        angle = waves.frequency * t + waves.phase - k * (x * np.cos(waves.direction) + y * np.sin(waves.direction))
        found = table.at(waves.frequency, waves.direction - exact_yaw)
        wrench = np.real(waves.amplitude @ (found * np.exp(1j * angle)[:, None]))
        turn = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
        exact = np.concatenate([rotation(q).T @ turn @ wrench[3:], rotation(q).T @ turn @ wrench[:3], [0.0]])
        # At the three angles of the parabola it is the table; between them it misses by its third derivative,
        # limit^3 / 16, for values that change like a cosine.
        tolerance = 1e-10 if yaw != 0.1 else limit**3 / 9 / math.sqrt(3) * np.abs(found).max() * waves.amplitude.sum()
        assert got - still == pytest.approx(exact, abs=tolerance)
    assert equations.u.numel() == 6


def test_a_regular_sea_gives_the_motion_of_a_regular_wave():
    transfer = np.zeros((3, 24, 6), dtype=complex)
    transfer[:, :, 2] = 25.0 * np.exp(-0.4j)
    table = WaveTable(np.array([0.5, 1.4, 3.0]), np.radians(np.arange(0, 360, 15)), transfer)
    common = [
        ForceElement("body-damping", body="hull", matrix=in_heave(1.2)),
        ForceElement("hydrostatic", body="hull", matrix=in_heave(14.0)),
    ]
    plain = heaving(
        *common,
        ForceElement(
            "wave-excitation",
            body="hull",
            components=[(0.3, 1.4, 0.7)],
            transfer=[(0, 0, 25.0, 0, 0, 0)],
            transfer_phase=[(0, 0, -0.4, 0, 0, 0)],
        ),
    )
    sea = Sea(None, heading=30.0, regular=(0.3, 1.4, 0.7), number=1)
    at = at_sea(heaving(*common, ForceElement("wave-excitation", body="hull", table=table)), sea, BUILT_IN)
    one, other = (run(machine, 5.0, 0.02)["sea.displacement"] for machine in (plain, at))
    # The same force but for the rounding of its sines, through a stable system.
    assert np.abs(one - other).max() < 1e-13


def test_without_a_sea_a_table_alone_does_nothing():
    force = ForceElement("wave-excitation", body="hull", table=hull_table())
    mechanism = vessel((3.0, np.zeros(3), np.eye(3)), shape(1), force)
    q, v = next(states())
    assert applied(mechanism, q, v, 3.0) == pytest.approx(np.zeros(7), abs=0)


def test_energy_outside_of_a_table_is_told_and_too_much_of_it_refused():
    narrow = WaveTable(np.array([0.6, 0.8, 1.0, 1.2]), np.radians(np.arange(0, 360, 15)), np.ones((4, 24, 6), dtype=complex))
    waves = read_sea("jonswap:Hs=2,Tp=8").components()
    out = (waves.frequency < 0.6) | (waves.frequency > 1.2)
    share = np.sum(waves.amplitude[out] ** 2) / np.sum(waves.amplitude**2)
    force = WaveExcitation(WaveExcitationOptions(body="hull", table=narrow))
    assert force.sea_record(waves)["energy_outside_table_percent"] == pytest.approx(100 * share)
    with pytest.raises(KingpostError, match=rf"{100 * share:.3g} % of the energy of the sea lies outside of the table's"):
        force.at_sea(waves)
    assert len(WaveExcitation(WaveExcitationOptions(body="hull", table=narrow, outside=0.5)).at_sea(waves)) == 15 * 200


def test_mean_drift_is_exactly_the_sum_of_its_waves_and_bichromatic_waves_beat():
    table = hull_table("drift")
    (a1, a2), (w1, w2), (e1, e2), b = (0.7, 0.4), (0.9, 1.3), (0.3, -1.1), 0.6
    waves = WaveComponents(np.array([a1, a2]), np.array([w1, w2]), np.array([e1, e2]), np.array([b, b]))
    D1, D2 = table.at(waves.frequency, waves.direction).real
    force = WaveDrift(WaveDriftOptions(body="hull", table=table))
    element = ForceElement("wave-drift", body="hull", table=table)

    class Pair(Sea):
        def components(self, number=None):
            return waves

    mechanism, p = afloat(element, Pair(None, regular=(1.0, 1.0, 0.0)))
    q, v = next(states())
    q[3:7] = 1, 0, 0, 0
    for t in (0.0, 1.0, 4.7):
        got = applied(mechanism, q, v, t, p=p)
        for row, i in ((3, 0), (4, 1), (2, 5)):
            # Newman: D1 and D2 of one sign beat with the root of their product, of unlike signs not at all.
            beat = 2 * a1 * a2 * np.sign(D1[i]) * math.sqrt(max(D1[i] * D2[i], 0)) * math.cos((w1 - w2) * t + e1 - e2)
            assert got[row] == pytest.approx(a1**2 * D1[i] + a2**2 * D2[i] + beat, abs=1e-12)
    record = force.sea_record(waves)["mean_drift"]
    assert record["sway"] == pytest.approx(a1**2 * D1[1] + a2**2 * D2[1], rel=1e-14)


def test_mean_drift_alone_stands_still():
    table = hull_table("drift")
    sea = read_sea("jonswap:Hs=2,Tp=6,heading=100,components=16")
    waves = sea.components()
    mean = waves.amplitude**2 @ table.at(waves.frequency, waves.direction).real
    mechanism, p = afloat(ForceElement("wave-drift", body="hull", table=table, method="mean", outside=0.2), sea)
    q, v = next(states())
    q[3:7] = 1, 0, 0, 0
    for t in (0.0, 33.0):
        assert applied(mechanism, q, v, t, p=p)[[3, 4, 2]] == pytest.approx(mean[[0, 1, 5]], rel=1e-12)
    newman, p = afloat(ForceElement("wave-drift", body="hull", table=table, outside=0.2), sea)
    # The mean of the slowly varying drift over a long time; its beats are slower than 1 / 600 s for few pairs.
    times = np.arange(0.0, 20000.0, 2.0)
    sums = np.exp(1j * (np.outer(times, waves.frequency) + waves.phase))
    D = table.at(waves.frequency, waves.direction).real[:, 0]
    series = np.abs(sums @ (waves.amplitude * np.sqrt(np.maximum(D, 0)))) ** 2
    series -= np.abs(sums @ (waves.amplitude * np.sqrt(np.maximum(-D, 0)))) ** 2
    assert series.mean() == pytest.approx(mean[0], abs=0.02 * np.sum(waves.amplitude**2 * np.abs(D)))
    assert applied(newman, q, v, times[7], p=p)[3] == pytest.approx(series[7], rel=1e-9)


def test_the_ramp_begins_and_ends_smoothly():
    t = ca.SX.sym("t")
    grown = smooth_ramp(t, 4.0)
    slope = ca.jacobian(grown, t)
    function = ca.Function("f", [t], [grown, slope, ca.jacobian(slope, t)])
    for time, value in ((0.0, 0.0), (2.0, 0.5), (4.0, 1.0)):
        assert float(function(time)[0]) == value
        assert float(function(time)[2]) == pytest.approx(0.0, abs=1e-12)
    assert float(smooth_ramp(ca.SX(1), 0.0)) == 1.0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("wave-excitation", {"follow": "position", "components": [(1, 1, 0)], "transfer": [(1,) * 6]}, "it needs a 'table'"),
        ("wave-excitation", {"table": {"frequencies": [1, 2]}}, "a table over waves lacks 'headings'"),
        (
            "wave-excitation",
            {"table": {"frequencies": [1, 2], "headings": [0], "real": [[0]]}},
            "got shapes (2,), (1,) and (1, 1)",
        ),
        ("wave-excitation", {"box": {"length": 3, "beam": 2}}, "a box lacks 'draft'"),
        ("wave-excitation", {"box": {"length": 3, "beam": 2, "draft": -1}}, "draft of a box is -1"),
        ("wave-excitation", {"box": {"length": 3, "beam": 2, "draft": 1}, "outside": 2}, "outside is 2; it is a part"),
        ("wave-excitation", {"box": {"length": 3, "beam": 2, "draft": 1}, "depth": 0}, "depth is 0; it must be positive"),
        ("wave-drift", {}, "it needs a 'table' of mean forces"),
        ("wave-drift", {"table": hull_table()}, "mean forces have no imaginary parts"),
    ],
)
def test_what_no_hull_has_is_refused(kind, options, message):
    with pytest.raises(KingpostError) as caught:
        derive(vessel((3.0, np.zeros(3), np.eye(3)), shape(1), ForceElement(kind, body="hull", **options)))
    assert message in str(caught.value)


def test_a_machine_of_waves_of_its_own_alone_takes_no_sea():
    force = ForceElement("wave-excitation", body="hull", components=[(1, 1, 0)], transfer=[(1,) * 6])
    with pytest.raises(KingpostError, match="takes no sea: its force 'wave-excitation' has numbers for its own waves only"):
        afloat(force, "jonswap:Hs=2,Tp=8")
    with pytest.raises(KingpostError, match="'vessel' takes no sea: none of its forces knows of waves"):
        afloat(ForceElement("gravity"), "jonswap:Hs=2,Tp=8")
