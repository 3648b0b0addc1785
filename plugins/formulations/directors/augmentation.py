"""Flat, slender, pointlike and massless bodies in natural coordinates: their directors have no inertia of their own.

What gives such a body its inertia in space is the rigidity of its directors, its joint and what it carries. So the equations
of motion are solved together with the constraints (:mod:`kingpost.equations.augmentation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.augmentation import FLAT, Augmentation
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.tree import JointSpace
from kingpost.plugins.formulations.directors.bodies import SIZE, euler_tensor
from kingpost.plugins.formulations.directors.driven import ENDING, Driven

if TYPE_CHECKING:
    from kingpost.equations.rigid_motions import RigidMotions

#: What a body without inertia is taken to have in scales, as a part of the mean over all bodies.
STAND_IN = 1e-3


def augmentation(
    assembly: Assembly, sizes: Mapping[str, int] | None = None, driven: Driven | None = None
) -> Augmentation | None:
    """Return how to solve the equations of a machine with bodies without volume, or None if it has none.

    ``sizes`` are the numbers of coordinates of bodies; ``driven`` ones are behind them and have no inertia either.
    """
    mechanism = assembly.mechanism
    names = [body.name for body in mechanism.bodies]
    sizes = sizes or dict.fromkeys(names, SIZE)
    scalars = () if driven is None else driven.names
    bare = [name for name in names if _without_volume(assembly, name, sizes[name])]
    if not bare and not scalars:
        return None
    rows, first = {}, 0
    for name in names:
        rows[name] = tuple(range(first, first + sizes[name]))
        first += sizes[name]
    depth = {joint.child: k for k, joint in enumerate(mechanism.tree)}
    # Each driven coordinate with the row that ties it, then the bodies from the tips to the base.
    groups = [*((first + i,) for i in range(len(scalars)))]
    follows = {f"{name}{ENDING}": i for i, name in enumerate(scalars)}
    from_tips = sorted(names, key=lambda name: -depth[name])
    place = {name: len(scalars) + k for k, name in enumerate(from_tips)}
    follows |= {f"{name}.directors": place[name] for name in names}
    follows |= {joint.name: place[joint.child] for joint in mechanism.joints}
    inertia = _inertias(assembly, sizes)
    angular = float(np.mean(inertia[[row for name in names if sizes[name] == SIZE for row in rows[name][3:]] or [0]]))
    linear = float(np.mean(inertia[[row for name in names for row in rows[name][:3]]]))
    units = [] if driven is None else [item.unit for item in driven.quantities]
    return Augmentation(
        np.concatenate([inertia, [angular if unit == "rad" else linear for unit in units]]),
        (*(row for name in bare for row in rows[name]), *range(first, first + len(scalars))),
        (*groups, *(rows[name] for name in from_tips)),
        follows,
    )


def volumes(assembly: Assembly, sizes: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Return the rows of the centre of mass and those of the directors, for each body that is taken to have a volume."""
    found: dict[str, tuple[tuple[int, ...], ...]] = {}
    first = 0
    for name, size in sizes.items():
        if not _without_volume(assembly, name, size):
            groups = (tuple(range(first, first + 3)), tuple(range(first + 3, first + size)))
            found[name] = groups if size == SIZE else groups[:1]
        first += size
    return found


def rigid_motions(assembly: Assembly, sizes: Mapping[str, int], driven: Driven | None = None) -> RigidMotions:
    """Return the bodies in the order in which a step is solved for their motions."""
    from kingpost.equations.rigid_motions import SCALAR, RigidBody, RigidMotions  # only where bodies have directors

    mechanism, scalars = assembly.mechanism, () if driven is None else driven.names
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    end = sum(sizes.values())
    found = [RigidBody(end + i, SCALAR, follows=(f"{name}{ENDING}",), bare=True) for i, name in enumerate(scalars)]
    for joint in reversed(mechanism.tree):
        name, size = joint.child, sizes[joint.child]
        bare = _without_inertia(assembly, name, size)
        found.append(RigidBody(first[name], size, f"{name}.directors", (joint.name,), bare))
    return RigidMotions(tuple(found))


