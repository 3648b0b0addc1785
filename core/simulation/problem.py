"""A posed problem: a mechanism and how it is to be solved, with everything derived, chosen and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.base.formulas import Scalar, evaluate
from kingpost.equations.augmentation import check_motions, check_volumes
from kingpost.equations.consistency import consistent_start
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import (
    Formulation,
    check_closures_are_held,
    check_measures_are_shown,
    formulations_that_take,
)
from kingpost.equations.guard import SINGULAR_JOINT, guarded_joints
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.equations.moving_inputs import MovingInputs
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.joint_loads import derive_loads
from kingpost.loads.load_dependent import with_judged_loads, with_load_dependence
from kingpost.loads.metric import LoadMetric
from kingpost.loads.ports import with_ports
from kingpost.loads.states import with_states
from kingpost.loads.tensions import with_tensions
from kingpost.mechanism.load_request import LoadsWanted, load_requests
from kingpost.mechanism.mechanism import Mechanism, quaternion_rows
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.assembly import Assembly, assemble
from kingpost.multibody.input_layout import InputForm, InputLayout
from kingpost.multibody.opened import OpenedAssembly, opened_assembly
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.default_formulation import Choice, chosen_formulation
from kingpost.simulation.settings import DEFAULT_STEP, RunSettings
from kingpost.simulation.stepper import Stepper
from kingpost.statics.equilibrium import find_equilibrium

#: Of what the inputs of a run consist, and the row of numbers for them at its start.
Drive: TypeAlias = Callable[[Assembly, Values], tuple[InputLayout, FloatArray]]
#: How far apart numbers may be beside an angle (rad): a turn of a thousandth of a radian then has three digits.
COARSEST = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """A machine that is ready to be run, exported, coupled, or asked.

    A run is a problem with times and input rows, an export a problem with an interface, a component of a coupled system a
    problem with places for its signals.
    """

    mechanism: Mechanism
    assembly: Assembly
    equations: Equations
    integrator: Integrator
    #: Of a fixed-step integrator, in s.
    step: float
    t_start: float
    values: Values
    #: The state [q; v; z] at the start, the inputs there, and the parameters.
    x0: FloatArray
    u0: FloatArray
    p: FloatArray
    how: RunSettings
    plugins: PluginSet
    #: Parameters, inputs and start values that the user gave.
    given: Mapping[str, float] = field(default_factory=dict)
    #: What was changed in the start values so that closed loops fit.
    fitted: Mapping[str, float] = field(default_factory=dict)
    #: What makes equations of motion of an assembly, before any start is known.
    deriving: Callable[[Assembly], Equations] | None = None

    @property
    def chosen(self) -> Choice | None:
        """The formulation that was taken since nobody said which, and why; None where somebody did."""
        return chosen_formulation(self.mechanism) if self.how.formulation is None else None

    @cached_property
    def stepper(self) -> Stepper:
        """The functions that advance it."""
        return Stepper(self.equations, self.integrator)

    @cached_property
    def every_row(self) -> Equations:
        """The equations with all rows of constraints, those that were left out because they follow from others included."""
        if not self.equations.constraints.redundant or self.deriving is None:
            return self.equations
        return self.deriving(self.assembly)

    def with_ramps(self, degree: int) -> tuple[InputLayout, Stepper] | None:
        """Return the stepper for inputs that change during a step, and of what rows for them consist.

        For each input that is free, a row has its value and the other coefficients of a polynomial of some degree in the time
        since the one that stands in it. None without inputs, and for integrators that remember these from step to step.
        """
        driven = {} if self.assembly.layout is None else self.assembly.layout.driven
        names = tuple(signal.name for signal in self.mechanism.inputs)
        forms = {name: InputForm(1, degree) for name in names if name not in driven}
        if not forms or self.deriving is None or not self.stepper.fixed or self.stepper.remembered:
            return None
        layout = InputLayout(names, forms, driven)
        assembly = self.assembly.with_moving_inputs(layout)
        posed = replace(self, assembly=assembly, equations=self.deriving(assembly))
        equations, held = with_closed_loops(posed, self.t_start, self.x0), self.equations
        if equations.treatment == held.treatment and equations.constraints.owners == held.constraints.owners:
            equations = MovingInputs.of(equations, held, layout)
        return layout, Stepper(equations, self.integrator)

    @property
    def declared_starts(self) -> tuple[Scalar, ...]:
        """The start values of the state as they are declared, formulas among them; those that were found are numbers."""
        equations = self.equations
        fitted = equations.constraints.count or not equations.joint_coordinates or self.how.start == "equilibrium"
        fitted_states = {name for own in _fitting(self.assembly).values() for name in own}
        first = len(self.x0) - len(self.assembly.states)
        states = tuple(
            float(self.x0[first + i]) if state.name in fitted_states else state.start
            for i, state in enumerate(self.assembly.states)
        )
        if fitted or equations.coordinates.initial is not None:
            found = tuple(float(value) for value in self.x0)
            return found if self.how.start == "equilibrium" else (*found[: len(found) - len(states)], *states)
        joints = self.mechanism.joints
        positions = [value for joint in joints for value in joint.start_values[: len(joint.positions)]]
        speeds = [value for joint in joints for value in joint.start_values[len(joint.positions) :]]
        return (*positions, *speeds, *states)


def pose(
    mechanism: Mechanism,
    how: RunSettings | None = None,
    *,
    values: Mapping[str, float] | None = None,
    plugins: PluginSet | None = None,
    drive: Drive | None = None,
) -> Problem:
    """Derive and check everything that a mechanism, the answer to "how" and some numbers say together.

    ``values`` are parameters, constant inputs and start values by name; ``drive`` says of what the inputs of a run consist, and
    what they are at its start, where they change; else they have these values.
    """
    return observed(started(draft(mechanism, how, values=values, plugins=plugins, drive=drive)))


def draft(
    mechanism: Mechanism,
    how: RunSettings | None = None,
    *,
    values: Mapping[str, float] | None = None,
    plugins: PluginSet | None = None,
    drive: Drive | None = None,
) -> Problem:
    """Return a problem as :func:`pose` does, before its start is fitted to loops and its loads and ports are derived."""
    plugins = plugins or PluginSet()
    how = (how or RunSettings()).selected(plugins)
    mechanism = how.with_sea(how.with_cuts(mechanism, plugins), plugins, values or ())
    integrator = select(plugins.integrators, "rk4") if how.integrator is None else how.integrator
    assert isinstance(integrator, Integrator)
    assembly = assemble(mechanism, plugins)
    resolved = resolve_values(mechanism, values or {}, [state.name for state in assembly.states])
    step = checked_step(integrator, how.step)
    u0, p = input_row(mechanism, resolved), parameter_row(mechanism, resolved)
    assembly = replace(assembly, meant=tuple(p.tolist()))
    if drive is not None:
        layout, u0 = drive(assembly, resolved)
        assembly = assembly.with_moving_inputs(layout) if layout.moving else assembly

    def deriving(assembly: Assembly) -> Equations:
        return derive(assembly, how.formulation, plugins)

    equations = deriving(assembly)
    check_pairing(equations, integrator, plugins)
    return Problem(
        mechanism=mechanism,
        assembly=assembly,
        equations=equations,
        integrator=integrator,
        step=step,
        t_start=0.0 if how.t_start is None else how.t_start,
        values=resolved,
        x0=start_state(assembly, equations, resolved),
        u0=u0,
        p=p,
        how=how,
        plugins=plugins,
        given=dict(values or {}),
        deriving=deriving,
    )


def started(problem: Problem) -> Problem:
    """Return a draft with its loops closed, redundant constraints left out, and its start checked, or found at rest."""
    t, p = problem.t_start, problem.p
    equations = with_closed_loops(problem, t, problem.x0)
    begin = consistent_start(equations, t, problem.x0, p, bool(problem.how.close_loops))
    _check_angles(problem.mechanism.name, equations, begin.x)
    check_singularity(equations, begin.x, t)
    check_mass_matrix(equations, begin.x, p)
    x = begin.x
    if problem.how.start == "equilibrium":
        x = find_equilibrium(equations, x, problem.u0, p, t).x
    jam = jammed(equations, t, x, problem.u0, p)
    if jam:
        raise SolverError(f"'{problem.mechanism.name}' cannot start: {jam}")
    return replace(problem, equations=equations, x0=x, fitted=begin.changes)


def _check_angles(machine: str, equations: Equations, x: FloatArray) -> None:
    """Refuse angles that are so large that adding what they turn in a step changes nothing."""
    for quantity, value in zip(equations.state_quantities, x.tolist(), strict=False):
        if quantity.unit == "rad" and math.ulp(value) > COARSEST:
            raise SolverError(
                f"'{machine}' cannot start: '{quantity.name}' is {value:g} rad, where neighbouring numbers are "
                f"{math.ulp(value):.3g} rad apart, so that it could not turn evenly; take whole turns off it"
            )


def observed(problem: Problem) -> Problem:
    """Return a problem with the ports of its mechanism and the joint loads that are wanted among its channels."""
    how = problem.how
    wanted = how.wanted_loads()
    equations = with_loads(problem.assembly, problem.equations, wanted, how.load_method, problem.plugins, how.load_metric)
    return replace(problem, equations=equations)


def with_closed_loops(problem: Problem, t: float, x: FloatArray) -> Equations:
    """Return the equations of a problem without redundant constraints."""
    equations = without_redundant_rows(problem.equations, t, x, problem.p)
    # The powers of metered ports, and loads that efforts depend on, come from all multipliers that there are.
    fewer = equations.constraints.count < problem.equations.constraints.count
    equations = with_judged_loads(equations)
    return with_states(problem.assembly, equations, problem.how.load_metric) if fewer else equations


def with_loads(
    assembly: Assembly,
    equations: Equations,
    wanted: LoadsWanted | None,
    method: Any,
    plugins: PluginSet,
    metric: LoadMetric | None = None,
) -> Equations:
    """Return equations with ports, and with joint loads by a method, or by the one that fits the formulation."""
    equations = with_tensions(assembly, with_ports(assembly, equations, metric))
    requests = load_requests(assembly.mechanism, wanted)
    if not requests:
        return equations
    default = "auxiliary-speeds" if equations.formulation == "kane" else "recursive"
    way = select(plugins.joint_loads, default if method is None else method)
    loads = derive_loads(assembly, equations, way, requests, metric)
    return replace(equations, observed=replace(equations.observed, loads=loads))


def derive(assembly: Assembly, formulation: Selection[Formulation] | Any, plugins: PluginSet) -> Equations:
    """Return the equations of motion of an assembly, with the rates of its states; None chooses a formulation by estimate."""
    mechanism = assembly.mechanism
    way = select(plugins.formulations, chosen_formulation(mechanism).formulation if formulation is None else formulation)
    refusal = way.refusal(mechanism)
    if refusal:
        able = formulations_that_take(mechanism, (cls for cls, _ in plugins.formulations.entries()))
        raise MechanismError(f"{refusal}. Formulations that take '{mechanism.name}': {listed(able)}")
    opened = opened_assembly(assembly)
    if opened is not None and not way.load_dependent:
        _refuse_load_dependence(opened, way, plugins)
    equations = way.derive(assembly if opened is None else opened)
    check_closures_are_held(equations)
    check_measures_are_shown(equations)
    return with_states(assembly, equations if opened is None else with_load_dependence(opened, equations))


def _refuse_load_dependence(opened: OpenedAssembly, way: Formulation, plugins: PluginSet) -> None:
    effort = opened.efforts[0] if opened.efforts else None
    what = f"force '{effort.force}' ({effort.kind})" if effort else "a force"
    able = [cls.name for cls, _ in plugins.formulations.entries() if cls.load_dependent]
    raise MechanismError(
        f"{what} depends on the load of joint {listed(opened.joints)}, and formulation '{way.name}' takes no forces that "
        f"depend on joint loads. Formulations that do: {listed(able)}"
    )


def checked_step(integrator: Integrator, step: float | None) -> float:
    """Return the step of a fixed-step integrator; refuse one for a solver, which chooses its own."""
    if isinstance(integrator, StepMap):
        return DEFAULT_STEP if step is None else step
    if step is not None:
        raise SolverError(
            f"integrator '{integrator.name}' chooses its own steps, so a step of {step:g} s means nothing to it; set an "
            f"output step, or its tolerances (e.g. {integrator.name}:rtol=1e-8), or take a fixed-step integrator such as rk4"
        )
    return DEFAULT_STEP


def check_pairing(equations: Equations, integrator: Integrator, plugins: PluginSet) -> None:
    """Refuse an integrator that cannot advance the problem a formulation makes, naming those that can."""
    # A method for ODEs advances a DAE in its accelerations, and errors of the constraints are projected away.
    if equations.treatment.chooses and "index-3 dae" in integrator.problems:
        others = [cls.name for cls, _ in plugins.integrators.entries() if "index-3 dae" not in cls.problems]
        raise SolverError(
            f"integrator '{integrator.name}' imposes the constraints itself and advances all coordinates, so that independent "
            f"ones mean nothing to it; leave 'independent' out, or take one of {listed(others)}"
        )
    if equations.problem in integrator.problems or "ode" in integrator.problems:
        return
    able = [cls.name for cls, _ in plugins.integrators.entries() if equations.problem in cls.problems]
    raise SolverError(
        f"formulation '{equations.formulation}' makes an {equations.problem.upper()} of '{equations.mechanism.name}', and "
        f"integrator '{integrator.name}' advances only {listed(integrator.problems).upper()}. Integrators that work with "
        f"it: {listed(able)}"
    )


def parameter_row(mechanism: Mechanism, values: Values) -> FloatArray:
    """Return the parameters in their order."""
    return np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])


def input_row(mechanism: Mechanism, values: Values) -> FloatArray:
    """Return the constant values of the inputs in their order."""
    return np.array([values.inputs[signal.name] for signal in mechanism.inputs])


def declared_start(assembly: Assembly) -> dict[str, Scalar]:
    """Return the start values of coordinates, speeds and states as they are declared, by name; formulas may be among them."""
    mechanism = assembly.mechanism
    joints = mechanism.joints
    declared = [value for joint in joints for value in joint.start_values[: len(joint.positions)]]
    declared += [value for joint in joints for value in joint.start_values[len(joint.positions) :]]
    declared += [state.start for state in assembly.states]
    names = [item.name for item in (*mechanism.coordinates, *mechanism.speeds)]
    names += [state.name for state in assembly.states]
    return dict(zip(names, declared, strict=True))


def start_state(assembly: Assembly, equations: Equations, values: Values) -> FloatArray:
    """Return the initial state, the declared start values overridden by those of ``values``; loops may be open in it."""
    mechanism = assembly.mechanism
    declared = declared_start(assembly)
    names = list(declared)
    x = np.array([float(evaluate(value, values.parameters)) for value in declared.values()])
    for name, value in values.start.items():
        x[names.index(name)] = value
    for first in quaternion_rows(mechanism):
        length = float(np.linalg.norm(x[first : first + 4]))
        if length == 0.0:
            raise MechanismError(
                f"the quaternion {listed(names[first : first + 4])} starts at zero, which is no rotation; (1, 0, 0, 0) is none"
            )
        x[first : first + 4] /= length
    nq, nv = len(mechanism.coordinates), len(mechanism.speeds)
    _fit_states(assembly, names, x, values)
    if equations.coordinates.initial is None:
        return x
    p = parameter_row(mechanism, values)
    moved = np.asarray(equations.coordinates.initial(x[:nq], x[nq : nq + nv], p)).ravel()
    return np.concatenate([moved, x[nq + nv :]])


def _fitting(assembly: Assembly) -> dict[str, dict[str, str]]:
    """Return the states of forces whose start values depend on each other, by their full and their own names."""
    found: dict[str, dict[str, str]] = {}
    for name, force in assembly.forces.items():
        if force.fits_start:
            own = [state.name for state in assembly.states if state.name.startswith(f"{name}.")]
            found[name] = {state: state.removeprefix(f"{name}.") for state in own}
    return found


def _fit_states(assembly: Assembly, names: list[str], x: FloatArray, values: Values) -> None:
    for force, own in _fitting(assembly).items():
        starts = {short: float(x[names.index(name)]) for name, short in own.items()}
        given = [own[name] for name in values.start if name in own]
        fitted = assembly.forces[force].fitted_start(starts, given, values.parameters, values.inputs)
        for name, short in own.items():
            x[names.index(name)] = fitted[short]


def check_singularity(equations: Equations, x: FloatArray, t: float) -> None:
    """Refuse a state at which the coordinates of a joint are, or nearly are, singular."""
    if equations.guard is None:
        return
    measures = np.asarray(equations.guard(x[: equations.nx])).ravel()
    if (measures > 0).all():
        return
    for name, measure in zip(guarded_joints(equations.mechanism), measures, strict=True):
        if not measure > 0:
            joint = next(joint for joint in equations.mechanism.joints if joint.name == name)
            rows = [i for i, channel in enumerate(equations.channels) if channel.name.startswith(f"{name}.")]
            angles = ", ".join(f"{equations.channels[i].name} = {x[i]:.4f}" for i in rows[:3])
            raise SolverError(
                f"joint '{name}' ({joint.kind}) is about to lock at t = {t:.6g} s: two of its axes are within "
                f"{math.degrees(math.asin(SINGULAR_JOINT)):.1f} degrees of each other ({angles} rad). Use a spherical or free "
                "joint, whose quaternion has no such place, or another sequence of axes"
            )


def jammed(equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> str:
    """Return why efforts that depend on loads have no unique solution at a state, or nothing if they have one."""
    if equations.loaded is None:
        return ""
    return equations.loaded.explain(t, *equations.split(x), equations.acting(u, x), p)


def check_mass_matrix(equations: Equations, x: FloatArray, p: FloatArray) -> None:
    """Refuse a mass matrix that is not positive definite at the state ``x``, naming the speed to blame."""
    if equations.nv == 0:
        return
    check_volumes(equations, x, p)
    if equations.structure.augmentation is not None:
        check_motions(equations, equations.structure.augmentation, x, p)
        return
    M = equations.mass_at(x, p)
    scale = np.sqrt(np.diag(M).clip(min=np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    # A scaled eigenvalue below n * eps is zero to round-off: the accelerations would be noise.
    if np.diag(M).min() <= 0.0 or values[0] < len(M) * np.finfo(float).eps:
        worst = int(np.argmax(np.abs(vectors[:, 0]))) if np.diag(M).min() > 0.0 else int(np.argmin(np.diag(M)))
        name = equations.speed_quantities[worst].name.removesuffix(".rate")
        raise MechanismError(
            f"the mass matrix is singular at the start: nothing resists an acceleration of '{name}' "
            f"(M[{worst}, {worst}] = {M[worst, worst]:g}). Give the bodies beyond that joint mass or inertia, "
            "or weld it"
        )
