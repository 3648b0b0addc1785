"""The rotary crane with two winches against the ten coordinates of document 000, section 5.4.4, written out by hand."""

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, jets, model, worst

M, M0, JB, JW, RW, R, ALPHA, G = 100.0, 10.0, 480.0, 0.1, 0.1, 4.0, 0.5, 9.81
#: Radii of the winches, which the document does not give.
R1 = R2 = 0.1


def solution(task):
    """Return the flat solution of the reduced crane, and eq. (5.140): Ft = M1/r1 + M2/r2, Mw = rw M2/r2."""
    time = Time()
    t, rate = time.t, time.rate
    x, y, z = jets(task, t).values()
    lift = G + z[2]
    Ax, Ay = x[0] - z[0] * x[2] / lift, y[0] - z[0] * y[2] / lift
    s, phi = ca.sqrt(Ax**2 + Ay**2), ca.atan2(Ay, Ax)
    length = -z[0] * ca.sqrt(x[2] ** 2 + y[2] ** 2 + lift**2) / lift
    lam = M * ca.sqrt(x[2] ** 2 + y[2] ** 2 + lift**2)
    Mb = (JB + M0 * s**2) * rate(phi, 2) + 2 * M0 * s * rate(s) * rate(phi)
    Mb = Mb + lam * s * (x[0] * ca.sin(phi) - y[0] * ca.cos(phi)) / length
    Ft = M0 * rate(s, 2) - M0 * s * rate(phi) ** 2 + lam * (s - x[0] * ca.cos(phi) - y[0] * ca.sin(phi)) / length
    Mw = RW * (JW / RW**2 * rate(length, 2) - lam)
    second = R2 * Mw / RW
    first = R1 * (Ft - second / R2)
    # Eq. (5.135).
    coordinates = {
        **{"slew.angle": phi, "carriage.x": s * ca.cos(phi), "carriage.y": s * ca.sin(phi)},
        **{"winch1.angle": (s - 5.0) / R1, "winch2.angle": (s + length - 10.0) / R2, "share.growth": s - 5.0},
        **{"hook.x": x[0], "hook.y": y[0], "hook.z": z[0]},
    }
    known = {"Ft": Ft, "Mw": Mw, "Mb": Mb, "s": s, "l": length, "phi": phi, "tension": lam}
    inputs = {"winch1_torque": first, "winch2_torque": second, "slew_torque": Mb}
    return Flat(time, coordinates, inputs, known)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors:effort=angle"])
def test_the_flat_solution_solves_the_equations_of_motion(formulation):
    crane = model("rotary-crane-two-winches")
    flat = solution(crane.tasks()["000-5.4.4"])
    residual, open_by = worst(Followed(crane.build(), formulation, flat), (0.5, 2.5, 4.0, 9.0, 12.5, 17.5, 19.0))
    assert residual < 1e-8
    assert open_by < 1e-11
    # The inputs of section 5.3.2.
    found = flat.at(2.5)
    assert [found[name] for name in ("Mb", "Ft", "Mw")] == pytest.approx([34.583302, -21.373025, -99.087454], rel=6e-8)


