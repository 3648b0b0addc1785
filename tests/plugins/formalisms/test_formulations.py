"""Formalisms as formulations: runs, joint loads, options, closed loops, and refusals."""

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, PluginError, simulate
from kingpost.plugins.formalisms.energies import hamiltonian
from kingpost.plugins.formalisms.newton_euler import NewtonEuler
from kingpost.registry.selection import select
from kingpost.simulation.problem import draft, observed, started
from kingpost.simulation.settings import RunSettings
from kingpost.testing import FORMALISM_CHECKS
from kingpost.testing import formalisms as kit
from kingpost.testing.problems import parallelogram, parallelogram_solution, pendulum
from tests.plugins.formalisms.machines import EXACT, FORMALISMS, PLUGINS, place

AS_FORMULATIONS = [name for name in FORMALISMS if PLUGINS.formalisms.get(name).becomes_formulation]
METHODS = ("auxiliary-speeds", "recursive", "multipliers")


@pytest.fixture(scope="module")
def subjects():
    """Subjects that keep what they derived, by name."""
    return {}


@pytest.mark.parametrize("name", FORMALISMS)
@pytest.mark.parametrize("check", FORMALISM_CHECKS, ids=lambda check: check.__name__)
def test_conformance(name, check, subjects, monkeypatch):
    """Of the kit, one loop."""
    monkeypatch.setattr(kit, "TREES", ())
    monkeypatch.setattr(kit, "LOOPS", (4,))
    if name not in subjects:
        subjects[name] = kit.Subject(PLUGINS.formalisms.get(name), PLUGINS)
    check(subjects[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMALISMS)
def test_whole_conformance(name):
    kit.check_formalism(PLUGINS.formalisms.get(name), PLUGINS)


class Careless(NewtonEuler):
    """Forgets a tenth of the forces."""

    name = "careless"

    def derive(self, machine):
        road = super().derive(machine)
        return type(road).__mro__[1](road.M, 0.9 * road.f)


def test_the_kit_finds_wrong_accelerations(monkeypatch):
    monkeypatch.setattr(kit, "TREES", (3,))
    monkeypatch.setattr(kit, "LOOPS", ())
    with pytest.raises(AssertionError, match="careless, random-tree-3: accelerations are off by"):
        kit.check_formalism(Careless, PLUGINS)


@pytest.fixture(scope="module")
def loads():
    """All load channels of a closed loop at its start, by formulation and method."""
    kept = {}

    def found(formulation, method):
        if (formulation, method) not in kept:
            how = RunSettings(formulation=formulation, load_method=method, loads=("all",))
            mechanism = select(PLUGINS.models, "slider-crank").build()
            problem = observed(started(draft(mechanism, how, plugins=PLUGINS)))
            values = problem.equations.observe(problem.t_start, problem.x0, problem.u0, problem.p)
            kept[formulation, method] = np.asarray(values).ravel()
        return kept[formulation, method]

    return found


@pytest.mark.parametrize("name", [name for name in AS_FORMULATIONS if name in EXACT])
def test_joint_loads_by_the_existing_methods(name, loads):
    """The methods in turn; all of them for one. Multipliers of penalties are 1e5 times errors of the size of rounding."""
    methods = METHODS[:2] if name == "gauss" else (METHODS[AS_FORMULATIONS.index(name) % 2],)
    for method in methods:
        right = loads("kane", method)
        allowed = (1e-9 if name == "augmented-lagrangian" else 1e-11) * np.abs(right).max()
        np.testing.assert_allclose(loads(name, method), right, atol=allowed)


def test_loads_from_multipliers_say_what_they_need():
    """The third method takes loads from multipliers of joints, which no formalism in joint coordinates has; as with kane."""
    said = []
    for formulation in ("kane", "gauss"):
        how = RunSettings(formulation=formulation, load_method="multipliers", loads=("all",))
        with pytest.raises((MechanismError, PluginError)) as caught:
            observed(started(draft(select(PLUGINS.models, "slider-crank").build(), how, plugins=PLUGINS)))
        said.append(str(caught.value).replace(formulation, "NAME"))
    assert said[0] == said[1]


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "generalized-alpha"])
def test_integrators(integrator):
    """An explicit and an implicit one on accelerations, and one that imposes constraints itself."""
    history = simulate(
        parallelogram("point-on-line"),
        0.2,
        formulation="gauss",
        integrator=integrator,
        step=0.002,
        backend="vm",
        plugins=PLUGINS,
    )
    off = np.abs(history["a.angle"] - parallelogram_solution(history.time)[:, 0]).max()
    assert off < 1e-5  # (h w)^2 / 12 = 1e-6 for those of order 2, w = 2 rad/s
    assert history.provenance["formulation"] == "gauss"


def test_options_of_loops_and_of_the_formalism():
    found = select(PLUGINS.formulations, "udwadia-schutte:alpha=3,baumgarte=5")
    assert (found.way.options.alpha, found.options.baumgarte) == (3.0, 5.0)
    with pytest.raises(PluginError, match="alpha is 0; any other number does"):
        select(PLUGINS.formulations, "udwadia-schutte:alpha=0")
    with pytest.raises(PluginError, match="a penalty is between 1 and 1e12"):
        select(PLUGINS.formulations, "penalty:alpha=0.1")
    with pytest.raises(PluginError, match="iterations is 0; take 1 to 50"):
        select(PLUGINS.formulations, "augmented-lagrangian:iterations=0")


def test_baumgartes_terms_are_in_the_accelerations_of_every_road():
    """With errors in the speeds, accelerations pull them back; multipliers stay those without."""
    mechanism = parallelogram("point-on-line")
    x = np.array([0.9, 0.9, -0.9, 0.3, 0.31, -0.3])
    rows = {}
    for name in ("kane", "gauss", "newton-euler", "boltzmann-hamel", "maggi", "augmented"):
        how = RunSettings(formulation=f"{name}:baumgarte=10")
        equations = draft(mechanism, how, plugins=PLUGINS).equations
        rows[name] = [
            np.asarray(part(0, x[:3], x[3:], [], [])).ravel() for part in (equations.accelerations, equations.multipliers)
        ]
    for name, (vdot, lam) in rows.items():
        np.testing.assert_allclose(vdot, rows["kane"][0], rtol=1e-11, err_msg=name)
        np.testing.assert_allclose(lam, rows["kane"][1], rtol=1e-11, err_msg=name)


def test_a_class_is_as_good_as_a_name():
    history = simulate(pendulum(), 0.1, formulation=NewtonEuler, backend="vm", plugins=PLUGINS)
    assert history.provenance["formulation"] == "newton-euler"
    kane = PLUGINS.formalisms.get("kane")
    assert select(PLUGINS.formulations, kane).name == "kane"


def test_the_hamiltonian_of_a_pendulum_is_its_energy():
    here = place(pendulum(), {"pivot.angle.rate": 0.7})
    machine = here.machine
    known = [machine.t, machine.q, machine.v, machine.u, machine.p]
    H = ca.Function("H", known, [hamiltonian(machine) - machine.kinetic - machine.potential])
    assert abs(float(H(*here.row))) < 1e-13
