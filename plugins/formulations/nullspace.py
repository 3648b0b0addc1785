"""Natural coordinates without multipliers: the null-space method of documents 000 (eqs. 2.22-2.32) and 001 (eqs. 3.18-3.20).

    q' = P(q) nu,    P'MP nu' = P' (f - M P' nu),    G P = 0

The columns of P are the motions that all joints allow, and nu are the generalized speeds of the joints.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import Coordinates, Structure
from kingpost.equations.treatment import Treatment
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.directors.constraints import director_constraints
from kingpost.plugins.formulations.directors.discrete_null_space import DirectorNullSpace
from kingpost.plugins.formulations.directors.formulation import DirectorModel
from kingpost.plugins.formulations.directors.joints import ALONG_PARENT, NATURAL_JOINTS
from kingpost.plugins.formulations.loops import with_augmentation
from kingpost.symbols.externals import External
from kingpost.symbols.joints import JOINT_KINDS


class RebuiltFromJoints(Treatment):
    """Natural coordinates are brought back to what the joints allow after every step, and errors of closures projected away.

    Exactly q' = P nu keeps all joints, a step of an integrator up to its error. So the joint coordinates are read off, and the
    natural coordinates built anew from them: the reparametrisation q = F(mu) of document 000, eqs. (2.30)-(2.32).
    """

    def projected(self, equations: Equations, t: Any, x: Any, p: Any, iterations: int) -> Any:
        """Return the state without errors of joints and closures."""
        q, v = equations.split(x)
        joint_state, initial = equations.coordinates.joint_state, equations.coordinates.initial
        assert joint_state is not None
        assert initial is not None
        joints = joint_state(q, v, ca.DM.zeros(equations.nv), p)[0]
        rebuilt = ca.vertcat(initial(joints, v, p), equations.states_of(x))
        return super().projected(equations, t, rebuilt, p, iterations)


class Nullspace(Formulation):
    """Natural coordinates with the joints' own speeds: no multipliers but those of closures."""

    name = "nullspace"
    joint_kinds = NATURAL_JOINTS

    def derive(self, assembly: Assembly) -> Equations:
        model = DirectorModel(assembly)
        mechanism = assembly.mechanism
        nu = model.tree.v
        motions = ca.sparsify(rates(model, ca.SX.eye(nu.numel())))
        velocity = ca.densify(rates(model, nu))

        def reduced(expression: ca.SX) -> ca.SX:
            """Put P nu in the place of q'."""
            return ca.substitute(expression, model.v, velocity) if model.v.numel() else expression

        f, potential = model.forces()
        Pdot_nu = ca.jtimes(velocity, model.q, velocity)
        N = ca.vertcat(motions, *(_along(model, joint, own) for joint, own in model.at.followed_rates()))
        held = director_constraints(model.at, model.q, model.v, mechanism.closures)
        names = {closure.name for closure in mechanism.closures}
        rows = [i for i, owner in enumerate(held.owners) if owner in names]
        positions = [i for i in rows if i < held.phi.numel()]
        joints = [i for i in range(held.phi.numel()) if i not in positions]
        lam = ca.SX.sym("lam", len(rows))
        every = ca.SX.zeros(len(held.owners))
        if rows:
            every[rows] = lam
        reactions = {name: wrench for name, wrench in held.reactions.items() if name.removesuffix(".efforts") in names}
        outputs, channels = model.outputs()
        equations = Equations(
            mechanism=mechanism,
            formulation=self.name,
            t=assembly.t,
            q=model.state,
            v=nu,
            u=assembly.u,
            p=assembly.p,
            N=ca.sparsify(N),
            M=ca.sparsify(_symmetric(motions.T @ model.M @ motions)),
            f=ca.densify(motions.T @ (reduced(f) - model.M @ Pdot_nu)),
            kinetic=ca.dot(velocity, model.M @ velocity) / 2,
            potential=potential,
            externals=tuple(
                External(item.owner, item.symbols, item.function, tuple(reduced(argument) for argument in item.arguments))
                for item in model.at.externals
            ),
            constraints=Constraints(
                held.phi[positions],
                held.A[rows, :] @ motions,
                held.b[rows],
                lam,
                tuple(held.owners[i] for i in rows),
                {name: reduced(ca.substitute(wrench, held.lam, every)) for name, wrench in reactions.items()},
            ),
            treatment=RebuiltFromJoints(),
            outputs=reduced(outputs[: outputs.numel() - nu.numel()]),
            output_channels=channels[: len(channels) - nu.numel()],
            coordinates=Coordinates(
                positions=model.quantities,
                initial=_initial(model),
                joint_state=_joint_state(model),
                follow=model.follow(),
                kept=ca.Function("kp_kept", [model.state, assembly.p], [ca.densify(held.phi[joints])]),
            ),
            structure=Structure(discrete=DirectorNullSpace(model, self.name)),
        )
        return with_augmentation(equations)


