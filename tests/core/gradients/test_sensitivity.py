"""Gradients of runs against differences, and what is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest

import kingpost
from kingpost import KingpostError, RunSettings, SolverError, simulate
from kingpost.base.channels import Channel
from kingpost.fatigue import CountingOptions, HotSpot, SNCurve, assess_hot_spots
from kingpost.fatigue.sn import CurveSet
from kingpost.gradients.backward import adjoint_kernel, gone_back, with_trail
from kingpost.gradients.functional import read_functional
from kingpost.gradients.functions import adjoint_functions
from kingpost.gradients.readings import Record
from kingpost.gradients.sensitivity import ask, sensitivity
from kingpost.mechanism.load_request import LoadRequest
from kingpost.simulation.simulate import prepare

#: A start from which a crane leaves its plane.
ASKEW = {"hull.roll": 0.03, "slew.angle": 0.5, "slew.angle.rate": 0.2, "luff.angle": -0.4}
DIRECTORS = {"formulation": "directors", "integrator": "energy-momentum"}
#: A rope of steel: 3 cm more boom are a quarter of its stretch, so that differences are taken in smaller steps.
STIFF = {"part": 1e-5}
#: What is asked of gradients.
CLOSE = 1e-6


@pytest.fixture(scope="module")
def machine(plugins):
    return lambda name: plugins.models.get(name)().build()


@pytest.mark.parametrize(
    ("name", "of", "to", "t_end", "choices"),
    [
        # Everything that a run is made of, loads among what is looked at.
        ("vessel-crane", "max abs slew.My / 1000 + 50 * rms hull.roll", "*", 0.05, {"settings": ASKEW}),
        # Loops that are closed at the start, projected after each step, and speeds that follow.
        ("slider-crank", "end bore.displacement + max abs shaft.Fx / 1000", "*", 0.03, {}),
        # An implicit step for redundant coordinates.
        (
            "heavy-top",
            "end energy.kinetic",
            "height,radius,density,gravity,tilt",
            0.02,
            {"formulation": "directors", "integrator": "energy-momentum"},
        ),
        # Counted cycles of a load.
        ("double-pendulum", "equivalent elbow.Fx slope 4", "mass*,length*,*.angle", 0.3, {"step": 0.005, "output_step": 0.005}),
        # Integrators that remember something.
        ("double-pendulum", "mean elbow.angle", "mass1,length*,*.angle", 0.05, {"integrator": "bdf2"}),
        ("double-pendulum", "mean elbow.angle", "mass1,length*,*.angle", 0.05, {"integrator": "generalized-alpha"}),
        # Stages of which coordinates are no unknowns, and steps for motions of bodies and speeds of joints.
        ("double-pendulum", "mean elbow.angle", "mass1,length*,*.angle", 0.05, {"integrator": "radau2"}),
        (
            "heavy-top",
            "end energy.kinetic",
            "height,radius,density,gravity,tilt",
            0.02,
            {"formulation": "nullspace", "integrator": "generalized-alpha"},
        ),
    ],
)
def test_gradients_are_those_of_differences(machine, along_differences, name, of, to, t_end, choices):
    found, along, difference = along_differences(machine(name), of, to, t_end, backend="vm", **choices)
    assert along == pytest.approx(difference, rel=CLOSE)
    assert len(found.gradient) > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "of", "to", "t_end", "choices"),
    [
        ("vessel-crane", "end hull.roll", "m4,gravity,l4,luff_torque", 0.3, {"start": "equilibrium"}),
        (
            "offshore-crane-on-base",
            "rms luff.My / 1e6 + end load.y",
            "*_mass,boom_length,luff.angle,*_target,base_v*",
            0.1,
            STIFF,
        ),
        ("four-bar", "rms crank-pivot.Fx", "*", 0.2, DIRECTORS),
        ("four-bar", "rms crank-pivot.angle", "*", 0.2, {"integrator": "midpoint"}),
        ("knife-edge-disc", "end energy.kinetic", "radius,mass,share,gravity,lean,turn_rate", 0.1, {}),
        ("spherical-pendulum", "end energy.kinetic", "length,mass,gravity,angle,speed", 0.1, {"integrator": "variational"}),
    ],
)
def test_gradients_of_more_machines(machine, along_differences, name, of, to, t_end, choices):
    _, along, difference = along_differences(machine(name), of, to, t_end, backend="vm", **choices)
    assert along == pytest.approx(difference, rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "of", "to", "t_end", "part", "choices"),
    [
        ("vessel-crane", "rms slew.My / 1000 + end hull.roll", "*", 20.0, 1e-4, {"settings": ASKEW}),
        (
            "offshore-crane-on-base",
            "rms luff.My / 1e6 + end load.y",
            "*_mass,boom_length,luff.angle,*_target,base_v*",
            20.0,
            1e-5,
            {},
        ),
    ],
)
def test_gradients_over_long_times(machine, along_differences, name, of, to, t_end, part, choices):
    """What grows over a whole manoeuvre is compared with differences that are extrapolated to steps of no length."""
    found, along, difference = along_differences(machine(name), of, to, t_end, part=part, extrapolated=True, **choices)
    assert along == pytest.approx(difference, rel=CLOSE)
    assert len(found.gradient) > 5


@pytest.mark.slow
def test_the_damage_of_a_manoeuvre(machine, plugins):
    """Damage at a foot over 20 s against central differences: peaks go from sample to sample in larger steps than 1e-6."""
    curve = SNCurve("plain", m1=3.0, log10_a1=12.0)
    spot = HotSpot("foot", "plain", {"slew.Mx": 4e3, "slew.My": 2e3, "slew.Fz": 500.0})
    given = {"hot_spots": [spot], "curves": CurveSet({"plain": curve}, {}), "plugins": plugins}
    crane = machine("vessel-crane")
    found = sensitivity(crane, "damage foot", "m4,kP,slew.angle", 20.0, settings=ASKEW, **given)
    for name, slope in found.gradient.items():
        size = 1e-6 * found.at[name]
        values = [
            sensitivity(crane, "damage foot", name, 20.0, settings={**ASKEW, name: found.at[name] + part}, **given).value
            for part in (size, -size)
        ]
        assert slope == pytest.approx((values[0] - values[1]) / (2 * size), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "most"), [("rk4", 6.0), ("midpoint", 3.0)])
def test_the_way_back_costs_a_few_runs(machine, plugins, integrator, most):
    """Of a run of 20 s, for everything that can be varied; the loops over steps are compared, by processor time."""
    how = RunSettings(t_end=20.0, integrator=integrator, loads=("slew",)).selected(plugins)
    question = ask(machine("vessel-crane"), "end hull.roll", "*", None, None, how, plugins)
    run = with_trail(question.simulation)
    weights = np.zeros((run.grid.samples + 1, 1))
    weights[-1] = 1.0
    room = np.empty((run.grid.samples, len(run.equations.channels)))
    times = run.grid.substeps, run.grid.t_start, run.grid.step

    def march():
        run.kernel.march(room, *times, run.x0, run.rows.values, run.p, at_once=True, trail=run.trail)

    march()
    assert shortest(lambda: gone_back(run, question.adjoint, weights)) < most * shortest(march)


def shortest(task):
    """Return the least processor time of some tries in s."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        task()
        times.append(time.process_time() - begin)
    return min(times)


