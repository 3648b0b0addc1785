"""Scenarios repeated into a history."""

import numpy as np
import pytest

from kingpost.base.errors import SolverError
from kingpost.fmu.live import Action, Scenario, open_session, replay
from tests.fmu.live.test_child import MODEL
from tests.fmu.live.test_opening import SYSTEM


@pytest.mark.parametrize("file", ["swing.toml", "pair.toml"])
def test_a_replay_equals_the_session_bit_for_bit(tmp_path, plugins, file):
    (tmp_path / "swing.toml").write_text(MODEL)
    (tmp_path / "pair.toml").write_text(SYSTEM)
    prefix = "" if file == "swing.toml" else "one."
    session = open_session({"file": file}, plugins, tmp_path)
    rows = [session.row]

    def play(frames):
        for _ in range(frames):
            session.advance()
            rows.append(session.row)

    play(10)
    session.set({f"{prefix}torque": 0.7})
    rows[-1] = session.row
    play(20)
    session.go(session.time_of(15))
    del rows[16:]
    session.set({f"{prefix}torque": -1.1})
    rows[-1] = session.row
    play(25)
    text = session.scenario().text()
    from kingpost.fmu.live.scenario import scenario_of

    again = open_session({"file": file}, plugins, tmp_path)
    done = []
    history = replay(again, scenario_of(text), done.append)
    np.testing.assert_array_equal(history.values[:, : len(rows[0])], np.array(rows))
    assert len(history) == 41
    assert done[-1] == 1.0
    assert history.provenance["outcome"] == "complete"
    assert [entry["set"] for entry in history.provenance["actions"]] == [{f"{prefix}torque": 0.7}, {f"{prefix}torque": -1.1}]
    assert history.provenance["time"]["end_s"] == pytest.approx(session.t)


def test_a_scenario_without_an_end_goes_to_its_last_action(tmp_path, plugins):
    (tmp_path / "swing.toml").write_text(MODEL)
    session = open_session({"file": "swing.toml"}, plugins, tmp_path)
    assert replay(session, Scenario({}, (Action(0.1, {"torque": 1.0}),))).time[-1] == pytest.approx(0.1)


def test_what_stops_on_the_way_keeps_what_was_computed(tmp_path, plugins):
    (tmp_path / "swing.toml").write_text(MODEL)
    session = open_session({"file": "swing.toml", "options": {"t_end": 0.2}}, plugins, tmp_path)
    with pytest.raises(SolverError, match="come to its end") as error:
        replay(session, Scenario({}, (), 5.0))
    assert error.value.history.time[-1] == pytest.approx(0.2)
    assert error.value.history.provenance["outcome"] == "failed"


def test_more_than_memory_holds_is_refused_at_once(tmp_path, plugins):
    (tmp_path / "swing.toml").write_text(MODEL)
    session = open_session({"file": "swing.toml"}, plugins, tmp_path)
    with pytest.raises(SolverError, match="more than the memory of this machine"):
        replay(session, Scenario({}, (), 1e15))
