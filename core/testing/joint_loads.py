"""What every joint-load method must do, checked at random states of random trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.load_frames import COMPONENTS, LOAD_PARTS
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import LoadExpressions
from kingpost.loads.joint_loads import derive_loads
from kingpost.loads.method import JointLoads
from kingpost.mechanism.elements import ForceElement, Joint
from kingpost.mechanism.load_request import LoadRequest
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly, assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.testing.problems import random_tree, welded

#: Relative rounding allowed: some 1e3 operations per entry, on wrenches of parts that may cancel to a hundredth.
TOLERANCE = 1e-10
SEEDS = range(12)


@dataclass(frozen=True, eq=False)
class State:
    """A state, and accelerations that need not follow from it: loads are a function of both."""

    q: FloatArray
    v: FloatArray
    vdot: FloatArray


class Case:
    """A random tree, its equations, the loads that a method finds in it, and the exact ones."""

    def __init__(self, assembly: Assembly, equations: Equations, method: JointLoads, seed: int) -> None:
        self.assembly, self.equations, self.method = assembly, equations, method
        self.mechanism = assembly.mechanism
        self.exact = from_positions(assembly)
        self.motions = _motions_and_efforts(assembly)
        self._derived: dict[tuple[str, ...], LoadExpressions] = {}
        rng = np.random.default_rng(seed)
        self.states = [
            State(
                rng.uniform(0.3, 1.2, equations.nq) + np.pi / 2 * rng.integers(-2, 2, equations.nq),
                rng.uniform(-2, 2, equations.nv),
                rng.uniform(-3, 3, equations.nv),
            )
            for _ in range(3)
        ]

    def loads(self, state: State, joints: Sequence[Joint] | None = None) -> dict[str, FloatArray]:
        """Return every load of some joints, or of all, at a state."""
        joints = self.mechanism.joints if joints is None else joints
        key = tuple(joint.name for joint in joints)
        if key not in self._derived:
            requests = [LoadRequest(name) for name in key]
            self._derived[key] = derive_loads(self.assembly, self.equations, self.method, requests)
        derived = self._derived[key]
        numbers = derived.function(0.0, state.q, state.v, state.vdot, [], [], [1.0])
        values = dict(zip((channel.name for channel in derived.channels), np.asarray(numbers).ravel(), strict=True))
        found = {}
        for joint in joints:
            for part in ("", *LOAD_PARTS):
                prefix = f"{joint.name}.{part}".rstrip(".")
                if f"{prefix}.Mx" in values:
                    found[prefix] = np.array([values[f"{prefix}.{component}"] for component in COMPONENTS])
            found.setdefault(f"{joint.name}.constraint", found[joint.name])
        return found


class Subject:
    """A joint-load class under test, with the formulation whose equations it gets."""

    def __init__(
        self, cls: type[JointLoads], plugins: PluginSet | None = None, formulation: Selection[Formulation] = "kane"
    ) -> None:
        self.cls = cls
        self.plugins = plugins or PluginSet(entry_points=False)
        self.method = select(self.plugins.joint_loads, cls)  # refuses a class that is no plugin, with a reason
        self.formulation = select(self.plugins.formulations, formulation)

    @cached_property
    def cases(self) -> list[Case]:
        """Random trees with joint springs and friction, and a few random states each."""
        cases = []
        for seed in SEEDS:
            assembly = assemble(with_friction(random_tree(seed, bodies=2 + seed % 6)), self.plugins)
            cases.append(Case(assembly, self.formulation.derive(assembly), self.method, seed))
        return cases


def check_joint_loads(
    cls: type[JointLoads], plugins: PluginSet | None = None, formulation: Selection[Formulation] = "kane"
) -> None:
    """Run every check on a joint-load class; raise ``AssertionError`` at the first that fails."""
    subject = Subject(cls, plugins, formulation)
    for check in JOINT_LOAD_CHECKS:
        check(subject)


def check_against_positions(subject: Subject) -> None:
    """The constraint part is what Newton and Euler demand of everything beyond the joint, less what works on its motions."""
    for case in subject.cases:
        for state in case.states:
            ours, exact = case.loads(state), case.exact(state)
            for joint in case.mechanism.joints:
                S, T = case.motions(joint, state)
                constraint = exact[joint.name] - T @ (S.T @ exact[joint.name])
                what = f"{subject.cls.name}, {case.mechanism.name}: joint '{joint.name}' ({joint.kind})"
                _assert_close(ours[f"{joint.name}.constraint"], constraint, np.abs(exact[joint.name]).max(), what)


def check_no_work(subject: Subject) -> None:
    """The constraint part does no work on the motions that the joint allows."""
    for case in subject.cases:
        for state in case.states:
            ours = case.loads(state)
            for joint in case.mechanism.joints:
                S, _ = case.motions(joint, state)
                wrench = ours[f"{joint.name}.constraint"]
                what = f"{subject.cls.name}, {case.mechanism.name}: work of the constraint part in joint '{joint.name}'"
                _assert_close(S.T @ wrench, np.zeros(S.shape[1]), np.abs(wrench).max(), what)


def check_any_selection(subject: Subject) -> None:
    """A joint's load is the same whichever other joints are asked for, and in whatever order."""
    for case in subject.cases:
        joints = list(case.mechanism.joints)
        every = case.loads(case.states[0])
        for some in ([joints[-1]], joints[::-2], joints[::-1]):
            for name, wrench in case.loads(case.states[0], some).items():
                what = f"{subject.cls.name}, {case.mechanism.name}: {name} asked for with {len(some)} of {len(joints)}"
                _assert_close(wrench, every[name], np.abs(every[name]).max(), what)


