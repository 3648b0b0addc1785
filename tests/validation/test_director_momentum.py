"""Natural coordinates with the energy-momentum integrator against document 001: momenta, and what spoils them."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, simulate
from kingpost.plugins.formulations.directors.bodies import angular_momentum, dual_basis
from kingpost.plugins.integrators.energy_momentum import EnergyMomentum
from tests.validation.natural import CASE_A, CASE_B, PLUGINS, SATELLITE, derive


def momentum(equations):
    return ca.Function("J", [equations.q, equations.v, equations.p], [angular_momentum(equations.q, equations.v, equations.M)])


def advance(mechanism, t_end, steps, settings=None, formulation="directors"):
    """Return the history of an energy-momentum run and the angular momentum about the origin at all its times."""
    h = t_end / steps
    options = {"integrator": EnergyMomentum, "step": h, "output_step": h, "plugins": PLUGINS, "backend": "vm"}
    history = simulate(mechanism, t_end, formulation=formulation, settings=settings, **options)
    ours = derive(mechanism)
    J, p = momentum(ours), [parameter.default for parameter in mechanism.parameters]
    rows = [J(row[: ours.nq], row[ours.nq : ours.nq + ours.nv], p) for row in history.values]
    return history, np.array([np.asarray(row).ravel() for row in rows])


#: Recomputed from the document's data; the third component is also printed, in Fig. 4.9: 1336.6779.
MOMENTUM = (757.29836, 1116.57439, 1336.67786)


def test_the_satellite_has_the_data_of_the_document():
    # Table 4.1, four digits: m, E1, E2, E3 of each body.
    table = {
        "main": (1005.3096, 89.3609, 201.0619, 357.4434),
        "rotor1": (424.1150, 8.8357, 106.0288, 106.0288),
        "rotor2": (424.1150, 106.0288, 8.8357, 106.0288),
        "rotor3": (424.1150, 106.0288, 106.0288, 8.8357),
    }
    M = np.diag(np.asarray(ca.DM(derive(SATELLITE).M)))
    for k, entries in enumerate(table.values()):
        assert M[12 * k : 12 * k + 12 : 3] == pytest.approx(entries, abs=6e-5)
    distances = [joint.position[i] for i, joint in enumerate(SATELLITE.joints[1:])]
    assert distances == pytest.approx([0.9167, 1.25, 1.5833], abs=6e-5)


@pytest.mark.quick("5")
@pytest.mark.parametrize("steps", [5, 20, 80])
def test_the_satellite_keeps_its_angular_momentum_at_any_step(steps):
    history, J = advance(SATELLITE, 5.0, steps, CASE_B)
    kinetic = history["energy.kinetic"]
    assert kinetic[0] == pytest.approx(2207.0116, abs=5e-5)
    assert J[0] == pytest.approx(MOMENTUM, abs=5e-6)
    assert np.abs(J - J[0]).max() < 2e-11
    assert kinetic[-1] == pytest.approx({5: 913.381, 20: 841.425, 80: 840.172}[steps], abs=5e-4)
    history, J = advance(SATELLITE, 5.0, steps, CASE_A)
    assert np.abs(J).max() < 2e-11
    assert np.ptp([history[f"spin{i}.angle.rate"][-1] for i in (1, 2, 3)]) > 0.2


@pytest.mark.quick("20")
@pytest.mark.parametrize("steps", [5, 20, 80])
def test_covariant_directors_at_mid_points_spoil_it(steps):
    history, J = advance(SATELLITE, 5.0, steps, CASE_B, "directors:covariant=true")
    assert J[-1, 2] == pytest.approx({5: 1508.421, 20: 1376.305, 80: 1339.255}[steps], abs=5e-4)
    assert history["energy.kinetic"][-1] == pytest.approx({5: 1813.514, 20: 886.976, 80: 842.912}[steps], abs=5e-4)
    history, J = advance(SATELLITE, 5.0, steps, CASE_A, "directors:covariant=true")
    assert J[-1, 2] == pytest.approx({5: 306.783, 20: 81.224, 80: 6.777}[steps], abs=5e-4)
    assert history["energy.kinetic"][-1] == pytest.approx({5: 3102.872, 20: 6584.530, 80: 7730.828}[steps], abs=5e-4)


def test_the_satellite_from_rest_has_a_closed_form():
    # Without momentum, alpha' = -J_B Omega / J_a, and (J_a I - J_B) Omega' = -u is linear: Omega grows in proportion to time.
    history, _ = advance(SATELLITE, 5.0, 320, CASE_A)
    rates = [history[f"spin{i}.angle.rate"][-1] for i in (1, 2, 3)]
    # The method is of order 2: at 80 steps T is off by 2.7e-2 and the rates by 2.3e-3, so a sixteenth of that is left.
    assert rates == pytest.approx([-5.118235, -5.186064, -5.368074], abs=2e-4)
    assert history["energy.kinetic"][-1] == pytest.approx(7836.186, abs=2.5e-3)


def test_the_heavy_top_precesses_steadily_and_converges_with_order_two():
    top = PLUGINS.models.get("heavy-top")().build()
    tilt, arm = np.pi / 3, 0.075
    exact = arm * np.array([np.sin(tilt) * np.sin(10.0), -np.sin(tilt) * np.cos(10.0), np.cos(tilt)])  # eq. (5.54)
    errors = []
    for h in (0.01, 0.005, 0.0025, 0.00125):
        history, J = advance(top, 1.0, round(1 / h))
        assert history["energy.kinetic"][0] == pytest.approx(5.40901968, abs=5e-9)
        assert history["energy.potential"][0] == pytest.approx(0.26003551, abs=5e-9)
        assert J[0] == pytest.approx((0.0, -0.04503947, 0.07106577), abs=5e-9)
        assert np.ptp(history["energy.total"]) < 1e-12
        assert np.ptp(J[:, 2]) < 1e-14
        centre = [history[f"centre.{axis}"][-1] for axis in "xyz"]
        errors.append(np.linalg.norm(centre - exact) / arm)
    assert errors == pytest.approx([7.962e-2, 2.085e-2, 5.278e-3, 1.322e-3], rel=5e-4)
    assert np.log2(errors[2] / errors[3]) == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("steps", [20, 40])
def test_the_rotary_crane_keeps_energy_and_angular_momentum_about_the_vertical_at_long_steps(steps):
    """In joint coordinates, of which the slewing angle enters no energy; the load falls meanwhile and turns the winch."""
    crane, h = PLUGINS.models.get("rotary-crane")().build(), 2.0 / steps
    options = {"integrator": EnergyMomentum, "step": h, "output_step": h, "plugins": PLUGINS, "backend": "vm"}
    history = simulate(crane, 2.0, formulation="kane", monitors=True, **options)
    momentum = history["momentum.angular.z"]
    scale = np.abs(history["energy.kinetic"]).max() + np.abs(history["energy.potential"]).max()
    # Each step with the round-off of a Newton solution: some 100 units in the last place of the energies and momenta.
    assert np.ptp(history["energy.total"]) < steps * 100 * np.finfo(float).eps * scale
    assert np.ptp(momentum) < steps * 100 * np.finfo(float).eps * momentum[0]
    assert momentum[0] == pytest.approx(160.76, abs=0.005)
    assert np.ptp(history["slew.angle"]) > 1.0


def test_the_satellite_keeps_its_linear_momentum_under_friction_and_torque():
    history, _ = advance(SATELLITE, 5.0, 20, CASE_B | CASE_A | {"motion.vx": 0.3, "motion.vy": -0.2, "motion.vz": 0.1})
    ours = derive(SATELLITE)
    # Rows of M V in threes: the first of the four of a body is its momentum, for the directors start in the centre of mass.
    M = np.asarray(ca.DM(ours.M))
    momentum = (history.values[:, ours.nq : ours.nq + ours.nv] @ M).reshape(len(history), -1, 4, 3)[:, :, 0].sum(axis=1)
    assert np.linalg.norm(momentum[0]) > 100.0
    assert np.ptp(momentum, axis=0).max() < 20 * 100 * np.finfo(float).eps * np.abs(momentum).max()


def damped_pair():
    """Return two bodies in space with everything between them that takes energy away, and nothing outside."""
    bodies = [Body(name, mass=2.0, com=(0.1, 0, 0.3), inertia=(1, 1.2, 0.9, 0.1, 0.05, 0)) for name in ("a", "b", "c")]
    return Mechanism(
        "damped-pair",
        bodies=tuple(bodies),
        joints=(
            Joint("base", "free", "world", "a"),
            Joint("hinge", "universal", "a", "b", axis=(1, 0, 0), axis2=(0, 0.8, 0.6), position=(0.5, 0, 0)),
            Joint("slide", "cylindrical", "b", "c", axis=(0, 0.6, 0.8), position=(0, 0.5, 0)),
        ),
        forces=(
            *(
                ForceElement("joint-friction", name=f"friction{i}", coordinate=name, viscous=1.0 + i)
                for i, name in enumerate(("hinge.first", "hinge.second", "slide.angle", "slide.displacement"))
            ),
            ForceElement(
                "point-spring",
                body="a",
                other="c",
                at=(0.3, 0, 0.2),
                other_at=(0, 0.4, 0),
                length=0.2,
                stiffness=5.0,
                damping=4.0,
            ),
        ),
    )


def test_forces_inside_a_machine_keep_momenta_and_take_power_between_any_two_places():
    mechanism = damped_pair()
    ours, wrong = derive(mechanism), derive(mechanism, "directors:covariant=true")
    rng = np.random.default_rng(2)
    for _ in range(10):
        q0, q1 = (
            np.asarray(
                ours.coordinates.initial(
                    np.r_[rng.normal(size=3), _unit(rng.normal(size=4)), rng.normal(size=4)], np.zeros(10), []
                )
            ).ravel()
            for _ in range(2)
        )
        q0, q1 = q0[: ours.nq], q1[: ours.nq]
        v = rng.normal(size=ours.nv)
        for equations, keeps in ((ours, True), (wrong, False)):
            force = np.asarray(equations.structure.midpoint_forces(0, q0, q1, v, [], [])).ravel().reshape(-1, 3)
            middle = ((q0 + q1) / 2)[: ours.nv].reshape(-1, 3)
            size = np.abs(force).max()
            assert np.abs(force[::4].sum(axis=0)).max() < 1e-12 * size or not keeps
            turned = np.cross(middle, force).sum(axis=0)
            assert (np.abs(turned).max() < 1e-11 * size) == keeps
            # Friction and dampers alone are left here: the spring belongs to the potential.
            assert not keeps or force.ravel() @ v < 0


def _unit(vector):
    return vector / np.linalg.norm(vector)


def test_the_dual_basis_is_dual():
    rng = np.random.default_rng(3)
    D = rng.normal(size=(3, 3))
    symbol = ca.SX.sym("D", 3, 3)
    dual = np.asarray(ca.Function("dual", [symbol], [dual_basis(symbol)])(D))
    assert np.abs(dual.T @ D - np.eye(3)).max() < 1e-12


def test_a_spring_with_a_damper_leaves_only_the_damper_to_the_mid_point():
    mechanism = Mechanism(
        "spring",
        bodies=(Body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.1, 0.12, 0.13)),),
        joints=(Joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0)),),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-spring", coordinate="hinge.angle", stiffness=(3.0, 0.0, 2.0), damping=0.7, rest=0.3),
        ),
    )
    ours = derive(mechanism)
    Q, V = ours.split(np.asarray(ours.coordinates.initial([0.8], [1.5], [])).ravel())
    at_rest = np.asarray(ours.structure.midpoint_forces(0, Q, Q, 0 * V, [], [])).ravel()
    assert np.abs(at_rest).max() == 0.0
    # Its power is that of the damper.
    force = np.asarray(ours.structure.midpoint_forces(0, Q, Q, V, [], [])).ravel()
    assert force @ V == pytest.approx(-0.7 * 1.5**2, rel=1e-13)
