"""The spherical pendulum in its sets of variables against document 002, examples 4.1 and 4.6."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kingpost import KingpostError, linearize, simulate
from kingpost.registry.selection import select
from tests.validation.natural import PLUGINS

JOINTS = ("angles", "universal", "point", "body")
#: The notes, recomputed in three models: t, x (down), y, z.
TABLE = (
    (1, 0.610903, -0.762782, -0.212038),
    (2, 0.642559, 0.657662, 0.393189),
    (5, 0.819051, -0.174261, -0.546616),
    (10, 0.931527, 0.201899, 0.302480),
)
G = 9.81


def pendulum(joint):
    return select(PLUGINS.models, f"spherical-pendulum:joint={joint}").build()


@pytest.fixture(scope="module", params=JOINTS)
def ten_seconds(request):
    options = {"step": 0.002, "output_step": 0.1, "plugins": PLUGINS, "backend": "vm", "loads": "all", "monitors": True}
    return request.param, simulate(pendulum(request.param), 10.0, **options)


def test_every_set_of_variables_has_the_table_of_the_notes(ten_seconds):
    """rk4: angles turn with up to 5 rad/s, (0.01)^5 / 120 in each of 5000 steps: 5e-9, and less in Cartesian coordinates."""
    _, history = ten_seconds
    for t, *place in TABLE:
        row = round(t / 0.1)
        assert [history[name][row] for name in "xyz"] == pytest.approx(place, abs=6e-7)


def test_the_energy_of_the_document_is_kept(ten_seconds):
    """E/m = -5.386 for a point; a body has that of its own turning beside it, which nothing changes."""
    joint, history = ten_seconds
    turning = 0.01 * (0.5**2 + 0.3**2 + 0.2**2) / 2 if joint == "body" else 0.0
    assert history["energy.total"][0] == pytest.approx(-5.386 + turning, abs=1e-12)
    assert np.ptp(history["energy.total"]) < 1e-7
    if joint in ("point", "body"):
        assert history["constraints.position"].max() < 1e-14


def test_the_rod_pulls_as_newton_says(ten_seconds):
    """m g x / r + m v^2 / r along the rod, and nothing across it."""
    joint, history = ten_seconds
    x = history["x"]
    pull = G * x + 2 * (-5.386 + G * x)  # v^2 / 2 = E/m + g x
    name = "rod" if joint in ("point", "body") else "pivot"
    forces = history.loads(name, frame="world").total[:, 3:]
    # The force on the bob is towards the pivot: against its place, (z, y, -x) in our axes.
    place = np.column_stack([history["z"], history["y"], -x])
    np.testing.assert_allclose(forces, -pull[:, None] * place, atol=1e-5)


@pytest.mark.parametrize("joint", JOINTS)
def test_other_data_against_cartesian_equations_by_hand(joint):
    """Example 4.1, model (ii), with gravity 3 m/s^2, 0.7 m, and another start; document's axes, x down."""
    r, g, away, speed = 0.7, 3.0, 1.2, 0.8

    def rate(t, s):
        p, v = s[:3], s[3:]
        pull = (g * p[0] + v @ v) / r**2
        return [*v, *(np.array([g, 0, 0]) - pull * p)]

    settings = {"length": r, "gravity": g, "angle": away, "speed": speed, "mass": 3.0}
    history = simulate(pendulum(joint), 2.0, settings=settings, step=0.002, output_step=0.1, plugins=PLUGINS, backend="vm")
    start = [r * np.cos(away), r * np.sin(away), 0, 0, 0, speed]
    exact = solve_ivp(rate, (0, 2), start, t_eval=history.time, rtol=1e-11, atol=1e-12, method="DOP853").y
    np.testing.assert_allclose(np.array([history[name] for name in "xyz"]), exact[:3], atol=1e-8)


def test_small_motions_around_both_references_of_the_document():
    """Example 4.6: about (a, 0, 0) both swing with sqrt(g/a); about (4, 3, 0) a/5 at rest, with sqrt(4 g / (5 a))."""
    for angle, factor in ((0.0, 1.0), (np.arccos(0.8), 0.8)):
        system = linearize(pendulum("universal"), at={"q": [angle, 0.0], "v": [0.0, 0.0]}, plugins=PLUGINS)
        found = sorted(np.linalg.eigvals(system.A), key=lambda value: value.imag)
        w = np.sqrt(factor * G)
        np.testing.assert_allclose(found, [-1j * w, -1j * w, 1j * w, 1j * w], atol=1e-7)


def test_spherical_angles_that_start_where_they_are_singular_are_refused():
    with pytest.raises(KingpostError, match="divides by zero with angle = 0"):
        simulate(pendulum("angles"), 0.1, settings={"angle": 0.0}, plugins=PLUGINS, backend="vm")