@pytest.fixture(scope="module")
def pendulum(machine, plugins):
    """A run in machine code that has left its trail, with the way back from its end."""
    simulation = prepare(machine("double-pendulum"), 0.5, plugins=plugins)
    weights = np.zeros((simulation.grid.samples + 1, 1))
    weights[[10, -1], 0] = 0.3, 1.0
    return simulation, weights, made_adjoint(simulation)


def made_adjoint(simulation):
    return adjoint_kernel(simulation, adjoint_functions(simulation.problem.stepper, [1]))


def back(simulation, weights, kernel, room=2**20):
    run = with_trail(simulation, room)
    run.run()
    found = gone_back(run, kernel, weights)
    return np.concatenate([found.by_start, found.by_parameters, found.by_rows.ravel()])


def test_a_long_run_keeps_some_states_and_finds_the_others_once_more(pendulum):
    simulation, weights, kernel = pendulum
    assert with_trail(simulation, 1000).trail.every == 23  # of 500 steps
    assert (back(simulation, weights, kernel, 1000) == back(simulation, weights, kernel)).all()


def test_the_interpreter_goes_the_same_way_back(pendulum, machine, plugins):
    simulation, weights, kernel = pendulum
    slow = prepare(machine("double-pendulum"), 0.5, plugins=plugins, backend="vm")
    found = back(slow, weights, made_adjoint(slow))
    np.testing.assert_allclose(found, back(simulation, weights, kernel), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("choices", [{}, {"integrator": "midpoint"}, {"integrator": "bdf2"}])
def test_tangents_of_few_names_are_what_the_way_back_gives(machine, plugins, monkeypatch, choices):
    """Both differentiate the same steps, so that they agree to the rounding of sums over the run."""
    monkeypatch.setattr("kingpost.gradients.sensitivity.cheaper_forward", lambda *given: True)
    arm, of = machine("double-pendulum"), "rms elbow.Fx + max abs elbow.angle + shoulder.angle at 0.02"
    given = {"t_end": 0.05, "step": 0.005, "output_step": 0.01, "backend": "vm", "plugins": plugins, **choices}
    few = sensitivity(arm, of, "mass2,elbow.angle", **given)
    monkeypatch.setattr("kingpost.gradients.sensitivity.cheaper_forward", lambda *given: False)
    back = sensitivity(arm, of, "mass2,elbow.angle", **given)
    assert (few.way, back.way) == ("tangents", "adjoint")
    assert few.value == back.value
    assert few.gradient == pytest.approx(back.gradient, rel=1e-10)
    assert few.record()["way"] == "tangents"
    assert sensitivity(arm, of, "mass*,elbow.angle", **given).way == "adjoint"


def test_the_way_is_chosen_by_what_it_takes(machine, plugins, monkeypatch):
    """The times of an evaluation decide, whatever they are."""
    how = RunSettings(t_end=0.02, backend="vm").selected(plugins)
    for seconds, way in ((iter([1.0, 2.0]), "tangents"), (iter([2.0, 1.0]), "adjoint")):
        monkeypatch.setattr("kingpost.gradients.forward._seconds", lambda *given, times=seconds: next(times))
        assert ask(machine("double-pendulum"), "elbow.angle", "mass2", None, None, how, plugins).way == way


def test_a_gradient_that_is_known_in_closed_form():
    """Under a constant force a mass has the speed F t / m, in every Runge-Kutta method: d/dF, d/dm and d/dv0 are known."""
    mechanism = kingpost.Mechanism(
        name="mass",
        parameters=(kingpost.Parameter("m", 2.0, "kg"),),
        inputs=(kingpost.Input("force", "N"),),
        bodies=(kingpost.Body("block", mass=kingpost.Expression("m")),),
        joints=(kingpost.Joint("rail", "prismatic", parent="world", child="block", axis=(1.0, 0.0, 0.0)),),
        forces=(kingpost.ForceElement("joint-effort", coordinate="rail.displacement", effort="force"),),
    )
    found = sensitivity(
        mechanism, "end rail.displacement.rate", "m,force,rail.displacement.rate", 1.0, settings={"force": 3.0}, backend="vm",
        step=0.1,
    )  # fmt: skip
    assert found.value == pytest.approx(1.5, rel=1e-12)
    expected = {"m": -0.75, "force": 0.5, "rail.displacement.rate": 1.0}
    assert found.gradient == pytest.approx(expected, rel=1e-12)
    assert found.elasticity["m"] == pytest.approx(-1.0)
    assert found.record()["gradient"] == found.gradient


def test_inputs_that_move(machine, plugins):
    pendulum = machine("slider-pendulum")
    (force,) = [item.name for item in pendulum.inputs][:1]
    parameter = pendulum.parameters[0].name
    given = {"t_end": 0.05, "backend": "vm", "plugins": plugins}
    with pytest.raises(KingpostError, match=f"input '{force}' moves during the run"):
        sensitivity(pendulum, "energy.total", force, inputs={force: kingpost.Moving(lambda t: t, "linear")}, **given)
    ramp = {"kind": "rest-to-rest", "start": 0.0, "end": parameter, "t_start": 0.0, "t_end": 0.05}
    with pytest.raises(KingpostError, match="made with .* before the run began"):
        sensitivity(pendulum, "energy.total", parameter, inputs={force: ramp}, **given)


@pytest.mark.parametrize("integrator", ["rk4", "bdf2"])
def test_every_value_of_an_input_with_stairs(machine, plugins, integrator):
    """An array at output times, and samples with "hold", against differences of fourth order in all values at once."""
    pendulum = machine("slider-pendulum")
    (force,) = [item.name for item in pendulum.inputs][:1]
    how = {"t_end": 0.05, "step": 0.005, "output_step": 0.01, "backend": "vm", "plugins": plugins, "integrator": integrator}
    of = "rms energy.kinetic + max abs energy.total"
    values, along = np.array([300.0, -100.0, 200.0, 50.0, -250.0, 70.0]), np.array([1.0, -0.4, 0.7, 1.2, 0.3, -0.9])
    times = np.arange(6) * 0.01

    def signal(changed, samples):
        columns = kingpost.History(times, (Channel(force, "N"),), changed[:, None], {})
        return {force: kingpost.Moving(columns, "hold") if samples else changed}

    def value(part):
        history = simulate(pendulum, inputs=signal(values + part * along, False), **how)
        return read_functional(of).read(Record(history.time, {name: history[name] for name in history.names})).value

    slope = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / 12
    found = [sensitivity(pendulum, of, force, inputs=signal(values, samples), **how) for samples in (False, True)]
    for item in found:
        course = item.courses[force]
        assert course.time == pytest.approx(times)
        assert course.values == pytest.approx(values)
        assert course.gradient @ along == pytest.approx(slope, rel=CLOSE)
        assert (course.gradient[:-1] != 0.0).all()
        assert item.record()["courses"][force]["gradient"] == course.gradient.tolist()
    assert found[0].courses[force].gradient == pytest.approx(found[1].courses[force].gradient, rel=1e-12, abs=1e-15)


def test_hot_spots_with_axes_of_their_own(machine, plugins):
    """The run gives the load in these axes; an assessment turns it there after a run, and a value of both is the same."""
    turned = LoadRequest.parse("elbow:frame=world,side=parent,at=0/0/0.1")
    spot = HotSpot("pin", "plain", {"elbow.Fx": 4e5, "elbow.My": 2e6}, loads={"elbow": turned})
    curves = CurveSet({"plain": SNCurve("plain", m1=3.0, log10_a1=12.0)}, {})
    how = {"t_end": 0.4, "step": 0.004, "output_step": 0.004, "backend": "vm", "plugins": plugins}
    given = {"hot_spots": [spot], "curves": curves, **how}
    arm = machine("double-pendulum")
    found = sensitivity(arm, "damage pin", "mass2,elbow.angle", **given)
    accepted = CountingOptions(accept=("residual", "noise", "step"))
    (assessed,) = assess_hot_spots(simulate(arm, loads="all", **how), [spot], curves, accepted).results
    assert found.value == pytest.approx(assessed.damage, rel=1e-9)
    moved = []
    for size in (1e-5, -1e-5):
        history = simulate(arm, loads="all", settings={name: at + size for name, at in found.at.items()}, **how)
        moved.append(assess_hot_spots(history, [spot], curves, accepted).results[0].damage)
    assert sum(found.gradient.values()) == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-5)
    with pytest.raises(KingpostError, match="the load of 'elbow' is wanted in two ways at once"):
        sensitivity(arm, "damage pin + max elbow.Fx", "mass2", **given)
    with pytest.raises(KingpostError, match="is asked for as 'elbow:frame=parent"):
        sensitivity(arm, "damage pin", "mass2", loads=("elbow:frame=parent",), **given)


