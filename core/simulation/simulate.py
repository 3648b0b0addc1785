"""From a mechanism to a history: the driver that everything else hangs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, PluginError, SolverError, closest, listed
from kingpost.equations.consistency import consistent_start
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.integrator import Integrator, Solver, StepMap
from kingpost.equations.partition import PartitionedEquations
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.kernel.kernel import Backend, Kernel
from kingpost.loads.joint_loads import derive_loads
from kingpost.loads.method import JointLoads
from kingpost.loads.ports import metered_start, with_ports
from kingpost.mechanism.load_request import LoadsWanted, load_requests
from kingpost.mechanism.mechanism import Mechanism, quaternion_rows
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.assembly import Assembly, assemble
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.simulation.grid import Grid, fixed_step_grid, output_grid
from kingpost.simulation.monitors import monitored_run
from kingpost.simulation.run import Progress, Simulation, check_singularity
from kingpost.simulation.stepper import solver_functions
from kingpost.statics.equilibrium import find_equilibrium

#: What an input may be: a number, a function of time sampled at the output times, or one number for each of them.
Signal: TypeAlias = float | Callable[[float], float] | FloatArray
Start: TypeAlias = Literal["start", "equilibrium"]
DEFAULT_STEP = 0.001
#: Degrees of freedom from which on the recursive formulation is the better default (benchmarks/scaling.py).
LARGE = 10


def simulate(
    mechanism: Mechanism,
    t_end: float,
    *,
    t_start: float = 0.0,
    settings: Mapping[str, float] | None = None,
    inputs: Mapping[str, Signal] | None = None,
    formulation: Selection[Formulation] | None = None,
    integrator: Selection[Integrator] = "rk4",
    step: float | None = None,
    output_step: float | None = None,
    backend: Backend = "auto",
    start: Start = "start",
    close_loops: bool = False,
    loads: LoadsWanted | None = None,
    load_method: Selection[JointLoads] | None = None,
    monitors: bool = False,
    plugins: PluginSet | None = None,
    progress: Progress = lambda fraction: None,
) -> History:
    """Run a mechanism from ``t_start`` to ``t_end`` (s) and return its history.

    Parameters
    ----------
    mechanism
        The machine.
    t_end, t_start
        End and start of the run in s.
    settings
        Values of parameters, constant inputs and start values by name, e.g. ``{"mass": 2.0, "pivot.angle": 0.3}``.
    inputs
        Inputs that change: a function of time, or an array with a value for each output time. Held over each output step.
    formulation, integrator
        A name, a name with options (``"radau:rtol=1e-8"``), a plugin class or an instance. By default ``kane``, or
        ``recursive`` above 10 degrees of freedom; and ``rk4``.
    step
        Step of a fixed-step integrator in s (default 0.001); solvers choose their own.
    output_step
        Time between samples in s (default: about 0.01, at least one step).
    backend
        ``"c"``, ``"vm"`` or ``"auto"``.
    start
        ``"equilibrium"`` starts at rest in a stable equilibrium near the start values instead.
    close_loops
        Whether start values that leave loops open may be changed by more than 0.01 rad or m to close them.
    loads
        Joints whose loads are wanted: ``"all"``, or names, ``"slew:frame=parent,side=parent"``, :class:`kingpost.LoadRequest`.
    load_method
        How they are found; by default ``auxiliary-speeds`` for ``kane``, ``recursive`` for any other formulation.
    monitors
        Whether energy balance, momentum, constraint errors, rank and condition are added to the channels
        (docs/closed-loops.md).
    plugins
        The plugins to choose from; by default all built-in and installed ones.
    progress
        Called now and then with the fraction done.

    Raises
    ------
    SolverError
        When the integration cannot go on; its ``history`` holds what was computed before.

    """
    simulation = prepare(
        mechanism,
        t_end,
        t_start=t_start,
        settings=settings,
        inputs=inputs,
        formulation=formulation,
        integrator=integrator,
        step=step,
        output_step=output_step,
        backend=backend,
        start=start,
        close_loops=close_loops,
        loads=loads,
        load_method=load_method,
        plugins=plugins,
    )
    return monitored_run(simulation, progress) if monitors else simulation.run(progress)


def prepare(
    mechanism: Mechanism,
    t_end: float,
    *,
    t_start: float = 0.0,
    settings: Mapping[str, float] | None = None,
    inputs: Mapping[str, Signal] | None = None,
    formulation: Selection[Formulation] | None = None,
    integrator: Selection[Integrator] = "rk4",
    step: float | None = None,
    output_step: float | None = None,
    backend: Backend = "auto",
    start: Start = "start",
    close_loops: bool = False,
    loads: LoadsWanted | None = None,
    load_method: Selection[JointLoads] | None = None,
    plugins: PluginSet | None = None,
) -> Simulation:
    """Derive, compile and check everything a run needs; the arguments are those of :func:`simulate`."""
    plugins = plugins or PluginSet()
    values = resolve_values(mechanism, settings or {})
    method = select(plugins.integrators, integrator)
    writing = select(plugins.formulations, default_formulation(mechanism) if formulation is None else formulation)
    assembly = assemble(mechanism, plugins)
    equations = writing.derive(assembly)
    check_pairing(equations, method, plugins)
    if isinstance(method, StepMap):
        grid = fixed_step_grid(t_start, t_end, DEFAULT_STEP if step is None else step, output_step)
    else:
        if step is not None:
            raise SolverError(
                f"integrator '{method.name}' chooses its own steps, so a step of {step:g} s means nothing to it; set an "
                "output step, or its tolerances (e.g. --integrator "
                f"{method.name}:rtol=1e-8), or take a fixed-step integrator such as rk4"
            )
        grid = output_grid(t_start, t_end, output_step)
    x0 = start_state(equations, values)
    p = np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])
    equations = without_redundant_rows(equations, t_start, x0, p)
    begin = consistent_start(equations, t_start, x0, p, close_loops)
    x0 = begin.x
    rows = input_rows(mechanism, values, inputs or {}, grid)
    check_singularity(equations, x0, t_start)
    equations.check_mass_matrix(x0, p)
    if start == "equilibrium":
        x0 = find_equilibrium(equations, x0, rows[0], p, t_start).x
    equations = with_loads(assembly, equations, loads, load_method, plugins)
    x0 = metered_start(equations, x0)
    kernel = Kernel(_functions(equations, method), backend, equations.python_forces)
    if isinstance(method, StepMap):
        x0 = np.concatenate([x0, remembered(equations, method, t_start, x0, rows[0], p, grid.step)])
    return Simulation(mechanism, equations, method, kernel, grid, values, x0, rows, p, plugins, begin.changes)


def default_formulation(mechanism: Mechanism) -> str:
    """Return ``kane``, or ``recursive`` for machines so large that its O(n) pays off in speed and in build time."""
    return "kane" if len(mechanism.speeds) <= LARGE else "recursive"


def with_loads(
    assembly: Assembly,
    equations: Equations,
    wanted: LoadsWanted | None,
    method: Selection[JointLoads] | None,
    plugins: PluginSet,
) -> Equations:
    """Return the equations with their ports and the joint loads that are wanted among their channels."""
    equations = with_ports(assembly, equations)
    requests = load_requests(assembly.mechanism, wanted)
    if not requests:
        return equations
    default = "auxiliary-speeds" if equations.formulation == "kane" else "recursive"
    way = select(plugins.joint_loads, default if method is None else method)
    return replace(equations, loads=derive_loads(assembly, equations, way, requests))


def check_pairing(equations: Equations, integrator: Integrator, plugins: PluginSet) -> None:
    """Refuse an integrator that cannot advance the problem a formulation makes, naming those that can."""
    # A method for ODEs advances a DAE in its accelerations, and errors of the constraints are projected away.
    if isinstance(equations, PartitionedEquations) and "index-3 dae" in integrator.problems:
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


def start_state(equations: Equations, values: Values) -> FloatArray:
    """Return the initial state, the mechanism's own start values overridden by those of ``values``."""
    mechanism = equations.mechanism
    x0 = equations.start(values.parameters)
    names = [quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)]
    for name, value in values.start.items():
        x0[names.index(name)] = value
    for first in quaternion_rows(mechanism):
        length = float(np.linalg.norm(x0[first : first + 4]))
        if length == 0.0:
            raise MechanismError(
                f"the quaternion {listed(names[first : first + 4])} starts at zero, which is no rotation; (1, 0, 0, 0) is none"
            )
        x0[first : first + 4] /= length
    if equations.coordinates.initial is None:
        return x0
    p = [values.parameters[parameter.name] for parameter in mechanism.parameters]
    count = len(mechanism.coordinates)
    return np.asarray(equations.initial(x0[:count], x0[count:], p)).ravel()


