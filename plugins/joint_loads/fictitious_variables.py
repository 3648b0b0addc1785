"""Joint loads from fictitious variables: document 002, section 4.4, after Kane and Levinson."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.loads.method import JointLoads
from kingpost.mechanism.elements import Joint
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.modular.assembling import Part, assembled_part
from kingpost.plugins.formulations.modular.leaves import leaves_of
from kingpost.plugins.formulations.modular.nodes import node_tree
from kingpost.symbols.externals import with_externals
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import twist_to


class FictitiousVariables(JointLoads):
    """Joints are given the motions that they forbid as fictitious variables, which are then held at zero (document 002).

    The equations are put together as if these were independent; with them at rest, theorem 4.3 gives the efforts that hold
    them, u = -C' f*: the components of the load along them.
    """

    name = "fictitious-variables"

    def constraint_wrenches(self, dynamics: TreeDynamics, equations: Equations, joints: Sequence[Joint]) -> Mapping[str, ca.MX]:
        assembly = dynamics.assembly
        kinematics, mechanism = TreeKinematics(assembly), assembly.mechanism
        vdot = ca.SX.sym("vdot", kinematics.v.numel())
        closing = {body: ca.SX.sym("closing", 6) for body in dynamics.closing}
        leaves = {
            name: replace(part, h=part.h + closing[name]) if name in closing else part
            for name, part in leaves_of(kinematics).bodies.items()
        }
        motions = {joint.name: _all_motions(kinematics, joint) for joint in joints}
        links = {
            name: replace(link, S_B=_placed(kinematics, link.joint) @ motions[link.joint.name])
            if link.joint.name in motions
            else link
            for name, link in kinematics.links.items()
        }
        whole = assembled_part(node_tree(mechanism), leaves, links)
        felt = _felt(whole, kinematics, vdot)
        results = [_constraint_part(kinematics, joint, motions[joint.name], felt[joint.name]) for joint in joints]
        symbols = [
            kinematics.t,
            kinematics.q,
            kinematics.v,
            vdot,
            assembly.u,
            assembly.p,
            ca.vertcat(ca.SX(0, 1), *closing.values()),
        ]
        function = with_externals("kp_fictitious", symbols, results, kinematics.externals)
        dynamics.externals += kinematics.externals
        known = [
            dynamics.t,
            *dynamics.joint_motion,
            dynamics.u,
            dynamics.p,
            ca.vertcat(ca.MX(0, 1), *dynamics.closing.values()),
        ]
        return {joint.name: value for joint, value in zip(joints, function.call(known), strict=True)}


def _placed(kinematics: TreeKinematics, joint: Joint) -> ca.SX:
    """Return the map of twists about the origin of M in M to those about the body's origin in body axes."""
    return twist_to(kinematics.placements(joint)[1])


def _all_motions(kinematics: TreeKinematics, joint: Joint) -> ca.SX:
    """Return the motions of a joint, about the origin of M in M: those that it allows, and then those that it forbids."""
    q, geometry, kind = kinematics.q[kinematics.rows(joint)[0], :], kinematics.geometry(joint), JOINT_KINDS[joint.kind]
    return ca.horzcat(kind.motion_subspace(q, geometry), kind.forbidden(q, geometry))


def _felt(whole: Part, kinematics: TreeKinematics, vdot: ca.SX) -> dict[str, ca.SX]:
    """Return what holds the rates of each joint, M z - h, with its fictitious ones at rest."""
    rates, places, first = [], {}, 0
    for (_, name), size in whole.z.items():
        own = vdot[kinematics.rows(kinematics.mechanism.joint(name))[1], :]
        rates += [own, ca.SX(size - own.numel(), 1)]
        places[name] = slice(first, first + size)
        first += size
    needed = whole.M @ ca.vertcat(ca.SX(0, 1), *rates) - whole.h
    return {name: needed[rows, :] for name, rows in places.items()}


def _constraint_part(kinematics: TreeKinematics, joint: Joint, motions: ca.SX, felt: ca.SX) -> ca.SX:
    """Return the part of the load with these components along all motions that does no work on those that the joint allows."""
    q, geometry, kind = kinematics.q[kinematics.rows(joint)[0], :], kinematics.geometry(joint), JOINT_KINDS[joint.kind]
    wrench = ca.solve(ca.densify(motions).T, ca.densify(felt))
    return ca.densify(wrench - kind.effort_wrenches(q, geometry) @ felt[: len(joint.speeds), :])
