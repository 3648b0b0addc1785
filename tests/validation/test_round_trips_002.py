"""Target 47 of document 002: torques of method ``modular`` lead its machines along their paths in runs of another formulation.

Torques are exact at samples, and a spline of fourth order between them. How far its error du leads a machine away is known:
with the torques U(x, v, a) that virtual work asks for, written out by hand,

    dU/da d'' + dU/dv d' + dU/dx d = du

along the path. The spline's error is h^4 5/384 of the fourth derivative. Forward runs take steps h/8 of rk4, which lose less
than (h/8)^4 / 120 of such a derivative: 1.6e-4 of that, so that a hundredth leaves room for 60 times larger derivatives of what
rk4 samples; the square of d is smaller still.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from kingpost import RunSettings, simulate
from kingpost.control.servo.index.report import IndexReport
from kingpost.control.servo.inverse import PreparedInverse
from kingpost.control.servo.posing import pose_servo
from kingpost.modelfiles.opened import open_model
from kingpost.registry.selection import select
from tests.plugins.models.inverse_002 import kinetic_energy, moments_of_motion, quick_return, rrr_legs, rrr_path
from tests.plugins.models.slider_crank_forces import slider_crank, slider_path

T = ca.SX.sym("t")
#: How much of the predicted error a run may be off it: see above.
NEAR = 0.01


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine with as many measures as torques, as one can write it out by hand."""

    model: str
    torques: tuple[str, ...]
    measures: tuple[str, ...]
    #: The path, as expressions of the time T.
    path: tuple[ca.SX, ...]
    #: Returns torques, kinetic energy, and the power of friction, for SX columns x, v, a.
    needs: Callable[[ca.SX, ca.SX, ca.SX], tuple]
    step: float
    t_end: float
    settings: dict[str, float]

    def along(self):
        """Return the function t -> x, v, a, torques, energy, power of friction and the slopes of torques by x, v, a."""
        n = len(self.path)
        x, v, a = (ca.SX.sym(name, n) for name in "xva")
        torques, energy, lost = self.needs(x, v, a)
        slopes = [ca.jacobian(torques, item) for item in (x, v, a)]
        place = ca.vertcat(*self.path)
        rate = ca.jacobian(place, T)
        jets = [place, rate, ca.jacobian(rate, T)]
        found = ca.substitute([torques, ca.SX(energy), ca.SX(lost), *slopes], [x, v, a], [ca.densify(jet) for jet in jets])
        return ca.Function("along", [T], [ca.densify(item) for item in (*jets, *found)])

    def predicted(self, step, times):
        """Return how far the spline through torques at steps leads the machine off its path, at some of its times."""
        along, n = self.along(), len(self.path)
        knots = np.linspace(0, self.t_end, round(self.t_end / step) + 1)
        spline = CubicSpline(knots, np.array(along(knots[None, :])[3]).T)
        # Runge and Kutta with four steps between two samples, the spline's error being smooth there.
        fine = np.linspace(0, self.t_end, 8 * (len(knots) - 1) + 1)
        values = [np.array(item) for item in along(fine[None, :])]
        du = spline(fine) - values[3].T
        Ux, Uv, Ua = (item.reshape(n, len(fine), n).transpose(1, 0, 2) for item in values[6:])

        def rates(k, y):
            return np.concatenate([y[n:], np.linalg.solve(Ua[k], du[k] - Uv[k] @ y[n:] - Ux[k] @ y[:n])])

        y, h, rows = np.zeros(2 * n), fine[2] - fine[0], [np.zeros(2 * n)]
        for k in range(0, len(fine) - 2, 2):
            k1 = rates(k, y)
            k2 = rates(k + 1, y + h / 2 * k1)
            k3 = rates(k + 1, y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rates(k + 2, y + h * k3))
            rows.append(y)
        return CubicSpline(fine[::2], np.array(rows)[:, :n])(times)


def quick_return_needs(x, v, a):
    parts, _ = quick_return(x[0])
    return moments_of_motion(parts, x, v, a), kinetic_energy(parts, x, v), 0.0


def rrr_needs(x, v, a):
    bases, _, parts = rrr_legs(*ca.vertsplit(x))
    J = ca.jacobian(ca.vertcat(*bases), x)
    return ca.solve(J.T, moments_of_motion(parts, x, v, a)), kinetic_energy(parts, x, v), 0.0


