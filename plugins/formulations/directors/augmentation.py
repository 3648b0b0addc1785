"""Flat, slender, pointlike and massless bodies in natural coordinates: their directors have no inertia of their own.

What gives such a body its inertia in space is the rigidity of its directors, its joint and what it carries. So the equations
of motion are solved together with the constraints (:mod:`kingpost.equations.augmentation`).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.augmentation import Augmentation
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.tree import JointSpace
from kingpost.plugins.formulations.directors.bodies import SIZE, euler_tensor

#: A part of a body's inertia, or of the machine's mean mass, that counts as none.
NONE = 1e-8
#: What a body without inertia is taken to have in scales, as a part of the mean over all bodies.
STAND_IN = 1e-3


def augmentation(assembly: Assembly) -> Augmentation | None:
    """Return how to solve the equations of a machine with bodies without volume, or None if it has none."""
    mechanism = assembly.mechanism
    names = [body.name for body in mechanism.bodies]
    bare = [i for i, name in enumerate(names) if _without_volume(assembly, name)]
    if not bare:
        return None
    depth = {joint.child: k for k, joint in enumerate(mechanism.tree)}
    from_tips = sorted(range(len(names)), key=lambda i: -depth[names[i]])
    place = {names[i]: k for k, i in enumerate(from_tips)}
    follows = {f"{name}.directors": place[name] for name in names}
    follows |= {joint.name: place[joint.child] for joint in mechanism.joints}
    return Augmentation(
        _inertias(assembly),
        tuple(row for i in bare for row in range(SIZE * i, SIZE * (i + 1))),
        tuple(tuple(range(SIZE * i, SIZE * (i + 1))) for i in from_tips),
        follows,
    )


def _samples(assembly: Assembly, expression: ca.SX) -> list[FloatArray]:
    """Return the values of an expression at the default parameters and near them, where they are finite."""
    rng = np.random.default_rng(0)
    defaults = np.array([parameter.default for parameter in assembly.mechanism.parameters])
    function = ca.Function("values", [assembly.p], [ca.densify(expression)])
    near = [defaults, *(defaults * rng.uniform(0.8, 1.2, len(defaults)) for _ in range(2))]
    values = [np.asarray(function(p)) for p in near]
    return [value for value in values if np.isfinite(value).all()]


def _without_volume(assembly: Assembly, body: str) -> bool:
    """Say whether a body has no mass, or no extent along some axis, whatever the parameters are."""
    space = JointSpace(assembly)
    mass = space.value(assembly.mechanism.body(body).mass)
    samples = _samples(assembly, ca.diagcat(mass, euler_tensor(space, body)))
    extremes = [(value[0, 0], *np.linalg.eigvalsh(value[1:, 1:])[[0, -1]]) for value in samples]
    return bool(extremes) and all(m <= 0.0 or smallest <= NONE * abs(largest) for m, smallest, largest in extremes)


def _inertias(assembly: Assembly) -> FloatArray:
    """Return the size of the inertia of every coordinate, at the default parameters: that of a body and what it carries."""
    space, mechanism = JointSpace(assembly), assembly.mechanism
    names = [body.name for body in mechanism.bodies]
    parts = [ca.vertcat(space.value(body.mass), ca.trace(euler_tensor(space, body.name))) for body in mechanism.bodies]
    # Squares of the distances of joints and closures from centres of mass.
    arms: dict[str, list[ca.SX]] = {name: [ca.SX(0)] for name in names}
    for item in (*mechanism.joints, *mechanism.closures):
        for name, point in ((item.parent, item.position), (item.child, item.child_position)):
            if name in arms:
                arms[name].append(ca.sumsqr(space.vector(point) - space.vector(mechanism.body(name).com)))
    lengths = [ca.mmax(ca.vertcat(*arms[name])) for name in names]
    samples = _samples(assembly, ca.horzcat(ca.horzcat(*parts).T, ca.vertcat(*lengths)))
    if not samples:
        return np.ones(SIZE * len(names))
    mass, extent, square = np.abs(samples[0]).T
    for joint in reversed(mechanism.tree):
        if joint.parent in names:
            child, parent = names.index(joint.child), names.index(joint.parent)
            mass[parent], extent[parent] = mass[parent] + mass[child], extent[parent] + extent[child]
    mass = _lifted(mass)
    extent = _lifted(extent / 3 + mass * square)
    return np.concatenate([np.r_[np.full(3, m), np.full(9, E)] for m, E in zip(mass, extent, strict=True)])


def _lifted(sizes: FloatArray) -> FloatArray:
    """Return positive sizes: what is nothing counts as a small part of the mean, or as one if everything is nothing."""
    mean = float(sizes.mean())
    return np.maximum(sizes, STAND_IN * mean) if mean > 0.0 else np.ones_like(sizes)