def rates(model: DirectorModel, nu: ca.SX) -> ca.SX:
    """Return P nu, body by body from the base to the tips (document 001, eqs. 4.49, 4.55, 4.69); P itself for the identity."""
    # Angular velocity, and velocity of the centre of mass, of each body.
    twists: dict[str, ca.SX] = {WORLD: ca.SX(6, nu.shape[1])}
    for joint in model.assembly.mechanism.tree:
        place = model.at.places[joint.name]
        x, before = place.origin_M, twists[joint.parent]
        spin = before[:3, :]
        at_M = before[3:, :] - ca.skew(x - place.parent.r) @ spin
        if joint.speeds:
            own = _allowed(model, joint) @ nu[model.tree.rows(joint)[1], :]
            spin, at_M = spin + own[:3, :], at_M + own[3:, :]
        twists[joint.child] = ca.vertcat(spin, at_M - ca.skew(place.child.r - x) @ spin)
    parts = [model.at.bodies[name].motions @ twists[name] for name in model.names]
    return ca.vertcat(ca.SX(0, nu.shape[1]), *parts)


def _allowed(model: DirectorModel, joint: Joint) -> ca.SX:
    """Return the motions of M that a joint allows, about its origin in world axes, one column for each speed."""
    place, kind = model.at.places[joint.name], JOINT_KINDS[joint.kind]
    if joint.kind in ALONG_PARENT:
        R, at = place.R_WF, ca.SX(ca.DM(kind.neutral))
    else:
        R, at = place.R_WM, model.at.joint_coordinates(joint)
    return ca.diagcat(R, R) @ kind.motion_subspace(at, place.geometry)


def _symmetric(matrix: ca.SX) -> ca.SX:
    """Return a matrix that is symmetric up to rounding with equal halves."""
    return ca.tril2symm(ca.tril(matrix)) if matrix.numel() else matrix


def _along(model: DirectorModel, joint: Joint, own: ca.SX) -> ca.SX:
    """Return rows for the speeds of a joint as rows for nu."""
    rows = ca.SX(own.shape[0], model.tree.v.numel())
    rows[:, model.tree.rows(joint)[1]] = own
    return rows


def _initial(model: DirectorModel) -> ca.Function:
    tree, full = model.tree, model.initial()
    q = full(tree.q, tree.v, model.assembly.p)[: model.state.numel()]
    return ca.Function("kp_initial", [tree.q, tree.v, model.assembly.p], [ca.densify(ca.vertcat(q, tree.v))])


def _joint_state(model: DirectorModel) -> ca.Function:
    positions, _ = model.joint_values()
    v, vdot = model.tree.v, ca.SX.sym("vdot", model.tree.v.numel())
    return ca.Function("kp_joint_state", [model.state, v, vdot, model.assembly.p], [ca.densify(ca.cse(positions)), v, vdot])