def _without_inertia(assembly: Assembly, body: str, size: int) -> bool:
    """Say whether a body has no mass, or no moment of inertia about some axis if it turns."""
    space = JointSpace(assembly)
    samples = _samples(assembly, ca.diagcat(space.value(assembly.mechanism.body(body).mass), space.inertia(body)))
    extremes = [(value[0, 0], *np.linalg.eigvalsh(value[1:, 1:])[[0, -1]]) for value in samples]
    return any(m <= 0.0 or (size == SIZE and smallest <= FLAT * abs(largest)) for m, smallest, largest in extremes)


def _samples(assembly: Assembly, expression: ca.SX) -> list[FloatArray]:
    """Return the values of an expression at the default parameters and at those that are meant, where they are finite."""
    defaults = tuple(parameter.default for parameter in assembly.mechanism.parameters)
    function = ca.Function("values", [assembly.p], [ca.densify(expression)])
    values = [np.asarray(function(p)) for p in dict.fromkeys((defaults, assembly.meant or defaults))]
    return [value for value in values if np.isfinite(value).all()]


def _without_volume(assembly: Assembly, body: str, size: int) -> bool:
    """Say whether a body has no mass, or no extent along some axis if it turns, at the default parameters or those meant.

    Parameters with which it has are no obstacle to what is done for bodies that have not: see :class:`.Augmentation`.
    """
    space = JointSpace(assembly)
    mass = space.value(assembly.mechanism.body(body).mass)
    if size != SIZE:
        masses = _samples(assembly, mass)
        return any(float(value[0, 0]) <= 0.0 for value in masses)
    samples = _samples(assembly, ca.diagcat(mass, euler_tensor(space, body)))
    extremes = [(value[0, 0], *np.linalg.eigvalsh(value[1:, 1:])[[0, -1]]) for value in samples]
    return any(m <= 0.0 or smallest <= FLAT * abs(largest) for m, smallest, largest in extremes)


def _inertias(assembly: Assembly, sizes: Mapping[str, int]) -> FloatArray:
    """Return the size of the inertia of every coordinate, at the default parameters: that of a body and what it carries."""
    space, mechanism = JointSpace(assembly), assembly.mechanism
    names = [body.name for body in mechanism.bodies]
    parts = [ca.vertcat(space.value(body.mass), ca.trace(euler_tensor(space, body.name))) for body in mechanism.bodies]
    # Squares of the distances of joints and closures from centres of mass.
    arms: dict[str, list[ca.SX]] = {name: [ca.SX(0)] for name in names}
    items: list[Joint | Closure] = [*mechanism.joints, *mechanism.closures]
    for item in items:
        for name, point in ((item.parent, item.position), (item.child, item.child_position)):
            if name in arms:
                arms[name].append(ca.sumsqr(space.vector(point) - space.vector(mechanism.body(name).com)))
    lengths = [ca.mmax(ca.vertcat(*arms[name])) for name in names]
    samples = _samples(assembly, ca.horzcat(ca.horzcat(*parts).T, ca.vertcat(*lengths)))
    if not samples:
        return np.ones(sum(sizes.values()))
    mass, extent, square = np.abs(samples[0]).T
    for joint in reversed(mechanism.tree):
        if joint.parent in names:
            child, parent = names.index(joint.child), names.index(joint.parent)
            mass[parent], extent[parent] = mass[parent] + mass[child], extent[parent] + extent[child]
    mass = _lifted(mass)
    extent = _lifted(extent / 3 + mass * square)
    found = zip(names, mass, extent, strict=True)
    return np.concatenate([np.r_[np.full(3, m), np.full(sizes[name] - 3, E)] for name, m, E in found])


def _lifted(sizes: FloatArray) -> FloatArray:
    """Return positive sizes: what is nothing counts as a small part of the mean, or as one if everything is nothing."""
    mean = float(sizes.mean())
    return np.maximum(sizes, STAND_IN * mean) if mean > 0.0 else np.ones_like(sizes)
