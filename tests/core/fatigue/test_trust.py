"""Loads that are not counted unless somebody says so."""

import dataclasses

import numpy as np
import pytest

from kingpost import KingpostError, open_model, simulate
from kingpost.base.channels import Channel
from kingpost.fatigue import CountingOptions, HotSpot, assess_hot_spots, assess_loads, motion_noise, sampling
from kingpost.fatigue.trust import NOISE_LIMIT, NOISE_WARNED
from tests.core.fatigue.synthetic import load_history


def turning(samples_per_period, samples=200):
    """Return the load on a body that turns to and fro as a sine, and how it moves."""
    h = 1.0 / samples_per_period
    time = h * np.arange(samples)
    w, alpha = np.sin(2 * np.pi * time), 2 * np.pi * np.cos(2 * np.pi * time)
    plain = load_history(time, {"pin.Mz": 5.0 * alpha})
    names = [f"body.motion.{name}{axis}" for name in ("w", "alpha", "a") for axis in "xyz"]
    values = np.zeros((samples, 9))
    values[:, 2], values[:, 5] = w, alpha
    channels = (*plain.channels, *(Channel(name, "1") for name in names))
    return dataclasses.replace(plain, channels=channels, values=np.hstack([plain.values, values]))


@pytest.mark.parametrize("number", [40, 20, 10, 5])
def test_motion_between_samples_is_judged_as_simpsons_rule_says(number):
    """Of a sine w, (w1 - w-1) / 2 h is alpha0 sin(x) / x, the mean of alpha alpha0 (2 + cos(x)) / 3, with x = 2 pi / k."""
    x = 2 * np.pi / number
    seen, said = np.sin(x) / x, (2 + np.cos(x)) / 3
    (found,) = motion_noise(turning(number, 20 * number + 3), slice(None))
    # Whole periods but for a sample or two; a maximum between samples is missed by up to 1 - cos(pi / k).
    assert found.relative_rms == pytest.approx(abs(seen - said) / np.sqrt(2) / (2 * said), rel=0.25)
    assert (found.body, found.motion) == ("body", "angular")
    assert found.relative_rms < NOISE_WARNED


def test_aliased_loads_are_refused_although_their_samples_look_smooth():
    """41 samples of 40 periods: a spectrum sees one slow period, the motion between samples says otherwise."""
    history = turning(41 / 40, 41)
    assert sampling(history.time, history["pin.Mz"]).enough
    with pytest.raises(
        KingpostError,
        match=r"sampled too coarsely: the angular accelerations of body 'body' .* shorter output step. .* accept 'noise'",
    ):
        assess_loads(history)
    accepted = assess_loads(history, options=CountingOptions(accept=("noise",)))
    assert any("sampled too coarsely" in text and text.endswith("(accepted)") for text in accepted.warnings)
    (noise,) = accepted.noise
    assert noise.relative_rms > 5 * NOISE_LIMIT


def test_a_run_is_refused_warned_of_or_taken_by_its_output_step():
    """The crank of a four-bar: places and turns of every body beside a joint are looked at."""
    machine = open_model("four-bar").mechanism
    kept = {step: simulate(machine, 5.0, step=0.001, output_step=step, loads="all") for step in (0.01, 0.1, 0.2)}
    assert not any("sampled too coarsely" in text for text in assess_loads(kept[0.01]).warnings)
    assert any("sampled too coarsely" in text for text in assess_loads(kept[0.1]).warnings)
    with pytest.raises(KingpostError, match="samples 0.2 s apart are missed"):
        assess_loads(kept[0.2])
    linear = [item for item in motion_noise(kept[0.01], slice(None)) if item.motion == "linear"]
    assert {item.body for item in linear} == {"crank", "coupler", "rocker"}
    # Numerov's rule misses x^4 / 240 of a wave with x = 2 pi h / T; the crank turns in some 0.5 s at its fastest.
    assert max(item.relative_rms for item in linear) < 1e-5


def test_loads_that_do_not_balance_are_refused():
    """Multipliers, say, that are not those of the motion: what recomputed loads differ by is the residual."""
    time = np.linspace(0.0, 10.0, 401)
    wave = np.sin(time)
    history = load_history(time, {"slew.Fz": 500.0 * wave}, {"loads.residual.force": 0 * time + 3e-3})
    message = r"do not balance: loads.residual.force reaches 0.003 N, 6.0e-06 of the loads' level .*accept 'residual'"
    with pytest.raises(KingpostError, match=message):
        assess_loads(history)
    spots = [HotSpot("weld", "D-air", {"slew.Fz": 1.0})]
    with pytest.raises(KingpostError, match=message):
        assess_hot_spots(history, spots)
    options = CountingOptions(accept=("residual",))
    assert assess_loads(history, options=options).warnings and assess_hot_spots(history, spots, options=options).warnings
    with pytest.raises(KingpostError, match="'balance' is not a doubt that can be accepted. Doubts: residual, noise, step"):
        CountingOptions(accept=("balance",))


def test_peaks_that_change_with_the_step_are_refused_where_they_are_counted():
    time = np.linspace(0.0, 10.0, 401)
    history = load_history(time, {"slew.Mx": 100.0 * np.sin(time), "luff.Fz": np.cos(time)})
    entry = {"unit": "N.m", "peak": 155.0, "peak_checked": 200.0, "part": 0.225}
    check = {"limit": 0.01, "against": "with half the step, 0.0005 s", "changed": {"slew.Mx": entry}}
    marked = dataclasses.replace(history, provenance={**history.provenance, "step_check": check})
    with pytest.raises(
        KingpostError, match=r"'slew.Mx' reaches 155 N.m and, with half the step, 0.0005 s, 200; .* 22.5% .*accept 'step'"
    ):
        assess_loads(marked)
    assert assess_loads(marked, ["luff"]).warnings == ()
    assert assess_loads(marked, options=CountingOptions(accept=("step",))).warnings
    failed = {"limit": 0.01, "against": "with half the step, 0.0005 s", "failed": "not finite"}
    with pytest.raises(KingpostError, match="the run with half the step, 0.0005 s, .* failed: not finite"):
        assess_loads(dataclasses.replace(history, provenance={**history.provenance, "step_check": failed}))
