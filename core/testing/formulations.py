"""What every formulation must do, checked at random states of random trees, and in closed loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, MechanismError, listed
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.measures import measure_expression
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly, assemble
from kingpost.multibody.measures import Measures
from kingpost.multibody.tree import TreeKinematics, TreePlaces
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive
from kingpost.simulation.simulate import simulate
from kingpost.testing.problems import (
    DRIVEN,
    FREE_KINDS,
    LOOP_CLOSURES,
    driven_pendulum,
    parallelogram,
    parallelogram_solution,
    random_tree,
    welded,
)

#: Relative rounding allowed: some 1e3 operations per entry, and mass matrices with condition numbers up to 1e4.
TOLERANCE = 1e-10
SEEDS = range(12)


class Subject:
    """A formulation class under test."""

    def __init__(self, cls: type[Formulation], plugins: PluginSet | None = None) -> None:
        self.cls = cls
        self.plugins = plugins or PluginSet(entry_points=False)
        select(self.plugins.formulations, cls)  # refuses a class that is no plugin, with a reason

    def assemble(self, mechanism: Mechanism) -> Assembly:
        return assemble(mechanism, self.plugins)

    @property
    def kinds(self) -> list[str]:
        """The kinds of joints with coordinates of their own, or none, that it says it takes."""
        return [kind for kind in FREE_KINDS if kind in self.cls.joint_kinds]

    @property
    def loops(self) -> list[str]:
        """The kinds of closures that it says it takes and that close a loop with a closed form."""
        return [kind for kind in LOOP_CLOSURES if kind in self.cls.closure_kinds and "revolute" in self.cls.joint_kinds]

    def derive(self, mechanism: Mechanism) -> Equations:
        """Return equations; what is raised instead is a fault, since nothing is asked for that it says it refuses."""
        try:
            return derive(self.assemble(mechanism), self.cls, self.plugins)
        except Exception as error:
            kinds = dict.fromkeys(
                [
                    *(f"{joint.kind} joint" for joint in mechanism.joints),
                    *(f"{closure.kind} closure" for closure in mechanism.closures),
                ]
            )
            raise AssertionError(
                f"{self.cls.name}, {mechanism.name}: {type(error).__name__} instead of equations ({str(error).strip()}). It "
                f"has {listed(kinds)}; what the formulation does not take is left out of its joint_kinds or closure_kinds"
            ) from error

    def trees(self) -> Iterator[tuple[Equations, Assembly, list[tuple[FloatArray, FloatArray]]]]:
        """Yield random trees with a few random states each."""
        for seed in SEEDS:
            mechanism = random_tree(seed, bodies=2 + seed % 6, kinds=self.kinds)
            equations = self.derive(mechanism)
            rng = np.random.default_rng(seed)
            sizes = len(mechanism.coordinates), len(mechanism.speeds)
            joints = [(_coordinates(rng, sizes[0]), rng.uniform(-2, 2, sizes[1])) for _ in range(3)]
            yield equations, self.assemble(mechanism), [_state(equations, *state) for state in joints]


def check_formulation(cls: type[Formulation], plugins: PluginSet | None = None) -> str:
    """Run every check on a formulation class; raise ``AssertionError`` at the first that fails.

    Only joints and closures are tried that it says it takes; returned is the sentence that says which it refuses.
    """
    subject = Subject(cls, plugins)
    for check in FORMULATION_CHECKS:
        check(subject)
    return cls.limits()


def check_mass_matrix(subject: Subject) -> None:
    """M is symmetric and positive definite, and v' M v / 2 is the kinetic energy."""
    for equations, _, states in subject.trees():
        for q, v in states:
            M = np.asarray(equations.descriptor(0, q, v, [], [1.0])[0])
            name = equations.mechanism.name
            _assert_close(M, M.T, f"{subject.cls.name}, {name}: M against its transpose")
            assert np.linalg.eigvalsh(M)[0] > 0, f"{subject.cls.name}, {name}: M is not positive definite"
            kinetic = float(equations.observations(0, q, v, [], [1.0])[-3])
            _assert_close(v @ M @ v / 2, kinetic, f"{subject.cls.name}, {name}: v'Mv/2 against T")


