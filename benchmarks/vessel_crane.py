"""What do accelerations, an RK4 step and a whole run of the vessel-crane cost, against Pinocchio, MuJoCo, Exudyn and NumPy?

Every row is the same machine: a vessel on cubic springs in roll, pitch and yaw, and a crane whose three joints follow their
set-points by PD control, under gravity. The peers get it from the paper's numbers, not from Kingpost. How far each row's
accelerations, and its state after 0.1 s, are from Kingpost's is printed beside its times.

Peers: pip install pin mujoco exudyn. One that is missing is left out.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import casadi as ca
import numpy as np

from kingpost import PluginSet, prepare
from kingpost.kernel.kernel import Kernel

STEP, T_END = 0.001, 20.0
#: Where times are taken and rows are compared: on the way, off the set-points. Roll, pitch, yaw, slew, luff, knuckle.
T = 4.0
Q = np.array([0.03, -0.02, 0.05, 0.1, 0.2, -2.0])
V = np.array([0.1, -0.2, 0.05, 0.1, 0.2, 0.3])
START = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -3 * math.pi / 4])
COMPARED_STEPS = 100
#: Short slices in many rounds: a shared machine runs at changing speeds, and each row should meet its best one.
ROUNDS, SLICE, BUDGET = 60, 0.02, 4.0

Array = np.ndarray[Any, np.dtype[np.float64]]


# The machine in the paper's numbers.

SPRING, KP, KD = 8e7, 5e4, 5e3
GRAVITY = np.array([0.0, 0.0, -9.81])
MASSES = {"vessel": 1200.0, "king": 30.0, "inner-boom": 30.0, "outer-boom": 30.0}
#: Moments of inertia about the centre of mass, by those of a slender rod, m l^2 / 12, and l.
INERTIAS = {
    "vessel": ((1, 1, 1), 5.0),
    "king": ((1, 1, 0.1), 2.0),
    "inner-boom": ((0, 1, 1), 2.0),
    "outer-boom": ((0, 1, 1), 2.0),
}
UNIT = dict(zip("xyz", np.eye(3), strict=True))
CENTRES = {"vessel": 2.5 * UNIT["z"], "king": 1.0 * UNIT["z"], "inner-boom": 1.0 * UNIT["x"], "outer-boom": 1.0 * UNIT["x"]}
#: Origin and axes of each frame in the one before, with all angles zero. Every joint of the crane turns about its own z.
ORIGINS = {"vessel": np.zeros(3), "king": 5.0 * UNIT["z"], "inner-boom": 2.0 * UNIT["z"], "outer-boom": 2.0 * UNIT["x"]}
BOOM_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
AXES = {"vessel": np.eye(3), "king": np.eye(3), "inner-boom": BOOM_AXES, "outer-boom": np.eye(3)}
TURNS = {"vessel": "zyx", "king": "z", "inner-boom": "z", "outer-boom": "z"}
#: The peers turn about yaw, pitch, roll in this order; there and back.
PEER_ORDER = [2, 1, 0, 3, 4, 5]
#: Slew, luff and knuckle at 0, 10 and 20 s.
SET_POINTS = np.array(
    [[0.0, 0.0, -3 * math.pi / 4], [0.0, math.pi / 4, -math.pi / 4], [math.pi / 2, math.pi / 4, -math.pi / 4]]
)
MOVES = np.diff(SET_POINTS, axis=0)


def inertia(body: str, mass: float) -> Array:
    """Return the inertia matrix of a body about its centre of mass."""
    shape, length = INERTIAS[body]
    return mass * length**2 / 12 * np.diag(shape)


def rest_to_rest(s: Any) -> Any:
    """Return the way covered, from 0 to 1 as s goes from 0 to 1."""
    return s * s * s * s * s * (126.0 + s * (-420.0 + s * (540.0 + s * (-315.0 + s * 70.0))))


def rest_to_rest_rate(s: Any) -> Any:
    """Return its derivative."""
    a = s * (1.0 - s)
    return 630.0 * a * a * a * a


def set_point(t: float) -> tuple[Array, Array]:
    """Return where the crane's joints should be, and how fast they should move."""
    leg = 0 if t < 10.0 else 1
    s = min(t / 10.0 - leg, 1.0)
    return SET_POINTS[leg] + MOVES[leg] * rest_to_rest(s), MOVES[leg] * (rest_to_rest_rate(s) / 10.0)


