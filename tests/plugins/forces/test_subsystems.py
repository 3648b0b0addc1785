"""Trees of subsystems as machines: every integrator keeps their invariants, and they say what these exert."""

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Joint,
    Mechanism,
    PluginSet,
    RunSettings,
    SolverError,
    as_mechanism,
    pose,
    sensitivity,
    simulate,
)  # fmt: skip
from kingpost.equations.integrator import StepMap
from kingpost.modular.subsystem import SUBSYSTEMS
from tests.core.modelfiles.test_subsystem_tables import ARM
from tests.core.modular.trees import led, pendulum, skate

PLUGINS = PluginSet(entry_points=False)
INTEGRATORS = {name: PLUGINS.integrators.get(name) for name in PLUGINS.of("integrators")}
#: Rounding of x^2 + y^2, and of the sum of some products of speeds, of about 1.
ROUNDING = 1e-14
#: A quarter of the period, in which the pendulum swings through its lowest place.
T_END = 0.3


#: Of small swings: the root of gravity over length, 9.81 m/s^2 over 0.5 m.
FREQUENCY = 4.43


def first_count(order):
    """Return into how many steps a third of the time is divided first: the order p is seen between truncation and rounding.

    An error is (frequency h)^p, times a number near one, times 1 + c h with a second. That is 3e-4 for the first of three
    steps: so the observed orders are off by a part of frequency h, a quarter at most, and extrapolation leaves its square; and
    after two halvings of order six 1e-7 is left, far above the 1e-12 of the solution that it is compared with.
    """
    step = 3e-4 ** (1 / order) / FREQUENCY
    return int(np.ceil(T_END / 3 / step))


def errors(history):
    x, y, vx, vy = (history[f"bob.{name}"] for name in ("x", "y", "x_dot", "y_dot"))
    return max(np.abs(x**2 + y**2 - 0.25).max(), np.abs(x * vx + y * vy).max())


def run(mechanism, **how):
    return simulate(mechanism, **{"t_end": T_END, "output_step": T_END, "backend": "vm", "plugins": PLUGINS, **how})


@pytest.fixture(scope="module")
def exact():
    return run(as_mechanism(pendulum()), integrator="dop853:rtol=1e-12,atol=1e-13")


@pytest.mark.parametrize("name", [name for name in INTEGRATORS if name != "quaternion-energy-momentum"])
def test_every_integrator_keeps_invariants_and_its_order(name, exact):
    """Order p: halving the step divides the error by 2^p, up to terms that vanish with it; solvers keep their tolerances."""
    mechanism, order = as_mechanism(pendulum()), INTEGRATORS[name].order
    if not issubclass(INTEGRATORS[name], StepMap):
        found = run(mechanism, integrator=name, output_step=T_END / 3)
        assert errors(found) <= ROUNDING
        assert found["bob.x"][-1] == pytest.approx(exact["bob.x"][-1], abs=1e-6)
        return
    apart = []
    for count in first_count(order) * np.array([1, 2, 4]):
        found = run(mechanism, integrator=name, step=T_END / 3 / count, output_step=T_END / 3)
        assert errors(found) <= ROUNDING
        apart.append(abs(found["bob.x"][-1] - exact["bob.x"][-1]))
    coarse, fine = np.log2(np.array(apart[:-1]) / apart[1:])
    # Extrapolated in the step; half a whole number tells orders apart.
    assert 2 * fine - coarse == pytest.approx(order, abs=0.5)


def test_an_integrator_of_unit_quaternions_says_what_it_is_for():
    with pytest.raises(SolverError, match="'quaternion-energy-momentum' is for equations in unit quaternions"):
        run(as_mechanism(pendulum()), integrator="quaternion-energy-momentum")


def test_a_long_run_stays_on_the_circle_and_tells_the_tension():
    """Twenty swings of RK4 with long steps; at every sample T = m v^2 / l - m g y / l = -2 l lam."""
    found = run(as_mechanism(pendulum()), t_end=30.0, output_step=0.1, step=0.02)
    assert errors(found) <= ROUNDING
    y, vx, vy = (found[f"bob.{name}"] for name in ("y", "x_dot", "y_dot"))
    assert -found["bob.circle.effort"] == pytest.approx(2.0 * (vx**2 + vy**2) / 0.5 - 2.0 * 9.81 * y / 0.5, rel=1e-11)
    assert {channel.name: channel.unit for channel in found.channels}["bob.circle.effort"] == "N/m"


def test_projection_is_the_formulation_s_and_pull_is_the_tree_s():
    """Without projection RK4 drifts by its error, 1e-4 at such steps; pull lets that decay, to h^4 of its own."""
    how = {"t_end": 3.0, "output_step": 0.5, "step": 0.05}
    drifts = run(as_mechanism(pendulum()), formulation="kane:projection=false", **how)
    pulled = run(as_mechanism(pendulum(), pull=5.0), formulation="kane:projection=false", **how)
    assert errors(drifts) > 1e-5
    assert errors(pulled) < 0.2 * errors(drifts)
    assert errors(run(as_mechanism(pendulum(), pull=5.0), **how)) <= ROUNDING