def check_against_positions(subject: Subject) -> None:
    """M and the accelerations agree with equations that are differentiated from positions alone."""
    for equations, assembly, states in subject.trees():
        oracle = from_positions(assembly)
        for q, v in states:
            M, _, vdot = (np.asarray(result) for result in equations.descriptor(0, q, v, [], [1.0]))
            name = equations.mechanism.name
            if equations.coordinates.joint_state is not None:
                joint_q, joint_v, vdot = (np.asarray(result) for result in equations.coordinates.joint_state(q, v, vdot, [1.0]))
                _assert_close(oracle(joint_q, joint_v, [1.0])[1].full(), vdot, f"{subject.cls.name}, {name}: accelerations")
                continue
            M_exact, vdot_exact = (np.asarray(result) for result in oracle(q, v, [1.0]))
            _assert_close(M, M_exact, f"{subject.cls.name}, {name}: mass matrix against positions")
            _assert_close(vdot, vdot_exact, f"{subject.cls.name}, {name}: accelerations against positions")


def check_energy_rate(subject: Subject) -> None:
    """The energy of a conservative machine has no rate of change, at any state."""
    for equations, _, states in subject.trees():
        t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
        energy = equations.kinetic + equations.potential
        qdot, vdot = equations.kinematics(q, v, p), equations.accelerations(t, q, v, u, p)
        power = ca.jtimes(energy, q, qdot) + ca.jtimes(energy, v, vdot)
        scale = ca.sum1(ca.fabs(ca.gradient(energy, v) * vdot))
        evaluate = ca.Function("power", [t, q, v, u, p], [power, scale])
        for state in states:
            rate, size = (float(result) for result in evaluate(0, *state, [], [1.0]))
            assert abs(rate) < TOLERANCE * max(1.0, size), (
                f"{subject.cls.name}, {equations.mechanism.name}: the energy changes by {rate:.2e} W"
            )


def check_outputs(subject: Subject) -> None:
    """The velocity of a point is the rate of its position."""
    for equations, _, states in subject.trees():
        t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
        rate = ca.jtimes(equations.outputs[6:9], q, equations.kinematics(q, v, p))
        evaluate = ca.Function("velocity", [t, q, v, u, p], [equations.outputs[3:6], rate])
        for state in states:
            velocity, exact = (np.asarray(result) for result in evaluate(0, *state, [], [1.0]))
            _assert_close(velocity, exact, f"{subject.cls.name}, {equations.mechanism.name}: velocity of a point")


def check_measures(subject: Subject) -> None:
    """Measures are those of the joint coordinates, and depend on the configuration alone."""
    for seed, (plain, _, _) in enumerate(itertools.islice(subject.trees(), 3)):
        mechanism = replace(plain.mechanism, measures=_measures(plain.mechanism))
        equations, assembly = subject.derive(mechanism), subject.assemble(mechanism)
        what = f"{subject.cls.name}, {mechanism.name}"
        places = TreePlaces(assembly)
        exact = Measures(places)
        names = [measure.name for measure in mechanism.measures]
        oracle = ca.Function("exact", [places.q, assembly.p], [ca.vertcat(*(exact[name] for name in names))])
        values = ca.vertcat(*(measure_expression(equations, name) for name in names))
        try:
            found = ca.Function("found", [equations.t, equations.q, equations.p], [values])
        except RuntimeError as error:
            raise AssertionError(f"{what}: measures depend on more than t, q and p ({error})") from error
        rng = np.random.default_rng(seed)
        for _ in range(3):
            joints = _coordinates(rng, len(mechanism.coordinates)), rng.uniform(-2, 2, len(mechanism.speeds))
            q, _ = _state(equations, *joints)
            for name, value, right in zip(
                names, np.asarray(found(0.0, q, [1.0])), np.asarray(oracle(joints[0], [1.0])), strict=True
            ):
                _assert_close(value, right, f"{what}: measure '{name}'")


def _measures(tree: Mechanism) -> list[Measure]:
    """Return measures of every kind for a tree."""
    body, other = tree.bodies[-1].name, tree.bodies[0].name if len(tree.bodies) > 1 else WORLD
    point: dict[str, Any] = {"body": body, "at": (0.3, -0.2, 0.5)}
    return [
        Measure("place", "position", axis=(1.0, 2.0, -1.0), of=other, **point),
        Measure("apart", "distance", other=other, other_at=(0.1, 0.4, 0.0), **point),
        Measure("bearing", "azimuth", axis="z", near=1.0, **point),
        Measure("turn", "rotation", body=body, axis="x", reference=(0.1, 0.2, 0.3)),
        Measure("sum", "combination", terms={"place": "2 * scale", "apart": -0.5, f"{tree.outputs[0].name}.z": 1.0}),
        *(Measure(f"angle{i}", "coordinate", coordinate=name) for i, name in enumerate(tree.rated_coordinates)),
    ]


def check_parameters(subject: Subject) -> None:
    """Parameters stay symbols: doubling every mass doubles M, without a new derivation."""
    for equations, _, states in subject.trees():
        for q, v in states:
            single, double = (np.asarray(equations.descriptor(0, q, v, [], [scale])[0]) for scale in (1.0, 2.0))
            _assert_close(double, 2 * single, f"{subject.cls.name}, {equations.mechanism.name}: M with doubled masses")


