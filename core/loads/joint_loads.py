"""Joint loads as channels of a run: which joints, in which axes, on which side and about which point.

The load of a joint, or of a closure, is the wrench [Mx My Mz Fx Fy Fz] that the parent exerts on the child through it, or its
reaction on the parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.base.errors import PluginError, listed
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.equations.equations import Equations
from kingpost.equations.parts import LoadExpressions
from kingpost.loads.method import JointLoads
from kingpost.loads.metric import LoadMetric
from kingpost.loads.sharing import close_loops
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.mechanism.load_request import LoadRequest, closures_between_bodies
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose, unpack_pose


def derive_loads(
    assembly: Assembly,
    equations: Equations,
    method: JointLoads,
    requests: Sequence[LoadRequest],
    metric: LoadMetric | None = None,
) -> LoadExpressions:
    """Return the loads that are asked for, and the motion of the bodies, as one function and its channels.

    Loads that rigid bodies leave open are the smallest by ``metric`` (:mod:`kingpost.loads.sharing`).
    """
    if method.needs_multipliers and equations.constraints.count == 0:
        raise PluginError(
            f"joint loads '{method.name}' come from Lagrange multipliers, and formulation '{equations.formulation}' has none; "
            "use 'recursive' or 'auxiliary-speeds' with it"
        )
    mechanism = assembly.mechanism
    dynamics = TreeDynamics(assembly, equations.constraints.count, equations.coordinates.joint_state)
    closures = closures_between_bodies(mechanism)
    closed = close_loops(dynamics, equations, metric)
    reactions = closed.reactions
    joints = {joint.name: joint for joint in mechanism.joints}
    asked = [joints[request.joint] for request in requests if request.joint in joints]
    constraints = method.constraint_wrenches(dynamics, equations, asked) if asked else {}
    _check_answer(method, constraints, asked)
    block = _Block()
    residuals = []
    record: dict[str, Any] = {}
    for request in requests:
        if request.joint in closures:
            wrench = _closure_frame_function(dynamics, closures[request.joint], request)(reactions[request.joint])
            block.add_wrench(request.joint, wrench, request)
            record[request.joint] = _how(request, ["constraint"])
            continue
        joint = joints[request.joint]
        parts = {"constraint": constraints[joint.name]}
        parts |= {part: dynamics.effort_wrench(joint, part) for part in dynamics.parts(joint)}
        total = sum(parts.values(), ca.MX.zeros(6))
        residuals.append(total - dynamics.transmitted(joint))
        turned = _frame_function(dynamics, joint, request)
        named = {"": total} if len(parts) == 1 else {"": total, **parts}
        for part, wrench in named.items():
            block.add_wrench(f"{joint.name}.{part}".rstrip("."), turned(wrench), request)
        record[joint.name] = _how(request, list(parts))
    tied = [joints.get(request.joint) or closures[request.joint] for request in requests]
    beside = {body for item in tied for body in (item.parent, item.child) if body != WORLD}
    for body in mechanism.bodies:
        block.add(f"{body.name}.pose", ("px", "py", "pz"), "m", "world", dynamics.poses[body.name][9:])
        block.add(f"{body.name}.pose", ("ew", "ex", "ey", "ez"), "1", "world", dynamics.quaternions[body.name])
        if body.name in beside:
            motion = _body_motion(dynamics.twists[body.name], dynamics.accelerations[body.name])
            for (letter, unit), values in zip(_MOTION, ca.vertsplit(motion, 3), strict=True):
                block.add(f"{body.name}.motion", [f"{letter}{axis}" for axis in "xyz"], unit, "body", values)
    block.add("loads.gravity", "xyz", "m/s2", "world", dynamics.gravity)
    # Of closures alone there is nothing to compare with.
    lengths = [ca.horzcat(ca.norm_2(residual[3:]), ca.norm_2(residual[:3])) for residual in residuals]
    largest = [ca.mmax(column) for column in ca.horzsplit(ca.vertcat(*lengths))] if lengths else []
    for name, unit, value in zip(("force", "moment"), ("N", "N.m"), largest, strict=False):
        block.add("loads.residual", (name,), unit, "", value)
    return LoadExpressions(
        function=ca.Function("kp_loads", dynamics.symbols, [ca.vertcat(*block.values)]),
        channels=tuple(block.channels),
        traced=tuple(dynamics.externals),
        record={"method": method.name, "convention": CONVENTION, "joints": record, **closed.sharing.record},
    )


CONVENTION = (
    "wrench of the parent on the child (side child) or of the child on the parent (side parent), about the joint origin on "
    "that side plus the offset 'at', in the axes of 'frame'; total = constraint + actuator + friction + closure"
)


def _how(request: LoadRequest, parts: list[str]) -> dict[str, Any]:
    return {"frame": request.frame, "side": request.side, "at": list(request.at), "parts": parts}


_MOTION = (("w", "rad/s"), ("alpha", "rad/s2"), ("a", "m/s2"))


class _Block:
    """Channels and the expressions behind them."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.values: list[ca.MX] = []

    def add(self, prefix: str, names: Iterable[str], unit: str, frame: str, values: ca.MX) -> None:
        self.channels += [Channel(f"{prefix}.{name}", unit, frame) for name in names]
        self.values.append(values)

    def add_wrench(self, prefix: str, wrench: ca.MX, request: LoadRequest) -> None:
        self.channels += [
            Channel(f"{prefix}.{component}", unit, request.frame, request.side, request.at)
            for component, unit in zip(COMPONENTS, UNITS, strict=True)
        ]
        self.values.append(wrench)


