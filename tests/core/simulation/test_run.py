"""Runs that fail and inputs that do not fit."""

import dataclasses
import json

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Output, SolverError, simulate
from kingpost.testing.problems import pushed_mass


def test_a_run_that_explodes_says_when_and_where_and_keeps_what_it_had():
    spring = ForceElement("joint-spring", coordinate="rail.displacement", stiffness=-1e6)
    runaway = dataclasses.replace(pushed_mass(), forces=(spring,))
    for backend in ("c", "vm"):
        with pytest.raises(SolverError) as error:
            simulate(runaway, 10.0, step=0.1, backend=backend, settings={"rail.displacement": 1.0})
        message = str(error.value)
        history = error.value.history
        assert history is not None
        assert np.isfinite(history.values).all()
        # The square of the speed leaves the range of numbers before the speed does.
        stopped = history.time[-1] + 0.1
        assert f"'pushed-mass' with rk4: the state at t = {stopped:g} s is such that 'energy.kinetic' is inf; try" in message
        assert "rail.displacement.rate = " in message
        assert json.loads(json.dumps(dict(history.provenance), allow_nan=False))["outcome"] == "failed"


def test_a_state_that_leaves_the_numbers_stops_the_run_at_the_last_good_one(plugins):
    double_pendulum = plugins.models.get("double-pendulum")().build()
    for backend in ("c", "vm"):
        with pytest.raises(SolverError) as error:
            simulate(double_pendulum, 100.0, backend=backend, step=0.5)
        history = error.value.history
        assert history is not None
        assert f"the state after t = {history.time[-1]:g} s is not finite; try a step smaller than 0.5 s" in str(error.value)
        assert f"Last good state: shoulder.angle = {history['shoulder.angle'][-1]:.6g}" in str(error.value)


def test_a_quaternion_from_outside_that_is_zero_is_named():
    names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    machine = Mechanism(
        "carried",
        [Body("base", mass=1.0), Body("load", mass=1.0, com=(0, 0, -1))],
        [
            Joint("seat", "given", "world", "base", pose=[f"base_{name}" for name in names], twist=[0] * 6, twist_rate=[0] * 6),
            Joint("pivot", "revolute", "base", "load", axis=(0, 1, 0)),
        ],
        inputs=[Input(f"base_{name}", "1" if "q" in name else "m", float(name == "qw")) for name in names],
        outputs=[Output("tip", "load", at=(0, 0, -1))],
    )
    simulate(machine, 0.01, backend="vm")
    with pytest.raises(SolverError, match="the quaternion of 'base_qw', 'base_qx', 'base_qy', 'base_qz' is zero, which is no"):
        simulate(machine, 0.01, settings={"base_qw": 0.0}, backend="vm")


def test_an_input_of_the_wrong_length_or_not_finite_is_refused():
    with pytest.raises(Exception, match="input 'push' has 3 values, but the run has 101 output times"):
        simulate(pushed_mass(), 1.0, inputs={"push": np.zeros(3)})
    with pytest.raises(Exception, match="input 'push' is nan at t = 0.5 s"):
        simulate(pushed_mass(), 1.0, inputs={"push": lambda t: np.nan if t >= 0.5 else 0.0})
    with pytest.raises(Exception, match=r"has no input 'pusch'; did you mean 'push'\?"):
        simulate(pushed_mass(), 1.0, inputs={"pusch": 1.0})