def test_the_flat_solution_solves_the_equations_of_the_document():
    """Eqs. (5.122)-(5.127) in ten coordinates, with the true Jacobians where (5.127) has all signs reversed."""
    flat = solution(model("rotary-crane-two-winches").tasks()["000-5.4.4"])
    c, k = flat.coordinates, flat.known
    x2, y2 = -R * ca.cos(k["phi"]), -R * ca.sin(k["phi"])
    q = ca.vertcat(
        *(x2, y2, c["carriage.x"], c["carriage.y"], k["s"] + ALPHA * R, k["s"] + R + k["l"], k["s"] + R),
        *(c["hook.x"], c["hook.y"], c["hook.z"]),
    )
    symbols = ca.SX.sym("q", 10)
    X2, Y2, X0, Y0, L1, L2, L0, X, Y, Z = ca.vertsplit(symbols)
    Phi = ca.vertcat(
        ((X0 - ALPHA * X2) ** 2 + (Y0 - ALPHA * Y2) ** 2 - L1**2) / 2,
        ((X0 - X2) ** 2 + (Y0 - Y2) ** 2 - L0**2) / 2,
        (X2**2 + Y2**2 - R**2) / 2,
        X2 * Y0 - X0 * Y2,
        ((X - X0) ** 2 + (Y - Y0) ** 2 + Z**2 - (L2 - L0) ** 2) / 2,
    )
    mass = np.diag([JB / R**2, JB / R**2, M0, M0, JW / RW**2, JW / RW**2, 0.0, M, M, M])
    mass[4, 5] = mass[5, 4] = -JW / RW**2
    assert np.linalg.matrix_rank(mass[:7, :7]) == 5
    first, second, Mb = (flat.inputs[name] for name in ("winch1_torque", "winch2_torque", "slew_torque"))
    forces = ca.vertcat(-Y2 * Mb / R**2, X2 * Mb / R**2, 0, 0, first / R1, second / R2, 0, 0, 0, -M * G)
    needed = mass @ flat.time.rate(q, 2) - ca.substitute(forces, symbols, q)
    held = [ca.substitute(part, symbols, q) for part in (Phi, ca.jacobian(Phi, symbols))]
    evaluate = ca.Function("document", [flat.time.t], [needed, *held])
    for time in (0.5, 2.5, 9.0, 16.0):
        r, phi, A = (np.asarray(part) for part in evaluate(time))
        lam = np.linalg.lstsq(A.T, -r, rcond=None)[0]
        assert np.abs(phi).max() < 1e-11
        assert np.abs(r + A.T @ lam).max() < 1e-8


def test_the_reduced_mass_matrix_is_eq_5_136():
    """With J1 and J2 that the document leaves zero: along phi, s and l, our mass matrix is that of the document."""
    mechanism = model("rotary-crane-two-winches").build()
    equations = derive(assemble(mechanism, PLUGINS), "kane", PLUGINS)
    J1, J2 = 0.3, 0.2
    p = [{"winch1_inertia": J1, "winch2_inertia": J2}.get(item.name, item.default) for item in mechanism.parameters]
    phi, s = 0.7, 3.0
    cos, sin = np.cos(phi), np.sin(phi)
    names = [coordinate.name for coordinate in mechanism.coordinates]
    along = {
        "slew.angle": (1, 0, 0), "carriage.x": (-s * sin, cos, 0), "carriage.y": (s * cos, sin, 0),
        "winch1.angle": (0, 1 / R1, 0), "winch2.angle": (0, 1 / R2, 1 / R2), "share.growth": (0, 1, 0),
    }  # fmt: skip
    D = np.array([along.get(name, (0, 0, 0)) for name in names])
    q = [{"slew.angle": phi, "carriage.x": s * cos, "carriage.y": s * sin}.get(name, 0.0) for name in names]
    mass = np.asarray(equations.function("M", [equations.M])(0, q, np.zeros(9), np.zeros(3), p))
    expected = np.array(
        [
            [JB + M0 * s**2, 0, 0],
            [0, M0 + J1 / R1**2 + J2 / R2**2, J2 / R2**2],
            [0, J2 / R2**2, J2 / R2**2 + JW / RW**2],
        ]
    )
    assert D.T @ mass @ D == pytest.approx(expected, abs=1e-11)
    assert len(names) - equations.constraints.count == 5


def test_ropes_show_their_tensions():
    crane = model("rotary-crane-two-winches")
    flat = solution(crane.tasks()["000-5.4.4"])
    followed = Followed(crane.build(), "kane", flat)
    for time in (2.5, 9.0, 17.5):
        found, tensions = flat.at(time), followed.tensions(time)
        assert tensions["lower-rope.tension"] == pytest.approx(found["tension"], rel=1e-10)


def test_the_crane_hangs_at_rest_and_refuses_natural_coordinates():
    mechanism = model("rotary-crane-two-winches").build()
    history = simulate(mechanism, 0.1, step=0.002, backend="vm", plugins=PLUGINS)
    assert max(np.ptp(history[f"load.{axis}"]) for axis in "xyz") < 1e-11
    assert history["trolley-rope.tension"][0] == pytest.approx(-981.0)  # it holds the trolley off: it pushes
    with pytest.raises(MechanismError, match="adds inertia to coordinate 'winch1.angle'"):
        simulate(mechanism, 0.1, formulation="directors", plugins=PLUGINS)
