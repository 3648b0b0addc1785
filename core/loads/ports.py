"""Ports: where a machine is coupled to another one that carries it, or that it carries.

The wrench on a carrier is affine in the rate a of the carrier's twist, with the machine's own accelerations solved for,

    w = free - A a,

where A is the 6 x 6 inertia that the carrier feels. A carrier with mass matrix M and forces f then moves as one machine with
what it carries when it solves (M + A) a = f + free, however heavy that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.equations.equations import Equations
from kingpost.loads.metric import LoadMetric
from kingpost.loads.sharing import close_loops
from kingpost.mechanism.elements import Port
from kingpost.mechanism.port_names import MOTION, TRIANGLE, inertia_unit
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.externals import External, with_externals
from kingpost.symbols.screws import Pose, quaternion_product, quaternion_rpy, rotation_rpy, twist_to, unpack_pose
from kingpost.symbols.straightline import FUSED, solve_symmetric


def port_channels(port: Port) -> list[Channel]:
    """Return the channels of a port."""
    if port.body:
        frames = ["", *["world"] * 10, *["body"] * 12]
        return [Channel(f"{port.name}.{name}", unit, frame) for (name, unit), frame in zip(MOTION, frames, strict=True)]
    components = list(zip(COMPONENTS, UNITS, strict=True))
    found = [Channel(f"{port.name}.{name}", unit, "child") for name, unit in components]
    found.append(Channel(f"{port.name}.power", "W"))
    if port.inertia:
        found += [Channel(f"{port.name}.free.{name}", unit, "child") for name, unit in components]
        found += [Channel(f"{port.name}.A{i}{j}", inertia_unit(i, j), "child") for i, j in TRIANGLE]
    return found


@dataclass(frozen=True, eq=False)
class PortExpressions:
    """The ports of a mechanism."""

    ports: tuple[Port, ...]
    #: (t, q, v, vdot, lam, u, p) -> for each port on a body its channels, else the wrench on the carrier, its twist and the
    #: rate of that.
    states: ca.Function
    #: (t, q, v, vdot, lam, u, p) -> for each port with an interface inertia the inertia of all that it carries, were its joints
    #: locked, and how the wrench depends on the accelerations of the joints.
    inertias: ca.Function
    traced: tuple[External, ...]

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What :meth:`values` returns."""
        return tuple(channel for port in self.ports for channel in port_channels(port))

    @property
    def record(self) -> Mapping[str, Any]:
        """How they were found: there is one way."""
        return {}

    def values(self, equations: Equations, *known: ca.MX) -> ca.MX:
        """Return the channels at a state (t, q, v, vdot, lam, u, p) of the equations."""
        t, q, v, _, _, u, p = known
        states, inertias = self.states.call(list(known)), list(self.inertias.call(list(known)))
        values = []
        for port, state in zip(self.ports, states, strict=True):
            if port.body:
                values.append(state)
                continue
            wrench, _, rate = ca.vertsplit(state, 6)
            values += [wrench, _power(state)]
            if port.inertia:
                locked, coupling = inertias.pop(0), inertias.pop(0)
                A = locked - _yielding(equations)(t, q, v, u, p, coupling)
                values += [wrench + A @ rate, *(A[row - 1, column - 1] for row, column in TRIANGLE)]
        return ca.vertcat(*values)


def _yielding(equations: Equations) -> ca.Function:
    """Return the function (t, q, v, u, p, F) -> F Z F' by which an inertia is less when the joints are free to yield.

    Z maps efforts on the joints to their accelerations: the inverse of M, restricted to what closed loops allow.
    """
    symbols: list[Any] = [equations.t, equations.q, equations.v, equations.u, equations.p]
    M: Any = equations.M
    A: Any = equations.constraints.A if equations.constraints.count else type(equations.q)(0, equations.nv)
    if isinstance(M, ca.MX) and equations.nv <= FUSED and not equations.all_externals:
        # Small systems of equations are solved in straight-line code, which has to be made of SX.
        parts = ca.Function("parts", symbols, [M, A]).expand()
        symbols = [ca.SX.sym("i", item.numel()) for item in symbols]
        M, A = parts.call(symbols)
    coupling = type(symbols[1]).sym("F", 6, equations.nv)
    solved = solve_symmetric(M, coupling.T)
    if equations.constraints.count:
        held = solve_symmetric(M, A.T)
        solved = solved - held @ solve_symmetric(A @ held, A @ solved)
    return with_externals("kp_yielding", [*symbols, coupling], [ca.densify(coupling @ solved)], equations.externals)


