"""What does inverse dynamics cost: of cranes, against the same equations in NumPy and SciPy; of an arm, against Pinocchio?

Cranes: `minimal-extension` with backward Euler in steps of 1 ms, as one call into compiled code, against eq. (5.38) of document
000 written in NumPy: Newton's method with its analytic Jacobian, and `scipy.optimize.root` with the same residual and Jacobian.
The arm: `computed-torque` at 20,000 times in one call, against a loop of `pinocchio.rnea` from Python over the same motion,
with the torques compared. Times are processor times; rows take turns, and the shortest counts. Compilation is shown apart.

`flat` on the rotary crane: at 10,001 times, from the equations of any machine and their derivatives, against the solution of
this one crane by hand, written in NumPy with Taylor series, at all times at once and at one after the other.

Peer: pip install pin. Without it, its row is left out.

    python benchmarks/servo.py
"""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import scipy.optimize
from measuring import processor_time

from kingpost import ServoTask, open_model
from kingpost.control.servo.inverse import prepare_inverse
from kingpost.control.servo.marching import beginning
from kingpost.control.servo.problem import EXPRESSED
from kingpost.control.servo.start import consistent_start
from kingpost.control.servo.stepping import ServoMarch
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.elements import ForceElement, Input
from kingpost.mechanism.trajectories import RestToRest
from kingpost.plugins.inverse_dynamics.computed_torque import torque_function
from kingpost.simulation.settings import RunSettings

Array = np.ndarray[Any, np.dtype[np.float64]]
ROUNDS, STEP, TIMES = 5, 1e-3, 20_000
GRAVITY = 9.81


def best(*functions: Callable[[], object]) -> list[float]:
    """Return the shortest processor time of each function, called in turn."""
    shortest = [np.inf] * len(functions)
    for _ in range(ROUNDS):
        for k, function in enumerate(functions):
            started = time.process_time()
            function()
            shortest[k] = min(shortest[k], time.process_time() - started)
    return shortest


# --- eq. (5.38) in NumPy ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Crane:
    """M1 p'' = f1 + B1 u - G1' lam, 0 = M2 gamma'' - f2 + G2' lam, 0 = Phi(p, gamma), of document 000, as NumPy functions."""

    inputs: int
    p0: Array
    load_mass: float
    B: Array
    mass: Callable[[Array], Array]
    #: M1' contracted with a vector, as a matrix: how M1 dv changes with p.
    mass_slope: Callable[[Array, Array], Array]
    #: f1 and its derivatives by p and v.
    forces: Callable[[Array, Array], tuple[Array, Array, Array]]
    #: Phi, G1, G2, d(G1)/dp, d(G2)/dp.
    rope: Callable[[Array, Array], tuple[float, Array, Array, Array, Array]]

    def residual(self, z: Array, before: Array, h: float, gamma: Array, acceleration: Array) -> tuple[Array, Array]:
        """Return the equations of one step and their Jacobian; z = (p, v, u, lam)."""
        n = self.inputs
        p, v, u, lam = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n]
        p0, v0 = before[:n], before[n : 2 * n]
        M, (f, f_p, f_v) = self.mass(p), self.forces(p, v)
        phi, G1, G2, G1_p, G2_p = self.rope(p, gamma)
        weight = np.zeros(n)
        weight[-1] = GRAVITY
        r = np.concatenate(
            [
                p - p0 - h * v,
                M @ (v - v0) - h * (f + self.B @ u - G1 * lam),
                self.load_mass * (acceleration + weight) + G2 * lam,
                [phi],
            ]
        )
        J = np.zeros((3 * n + 1, 3 * n + 1))
        J[:n, :n], J[:n, n : 2 * n] = np.eye(n), -h * np.eye(n)
        rows = slice(n, 2 * n)
        J[rows, :n] = self.mass_slope(p, v - v0) - h * (f_p - G1_p * lam)
        J[rows, n : 2 * n] = M - h * f_v
        J[rows, 2 * n : 3 * n], J[rows, 3 * n] = -h * self.B, h * G1
        J[2 * n : 3 * n, :n], J[2 * n : 3 * n, 3 * n] = G2_p * lam, G2
        J[3 * n, :n] = G1
        return r, J