def check_parts(subject: Subject) -> None:
    """The total is the sum of its parts, and equals the demand where the accelerations follow from the forces."""
    for case in subject.cases:
        for state in case.states:
            vdot = np.asarray(case.equations.accelerations(0.0, state.q, state.v, [], [1.0])).ravel()
            consistent = replace(state, vdot=vdot)
            ours, exact = case.loads(consistent), case.exact(consistent)
            for joint in case.mechanism.joints:
                parts = [ours[f"{joint.name}.{part}"] for part in LOAD_PARTS if f"{joint.name}.{part}" in ours]
                scale = max(np.abs(part).max() for part in parts)
                what = f"{subject.cls.name}, {case.mechanism.name}: total load of joint '{joint.name}'"
                _assert_close(ours[joint.name], sum(parts, np.zeros(6)), scale, f"{what} and its parts")
                # The accelerations lose a factor of the condition number of M, up to 1e4.
                _assert_close(ours[joint.name], exact[joint.name], 100 * max(scale, np.abs(exact[joint.name]).max()), what)


def check_weld_alone(subject: Subject) -> None:
    """A body welded to the world hangs in its joint with its weight."""
    assembly = assemble(welded(), subject.plugins)
    equations = subject.formulation.derive(assembly)
    derived = derive_loads(assembly, equations, subject.method, [LoadRequest("weld")])
    values = np.asarray(derived.function(0.0, [], [], [], [], [], [])).ravel()[:6]
    _assert_close(values, np.array([0, 0, 0, 0, 0, 9.81]), 9.81, f"{subject.cls.name}: weight of a welded body")


JOINT_LOAD_CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_against_positions,
    check_no_work,
    check_any_selection,
    check_parts,
    check_weld_alone,
)


def with_friction(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with friction along its first coordinate that can have it."""
    frictions = [
        ForceElement("joint-friction", coordinate=name, viscous=0.7, coulomb=0.3) for name in mechanism.rated_coordinates[:1]
    ]
    return replace(mechanism, forces=(*mechanism.forces, *frictions))


def from_positions(assembly: Assembly) -> Callable[[State], dict[str, FloatArray]]:
    """Return the wrench that each joint must transmit, about the origin of M in M, from positions differentiated twice.

    Momentum and angular momentum of the bodies beyond the joint are differentiated in world axes, applied wrenches taken off.
    """
    kinematics = TreeKinematics(assembly)
    q, v, p = kinematics.q, kinematics.v, assembly.p
    vdot = ca.SX.sym("vdot", v.numel())
    x, xdot = ca.vertcat(q, v), ca.vertcat(kinematics.velocity_map() @ v, vdot)

    def rate(expression: ca.SX) -> ca.SX:
        return ca.jtimes(expression, x, xdot) if x.numel() else ca.SX(*expression.shape)

    applied = {body.name: ca.SX(6, 1) for body in assembly.mechanism.bodies}
    for loads in kinematics.loads():
        for name, wrench in loads.wrenches.items():
            applied[name] += wrench
    names, results = [], []
    for joint in assembly.mechanism.joints:
        M = kinematics.pose(joint.child) @ kinematics.placements(joint)[1]
        moment, force = ca.SX(3, 1), ca.SX(3, 1)
        for name in _beyond(assembly.mechanism, joint):
            body, X = assembly.mechanism.body(name), kinematics.pose(name)
            com = X.p + X.R @ assembly.vector(body.com)
            pull = assembly.value(body.mass) * rate(rate(com))
            w = ca.inv_skew(rate(X.R) @ X.R.T)
            spin = rate(X.R @ kinematics.inertia(name) @ X.R.T @ w)
            force += pull - X.R @ applied[name][3:]
            moment += spin + ca.cross(com - M.p, pull)
            moment -= X.R @ applied[name][:3] + ca.cross(X.p - M.p, X.R @ applied[name][3:])
        names.append(joint.name)
        results.append(ca.densify(ca.vertcat(M.R.T @ moment, M.R.T @ force)))
    function = ca.Function("demand", [q, v, vdot, p], results)

    def evaluate(state: State) -> dict[str, FloatArray]:
        numbers = function.call([state.q, state.v, state.vdot, [1.0] * p.numel()])
        return {name: np.asarray(number).ravel() for name, number in zip(names, numbers, strict=True)}

    return evaluate


def _beyond(mechanism: Mechanism, joint: Joint) -> list[str]:
    """Return the bodies that a joint carries."""
    bodies = [joint.child]
    for name in bodies:
        bodies += [other.child for other in mechanism.joints if other.parent == name]
    return bodies


def _motions_and_efforts(assembly: Assembly) -> Callable[[Joint, State], tuple[FloatArray, FloatArray]]:
    """Return the function (joint, state) -> S, T: the motions that a joint allows, and unit efforts along them."""
    kinematics = TreeKinematics(assembly)
    functions = {}
    for joint in assembly.mechanism.joints:
        kind, geometry, own = JOINT_KINDS[joint.kind], kinematics.geometry(joint), kinematics.q[kinematics.rows(joint)[0], :]
        matrices = [ca.densify(kind.motion_subspace(own, geometry)), ca.densify(kind.effort_wrenches(own, geometry))]
        functions[joint.name] = ca.Function("motions", [kinematics.q], matrices)

    def evaluate(joint: Joint, state: State) -> tuple[FloatArray, FloatArray]:
        S, T = (np.asarray(matrix) for matrix in functions[joint.name](state.q))
        return S, T

    return evaluate


def _assert_close(found: FloatArray, expected: FloatArray, scale: float, what: str) -> None:
    difference = np.abs(found - expected).max() if found.size else 0.0
    allowed = TOLERANCE * max(1.0, scale)
    assert difference <= allowed, f"{what}: off by {difference:.3g}, allowed {allowed:.3g}"