def torques(t: float, q: Array, v: Array) -> Array:
    """Return springs and PD control, as a NumPy user writes them; good for both orders of roll, pitch and yaw."""
    target, rate = set_point(t)
    tau = np.empty(6)
    tau[:3] = -SPRING * q[:3] * q[:3] * q[:3]
    tau[3:] = KP * (target - q[3:]) + KD * (rate - v[3:])
    return tau


def controls(t: float) -> Array:
    """Return set-points for a PD law that knows no rates: where the joints should be, plus kD / kP of how fast."""
    target, rate = set_point(t)
    return target + KD / KP * rate


# What is timed.


@dataclass
class Row:
    """One way to compute the machine's motion; what it cannot do stays None. States are in Kingpost's order."""

    name: str
    #: Evaluate the accelerations so many times; at (Q, V) and T they are ``vdot``.
    evaluate: Callable[[], object] | None = None
    evaluations: int = 1
    vdot: Array | None = None
    #: Take this many steps from (Q, V) at T.
    advance: Callable[[int], object] | None = None
    steps: int = 1
    #: The state after COMPARED_STEPS.
    after: Array | None = None
    run: Callable[[], object] | None = None
    times: dict[str, float] = field(default_factory=dict)

    def work(self) -> Iterator[tuple[str, Callable[[], object], int]]:
        """Yield what is timed, and how many times it is done in a call."""
        if self.evaluate:
            yield "evaluate", self.evaluate, self.evaluations
        if self.advance:
            yield "step", lambda: self.advance(self.steps), self.steps
        if self.run:
            yield "run", self.run, 1


def shortest(function: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of a call in s, over batches of up to some milliseconds; the longer ones were disturbed.

    It is time on the processor: none of the rows waits, and time given to other processes is not theirs.
    """
    calls, best, until = 1, math.inf, time.process_time() + seconds
    while True:
        started = time.process_time()
        for _ in range(calls):
            function()
        ended = time.process_time()
        best = min(best, (ended - started) / calls)
        if ended > until:
            return best
        if ended - started < 0.001:
            calls *= 2


def measure(rows: list[Row]) -> None:
    """Take the times of all rows in turn, many times over; each thing gets a time of BUDGET, or is done once."""
    work = [(row, *item) for row in rows for item in row.work()]
    spent = [0.0] * len(work)
    for _ in range(ROUNDS):
        for k, (row, name, function, count) in enumerate(work):
            if spent[k] < BUDGET:
                started = time.process_time()
                row.times[name] = min(row.times.get(name, math.inf), shortest(function, SLICE) / count)
                spent[k] += time.process_time() - started


def peer(name: str, package: str = "") -> ModuleType | None:
    """Return a module, or None after a word about it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name} is not installed and left out ({error}); pip install {package or name}")
        return None