def overhead() -> Crane:
    """Return section 5.3.1: p = (s, l)."""

    def rope(p: Array, y: Array) -> tuple[float, Array, Array, Array, Array]:
        d, z, l = y[0] - p[0], y[1], p[1]
        return (
            (d * d + z * z - l * l) / 2,
            np.array([-d, -l]),
            np.array([d, z]),
            np.array([[1.0, 0.0], [0.0, -1.0]]),
            np.array([[-1.0, 0.0], [0.0, 0.0]]),
        )

    mass, none = np.diag([10.0, 10.0]), np.zeros((2, 2))
    return Crane(
        2, np.array([0.0, 4.0]), 100.0, np.diag([1.0, 10.0]), lambda p: mass, lambda p, d: none,
        lambda p, v: (np.zeros(2), none, none), rope,
    )  # fmt: skip


def rotary() -> Crane:
    """Return section 5.3.2: p = (phi, s, l); f1 has the signs of (5.137), not those of (5.75)."""
    mt, Jb, Jw = 10.0, 480.0, 10.0

    def forces(p: Array, v: Array) -> tuple[Array, Array, Array]:
        s, w, r = p[1], v[0], v[1]
        f = np.array([-2 * mt * s * r * w, mt * s * w * w, 0.0])
        by_p = np.array([[0, -2 * mt * r * w, 0], [0, mt * w * w, 0], [0, 0, 0]])
        by_v = np.array([[-2 * mt * s * r, -2 * mt * s * w, 0], [2 * mt * s * w, 0, 0], [0, 0, 0]])
        return f, by_p, by_v

    def rope(p: Array, y: Array) -> tuple[float, Array, Array, Array, Array]:
        c, n, s, l = np.cos(p[0]), np.sin(p[0]), p[1], p[2]
        dx, dy, z = y[0] - s * c, y[1] - s * n, y[2]
        across, along = y[0] * n - y[1] * c, y[0] * c + y[1] * n
        return (
            (dx * dx + dy * dy + z * z - l * l) / 2,
            np.array([s * across, s - along, -l]),
            np.array([dx, dy, z]),
            np.array([[s * along, across, 0.0], [across, 1.0, 0.0], [0.0, 0.0, -1.0]]),
            np.array([[s * n, -c, 0.0], [-s * c, -n, 0.0], [0.0, 0.0, 0.0]]),
        )

    def slope(p: Array, d: Array) -> Array:
        return np.array([[0.0, 2 * mt * p[1] * d[0], 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])

    return Crane(
        3, np.array([0.0, 5.0, 5.0]), 100.0, np.diag([1.0, 1.0, 10.0]),
        lambda p: np.diag([Jb + mt * p[1] ** 2, mt, Jw]), slope, forces, rope,
    )  # fmt: skip


def start_of(crane: Crane) -> Array:
    """Return p, v, u and lam at rest: lam = m g / l."""
    n, l = crane.inputs, crane.p0[-1]
    lam = crane.load_mass * GRAVITY / l
    u = np.zeros(n)
    u[-1] = -crane.load_mass * GRAVITY * 0.1
    return np.concatenate([crane.p0, np.zeros(n), u, [lam]])


def newton(crane: Crane, path: Array, bends: Array, h: float) -> Array:
    """Step by Newton's method until steps are 1e-10 of the unknowns, from the values before."""
    z = start_of(crane)
    found = [z]
    for gamma, acceleration in zip(path[1:], bends[1:], strict=True):
        before = z
        for _ in range(20):
            r, J = crane.residual(z, before, h, gamma, acceleration)
            change = np.linalg.solve(J, r)
            z = z - change
            if np.abs(change).max() < 1e-10 * max(1.0, np.abs(z).max()):
                break
        found.append(z)
    return np.array(found)


def rooted(crane: Crane, path: Array, bends: Array, h: float) -> Array:
    """Step by scipy.optimize.root with the same residual and Jacobian."""
    z = start_of(crane)
    found = [z]
    for gamma, acceleration in zip(path[1:], bends[1:], strict=True):
        z = scipy.optimize.root(crane.residual, z, args=(z, h, gamma, acceleration), jac=True, tol=1e-10).x
        found.append(z)
    return np.array(found)


# --- cranes -------------------------------------------------------------------------------------------------------------------


def compare_crane(name: str, task: str, crane: Crane, names: tuple[str, ...]) -> None:
    """Print the rows of one crane."""
    began = processor_time()
    model = open_model(name)
    prepared = prepare_inverse(
        model.mechanism,
        model.task(task),
        method="minimal-extension",
        stepper=f"backward-euler:step={STEP}",
        how=RunSettings(backend="c"),
    )
    problem = prepared.problem
    start = consistent_start(problem, prepared.report.index - 1 if prepared.report.index else None)
    times = np.arange(round(problem.task.t_end / STEP) + 1) * STEP
    moving = ServoMarch(prepared.method.reduce(problem, start.point), prepared.stepper)  # type: ignore[attr-defined]
    state, given, p = beginning(moving, start, times, STEP)
    derived = processor_time() - began
    solved = moving.solution()
    symbols = [ca.MX.sym(f"i{k}", solved.numel_in(k)) for k in range(4)]
    observe = ca.Function("kp_observe", symbols, [ca.densify(ca.vertcat(*solved.call(symbols)))])
    began = processor_time()
    kernel = Kernel([moving.step, observe], "c")
    compiled = processor_time() - began
    values = np.empty((len(times) - 1, observe.numel_out(0)))
    path, bends = (problem.signals(times, 3)[:, order, : crane.inputs] for order in (0, 2))
    short = slice(0, len(times) if crane.inputs == 2 else 2001)
    fast, plain, scipys = best(
        lambda: kernel.march(values, 1, 0.0, STEP, state, given, p, at_once=True),
        lambda: newton(crane, path[short], bends[short], STEP),
        lambda: rooted(crane, path[short], bends[short], STEP),
    )
    reference = newton(crane, path[short], bends[short], STEP)
    n = crane.inputs
    mine = values[: len(reference) - 1, -n:]
    apart = np.abs(mine - reference[1:, 2 * n : 3 * n]).max()
    steps, slow = len(times) - 1, len(reference) - 1
    print(f"{name}, {steps} steps of {1000 * STEP:g} ms; derived in {derived:.1f} s, compiled or found in {compiled:.2f} s")
    for who, seconds in (
        ("kingpost", fast / steps),
        ("NumPy, Newton, analytic Jacobian", plain / slow),
        ("scipy.optimize.root", scipys / slow),
    ):
        ratio = seconds * steps / fast
        print(f"  {who:34s} {1e6 * seconds:9.2f} us/step {1 / seconds:12.0f} steps/s   {ratio:7.1f} times kingpost's")
    print(f"  inputs differ by {apart:.1e} ({', '.join(names)})")


# --- flat solution of the rotary crane ----------------------------------------------------------------------------------------


def product(u: Array, v: Array) -> Array:
    """Return the Taylor coefficients of a product."""
    return np.array([sum(u[j] * v[n - j] for j in range(n + 1)) for n in range(min(len(u), len(v)))])


def quotient(u: Array, v: Array) -> Array:
    """Return the Taylor coefficients of a quotient."""
    w: list[Array] = []
    for n in range(min(len(u), len(v))):
        w.append((u[n] - sum(v[j] * w[n - j] for j in range(1, n + 1))) / v[0])
    return np.array(w)


def root(u: Array) -> Array:
    """Return the Taylor coefficients up to s^2 of a square root."""
    w, rate = np.sqrt(u[0]), u[1] / (2 * np.sqrt(u[0]))
    return np.array([w, rate, (u[2] - rate * rate) / (2 * w)])


def angle(y: Array, x: Array) -> Array:
    """Return the Taylor coefficients up to s^2 of atan2(y, x): (x y' - y x') / (x^2 + y^2), integrated."""
    dx, dy = (np.array([part[1], 2 * part[2]]) for part in (x, y))
    rate = quotient(product(x, dy) - product(y, dx), product(x, x) + product(y, y))
    return np.array([np.arctan2(y[0], x[0]), rate[0], rate[1] / 2])


def flat_by_hand(path: Array) -> Array:
    """Return the inputs of the rotary crane (5.3.2) from the path of its load and four derivatives: orders x 3 x times."""
    crane = rotary()
    x, y, z = (np.array([part[k] / (1, 1, 2, 6, 24)[k] for k in range(5)]) for part in np.moveaxis(path, 1, 0))
    ddx, ddy, ddz = (np.array([2 * part[2], 6 * part[3], 12 * part[4]]) for part in (x, y, z))
    ddz[0] += GRAVITY
    # The rope points along the force on the load: (dx, dy, z) lam = -m (gamma'' + g e_z).
    dx, dy = (product(z[:3], quotient(part, ddz)) for part in (ddx, ddy))
    a, b = x[:3] - dx, y[:3] - dy
    p = (angle(b, a), root(product(a, a) + product(b, b)), root(product(dx, dx) + product(dy, dy) + product(z[:3], z[:3])))
    lam = -crane.load_mass * ddz[0] / z[0]
    (f, fd, fdd), (s, sd, sdd), (l, _, ldd) = ((part[0], part[1], 2 * part[2]) for part in p)
    mt, Jb, Jw = 10.0, 480.0, 10.0
    c, n = np.cos(f), np.sin(f)
    G1 = (s * (x[0] * n - y[0] * c), s - (x[0] * c + y[0] * n), -l)
    slew = (Jb + mt * s * s) * fdd + 2 * mt * s * sd * fd + G1[0] * lam
    return np.array([slew, mt * sdd - mt * s * fd * fd + G1[1] * lam, (Jw * ldd + G1[2] * lam) / 10.0])


def compare_flat() -> None:
    """Print the rows of `flat` on the rotary crane."""
    model = open_model("rotary-crane:form=rope")
    prepared = prepare_inverse(model.mechanism, model.task("000-5.3.2"), method="flat")
    problem, start = prepared.problem, consistent_start(prepared.problem, 4)
    times = np.linspace(0.0, problem.task.t_end, 10_001)
    path = np.ascontiguousarray(np.moveaxis(problem.signals(times, 4)[:, :, :3], 0, -1))
    method: Any = prepared.method
    ours, at_once, one_by_one = best(
        lambda: method.solve(problem, start, times, lambda done: None),
        lambda: flat_by_hand(path),
        lambda: [flat_by_hand(path[:, :, i]) for i in range(0, len(times), 10)],
    )
    apart = np.abs(method.solve(problem, start, times, lambda done: None)[1][:, -3:] - flat_by_hand(path).T).max()
    print(f"rotary crane, flat inputs at {len(times)} times; nothing is compiled")
    for who, seconds in (
        ("kingpost, flat, any machine", ours),
        ("by hand in NumPy, time by time", 10 * one_by_one),
        ("by hand in NumPy, all at once", at_once),
    ):
        print(f"  {who:34s} {1e6 * seconds / len(times):9.2f} us/time {seconds / ours:8.3f} times kingpost's")
    print(f"  inputs differ by {apart:.1e}")


# --- six-axis arm -------------------------------------------------------------------------------------------------------------


def driven_arm() -> tuple[Any, ServoTask]:
    """Return the six-axis arm with a torque in each joint, and a task that moves all of them at once."""
    arm = open_model("six-axis-arm").mechanism
    joints = [coordinate.name for coordinate in arm.coordinates]
    inputs = tuple(Input(f"torque{i}", "N.m", 0.0) for i in range(1, 7))
    drives = tuple(
        ForceElement("joint-effort", name=f"drive{i}", coordinate=name, effort=torque)
        for i, (name, torque) in enumerate(zip(joints, inputs, strict=True), 1)
    )
    gravity = tuple(force for force in arm.forces if force.kind == "gravity")
    machine = dataclasses.replace(arm, inputs=inputs, forces=(*gravity, *drives))
    used = {item.name for item in arm.parameters if item.name not in ("kP", "kD")}
    machine = dataclasses.replace(machine, parameters=tuple(item for item in arm.parameters if item.name in used))
    path = {name: RestToRest(0.1 * k, 1.0 - 0.3 * k, 0.0, 2.0) for k, name in enumerate(joints)}
    return machine, ServoTask(path, tuple(item.name for item in inputs), 2.0)


def pinocchio_arm(pin: Any, arm: Any) -> Any:
    """Return the same arm as a model of Pinocchio, from the same numbers."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    bodies = {body.name: body for body in arm.bodies}
    parent = 0
    for joint in arm.joints:
        body, place = bodies[joint.child], np.array([float(x) for x in joint.position])
        if joint.kind == "weld":
            moment = 10.0 * 0.01 * np.eye(3)
            model.appendBodyToJoint(parent, pin.Inertia(10.0, np.zeros(3), moment), pin.SE3(np.eye(3), place))
            continue
        kind = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}[tuple(joint.axis)]
        parent = model.addJoint(parent, kind(), pin.SE3(np.eye(3), place), joint.name)
        centre, moments = (np.array([float(x) for x in part]) for part in (body.com, body.inertia))
        inertia = pin.Inertia(float(body.mass), centre, np.diag(moments))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def compare_arm() -> None:
    """Print the rows of the arm."""
    arm, task = driven_arm()
    began = processor_time()
    prepared = prepare_inverse(arm, task, method="computed-torque", how=RunSettings(backend="c"))
    problem = prepared.problem
    derived = processor_time() - began
    began = processor_time()
    kernel = Kernel([torque_function(problem)], "c")
    compiled = processor_time() - began
    times = np.linspace(0.0, 2.0, TIMES)
    signals = np.ascontiguousarray(problem.signals(times, EXPRESSED).reshape(TIMES, -1))
    nothing = np.zeros((TIMES, 0))
    values = kernel.sample(times, nothing, signals, problem.p)
    try:
        pin = importlib.import_module("pinocchio")
    except ImportError:
        (ours,) = best(lambda: kernel.sample(times, nothing, signals, problem.p))
        print(f"six-axis arm: {1e6 * ours / TIMES:.2f} us per time; pinocchio is not installed: pip install pin")
        return
    model = pinocchio_arm(pin, arm)
    data = model.createData()
    q, v, a = (np.ascontiguousarray(values[:, 6 * k : 6 * k + 6]) for k in range(3))
    theirs_torques = np.array([pin.rnea(model, data, q[i], v[i], a[i]) for i in range(0, TIMES, 100)])
    apart = np.abs(values[::100, 18:] - theirs_torques).max()

    def loop() -> None:
        torques = np.empty((TIMES, 6))
        rnea = pin.rnea
        for i in range(TIMES):
            torques[i] = rnea(model, data, q[i], v[i], a[i])

    ours, theirs = best(lambda: kernel.sample(times, nothing, signals, problem.p), loop)
    print(f"six-axis arm, torques at {TIMES} times; derived in {derived:.1f} s, compiled or found in {compiled:.2f} s")
    print(f"  {'kingpost, computed-torque':34s} {1e6 * ours / TIMES:9.2f} us/time (with angles, rates and accelerations)")
    print(f"  {'pinocchio.rnea from Python':34s} {1e6 * theirs / TIMES:9.2f} us/time   {theirs / ours:7.1f} times kingpost's")
    print(f"  torques differ by {apart:.1e} N m")


def main() -> None:
    """Print all rows."""
    compare_crane("overhead-crane:form=dependent", "000-5.3.1", overhead(), ("trolley_force", "winch_torque"))
    compare_crane("rotary-crane:form=rope", "000-5.3.2", rotary(), ("slew_torque", "trolley_force", "winch_torque"))
    compare_flat()
    compare_arm()


if __name__ == "__main__":
    main()