def _check_answer(method: JointLoads, constraints: Mapping[str, Any], asked: Sequence[Joint]) -> None:
    missing = [joint.name for joint in asked if joint.name not in constraints]
    if missing:
        raise PluginError(f"joint loads '{method.name}' gave nothing for joint {listed(missing)}")
    for name, wrench in constraints.items():
        if ca.MX(wrench).shape != (6, 1):
            shape = ca.MX(wrench).shape
            raise PluginError(
                f"joint loads '{method.name}': joint '{name}' got a {shape[0]} x {shape[1]} wrench, expected 6 x 1"
            )


def _frame_function(dynamics: TreeDynamics, joint: Joint, request: LoadRequest) -> Any:
    """Return the map from a wrench on the child about the origin of M, in M, to the wrench that is asked for."""
    if request == LoadRequest(joint.name):
        return lambda wrench: wrench
    space = dynamics.space
    kind, q = JOINT_KINDS[joint.kind], ca.SX.sym("q", len(joint.positions))
    X_PF, X_BM = space.placements(joint)
    X_FM = kind.pose_FM(q, space.geometry(joint))
    R_WB = ca.SX.sym("R", 3, 3)
    X_PM = X_PF @ Pose(X_FM.R, X_FM.p)
    R_AM = {
        "child": ca.SX.eye(3),
        "parent": X_FM.R,
        "body": X_BM.R if request.side == "child" else X_PM.R,
        "world": R_WB @ X_BM.R,
    }[request.frame]
    # From the reference point to the origin of M, in the axes asked for.
    arm = -ca.DM(request.at)
    if request.side == "parent":
        arm = arm + R_AM @ (X_FM.R.T @ X_FM.p)
    sign = 1 if request.side == "child" else -1
    wrench = ca.SX.sym("w", 6)
    force = sign * (R_AM @ wrench[3:])
    moment = sign * (R_AM @ wrench[:3]) + ca.cross(arm, force)
    function = space.share("in_frame", [wrench, q, space.sx["p"], R_WB], [ca.vertcat(moment, force)])
    rotation = ca.reshape(dynamics.poses[joint.child][:9], 3, 3)
    return lambda wrench: function(wrench, dynamics.own_q(joint), dynamics.known, rotation)


def _closure_frame_function(dynamics: TreeDynamics, closure: Closure, request: LoadRequest) -> Any:
    """Return the map from a closure's wrench on its child, about the origin of M in M, to the wrench that is asked for."""
    if request == LoadRequest(closure.name):
        return lambda wrench: wrench
    packed_P, packed_B, wrench = ca.SX.sym("X_WP", 12), ca.SX.sym("X_WB", 12), ca.SX.sym("w", 6)
    X_WP, X_WB = unpack_pose(packed_P), unpack_pose(packed_B)
    X_PF, X_BM = dynamics.closure_frames(closure)
    R_WM, R_WF = X_WB.R @ X_BM.R, X_WP.R @ X_PF.R
    R_WA = {
        "child": R_WM,
        "parent": R_WF,
        "body": X_WB.R if request.side == "child" else X_WP.R,
        "world": ca.SX.eye(3),
    }[request.frame]
    arm = -ca.DM(request.at)
    if request.side == "parent":
        arm = arm + R_WA.T @ ((X_WB @ X_BM).p - (X_WP @ X_PF).p)
    sign = 1 if request.side == "child" else -1
    force = sign * (R_WA.T @ R_WM @ wrench[3:])
    moment = sign * (R_WA.T @ R_WM @ wrench[:3]) + ca.cross(arm, force)
    inputs = [wrench, packed_P, packed_B, dynamics.space.assembly.p]
    function = dynamics.space.share("closure_in_frame", inputs, [ca.vertcat(moment, force)])
    return lambda value: function(value, dynamics.poses[closure.parent], dynamics.poses[closure.child], dynamics.p)


def _body_motion(twist: ca.MX, rate: ca.MX) -> ca.MX:
    """Return angular velocity, angular acceleration and the acceleration of the origin, in body axes."""
    t, a = ca.SX.sym("t", 6), ca.SX.sym("a", 6)
    function = ca.Function("motion", [t, a], [ca.vertcat(t[:3], a[:3], a[3:] + ca.cross(t[:3], t[3:]))])
    return ca.MX(function(twist, rate))