def rk4(rhs: Callable[[float, Array], Array], t: float, x: Array, steps: int) -> Array:
    """Take steps of the classical method."""
    for i in range(steps):
        s = t + i * STEP
        k1 = rhs(s, x)
        k2 = rhs(s + STEP / 2, x + STEP / 2 * k1)
        k3 = rhs(s + STEP / 2, x + STEP / 2 * k2)
        k4 = rhs(s + STEP, x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


# Kingpost.


def kingpost_rows(formulation: str, backend: Literal["c", "vm"]) -> list[Row]:
    """Return Kingpost in its own loops, and called from Python for each evaluation and each step.

    The plain call is handed its arguments each time, as Pinocchio is, and copies them; with arrays bound once there are none.
    """
    mechanism = PluginSet().models.get("vessel-crane")().build()
    simulation = prepare(mechanism, T_END, step=STEP, formulation=formulation, backend=backend)
    equations, kernel, p = simulation.equations, simulation.kernel, simulation.p
    u, x = np.zeros(equations.nu), np.append(Q, V)

    def march(steps: int, substeps: int | None = None) -> Array:
        substeps = substeps or steps
        y = np.empty((steps // substeps, len(equations.channels)))
        kernel.march(y, substeps, T, STEP, x, np.zeros((len(y) + 1, u.size)), p, at_once=True)
        return y[:, : x.size]

    evaluator = Kernel([equations.accelerations], backend).evaluator("kp_accelerations")
    step = kernel.evaluator("kp_step")
    vdot, after = evaluator(T, Q, V, u, p), march(COMPARED_STEPS)[-1]

    def steps_from_python(steps: int) -> Array:
        state = x
        for i in range(steps):
            state = step(T + i * STEP, state, u, p, STEP)
        return state

    called = Row(
        f"kingpost, {formulation}, {'compiled' if backend == 'c' else 'interpreter'}, called from Python",
        evaluate=lambda: evaluator(T, Q, V, u, p), vdot=vdot, advance=steps_from_python, steps=500,
        after=steps_from_python(COMPARED_STEPS),
    )  # fmt: skip
    if backend == "vm":
        called.run = simulation.run
        return [called]
    evaluate, result = evaluator.bind(np.array([T]), Q, V, u, p)
    evaluate()
    bound = Row(f"kingpost, {formulation}, compiled, called from Python, arrays bound", evaluate=evaluate, vdot=result.copy())
    # Accelerations in a compiled loop over the states of a motion: sampled as if they were the outputs.
    t, s, w, m = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", x.size), ("u", u.size), ("p", p.size)))
    bare = Kernel([ca.Function("kp_observe", [t, s, w, m], [equations.accelerations(t, *equations.split(s), w, m)])], "c")
    states = march(1000, substeps=1)
    samples = T + STEP * np.arange(1.0, len(states) + 1), np.ascontiguousarray(states), np.zeros((len(states), u.size)), p
    looped = Row(
        f"kingpost, {formulation}, compiled, in its own loop",
        evaluate=lambda: bare.sample(*samples), evaluations=len(states),
        vdot=bare.sample(np.array([T]), x[None, :], u[None, :], p)[0],
        advance=march, steps=1000, after=after, run=simulation.run,
    )  # fmt: skip
    return [looped, bound, called]


# Pinocchio.


def pinocchio_rows(pin: ModuleType) -> list[Row]:
    """Return the articulated-body algorithm called from Python, alone and in a simulation that its user writes in NumPy."""
    model = pin.Model()
    model.gravity.linear = GRAVITY
    turns = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
    joint = 0
    for body, mass in MASSES.items():
        placement = pin.SE3(AXES[body], ORIGINS[body])
        for letter in TURNS[body]:
            joint = model.addJoint(joint, turns[letter](), placement, f"{body}-{letter}")
            placement = pin.SE3.Identity()
        own = pin.Inertia(mass, CENTRES[body], inertia(body, mass))
        model.appendBodyToJoint(joint, own, pin.SE3.Identity())
    data = model.createData()

    def rhs(t: float, x: Array) -> Array:
        q, v = x[:6], x[6:]
        return np.concatenate([v, pin.aba(model, data, q, v, torques(t, q, v))])

    q, v = Q[PEER_ORDER], V[PEER_ORDER]
    x, tau = np.append(q, v), torques(T, q, v)
    vdot = pin.aba(model, data, q, v, tau)[PEER_ORDER]
    return [
        Row("Pinocchio aba, torques given", evaluate=lambda: pin.aba(model, data, q, v, tau), vdot=vdot),
        Row(
            "Pinocchio aba, springs, PD and RK4 in NumPy",
            evaluate=lambda: pin.aba(model, data, q, v, torques(T, q, v)), vdot=vdot,
            advance=lambda steps: rk4(rhs, T, x, steps), steps=50, after=in_own_order(rk4(rhs, T, x, COMPARED_STEPS)),
            run=lambda: rk4(rhs, 0.0, np.append(START[PEER_ORDER], np.zeros(6)), round(T_END / STEP)),
        ),
    ]  # fmt: skip


def in_own_order(x: Array) -> Array:
    """Return a peer's state in Kingpost's order."""
    return np.append(x[:6][PEER_ORDER], x[6:][PEER_ORDER])


# MuJoCo.

MUJOCO_STEP = "MuJoCo mj_forward, mj_step, set-point held over the step"


def mujoco_model(mujoco: ModuleType, masses: dict[str, float]) -> Any:
    """Return the machine with native cubic springs, native PD actuators and MuJoCo's own RK4."""
    spec = mujoco.MjSpec()
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.balanceinertia = spec.compiler.fusestatic = False
    spec.option.gravity, spec.option.timestep = GRAVITY, STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    body = spec.worldbody
    for name, mass in masses.items():
        orientation = np.empty(4)
        mujoco.mju_mat2Quat(orientation, AXES[name].ravel())
        body = body.add_body(name=name, pos=ORIGINS[name], quat=orientation)
        body.explicitinertial = True
        body.mass, body.ipos = mass, CENTRES[name]
        # The booms do not resist rotation about their own axis, but MuJoCo refuses moments below 1e-15 kg m^2.
        body.inertia = np.maximum(inertia(name, mass).diagonal(), 1e-14)
        for letter in TURNS[name]:
            joint = body.add_joint(name=f"{name}-{letter}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=UNIT[letter])
            if name == "vessel":
                joint.stiffness = (0, 0, SPRING)  # linear, quadratic, cubic
            else:
                actuator = spec.add_actuator(name=f"{name}-drive", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
                actuator.set_to_position(kp=KP, kv=KD)
    return spec.compile()


def mujoco_rows(mujoco: ModuleType) -> list[Row]:
    """Return MuJoCo stepped from Python, and in its own loop."""
    rollout = importlib.import_module("mujoco.rollout").rollout
    model = mujoco_model(mujoco, MASSES)
    data = mujoco.MjData(model)
    q, v = Q[PEER_ORDER], V[PEER_ORDER]

    def reset(t: float = T, q: Array = q, v: Array = v) -> None:
        data.time, data.qpos, data.qvel, data.ctrl = t, q, v, controls(t)

    def held(steps: int) -> None:
        """Step with one set-point throughout: the cheapest use."""
        reset()
        for _ in range(steps):
            mujoco.mj_step(model, data)

    def followed(steps: int) -> Array:
        reset()
        return follow(steps)

    def follow(steps: int) -> Array:
        for _ in range(steps):
            data.ctrl = controls(data.time)
            mujoco.mj_step(model, data)
        return in_own_order(np.append(data.qpos, data.qvel))

    def table(t: float, steps: int) -> Array:
        return np.array([controls(t + STEP * i) for i in range(steps)])

    def rolled(t: float, q: Array, v: Array, given: Array) -> Array:
        states, _ = rollout(model, data, np.concatenate([[t], q, v]), given)
        return in_own_order(states[0, -1, 1:])

    given, all_given = table(T, 500), table(0.0, round(T_END / STEP))

    def held_run() -> None:
        reset(0.0, START[PEER_ORDER], np.zeros(6))
        for control in all_given:
            data.ctrl = control
            mujoco.mj_step(model, data)

    def followed_run() -> None:
        reset(0.0, START[PEER_ORDER], np.zeros(6))
        follow(len(all_given))

    after = followed(COMPARED_STEPS)
    reset()
    mujoco.mj_forward(model, data)
    vdot = data.qacc[PEER_ORDER]
    return [
        Row(
            MUJOCO_STEP,
            evaluate=lambda: mujoco.mj_forward(model, data), vdot=vdot, advance=held, steps=200, after=after, run=held_run,
        ),
        Row("MuJoCo mj_step, set-point from Python each step", advance=followed, steps=200, after=after, run=followed_run),
        Row(
            "MuJoCo rollout (its own loop), table of set-points",
            advance=lambda steps: rolled(T, q, v, given[:steps]), steps=len(given),
            after=rolled(T, q, v, given[:COMPARED_STEPS]),
            run=lambda: rolled(0.0, START[PEER_ORDER], np.zeros(6), all_given),
        ),
    ]  # fmt: skip


# Exudyn.


def exudyn_rows(exu: ModuleType) -> list[Row]:
    """Return Exudyn's tree in minimal coordinates in its own RK4 loop, its forces in Python or as recorded expressions."""
    return [exudyn_row(exu, recorded=True), exudyn_row(exu, recorded=False)]


def exudyn_row(exu: ModuleType, recorded: bool) -> Row:
    """Return one of them. A call of the solver costs some 0.1 ms by itself; it is spread over the steps of a batch."""
    items = importlib.import_module("exudyn.itemInterface")
    record = importlib.import_module("exudyn.advancedUtilities").CreateSymbolicUserFunction
    symbolic = exu.symbolic
    system = exu.SystemContainer().AddSystem()

    def python_law(mbs: Any, t: float, item: int, q: Any, v: Any) -> Array:
        return torques(t, np.array(q), np.array(v))

    def recorded_law(mbs: Any, t: Any, item: Any, q: Any, v: Any) -> Any:
        zero, one = symbolic.Real(0.0), symbolic.Real(1.0)
        legs = [symbolic.min(symbolic.max(t * 0.1 - float(k), zero), one) for k in (0, 1)]
        springs = [-SPRING * q[i] * q[i] * q[i] for i in range(3)]
        drives = []
        for i in range(3):
            target, rate = symbolic.Real(SET_POINTS[0, i]), symbolic.Real(0.0)
            for move, s in zip(MOVES[:, i], legs, strict=True):
                if move:
                    target, rate = target + move * rest_to_rest(s), rate + 0.1 * move * rest_to_rest_rate(s)
            drives.append(KP * (target - q[3 + i]) + KD * (rate - v[3 + i]))
        return symbolic.Vector([*springs, *drives])

    law = record(system, recorded_law, "forceUserFunction", itemTypeName="ObjectKinematicTree") if recorded else python_law
    node = system.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * 6, initialCoordinates=Q[PEER_ORDER], initialCoordinates_t=V[PEER_ORDER],
            numberOfODE2Coordinates=6,
        )
    )  # fmt: skip
    kinds = {"x": exu.JointType.RevoluteX, "y": exu.JointType.RevoluteY, "z": exu.JointType.RevoluteZ}
    links: dict[str, list[Any]] = {key: [] for key in ("joint", "axes", "origin", "mass", "centre", "inertia")}
    for body, mass in MASSES.items():
        for i, letter in enumerate(TURNS[body]):
            last = i == len(TURNS[body]) - 1
            links["joint"].append(kinds[letter])
            links["axes"].append(np.eye(3) if i else AXES[body])
            links["origin"].append(np.zeros(3) if i else ORIGINS[body])
            links["mass"].append(mass if last else 0.0)
            links["centre"].append(CENTRES[body] if last else np.zeros(3))
            links["inertia"].append(inertia(body, mass) if last else np.zeros((3, 3)))
    system.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node, gravity=GRAVITY, jointTypes=links["joint"], linkParents=list(range(-1, 5)),
            jointTransformations=exu.Matrix3DList(links["axes"]), jointOffsets=exu.Vector3DList(links["origin"]),
            linkInertiasCOM=exu.Matrix3DList(links["inertia"]), linkCOMs=exu.Vector3DList(links["centre"]),
            linkMasses=links["mass"], forceUserFunction=law,
        )
    )  # fmt: skip
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False

    def solve(t: float, steps: int) -> Array:
        settings.timeIntegration.startTime, settings.timeIntegration.endTime = t, t + steps * STEP
        settings.timeIntegration.numberOfSteps = steps
        if not system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44):
            raise RuntimeError("Exudyn's solver failed")
        kinds = exu.OutputVariableType
        return in_own_order(np.append(*(system.GetNodeOutput(node, kind) for kind in (kinds.Coordinates, kinds.Coordinates_t))))

    def run() -> None:
        system.SetNodeParameter(node, "initialCoordinates", START[PEER_ORDER])
        system.SetNodeParameter(node, "initialCoordinates_t", np.zeros(6))
        system.Assemble()
        solve(0.0, round(T_END / STEP))
        system.SetNodeParameter(node, "initialCoordinates", Q[PEER_ORDER])
        system.SetNodeParameter(node, "initialCoordinates_t", V[PEER_ORDER])
        system.Assemble()

    return Row(
        f"Exudyn RK44 (its own loop), forces {'recorded once' if recorded else 'in Python'}",
        advance=lambda steps: solve(T, steps), steps=1000, after=solve(T, COMPARED_STEPS), run=run,
    )  # fmt: skip