def input_rows(mechanism: Mechanism, values: Values, inputs: Mapping[str, Signal], grid: Grid) -> FloatArray:
    """Return the inputs at every sample time, one row each."""
    names = [signal.name for signal in mechanism.inputs]
    for name in inputs:
        if name not in names:
            raise MechanismError(f"'{mechanism.name}' has no input '{name}'{closest(name, names)} Inputs: {listed(names)}.")
    rows = np.empty((grid.samples + 1, len(names)))
    for j, name in enumerate(names):
        signal: Any = inputs.get(name, values.inputs[name])
        column = np.array([signal(t) for t in grid.times]) if callable(signal) else np.asarray(signal, dtype=float)
        if column.shape not in ((), (grid.samples + 1,)):
            raise MechanismError(f"input '{name}' has {column.size} values, but the run has {grid.samples + 1} output times")
        rows[:, j] = column
        if not np.isfinite(rows[:, j]).all():
            first = int(np.argmin(np.isfinite(rows[:, j])))
            raise MechanismError(f"input '{name}' is {rows[first, j]} at t = {grid.times[first]:g} s; it must be finite")
    return rows


def _functions(equations: Equations, integrator: Integrator) -> list[ca.Function]:
    if not isinstance(integrator, StepMap):
        with_jacobian = isinstance(integrator, Solver) and integrator.needs_jacobian
        return [*solver_functions(equations, with_jacobian), equations.observe]
    guard = [] if equations.guard is None else [equations.guard]
    extra = integrator.memory(equations)
    observe, size = integrator.observe(equations), equations.nx
    watching = [observe if observe.numel_in(1) > size else _without_memory(observe, extra)]
    watching += [_without_memory(function, extra) for function in guard]
    return [step_function(equations, integrator), *watching]


