"""Natural coordinates of machines that move in a plane: six numbers for each body.

    y = (r, d1, d2),   two components each in the axes e1, e2 of the plane

A turn about the normal n is d1 e1' + d2 e2' + n n', so the twelve coordinates of a body in space are linear in y, q = L y + l.
Everything is derived from them: M = L'ML stays constant, and constraints stay quadratic. What joints carry across the plane has
no multiplier here; loads are found from the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.equations import Equations
from kingpost.equations.parts import Coordinates, Observed, Structure
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.directors.bodies import SIZE
from kingpost.symbols.externals import External
from kingpost.symbols.screws import rotation_rpy

if TYPE_CHECKING:
    from kingpost.equations.rigid_motions import RigidMotions

#: Numbers for each body, of the r, d1 and d2 of its coordinates.
PLANE_SIZE = 6
#: Cosines below this are right angles, and rows closer than this to others follow from them: rounding of unit vectors.
SMALL = 1e-9
#: Joints that can move in a plane: those whose axis is its normal, and those that slide along it.
TURNING = ("revolute", "planar", "planar-translational")
SLIDING = ("prismatic",)


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of a machine, and the way from coordinates in it to those in space: q = L y + l."""

    normal: FloatArray
    L: ca.SX
    offset: ca.SX
    #: y = back (q - offset).
    back: ca.SX


def plane_of(assembly: Assembly, initial: ca.Function) -> Plane:
    """Return the plane in which a machine moves, or refuse it with the name of the joint that leaves it."""
    mechanism = assembly.mechanism
    for joint in mechanism.joints:
        if joint.kind not in (*TURNING, *SLIDING, "weld"):
            raise MechanismError(
                f"joint '{joint.name}' is {joint.kind}, which leaves any plane; only revolute, planar, planar-translational "
                "and prismatic joints and welds stay in one. Leave the option 'planar' out"
            )
    zeros = [ca.SX.zeros(len(items)) for items in (mechanism.coordinates, mechanism.speeds)]
    start = ca.SX(initial(*zeros, assembly.p))[: SIZE * len(mechanism.bodies)]
    frames = [ca.reshape(start[SIZE * i + 3 : SIZE * i + 12], 3, 3) for i in range(len(mechanism.bodies))]
    axes = _axes(assembly, frames)
    normal = _normal(axes)
    for joint, samples in axes:
        turning = joint.kind in TURNING
        for axis in samples:
            off = float(np.linalg.norm(np.cross(axis, normal)) if turning else abs(axis @ normal))
            if off > SMALL:
                raise MechanismError(
                    f"joint '{joint.name}' {'turns about an axis' if turning else 'slides along an axis'} that is off by "
                    f"{np.degrees(np.arcsin(min(off, 1.0))):.3g} degrees from the plane of the machine, whose normal is "
                    f"({', '.join(f'{x:.4g}' for x in normal)}). Leave the option 'planar' out"
                )
    return _embedding(normal, start, frames)


def _near_defaults(assembly: Assembly) -> list[FloatArray]:
    """Return the default parameters, and two sets near them that nothing is special about."""
    rng = np.random.default_rng(0)
    defaults = np.array([parameter.default for parameter in assembly.mechanism.parameters])
    return [defaults, *(defaults * rng.uniform(0.8, 1.2, len(defaults)) for _ in range(2))]


def _axes(assembly: Assembly, frames: list[ca.SX]) -> list[tuple[Joint, list[FloatArray]]]:
    """Return the axes of all joints in the world, at zero coordinates, at the default parameters and near them."""
    bodies = [body.name for body in assembly.mechanism.bodies]
    found = []
    for joint in assembly.mechanism.joints:
        if joint.axis is not None:
            R_WP = frames[bodies.index(joint.parent)] if joint.parent in bodies else ca.SX.eye(3)
            R_PF = rotation_rpy(*ca.vertsplit(ca.densify(assembly.vector(joint.rotation))))
            axis = R_WP @ R_PF @ assembly.vector(joint.axis)
            function = ca.Function("axis", [assembly.p], [ca.densify(axis / ca.norm_2(axis))])
            found.append((joint, [np.asarray(function(p)).ravel() for p in _near_defaults(assembly)]))
    return found