def check_no_degrees_of_freedom(subject: Subject) -> None:
    """A machine that cannot move has empty equations, or as many constraints as speeds."""
    if "weld" not in subject.cls.joint_kinds:
        return
    equations = subject.derive(welded())
    if equations.coordinates.joint_state is not None:
        left = equations.nv - equations.constraints.count
        assert left == 0, f"{subject.cls.name}: a welded body has {left} degrees of freedom"
        return
    assert equations.nv == 0, f"{subject.cls.name}: a welded body has {equations.nv} speeds"
    assert equations.rhs(0, [], [], []).numel() == 0, f"{subject.cls.name}: a welded body has accelerations"


def check_closed_loops(subject: Subject) -> None:
    """In a closed loop, rows belong to the closure, and accelerations agree with those differentiated from positions alone."""
    for kind in subject.loops:
        mechanism = parallelogram(kind)
        equations = subject.derive(mechanism)
        assembly = subject.assemble(mechanism)
        oracle = loop_from_positions(assembly)
        rng = np.random.default_rng(0)
        for _ in range(3):
            angle, rate = rng.uniform(-1.2, 1.2), rng.uniform(-2.0, 2.0)
            # The coupler stays as it is: its joint turns back by the angle of the crank.
            turned = np.array([1.0, 1.0, -1.0])[: len(mechanism.coordinates)]
            joints = angle * turned, rate * turned
            q, v = _state(equations, *joints, parameters=[])
            what = f"{subject.cls.name}, {mechanism.name}"
            for error in equations.constraint_residuals(0, q, v, []):
                _assert_close(np.asarray(error), 0.0, f"{what}: constraints in a position where the loop is closed")
            if "c" not in equations.constraints.kept:
                away = _state(equations, joints[0] + 0.1 * np.eye(len(turned))[0], joints[1], parameters=[])[0]
                phi = np.abs(np.asarray(equations.constraint_residuals(0, away, v, [])[0])).max(initial=0.0)
                assert phi > 1e-3, f"{what}: constraints do not notice a crank that leaves the loop open by 0.1 rad"
            reduced = without_redundant_rows(equations, 0.0, np.concatenate([q, v]), np.zeros(0))
            vdot = reduced.accelerations(0, q, v, [], [])
            if reduced.coordinates.joint_state is not None:
                vdot = reduced.coordinates.joint_state(q, v, vdot, [])[2]
            _assert_close(np.asarray(vdot).ravel(), oracle(*joints), f"{what}: accelerations against positions")


def check_motion_of_a_loop(subject: Subject) -> None:
    """A four-bar linkage swings by its closed form."""
    for kind in subject.loops:
        mechanism = parallelogram(kind)
        what = f"{subject.cls.name}, {mechanism.name}"
        try:
            history = simulate(mechanism, 1.0, formulation=subject.cls, step=0.005, backend="vm", plugins=subject.plugins)
        except KingpostError as error:
            raise AssertionError(f"{what}: no motion ({error})") from error
        exact = parallelogram_solution(history.time)[:, 0]
        for name in ("a.angle", "d.angle"):
            off = float(np.abs(history[name] - exact).max())
            # rk4 has errors of some (h w)^4 = 1e-8 here, w = 2 rad/s, and less after projection.
            assert off < 1e-7, f"{what}: {name} is off by {off:.2e} rad from the closed form of the swinging loop"


def check_forces(subject: Subject) -> None:
    """A torque from an input, a damper and the rotor of a drive turn a pendulum as its closed form says.

    A formulation may refuse what adds inertia to a coordinate with a MechanismError; the rest is asked of all.
    """
    if "revolute" not in subject.cls.joint_kinds:
        return
    for spun in (0.0, DRIVEN.rotor):
        mechanism = driven_pendulum(spun)
        what = f"{subject.cls.name}, {mechanism.name}"
        try:
            equations = subject.derive(mechanism)
        except AssertionError as error:
            if spun and isinstance(error.__cause__, MechanismError):
                return
            raise
        angle, rate, torque = 0.4, -1.3, 7.0
        q, v = _state(equations, np.array([angle]), np.array([rate]), parameters=[])
        vdot = equations.accelerations(0, q, v, [torque], [])
        if equations.coordinates.joint_state is not None:
            vdot = equations.coordinates.joint_state(q, v, vdot, [])[2]
        _assert_close(np.asarray(vdot).ravel(), DRIVEN.acceleration(angle, rate, torque, spun), f"{what}: acceleration")
        kinetic = float(equations.observations(0, q, v, [torque], [])[-3])
        _assert_close(kinetic, DRIVEN.kinetic(rate, spun), f"{what}: kinetic energy")