def _without_memory(function: ca.Function, extra: int) -> ca.Function:
    """Return a function of the state as one of the state followed by what an integrator remembers."""
    if not extra:
        return function
    place = 0 if function.n_in() == 1 else 1
    arguments = [ca.MX.sym(f"i{k}", function.numel_in(k) + (extra if k == place else 0)) for k in range(function.n_in())]
    given = [item[: function.numel_in(k)] if k == place else item for k, item in enumerate(arguments)]
    return ca.Function(function.name(), arguments, function.call(given))


def remembered(
    equations: Equations, integrator: StepMap, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> FloatArray:
    """Return what an integrator remembers at the start of a run."""
    if not integrator.memory(equations):
        return np.zeros(0)
    return np.asarray(memory_function(equations, integrator)(t, x, u, p, h)).ravel()


def memory_function(equations: Equations, integrator: StepMap) -> ca.Function:
    """Return the CasADi function (t, x, u, p, h) -> what an integrator remembers when it begins at state x."""
    sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np, "h": 1}
    symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
    found = integrator.start_memory(equations, *symbols) if integrator.memory(equations) else ca.MX(0, 1)
    return ca.Function("kp_memory", symbols, [ca.densify(found)])


def step_function(equations: Equations, integrator: StepMap) -> ca.Function:
    """Return the CasADi function (t, x, u, p, h) -> x of one step."""
    t, h = ca.MX.sym("t"), ca.MX.sym("h")
    size = equations.nx
    x = ca.MX.sym("x", size + integrator.memory(equations))
    u, p = ca.MX.sym("u", equations.u.numel()), ca.MX.sym("p", equations.p.numel())
    try:
        following = integrator.step(equations, t, x, u, p, h)
        shape = ca.MX(following).shape
        if shape != x.shape:
            raise PluginError(
                f"integrator '{integrator.name}': step returned a {shape[0]} x {shape[1]} state, expected {x.shape[0]} x 1"
            )
        state, kept = following[:size, :], following[size:, :]
        if "index-3 dae" not in integrator.problems:
            state = equations.projected(t + h, state, p)
        return ca.Function("kp_step", [t, x, u, p, h], [ca.densify(ca.vertcat(equations.normalised(state), kept))])
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise PluginError(
            f"integrator '{integrator.name}': step cannot be traced ({type(error).__name__}: {str(error).strip()}). A step "
            "map may only use CasADi operations; write a Solver if it needs numbers"
        ) from error