def _normal(axes: Sequence[tuple[Joint, list[FloatArray]]]) -> FloatArray:
    """Return the axis of the first joint that turns, or else a direction across all that slide."""
    for joint, samples in axes:
        if joint.kind in TURNING:
            return samples[0]
    slides = np.array([samples[0] for _, samples in axes] or [np.array([1.0, 0.0, 0.0])])
    # The direction that the slides have the least share in.
    return np.asarray(np.linalg.svd(slides)[2][-1])


def _embedding(normal: FloatArray, start: ca.SX, frames: list[ca.SX]) -> Plane:
    """Return q = L y + l and its inverse, given all bodies at zero coordinates."""
    first = np.eye(3)[int(np.abs(normal).argmin())]
    first = first - (first @ normal) * normal
    first /= np.linalg.norm(first)
    E = ca.DM(np.column_stack([first, np.cross(normal, first)]))
    n = ca.DM(normal)
    maps, offsets, backs = [], [], []
    for i, R in enumerate(frames):
        r = start[SIZE * i : SIZE * i + 3]
        # Columns of R are (d1 e1' + d2 e2' + n n') R at zero coordinates.
        in_plane, across = E.T @ R, n.T @ R
        maps.append(ca.diagcat(E, ca.kron(in_plane.T, E)))
        offsets += [n @ (n.T @ r), ca.vec(n @ across)]
        backs.append(ca.diagcat(E.T, ca.kron(in_plane, E.T)))
    none = ca.SX(0, 0)
    offset = ca.vertcat(ca.SX(0, 1), *offsets)
    return Plane(normal, ca.sparsify(ca.diagcat(none, *maps)), offset, ca.sparsify(ca.diagcat(none, *backs)))


