"""Steps that are solved for the motions of bodies have the states of those that are solved for all coordinates."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, prepare
from kingpost.equations import newton
from kingpost.plugins.integrators import rigid
from kingpost.plugins.integrators.backward_euler import BackwardEuler
from kingpost.plugins.integrators.generalized_alpha import GeneralizedAlpha
from kingpost.plugins.integrators.implicit import DescriptorStep
from kingpost.plugins.integrators.rigid import rigid_step
from kingpost.plugins.models.chain import Chain, ChainOptions
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.plugins.models.luffing_crane import LuffingCrane
from kingpost.plugins.models.rolling_sphere import RollingSphere
from kingpost.plugins.models.satellite import Satellite
from kingpost.plugins.models.squeezer import AndrewsSqueezer
from kingpost.plugins.models.vessel_crane import VesselCrane
from tests.plugins.integrators.both_ways import TORQUES, assert_same, end_state
from tests.validation.natural import CASE_A, PLUGINS, SATELLITE

METHODS = ("generalized-alpha", "energy-momentum", "bdf2", "backward-euler", "midpoint")


@pytest.mark.parametrize("method", METHODS)
def test_top_has_the_states_of_the_whole_solve(method, monkeypatch):
    assert_same(lambda: HeavyTop().build(), method, 5e-4, 20, monkeypatch)


@pytest.mark.parametrize("method", METHODS)
def test_wheel_rows_on_speeds_alone(method, monkeypatch):
    assert_same(lambda: RollingSphere().build(), method, 1e-3, 10, monkeypatch)


def test_plane_loops_with_redundant_rows(monkeypatch):
    build, formulation = lambda: AndrewsSqueezer().build(), "directors:planar=true"
    assert_same(build, "generalized-alpha", 1e-5, 5, monkeypatch, formulation=formulation)


def lagging():
    """Two bodies on hinges, driven by efforts that follow what is asked of them with a lag."""
    rods = [Body(name, mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3)) for name in ("a", "b")]
    joints = (
        Joint("first", "revolute", "world", "a", axis=(0, 1, 0), start=0.2),
        Joint("second", "revolute", "a", "b", axis=(0, 0, 1), position=(0.6, 0, 0), start=-0.4),
    )
    drives = [
        ForceElement(
            "joint-actuator", name=f"drive{i}", coordinate=f"{name}.angle", stiffness=20.0, damping=2.0, time_constant=0.05
        )
        for i, name in enumerate(("first", "second"))
    ]  # fmt: skip
    return Mechanism("lagging", bodies=rods, joints=joints, forces=(ForceElement("gravity"), *drives))


@pytest.mark.parametrize("method", METHODS)
def test_states_of_forces_are_solved_for_beside_the_motions(method, monkeypatch):
    assert_same(lagging, method, 2e-3, 20, monkeypatch)


@pytest.mark.parametrize("backend", ["vm", pytest.param("c", marks=pytest.mark.slow)])
def test_steps_that_are_not_found_for_motions_are_solved_for_all_coordinates(backend, monkeypatch):
    """From rest, under torques for which the main body and its rotors turn by more than half a turn in a step."""
    stop = long_steps(backend)
    assert stop.told == 1
    monkeypatch.setattr(DescriptorStep, "by_bodies", False)
    expected = long_steps(backend)
    assert expected.told == 0
    # The other four steps are found in both ways, each to rounding, and grow what the one before leaves by less than ten.
    assert np.abs(stop.x - expected.x).max() <= 1e4 * np.finfo(float).eps * np.abs(expected.x).max()


def long_steps(backend):
    """Return the end of five steps of one second."""
    run = prepare(
        SATELLITE, 5.0, settings=CASE_A, formulation="directors", integrator="energy-momentum", step=1.0, output_step=5.0,
        backend=backend, plugins=PLUGINS,
    )  # fmt: skip
    y = np.empty((1, len(run.equations.channels)))
    stop = run.kernel.march(y, 5, 0.0, 1.0, run.x0, run.inputs, run.p)
    assert not stop.status
    return stop


def test_machines_of_any_length_fall_back_in_kinds_of_bodies(monkeypatch):
    """Longer residuals than are straightened would be differentiated as one graph, and take a C compiler minutes."""
    run, _ = end_state(lambda: Chain(ChainOptions(3)).build(), "midpoint", 1e-3, 1)
    whole = rigid_step(run.integrator, run.equations).otherwise
    assert whole.matrix is None
    monkeypatch.setattr(newton, "STRAIGHT", 0)
    monkeypatch.setattr(rigid, "SHORT", 0)
    pieces = rigid_step(run.integrator, run.equations).otherwise
    given = [np.random.default_rng(1).uniform(0.5, 1.0, pieces.residual.numel_in(k)) for k in range(pieces.residual.n_in())]
    expected = np.asarray(whole.residual(*given))
    # Some hundred operations for each row.
    assert np.abs(np.asarray(pieces.residual(*given)) - expected).max() <= 1e-13 * np.abs(expected).max()
    assert np.abs(np.asarray(pieces.matrix(*given)[1]) - expected).max() <= 1e-13 * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("build", "h", "settings"),
    [
        (lambda: Satellite().build(), 5e-3, TORQUES),
        (lambda: VesselCrane().build(), 1e-3, {}),
        (lambda: LuffingCrane().build(), 1e-3, {}),
        (lambda: AndrewsSqueezer().build(), 1e-5, {}),
        (lambda: Chain(ChainOptions(12)).build(), 1e-3, {}),
    ],
    ids=["satellite", "vessel-crane", "luffing-crane", "squeezer", "chain of 12, in kinds"],
)
def test_machines_have_the_states_of_the_whole_solve(build, h, settings, method, monkeypatch):
    assert_same(build, method, h, 20, monkeypatch, settings=settings)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["generalized-alpha", "energy-momentum"])
def test_compiled_steps_have_them_too(method, monkeypatch):
    """In C the equations are eliminated in their order, with factors that are kept within a step."""
    assert_same(lambda: Satellite().build(), method, 5e-3, 200, monkeypatch, backend="c", settings=TORQUES)


def test_a_method_that_changes_its_displacement_is_solved_as_it_was():
    class Other(BackwardEuler):
        def displacement(self, parts, s, q1, v1):
            return 0.5 * super().displacement(parts, s, q1, v1)

    run, _ = end_state(lambda: HeavyTop().build(), "backward-euler", 1e-4, 1)
    assert rigid_step(Other(), run.equations) is None
    assert rigid_step(GeneralizedAlpha(), run.equations) is not None
