"""What a report says about an optimum."""

import numpy as np
import pytest

from kingpost import History
from kingpost.report.channels import take_inventory
from kingpost.report.content import Options, make_content
from kingpost.report.optimal import describe_optimal, optimal_channels
from tests.core.report.optima import SPEED, TORQUE, bounded_pendulum
from tests.core.report.synthetic import crane_history


@pytest.fixture(scope="module")
def history():
    return bounded_pendulum()


@pytest.fixture(scope="module")
def content(history):
    return make_content(history, Options())


def test_a_run_has_no_such_section():
    run = crane_history()
    assert describe_optimal(run) is None
    assert optimal_channels(run) == ()


def test_inputs_and_costates_leave_the_plots_of_the_motion(history):
    inventory = take_inventory(history)
    panels = {name for panel in inventory.panels for name in panel.names}
    assert "torque" not in panels
    assert not any(name.startswith("optimal.") for name in panels)
    assert {"pivot.angle", "pivot.angle.rate"} <= panels
    assert {"torque", "optimal.hamiltonian", "optimal.switching.torque", "optimal.costate.pivot.angle"} <= set(
        inventory.plotted
    )


def test_costates_have_no_spectra(content):
    assert not any(name.startswith("optimal.") for name in content["spectra"].get("channels", {}))
    assert content["scene"]["bodies"]


def test_inputs_and_path_have_their_bounds_and_where_they_bite(content):
    section = content["optimal"]
    (torque,) = section["inputs"]
    assert torque["name"] == "torque"
    assert torque["limits"] == [-TORQUE, TORQUE]
    assert {stretch["limit"] for stretch in torque["stretches"]} == {"lower", "upper"}
    path = {item["name"]: item for item in section["path"]}
    assert path["pivot.angle.rate"]["limits"] == [-SPEED, SPEED]
    assert path["pivot.angle.rate"]["end"] == [0.0, 0.0]
    assert path["pivot.angle"]["end"] == [np.pi / 2, np.pi / 2]
    assert {(item["name"], item["unit"]) for item in section["biting"]} >= {("torque", "N.m"), ("pivot.angle.rate", "rad/s")}
    assert all(item["multiplier"] > 0 for item in section["biting"])


def test_the_search_is_told(history, content):
    section = content["optimal"]
    assert section["status"] == "optimal"
    facts = dict(section["facts"])
    assert facts["Cost"] == f"{history.provenance['cost']:.9g} (effort)"
    assert facts["Horizon"] == "3 s in 20 intervals"
    assert [start["start"] for start in section["starts"]] == ["constant", "line"]
    chosen = section["starts"][section["chosen"]]
    assert chosen["cost"] == history.provenance["cost"]
    course = chosen["course"]
    assert len(course["cost"]) == len(course["violation"]) == chosen["iterations"] + 1
    assert course["cost"][-1] == pytest.approx(chosen["cost"], rel=1e-9)
    values = history["optimal.hamiltonian"]
    assert section["hamiltonian_text"].startswith(f"Between {values.min():.6g} and {values.max():.6g}")


def test_a_free_horizon_and_found_parameters_are_told(history):
    record = dict(history.provenance["optimal"])
    record["task"] = {**record["task"], "horizon_s": [2.0, 4.0]}
    record["parameters_found"] = {"mass": 0.5}
    other = History(history.time, history.channels, history.values, {**history.provenance, "optimal": record})
    section = describe_optimal(other)
    facts = dict(section["facts"])
    assert facts["Horizon"] == "3 s in 20 intervals, free between 2 s and 4 s"
    assert facts["Found mass"] == "0.5"
    assert "vanishes where a free horizon is within its limits" in section["hamiltonian_text"]


def test_a_record_from_elsewhere_with_less_in_it_still_gives_a_section(history):
    """Results of earlier versions know no stretches and no course of every start."""
    record = {key: value for key, value in history.provenance["optimal"].items() if key not in ("starts", "course")}
    keys = ("name", "limit", "value", "from_s", "until_s", "share")
    record["active_bounds"] = [{key: item[key] for key in keys} for item in record["active_bounds"]]
    other = History(history.time, history.channels, history.values, {**history.provenance, "optimal": record})
    section = describe_optimal(other)
    assert section["starts"] == []
    assert section["chosen"] is None
    assert section["inputs"][0]["stretches"] == []
