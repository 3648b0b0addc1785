"""How formulations in joint coordinates treat closed loops: what `kane` and `recursive` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.equations import Equations
from kingpost.equations.partition import AUTO, Partition, wanted_names
from kingpost.equations.treatment import Drift, Treatment
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints, tree_constraints
from kingpost.multibody.tree import TreeKinematics


@dataclass(frozen=True)
class LoopOptions:
    """Of closed loops.

    ``baumgarte``: rate in 1/s at which constraint errors are pulled back in the accelerations. ``projection``: whether they are
    taken away, after every step of a fixed-step integrator and at every evaluation of a solver. ``independent``: coordinates
    that alone are advanced, all others being found from them at every evaluation (coordinate partitioning); names with a /
    between two, or ``auto``.
    """

    baumgarte: float = 0.0
    projection: bool = True
    independent: str = ""

    def __post_init__(self) -> None:
        if self.independent and (self.baumgarte or not self.projection):
            raise MechanismError(
                f"independent={self.independent} leaves no constraint errors, so that "
                f"{'baumgarte' if self.baumgarte else 'projection=false'} means nothing with it; choose one of them"
            )


#: Scaled eigenvalues of a mass matrix below this are none; parameters near the default ones are tried, too.
NO_INERTIA = 1e-10


def with_augmentation(equations: Equations) -> Equations:
    """Return equations in joint speeds that can be solved where some of these have no inertia and are held by closures."""
    return replace(equations, structure=replace(equations.structure, augmentation=_augmentation(equations)))


def _augmentation(equations: Equations) -> Augmentation | None:
    """Return how to solve equations in joint speeds, some of which have no inertia; None if all have.

    Judged at random coordinates, at the default parameters and near them: what is singular by accident is refused elsewhere.
    """
    if not equations.mechanism.closures or not equations.nv:
        return None
    mass = ca.Function("M", [equations.q, equations.p], [ca.densify(equations.M)])
    rng = np.random.default_rng(0)
    defaults = np.array([parameter.default for parameter in equations.mechanism.parameters])
    bare: set[int] | None = None
    sizes = np.zeros(equations.nv)
    for factor in (1.0, rng.uniform(0.8, 1.2, len(defaults)), rng.uniform(0.8, 1.2, len(defaults))):
        p = defaults * factor
        q = rng.uniform(0.3, 1.2, len(equations.mechanism.coordinates))
        if equations.coordinates.initial is not None:
            q = np.asarray(equations.coordinates.initial(q, np.zeros(equations.nv), p)).ravel()[: equations.nq]
        M = np.asarray(mass(q, p))
        own = np.diag(M)
        if not np.isfinite(M).all() or own.min() < 0.0:
            return None
        sizes = sizes if sizes.any() else own
        scale = np.sqrt(np.where(own > 0.0, own, 1.0))
        values, motions = np.linalg.eigh(M / np.outer(scale, scale))
        without = np.abs(motions[:, values < NO_INERTIA]).max(axis=1, initial=0.0) > NO_INERTIA
        bare = {int(row) for row in np.flatnonzero(without)} & (bare if bare is not None else {*range(equations.nv)})
    if not bare:
        return None
    # What has none counts as the mean: weights that are small against the inertias of the others cost digits.
    scales = np.where(sizes > 0.0, sizes, float(sizes.mean()) or 1.0)
    return Augmentation(scales, tuple(sorted(bare)), (tuple(range(equations.nv)),), {})


def constraints_in(assembly: Assembly, symbols: Mapping[str, Any]) -> Constraints:
    """Return the equations of closures in the given symbols; of each closure by a function of its own."""
    tree = TreeKinematics(assembly)
    closures = tree_constraints(tree, assembly.mechanism.closures)
    kind, A = type(symbols["q"]), closures.A
    lam = kind.sym("lam", closures.lam.numel())
    outside = [tree.t, tree.q, assembly.p]
    here = [symbols["t"], symbols["q"], symbols["p"]]
    phi: list[Any] = [None] * closures.holonomic
    entries: list[Any] = [None] * A.nnz()
    b: list[Any] = [None] * closures.count
    at: dict[int, list[int]] = {}
    for k, row in enumerate(A.sparsity().row()):
        at.setdefault(row, []).append(k)
    for name in dict.fromkeys(closures.owners):
        rows = [row for row, owner in enumerate(closures.owners) if owner == name]
        positions = [row for row in rows if row < closures.holonomic]
        places = [k for row in rows for k in at.get(row, [])]
        parts = [closures.phi[positions], ca.vertcat(ca.SX(0, 1), *(A.nz[k] for k in places)), closures.b[rows]]
        found = ca.Function("closure", outside, ca.cse([ca.densify(part) for part in parts])).call(here)
        for whole, where, part in zip((phi, entries, b), (positions, places, rows), found, strict=True):
            for k, value in zip(where, ca.vertsplit(part) if where else (), strict=True):
                whole[k] = value
    reactions = ca.Function("reactions", [tree.t, tree.q, tree.v, closures.lam, assembly.p], list(closures.reactions.values()))
    values = reactions.call([symbols["t"], symbols["q"], symbols["v"], lam, symbols["p"]])
    empty = kind(0, 1)
    return Constraints(
        ca.vertcat(empty, *phi),
        kind(A.sparsity(), ca.vertcat(empty, *entries)),
        ca.vertcat(empty, *b),
        lam,
        closures.owners,
        dict(zip(closures.reactions, values, strict=True)),
    )


def loop_treatment(options: LoopOptions, equations: Equations) -> Equations:
    """Return the equations with the treatment of constraint errors that the options ask for."""
    equations = with_augmentation(equations)
    if not options.independent:
        treatment = Treatment if options.projection else Drift
        return replace(equations, treatment=treatment(options.baumgarte))
    if equations.mechanism.closures:
        return replace(equations, treatment=Partition(wanted=wanted_names(equations, options.independent)))
    if options.independent == AUTO:
        return equations
    raise MechanismError(
        f"independent={options.independent}: '{equations.mechanism.name}' has no closures, so that all of its coordinates "
        "are independent"
    )