def in_plane(assembly: Assembly, full: Equations) -> Equations:
    """Return equations in space, in natural coordinates, as equations of a machine that moves in a plane."""
    assert full.coordinates.initial is not None
    solving = full.structure.augmentation
    plane = plane_of(assembly, full.coordinates.initial)
    names = [body.name for body in assembly.mechanism.bodies]
    quantities = tuple(quantity for name in names for quantity in _quantities(name))
    y, w = (ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"{item.name}{end}") for item in quantities)) for end in ("", ".rate"))
    n, m = y.numel(), full.nv
    L, p = plane.L, full.p
    counters = full.q[m:]
    q, v = ca.vertcat(L @ y + plane.offset, counters), L @ w
    state = ca.vertcat(y, counters)

    def here(expression: Any) -> Any:
        return ca.substitute([expression], [full.q[:m], full.v], [ca.densify(q[:m]), ca.densify(v)])[0]

    held = _held(assembly, full, plane, y, here)
    whole = ca.diagcat(L, ca.SX.eye(counters.numel()))
    at, speed = ca.SX.sym("q", state.numel()), ca.SX.sym("v", n)
    lifted = whole @ at + ca.vertcat(plane.offset, ca.SX(counters.numel(), 1))
    to_space = ca.Function("kp_to_space", [at, speed, p], [ca.densify(lifted), ca.densify(L @ speed)])
    return replace(
        full,
        q=state,
        v=w,
        N=ca.sparsify(ca.vertcat(ca.SX.eye(n), here(full.N)[m:, :] @ L)),
        M=ca.sparsify(ca.tril2symm(ca.tril(L.T @ full.M @ L))),
        f=ca.densify(L.T @ here(full.f)),
        kinetic=here(full.kinetic),
        potential=here(full.potential),
        outputs=here(full.outputs),
        externals=tuple(
            External(item.owner, item.symbols, item.function, tuple(here(argument) for argument in item.arguments))
            for item in full.externals
        ),
        constraints=held,
        coordinates=Coordinates(
            positions=(*quantities, *full.position_quantities[m:]),
            speeds=tuple(Quantity(f"{item.name}.rate", "m/s" if item.unit == "m" else "1/s") for item in quantities),
            initial=_initial(assembly, full, plane),
            joint_state=_joint_state(full, to_space, state.numel(), L),
            follow=None if full.coordinates.follow is None else _follow(full, to_space, state.numel(), n),
        ),
        observed=Observed(momentum=here(full.observed.momentum)),
        structure=Structure(
            midpoint_forces=_midpoint_forces(full, to_space, state.numel(), L),
            augmentation=None if solving is None else _augmentation(solving),
            rigid=None if full.structure.rigid is None else _rigid(full.structure.rigid),
            volumes={name: _volume(groups[0][0] // SIZE) for name, groups in full.structure.volumes.items()},
        ),
    )


def _quantities(body: str) -> tuple[Quantity, ...]:
    position = tuple(Quantity(f"{body}.r.{axis}", "m") for axis in "12")
    return position + tuple(Quantity(f"{body}.d{i}.{axis}", "1") for i in (1, 2) for axis in "12")


def _held(assembly: Assembly, full: Equations, plane: Plane, y: ca.SX, here: Callable[[Any], Any]) -> Constraints:
    """Return the constraints in the plane: those of the directors, and of joints and closures what is not kept by the plane."""
    names = [body.name for body in assembly.mechanism.bodies]
    internal, owners = [], []
    for i, name in enumerate(names):
        d1, d2 = (y[PLANE_SIZE * i + k : PLANE_SIZE * i + k + 2] for k in (2, 4))
        internal += [(ca.dot(d1, d1) - 1) / 2, (ca.dot(d2, d2) - 1) / 2, ca.dot(d1, d2)]
        owners += [f"{name}.directors"] * 3
    phi_in = ca.vertcat(ca.SX(0, 1), *internal)
    positions = full.constraints.holonomic
    A, b = ca.sparsify(here(full.constraints.A) @ plane.L), here(full.constraints.b)
    inner = {f"{name}.directors" for name in names}
    candidates = [i for i, owner in enumerate(full.constraints.owners) if owner not in inner]
    values = ca.vertcat(here(full.constraints.phi), b[positions:])
    sampled = _samples(assembly, full, plane, y, [ca.jacobian(phi_in, y), A, values])
    kept = _independent(full.constraints.owners, candidates, sampled)
    first, last = ([i for i in kept if (i < positions) == early] for early in (True, False))
    lam = ca.SX.sym("lam", len(owners) + len(kept))
    every = ca.SX.zeros(len(full.constraints.owners))
    for k, i in enumerate((*first, *last)):
        every[i] = lam[len(owners) + k]
    joints = {joint.name for joint in assembly.mechanism.joints}
    reactions = {
        name: here(ca.substitute(wrench, full.constraints.lam, every))
        for name, wrench in full.constraints.reactions.items()
        if name not in joints
    }
    return Constraints(
        ca.densify(ca.vertcat(phi_in, here(full.constraints.phi)[first])),
        ca.sparsify(ca.vertcat(ca.jacobian(phi_in, y), A[first, :], A[last, :])),
        ca.densify(ca.vertcat(ca.SX.zeros(phi_in.numel()), b[first], b[last])),
        lam,
        (*owners, *(full.constraints.owners[i] for i in (*first, *last))),
        reactions,
        kept=tuple(
            closure.name
            for closure in assembly.mechanism.closures
            if closure.name not in {full.constraints.owners[i] for i in kept}
        ),
    )


def _samples(assembly: Assembly, full: Equations, plane: Plane, y: ca.SX, parts: list[ca.SX]) -> list[FloatArray]:
    """Return expressions at three random places that all joints allow and sets of parameters, side by side."""
    assert full.coordinates.initial is not None
    rng, mechanism = np.random.default_rng(1), assembly.mechanism
    counters = full.q[full.nv :]
    function = ca.Function("rows", [full.t, y, counters, full.p], [ca.densify(part) for part in parts])
    back = ca.Function("back", [full.q, full.p], [ca.densify(plane.back @ (full.q[: full.nv] - plane.offset))])
    found = []
    for p in _near_defaults(assembly):
        joints = rng.uniform(0.3, 1.2, len(mechanism.coordinates))
        start = np.asarray(full.coordinates.initial(joints, np.zeros(len(mechanism.speeds)), p)).ravel()[: full.nq]
        found.append([np.asarray(part) for part in function(0.0, back(start, p), start[full.nv :], p)])
    return [np.hstack(part) for part in zip(*found, strict=True)]


def _independent(owners: Sequence[str], candidates: Sequence[int], sampled: list[FloatArray]) -> list[int]:
    """Return rows of each joint and closure of which its others are combinations with constant coefficients.

    Rows that the plane keeps are zero. Axes across a slide that are neither in the plane nor along its normal make two rows of
    one, and a product of parallel axes follows from the rows of the directors. A row that follows from others but wants
    something else can never be met.
    """
    internal, A, values = sampled
    kept: list[int] = []
    for owner in dict.fromkeys(owners[i] for i in candidates):
        own = sorted((i for i in candidates if owners[i] == owner), key=lambda i: -float(np.linalg.norm(A[i])))
        basis = internal
        used: list[int] = []
        for i in own:
            share, *_ = np.linalg.lstsq(basis.T, A[i], rcond=None)
            if np.linalg.norm(A[i] - share @ basis) > 1e-6 * max(1.0, float(np.linalg.norm(A[i]))):
                basis, used = np.vstack([basis, A[i]]), [*used, i]
                continue
            left = values[i] - share[len(internal) :] @ values[used] if used else values[i]
            if np.abs(left).max() > 1e-6:
                raise MechanismError(
                    f"'{owner}' asks for something across the plane of the machine that is off by {np.abs(left).max():.3g} m "
                    "or rad, and that nothing in the plane can change. Leave the option 'planar' out"
                )
        kept += used
    return sorted(kept)


def _initial(assembly: Assembly, full: Equations, plane: Plane) -> ca.Function:
    assert full.coordinates.initial is not None
    mechanism, m, nq = assembly.mechanism, full.nv, full.nq
    joints, speeds = ca.SX.sym("q", len(mechanism.coordinates)), ca.SX.sym("v", len(mechanism.speeds))
    x = ca.SX(full.coordinates.initial(joints, speeds, full.p))
    result = ca.vertcat(plane.back @ (x[:m] - plane.offset), x[m:nq], plane.back @ x[nq:])
    return ca.Function("kp_initial", [joints, speeds, full.p], [ca.densify(ca.cse(result))])


def _joint_state(full: Equations, to_space: ca.Function, size: int, L: ca.SX) -> ca.Function:
    assert full.coordinates.joint_state is not None
    q, v, vdot = ca.SX.sym("q", size), ca.SX.sym("v", L.shape[1]), ca.SX.sym("vdot", L.shape[1])
    place, speed = to_space(q, v, full.p)
    results = full.coordinates.joint_state(place, speed, ca.densify(L @ vdot), full.p)
    return ca.Function("kp_joint_state", [q, v, vdot, full.p], [ca.densify(item) for item in results])


def _midpoint_forces(full: Equations, to_space: ca.Function, size: int, L: ca.SX) -> ca.Function:
    assert full.structure.midpoint_forces is not None
    sizes = {"t": 1, "q0": size, "q1": size, "v": L.shape[1], "u": full.u.numel(), "p": full.np}
    t, q0, q1, v, u, p = symbols = [ca.MX.sym(name, count) for name, count in sizes.items()]
    (first, speed), (last, _) = (to_space(q, v, p) for q in (q0, q1))
    along = ca.Function("kp_along", [full.p], [L])(p)
    force = along.T @ full.structure.midpoint_forces(t, first, last, speed, u, p)
    return ca.Function("kp_midpoint_forces", symbols, [ca.densify(force)])


def _follow(full: Equations, to_space: ca.Function, size: int, n: int) -> ca.Function:
    assert full.coordinates.follow is not None
    q = ca.SX.sym("q", size)
    return ca.Function("kp_follow", [q, full.p], [full.coordinates.follow(to_space(q, ca.SX.zeros(n), full.p)[0], full.p)])


def _volume(body: int) -> tuple[tuple[int, ...], ...]:
    """Return the rows of a body's centre of mass and those of its directors."""
    first = PLANE_SIZE * body
    return (first, first + 1), tuple(range(first + 2, first + PLANE_SIZE))


def _rigid(full: RigidMotions) -> RigidMotions:
    """Return the same bodies with three motions each."""
    return replace(
        full, bodies=tuple(replace(body, first=body.first // SIZE * PLANE_SIZE, size=PLANE_SIZE) for body in full.bodies)
    )


def _augmentation(full: Augmentation) -> Augmentation:
    """Return how to solve with bodies without volume, for six coordinates of each instead of twelve."""
    bodies = [group[0] // SIZE for group in full.groups]
    first = {body: range(PLANE_SIZE * body, PLANE_SIZE * (body + 1)) for body in bodies}
    inertia = np.zeros(PLANE_SIZE * len(bodies))
    for body, rows in first.items():
        inertia[rows.start : rows.start + 2] = full.inertia[SIZE * body]
        inertia[rows.start + 2 : rows.stop] = full.inertia[SIZE * body + 3]
    bare = tuple(row for body in dict.fromkeys(i // SIZE for i in full.bare) for row in first[body])
    return Augmentation(inertia, bare, tuple(tuple(first[body]) for body in bodies), full.follows)
