"""The satellite of document 001, section 6.3: costs, energies and momentum of its reorientation, against the notes' values.

Costs are compared to the digits that were given, as in test_optimal_targets.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.validation.optimal_cases import BEM, REM, energies, extrapolated, imbalance, limit_of, natural, orders, rates, solved
from tests.validation.test_director_momentum import momentum

pytestmark = pytest.mark.xdist_group("optimal-satellite")
SATELLITE = "satellite"
IN_SPACE = replace(BEM, formulation="directors")
#: N: cost of the satellite with friction by the reduced scheme.
OF_THE_SATELLITE = {20: 2496446.95, 40: 2409909.60, 80: 2389351.17}


@pytest.mark.slow
def test_satellite_by_the_reduced_scheme():
    """Cost and energies as given; momentum stays zero and T - W + D constant far below the 2e-8 of Fig. 6.9."""
    found = solved(SATELLITE, 20, REM, "001-friction")
    assert found.cost == pytest.approx(2496446.95, abs=0.006)
    assert 2.35e6 < found.cost < 2.6e6
    T, _ = energies(found)
    assert T.max() == pytest.approx(6480.9, abs=0.06)
    assert T[-1] == pytest.approx(0.095, abs=6e-4)
    space, q, v = found.problem.equations.structure.discrete, found.states[:, : natural(found).nq], rates(found)
    # nu of v_m = P(q_m) nu, with no use of B.
    middles = zip((q[1:] + q[:-1]) / 2, (v[1:] + v[:-1]) / 2, strict=True)
    nu = [np.linalg.lstsq(np.asarray(space.motions(at, found.p)), mean, rcond=None)[0] for at, mean in middles]
    names = [item.name for item in found.problem.equations.speed_quantities]
    spins = np.array(nu)[:, [names.index(f"spin{i}.angle.rate") for i in (1, 2, 3)]]
    # The solver leaves 1e-9 in every row, relative to an inertia of 212 kg m^2, at some 5 rad/s.
    assert imbalance(found, spins, 100.0) < 1e-5
    J = momentum(natural(found))
    values = [np.asarray(J(place, rate, found.p)).ravel() for place, rate in zip(q, v, strict=True)]
    assert np.abs(values).max() < 1e-5


@pytest.mark.slow
def test_satellite_by_the_reduced_scheme_on_finer_grids():
    """Above the costs in joint coordinates, and to the same limit."""
    costs = []
    for N, cost in OF_THE_SATELLITE.items():
        found = solved(SATELLITE, N, REM, "001-friction")
        assert found.cost == pytest.approx(cost, abs=0.006)
        assert solved(SATELLITE, N, task="001-friction").cost < cost
        costs.append(found.cost)
    limit, error = limit_of(costs)
    assert limit == pytest.approx(2382583.3, abs=error)
    assert extrapolated(costs) == pytest.approx(2.3825e6, abs=50.0)


@pytest.mark.slow
def test_satellite_without_friction_by_the_reduced_scheme():
    """The largest energy and the one that is left at the end, as the notes have them; the basic scheme is the same problem."""
    found = solved(SATELLITE, 20, REM)
    T, _ = energies(found)
    assert T.max() == pytest.approx(7035.1, abs=0.06)
    assert T[-1] == pytest.approx(0.061, abs=6e-4)
    basic = solved(SATELLITE, 20, IN_SPACE)
    assert found.cost == pytest.approx(basic.cost, rel=1e-8)
    assert found.inputs == pytest.approx(basic.inputs, abs=1e-8 * np.abs(basic.inputs).max())
    assert found.hamiltonian == pytest.approx(basic.hamiltonian, rel=1e-8)
    # Far from the motion in joint coordinates, a twentieth in cost, and still near enough for Newton's method.
    assert found.solution.iterations < 30


@pytest.mark.slow
def test_satellite_without_friction_on_finer_grids():
    """Fast rotors turn by 2 rad in an interval of the coarsest grid, and still the costs tend to those of the reduced model."""
    costs = [solved(SATELLITE, N, REM).cost for N in (20, 40, 80)]
    assert all(cost > solved(SATELLITE, N).cost for N, cost in zip((20, 40, 80), costs, strict=True))
    limit, error = limit_of(costs)
    assert limit == pytest.approx(1434207.3, abs=error)


def test_satellite_tends_to_the_reduced_model():
    """In joint coordinates the cost tends to that of a model of seven states, with the second order."""
    for task, limit in (("001", 1434207.3), ("001-friction", 2382583.3)):
        costs = [solved(SATELLITE, N, task=task).cost for N in (20, 40, 80)]
        assert orders(costs, limit) == pytest.approx([2.0, 2.0], abs=0.05)
        assert extrapolated(costs) == pytest.approx(limit, abs=0.6)


def test_the_angles_of_the_satellite_are_those_of_the_rotation_vector():
    """Section 6.3: R = Rz(Psi) Rx(Theta) Rz(Phi), Phi innermost; the end is R0 exp(theta_f), half a turn about (1, 2, 3)."""
    start = Rotation.from_euler("ZXZ", [2.0, 2.0, 2.0])
    turn = Rotation.from_rotvec(np.pi / np.sqrt(14.0) * np.array([1.0, 2.0, 3.0]))
    psi, theta, phi = (start * turn).as_euler("ZXZ")
    assert np.mod([phi, theta, psi], 2 * np.pi) == pytest.approx([4.7543, 1.6598, 0.7074], abs=6e-5)
