"""Equations of motion in the joint coordinates of a tree: all that does not depend on the road to M and f."""

from __future__ import annotations

import casadi as ca

from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import Equations, output_channels
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints, tree_constraints
from kingpost.multibody.measures import outputs_and_measures
from kingpost.multibody.tree import TreeKinematics


def tree_equations(
    formulation: str,
    tree: TreeKinematics,
    M: ca.SX,
    f: ca.SX,
    kinetic: ca.SX,
    potential: ca.SX,
    constraints: Constraints | None = None,
) -> Equations:
    """Return the equations of a tree whose loads were gone through; ``constraints``, if they are known, are its closures'."""
    assembly, mechanism = tree.assembly, tree.mechanism
    signals = (value for value, _ in tree.signals.values())
    held = tree_constraints(tree, mechanism.closures) if constraints is None else constraints
    _refuse_waves_in_loops(assembly, held)
    return Equations(
        mechanism=mechanism,
        formulation=formulation,
        t=assembly.t,
        q=tree.q,
        v=tree.v,
        u=assembly.u,
        p=assembly.p,
        N=tree.velocity_map(),
        M=M,
        f=f,
        kinetic=kinetic,
        potential=potential,
        externals=tuple(tree.externals),
        constraints=held,
        outputs=ca.vertcat(ca.SX(0, 1), *outputs_and_measures(tree), *signals),
        output_channels=output_channels(mechanism, tree.signals),
    )


def _refuse_waves_in_loops(assembly: Assembly, held: Constraints) -> None:
    """Refuse closures that depend on how waves move a given joint: nobody has the time derivatives of these there."""
    if not assembly.moving_externals:
        return
    moving = ca.vertcat(*(external.symbols for external in assembly.moving_externals))
    if any(ca.depends_on(ca.SX(part), moving) for part in (held.phi, held.A, held.b)):
        raise MechanismError(
            f"waves move joint {listed(assembly.motions)}, and a closure ties what it carries to something that they do not "
            "move; close loops on the moved base alone"
        )