# The paper in NumPy.


def hat(w: Array) -> Array:
    """Return the matrix of the cross product with w."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rotation(letter: str, angle: float) -> Array:
    """Return a rotation about an axis."""
    K = hat(UNIT[letter])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def moved(p: Array) -> Array:
    """Return the screw transformation of a twist to another point, eq. (20); p leads from there to here."""
    U = np.eye(6)
    U[3:, :3] = hat(p)
    return U


def turned(R: Array) -> Array:
    """Return the change of axes of a twist, eq. (21)."""
    V = np.zeros((6, 6))
    V[:3, :3] = V[3:, 3:] = R
    return V


#: Eq. (35), and the screw transformations that do not change.
D = {body: np.block([[inertia(body, m), np.zeros((3, 3))], [np.zeros((3, 3)), m * np.eye(3)]]) for body, m in MASSES.items()}
TO_CENTRE = {body: moved(-centre) for body, centre in CENTRES.items()}
TO_JOINT = {body: moved(-origin) for body, origin in ORIGINS.items()}


def paper_accelerations(t: float, q: Array, u: Array) -> Array:
    """Solve eqs. (29)-(38) as they stand, with gravity, springs and PD control in tau."""
    sr, cr, sp, cp = math.sin(q[0]), math.cos(q[0]), math.sin(q[1]), math.cos(q[1])
    R_0k = rotation("z", q[2]) @ rotation("y", q[1]) @ rotation("x", q[0])
    # Twist of the body frame at its origin: Q u, and its derivative Q udot + Qdot u.
    Q_k, Qdot_k = np.zeros((6, 6)), np.zeros((6, 6))
    Q_k[:3, :3] = [[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]]
    Qdot_k[:3, :3] = [
        [0.0, 0.0, -cp * u[1]],
        [0.0, -sr * u[0], cr * cp * u[0] - sr * sp * u[1]],
        [0.0, -cr * u[0], -sr * cp * u[0] - cr * sp * u[1]],
    ]
    M, C, tau = np.zeros((6, 6)), np.zeros((6, 6)), torques(t, q, u)
    for k, (body, mass) in enumerate(MASSES.items()):
        if k:
            R = AXES[body] @ rotation("z", q[2 + k])
            Rdot_T = -hat(UNIT["z"] * u[2 + k]) @ R.T
            V, Vdot = turned(R.T) @ TO_JOINT[body], turned(Rdot_T) @ TO_JOINT[body]  # eq. (23)
            Q_k, Qdot_k = V @ Q_k, V @ Qdot_k + Vdot @ Q_k
            Q_k[2, 2 + k] += 1.0  # eq. (28)
            R_0k = R_0k @ R
        P, Pdot = TO_CENTRE[body] @ Q_k, TO_CENTRE[body] @ Qdot_k  # eq. (30)
        W = turned(hat((P @ u)[:3]))
        M += P.T @ D[body] @ P
        C += P.T @ D[body] @ Pdot + P.T @ W @ D[body] @ P
        tau += P[3:].T @ (R_0k.T @ (mass * GRAVITY))  # eq. (32)
    return np.linalg.solve(M, tau - C @ u)  # eq. (37)


def numpy_row() -> Row:
    """Return the paper's equations in NumPy."""

    def rhs(t: float, x: Array) -> Array:
        return np.concatenate([x[6:], paper_accelerations(t, x[:6], x[6:])])

    x = np.append(Q, V)
    return Row(
        "NumPy, eqs. (29)-(38) of the paper as they stand",
        evaluate=lambda: paper_accelerations(T, Q, V), vdot=paper_accelerations(T, Q, V),
        advance=lambda steps: rk4(rhs, T, x, steps), steps=5, after=rk4(rhs, T, x, COMPARED_STEPS),
        run=lambda: rk4(rhs, 0.0, np.append(START, np.zeros(6)), round(T_END / STEP)),
    )  # fmt: skip


