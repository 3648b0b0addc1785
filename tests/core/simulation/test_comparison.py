"""Formalisms side by side, and runs that a second formalism looks at."""

import json
from dataclasses import replace

import numpy as np
import pytest

from kingpost import MechanismError, PluginSet, RunSettings, SolverError, prepare, simulate
from kingpost.simulation import comparison as comparing
from kingpost.simulation.comparison import compare
from kingpost.simulation.verification import largest_difference, verified_run
from kingpost.testing.problems import bare_winch, parallelogram, welded

PLUGINS = PluginSet(entry_points=False)
QUICK = RunSettings(t_end=0.2, step=0.01, backend="vm")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Measure costs for a moment only: they are not looked at here."""
    monkeypatch.setattr(comparing, "MEASURED", 0.001)


@pytest.fixture(scope="module")
def side_by_side():
    return compare(parallelogram("point-on-line"), how=QUICK, plugins=PLUGINS)


def test_a_closed_loop(side_by_side):
    found = side_by_side
    assert (found.speeds, found.constraints, found.backend) == (3, 2, "vm")
    assert found.times == pytest.approx((0.0, 0.05, 0.1, 0.15, 0.2))
    assert 1.0 <= found.condition < 1e4
    rows = {item.name: item for item in found.compared}
    assert set(rows) == set(PLUGINS.formalisms)
    for name, item in rows.items():
        # Penalties of 1e6 leave errors of some 1e-6 of what constraints hold; the others rounding.
        assert item.difference < (1e-4 if name == "penalty" else 1e-11), name
        assert item.constraint_error < (1e-4 if name == "penalty" else 1e-11), name
        assert item.microseconds > 0
        assert item.operations > 50
        assert item.coordinate in ("a.angle", "b.angle", "d.angle")
        assert 0.0 <= item.at_s <= 0.2
    assert rows["penalty"].difference > 1e-9
    assert rows["penalty"].leaves.startswith("misses constraints by some 1e-06")
    assert rows["newton-euler"].operations > rows["kane"].operations


def test_those_that_refuse_say_why():
    found = compare(bare_winch(), how=replace(QUICK, t_end=0.02), plugins=PLUGINS)
    refused = {item.name for item in found.compared if item.refusal}
    assert refused == {"gauss", "hamilton", "lagrange", "udwadia-kalaba"}
    assert all("axle.angle" in item.refusal for item in found.compared if item.refusal)


def test_a_machine_that_cannot_move():
    found = compare(welded(), how=QUICK, plugins=PLUGINS)
    assert {item.difference for item in found.compared} == {0.0}


def test_the_largest_difference():
    differences, sizes = np.array([[0.0, 1e-3], [-4e-3, 0.0]]), np.array([[1.0, 2.0], [-8.0, 1.0]])
    found = largest_difference(differences, sizes, np.array([0.0, 0.5]), ["a", "b"])
    assert (found.difference, found.part, found.at_s, found.coordinate) == (4e-3, 5e-4, 0.5, "a")
    lost = largest_difference(np.array([[0.0, np.nan]]), np.ones((1, 2)), np.array([0.0]), ["a", "b"])
    assert (lost.difference, lost.coordinate) == (np.inf, "b")


@pytest.mark.parametrize("formulation", ["kane", "directors"])
def test_a_verified_run(formulation):
    history = simulate(
        parallelogram("point-on-line"), 0.1, step=0.01, formulation=formulation, verify="gauss", backend="vm", plugins=PLUGINS
    )
    found = history.provenance["verification"]
    assert (found["formulation"], found["samples"], found["backend"]) == ("gauss", 11, "vm")
    assert found["unit"] == "rad/s2"
    assert found["coordinate"] in ("a.angle", "b.angle", "d.angle")
    # Directors keep joints to some 1e-12 of a metre, as their projection leaves them.
    assert found["part"] < (1e-11 if formulation == "kane" else 1e-8)


def test_verification_finds_the_error_that_penalties_leave():
    how = {"step": 0.01, "verify": "penalty:alpha=1000", "backend": "vm", "plugins": PLUGINS}
    part = simulate(parallelogram("point-on-line"), 0.1, **how).provenance["verification"]["part"]
    assert 1e-6 < part < 1e-1


def test_what_cannot_verify():
    with pytest.raises(MechanismError, match="would compare formulation 'kane' with itself; choose another formalism"):
        simulate(parallelogram("distance"), 0.1, formulation="kane", verify="kane", plugins=PLUGINS, backend="vm")
    with pytest.raises(
        MechanismError, match="accelerations are compared in joint coordinates, and formulation 'directors' has"
    ):
        simulate(parallelogram("distance"), 0.1, formulation="kane", verify="directors", plugins=PLUGINS, backend="vm")


def test_a_run_that_fails_is_verified_as_far_as_it_went():
    machine = parallelogram("distance")
    simulation = prepare(machine, 0.05, step=0.01, formulation="kane", verify="gauss", backend="vm", plugins=PLUGINS)

    def fail():
        raise SolverError("the boom is gone", history=simulation.run())

    with pytest.raises(SolverError, match="the boom is gone") as caught:
        verified_run(simulation, fail)
    assert caught.value.history.provenance["verification"]["samples"] == 6


def test_the_verb(kingpost_cli, side_by_side, monkeypatch):
    answer = kingpost_cli("compare", "double-pendulum", "--t-end", "0.1", "--backend", "vm", "--json", "--set", "mass1=2")
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    assert (found["model"], found["speeds"], found["backend"]) == ("double-pendulum", 2, "vm")
    assert set(found["formalisms"]) == set(PLUGINS.formalisms)
    for row in found["formalisms"].values():
        assert row["difference"] < 1e-11
        assert row["microseconds"] > 0
        assert row["operations"] > 0
    refused = comparing.Compared("mine", "Mine.", refusal="it does not take doors")
    whole = replace(side_by_side, compared=(*side_by_side.compared, refused), note="it fell over")
    monkeypatch.setattr(comparing, "compare", lambda *arguments, **options: whole)
    answer = kingpost_cli("compare", "double-pendulum")
    table = answer.out.splitlines()
    assert any(line.startswith("newton-euler") for line in table)
    assert table[-1] == "mine  it does not take doors"
    assert "misses constraints by some 1e-06" in answer.out
    assert "ended early: it fell over" in answer.err
    rows = json.loads(kingpost_cli("compare", "double-pendulum", "--json").out)["formalisms"]
    assert rows["mine"] == {"summary": "Mine.", "refusal": "it does not take doors"}


def test_the_summary_of_a_run_tells(kingpost_cli):
    words = ("--t-end", "0.05", "--backend", "vm", "--loads", "none", "--write", "npz", "--out", "r")
    answer = kingpost_cli("run", "double-pendulum", *words, "--verify", "hamilton")
    assert answer.status == 0, answer.err
    assert "by hamilton: accelerations differ by at most" in answer.out
    unknown = kingpost_cli("run", "double-pendulum", "--verify", "gaus")
    assert unknown.status == 4
    assert "unknown formulation 'gaus'; did you mean 'gauss'?" in unknown.err
    assert "Formalisms: " in unknown.err
