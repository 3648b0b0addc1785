"""What is refused and warned of before counting."""

import dataclasses
import math

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import (
    CountingOptions,
    assess_loads,
    check_finite,
    counted_window,
    load_joints,
    load_noise,
    reactions_not_unique,
    residuals,
    sampling,
)
from tests.core.fatigue.synthetic import cosine, load_history

TIME, WAVE = cosine(50)


def test_the_start_is_cut_where_it_was_asked_for():
    time = np.arange(1001) * 0.01
    window = counted_window(time, 2.0)
    assert (window.start, window.end, window.samples, window.skipped) == (2.0, 10.0, 801, 2.0)
    assert window.duration == 8.0
    assert window.step == pytest.approx(0.01, rel=1e-12)
    # Steps that are added up put the sample of 0.11 s just before it; it is still the first.
    summed = np.cumsum(np.full(1001, 0.01)) - 0.01
    assert summed[11] < 0.11
    assert counted_window(summed, 0.11).samples == 990
    assert counted_window(time, 0.005).skipped == 0.01
    shifted = counted_window(time + 100.0, 2.0)
    assert (shifted.start, shifted.skipped) == (102.0, 2.0)


@pytest.mark.parametrize(
    ("time", "skip", "message"),
    [
        ([0.0], 0.0, "the history has 1 samples; cycles need at least two"),
        ([0.0, np.nan, 2.0], 0.0, "the time of sample 1 is nan"),
        ([0.0, 1.0, 1.0, 2.0], 0.0, r"time does not go on at sample 2: 1 s comes after 1 s .1 such places.. Remove repeated"),
        ([0.0, 1.0, 0.5, 2.0], 0.0, "time does not go on at sample 2: 0.5 s comes after 1 s"),
        (
            [0, 1, 2, 3, 5, 6, 7],
            0.0,
            r"a gap of 2 s after t = 3 s .sample 3., where samples are 1 s apart .1 such places.. A peak",
        ),
        ([0.0, 1.0, 2.0], -1.0, "skip = -1.0 s cannot be left out at the start; give 0 or more"),
        ([0.0, 1.0, 2.0], 2.0, "skip = 2 s leaves fewer than two samples of a history of 2 s; skip less, or simulate longer"),
        ([0.0, 1.0, 2.0], math.nan, "skip = nan s cannot"),
    ],
)
def test_times_that_cannot_be_counted_are_refused(time, skip, message):
    with pytest.raises(KingpostError, match=message):
        counted_window(time, skip)


def test_uneven_steps_below_a_gap_are_taken():
    assert counted_window([0.0, 1.0, 2.4, 3.4, 3.5]).samples == 5


def test_values_that_are_not_finite_are_refused_with_channel_and_time():
    values = np.column_stack([WAVE, WAVE])
    values[7, 1] = values[9, 1] = np.inf
    with pytest.raises(
        KingpostError, match=r"channel 'b' is inf at t = 0.175 s .sample 7; 2 of 2001 samples of it are not finite"
    ):
        check_finite(TIME, ["a", "b"], values)
    moment = WAVE.copy()
    moment[100] = np.nan
    with pytest.raises(KingpostError, match="channel 'slew.My' is nan at t = 2.5 s .*Leaving them out could hide a peak"):
        assess_loads(load_history(TIME, {"slew.Mx": WAVE, "slew.My": moment}))
    # What the cut leaves out is not looked at.
    assert assess_loads(load_history(TIME, {"slew.My": moment}), options=CountingOptions(skip=3.0)).warnings == ()


@pytest.mark.parametrize("per_period", [10, 20, 50])
def test_samples_per_period_of_a_sine(per_period):
    time, wave = cosine(200, per_period, frequency=3.0)
    found = sampling(time, wave)
    # A Hann window widens a line by one step of the spectrum on either side; 200 periods are 200 steps.
    assert found.frequency == pytest.approx(3.0, abs=2 * 3.0 / 200)
    assert found.samples_per_period == pytest.approx(per_period, rel=0.01)