FORMULATION_CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_mass_matrix,
    check_against_positions,
    check_energy_rate,
    check_outputs,
    check_measures,
    check_parameters,
    check_no_degrees_of_freedom,
    check_forces,
    check_closed_loops,
    check_motion_of_a_loop,
)


def from_positions(assembly: Assembly) -> ca.Function:
    """Return (q, v, p) -> M, vdot with nothing but the poses of the bodies and the map N of the coordinates.

    Velocities and accelerations come from differentiating positions and rotation matrices along qdot = N v, and forces from
    differentiating the potential, so the twists, projections and wrenches that a formulation uses play no part.
    """
    kinematics = TreeKinematics(assembly)
    q, v = kinematics.q, kinematics.v
    N = kinematics.velocity_map()
    potential = sum((loads.potential for loads in kinematics.loads()), ca.SX(0))
    M, f = ca.SX(v.numel(), v.numel()), -N.T @ ca.gradient(potential, q)
    for body in assembly.mechanism.bodies:
        X_WB = kinematics.pose(body.name)
        R, mass, inertia = ca.densify(X_WB.R), assembly.value(body.mass), kinematics.inertia(body.name)
        J_com = ca.jacobian(X_WB.p + R @ assembly.vector(body.com), q) @ N
        dR = ca.jacobian(ca.vec(R), q) @ N
        J_turn = ca.horzcat(*(ca.inv_skew(R.T @ ca.reshape(dR[:, i], 3, 3)) for i in range(v.numel())))
        w = J_turn @ v
        bias_com, bias_turn = (ca.jtimes(J @ v, q, N @ v) for J in (J_com, J_turn))
        M += mass * J_com.T @ J_com + J_turn.T @ inertia @ J_turn
        f -= mass * J_com.T @ bias_com + J_turn.T @ (inertia @ bias_turn + ca.cross(w, inertia @ w))
    return ca.Function("from_positions", [q, v, assembly.p], [M, ca.solve(M, f)])


def loop_from_positions(assembly: Assembly) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return (q, v) -> vdot of a machine whose closures hold points, or their distance, with nothing but poses.

    The points of :func:`parallelogram` move in a plane, so that what a closure holds beyond them holds anyway.
    """
    kinematics = TreeKinematics(assembly)
    q, v = kinematics.q, kinematics.v
    rows = []
    for closure in assembly.mechanism.closures:
        ends = ((closure.parent, closure.position), (closure.child, closure.child_position))
        first, second = (kinematics.pose(body).R @ assembly.vector(at) + kinematics.pose(body).p for body, at in ends)
        apart = second - first
        length = None if closure.length is None else assembly.value(closure.length)
        rows += [apart[0], apart[2]] if length is None else [ca.dot(apart, apart) - length**2]
    phi = ca.vertcat(*rows)
    G = ca.jacobian(phi, q)
    parts = ca.Function("loop", [q, v], [G, ca.jtimes(G @ v, q, v)])
    open_loop = from_positions(assembly)

    def accelerations(at: FloatArray, speeds: FloatArray) -> FloatArray:
        M, free = (np.asarray(part) for part in open_loop(at, speeds, []))
        G_now, drift = (np.asarray(part) for part in parts(at, speeds))
        m = len(G_now)
        matrix = np.block([[M, G_now.T], [G_now, np.zeros((m, m))]])
        found: FloatArray = np.linalg.solve(matrix, np.concatenate([(M @ free).ravel(), -drift.ravel()]))[: len(M)]
        return found

    return accelerations


def _state(
    equations: Equations, q: FloatArray, v: FloatArray, parameters: Sequence[float] = (1.0,)
) -> tuple[FloatArray, FloatArray]:
    """Return the state with these joint coordinates and speeds."""
    if equations.coordinates.initial is None:
        return q, v
    x = np.asarray(equations.coordinates.initial(q, v, list(parameters))).ravel()
    return x[: equations.nq], x[equations.nq :]


def _coordinates(rng: np.random.Generator, size: int) -> FloatArray:
    """Return coordinates away from 0 and 90 degrees, where successive rotations can lock and nothing is well conditioned."""
    return rng.uniform(0.3, 1.2, size) * rng.choice([-1.0, 1.0], size)


def _assert_close(value: FloatArray | float, exact: FloatArray | float, what: str) -> None:
    difference = float(np.max(np.abs(np.subtract(value, exact)), initial=0.0))
    scale = max(1.0, float(np.max(np.abs(exact), initial=0.0)))
    assert difference <= TOLERANCE * scale, f"{what}: differs by {difference:.2e} (of {scale:.2e})"
