"""Every built-in model in both formulations, and what its physics promises."""

import numpy as np
import pytest

from kingpost import PluginSet, simulate
from kingpost.registry.selection import select
from kingpost.simulation.default_formulation import default_formulation

MODELS = [name for name in PluginSet(entry_points=False).models if name != "chain"] + ["chain:links=3", "chain:links=24"]


@pytest.mark.slow  # the default tests compare accelerations and loads, and a few motions: test_formulation_matrix.py
@pytest.mark.parametrize("name", MODELS)
def test_both_formulations_move_alike(name, plugins):
    mechanism = select(plugins.models, name).build()
    options = {"step": 0.001, "output_step": 0.05, "plugins": plugins}
    # kane's code for 24 links takes minutes to compile; the interpreter takes it as it is.
    backend = "vm" if name == "chain:links=24" else "c"
    one, other = (simulate(mechanism, 0.2, formulation=f, backend=backend, **options) for f in ("kane", "recursive"))
    # Components of one quantity are rounded like the largest of them: an entry of an inertia that vanishes, like the others.
    kinds = [(channel.name.rpartition(".")[0], channel.unit) for channel in one.channels]
    largest: dict[tuple[str, str], float] = {}
    for kind, size in zip(kinds, np.abs(one.values).max(axis=0), strict=True):
        largest[kind] = max(largest.get(kind, 1.0), float(size))
    scale = np.array([largest[kind] for kind in kinds])
    assert (np.abs(one.values - other.values) / scale).max() < 1e-10


def test_the_default_formulation_follows_the_size(plugins):
    for name, formulation in {"chain:links=10": "kane", "chain:links=11": "recursive"}.items():
        assert default_formulation(select(plugins.models, name).build()) == formulation
    for name, formulation in {"chain:links=2": "kane", "chain:links=11": "recursive"}.items():
        mechanism = select(plugins.models, name).build()
        history = simulate(mechanism, 0.001, output_step=0.001, backend="vm", plugins=plugins)
        assert history.provenance["formulation"] == formulation


def test_nothing_outside_acts_on_the_spacecraft(plugins):
    """Its centre of mass stays at rest where it starts at rest, whatever the arm does."""
    mechanism = plugins.models.get("spacecraft-arm")().build()
    rest = {f"craft-motion.{name}": 0.0 for name in ("wx", "wy", "wz", "vx", "vy", "vz")}
    history = simulate(mechanism, 10.0, settings=rest, plugins=plugins)
    masses = np.array([500.0, 25.0, 18.0, 6.0])
    coms = [(0, 0, 0), (0.75, 0, 0), (0.6, 0, 0), (0.15, 0, 0)]

    def centre(k):
        q = dict(zip(history.names, history.values[k], strict=True))
        w, n = q["craft-motion.qw"], np.array([q[f"craft-motion.q{axis}"] for axis in "xyz"])
        N = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
        R, p = np.eye(3) + 2 * w * N + 2 * N @ N, np.array([q[f"craft-motion.{axis}"] for axis in "xyz"])
        total = masses[0] * (p + R @ coms[0])
        hinges = [("shoulder", 1, (0.6, 0, 0.5)), ("elbow", 1, (1.5, 0, 0)), ("wrist", 2, (1.2, 0, 0))]
        for (name, axis, place), mass, com in zip(hinges, masses[1:], coms[1:], strict=True):
            c, s = np.cos(q[f"{name}.angle"]), np.sin(q[f"{name}.angle"])
            turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) if axis == 1 else np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            p, R = p + R @ place, R @ turn
            total = total + mass * (p + R @ com)
        return total / masses.sum()

    start = centre(0)
    assert max(np.abs(centre(k) - start).max() for k in range(0, len(history), 100)) < 1e-9
    assert np.ptp(history["shoulder.angle"]) > 1.0  # and it does move


def test_a_chain_of_no_links_is_refused(kingpost_cli):
    outcome = kingpost_cli("run", "chain:links=0")
    assert outcome.status == 3
    assert "a chain has at least 1 link, got 0" in outcome.err
    assert "links: expected a whole number, got 'two'" in kingpost_cli("run", "chain:links=two").err
