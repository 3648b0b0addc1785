"""Masses on springs against document 003, eqs. (30)-(32), written out by hand."""

import casadi as ca
import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, jets, model, worst

FORMULATIONS = ("kane", "recursive", "directors", "nullspace")


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_chain_has_the_equations_of_the_document(n, formulation):
    equations = derive(assemble(model(f"mass-chain:n={n}").build(), PLUGINS), formulation, PLUGINS)
    rng = np.random.default_rng(n)
    for _ in range(5):
        m, k, d, l0 = rng.uniform(1, 3, n), rng.uniform(5, 20), rng.uniform(0, 5), rng.uniform(0, 1)
        # Masses may pass each other: the springs of eq. (30) know no distances, only differences.
        x, v, F = rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-5, 5)
        pull = k * (np.diff(x) - l0) + d * np.diff(v)
        expected = np.append(pull, 0) - np.insert(pull, 0, 0)
        expected[0] += F
        M, f, _ = equations.descriptor(0, x, v, [F], [*m, k, d, l0])
        assert np.asarray(M) == pytest.approx(np.diag(m), abs=1e-14)
        assert np.asarray(f).ravel() == pytest.approx(expected, abs=1e-12)


def solution(n, task, k=10.0, l0=0.5):
    """Return the flat solution without damping: each mass from the next one, then the force."""
    time = Time()
    t, rate = time.t, time.rate
    masses = [1.0] + [2.0] * (n - 1)
    x = [ca.SX(0)] * n
    x[n - 1] = jets(task, t)[f"mass{n}.x"][0]
    tension = ca.SX(0)
    for i in range(n - 1, 0, -1):
        tension = tension + masses[i] * rate(x[i], 2)
        x[i - 1] = x[i] - l0 - (0 - tension) / k
    force = masses[0] * rate(x[0], 2) + tension
    return Flat(time, {f"slide{i + 1}.x": x[i] for i in range(n)}, {"force": force}, {"x1": x[0]})


def test_the_flat_solution_is_eq_32_of_the_document():
    task = model("mass-chain").tasks()["003"]
    flat = solution(2, task)
    for time in np.linspace(0.2, 5.8, 9):
        s = [task.path["mass2.x"].value(float(time), order=k) for k in range(5)]
        assert flat.at(time)["force"] == pytest.approx(1 * 2 / 10 * s[4] + 3 * s[2], abs=1e-12)
        assert flat.at(time)["x1"] == pytest.approx(2 / 10 * s[2] + s[0] - 0.5, abs=1e-13)
    forces = {time: flat.at(time)["force"] for time in (*np.linspace(0, 6, 601), *np.linspace(1.8, 1.9, 1001))}
    assert max(forces.values()) == pytest.approx(1.71709236, abs=1e-8)
    assert max(forces, key=forces.get) == pytest.approx(1.8423, abs=1e-4)
    assert flat.at(4.1577)["force"] == pytest.approx(-1.71709236, abs=1e-7)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("n", [2, 3])
def test_the_flat_solution_solves_the_equations_of_motion(n, formulation):
    chain = model(f"mass-chain:n={n}")
    followed = Followed(chain.build(), formulation, solution(n, chain.tasks()["003"]))
    residual, open_by = worst(followed, np.linspace(0.2, 5.8, 9))
    assert residual < 1e-11
    assert open_by < 1e-14


def test_a_chain_starts_at_rest_with_its_last_mass_where_the_path_begins():
    chain = model("mass-chain:n=4")
    mechanism = chain.build()
    equations = derive(assemble(mechanism, PLUGINS), "kane", PLUGINS)
    p = [parameter.default for parameter in mechanism.parameters]
    x = [0.5 - 0.5 * (4 - i) for i in range(1, 5)]
    assert np.asarray(equations.accelerations(0, x, np.zeros(4), [0], p)).ravel() == pytest.approx(np.zeros(4), abs=1e-14)
    assert chain.tasks()["003"].path["mass4.x"].value(0.0) == x[-1]


def test_a_chain_of_one_mass_is_refused():
    with pytest.raises(KingpostError, match="a mass-chain has at least 2 masses, got 1"):
        model("mass-chain:n=1")
