"""The same run with other numbers is the run that would be prepared with them, and nothing is compiled for it."""

import numpy as np
import pytest

from kingpost import MechanismError, SolverError, prepare
from kingpost.kernel import kernel as kernel_module
from kingpost.testing.problems import pushed_mass
from tests.core.studies.test_batch import four_bar

SHORT = {"backend": "vm", "step": 0.01, "output_step": 0.02}


def same(one, other):
    assert np.array_equal(one.values, other.values)
    assert one.channels == other.channels
    for key in ("parameters", "start", "fitted_start", "inputs", "redundant_closures"):
        assert one.provenance.get(key) == other.provenance.get(key)


def test_the_numbers_are_those_of_a_run_that_is_prepared_with_them(plugins):
    crane = plugins.models.get("vessel-crane")().build()
    first = prepare(crane, 0.1, settings={"m4": 50.0, "hull.pitch": 0.01}, loads="all", plugins=plugins, **SHORT)
    for settings in ({}, {"m4": 20.0, "slew_torque": 5.0, "hull.pitch": 0.002, "luff.angle.rate": 0.1}):
        own = prepare(crane, 0.1, settings=settings, loads="all", plugins=plugins, **SHORT)
        same(first.at(settings).run(), own.run())
        same(first.at({"m4": 1.0}).at(settings).run(), own.run())  # what is not named is the machine's


def test_nothing_is_compiled(plugins, monkeypatch):
    calls = []
    monkeypatch.setattr(kernel_module, "build_cached", lambda *words: calls.append(words))
    monkeypatch.setattr(kernel_module.Kernel, "_source", lambda self: calls.append(self))
    monkeypatch.setattr("kingpost.simulation.problem.derive", lambda *words: calls.append(words))
    with pytest.raises(AttributeError):  # the counter counts
        prepare(pushed_mass(), 0.1, plugins=plugins)
    assert calls
    monkeypatch.undo()
    crane = plugins.models.get("vessel-crane")().build()
    first = prepare(crane, 0.1, plugins=plugins, step=0.01)
    monkeypatch.setattr(kernel_module, "build_cached", lambda *words: calls.append(words))
    monkeypatch.setattr(kernel_module.Kernel, "_source", lambda self: calls.append(self))
    monkeypatch.setattr("kingpost.simulation.problem.derive", lambda *words: calls.append(words))
    del calls[:]
    runs = [first.at({"m4": 10.0 + k}).run() for k in range(3)]
    assert calls == []
    assert len({float(run.values[-1].sum()) for run in runs}) == 3


@pytest.mark.parametrize("kind", ["point-on-line", "revolute"])
def test_loops_are_closed_anew(plugins, kind):
    machine = four_bar(plugins, kind)
    first = prepare(machine, 0.04, plugins=plugins, **SHORT)
    settings = {"rocker_length": 2.505, "crank-pivot.angle.rate": 1.0}
    other = first.at(settings)
    assert other.fitted
    same(other.run(), prepare(machine, 0.04, settings=settings, plugins=plugins, **SHORT).run())
    if kind == "revolute":
        with pytest.raises(MechanismError, match="closure 'rocker-pin' cannot be closed"):
            first.at({"offset": 0.1})


def test_an_equilibrium_is_found_anew(plugins):
    machine = four_bar(plugins, "point-on-line")
    first = prepare(machine, 0.04, plugins=plugins, start="equilibrium", **SHORT)
    settings = {"coupler_mass": 30.0}
    own = prepare(machine, 0.04, settings=settings, plugins=plugins, start="equilibrium", **SHORT)
    other = first.at(settings)
    assert np.array_equal(other.x0, own.x0)
    assert not np.allclose(other.x0, first.x0)


def test_numbers_that_make_no_machine_are_refused(plugins):
    crane = plugins.models.get("vessel-crane")().build()
    first = prepare(crane, 0.1, plugins=plugins, **SHORT)
    for settings, kind, message in [
        ({"m44": 1.0}, MechanismError, "has nothing called 'm44' that could be set; did you mean 'm4'"),
        ({"m4": float("nan")}, MechanismError, "'m4' was set to nan; it must be finite"),
        ({"m4": -1.0}, MechanismError, "m4"),
        ({f"m{k}": 0.0 for k in (2, 3, 4)}, MechanismError, "the mass matrix is singular at the start"),
        ({"hull.pitch": np.pi / 2}, SolverError, "is about to lock"),
    ]:
        with pytest.raises(kind, match=message):
            first.at(settings)


MOVES = {
    "function": lambda t: 3.0 * t,
    "trajectory": {"kind": "rest-to-rest", "start": 0.0, "end": "amplitude", "t_start": 0.02, "t_end": 0.07},
    "formula": {"kind": "constant", "level": "amplitude * t"},
}


@pytest.mark.parametrize("inputs", MOVES.values(), ids=MOVES)
def test_inputs_that_move_are_made_anew_of_the_parameters(plugins, inputs):
    machine, settings = pushed_mass(), {"amplitude": 5.0, "rail.displacement": 0.1}
    words = {"inputs": {"push": inputs}, "plugins": plugins, **SHORT}
    own = prepare(machine, 0.1, settings=settings, **words)
    same(prepare(machine, 0.1, **words).at(settings).run(), own.run())


def test_an_input_that_moves_in_more_pieces_is_refused(plugins):
    """The code was made for rows with as many pieces as there were: the move begins and ends on steps, then inside of them."""
    move = {"kind": "rest-to-rest", "start": 0.0, "end": 1.0, "t_start": "0.02 * amplitude", "t_end": 0.09}
    first = prepare(pushed_mass(), 0.1, inputs={"push": move}, plugins=plugins, settings={"amplitude": 2.0}, **SHORT)
    with pytest.raises(SolverError, match="input 'push' moves in more pieces with these numbers, .* prepare a run of its own"):
        first.at({"amplitude": 2.35})
