"""Newton and Euler's equations of every body, reactions among the unknowns (sec. 3.1), and what builds on their recursion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.formalism import Formalism, Road, system_parts
from kingpost.equations.machine import Machine, once
from kingpost.mechanism.elements import WORLD
from kingpost.multibody.constraints import Constraints, efforts_of
from kingpost.multibody.tree import TreeBody
from kingpost.plugins.formalisms.treatments import Treated, udwadia_kalaba
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose, rotation_rpy, shift_twist, shift_wrench, wrench_to


class FreeBodies:
    """All bodies cut free: 6 x 6 inertias and wrenches about their origins in body axes, and how joints tie them."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.tree = machine, machine.tree
        self.links: Mapping[str, TreeBody] = machine.tree.links
        self.first = {name: 6 * i for i, name in enumerate(self.links)}
        self.size = 6 * len(self.first)

    def rows(self, body: str) -> slice:
        """Return the rows of a body."""
        return slice(self.first[body], self.first[body] + 6)

    def inertia(self, body: str) -> ca.SX:
        """Return the inertia about the origin, with what forces add."""
        own = self.machine.mechanism.body(body)
        U = shift_twist(self.machine.assembly.vector(own.com))
        about_com = ca.diagcat(self.tree.inertia(body), self.machine.assembly.value(own.mass) * ca.SX.eye(3))
        return U.T @ about_com @ U + self.machine.inertias.get(body, ca.SX(6, 6))

    def applied(self, body: str) -> ca.SX:
        """Return the applied wrench less what Newton's and Euler's equations (3.11), (3.12) have beside accelerations."""
        own = self.machine.mechanism.body(body)
        com = self.machine.assembly.vector(own.com)
        twist = self.links[body].t_WB_B
        w, v = twist[:3], twist[3:] + ca.cross(twist[:3], com)
        moment = ca.cross(w, self.tree.inertia(body) @ w)
        force = self.machine.assembly.value(own.mass) * ca.cross(w, v)
        return self.machine.wrenches.get(body, ca.SX(6, 1)) - shift_wrench(com) @ ca.vertcat(moment, force)

    def bias(self, body: str) -> ca.SX:
        """Return the rate of a body's twist against its parent's that is there without accelerations of the joint."""
        link = self.links[body]
        parent = link.joint.parent
        return link.bias_B - (ca.SX(6, 1) if parent == WORLD else link.V_BP @ self.links[parent].bias_B)

    def spread(self, body: str, columns: ca.SX) -> ca.SX:
        """Return loads on a body, about its origin in its axes, with their reactions on the parent, for all bodies."""
        link = self.links[body]
        total = ca.SX(self.size, columns.shape[1])
        total[self.rows(body), :] = columns
        if link.joint.parent != WORLD:
            total[self.rows(link.joint.parent), :] = -(link.V_BP.T @ columns)
        return ca.SX(ca.sparsify(total))

    def joint_loads(self, body: str) -> tuple[ca.SX, ca.SX]:
        """Return unit loads that a joint transmits by itself, and unit efforts along its speeds, on its child."""
        joint = self.links[body].joint
        kind, geometry = JOINT_KINDS[joint.kind], self.tree.geometry(joint)
        q = self.tree.q[self.tree.rows(joint)[0], :]
        to_body = wrench_to(self.tree.placements(joint)[1])
        return to_body @ kind.forbidden(q, geometry), to_body @ kind.effort_wrenches(q, geometry)

    def closure_loads(self, held: Constraints) -> ca.SX:
        """Return what unit multipliers do to the bodies: -J' with J the rows of the closures in the twists of all bodies."""
        total = ca.SX(self.size, held.count)
        for closure in self.machine.mechanism.closures:
            if closure.child and closure.name in held.reactions:
                in_M = ca.jacobian(ca.SX(held.reactions[closure.name]), held.lam)
                rotation = rotation_rpy(*ca.vertsplit(ca.densify(self.tree.vector(closure.child_rotation))))
                on_child = wrench_to(Pose(rotation, self.tree.vector(closure.child_position))) @ in_M
                to_parent = wrench_to(self.tree.relative_pose(closure.parent, closure.child))
                for body, loads in ((closure.child, on_child), (closure.parent, -to_parent @ on_child)):
                    if body != WORLD:
                        total[self.rows(body), :] += loads
        return ca.SX(ca.sparsify(total))

    def closure_efforts(self, held: Constraints) -> ca.SX:
        """Return what unit multipliers do along the speeds of joints."""
        total = ca.SX(self.machine.n, held.count)
        for closure in self.machine.mechanism.closures:
            if closure.coordinates:
                efforts = ca.jacobian(ca.SX(held.reactions[efforts_of(closure.name)]), held.lam)
                for i, name in enumerate(closure.coordinates):
                    total[self.tree.effort_row(name), :] += efforts[i, :]
        return ca.SX(ca.sparsify(total))