def test_invariants_follow_inputs():
    """A rate that an input gives, raised in a run: the angle is its integral at once, though rates of inputs are not known."""
    rates = {"turning": lambda t: np.where(t < 0.5, 1.0, -2.0)}
    found = run(as_mechanism(led()), t_end=1.0, output_step=0.25, step=0.01, inputs=rates)
    # At the start, which is that of no input, and at the jump itself, what led there is still to be seen.
    assert np.delete(found["bob.open"], [0, 2]).max() <= ROUNDING
    assert found["bob.angle_dot"] == pytest.approx([0.0, 1.0, 1.0, -2.0, -2.0], abs=1e-12)


def test_what_exerts_what_others_can_exert_is_named(tmp_path, kingpost_cli):
    """In the record of a run, in what the verbs print; the effort of a gear is counted like any channel."""
    path, folder = tmp_path / "arm.toml", tmp_path / "out"
    path.write_text(ARM)
    how = ("--t-end", "0.2", "--output-step", "0.01", "--backend", "vm", "--write", "csv", "--set", "V=12")
    told = kingpost_cli("run", str(path), *how, "--out", str(folder))
    assert told.status == 0, told.err
    assert "efforts of arm.along, arm.down, arm.bob.circle: shared with each other" in " ".join(told.out.split())
    shown = kingpost_cli("modular", str(path), "--table")
    assert "not unique" in shown.out and "exert" in shown.out
    counted = kingpost_cli("fatigue", str(folder), "--channel", "arm.gear.effort", "--json")
    assert counted.status == 0, counted.err
    assert "arm.gear.effort" in counted.out


def cart_beside(tree):
    """A cart on a spring beside a tree: bodies, a closure-free joint and states of subsystems in one machine."""
    return as_mechanism(
        tree,
        bodies=(Body("cart", mass=2.0),),
        joints=(Joint("rail", "prismatic", "world", "cart", axis=(1, 0, 0), start=0.1),),
    )


@pytest.mark.parametrize("formulation", ["kane", "recursive", "modular", "directors"])
def test_bodies_stand_beside_a_tree_in_every_formulation(formulation):
    """Neither knows of the other: the cart rolls on, the skate moves as it does alone."""
    how = {"step": 0.01, "output_step": 0.1, "settings": {"rail.displacement.rate": 1.5}}
    found = run(cart_beside(skate()), formulation=formulation, **how)
    alone = run(as_mechanism(skate()), step=0.01, output_step=0.1)
    assert found["skate.open"].max() <= ROUNDING
    for name in ("skate.x", "skate.a", "skate.edge.effort"):
        assert found[name] == pytest.approx(alone[name], abs=1e-12)


def test_two_trees_and_a_state_of_another_force_are_projected_each_for_itself():
    first, second = as_mechanism(pendulum()), as_mechanism(skate())
    both = Mechanism(
        "both",
        bodies=(),
        joints=(),
        parameters=(*first.parameters, *(item for item in second.parameters if item.name != "m")),
        forces=(*first.forces, ForceElement(SUBSYSTEMS, name="skate", system=skate().to_data(), pull=0.0)),
    )
    found = run(both, t_end=0.9, step=0.02)
    assert errors(found) <= ROUNDING and found["skate.open"].max() <= ROUNDING
    assert found["bob.x"] == pytest.approx(run(first, t_end=0.9, step=0.02)["bob.x"], abs=1e-12)


def test_gradients_see_the_projection():
    """The adjoint of the steps themselves, against differences of runs of fourth order: 1e-12 / 1e-3 and what is beyond."""
    mechanism, how = as_mechanism(pendulum()), {"step": 0.02, "output_step": 0.1, "backend": "vm", "plugins": PLUGINS}
    found = sensitivity(mechanism, "bob.circle.effort at 0.2", "g", 0.2, **how)
    for name, slope in found.gradient.items():
        value, size = {"g": 9.81, "m": 2.0}[name], 1e-3

        def at(change, name=name, value=value):
            return run(mechanism, t_end=0.2, step=0.02, output_step=0.1, settings={name: value + change})["bob.circle.effort"][
                -1
            ]

        near, far = (at(part * size) - at(-part * size) for part in (1, 2))
        assert slope == pytest.approx((8 * near - far) / (12 * size), abs=1e-8)


def test_equations_project_states_as_they_project_closures():
    problem = pose(as_mechanism(pendulum()), RunSettings(), plugins=PLUGINS)
    x = problem.x0 + 1e-4
    mended = np.asarray(problem.equations.projected(0.0, x, problem.u0, problem.p)).ravel()
    assert abs(mended[0] ** 2 + mended[1] ** 2 - 0.25) <= ROUNDING
    drifting = pose(as_mechanism(pendulum()), RunSettings(formulation="kane:projection=false"), plugins=PLUGINS)
    assert (np.asarray(drifting.equations.projected(0.0, x, problem.u0, problem.p)).ravel() == x).all()