def held_reference() -> Array:
    """Return the state after COMPARED_STEPS in each of which the set-point stays where it was at its start."""
    x = np.append(Q, V)
    for i in range(COMPARED_STEPS):
        t = T + i * STEP
        x = rk4(lambda _, y, t=t: np.concatenate([y[6:], paper_accelerations(t, y[:6], y[6:])]), t, x, 1)
    return x


# The table.


def print_table(rows: list[Row]) -> None:
    """Print times, their ratios to those of the first row, and differences from it."""
    first = rows[0]
    print(f"vessel-crane, 6 degrees of freedom; x: time over that of the first row; run: {T_END:g} s at {STEP:g} s")
    print(f"{'':<65}{'accelerations':>18}{'RK4 step':>20}{'run':>20}{'accelerations':>16}{'state, 0.1 s':>14}")
    print(f"{'':<65}{'us':>10}{'x':>8}{'us':>12}{'x':>8}{'ms':>12}{'x':>8}{'differ by':>16}{'differs by':>14}")
    for row in rows:
        cells = f"{row.name:<65}"
        for name, unit, digits in (("evaluate", 1e6, 3), ("step", 1e6, 2), ("run", 1e3, 1)):
            seconds = row.times.get(name)
            width = 10 if name == "evaluate" else 12
            cells += f"{'-':>{width}}{'-':>8}" if seconds is None else (
                f"{seconds * unit:>{width}.{digits}f}{seconds / first.times[name]:>8.1f}"
            )  # fmt: skip
        differences = [(row.vdot, first.vdot, 16), (row.after, first.after, 14)]
        for own, reference, width in differences:
            cells += f"{'-':>{width}}" if own is None else f"{np.abs(own - reference).max():>{width}.0e}"
        print(cells)


