"""Wave excitation against closed forms and linear theory."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Parameter
from kingpost.marine.waves import jonswap
from tests.plugins.forces.deriving import FORMULATIONS, applied, derive, run
from tests.plugins.forces.floating import (
    UNIT,
    body,
    full_matrix,
    heaving,
    in_heave,
    rigid,
    rk4_error,
    rotation,
    shape,
    states,
    vessel,
)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("frequency", [0.6, 1.4, 3.0], ids=["long", "resonant", "short"])
def test_a_floating_body_heaves_in_a_regular_wave_by_the_closed_form(frequency, formulation):
    mass, added, damping, stiffness, transfer, amplitude, phase, lead = 4.0, 3.0, 1.2, 14.0, 25.0, 0.3, 0.7, -0.4
    wave = amplitude * np.exp(1j * phase)
    force = transfer * np.exp(1j * lead) * wave
    Z = force / (stiffness - frequency**2 * (mass + added) + 1j * frequency * damping)
    mechanism = heaving(
        ForceElement("added-mass", body="hull", matrix=in_heave(added)),
        ForceElement("body-damping", body="hull", matrix=in_heave(damping)),
        ForceElement("hydrostatic", body="hull", matrix=in_heave(stiffness)),
        ForceElement(
            "wave-excitation",
            body="hull",
            components=[(amplitude, frequency, phase)],
            transfer=[(0, 0, transfer, 0, 0, 0)],
            transfer_phase=[(0, 0, lead, 0, 0, 0)],
        ),
        mass=mass,
        start=Z.real,
        start_rate=(1j * frequency * Z).real,
    )
    # Begun in the steady state, the motion is it from the first step on: nothing has to decay.
    history = run(mechanism, 12.0, 0.02, formulation=formulation)
    exact = (Z * np.exp(1j * frequency * history.time)).real
    assert np.abs(history["sea.displacement"] - exact).max() < abs(Z) * rk4_error(3.0, 12.0, 0.02)


def test_all_six_motions_in_a_small_wave_are_those_of_the_linear_theory():
    mass, com, inertia = shape(0)
    A, B, C = full_matrix(1), full_matrix(2), 5 * full_matrix(5)
    frequency, amplitude = 1.3, 1e-4
    lead, magnitude = np.array([0.1, 0.5, -0.7, 1.2, 2.0, -0.3]), np.array([3.0, -2.0, 5.0, 1.0, 4.0, -6.0])
    X = amplitude * np.linalg.solve(
        C - frequency**2 * (rigid(mass, com, inertia) + A) + 1j * frequency * B, magnitude * np.exp(1j * lead)
    )
    place, speed = X.real, (1j * frequency * X).real
    mechanism = Mechanism(
        "floating",
        bodies=[body("hull", (mass, com, inertia))],
        joints=[
            Joint("sea", "free", "world", "hull", start=(*place[:3], 1, *place[3:] / 2), start_rate=(*speed[3:], *speed[:3]))
        ],
        forces=[
            ForceElement("added-mass", body="hull", matrix=A.tolist()),
            ForceElement("body-damping", body="hull", matrix=B.tolist()),
            ForceElement("hydrostatic", body="hull", matrix=C.tolist()),
            ForceElement(
                "wave-excitation",
                body="hull",
                components=[(amplitude, frequency, 0)],
                transfer=[magnitude.tolist()],
                transfer_phase=[lead.tolist()],
            ),
        ],
    )
    history = run(mechanism, 10.0, 0.01)
    found = history.select(["sea.x", "sea.y", "sea.z", "sea.qx", "sea.qy", "sea.qz"]) * np.array([1, 1, 1, 2, 2, 2])
    exact = np.real(np.outer(np.exp(1j * frequency * history.time), X))
    # Terms of second order, motion times motion, are left out: some ten of them. rk4 adds less than 1e-6 of the motion.
    size = np.abs(X).max()
    assert np.abs(found - exact).max() < 10 * size**2 + 1e-6 * size


def test_a_wave_wrench_keeps_its_horizontal_axes_and_its_point():
    transfer, lead = np.array([3.0, -2.0, 5.0, 1.0, 4.0, -6.0]), np.array([0.1, 0.5, -0.7, 1.2, 2.0, -0.3])
    waves, at, heading = [(0.4, 0.9, 0.3), (0.2, 1.7, -1.1)], np.array([0.5, -0.2, 0.1]), 0.8
    rows, leads = [transfer, 2 * transfer], [lead, lead + 0.2]
    force = ForceElement(
        "wave-excitation",
        body="hull",
        components=waves,
        transfer=np.array(rows).tolist(),
        transfer_phase=np.array(leads).tolist(),
        at=at.tolist(),
        heading=heading,
        ramp=4.0,
    )
    mechanism = vessel(shape(0), shape(1), force)
    turn = np.array([[math.cos(heading), -math.sin(heading), 0], [math.sin(heading), math.cos(heading), 0], [0, 0, 1]])
    for t, grown in ((-1.0, 0.0), (0.0, 0.0), (1.0, 0.103515625), (2.0, 0.5), (4.0, 1.0), (7.0, 1.0)):
        q, v = next(states())
        wrench = sum(
            a * row * np.cos(w * t + phase + ahead) for (a, w, phase), row, ahead in zip(waves, rows, leads, strict=True)
        )
        force_B, moment_B = rotation(q).T @ turn @ wrench[:3], rotation(q).T @ turn @ wrench[3:]
        exact = grown * np.concatenate([moment_B + np.cross(at, force_B), force_B, [0.0]])
        assert applied(mechanism, q, v, t) == pytest.approx(exact, abs=1e-12)


def test_one_row_serves_all_components_and_formulas_may_use_inputs_and_parameters():
    sea = [("scale * 0.5", "w", "shift"), (0.2, 1.7, "2 * shift")]
    force = ForceElement("wave-excitation", body="hull", components=sea, transfer=[UNIT])
    more = {
        "inputs": [Input("shift", "rad")],
        "parameters": [Parameter("scale", 1.0, "1"), Parameter("w", 1.0, "rad/s")],
    }
    exact = 1.4 * 0.5 * math.cos(1.1 * 2.0 + 0.3) + 0.2 * math.cos(1.7 * 2.0 + 0.6)
    assert applied(heaving(force, **more), [0.0], [0.0], 2.0, [0.3], [1.4, 1.1]) == pytest.approx([exact], abs=1e-14)


def test_fifty_waves_cost_a_sine_and_a_cosine_each():
    force = ForceElement("wave-excitation", body="hull", components=jonswap(2.0, 8.0, components=50), transfer=[UNIT] * 50)
    equations = derive(heaving(force))
    symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
    function = ca.Function("f", symbols, [equations.f])
    operations = [function.instruction_id(i) for i in range(function.n_instructions())]
    assert sum(operation in (ca.OP_SIN, ca.OP_COS) for operation in operations) <= 100
    assert len(operations) < 600


def test_the_sea_of_the_documentation_can_be_put_on_a_body(root):
    names = {}
    exec((root / "docs" / "marine.md").read_text().split("```python\n")[1].split("```")[0], names)
    equations = derive(
        Mechanism(
            "barge", [Body("barge", mass=1.0)], [Joint("sea", "prismatic", "world", "barge", axis=(0, 0, 1))], [names["force"]]
        )
    )
    heave = float(equations.descriptor(30.0, [0], [0], [], [])[1])
    assert heave == pytest.approx(3.5e5 * sum(a * math.cos(w * 30.0 + phase) for a, w, phase in names["sea"]), rel=1e-12)