def slider_crank_needs(transition):
    def needs(x, v, a):
        there = slider_crank(x, v, a, 0.5 * ca.tanh(v / transition) if transition else 0.0)
        return there.torque, there.energy, there.x3 * v

    return needs


#: Friction that rises over a good part of the path, so that a spline can follow it.
SOFT = {"transition": 0.5}
MACHINES = {
    "whitworth": Machine(
        "whitworth", ("torque",), ("crank-pivot.angle",), (pi / 4 + pi / 2 * T,), quick_return_needs, 0.02, 4.0,
        {"crank-pivot.angle.rate": pi / 2},
    ),
    "rrr-parallel": Machine(
        "rrr-parallel", ("torque1", "torque2", "torque3"), ("platform.x", "platform.y", "platform.angle"), tuple(rrr_path(T)),
        rrr_needs, 0.04, 4.0, {"platform.x.rate": -pi / 2, "platform.y.rate": pi / 4},
    ),
    "slider-crank": Machine(
        "spatial-slider-crank:friction=none", ("torque",), ("guide.displacement",), (slider_path(T),),
        slider_crank_needs(None), 0.005, 0.5, {},
    ),
    "slider-crank that rubs": Machine(
        "spatial-slider-crank", ("torque",), ("guide.displacement",), (slider_path(T),),
        slider_crank_needs(SOFT["transition"]), 0.0025, 0.5, SOFT,
    ),
}  # fmt: skip


SLOW = ("rrr-parallel", "slider-crank that rubs")


@pytest.fixture(scope="module", params=[pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in MACHINES])
def found(request):
    """A machine, and what method ``modular`` finds for its task; the index of the task is found elsewhere."""
    machine = MACHINES[request.param]
    opened = open_model(machine.model)
    task = replace(opened.task("002"), t_end=machine.t_end)
    how = RunSettings(loads=(), backend="vm")
    own = {name: value for name, value in machine.settings.items() if not name.endswith(".rate")}
    problem = pose_servo(opened.mechanism, task, how, values=own, plugins=opened.plugins)
    way = select(opened.plugins.of("inverse_dynamics"), "modular")
    stepper = select(opened.plugins.of("servo_steppers"), f"bdf2:step={machine.step}")
    report = IndexReport(machine.model, task.name, task.measures, task.inputs)
    return machine, opened, PreparedInverse(problem, way, stepper, report).run()


def test_torques_and_power_are_those_of_virtual_work(found):
    """Rounding of 60 N m, with conditions of up to 1e2; power is the rate of the kinetic energy, less what friction takes."""
    machine, _, inverse = found
    along = machine.along()
    values = [np.array(item) for item in along(inverse.time[None, :])]
    np.testing.assert_allclose(inverse.select(list(machine.torques)).T, values[3], atol=1e-10)
    energy = ca.SX.sym("t")
    rate = ca.Function("rate", [energy], [ca.jacobian(along(energy)[4], energy)])
    expected = np.array(rate(inverse.time[None, :])) - values[5]
    np.testing.assert_allclose(inverse["servo.power"], expected[0], atol=1e-8)
    np.testing.assert_allclose(inverse["energy.kinetic"], values[4][0], atol=1e-10)


def test_the_torques_lead_another_formulation_along_the_path(found):
    """As far off as the spline's error says; with half the sampling step that is of fourth order at least."""
    machine, opened, inverse = found
    forward = simulate(
        opened.mechanism, machine.t_end, settings=machine.settings, inputs=inverse, step=machine.step / 8,
        output_step=machine.t_end / 50, formulation="recursive", plugins=opened.plugins, backend="vm",
    )  # fmt: skip
    wanted = np.array(machine.along()(forward.time[None, :])[0]).T
    predicted, finer = (machine.predicted(step, forward.time) for step in (machine.step, machine.step / 2))
    size = np.abs(predicted).max(axis=0)
    off = forward.select(list(machine.measures)) - wanted - predicted
    assert np.all(np.abs(off).max(axis=0) < NEAR * size)
    assert np.all(np.abs(finer).max(axis=0) < size / 2**3.9)