def test_the_highest_significant_frequency_holds_all_but_a_thousandth_of_the_variance():
    time = np.arange(4000) * 0.01
    slow, fast = np.sin(2 * np.pi * 0.5 * time), np.sin(2 * np.pi * 12.0 * time)
    # Of 0.05^2 = 1/400 of the variance the fast part counts, of 0.02^2 = 1/2500 it does not; a trend never does.
    assert sampling(time, slow + 0.05 * fast).frequency == pytest.approx(12.0, abs=0.05)
    assert sampling(time, slow + 0.02 * fast + 3.0 * time).frequency == pytest.approx(0.5, abs=0.05)
    # Samples up and down, at the very end of the spectrum, have the variance b^2, against 1/2 of the slow part.
    alternating = (-1.0) ** np.arange(4000)
    assert sampling(time, slow + 0.018 * alternating).frequency == pytest.approx(0.5, abs=0.05)
    assert sampling(time, slow + 0.028 * alternating).frequency == pytest.approx(50.0, abs=0.05)


def test_what_is_lost_between_samples():
    time, wave = cosine(400, 10)
    found = sampling(time, wave)
    # The field's rule of thumb: k = 10 loses 4.9 % of a peak and 14 % of the damage at m = 3; k = 20 loses 1.2 % and 3.6 %.
    assert found.peak_loss == pytest.approx(0.0489, abs=0.0005)
    assert found.damage_error(3.0) == pytest.approx(0.14, abs=0.002)
    fine = sampling(*cosine(400, 20))
    assert (round(fine.peak_loss, 3), round(fine.damage_error(3.0), 3)) == (0.012, 0.037)
    # A sine sampled at worst, astride its peaks, loses just that.
    k = 10
    astride = np.cos(2 * np.pi * (np.arange(400) + 0.5) / k)
    assert 1.0 - astride.max() == pytest.approx(1 - math.cos(math.pi / k), rel=1e-9)


def test_coarse_signals_are_warned_of_and_the_worst_is_named():
    time, wave = cosine(100, 10)
    slow = np.cos(2 * np.pi * 0.1 * time)
    result = assess_loads(load_history(time, {"slew.Mx": wave, "slew.My": slow, "slew.Fz": 2 * wave}))
    (warning,) = result.warnings
    assert warning.startswith("'slew.Mx' has 9.9")
    assert (
        "(and 1 more below 20): peaks may be 5.0% too low and damage 14.2% at m = 3. For 20 samples use an output step"
        in warning
    )
    judged = {signal.name: signal.sampling for signal in result.signals}
    assert judged["slew.My"].enough and judged["slew.Mz"] is None


def test_what_does_not_vary_has_no_frequency():
    assert sampling(TIME, np.full(len(TIME), 5.0)) is None
    assert sampling(TIME, 3.0 * TIME) is None
    assert sampling(TIME[:5], WAVE[:5]) is None
    noise = 1e-12 * np.random.default_rng(6).normal(size=len(TIME))
    assert sampling(TIME, 1.0 + noise) is None
    assert sampling(TIME, noise, scale=1.0) is None
    assert sampling(TIME, noise) is not None


def test_round_off_beside_other_loads_of_a_joint_is_marked():
    noise = 1e-12 * np.random.default_rng(7).normal(size=len(TIME))
    result = assess_loads(load_history(TIME, {"slew.Mx": 1e4 * WAVE, "slew.My": noise, "luff.Mz": noise}))
    marked = [signal.name for signal in result.signals if signal.round_off]
    assert marked == ["slew.My"]  # for 'luff' it is all there is
    assert any("luff.Mz" in warning for warning in result.warnings)


def test_uneven_steps_are_judged_by_their_median():
    rng = np.random.default_rng(8)
    time = np.cumsum(0.01 * (1 + 0.2 * rng.uniform(-1, 1, 5000)))
    found = sampling(time, np.sin(2 * np.pi * 2.0 * time))
    assert found.frequency == pytest.approx(2.0, abs=0.05)