@pytest.fixture(scope="module")
def crane(machine):
    return machine("double-pendulum")


@pytest.mark.parametrize(
    ("of", "to", "choices", "words"),
    [
        ("max elbow.angel", "mass1", {}, "no channel 'elbow.angel'; did you mean 'elbow.angle'"),
        ("elbow.angle at 9", "mass1", {}, "the run goes from 0 s to 0.05 s, and 9 s is outside"),
        ("elbow.angle", "mas1", {}, "nothing called 'mas1' to take a gradient with respect to; did you mean 'mass1'"),
        ("elbow.angle", " , ", {}, "nothing is named"),
        ("elbow.angle", "zz*", {}, "nothing called 'zz*'"),
        ("damage foot", "mass1", {}, "no hot spots are given"),
        ("elbow.angle", "mass1", {"integrator": "dop853"}, "'dop853' chooses its own steps"),
        ("elbow.angle", "mass1", {"monitors": True}, "monitors, verify and check_step are for runs"),
    ],
)
def test_what_is_refused_before_a_run(crane, plugins, of, to, choices, words):
    with pytest.raises(KingpostError) as refusal:
        sensitivity(crane, of, to, 0.05, backend="vm", plugins=plugins, **choices)
    assert words in str(refusal.value)


def test_speeds_that_follow_from_others_are_not_varied_alone(machine, plugins):
    crank = machine("slider-crank")
    with pytest.raises(KingpostError, match="'crank-pin.angle.rate' follows from the others"):
        sensitivity(crank, "energy.total", "crank-pin.angle.rate", 0.01, backend="vm", plugins=plugins)


