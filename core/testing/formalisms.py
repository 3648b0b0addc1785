"""What every formalism must do, checked on random trees and loops, with and without redundant rows and singular masses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.base.formulas import evaluate
from kingpost.equations.equations import Equations
from kingpost.equations.formalism import Formalism
from kingpost.mechanism.mechanism import Mechanism, quaternion_rows
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import tree_constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, parameter_row
from kingpost.simulation.simulate import simulate
from kingpost.testing.formulations import from_positions
from kingpost.testing.problems import (
    BUCKET,
    DRUM_RADIUS,
    DRUM_TORQUE,
    bare_winch,
    parallelogram,
    parallelogram_solution,
    random_loop,
    random_tree,
    welded,
)

#: Of accelerations, as a part of the largest one with or without constraints: rounding of 1e-16 in each of some 1e4 operations,
#: most of which cancel each other, times condition numbers of masses and constraints of up to 1e3 at these states.
TOLERANCE = 1e-11
TREES, LOOPS = range(4), range(6)


@dataclass(frozen=True, eq=False)
class Exact:
    """A machine at a state, and M, f, A and drift there, differentiated from positions alone."""

    mechanism: Mechanism
    q: FloatArray
    v: FloatArray
    M: FloatArray
    f: FloatArray
    A: FloatArray
    drift: FloatArray

    @cached_property
    def solution(self) -> tuple[FloatArray, FloatArray]:
        """Accelerations and multipliers, of least norm where they are not unique, by numerical linear algebra."""
        rows = len(self.A)
        matrix = np.block([[self.M, self.A.T], [self.A, np.zeros((rows, rows))]])
        both = np.linalg.lstsq(matrix, np.concatenate([self.f, -self.drift]), rcond=1e-11)[0]
        return both[: len(self.M)], both[len(self.M) :]

    @property
    def vdot(self) -> FloatArray:
        """The accelerations."""
        return self.solution[0]

    @property
    def size(self) -> float:
        """The largest acceleration, of this machine or of one without constraints."""
        free = np.linalg.lstsq(self.M, self.f, rcond=1e-11)[0]
        return max(1.0, float(np.abs(self.vdot).max(initial=0.0)), float(np.abs(free).max(initial=0.0)))

    def left_by(self, miss: float) -> float:
        """Return by how much accelerations may be off if constraints are missed by some part of what they hold.

        Penalties alpha = 1/miss leave M^-1 A' (miss + S)^-1 miss y, S = A M^-1 A', in rows and speeds of the size one.
        """
        if not miss or not len(self.A):
            return 0.0
        D = 1 / np.sqrt(np.diag(self.M))
        E = 1 / np.linalg.norm(self.A * D, axis=1)
        M, A = self.M * np.outer(D, D), self.A * np.outer(E, D)
        moved = np.linalg.solve(M, A.T)
        left = moved @ np.linalg.inv(A @ moved) @ (self.solution[1] / E)
        return 2 * miss * float(np.abs(D * left).max())


class Subject:
    """A formalism class under test."""

    def __init__(self, cls: type[Formalism], plugins: PluginSet | None = None) -> None:
        self.cls = cls
        self.plugins = plugins or PluginSet(entry_points=False)
        self.way = select(self.plugins.of("formalisms"), cls)  # refuses a class that is no plugin, with a reason

    def derive(self, mechanism: Mechanism) -> Equations:
        """Return the equations of a machine that it must take."""
        try:
            return derive(assemble(mechanism, self.plugins), self.cls, self.plugins)
        except Exception as error:
            raise AssertionError(
                f"{self.cls.name}, {mechanism.name}: {type(error).__name__} instead of equations ({str(error).strip()})"
            ) from error

    def exact(self, mechanism: Mechanism) -> Exact:
        """Return a machine near its start, its speeds such that its closures hold."""
        assembly = assemble(mechanism, self.plugins)
        tree = TreeKinematics(assembly)
        held = tree_constraints(tree, mechanism.closures)
        values = resolve_values(mechanism, {})
        p = parameter_row(mechanism, values)
        speed = held.A @ tree.v + held.b
        rate = ca.jtimes(speed, tree.q, tree.velocity_map() @ tree.v)
        parts = ca.Function("parts", [tree.q, tree.v, assembly.p], [ca.densify(held.A), rate, speed])
        declared = [joint.start_values for joint in mechanism.joints]
        counts = [len(joint.positions) for joint in mechanism.joints]
        pairs = list(zip(declared, counts, strict=True))
        q = np.array([float(evaluate(value, values.parameters)) for own, n in pairs for value in own[:n]])
        v = np.array([float(evaluate(value, values.parameters)) for own, n in pairs for value in own[n:]])
        for first in quaternion_rows(mechanism):
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        A, _, off = (np.asarray(part) for part in parts(q, v, p))
        v = v - np.linalg.pinv(A) @ off.ravel()
        A, drift, _ = (np.asarray(part) for part in parts(q, v, p))
        M, free = (np.asarray(part) for part in from_positions(assembly)(q, v, p))
        return Exact(mechanism, q, v, M, (M @ free).ravel(), A, drift.ravel())

    @cached_property
    def machines(self) -> list[tuple[Exact, Equations]]:
        """Random trees and loops."""
        trees = [random_tree(seed, bodies=2 + seed % 2) for seed in TREES]
        loops = [random_loop(seed, bodies=2 + seed % 2) for seed in LOOPS]
        return [(self.exact(mechanism), self.derive(mechanism)) for mechanism in (*trees, *loops)]


def check_formalism(cls: type[Formalism], plugins: PluginSet | None = None) -> None:
    """Run every check on a formalism class; raise ``AssertionError`` at the first that fails."""
    subject = Subject(cls, plugins)
    for check in FORMALISM_CHECKS:
        check(subject)


def check_accelerations(subject: Subject) -> None:
    """Accelerations are those from positions alone, but for the error that the formalism says it leaves."""
    for exact, equations in subject.machines:
        found = np.asarray(equations.accelerations(0, exact.q, exact.v, [], [1.0])).ravel()
        allowed = TOLERANCE * exact.size + exact.left_by(subject.way.miss())
        _assert_close(found, exact.vdot, allowed, f"{subject.cls.name}, {exact.mechanism.name}: accelerations")


def check_multipliers(subject: Subject) -> None:
    """M vdot = f - A' lam holds with its own M, f and lam, which are those from positions alone."""
    for exact, equations in subject.machines:
        state: tuple[Any, ...] = (0, exact.q, exact.v, [], [1.0])
        M, f, vdot = (np.asarray(part) for part in equations.descriptor(*state))
        lam = np.asarray(equations.multipliers(*state)).ravel()
        scale = float(np.abs(exact.M).max()) * exact.size
        name = f"{subject.cls.name}, {exact.mechanism.name}"
        _assert_close(M, exact.M, TOLERANCE * float(np.abs(exact.M).max()), f"{name}: M")
        _assert_close(f.ravel(), exact.f, TOLERANCE * scale, f"{name}: f")
        left = M @ vdot.ravel() - f.ravel() + exact.A.T @ lam
        # Penalties are the multipliers of the accelerations that they give: nothing but their own rounding is left.
        rounding = 1.0 if subject.way.miss() < 1e-12 else 1e-3 / subject.way.miss()
        _assert_close(left, np.zeros_like(left), max(1.0, rounding) * TOLERANCE * scale, f"{name}: M vdot - f + A' lam")


