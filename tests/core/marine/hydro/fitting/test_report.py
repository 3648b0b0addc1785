"""Reports on fits: what they say, and what they warn of."""

import dataclasses

from kingpost.marine.hydro.fitting.fit import fit_memory
from kingpost.marine.hydro.fitting.report import closed_loop, report_fit
from tests.core.marine.hydro.fitting.hulls import fitted, hull, ringing_hull


def test_a_report_has_the_numbers_and_the_words():
    fit = fitted("hemisphere_r5")
    report = report_fit(fit)
    assert report.passive and report.stable
    assert report.states == sum(block.states for block in report.blocks) == fit.memory.states
    assert max(report.motion_errors) < 0.004
    # By states and by convolution of the same K(t), extrapolated: (w h)^4 of some 10 radians; by that of the data within 1 %.
    assert all(decay.states_to_convolution < 1e-3 and decay.states_to_data < 0.01 for decay in report.decays)
    text = report.text()
    assert text.startswith("radiation memory of 'hemisphere': 30 states")
    for words in ("surge + pitch", "motions in waves", "Kramers-Kronig", "smallest eigenvalue of Re K", "free heave"):
        assert words in text
    assert any("surge 49%" in warning for warning in report.warnings)


def test_a_fit_without_conditions_and_a_poor_one_are_warned_of():
    free = report_fit(fit_memory(hull("hemisphere_r5"), orders=(2,), passive=False), decays=False)
    assert not free.passive
    assert any(warning.startswith("not passive: Re K has an eigenvalue of") for warning in free.warnings)
    assert any("motions in waves are off by more than 1%" in warning for warning in free.warnings)


def test_without_inertia_there_is_no_closed_loop():
    data = dataclasses.replace(ringing_hull(), inertia=None)
    fit = fit_memory(data, orders=(6,))
    assert closed_loop(fit) is None
    report = report_fit(fit)
    assert report.stable is None and report.motion_errors is None and report.decays == ()
    assert "rightmost" not in report.text()


def test_the_summary_is_one_line():
    summary = fit_memory(ringing_hull(), orders=(6,)).summary
    assert "orders sway+roll 6; motions in waves within 0.00% of the largest; passive" in summary
    assert "\n" not in summary
