"""Phases against closed forms: points on the way, switches, a mass that is picked up; derivatives, and what is refused."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Input,
    Joint,
    Mechanism,
    MechanismError,
    OptimalTask,
    Parameter,
    Phase,
    RunSettings,
    optimise,
    prepare_optimisation,
    read_optimal_task,
)
from kingpost.control.optimal.continuation import Stage, automatic, excess_of, problem_at
from kingpost.control.optimal.phases import Piece, linked
from kingpost.control.optimal.record import history_of
from kingpost.control.optimal.starts import guessed, lifted
from kingpost.control.optimal.transcribing import transcribe

VM = RunSettings(backend="vm")
MASS, HEAVY, DISTANCE = 2.0, 5.0, 3.0
END = {"slide.x": DISTANCE, "slide.x.rate": 0.0}


@pytest.fixture(scope="module")
def machine():
    force, mass = Input("force", "N"), Parameter("m", MASS, "kg")
    return Mechanism(
        name="pushed-mass",
        parameters=(mass,),
        inputs=(force,),
        bodies=(Body("mass", mass=mass),),
        joints=(Joint("slide", "prismatic", "world", "mass", axis=(1, 0, 0), coordinates=("x",)),),
        forces=(ForceElement("joint-effort", coordinate="slide.x", effort=force),),
    )


@pytest.fixture(scope="module")
def solved(machine, plugins):
    def solve(*phases, transcription="step", **changes):
        task = replace(OptimalTask(("force",), phases=phases, end=END, intervals=4), **changes)
        return optimise(machine, task, transcription=transcription, how=VM, plugins=plugins)

    return solve


def squares(d, v0, v1, T):
    """The least integral of the squared acceleration over a distance, between two speeds: that of a cubic."""
    return 4 / T * (v0**2 + v0 * v1 + v1**2) - 12 * d / T**2 * (v0 + v1) + 12 * d**2 / T**3


def least(function, a, b):
    """The least value of a parabola, from three of its values."""
    values = [function(v) for v in (a, (a + b) / 2, b)]
    c = np.polyfit([a, (a + b) / 2, b], values, 2)
    return float(np.polyval(c, -c[1] / (2 * c[0])))


def test_through_a_point_on_the_way(solved):
    """Two cubics with the speed at the point that makes the effort least; linear inputs and collocation have no error."""
    found = solved(Phase(1.0, end={"slide.x": 1.0}), Phase(1.0), control="linear", transcription="collocation", guess="line")
    cost = least(lambda v: MASS**2 / 2 * (squares(1.0, 0, v, 1) + squares(2.0, v, 0, 1)), 1.0, 4.0)
    assert found.cost == pytest.approx(cost, rel=1e-9)
    assert sum(part.cost for part in found.parts) == pytest.approx(cost, rel=1e-9)
    assert found.states[4, 0] == pytest.approx(1.0, abs=1e-9)
    assert len(found.times) == 9


def test_a_switch_where_phases_meet(solved):
    """Full force forth and back: 2 sqrt(d m / F), exact where the switch is a joint of phases, by any number of intervals."""
    free = (0.1, 5.0)
    found = solved(Phase(free, intervals=3), Phase(free, intervals=3), costs=("time",), bounds={"force": (-5.0, 5.0)})
    assert found.horizon == pytest.approx(2 * sqrt(DISTANCE * MASS / 5.0), rel=1e-7)
    assert found.inputs[:, 0] == pytest.approx([5, 5, 5, -5, -5, -5], abs=1e-5)
    assert [part.horizon for part in found.parts] == pytest.approx([found.horizon / 2] * 2, rel=1e-6)
    assert found.times[3] == pytest.approx(found.parts[1].times[0])
    phases = history_of(found, 0.0).provenance["optimal"]["phases"]
    assert [item["name"] for item in phases] == ["1", "2"]
    assert phases[1]["from_s"] == pytest.approx(found.horizon / 2, rel=1e-6)


@pytest.mark.parametrize(("keeps", "ratio"), [("speeds", 1.0), ("momenta", MASS / HEAVY)])
def test_a_mass_that_is_picked_up(solved, keeps, ratio):
    """The speed behind the joint is that before it, or less by the ratio of masses; both parts are cubics.

    The force jumps with the mass, and stairs are of second order: errors shrink to a quarter.
    """
    carry = Phase(1.5, settings={"m": HEAVY}, keeps=keeps, name="carry")

    def cost(v):
        return (MASS**2 * squares(1.0, 0, v, 1.0) + HEAVY**2 * squares(2.0, ratio * v, 0, 1.5)) / 2

    ways = [solved(Phase(1.0, end={"slide.x": 1.0}, name="fetch"), carry, intervals=count) for count in (8, 16)]
    errors = [way.cost - least(cost, 1.0, 4.0) for way in ways]
    assert 0.0 < errors[1] < 0.02 * ways[1].cost
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.05)
    found = ways[0]
    fetch, carried = found.parts
    assert carried.states[0, 1] == pytest.approx(ratio * fetch.states[-1, 1], rel=1e-8)
    # What the later phase begins with stands in the history.
    assert history_of(found, 0.0)["slide.x.rate"][8] == pytest.approx(carried.states[0, 1])


def test_lengths_are_divided_within_one_horizon(solved):
    """Without anything at the joint both phases together are one motion: 6 m^2 d^2 / T^3."""
    found = solved(
        Phase((0.5, 2.0)), Phase((0.5, 2.0)), horizon=2.5, control="linear", transcription="collocation", guess="line"
    )
    assert found.horizon == pytest.approx(2.5, rel=1e-9)
    assert found.cost == pytest.approx(6 * MASS**2 * DISTANCE**2 / 2.5**3, rel=1e-8)


#: Limits that bite in both phases, each its own.
TIGHT = (Phase(1.0, end={"slide.x": 1.0}, bounds={"force": (-9.0, 5.2)}), Phase(1.0, bounds={"slide.x.rate": (-9.0, 2.6)}))


def test_limits_of_phases_are_tightened_from_what_they_cut_off(solved):
    """Every phase lets through half of what its own limits cut off of its own part of the motion without any."""
    direct = solved(*TIGHT, intervals=8)
    found = solved(*TIGHT, intervals=8, continuation={"bounds": (0.5,)})
    free, half, last = found.attempts
    assert [attempt.stage for attempt in found.attempts] == ["bounds = 1", "bounds = 0.5", ""]
    assert free.cost < half.cost < last.cost
    assert found.cost == pytest.approx(direct.cost, rel=1e-8)
    assert [item["name"] for item in found.active] == ["force", "slide.x.rate"]


def test_half_of_an_excess_is_what_each_phase_lets_through(machine, plugins):
    """The force goes to 5.9 N in the first phase, and the rate to 2.69 m/s in the second, where nothing limits them."""
    task = OptimalTask(("force",), phases=TIGHT, end=END, intervals=8)
    free = optimise(machine, replace(task, phases=[replace(phase, bounds={}) for phase in TIGHT]), how=VM, plugins=plugins)
    problem = prepare_optimisation(machine, task, how=VM, plugins=plugins).problem
    excess = excess_of(free, problem)
    assert excess[0] == {("bounds", "force"): (0.0, pytest.approx(free.parts[0].inputs.max() - 5.2))}
    early, late = problem_at(problem, Stage(8, share=0.5, name="half"), excess).parts
    assert early.task.bounds["force"].high == pytest.approx((free.parts[0].inputs.max() + 5.2) / 2)
    assert late.task.bounds["slide.x.rate"].high == pytest.approx((free.parts[1].states[:, 1].max() + 2.6) / 2)
    assert early.task.bounds["force"].low == -9.0


@pytest.mark.parametrize(
    ("phases", "horizon"),
    [
        ((Phase(1.0, end={"slide.x": 1.0}), Phase(1.5)), None),
        ((Phase((0.5, 2.0), end={"slide.x": 1.0}), Phase((0.5, 2.0))), 2.5),
    ],
)
def test_horizons_of_phases_are_stretched_alike(solved, phases, horizon):
    """Efforts of a mass without other forces go with 1 / T^3, and its program by the mid-point rule with them."""
    direct = solved(*phases, horizon=horizon)
    found = solved(*phases, horizon=horizon, continuation={"horizon": (5.0, 3.0)})
    assert [attempt.cost * times**3 for attempt, times in zip(found.attempts, (2.0, 1.2, 1.0), strict=True)] == pytest.approx(
        [direct.cost] * 3, rel=1e-7
    )
    assert found.horizon == pytest.approx(2.5, rel=1e-9)
    assert found.parts[0].horizon == pytest.approx(direct.parts[0].horizon, rel=1e-6)


def test_what_is_tried_by_itself_with_phases(machine, plugins):
    task = OptimalTask(("force",), phases=TIGHT, end=END, intervals=12)
    prepared = prepare_optimisation(machine, task, how=VM, plugins=plugins)
    assert automatic(prepared.problem, prepared.grid) == [
        {"intervals": (6.0, 12.0)},
        {"bounds": (1.0, 0.5, 0.2)},
        {"horizon": (pytest.approx(3.0), pytest.approx(2.4))},
    ]


def test_derivatives_agree_with_finite_differences(machine, plugins):
    """Rows between phases, too: momenta, times, inputs before; errors and noise of central differences are 1e-9."""
    task = OptimalTask(
        ("force",),
        phases=(Phase((0.5, 2.0)), Phase((0.5, 2.0), settings={"m": HEAVY}, keeps="momenta")),
        horizon=(1.2, 3.0),
        end=END,
        rates={"force": (-99.0, 99.0)},
        intervals=2,
    )
    prepared = prepare_optimisation(machine, task, how=VM, plugins=plugins)
    pieces = []
    for part, grid in zip(prepared.problem.parts, prepared.grid.parts, strict=True):
        rule = prepared.transcription.rule(part, grid)
        program = transcribe(part, rule, grid)
        pieces.append(Piece(part, rule, program, lifted(part, rule, program.layout, guessed(part, 2, "line"), 0.5)))
    program = linked(prepared.problem, pieces)
    rng = np.random.default_rng(4)
    x = np.concatenate([piece.start for piece in pieces]) / program.scales
    x = x + 0.05 * rng.normal(size=len(x))
    lam, theta, functions = rng.normal(size=program.rows), program.theta, program.functions

    def slope(x):
        return np.asarray(functions.gradient(x, theta)[1]).ravel() + np.asarray(functions.jacobian(x, theta)[1].T @ lam).ravel()

    J, H = functions.jacobian(x, theta)[1].full(), functions.hessian(x, theta, 1.0, lam).full()
    H = H + np.triu(H, 1).T
    for i in range(len(x)):
        ahead, behind = (x + sign * 1e-5 * np.eye(len(x))[i] for sign in (1, -1))
        rows = [np.asarray(functions.jacobian(item, theta)[0]).ravel() for item in (ahead, behind)]
        assert J[:, i] == pytest.approx((rows[0] - rows[1]) / 2e-5, rel=1e-6, abs=1e-7)
        assert H[:, i] == pytest.approx((slope(ahead) - slope(behind)) / 2e-5, rel=1e-5, abs=1e-6)
    words = {program.row_name(i)[0] for i in range(program.rows)}
    assert {"the horizon of all phases", "the time of the start of phase '2'", "'force' at the start of phase '2'"} <= words


def test_phases_in_a_file(tmp_path, machine):
    file = tmp_path / "task.toml"
    file.write_text(
        '[optimal]\ninputs = ["force"]\n[optimal.end]\n"slide.x" = 3.0\n'
        '[[optimal.phases]]\nname = "fetch"\nhorizon = 1.0\n[[optimal.phases]]\nhorizon = [1.0, 2.0]\nsettings = { m = 5.0 }\n'
    )
    task = read_optimal_task(str(file), machine)
    assert [phase.name for phase in task.phases] == ["fetch", "2"]
    assert (task.horizon.low, task.horizon.high, task.total) == (2.0, 3.0, None)
    assert [each.end for each in task.phase_tasks()] == [{}, dict(task.end)]
    assert task.data()["phases"][1]["settings"] == {"m": 5.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phases": ()}, "lacks 'horizon': how long it takes"),
        (
            {"phases": (Phase(1.0), Phase(1.0)), "horizon": 3.0},
            "its phases take 2 s, and the horizon is 3 s; no time is in both",
        ),
        ({"phases": (Phase(1.0, name="a"), Phase(1.0, name="a"))}, "two phases have the same name: a, a"),
        ({"phases": (Phase(1.0, settings={"mas": 1.0}),)}, "phase '1' sets 'mas', which is no parameter of 'pushed-mass'"),
        (
            {"phases": (Phase((1.0, 2.0)), Phase(1.0)), "continuation": {"horizon": (3.0,)}},
            "the horizon is free, so that no continuation",
        ),
        ({"phases": (Phase(1.0), 3)}, "expected a table that describes a phase, got 3"),
        ({"phases": (Phase(1.0, end={"slide.x": 1.0}), Phase(1.0)), "intervals": 1}, "3 values .* at the ends of its phases"),
    ],
)
def test_what_cannot_be_is_refused(machine, plugins, changes, message):
    def prepare():
        task = replace(OptimalTask(("force",), phases=(Phase(1.0),), end=END), **{"horizon": None, **changes})
        prepare_optimisation(machine, task, how=VM, plugins=plugins)

    with pytest.raises(MechanismError, match=message):
        prepare()


def test_what_a_phase_cannot_be():
    for given, message in [
        ({"horizon": 0.0}, "a phase: horizon from 0 to 0 s"),
        ({"horizon": 1.0, "keeps": "energy"}, "keeps: expected one of"),
        ({"horizon": 1.0, "intervals": -1}, "intervals = -1; at least one"),
    ]:
        with pytest.raises(MechanismError, match=message):
            Phase(**given)


def test_methods_that_take_no_phases_say_so(solved, machine, plugins):
    with pytest.raises(MechanismError, match="'hamiltonian' .* takes no phases"):
        solved(Phase(1.0), Phase(1.0), transcription="hamiltonian")
    how = replace(VM, formulation="directors", integrator="energy-momentum")
    task = OptimalTask(("force",), phases=(Phase(1.0), Phase(1.0, keeps="momenta")), end=END, intervals=4)
    with pytest.raises(MechanismError, match="keeps momenta, and the speeds of formulation 'directors' depend on each other"):
        optimise(machine, task, how=how, plugins=plugins)