def with_ports(assembly: Assembly, equations: Equations, metric: LoadMetric | None = None) -> Equations:
    """Return the equations with the ports of their mechanism among their channels."""
    if not assembly.mechanism.ports:
        return equations
    return replace(equations, observed=replace(equations.observed, ports=_expressions(assembly, equations, metric)))


def port_powers(dynamics: TreeDynamics, names: Sequence[str]) -> ca.MX:
    """Return the power that some ports of joints give to their carriers, in the symbols of ``dynamics``."""
    ports = {port.name: port for port in dynamics.assembly.mechanism.ports}
    return ca.vertcat(ca.MX(0, 1), *(_power(_joint_state(dynamics, ports[name])) for name in names))


def _power(state: ca.MX) -> ca.MX:
    wrench, twist, _ = ca.vertsplit(state, 6)
    return ca.dot(wrench, twist)


def _joint_state(dynamics: TreeDynamics, port: Port) -> ca.MX:
    """Return the wrench on the carrier of a port's joint, its twist, and the rate of that."""
    joint = next(joint for joint in dynamics.assembly.mechanism.joints if joint.name == port.joint)
    assembly = dynamics.assembly
    tree = TreeKinematics(assembly)
    given = tree.geometry(joint).given
    assert given is not None
    known = [assembly.t, assembly.u, assembly.p]
    motion = with_externals("motion", known, [ca.vertcat(given.twist, given.rate)], tree.externals)
    return ca.vertcat(-dynamics.transmitted(joint), motion(dynamics.t, dynamics.u, dynamics.p))


def _expressions(assembly: Assembly, equations: Equations, metric: LoadMetric | None) -> PortExpressions:
    mechanism = assembly.mechanism
    dynamics = TreeDynamics(assembly, equations.constraints.count, equations.coordinates.joint_state, disturbed=True)
    close_loops(dynamics, equations, metric)
    states, inertias = [], []
    for port in mechanism.ports:
        if port.body:
            states.append(_motion(dynamics, port))
            continue
        states.append(_joint_state(dynamics, port))
        if port.inertia:
            wrench = states[-1][:6, :]
            inertias += [-ca.jacobian(wrench, dynamics.disturbances[port.joint]), -ca.jacobian(wrench, dynamics.vdot)]
    disturbances = list(dynamics.disturbances.values())
    undisturbed = [ca.MX.zeros(6) for _ in disturbances]

    def function(name: str, results: list[ca.MX]) -> ca.Function:
        full = ca.Function(name, [*dynamics.symbols, *disturbances], [ca.densify(result) for result in results])
        return ca.Function(name, dynamics.symbols, full.call([*dynamics.symbols, *undisturbed]))

    return PortExpressions(
        tuple(mechanism.ports),
        function("kp_port_states", states),
        function("kp_port_inertias", inertias),
        tuple(dynamics.externals),
    )


def _motion(dynamics: TreeDynamics, port: Port) -> ca.MX:
    """Return place, orientation, twist and rate of the twist of a frame on a body."""
    space, body = dynamics.space, port.body
    angles = ca.vertsplit(ca.densify(space.vector(port.rotation)))
    X_BM = Pose(rotation_rpy(*angles), space.vector(port.position))
    packed, e, twist, rate = (ca.SX.sym(name, size) for name, size in (("X", 12), ("e", 4), ("t", 6), ("a", 6)))
    X_WM, to_M = unpack_pose(packed) @ X_BM, twist_to(X_BM.inverse())
    R = X_WM.R
    euler = ca.vertcat(ca.atan2(R[2, 1], R[2, 2]), ca.asin(ca.fmax(-1, ca.fmin(1, -R[2, 0]))), ca.atan2(R[1, 0], R[0, 0]))
    t = ca.SX.sym("t")
    values = ca.vertcat(t, X_WM.p, quaternion_product(e, quaternion_rpy(*angles)), euler, to_M @ twist, to_M @ rate)
    function = space.share("frame_motion", [t, packed, e, twist, rate, space.assembly.p], [values])
    known = [dynamics.t, dynamics.poses[body], dynamics.quaternions[body], dynamics.twists[body], dynamics.accelerations[body]]
    return ca.MX(function(*known, dynamics.p))
