"""The vessel-crane in Pinocchio, MuJoCo, Exudyn and NumPy."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from measuring import Array, Row
from paper_crane import (
    AXES,
    CENTRES,
    COMPARED_STEPS,
    GRAVITY,
    KD,
    KP,
    MASSES,
    MOVES,
    ORIGINS,
    PEER_ORDER,
    SET_POINTS,
    SPRING,
    START,
    STEP,
    T_END,
    TURNS,
    UNIT,
    Q,
    T,
    V,
    controls,
    in_own_order,
    inertia,
    paper_accelerations,
    rest_to_rest,
    rest_to_rest_rate,
    rk4,
    torques,
)

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