@dataclass(frozen=True, eq=False)
class ReactionRoad(Road):
    """Accelerations of all bodies, reactions of all joints and multipliers of all closures, from one sparse system."""

    bodies: FreeBodies

    def solved(self, equations: Equations, name: str, rate: float) -> ca.Function:
        bodies, machine, held = self.bodies, self.bodies.machine, equations.constraints
        names = list(bodies.links)
        D = ca.diagcat(ca.SX(0, 0), *(bodies.inertia(body) for body in names))
        F = ca.vertcat(ca.SX(0, 1), *(bodies.applied(body) for body in names))
        bias = ca.vertcat(ca.SX(0, 1), *(bodies.links[body].bias_B for body in names))
        reactions, efforts = [ca.SX(bodies.size, 0)], ca.SX(bodies.size, machine.n)
        for body in names:
            forbidden, along = bodies.joint_loads(body)
            reactions.append(bodies.spread(body, forbidden))
            efforts[:, bodies.links[body].rows] = bodies.spread(body, along)
        # The accelerations of joints are L (a - bias); what acts along joints acts on bodies by L'.
        L = ca.SX(ca.sparsify(efforts)).T
        J = ca.horzcat(*reactions).T
        D = D + L.T @ machine.rotor_matrix @ L
        F = F + L.T @ (machine.efforts + machine.rotor_matrix @ (L @ bias))
        held_rows, right = -J, [F, -J @ bias]
        if held.count:
            G = -(bodies.closure_loads(held) + L.T @ bodies.closure_efforts(held)).T
            held_rows, right = ca.vertcat(-J, G), [*right, G @ bias - equations.drift(rate)]
        rows = held_rows.shape[0]
        K = ca.SX(ca.sparsify(ca.blockcat([[D, held_rows.T], [held_rows, ca.SX(rows, rows)]])))
        r = ca.densify(ca.vertcat(*right))
        scale = _scales(K, bodies.size)
        K = ca.SX(ca.sparsify(ca.diag(scale) @ K @ ca.diag(scale)))
        entries: ca.SX = K.nz[:]
        found = [entries, scale * r, scale, L, L @ bias]
        parts = system_parts(equations, f"{name}_parts", rate, found)
        arguments = parts.mx_in()
        _, _, entries_now, r_now, scale_now, L_now, start = parts.call(arguments)
        if not bodies.size:
            return ca.Function(name, arguments, [ca.MX(0, 1), ca.MX(0, 1)])
        unknowns = scale_now * ca.solve(ca.MX(K.sparsity(), entries_now), r_now, "qr")
        vdot = L_now @ unknowns[: bodies.size] - start
        lam = unknowns[unknowns.numel() - held.count :, :] if held.count else ca.MX(0, 1)
        return ca.Function(name, arguments, [ca.densify(vdot), ca.densify(lam)])


def _scales(K: ca.SX, size: int) -> ca.SX:
    """Return factors that make all numbers of a system of bodies and reactions of the size one."""
    if not size:
        return ca.SX.zeros(K.shape[0])
    own = ca.densify(ca.diag(K)[:size])
    mean = ca.sum1(own) / size
    bodies = 1 / ca.sqrt(ca.if_else(own > 1e-12 * mean, own, mean))
    lengths = ca.densify(ca.sum2((K[size:, :size] @ ca.diag(bodies)) ** 2))
    return ca.vertcat(bodies, 1 / ca.sqrt(ca.if_else(lengths > 0, lengths, 1)))


@once
def recursive_matrices(machine: Machine) -> tuple[ca.SX, ca.SX]:
    """Return M and f by recursion: accelerations outwards, the wrenches that joints must transmit inwards (sec. 3.1.4)."""
    bodies = FreeBodies(machine)
    accelerations: dict[str, ca.SX] = {}
    needed: dict[str, ca.SX] = {}
    for name, link in bodies.links.items():
        carried = ca.SX(6, 1) if link.joint.parent == WORLD else link.V_BP @ accelerations[link.joint.parent]
        accelerations[name] = carried + link.S_B @ machine.vdot[link.rows, :] + bodies.bias(name)
        needed[name] = bodies.inertia(name) @ accelerations[name] - bodies.applied(name)
    efforts = machine.rotor_matrix @ machine.vdot - machine.efforts if machine.n else ca.SX(0, 1)
    for name, link in reversed(list(bodies.links.items())):
        efforts[link.rows, :] += link.S_B.T @ needed[name]
        if link.joint.parent != WORLD:
            needed[link.joint.parent] += link.V_BP.T @ needed[name]
    at_zero = ca.substitute(efforts, machine.vdot, ca.SX.zeros(machine.n)) if machine.n else efforts
    return ca.SX(ca.sparsify(ca.jacobian(efforts, machine.vdot))), ca.SX(ca.sparsify(-at_zero))


class NewtonEuler(Formalism):
    """Newton's and Euler's equations of all bodies, with the reactions of all joints among the unknowns (eqs. 3.11-3.19)."""

    name = "newton-euler"
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        return ReactionRoad(*recursive_matrices(machine), FreeBodies(machine))


class UdwadiaKalaba(Formalism):
    """Udwadia and Kalaba's equation: the free acceleration, and a pseudo-inverse for what constraints change (eq. 3.149)."""

    name = "udwadia-kalaba"

    def derive(self, machine: Machine) -> Road:
        return Treated(*recursive_matrices(machine), udwadia_kalaba)