def test_a_start_beside_which_more_is_held(machine, plugins):
    """A disc that rolls along x: turned a little, what it does across decides about its lean, by terms of second order."""
    with pytest.raises(KingpostError, match="held by fewer constraints there than beside it, along 'attitude.yaw'"):
        sensitivity(machine("knife-edge-disc"), "energy.kinetic", "attitude.yaw", 0.002, backend="vm", plugins=plugins)


def test_a_run_that_fails_says_so_as_a_run_does(crane, plugins):
    choices = {"settings": {"elbow.angle.rate": 1e200}, "backend": "vm", "plugins": plugins}
    with pytest.raises(SolverError) as failed:
        sensitivity(crane, "elbow.angle", "mass1", 0.05, **choices)
    with pytest.raises(SolverError) as plain:
        simulate(crane, 0.05, loads="all", **choices)
    assert str(failed.value) == str(plain.value)


def test_a_question_is_asked_at_other_numbers_without_deriving_anything(machine, plugins):
    """The same number and gradient, to round-off, as of a question that is made for these numbers."""
    given = {"settings": {"elbow.angle": 0.4}, "step": 0.01, "backend": "vm", "plugins": plugins}
    pendulum = machine("double-pendulum")
    first = kingpost.prepare_sensitivity(pendulum, "max abs elbow.Fx", "mass2,length1", 0.2, loads=["elbow"], **given)
    moved = {"mass2": 2.5, "length1": 0.8, "elbow.angle": 0.6}
    there = first.at(moved).answer()
    anew = sensitivity(pendulum, "max abs elbow.Fx", "mass2,length1", 0.2, loads=["elbow"], **{**given, "settings": moved})
    assert there.value == pytest.approx(anew.value, rel=1e-13)
    assert there.gradient == pytest.approx(dict(anew.gradient), rel=1e-11)
    assert there.at == anew.at
    assert first.answer().value != there.value


def test_loops_and_inputs_are_asked_anew(machine, plugins):
    bar = kingpost.prepare_sensitivity(
        machine("four-bar"), "end energy.kinetic", "crank_mass", 0.02, backend="vm", plugins=plugins
    )
    with pytest.raises(KingpostError, match="its loops, or inputs that move, were made for the old ones; ask anew"):
        bar.at({"crank_mass": 2.0})
    arm = kingpost.prepare_sensitivity(
        machine("mathematical-pendulum"), "end pivot.angle", "mass", 0.02, backend="vm", plugins=plugins
    )
    with pytest.raises(KingpostError, match="torque is an input; ask anew"):
        arm.at({"torque": 2.0})
