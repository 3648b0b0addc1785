"""Integrators that remember, in components in process: the numbers of a run and of an FMU, also after going back."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, PluginSet, export, simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.fmu.cosim.components.described import Places
from kingpost.fmu.cosim.components.model import open_model
from kingpost.testing.problems import pendulum, pushed_mass

PLUGINS = PluginSet(entry_points=False)
REMEMBERING = ["bdf2", "generalized-alpha"]


def system(component, **changes):
    return System("one", (component,), (), step=0.02, t_end=0.4, **changes)


@pytest.mark.quick("bdf2")
@pytest.mark.parametrize("integrator", REMEMBERING)
def test_a_component_in_process_is_the_run_and_the_fmu(tmp_path, integrator):
    run = simulate(pendulum(), 0.4, integrator=integrator, step=0.01, output_step=0.02, plugins=PLUGINS)
    done = export(pendulum(), tmp_path / "p.fmu", integrator=integrator, step=0.01, plugins=PLUGINS)
    inside = cosimulate(system(Component("p", model=pendulum(), integrator=integrator, step=0.01)), plugins=PLUGINS)
    outside = cosimulate(system(Component("p", fmu=done.path)), plugins=PLUGINS)
    for name in ("pivot.angle", "pivot.angle.rate"):
        np.testing.assert_allclose(inside[f"p.{name}"], run[name], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(outside[f"p.{name}"], run[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("integrator", ["rk4", *REMEMBERING])
@pytest.mark.parametrize("backend", ["vm", "c"])
def test_going_back_is_exact(integrator, backend):
    component = open_model(Component("m", model=pushed_mass(), integrator=integrator, step=0.01, backend=backend), PLUGINS)
    inputs = [signal.name for signal in component.model.mechanism.inputs]
    places = Places(inputs, np.zeros(len(inputs)), ["rail.displacement"], np.zeros(1), [], np.zeros(0), True)
    running = component.start(places, 0.0, 1.0)
    places.u[:] = 2.0

    def three_steps():
        seen = []
        for k in range(3, 6):
            running.step(k * 0.02, 0.02)
            seen.append(float(places.y[0]))
        return seen

    for k in range(3):
        running.step(k * 0.02, 0.02)
    state = running.save()
    first = three_steps()
    running.restore(state)
    assert three_steps() == first and len(set(first)) == 3


def test_steps_of_another_length_begin_anew():
    """Of 25 ms with an own step of 10 ms: three steps of 8.33 ms, each communication step the same."""
    component = Component("p", model=pendulum(), integrator="bdf2", step=0.01)
    odd = cosimulate(System("odd", (component,), (), step=0.025, t_end=0.5), plugins=PLUGINS)
    run = simulate(pendulum(), 0.5, integrator="bdf2", step=0.025 / 3, output_step=0.025, plugins=PLUGINS)
    np.testing.assert_allclose(odd["p.pivot.angle"], run["pivot.angle"], rtol=1e-11, atol=1e-13)


def pulled_mass():
    """A mass with two inputs."""
    return Mechanism(
        "pulled-mass",
        inputs=(Input("push", "N"), Input("pull", "N")),
        bodies=(Body("mass", mass=2.0),),
        joints=(Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0)),),
        forces=(ForceElement("joint-effort", coordinate="rail.displacement", effort="push + 2 * pull + cos(t)"),),
    )


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("fed", [("push",), ("pull",), ("pull", "push")])
def test_inputs_reach_their_places_whichever_of_them_are_fed(native, master, fed):
    """Compared with FMUs, whose inputs are set one by one."""
    path, found = native(pulled_mass(), step=0.01), []
    for how in ({"model": pulled_mass(), "step": 0.01}, {"fmu": path}):
        components = tuple(Component(name, settings={"push": 0.5}, **how) for name in "ab")
        connections = [Connection("a.rail.displacement", f"b.{name}", factor=-3.0 - k) for k, name in enumerate(fed)]
        connections += [Connection("b.rail.displacement.rate", f"a.{name}", factor=-1.0 - k) for k, name in enumerate(fed)]
        record = ("a.rail.displacement", "b.rail.displacement", "b.pull")
        system = System("two", components, tuple(connections), step=0.02, t_end=0.4, master=master, record=record)
        found.append(cosimulate(system, plugins=PLUGINS))
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=0, atol=1e-10)
