"""Direct-current motors against closed forms."""

import math

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, simulate
from kingpost.base.errors import MechanismError


def shaft(**options):
    """A flywheel of 0.02 kg m^2 about z, driven by a motor."""
    return Mechanism(
        "shaft",
        bodies=(Body("wheel", mass=1.0, inertia=(0.02, 0.02, 0.02)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1)),),
        inputs=(Input("voltage", "V"),),
        forces=(ForceElement("dc-motor", name="motor", coordinate="axle.angle", voltage="voltage", **options),),
    )


def test_a_motor_runs_up_as_two_exponentials():
    """L i' = V - R i - k n w, (J + n^2 Jm) w' = n k i - n^2 d w: a linear system, solved by its eigenvectors."""
    V, R, L, k, n, Jm, d = 12.0, 0.6, 2e-3, 0.04, 8.0, 1e-4, 1e-4
    machine = shaft(resistance=R, inductance=L, torque_constant=k, ratio=n, inertia=Jm, damping=d)
    history = simulate(machine, settings={"voltage": V}, t_end=0.3, output_step=0.05, step=5e-5)
    J = 0.02 + n**2 * Jm
    A = np.array([[-R / L, -k * n / L], [n * k / J, -(n**2) * d / J]])
    steady = -np.linalg.solve(A, [V / L, 0.0])
    values, vectors = np.linalg.eig(A)
    shares = np.linalg.solve(vectors, -steady)
    expected = [steady + (vectors @ (shares * np.exp(values * t))).real for t in history.time]
    found = np.column_stack([history["motor.current"], history["axle.angle.rate"]])
    # RK4 with 66 steps for the fast time constant L / R errs by 66^-4 / 120 of the current.
    assert np.abs(found - expected).max() < 1e-6
    assert history["motor.torque"] == pytest.approx(k * history["motor.current"] - d * n * history["axle.angle.rate"])
    assert history["motor.power"] == pytest.approx(V * history["motor.current"])


def test_work_of_the_source_is_kinetic_energy_field_energy_and_heat():
    """Power balance of a motor without damping, whose back EMF constant is its torque constant."""
    R, L, k = 0.6, 2e-3, 0.04
    machine = shaft(resistance=R, inductance=L, torque_constant=k, inertia=3e-4)
    history = simulate(machine, settings={"voltage": 6.0}, t_end=0.1, output_step=1e-4, step=5e-5)
    i, t = history["motor.current"], history.time
    flow = history["motor.power"] - R * i**2
    stored = history["energy.kinetic"] + L * i**2 / 2
    trapezium = np.concatenate([[0.0], np.cumsum((flow[1:] + flow[:-1]) / 2 * np.diff(t))])
    # The trapezium rule errs by h^2 / 12 times the change of slope of the flow, some 6 V * 3000 A/s.
    assert np.abs(stored - trapezium).max() < (1e-4) ** 2 / 12 * 6 * 3000 * 10


def test_another_constant_of_back_emf_and_a_current_at_the_start():
    machine = shaft(resistance=1.0, inductance=1e-2, torque_constant=0.1, back_emf=0.0, current=3.0)
    history = simulate(machine, t_end=0.02, output_step=0.01, step=1e-4)
    assert history["motor.current"] == pytest.approx(3 * np.exp(-history.time / 1e-2), abs=1e-8)
    assert history["axle.angle.rate"][-1] == pytest.approx(0.1 * 3 * 1e-2 * (1 - math.exp(-2)) / 0.02, abs=1e-8)


def test_a_motor_without_inductance_is_refused():
    with pytest.raises(MechanismError, match=r"dc-motor on 'axle.angle': inductance is 0 H; it must be positive"):
        simulate(shaft(inductance=0.0), t_end=0.1)