def test_residuals_are_reported_against_the_loads():
    extra = {"loads.residual.force": np.full(len(TIME), 3e-3), "loads.residual.moment": np.full(len(TIME), 1e-9)}
    history = load_history(TIME, {"slew.Mx": 100.0 * WAVE, "slew.Fz": 500.0 * WAVE}, extra)
    result = assess_loads(history, options=CountingOptions(accept=("residual",)))
    force, moment = result.residuals
    assert (force.largest, force.level, force.unit) == (3e-3, 500.0, "N")
    assert force.relative == 6e-6
    # Against forces of 500 N on a lever of 1 m, for want of places; the moments themselves are smaller.
    assert moment.relative == pytest.approx(2e-12)
    assert any(
        "do not balance: loads.residual.force reaches 0.003 N, 6.0e-06 of the loads' level of 500 N" in text
        for text in result.warnings
    )
    assert not any("moment" in text for text in result.warnings)
    unloaded = residuals(load_history(TIME, {"slew.Mx": 0 * TIME}, extra), slice(None))
    assert unloaded[0].relative == math.inf


def test_joints_with_loads_come_from_the_record_or_from_the_names():
    loads = {"slew.Mx": WAVE, "slew.constraint.Mx": WAVE, "luff.Fx": WAVE}
    assert load_joints(load_history(TIME, loads, recorded=False)) == ("slew", "luff")
    recorded = load_history(TIME, {"luff.Mx": WAVE})
    assert load_joints(recorded) == ("luff",)
    assert load_joints(load_history(TIME, {}, {"other.Mx": WAVE}, recorded=False)) == ()


def hinge(bodies, body, other, point, axis):
    """Return the five rows of a revolute joint between two bodies (or the ground, None), on twists [w; v] at the origin."""
    axis = np.asarray(axis, dtype=float)
    across = np.linalg.svd(axis[None, :])[2][1:]
    x, y, z = point
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    velocity = np.hstack([-cross, np.eye(3)])  # of the point: v + w x p
    rows = np.zeros((5, 6 * bodies))
    for number, sign in ((body, 1.0), (other, -1.0)):
        if number is not None:
            rows[:3, 6 * number : 6 * number + 6] += sign * velocity
            rows[3:, 6 * number : 6 * number + 3] += sign * across
    return rows


def four_bar(tilt=0.0):
    axis, tilted = (0, 0, 1), (0, math.sin(tilt), math.cos(tilt))
    joints = {
        "a": hinge(3, 0, None, (0, 0, 0), axis),
        "b": hinge(3, 1, 0, (0, 1, 0), axis),
        "c": hinge(3, 2, 1, (3, 2, 0), axis),
        "d": hinge(3, 2, None, (4, 0, 0), tilted),
    }
    return np.vstack(list(joints.values())), [name for name in joints for _ in range(5)]


def test_a_plane_four_bar_in_space_has_open_reactions_in_every_joint():
    G, owners = four_bar()
    assert G.shape == (20, 18) and np.linalg.matrix_rank(G) == 17  # 18 - 17 = 1 degree of freedom, 3 rows too many
    assert reactions_not_unique(G, owners) == ("a", "b", "c", "d")
    # Scaling rows, as other units would, changes nothing.
    assert reactions_not_unique(G * np.geomspace(1e-6, 1e6, 20)[:, None], owners) == ("a", "b", "c", "d")


def test_only_the_joints_in_question_are_named():
    G, owners = four_bar()
    G = np.block([[G, np.zeros((20, 6))], [np.zeros((5, 18)), hinge(1, 0, None, (9, 9, 9), (1, 0, 0))]])
    assert reactions_not_unique(G, [*owners, *["crane"] * 5]) == ("a", "b", "c", "d")


