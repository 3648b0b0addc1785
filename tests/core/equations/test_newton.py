"""Newton's method inside implicit steps: halved steps, failures that are seen, and iterations that are counted."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, MechanismError, SolverError, StepMap, prepare, simulate
from kingpost.equations.newton import NewtonOptions
from kingpost.kernel.compiler import find_compiler

#: With one iteration, steps of 25 ms leave a residual of 2e-9 to 3e-8 and fail; half steps leave at most 5e-10 and do not.
H = 0.025
METHODS = ("midpoint", "bdf2", "generalized-alpha")


def pendulum(angle=2.0, rate=0.1):
    return Mechanism(
        name="pendulum",
        bodies=(Body("bob", mass=2.0, com=(0, 0, -1.0)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=angle, start_rate=rate),),
        forces=(ForceElement("gravity", acceleration=(0, 0, -9.81)),),
    )


def end(plugins, integrator, t_end, step, angle=2.0, rate=0.1, backend="vm", output_step=None):
    history = simulate(
        pendulum(angle, rate), t_end, integrator=integrator, step=step, output_step=output_step or t_end, backend=backend,
        plugins=plugins,
    )  # fmt: skip
    return np.array([history["pivot.angle"][-1], history["pivot.angle.rate"][-1]])


@pytest.mark.parametrize("method", METHODS)
def test_a_step_that_fails_is_taken_as_two_half_steps(method, plugins):
    """Each of the four steps fails, so that the run is one of half steps, which a method with a memory begins anew for."""
    with pytest.raises(SolverError, match=rf"let such steps be halved \({method}:halvings=4\)"):
        end(plugins, f"{method}:iterations=1", H, H)
    state = np.array([2.0, 0.1])
    for _ in range(4):
        state = end(plugins, f"{method}:iterations=1", H, H / 2, *state)
    found = end(plugins, f"{method}:iterations=1,halvings=1", 4 * H, H)
    # Solutions are accepted with an error of 1e-9 at most in each half step.
    assert np.abs(found - state).max() < 1e-8
    assert np.abs(end(plugins, method, 4 * H, H) - state).max() > 1e-6


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_halvings_work_in_machine_code(plugins):
    compiled = end(plugins, "midpoint:iterations=1,halvings=3", 1.0, 0.1, backend="c")
    assert compiled == pytest.approx(end(plugins, "midpoint:iterations=1,halvings=3", 1.0, 0.1), rel=1e-12)
    reference = end(plugins, "rk4", 1.0, 0.001)
    # One halving of every step takes an error of second order down to a quarter; here most are halved once or more.
    assert np.abs(compiled - reference).max() < np.abs(end(plugins, "midpoint", 1.0, 0.1) - reference).max() / 4


def test_steps_that_succeed_are_not_touched(plugins):
    assert (end(plugins, "midpoint:halvings=5", 1.0, 0.1) == end(plugins, "midpoint", 1.0, 0.1)).all()


def test_code_grows_with_the_number_of_halvings_alone(plugins):
    def size(halvings):
        simulation = prepare(pendulum(), 1.0, integrator=f"bdf2:halvings={halvings}", backend="vm", plugins=plugins)
        return len(simulation.kernel._source())

    assert size(12) - size(8) == pytest.approx(size(8) - size(4), rel=0.05)
    assert size(12) < 3 * size(1)


def test_a_failure_of_the_shortest_steps_tells_of_the_halvings(plugins):
    with pytest.raises(SolverError) as caught:
        end(plugins, "midpoint:iterations=1,halvings=2", 0.8, 0.4, output_step=0.4)
    message = str(caught.value)
    assert (
        "the state after t = 0 s is not found: Newton's method did not solve the equations of the step in 1 iterations"
        in message
    )
    assert "nor when it was halved 2 times, to 0.1 s from t = 0 s (largest scaled residual" in message
    assert "the worst is the balance of 'pivot.angle.rate'" in message
    assert "let such steps be halved" not in message


def test_halvings_that_make_no_sense_are_refused():
    for number in (-1, 13):
        with pytest.raises(MechanismError, match=f"halvings = {number}: a step can be halved 0 to 12 times"):
            NewtonOptions(halvings=number)


class Impossible(StepMap):
    """Asks, by a rootfinder of its own, for a number whose square is -1."""

    name = "impossible"
    order = 1

    def step(self, equations, t, x, u, p, h):
        new, old, length = ca.MX.sym("new", x.numel()), ca.MX.sym("old", x.numel()), ca.MX.sym("h")
        residual = ca.Function("residual", [new, old, length], [new**2 + 1 + 0 * old + length])
        return ca.rootfinder("newton", "fast_newton", residual, {"max_iter": 5})(x + 0.3, x, h)


@pytest.mark.parametrize(
    "backend", [pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")), "vm"]
)
def test_the_own_newton_of_a_step_map_does_not_go_on_after_it_failed(backend, plugins):
    with pytest.raises(SolverError, match="the state after t = 0 s is not found by the step's own solver") as caught:
        end(plugins, Impossible, 1.0, 0.1, backend=backend)
    assert len(caught.value.history.time) == 1
