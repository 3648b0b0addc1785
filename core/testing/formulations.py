"""What every formulation must do, checked at random states of random trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly, assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make, select
from kingpost.testing.problems import random_tree, welded

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

    def derive(self, mechanism: Mechanism) -> Equations:
        return make(self.cls, {}).derive(self.assemble(mechanism))

    def trees(self) -> Iterator[tuple[Equations, Assembly, list[tuple[FloatArray, FloatArray]]]]:
        """Yield random trees with a few random states each."""
        for seed in SEEDS:
            mechanism = random_tree(seed, bodies=2 + seed % 6)
            equations = self.derive(mechanism)
            rng = np.random.default_rng(seed)
            sizes = len(mechanism.coordinates), len(mechanism.speeds)
            joints = [(_coordinates(rng, sizes[0]), rng.uniform(-2, 2, sizes[1])) for _ in range(3)]
            yield equations, self.assemble(mechanism), [_state(equations, *state) for state in joints]


def check_formulation(cls: type[Formulation], plugins: PluginSet | None = None) -> None:
    """Run every check on a formulation class; raise ``AssertionError`` at the first that fails."""
    subject = Subject(cls, plugins)
    for check in FORMULATION_CHECKS:
        check(subject)


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


def check_parameters(subject: Subject) -> None:
    """Parameters stay symbols: doubling every mass doubles M, without a new derivation."""
    for equations, _, states in subject.trees():
        for q, v in states:
            single, double = (np.asarray(equations.descriptor(0, q, v, [], [scale])[0]) for scale in (1.0, 2.0))
            _assert_close(double, 2 * single, f"{subject.cls.name}, {equations.mechanism.name}: M with doubled masses")


def check_no_degrees_of_freedom(subject: Subject) -> None:
    """A machine that cannot move has empty equations, or as many constraints as speeds."""
    equations = subject.derive(welded())
    if equations.coordinates.joint_state is not None:
        left = equations.nv - equations.constraints.count
        assert left == 0, f"{subject.cls.name}: a welded body has {left} degrees of freedom"
        return
    assert equations.nv == 0, f"{subject.cls.name}: a welded body has {equations.nv} speeds"
    assert equations.rhs(0, [], [], []).numel() == 0, f"{subject.cls.name}: a welded body has accelerations"


FORMULATION_CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_mass_matrix,
    check_against_positions,
    check_energy_rate,
    check_outputs,
    check_parameters,
    check_no_degrees_of_freedom,
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


def _state(equations: Equations, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the state with these joint coordinates and speeds."""
    if equations.coordinates.initial is None:
        return q, v
    x = np.asarray(equations.coordinates.initial(q, v, [1.0])).ravel()
    return x[: equations.nq], x[equations.nq :]


def _coordinates(rng: np.random.Generator, size: int) -> FloatArray:
    """Return coordinates away from 0 and 90 degrees, where successive rotations can lock and nothing is well conditioned."""
    return rng.uniform(0.3, 1.2, size) * rng.choice([-1.0, 1.0], size)


def _assert_close(value: FloatArray | float, exact: FloatArray | float, what: str) -> None:
    difference = float(np.max(np.abs(np.subtract(value, exact)), initial=0.0))
    scale = max(1.0, float(np.max(np.abs(exact), initial=0.0)))
    assert difference <= TOLERANCE * scale, f"{what}: differs by {difference:.2e} (of {scale:.2e})"
