"""States of forces: every formulation carries them, every integrator advances them, and statics knows them; by closed forms."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from kingpost import (
    Body,
    Force,
    ForceElement,
    ForceState,
    Input,
    Joint,
    Loads,
    Mechanism,
    Parameter,
    PluginError,
    PluginSet,
    StepMap,
    equilibrium,
    linearize,
    simulate,
    simulate_batch,
)
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar

PLUGINS = PluginSet(entry_points=False)
MASS, PUSH, LAG = 2.0, 3.0, 0.3
FORMULATIONS = [name for name in PLUGINS.formulations if name != "quaternions"]
STEP_MAPS = [cls for cls, _ in PLUGINS.integrators.entries() if issubclass(cls, StepMap) and "quaternion" not in cls.name]
SOLVERS = [cls.name for cls, _ in PLUGINS.integrators.entries() if not issubclass(cls, StepMap)]


def cart(**actuator):
    """A mass on a rail, pushed by an actuator whose effort follows with a lag."""
    drive = {"coordinate": "rail.displacement", "stiffness": 0.0, "damping": 0.0, "effort": "push", "time_constant": "lag"}
    return Mechanism(
        "cart",
        bodies=[Body("cart", mass="mass", inertia=(1, 1, 1))],
        joints=[Joint("rail", "prismatic", "world", "cart", axis=(1, 0, 0))],
        forces=[ForceElement("joint-actuator", name="drive", **(drive | actuator))],
        parameters=[Parameter("mass", MASS, "kg"), Parameter("push", PUSH, "N"), Parameter("lag", LAG, "s")],
        inputs=[Input("command", "N")],
    )


def solution(t, push=PUSH, lag=LAG, mass=MASS):
    """Return displacement, speed and effort: e = F (1 - exp(-t/T)) and its integrals over the mass."""
    decay = np.exp(-t / lag)
    moved = push / mass * (t**2 / 2 - lag * t + lag**2 * (1 - decay))
    return np.array([moved, push / mass * (t - lag * (1 - decay)), push * (1 - decay)])


def end(t_end=0.6, mechanism=None, **arguments):
    history = simulate(mechanism or cart(), t_end, output_step=t_end, plugins=PLUGINS, backend="vm", **arguments)
    return np.array([history[name][-1] for name in ("rail.displacement", "rail.displacement.rate", "drive.effort")])


@pytest.mark.parametrize("integrator", STEP_MAPS, ids=lambda cls: cls.name)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_step_maps_advance_them_with_their_order(formulation, integrator):
    if (formulation, integrator.name) == ("nullspace", "variational"):
        pytest.skip("needs speeds that are rates of coordinates")
    errors = [np.abs(end(formulation=formulation, integrator=integrator, step=h) - solution(0.6)) for h in (0.02, 0.01)]
    # With h/T = 1/15 and 1/30 the next order is that much smaller: the order is found to within 0.1.
    assert np.log2(errors[0] / errors[1]) == pytest.approx(integrator.order, abs=0.1)
    # Of the leading term of a one-step method for e' = -e/T over t = 2 T: (t/T) (h/T)^order, with constants below one.
    assert (errors[1] < 2 * PUSH * (0.01 / LAG) ** integrator.order).all()


@pytest.mark.parametrize("integrator", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_solvers_advance_them_within_their_tolerance(formulation, integrator):
    np.testing.assert_allclose(end(formulation=formulation, integrator=integrator), solution(0.6), rtol=1e-7)


@pytest.mark.parametrize("integrator", ["bdf2", "generalized-alpha"])
def test_methods_that_remember_keep_their_order_where_an_input_jumps(integrator):
    """An effort that jumps at 0.3 s: two solutions, one after the other."""

    def error(h):
        history = simulate(
            cart(effort="command"), 0.6, inputs={"command": lambda t: 0.0 if t < 0.3 - 1e-9 else PUSH}, output_step=0.3,
            step=h, integrator=integrator, plugins=PLUGINS, backend="vm",
        )  # fmt: skip
        return abs(history["drive.effort"][-1] - solution(0.3)[2])

    # Of bdf2 the first step after a jump is as good as the others; of both the order shows within a tenth.
    assert np.log2(error(0.01) / error(0.005)) == pytest.approx(2, abs=0.15)


def test_a_compiled_run_gives_the_numbers_of_the_interpreter_and_of_a_batch():
    arguments = {"step": 0.01, "output_step": 0.1, "plugins": PLUGINS}
    slow, fast = (simulate(cart(), 0.6, backend=backend, **arguments) for backend in ("vm", "c"))
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-13, atol=1e-15)
    scenarios = [{}, {"push": 1.5, "lag": 0.1, "drive.effort": 0.2}]
    batch = simulate_batch(cart(), 0.6, scenarios, threads=2, **arguments)
    np.testing.assert_allclose(batch[0].values, fast.values, rtol=1e-14, atol=1e-16)
    # From another start: the difference dies out by itself.
    expected = solution(0.6, 1.5, 0.1)[2] + 0.2 * np.exp(-6.0)
    assert batch[1]["drive.effort"][-1] == pytest.approx(expected, rel=1e-5)


def test_they_start_where_formulas_and_users_say():
    machine = cart(start="push / 2")
    assert simulate(machine, 0.01, plugins=PLUGINS, backend="vm")["drive.effort"][0] == PUSH / 2
    assert simulate(machine, 0.01, settings={"push": 1.0}, plugins=PLUGINS, backend="vm")["drive.effort"][0] == 0.5
    history = simulate(machine, 0.01, settings={"drive.effort": 7.0}, plugins=PLUGINS, backend="vm")
    assert history["drive.effort"][0] == 7.0
    assert history.provenance["start"]["drive.effort"] == 7.0
    assert {channel.name: channel.unit for channel in history.channels}["drive.effort"] == "N"


# --- statics


QUICK = 0.05


def held_weight():
    """A weight on a vertical rail, held by a lagging drive: e + T e' = -k q - d q'."""
    gains = {"stiffness": 50.0, "damping": 4.0, "time_constant": QUICK}
    return Mechanism(
        "lift",
        bodies=[Body("cage", mass=MASS, inertia=(1, 1, 1))],
        joints=[Joint("rail", "prismatic", "world", "cage", axis=(0, 0, 1))],
        forces=[
            ForceElement("gravity"),
            ForceElement("joint-actuator", name="drive", coordinate="rail.displacement", **gains),
        ],
    )


def test_an_equilibrium_settles_them():
    found = equilibrium(held_weight(), plugins=PLUGINS)
    weight = MASS * 9.81
    # k q = -m g, and the drive carries the weight.
    np.testing.assert_allclose(found.x, [-weight / 50.0, 0.0, weight], rtol=1e-12, atol=1e-12)
    history = simulate(held_weight(), 1.0, start="equilibrium", plugins=PLUGINS, backend="vm", step=0.01)
    assert np.ptp(history["rail.displacement"]) < 1e-12


def test_small_motions_have_the_roots_of_the_characteristic_polynomial():
    """m s^2 (T s + 1) + d s + k = 0, by hand; as far as Routh goes, stable while d > T k."""
    system = linearize(held_weight(), plugins=PLUGINS, start="equilibrium")
    assert system.states == ("displacement of rail.displacement", "rail.displacement.rate", "drive.effort")
    expected = np.roots([MASS * QUICK, MASS, 4.0, 50.0])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(system.A)), np.sort_complex(expected), rtol=1e-10)
    assert all(mode.eigenvalue.real < 0 for mode in system.modes)


@dataclass(frozen=True)
class IntegralOptions:
    coordinate: CoordinateName
    gain: Scalar = 1.0
    target: Scalar = 0.0


class Integral(Force):
    """Effort = gain times the integral of the error: at rest the state is whatever holds the load."""

    name = "integral-drive"
    Options = IntegralOptions

    def states(self, mechanism):
        return (ForceState("integral", "m.s"),)

    def loads(self, kinematics):
        error = kinematics.value(self.options.target) - kinematics.coordinate(self.options.coordinate)
        effort = kinematics.value(self.options.gain) * kinematics.state("integral")
        return Loads(efforts={self.options.coordinate: effort}, rates={"integral": error})


class Forgetful(Integral):
    """Declares a state and gives no rate for it."""

    name = "forgetful-drive"

    def loads(self, kinematics):
        return Loads(efforts={self.options.coordinate: kinematics.state("integral")})


class Curious(Integral):
    """Asks for a state that it has not declared."""

    name = "curious-drive"

    def loads(self, kinematics):
        return Loads(efforts={self.options.coordinate: kinematics.state("intergral")})


@pytest.fixture
def own(tmp_path):
    """The built-in plugins, and those above."""
    path = tmp_path / "drives.py"
    path.write_text(
        "import kingpost\nfrom tests.validation.test_states_of_forces import Curious, Fading, Forgetful, Integral\n"
        "@kingpost.hookimpl\ndef kingpost_register_forces():\n    return [Integral, Forgetful, Curious, Fading]\n"
    )
    return PluginSet([path], entry_points=False)


def lift(kind):
    return Mechanism(
        "lift",
        bodies=[Body("cage", mass=MASS, inertia=(1, 1, 1))],
        joints=[Joint("rail", "prismatic", "world", "cage", axis=(0, 0, 1), start=0.1)],
        forces=[
            ForceElement("gravity"),
            ForceElement(kind, name="drive", coordinate="rail.displacement", gain=5.0, target=0.4),
        ],
    )


def test_an_integral_is_solved_for_together_with_the_coordinates(own):
    """Its rate does not depend on itself: the target says where the load is, the weight what the integral is."""
    found = equilibrium(lift("integral-drive"), plugins=own, stable=False)
    np.testing.assert_allclose(found.x, [0.4, 0.0, MASS * 9.81 / 5.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("forgetful-drive", "declares the state 'integral', but loads\\(\\) gives no rate for it"),
        ("curious-drive", "asks for a state 'intergral' that it does not declare; it has integral"),
    ],
)
def test_a_force_that_does_not_keep_its_word_is_named(own, kind, message):
    with pytest.raises(PluginError, match=message):
        simulate(lift(kind), 0.1, plugins=own, backend="vm")


class Naive(StepMap):
    """An integrator that advances q and v by itself and knows of nothing else."""

    name = "naive"
    order = 1

    def step(self, equations, t, x, u, p, h):
        q, v = equations.split(x)
        v = v + h * equations.accelerations(t, q, v, u, p)
        return ca.vertcat(q + h * equations.kinematics(q, v, p), v)


def test_an_integrator_that_does_not_know_them_is_told_what_to_do():
    with pytest.raises(PluginError, match=r"states beside its coordinates and speeds \(drive.effort.*equations.acting"):
        end(integrator=Naive, step=0.01)


class Fading(Force):
    """A moment about the z axis of a body that dies out."""

    name = "fading-moment"

    def states(self, mechanism):
        return (ForceState("moment", "N.m", 2.0),)

    def loads(self, kinematics):
        moment = kinematics.state("moment")
        wrench = ca.vertcat(ca.SX(2, 1), moment, ca.SX(3, 1))
        return Loads(wrenches={"ball": wrench}, rates={"moment": -moment / LAG})


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "bdf2", "generalized-alpha", "quaternion-energy-momentum"])
def test_bodies_in_quaternions_carry_them(own, integrator):
    """A ball that spins up about one axis: w = M0 T / J (1 - exp(-t/T))."""
    spin = Joint("pivot", "spherical", "world", "ball")
    ball = Mechanism("ball", [Body("ball", 1.0, inertia=(0.4, 0.4, 0.4))], [spin], [ForceElement("fading-moment", name="m")])
    expected = np.array([2.0 * LAG / 0.4 * (1 - np.exp(-0.6 / LAG)), 2.0 * np.exp(-0.6 / LAG)])
    errors = []
    for step in (0.02, 0.01):
        arguments = {"integrator": integrator, "step": step, "output_step": 0.6, "plugins": own, "backend": "vm"}
        history = simulate(ball, 0.6, formulation="quaternions", **arguments)
        errors.append(np.abs([history["pivot.wz"][-1], history["m.moment"][-1]] - expected))
    order = own.integrators.get(integrator).order
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