def print_demands(rows: list[Row]) -> None:
    """Print the ratios that are asked for."""
    times = {row.name: row.times for row in rows}
    looped = times["kingpost, kane, compiled, in its own loop"]
    called = times["kingpost, kane, compiled, called from Python"]
    bound = times["kingpost, kane, compiled, called from Python, arrays bound"]
    aba = times.get("Pinocchio aba, torques given", {})
    user = times.get("Pinocchio aba, springs, PD and RK4 in NumPy", {})
    stepped = times.get(MUJOCO_STEP, {})
    rolled = times.get("MuJoCo rollout (its own loop), table of set-points", {})
    demands = [
        ("accelerations: pin.aba from Python / kingpost from Python", aba, "evaluate", called, 6.0),
        ("accelerations: pin.aba from Python / kingpost from Python, arrays bound", aba, "evaluate", bound, 6.0),
        ("accelerations: pin.aba from Python / kingpost in its own loop", aba, "evaluate", looped, 6.0),
        ("RK4 step: written on pin.aba / kingpost in its own loop", user, "step", looped, 25.0),
        ("RK4 step: mj_step / kingpost in its own loop", stepped, "step", looped, 6.0),
        ("RK4 step: MuJoCo's own loop / kingpost in its own loop", rolled, "step", looped, 6.0),
    ]
    print()
    for text, peer_times, name, own, least in demands:
        if name in peer_times:
            ratio = peer_times[name] / own[name]
            print(f"{text:<74}{ratio:8.2f}   at least {least:g}: {'met' if ratio >= least else 'missed'}")
    ratio = looped["step"] / (4.0 * looped["evaluate"])
    print(
        f"{'RK4 step / four bare evaluations of the accelerations, kingpost':<74}{ratio:8.2f}   at most 1.5: "
        f"{'met' if ratio <= 1.5 else 'missed'}"
    )


def main() -> None:
    """Print one table."""
    rows = [*kingpost_rows("kane", "c"), *kingpost_rows("recursive", "c"), *kingpost_rows("kane", "vm")]
    pinocchio, mujoco = peer("pinocchio", "pin"), peer("mujoco")
    rows += pinocchio_rows(pinocchio) if pinocchio else []
    rows += mujoco_rows(mujoco) if mujoco else []
    sys.exudynFast = True  # type: ignore[attr-defined]  # Exudyn without range checks, if asked for before it is imported
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exudyn = peer("exudyn")
    if exudyn:
        rows += exudyn_rows(exudyn)
    else:
        print(said.getvalue().strip())
    rows.append(numpy_row())
    measure(rows)
    print_table(rows)
    stepped = next((row for row in rows if row.name == MUJOCO_STEP), None)
    if stepped and stepped.after is not None:
        difference = np.abs(stepped.after - held_reference()).max()
        print(f"MuJoCo holds the set-point over a step; the paper's equations, stepped like that, differ by {difference:.0e}")
    print_demands(rows)


if __name__ == "__main__":
    main()