def check_parameters(subject: Subject) -> None:
    """Parameters stay symbols: masses and springs doubled change accelerations as they should, without a new derivation."""
    mechanism = random_tree(1, bodies=2)
    exact, equations = subject.exact(mechanism), subject.derive(mechanism)
    oracle = from_positions(assemble(mechanism, subject.plugins))
    found = np.asarray(equations.accelerations(0, exact.q, exact.v, [], [2.0])).ravel()
    right = np.asarray(oracle(exact.q, exact.v, [2.0])[1]).ravel()
    _assert_close(found, right, TOLERANCE * exact.size, f"{subject.cls.name}: accelerations with doubled masses")


def check_motion(subject: Subject) -> None:
    """A four-bar linkage swings by its closed form, but for the error that the formalism says it leaves."""
    mechanism = parallelogram("point-on-line")
    way = select(subject.plugins.formulations, cast(Any, subject.cls))
    history = simulate(mechanism, 0.5, formulation=way, step=0.005, backend="vm", plugins=subject.plugins)
    off = float(np.abs(history["a.angle"] - parallelogram_solution(history.time)[:, 0]).max())
    # rk4 has errors of some (h w)^4 = 1e-8 here, w = 2 rad/s; errors of accelerations of some 10 rad/s2 act for half a second.
    allowed = 1e-7 + 10 * subject.way.miss()
    assert off < allowed, f"{subject.cls.name}: the linkage is off by {off:.2e} rad from its closed form"


def check_redundant_rows(subject: Subject) -> None:
    """Rows that follow from others do no harm, if it says so."""
    if not subject.cls.redundant_rows:
        return
    mechanism = parallelogram("revolute")  # five rows on three speeds, two of them independent
    exact, equations = subject.exact(mechanism), subject.derive(mechanism)
    found = np.asarray(equations.accelerations(0, exact.q, exact.v, [], [])).ravel()
    _assert_close(found, exact.vdot, TOLERANCE * exact.size, f"{subject.cls.name}: accelerations with redundant rows")


def check_singular_mass(subject: Subject) -> None:
    """A machine of which a speed has no inertia has the right accelerations, or is refused with a sentence."""
    mechanism = bare_winch()
    assembly = assemble(mechanism, subject.plugins)
    if not subject.cls.singular_mass:
        said = ""
        try:
            derive(assembly, subject.cls, subject.plugins)
        except MechanismError as error:
            said = str(error)
        assert said, f"{subject.cls.name}: takes a singular mass matrix, though its singular_mass says no"
        assert "axle.angle" in said, f"{subject.cls.name}: a refusal that does not name the speed ({said})"
        return
    equations = subject.derive(mechanism)
    found = np.asarray(equations.accelerations(0, [0.0, -1.0], [0.0, 0.0], [], [])).ravel()
    up = DRUM_TORQUE / (BUCKET * DRUM_RADIUS) - 9.81
    right = np.array([-up / DRUM_RADIUS, up])
    # Penalties are weighed with the rope's pull, which is carried by the drum: 4 times as many rad/s2 as m/s2.
    allowed = 100 * TOLERANCE + 10 * 9.81 / DRUM_RADIUS * subject.way.miss()
    _assert_close(found, right, allowed, f"{subject.cls.name}: accelerations of a bucket on a drum without inertia")


def check_nothing_moves(subject: Subject) -> None:
    """A machine that cannot move has no accelerations."""
    equations = subject.derive(welded())
    assert equations.accelerations(0, [], [], [], []).numel() == 0, f"{subject.cls.name}: a welded body has accelerations"


FORMALISM_CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_accelerations,
    check_multipliers,
    check_parameters,
    check_motion,
    check_redundant_rows,
    check_singular_mass,
    check_nothing_moves,
)


def _assert_close(found: FloatArray, right: FloatArray, allowed: float, what: str) -> None:
    off = float(np.nan_to_num(np.abs(found - right), nan=np.inf).max(initial=0.0))
    assert off <= allowed, f"{what} are off by {off:.2e}, allowed are {allowed:.2e}"
