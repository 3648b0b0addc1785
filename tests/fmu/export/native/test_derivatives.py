"""Directional derivatives of native FMUs, against differences of their own values; and what is said to depend on what."""

import ctypes

import fmpy
import numpy as np
import pytest

from tests.fmu.hosting import Hosted
from tests.fmu.machines import follower, rig, tumbling

STEP = 1e-5


def central(fmu, evaluate, names, places):
    """Return the Jacobian of ``evaluate()`` with respect to some variables, by central differences about ``places``."""
    columns = []
    for name in names:
        values = []
        h = STEP * max(1.0, abs(places[name]))
        for sign in (1, -1):
            fmu.set({name: places[name] + sign * h})
            values.append(evaluate())
        fmu.set({name: places[name]})
        columns.append((values[0] - values[1]) / (2 * h))
    return np.array(columns).T


def agree(ours, theirs, scale):
    """Compare Jacobians.

    With h = 1e-5, central differences are wrong by h^2 f''' / 6 = 2e-11 f''' and by some eps f / h = 2e-11 f, where f stands
    for the largest of all values; third derivatives by quantities of order one are at most some thousand times f.
    """
    assert np.abs(ours - theirs).max() < 2e-7 * scale


def tangents(fmu, unknowns, knowns):
    return np.array([fmu.derivative(unknowns, [name], [1.0]) for name in knowns]).T


@pytest.mark.quick("rig-2", "vessel-crane-3")
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", ["rig", "vessel-crane", "spacecraft-arm"])
def test_outputs_by_inputs_and_parameters(name, fmi, native, machine):
    mechanism = rig() if name == "rig" else machine(name)
    # Exactly the FMU of test_native.py, so that it is built once.
    step = 5e-3 if name == "spacecraft-arm" else 1e-3
    with Hosted(native(mechanism, fmi=fmi, step=step, loads="all")) as fmu:
        fmu.initialize()
        fmu.steps(30, 10 * step)
        variables = fmu.description.modelVariables
        inputs = [variable.name for variable in variables if variable.causality == "input"]
        parameters = [variable.name for variable in variables if variable.causality == "parameter"]
        places = {variable: float(fmu.get(variable)) for variable in inputs + parameters}
        for knowns in (inputs, parameters):
            numeric = central(fmu, lambda: fmu.get(fmu.outputs), knowns, places)
            exact = tangents(fmu, fmu.outputs, knowns)
            agree(exact, numeric, np.abs(fmu.get(fmu.outputs)).max())
            assert np.abs(exact).max() > 0
        # Linear in the seed, whatever its direction.
        seed = np.linspace(-1, 2, len(inputs))
        assert fmu.derivative(fmu.outputs, inputs, seed) == pytest.approx(
            tangents(fmu, fmu.outputs, inputs) @ seed, rel=1e-9, abs=1e-12
        )


@pytest.mark.quick("tumbling-3", "double-pendulum-2")
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", ["double-pendulum", "tumbling"])
def test_state_derivatives_and_outputs_by_states_inputs_and_time(name, fmi, native, machine):
    mechanism = tumbling() if name == "tumbling" else machine(name)
    path = native(mechanism, fmi=fmi, fmu="me", outputs=["*"]) if name != "tumbling" else native(mechanism, fmi=fmi, fmu="me")
    with Hosted(path) as fmu:
        states = [variable.name for variable in fmu.description.modelVariables if f"der({variable.name})" in fmu.references]
        unknowns = [f"der({state})" for state in states] + fmu.outputs
        rng = np.random.default_rng(4)
        fmu.initialize()
        x = rng.normal(size=len(states))
        if name == "tumbling":
            x[3:7] /= np.linalg.norm(x[3:7])

        def at(state):
            array = (ctypes.c_double * len(states))(*state)
            fmu.raw.setContinuousStates(array, len(states))
            return fmu.get(unknowns)

        numeric = np.array([(at(x + STEP * e) - at(x - STEP * e)) / (2 * STEP) for e in np.eye(len(states))]).T
        at(x)
        agree(tangents(fmu, unknowns, states), numeric, max(1.0, np.abs(fmu.get(unknowns)).max()))
        # A state changes by what it is changed by.
        assert np.array_equal(tangents(fmu, states, states), np.eye(len(states)))
        assert not tangents(fmu, unknowns, ["time"]).any()


