"""The leaves of every tree of subsystems: free bodies with Newton-Euler equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.modular.assembling import Part, body_part
from kingpost.symbols.screws import hat, twist_cross


@dataclass(frozen=True, eq=False)
class Leaves:
    """The bodies of a machine as free bodies, and what acts along its joints or is stored, not on any of them."""

    bodies: Mapping[str, Part]
    #: Rotors, and efforts along the speeds.
    M: ca.SX
    f: ca.SX
    kinetic: ca.SX
    potential: ca.SX


def leaves_of(kinematics: TreeKinematics) -> Leaves:
    """Return Newton-Euler equations of every body, with all forces on it."""
    inertias = {name: spatial_inertia(kinematics, name) for name in kinematics.links}
    kinetic, potential = ca.SX(0), ca.SX(0)
    forces = {}
    for name, link in kinematics.links.items():
        forces[name] = -gyroscopic_wrench(inertias[name], link.t_WB_B)
        kinetic += ca.dot(link.t_WB_B, inertias[name] @ link.t_WB_B) / 2
    n = kinematics.v.numel()
    M, f = ca.SX(n, n), ca.SX(n, 1)
    for loads in kinematics.loads():
        for name, wrench in loads.wrenches.items():
            forces[name] += wrench
        for name, added in loads.inertias.items():
            inertias[name] += added
        for coordinate, effort in loads.efforts.items():
            f[kinematics.effort_row(coordinate)] += effort
        M += kinematics.rotor_matrix(loads.rotors)
        potential += loads.potential
        kinetic += loads.kinetic
    bodies = {name: body_part(name, inertias[name], forces[name]) for name in kinematics.links}
    return Leaves(bodies, M, f, kinetic, potential)


def spatial_inertia(kinematics: TreeKinematics, name: str) -> ca.SX:
    """Return the 6 x 6 inertia of a body about its origin, in body axes."""
    body = kinematics.mechanism.body(name)
    mass, com = kinematics.value(body.mass), hat(kinematics.vector(body.com))
    about_origin = kinematics.inertia(name) - mass * com @ com
    return ca.sparsify(ca.blockcat(about_origin, mass * com, -mass * com, mass * ca.SX.eye(3)))


def gyroscopic_wrench(inertia: ca.SX, twist: ca.SX) -> ca.SX:
    """Return the inertial wrench of a body at a twist without accelerations."""
    return -twist_cross(twist).T @ (inertia @ twist)
