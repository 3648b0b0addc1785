"""Solvers pass the kit that plugin authors use, agree with each other, and say what they do not take."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import MechanismError, Phase, PluginSet, RunSettings, SolverOptions, optimise
from kingpost.control.optimal.record import history_of
from kingpost.modelfiles.opened import open_model
from kingpost.plugins.optimal_control.solvers import Ipopt
from kingpost.testing import NLP_SOLVER_CHECKS, check_nlp_solver
from kingpost.testing.nlp_solvers import NlpSolverSubject

VM = RunSettings(backend="vm")
NAMES = list(PluginSet(entry_points=False).of("nlp_solvers"))


@pytest.fixture(scope="module")
def subjects():
    return {}


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", NLP_SOLVER_CHECKS, ids=lambda check: check.__name__)
def test_solver(name, check, plugins, subjects):
    check(subjects.setdefault(name, NlpSolverSubject(name, plugins)))


class Turned(Ipopt):
    """IPOPT with multipliers of the other sign."""

    name = "turned"

    def stated(self, program, w):
        return replace(super().stated(program, w), multipliers=lambda lam: -lam)


def test_the_kit_finds_multipliers_of_the_other_sign(plugins):
    with pytest.raises(AssertionError, match="costates are .* away from the forces"):
        check_nlp_solver(Turned, plugins)


@pytest.mark.parametrize(
    "changes",
    [
        {"horizon": (2.0, 4.0)},
        {"bounds": {"torque": (-2.7, 2.7), "bob.x": (-2.0, 2.0)}, "rates": {"torque": (-9.0, 9.0)}},
        {"free": {"mass": (0.5, 2.0)}},
        {"control": "linear"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_fatrop_finds_what_ipopt_finds(pendulum, plugins, changes):
    """A free horizon and parameters are carried from node to node, so that they fit into stages: 1e-6 of the cost."""
    task = replace(pendulum.optimal_task("001"), **changes)
    found = [optimise(pendulum.mechanism, task, how=VM, plugins=plugins, solver=name) for name in ("ipopt", "fatrop")]
    assert found[1].cost == pytest.approx(found[0].cost, rel=1e-6)
    assert found[1].hamiltonian == pytest.approx(found[0].hamiltonian, abs=1e-4 * (1 + np.abs(found[0].hamiltonian).max()))
    assert history_of(found[1], 0.0).provenance["optimal"]["solver"]["name"] == "fatrop"


def test_fatrop_on_the_three_link_manipulator(plugins):
    """From rest, with 20 intervals, as document 001."""
    robot = open_model("three-link-manipulator", plugins)
    found = optimise(robot.mechanism, robot.optimal_task("001"), intervals=20, how=VM, plugins=plugins, solver="fatrop")
    assert min(abs(found.cost / cost - 1) for cost in (3987959.42, 2219731.0)) < 1e-6


def test_what_fatrop_does_not_take(pendulum, plugins):
    def solve(**changes):
        choices = {"options": changes.pop("options", None)}
        task = replace(pendulum.optimal_task("001"), **changes)
        optimise(pendulum.mechanism, task, how=VM, plugins=plugins, solver="fatrop", **choices)

    with pytest.raises(MechanismError, match="solver 'fatrop' goes through stages of one size, and .* has 2 phases"):
        solve(horizon=None, phases=(Phase(1.0), Phase(2.0)))
    with pytest.raises(MechanismError, match="solver 'fatrop' keeps a time limit in machine code alone"):
        solve(options=SolverOptions(time_limit=1.0))