@pytest.mark.quick("3")
@pytest.mark.parametrize("fmi", [2, 3])
def test_set_points_make_a_model_depend_on_time(fmi, native):
    with Hosted(native(follower("cubic"), fmi=fmi, fmu="me")) as fmu:
        fmu.initialize()
        unknowns = ["der(pivot.angle)", "der(pivot.angle.rate)"]

        def at(t):
            fmu.raw.setTime(t)
            return fmu.get(unknowns)

        numeric = (at(0.73 + STEP) - at(0.73 - STEP)) / (2 * STEP)
        at(0.73)
        exact = fmu.derivative(unknowns, ["time"], [1.0])
        assert exact == pytest.approx(numeric, rel=1e-6, abs=1e-6)
        assert abs(exact[1]) > 1.0
        structure = {unknown.variable.name: unknown for unknown in fmu.description.derivatives}
        assert [known.name for known in structure["der(pivot.angle)"].dependencies] == ["pivot.angle.rate"]
        # The time is no variable of FMI 2 files, so that nothing can be said to depend on it there.
        expected = {"torque", "pivot.angle", "pivot.angle.rate"} | ({"time"} if fmi == 3 else set())
        assert {known.name for known in structure["der(pivot.angle.rate)"].dependencies} == expected


@pytest.mark.parametrize("fmi", [2, 3])
def test_parameters_act_through_start_values_during_the_initialization(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.begin()
        places = {"tilt": 0.3, "length": 1.0}
        numeric = central(fmu, lambda: fmu.get(["pivot.angle", "tip.x", "tip.z"]), places, places)
        exact = tangents(fmu, ["pivot.angle", "tip.x", "tip.z"], places)
        assert exact == pytest.approx(numeric, abs=1e-8)
        assert exact[0, 0] == 2.0
        fmu.set({"pivot.angle": 0.6})  # no longer a formula
        assert fmu.derivative(["pivot.angle", "tip.x"], ["tilt"], [1.0]) == pytest.approx([0.0, 0.0])
        fmu.raw.exitInitializationMode()
        assert fmu.derivative(["pivot.angle"], ["tilt"], [1.0]) == pytest.approx([0.0])


@pytest.mark.parametrize("fmi", [2, 3])
def test_derivatives_that_do_not_exist_are_refused(fmi, native):
    with Hosted(native(rig(), fmi=fmi)) as fmu:
        fmu.initialize()
        with pytest.raises(Exception, match="failed with status 3"):
            fmu.derivative(["pivot.angle"], ["tip.x"], [1.0])
        assert fmu.said.startswith("no derivative with respect to value reference")
        with pytest.raises(Exception, match="failed with status 3"):
            fmu.derivative(["torque"], ["length"], [1.0])
        assert fmu.said == f"value reference {fmu.references['torque']} is no output, state or derivative"


@pytest.mark.parametrize(("name", "kind"), [("vessel-crane", "cs"), ("spacecraft-arm", "cs"), ("double-pendulum", "me")])
def test_nothing_depends_on_more_than_the_description_says(name, kind, native, machine):
    """Exact derivatives at several states show every dependency there is; the description must list it."""
    step = 5e-3 if name == "spacecraft-arm" else 1e-3
    options = {"outputs": ["*"]} if kind == "me" else {"step": step, "loads": "all"}
    path = native(machine(name), fmu=kind, **options)
    description = fmpy.read_model_description(str(path))
    lists = {"outputs": description.outputs, "derivatives": description.derivatives}
    variables = description.modelVariables
    states = {str(variable.derivative.name) for variable in variables if variable.derivative is not None}
    knowns = [variable.name for variable in variables if variable.causality == "input" or variable.name in states]
    counted = 0
    with Hosted(path) as fmu:
        fmu.initialize()
        if kind == "cs":
            fmu.steps(20, 10 * step)
        for unknowns in lists.values():
            for unknown in unknowns:
                listed = {known.name for known in unknown.dependencies}
                assert listed <= set(knowns)
                for known in knowns:
                    if fmu.derivative([unknown.variable.name], [known], [1.0])[0] != 0:
                        assert known in listed, f"{unknown.variable.name} depends on {known}"
                        counted += 1
                if kind == "cs" and unknown.variable.name.endswith((".angle", ".rate", ".qw", ".vx")):
                    assert listed == set()
    assert counted > 10
