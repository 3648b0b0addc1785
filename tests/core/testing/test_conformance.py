"""The built-in plugins pass the kit that plugin authors use; and the kit finds what it should."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

from kingpost import Formulation, JointLoads, PluginSet, Solver, StepMap
from kingpost.multibody.constraints import Constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.kane import Kane
from kingpost.plugins.integrators.euler_symplectic import EulerSymplectic
from kingpost.plugins.integrators.rk4 import RK4
from kingpost.plugins.joint_loads.recursive import RecursiveLoads
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.testing import (
    FORMULATION_CHECKS,
    INTEGRATOR_CHECKS,
    JOINT_LOAD_CHECKS,
    check_formulation,
    check_integrator,
    check_joint_loads,
)
from kingpost.testing import formulations as formulation_kit
from kingpost.testing import integrators as integrator_kit
from kingpost.testing import joint_loads as joint_load_kit

BUILT_IN = PluginSet(entry_points=False)
#: But for those that are made for some machines alone, which have tests of their own.
INTEGRATORS = [name for name in BUILT_IN.integrators if name != "quaternion-energy-momentum"]
FORMULATIONS = [name for name in BUILT_IN.formulations if name != "quaternions"]


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("check", INTEGRATOR_CHECKS, ids=lambda check: check.__name__)
def test_integrator(name, check, plugins):
    check(integrator_kit.Subject(plugins.integrators.get(name), plugins))


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("check", FORMULATION_CHECKS, ids=lambda check: check.__name__)
def test_formulation(name, check, plugins, few_trees, subjects):
    if ("formulation", name) not in subjects:
        subjects["formulation", name] = Keeping(plugins.formulations.get(name), plugins)
    check(subjects["formulation", name])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulation_with_all_trees(name, plugins):
    check_formulation(plugins.formulations.get(name), plugins)


class Keeping(formulation_kit.Subject):
    """Keeps the trees it derived, so that the checks need not derive them again."""

    def trees(self):
        if not hasattr(self, "kept"):
            self.kept = list(super().trees())
        return iter(self.kept)


@pytest.fixture
def few_trees(monkeypatch):
    """Four of the twelve random trees of the kit, which hold every joint kind."""
    for kit in (formulation_kit, joint_load_kit):
        monkeypatch.setattr(kit, "SEEDS", (2, 3, 4, 5))


@pytest.fixture
def one_tree(monkeypatch):
    """One of the random trees of the kit: enough for gross errors."""
    for kit in (formulation_kit, joint_load_kit):
        monkeypatch.setattr(kit, "SEEDS", (3,))


@pytest.fixture(scope="module")
def subjects():
    """Subjects that keep the trees they derived, by kind and name."""
    return {}


#: The methods that need no multipliers.
LOAD_METHODS = [name for name in BUILT_IN.joint_loads if not BUILT_IN.joint_loads.get(name).needs_multipliers]


@pytest.mark.parametrize("name", LOAD_METHODS)
@pytest.mark.quick("check_any_selection-recursive", "check_[!a]*", "check_against_*")
@pytest.mark.parametrize("check", JOINT_LOAD_CHECKS, ids=lambda check: check.__name__)
def test_joint_loads(name, check, plugins, few_trees, subjects):
    if ("loads", name) not in subjects:
        subjects["loads", name] = joint_load_kit.Subject(plugins.joint_loads.get(name), plugins)
    check(subjects["loads", name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LOAD_METHODS)
def test_joint_loads_with_all_trees(name, plugins):
    check_joint_loads(plugins.joint_loads.get(name), plugins)


class NoReaction(JointLoads):
    """Forgets what hangs on the body beyond: the load of each joint carries its own body alone."""

    name = "no-reaction"

    def constraint_wrenches(self, dynamics, equations, joints):
        found = {}
        for joint in joints:
            functions = dynamics.joints[joint.name]
            wrench = functions.to_joint(dynamics.needed[joint.child], dynamics.known)
            found[joint.name] = functions.constraint(wrench, dynamics.own_q(joint), dynamics.known)
        return found


class WithEfforts(RecursiveLoads):
    """Leaves the efforts in the constraint part, so that they come twice."""

    name = "with-efforts"

    def constraint_wrenches(self, dynamics, equations, joints):
        return {joint.name: dynamics.transmitted(joint) for joint in joints}


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (NoReaction, r"no-reaction, random-tree-\d: joint 'joint0' \(.*\): off by"),
        (WithEfforts, r"with-efforts, random-tree-\d: joint 'joint\d' \(.*\): off by"),
    ],
)
def test_the_kit_finds_wrong_joint_loads(cls, message, one_tree):
    with pytest.raises(AssertionError, match=message):
        check_joint_loads(cls)


class WrongOrder(RK4):
    """Claims more than it has."""

    order = 5


class WrongTime(RK4):
    """Evaluates every stage at the start of the step."""

    def step(self, equations, t, x, u, p, h):
        k = equations.rhs(t, x, u, p)
        k = equations.rhs(t, x + h / 2 * k, u, p)
        return x + h * k


class NotSymplectic(StepMap):
    """Explicit Euler, which gains energy at every step."""

    name = "not-symplectic"
    order = 1
    symplectic = True

    def step(self, equations, t, x, u, p, h):
        return x + h * equations.rhs(t, x, u, p)


class Forgetful(Solver):
    """Returns the start state for ever."""

    name = "forgetful"
    order = 0

    def march(self, problem):
        for _ in problem.times[1:]:
            yield problem.x0


class Scribbler(Solver):
    """Writes into what it was given."""

    name = "scribbler"
    order = 0

    def march(self, problem):
        for _ in problem.times[1:]:
            problem.x0[:] = 0.0
            yield problem.x0


class Random(Solver):
    """Never twice the same."""

    name = "random"
    order = 0

    def march(self, problem):
        for _ in problem.times[1:]:
            yield np.random.default_rng().normal(size=problem.x0.shape)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (WrongOrder, "rk4 declares order 5, but on a pendulum its error falls with order 3.8"),
        (WrongTime, "declares order 4, but on a pendulum its error falls with order 1.9"),
        (NotSymplectic, "calls itself symplectic, but the energy error of a pendulum grew"),
        (Forgetful, "forgetful: the speed under a force cos(t) from t = -3 s is off"),
        (Random, "random: the energy of a pendulum is off"),
    ],
)
def test_the_kit_finds_a_wrong_integrator(cls, message):
    with pytest.raises(AssertionError) as error:
        check_integrator(cls)
    assert message in str(error.value)


def test_the_kit_finds_stages_at_wrong_times():
    class LateStages(RK4):
        """Right for autonomous problems only."""

        def step(self, equations, t, x, u, p, h):
            return RK4.step(self, equations, t * 0, x, u, p, h)

    with pytest.raises(AssertionError, match="the speed under a force cos"):
        check_integrator(LateStages)


def test_a_solver_cannot_reach_the_state_of_the_run():
    integrator_kit.check_no_mutation(integrator_kit.Subject(Scribbler))


class NoGyroscopic(Kane):
    """Forgets the velocity terms."""

    def derive(self, assembly):
        equations = super().derive(assembly)
        at_rest = ca.substitute(equations.f, equations.v, ca.SX.zeros(equations.nv))
        return type(equations)(**{**vars(equations), "f": at_rest})


class LostPotential(Kane):
    """Forgets the potential energy."""

    def derive(self, assembly):
        equations = super().derive(assembly)
        return type(equations)(**{**vars(equations), "potential": ca.SX(0)})


class WithoutMeasures(Kane):
    """Knows outputs, and nothing of measures."""

    name = "without-measures"

    def derive(self, assembly):
        equations, count = super().derive(assembly), 3 * len(assembly.mechanism.outputs)
        return dataclasses.replace(equations, outputs=equations.outputs[:count])


class TurnedMeasures(Kane):
    """Gives the wrong measures."""

    name = "turned-measures"

    def derive(self, assembly):
        equations, count = super().derive(assembly), 3 * len(assembly.mechanism.outputs)
        rows = [*range(count), *reversed(range(count, equations.outputs.numel()))]
        return dataclasses.replace(equations, outputs=equations.outputs[rows])


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (WithoutMeasures, "rows of outputs for"),
        (TurnedMeasures, "turned-measures, random-tree-3: measure 'place': differs by"),
        (NoGyroscopic, "accelerations against positions"),
        (LostPotential, "the energy changes by"),
    ],
)
def test_the_kit_finds_a_wrong_formulation(cls: type[Formulation], message, one_tree):
    with pytest.raises(AssertionError) as error:
        check_formulation(cls)
    assert message in str(error.value)


class OpenLoops(Kane):
    """Leaves closures out."""

    name = "open-loops"

    def derive(self, assembly):
        return dataclasses.replace(super().derive(assembly), constraints=Constraints())


class HalfOpenLoops(Kane):
    """Leaves the first row of each closure out, so that the machine has a freedom too many."""

    name = "half-open-loops"

    def derive(self, assembly):
        equations = super().derive(assembly)
        held = equations.constraints
        if held.count < 2:
            return equations
        rest = Constraints(held.phi[1:], held.A[1:, :], held.b[1:], held.lam[1:], held.owners[1:], {})
        return dataclasses.replace(equations, constraints=rest)


class NoUniversal(Kane):
    """Cannot express universal joints, and has closures of its own making for points alone."""

    name = "no-universal"

    def derive(self, assembly):
        for joint in assembly.mechanism.joints:
            if joint.kind == "universal":
                raise RuntimeError(".../casadi/core/sx.cpp:12: Dimension mismatch")
        return super().derive(assembly)


class SaysSo(NoUniversal):
    """The same, and says so."""

    name = "says-so"
    joint_kinds = tuple(kind for kind in JOINT_KINDS if kind != "universal")
    closure_kinds = ("spherical", "point-on-line")


class HeavyRotors(Kane):
    """Counts the rotors of drives twice."""

    name = "heavy-rotors"

    def derive(self, assembly):
        equations = super().derive(assembly)
        tree = TreeKinematics(assembly)
        rotors = [rotor for loads in tree.loads() for rotor in loads.rotors]
        return dataclasses.replace(equations, M=equations.M + tree.rotor_matrix(rotors))


class Deaf(Kane):
    """Does not hear inputs."""

    name = "deaf"

    def derive(self, assembly):
        equations = super().derive(assembly)
        return dataclasses.replace(equations, f=ca.substitute(equations.f, equations.u, ca.SX.zeros(*equations.u.shape)))


@pytest.mark.parametrize(
    ("cls", "message"),
    [(HeavyRotors, "heavy-rotors, pendulum-with-rotor: acceleration"), (Deaf, "deaf, driven-pendulum: acceleration")],
)
def test_the_kit_finds_forces_that_do_not_act_as_they_should(cls, message):
    with pytest.raises(AssertionError, match=message):
        formulation_kit.check_forces(formulation_kit.Subject(cls))


@pytest.mark.quick("[!H]*")  # all but HalfOpenLoops
@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (OpenLoops, r"open-loops, parallelogram-point-on-line: PluginError instead .*'open-loops' left closure c out"),
        (HalfOpenLoops, r"half-open-loops, parallelogram-point-on-line: accelerations against positions"),
        (NoUniversal, r"no-universal, .*: RuntimeError instead of .*universal joint.* joint_kinds"),
    ],
)
def test_the_kit_finds_a_formulation_that_leaves_something_out(cls, message, few_trees):
    with pytest.raises(AssertionError, match=message):
        check_formulation(cls)


def test_the_kit_finds_motions_that_leave_a_loop(monkeypatch):
    # As version 0.1.0 ran it: what is posed does not look at owners.
    monkeypatch.setattr("kingpost.simulation.problem.check_closures_are_held", lambda equations: None)
    subject = formulation_kit.Subject(OpenLoops)
    with pytest.raises(AssertionError, match=r"off by \d.* rad from the closed form of the swinging loop"):
        formulation_kit.check_motion_of_a_loop(subject)


def test_the_kit_asks_a_formulation_for_what_it_takes_and_says_the_rest(few_trees):
    said = check_formulation(SaysSo)
    assert said == (
        "formulation 'says-so' takes joints of every kind but universal and closures of no other kind than spherical, "
        "point-on-line"
    )


def test_symplectic_euler_is_what_the_kit_calls_symplectic():
    assert EulerSymplectic.symplectic
    assert not RK4.symplectic
