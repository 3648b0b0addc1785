"""Blocks of a program: made once, in machine code where that is worth it, and the same numbers either way."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import RunSettings, open_model, prepare_optimisation
from kingpost.control.optimal.blocks import worth_compiling
from kingpost.control.optimal.starts import guessed, lifted
from kingpost.control.optimal.transcribing import rule_of, transcribe
from kingpost.control.optimal.transcription import Grid
from kingpost.kernel.compiler import find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def prepared(plugins, backend, model="mathematical-pendulum"):
    opened = open_model(model, plugins)
    task = opened.optimal_task("001")
    return prepare_optimisation(opened.mechanism, task, how=RunSettings(backend=backend), plugins=plugins)


def program(ready, intervals):
    grid = Grid(intervals)
    return transcribe(ready.problem, rule_of(ready.problem, ready.transcription, grid), grid)


def test_what_is_solved_sooner_than_compiled_is_interpreted(plugins):
    few = program(prepared(plugins, "auto"), 20)
    assert (few.blocks.backend, few.blocks.note) == ("vm", "interpreter: to compile would take longer than to solve")
    # Some hundred operations: machine code saves 30 x 4 ns for each and interval, and a compiler takes 0.09 s and more.
    assert not worth_compiling(few.blocks, 200)
    assert worth_compiling(few.blocks, 100_000)
    assert program(prepared(plugins, "vm"), 100_000).blocks.note == "interpreter, as asked"


@needs_compiler
def test_machine_code_is_made_once_for_all_numbers_of_intervals_and_gives_the_same(plugins):
    ready = prepared(plugins, "c")
    first, second = (program(ready, N) for N in (3, 7))
    assert first.blocks is second.blocks
    assert first.blocks.backend == "c"
    interpreted = program(prepared(plugins, "vm"), 3)
    w = lifted(
        ready.problem, rule_of(ready.problem, ready.transcription, Grid(3)), first.layout, guessed(ready.problem, 3, "line")
    )
    x, lam = w / first.scales, np.linspace(-1.0, 1.0, first.rows)
    for name, more in (("gradient", ()), ("jacobian", ()), ("hessian", (1.0, lam))):
        results = [getattr(item.functions, name)(x, item.theta, *more) for item in (first, interpreted)]
        for ours, theirs in zip(*(item if isinstance(item, tuple) else (item,) for item in results), strict=True):
            assert np.asarray(ours.full()) == pytest.approx(np.asarray(theirs.full()), abs=1e-14)


def test_blocks_of_another_task_are_others(plugins):
    ready = prepared(plugins, "vm")
    before = program(ready, 3)
    other = replace(ready, problem=replace(ready.problem, task=replace(ready.problem.task, bounds={"torque": (-1.0, 1.0)})))
    assert program(other, 3).blocks is not before.blocks
    bounded = program(other, 3)
    assert bounded.layout.inputs_of(bounded.high).ravel().tolist() == [1.0, 1.0, 1.0]


def test_rows_of_the_jacobian_and_of_the_values_are_the_same(plugins):
    """The rows come with the Jacobian, so that they are not computed twice."""
    found = program(prepared(plugins, "vm"), 4)
    x = np.linspace(0.0, 1.0, found.layout.size)
    f, g = found.functions.nlp()["f"], found.functions.nlp()["g"]
    plain = ca.Function("plain", [found.functions.x, found.functions.theta], [f, g])
    cost, rows = plain(x, found.theta)
    assert np.asarray(found.functions.jacobian(x, found.theta)[0]) == pytest.approx(np.asarray(rows), abs=1e-15)
    assert float(found.functions.gradient(x, found.theta)[0]) == pytest.approx(float(cost), rel=1e-15)


def test_second_derivatives_are_taken_by_few_parts_of_a_step(plugins):
    """Places, speeds and changes in the middle of a step instead of all states at its ends: less than half the code."""
    blocks = program(prepared(plugins, "vm", "three-link-manipulator"), 4).blocks
    w, k, theta = blocks.value.sx_in()
    lam = ca.SX.sym("lam", blocks.rows)
    plain = ca.triu(ca.hessian(ca.dot(lam, blocks.value(w, k, theta)), w)[0])
    by_all = ca.Function("by_all", [w, k, theta, lam], ca.cse([plain]))
    assert blocks.curvature.n_instructions() < by_all.n_instructions() / 2
    rng = np.random.default_rng(0)
    at = [rng.normal(size=w.numel()), 1.0, rng.uniform(0.5, 1.5, theta.numel()), rng.normal(size=lam.numel())]
    places = blocks.curvature_pattern
    found = np.zeros(places.shape)
    found[places.row(), places.get_col()] = np.asarray(blocks.curvature(*at, 0.0)).ravel()
    theirs = by_all(*at).full()
    # Round-off: sums of some ten products of numbers near one, times inertias.
    assert found == pytest.approx(theirs, abs=1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("model", ["mathematical-pendulum", "three-link-manipulator"])
def test_blocks_that_cannot_be_straightened_are_the_same(plugins, monkeypatch, model):
    """As where a sparse system is solved inside of a step: nested functions instead of straight-line code."""
    straight = program(prepared(plugins, "vm", model), 3)
    monkeypatch.setattr("kingpost.control.optimal.blocks.expanded", lambda function: None)
    nested = program(prepared(plugins, "vm", model), 3)
    assert nested.blocks.slope.is_a("MXFunction")
    x, lam = np.linspace(-0.5, 1.0, nested.layout.size), np.linspace(-1.0, 1.0, nested.rows)
    for name, more in (("gradient", ()), ("jacobian", ()), ("hessian", (1.0, lam)), ("hamiltonian", (lam,))):
        results = [getattr(item.functions, name)(x, item.theta, *more) for item in (straight, nested)]
        for ours, theirs in zip(*(item if isinstance(item, tuple) else (item,) for item in results), strict=True):
            size = np.abs(theirs.full()).max(initial=1.0)
            # Round-off of some hundred operations.
            assert np.asarray(ours.full()) == pytest.approx(np.asarray(theirs.full()), abs=1e-12 * size)