def test_a_boom_foot_of_two_pins():
    left, right = hinge(1, 0, None, (0, 1, 0), (0, 1, 0)), hinge(1, 0, None, (0, -1, 0), (0, 1, 0))
    owners = ["left"] * 5 + ["right"] * 5
    assert reactions_not_unique(np.vstack([left, right]), owners) == ("left", "right")
    # A ball on one side and a ring that leaves the axial direction free on the other: every reaction is unique.
    ball, ring = left[:3], right[[0, 2]]
    assert np.linalg.matrix_rank(np.vstack([ball, ring])) == 5
    assert reactions_not_unique(np.vstack([ball, ring]), ["left"] * 3 + ["right"] * 2) == ()
    # With the axial row on both sides, axial forces alone are open; the joint names are the same, the luffing cylinder is not.
    cylinder = np.array([[0.0, 1.0, 0.0, 0.3, 0.0, 0.8]])
    both = np.vstack([ball, right[:3], cylinder])
    assert reactions_not_unique(both, ["left"] * 3 + ["right"] * 3 + ["cylinder"]) == ("left", "right")


def test_positions_that_are_not_quite_exact_hide_nothing():
    G, owners = four_bar(tilt=1e-9)  # what a solver leaves of a constraint
    assert reactions_not_unique(G, owners) == ("a", "b", "c", "d")
    almost = [[1.0, 0.0], [1.0, 1e-9]]  # two rods that are parallel but for that
    assert reactions_not_unique(almost, ["one", "other"]) == ("one", "other")
    assert reactions_not_unique(almost, ["one", "other"], tolerance=1e-12) == ()
    assert reactions_not_unique(np.zeros((0, 3)), []) == ()
    assert reactions_not_unique([[0.0, 0.0], [1.0, 0.0]], ["idle", "rod"]) == ("idle",)


def test_jacobians_that_make_no_sense_are_refused():
    with pytest.raises(KingpostError, match=r"constraint Jacobian of shape .2, 3. got 1 owners; give one for each row"):
        reactions_not_unique(np.zeros((2, 3)), ["a"])
    with pytest.raises(KingpostError, match="row 1 of the constraint Jacobian .joint 'b'. is not finite"):
        reactions_not_unique([[1.0], [np.nan]], ["a", "b"])


def test_noise_between_two_loads():
    b = np.column_stack([10.0 * WAVE, 0 * WAVE, np.ones(len(WAVE))])
    a = b + np.column_stack([np.where(np.arange(len(WAVE)) % 2, 0.5, -0.5), 0 * WAVE, np.full(len(WAVE), 2.0)])
    noise = load_noise(a, b)
    assert noise.rms == pytest.approx([0.5, 0.0, 2.0])
    assert noise.largest == pytest.approx([0.5, 0.0, 2.0])
    assert noise.range == pytest.approx([20.0, 0.0, 0.0])
    assert noise.relative_rms.tolist() == pytest.approx([0.025, 0.0, math.inf])
    assert noise.relative_largest.tolist() == pytest.approx([0.025, 0.0, math.inf])
    assert load_noise(a[:, 0], b[:, 0]).relative_rms == pytest.approx([0.025])
    with pytest.raises(KingpostError, match=r"loads of shape .2001, 3. and .2001,. cannot be compared"):
        load_noise(a, b[:, 0])


def test_loads_that_redundant_constraints_leave_open_are_warned_of():
    time, wave = cosine(5)
    history = load_history(time, {"pin.Fx": wave})
    assert assess_loads(history).warnings == ()
    marked = dataclasses.replace(history, provenance={**history.provenance, "redundant_closures": ["pin"]})
    (warning,) = assess_loads(marked).warnings
    assert "closure pin follow in part from others, so loads in its loops are not unique, and the run does not say" in warning
    loop = {"joints": ["one", "pin"], "ways": 3, "metric": "length", "length_m": 0.5}
    loads = {**history.provenance["loads"], "not_unique": {"joints": ["one", "pin"], "loops": [loop]}}
    shared = dataclasses.replace(marked, provenance={**marked.provenance, "loads": loads})
    (warning,) = assess_loads(shared).warnings
    assert "leave the loads of joint one, pin open in 3 ways" in warning and "with moments over 0.5 m" in warning
    loads["not_unique"]["loops"][0]["metric"] = "stiffness"
    assert assess_loads(shared).warnings == ()
