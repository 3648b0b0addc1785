"""FMUs without a solver as components."""

import numpy as np
import pytest
from scipy.linalg import expm

from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, read_system
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, needs_compiler, oscillator

pytestmark = needs_compiler
#: Two oscillators, m = 2 kg, k = 50 N/m, d = 0.4 N s/m, each pushed by 20 N/m times the position of the other.
COUPLING = 20.0
PLACES = ["a.position", "b.position"]
WIRES = (Connection("a.position", "b.force", factor=COUPLING), Connection("b.position", "a.force", factor=COUPLING))


def pair(path, interfaces=("model-exchange", "model-exchange"), tolerance=1e-9, **options):
    kinds = zip("ab", interfaces, strict=True)
    parts = tuple(
        Component(
            name,
            fmu=path,
            interface=kind,
            settings={"position": place},
            isolate=False,
            tolerance=tolerance if kind == "model-exchange" else None,
        )
        for (name, kind), place in zip(kinds, (0.1, 0.0), strict=True)
    )
    return System("pair", parts, WIRES, **{"t_end": 1.0, "step": 0.01, **options})


@pytest.fixture
def both(folder):
    return oscillator(folder, interfaces=(CO_SIMULATION, MODEL_EXCHANGE), name="both")


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated:ramp=false"])
def test_a_solver_of_ours_and_the_fmus_own_come_to_the_same(both, master):
    """Inputs hold over the same steps, so that only the errors of the solvers are between them."""
    own = cosimulate(pair(both, ("co-simulation", "co-simulation"), master=master, t_end=0.4))
    ours = cosimulate(pair(both, master=master, t_end=0.4))
    mixed = cosimulate(pair(both, ("model-exchange", "co-simulation"), master=master, t_end=0.4))
    # Runge-Kutta's steps of 1 ms with w = 5 rad/s: (h w)^5 / 120 in each of 1000 is 3e-12; CVode at 1e-9: hundreds of steps.
    for other in (ours, mixed):
        np.testing.assert_allclose(other.select(PLACES), own.select(PLACES), rtol=0, atol=1e-9 * 500)
    assert ours.provenance["system"]["components"]["a"]["interface"] == "model-exchange"


def test_inputs_are_followed_inside_a_step(both):
    """With inputs extrapolated by straight lines the coupling is of the second order, not of the first."""
    rates = np.array([[0, 1, 0, 0], [-25, -0.2, 10, 0], [0, 0, 0, 1], [10, 0, -25, -0.2]])
    exact = (expm(0.4 * rates) @ [0.1, 0, 0, 0])[[0, 2]]

    def error(step, master):
        history = cosimulate(pair(both, step=step, master=master, t_end=0.4))
        return np.abs(history.select(PLACES)[-1] - exact).max()

    held = [error(step, "jacobi") for step in (0.02, 0.01)]
    followed = [error(step, "jacobi:extrapolation=1") for step in (0.02, 0.01)]
    assert held[0] / held[1] == pytest.approx(2, rel=0.15) and followed[0] / followed[1] == pytest.approx(4, rel=0.15)
    assert followed[1] < 0.1 * held[1]


def test_processes_change_no_bit(both):
    here, apart = (
        cosimulate(System("pair", tuple(_isolated(pair(both), flag)), WIRES, t_end=0.2, step=0.01)) for flag in (False, True)
    )
    np.testing.assert_array_equal(here.values, apart.values)


def _isolated(system, flag):
    return [Component(c.name, fmu=c.fmu, interface=c.interface, settings=c.settings, isolate=flag) for c in system.components]


def test_events_between_communication_points_are_met(folder):
    """A wall at -0.05 m (state event) and a push at 0.255 s (time event), with steps of 0.1 s."""
    changed = {'numberOfEventIndicators="0"': 'numberOfEventIndicators="1"'}
    wall = oscillator(folder, "WALL", interfaces=(MODEL_EXCHANGE,), change=changed, name="wall")
    kick = oscillator(folder, "KICK", interfaces=(MODEL_EXCHANGE,), name="kick")
    parts = tuple(Component(name, fmu=path, tolerance=1e-8, isolate=False) for name, path in (("wall", wall), ("kick", kick)))
    coarse, fine = (cosimulate(System("events", parts, t_end=1.0, step=step)) for step in (0.1, 0.001))
    assert fine["wall.position"].min() == pytest.approx(-0.05, abs=1e-3) and fine["kick.position"].max() > 0.3
    np.testing.assert_allclose(coarse.values[:, [0, 3]], fine.values[::100, [0, 3]], rtol=0, atol=1e-8 * 500 * 5)


def test_a_file_says_how(both, tmp_path):
    text = f"""
[run]
t_end = 0.1
step = 0.01
[components.a]
fmu = "{both}"
interface = "model-exchange"
solver = "Euler"
step = 1e-3
"""
    (tmp_path / "one.toml").write_text(text)
    history = cosimulate(read_system(tmp_path / "one.toml"))
    x, v = 0.1, 0.0
    for _ in range(100):
        x, v = x + 1e-3 * v, v + 1e-3 * (-0.4 * v - 50 * x) / 2
    assert history["a.position"][-1] == pytest.approx(x, rel=1e-9)
    with pytest.raises(CosimError, match="'solver' is for model exchange; 'both.fmu' is used for co-simulation"):
        cosimulate(System("one", (Component("a", fmu=both, solver="Euler"),), t_end=0.1, step=0.01))
    with pytest.raises(CosimError, match="its tolerance is 2"):
        Component("a", fmu=both, tolerance=2)
