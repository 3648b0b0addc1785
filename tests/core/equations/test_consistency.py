"""Starts of closed loops: fitted where they nearly close, refused where they cannot, and redundant closures told."""

import numpy as np
import pytest

from kingpost import MechanismError, simulate
from tests.core.mechanism.closed import PARALLEL, PLUGINS, TURNING, bar


def test_a_loop_that_cannot_close_is_refused():
    with pytest.raises(
        MechanismError, match=r"closure 'pin' cannot be closed from the start values: it is open by 5 there and by 5 "
    ):
        simulate(bar((1.0, 2.0, 1.0, 9.0), (0.0, 0.0, np.pi)), 0.1, close_loops=True, plugins=PLUGINS)


def test_redundant_closures_that_contradict_each_other_are_refused():
    """A pin in a plane loop holds the rods in the plane once more than needed; not so if the rocker lies 0.1 m beside it."""
    with pytest.raises(MechanismError, match=r"closure 'pin' cannot be closed .* by 0\.1 .* contradict each other"):
        simulate(bar(*PARALLEL, closure="revolute", offset=0.1), 0.1, plugins=PLUGINS)


def test_redundant_closures_are_named_and_change_nothing():
    plain, pinned = (
        simulate(bar(*TURNING, closure=kind), 1.0, plugins=PLUGINS, loads="all") for kind in ("point-on-line", "revolute")
    )
    assert pinned.provenance["redundant_closures"] == ["pin"]
    assert "redundant_closures" not in plain.provenance
    for name in ("one.angle", "two.angle.rate", "pin.Fx", "pin.Fy", "one.Fy"):
        np.testing.assert_allclose(pinned[name], plain[name], atol=1e-9)
    assert np.abs(pinned.select(["pin.Fz", "pin.Mx", "pin.My"])).max() < 1e-9


def test_a_dead_centre_is_refused_at_the_start():
    """All rods of a parallelogram in one line: it may go on as a parallelogram or crossed."""
    with pytest.raises(
        MechanismError, match=r"singular position at the start \(a dead centre\).*hold 2 motions nearby, but only 1"
    ):
        simulate(bar(PARALLEL[0], (0.0, 0.0, 0.0)), 0.1, plugins=PLUGINS)


def test_start_values_that_leave_a_loop_open():
    lengths, (one, two, three) = PARALLEL
    slightly = bar(lengths, (one, two + 0.004, three))
    history = simulate(slightly, 0.1, plugins=PLUGINS, monitors=True)
    assert set(history.provenance["fitted_start"]) <= {"one.angle", "two.angle", "three.angle"}
    assert history["constraints.position"].max() < 1e-12
    wide = bar(lengths, (one, two + 0.2, three))
    with pytest.raises(
        MechanismError, match=r"leave closure 'pin' open by 0\.\d+; the nearest closed position changes .*\(close_loops\)"
    ):
        simulate(wide, 0.1, plugins=PLUGINS)
    assert simulate(wide, 0.1, plugins=PLUGINS, close_loops=True, monitors=True)["constraints.position"].max() < 1e-12


def test_given_speeds_are_kept_and_the_others_fitted():
    machine = bar(*PARALLEL)
    history = simulate(machine, 0.1, settings={"one.angle.rate": 2.0}, plugins=PLUGINS)
    rates = [history[f"{joint}.angle.rate"][0] for joint in ("one", "two", "three")]
    np.testing.assert_allclose(rates, [2.0, -2.0, 2.0], atol=1e-12)  # the coupler of a parallelogram does not turn
    # Speeds that contradict each other are refused, or all fitted.
    impossible = {"one.angle.rate": 2.0, "two.angle.rate": 1.0, "three.angle.rate": 1.0}
    with pytest.raises(
        MechanismError, match=r"speeds contradict each other.*one\.angle\.rate from 2 to .*those that are 0 are fitted"
    ):
        simulate(machine, 0.1, settings=impossible, plugins=PLUGINS)
    both = simulate(machine, 0.1, settings=impossible, plugins=PLUGINS, close_loops=True)
    rates = [both[f"{joint}.angle.rate"][0] for joint in ("one", "two", "three")]
    assert rates[0] == pytest.approx(rates[2]) == pytest.approx(-rates[1])
    assert abs(rates[0] - 2.0) > 0.1
