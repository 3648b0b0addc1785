"""What every integrator must do."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.integrator import Integrator, Solver, StepMap
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make, select
from kingpost.results.history import History
from kingpost.simulation.run import Simulation
from kingpost.simulation.simulate import prepare
from kingpost.testing.problems import (
    EFFORT,
    LAG,
    ROD_MASS,
    lagging_cart,
    lagging_cart_solution,
    oscillator,
    oscillator_solution,
    pendulum,
    pendulum_solution,
    planar_pendulum,
    planar_pendulum_pin_force,
    planar_pendulum_solution,
    pushed_mass,
    welded,
)

#: Errors below this are rounding, not method error: about 1e5 steps of half a unit in the last place each.
ERROR_ROUNDING = 1e-11
#: A run whose error is larger has not yet reached the straight part of its convergence line.
COARSE = 1e-2


class Subject:
    """An integrator class under test, and how to run it."""

    def __init__(self, cls: type[Integrator], plugins: PluginSet | None = None) -> None:
        self.cls = cls
        self.plugins = plugins or PluginSet(entry_points=False)
        select(self.plugins.integrators, cls)  # refuses a class that is no plugin, with a reason

    @property
    def fixed_step(self) -> bool:
        return issubclass(self.cls, StepMap)

    @property
    def has_tolerance(self) -> bool:
        return "rtol" in {field.name for field in dataclasses.fields(self.cls.Options)}

    def run(self, mechanism: Mechanism, t_end: float, step: float = 0.01, **arguments: Any) -> History:
        """Run with a step of ``step`` if the method has one, and one sample for each step."""
        return self.prepare(mechanism, t_end, step, **arguments).run()

    def prepare(self, mechanism: Mechanism, t_end: float, step: float = 0.01, **arguments: Any) -> Simulation:
        """Return a run that is ready to go; see :meth:`run`."""
        options = arguments.pop("options", {})
        return prepare(
            mechanism,
            t_end,
            integrator=make(self.cls, options),
            plugins=self.plugins,
            step=step if self.fixed_step else None,
            output_step=arguments.pop("output_step", step),
            **arguments,
        )

    @property
    def remembers(self) -> bool:
        """Whether the method carries more than the state from step to step."""
        return issubclass(self.cls, StepMap) and self.cls.memory is not StepMap.memory


def check_integrator(cls: type[Integrator], plugins: PluginSet | None = None) -> None:
    """Run every check on an integrator class; raise ``AssertionError`` at the first that fails."""
    subject = Subject(cls, plugins)
    for check in INTEGRATOR_CHECKS:
        check(subject)


def check_order_nonlinear(subject: Subject) -> None:
    """The error of a large pendulum swing falls with the declared order.

    A solver with error control may do better than its order, since it puts its steps where they matter.
    """
    order = measured_order(subject, pendulum(), pendulum_solution)
    if order is not None:
        name, declared = subject.cls.name, subject.cls.order
        most = declared + 0.3 if subject.fixed_step else math.inf
        assert declared - 0.3 < order < most, (
            f"{name} declares order {declared}, but on a pendulum its error falls with order {order:.2f}"
        )


def check_order_linear(subject: Subject) -> None:
    """The error of a spring oscillator falls with at least the declared order."""
    order = measured_order(subject, oscillator(), oscillator_solution)
    if order is not None:
        name, declared = subject.cls.name, subject.cls.order
        assert order > declared - 0.3, (
            f"{name} declares order {declared}, but on an oscillator its error falls with order {order:.2f}"
        )


def check_tolerance(subject: Subject) -> None:
    """A solver with a tolerance ``rtol`` obeys it: the error falls with it, and ends small."""
    if not subject.has_tolerance:
        return
    tolerances = [1e-4, 1e-6, 1e-8, 1e-10]
    errors = [error_at_end(subject, pendulum(), pendulum_solution, tolerance=rtol)[0] for rtol in tolerances]
    # Error per unit step control: the error at the end is a modest multiple of tolerance times number of steps (1e2-1e3).
    for rtol, error in zip(tolerances, errors, strict=True):
        assert error < 1e4 * rtol, f"{subject.cls.name} with rtol = {rtol:g} is wrong by {error:.2e}"
    assert errors[-1] < 1e-3 * errors[0], f"{subject.cls.name}: tightening rtol from 1e-4 to 1e-10 only brought {errors}"


def check_energy(subject: Subject) -> None:
    """A conservative machine keeps its energy as the method promises."""
    if not subject.fixed_step:
        history = subject.run(pendulum(), 20.0, 0.05)
        drift = _energy_error(history).max()
        assert drift < 1e-4, f"{subject.cls.name}: the energy of a pendulum is off by {drift:.2e} of its range after 20 s"
        return
    assert issubclass(subject.cls, StepMap)
    if subject.cls.symplectic:
        error = _energy_error(subject.run(pendulum(), 200.0, 0.01))
        quarter = len(error) // 4
        early, late = error[:quarter].max(), error[-quarter:].max()
        # Bounded means the same bound early and late; a drifting method of order 1 has late = 4 early.
        assert late < 1.5 * early, (
            f"{subject.cls.name} calls itself symplectic, but the energy error of a pendulum grew from {early:.2e} "
            f"to {late:.2e}"
        )
        return
    errors = {}
    for step in (0.04, 0.02, 0.01, 0.005):
        errors[step] = _energy_error(subject.run(pendulum(), 20.0, step)).max()
    usable = [(h, e) for h, e in errors.items() if ERROR_ROUNDING < e < COARSE]
    if len(usable) > 1:
        (h1, e1), (h2, e2) = usable[-2:]
        order = math.log(e1 / e2) / math.log(h1 / h2)
        assert order > subject.cls.order - 0.3, (
            f"{subject.cls.name}: the energy error of a pendulum falls with order {order:.2f}, less than {subject.cls.order}"
        )


def check_time_dependence(subject: Subject) -> None:
    """A force that depends on time is evaluated at the right times, also before t = 0."""
    step = 0.01
    history = subject.run(pushed_mass(), 2.0, step, t_start=-3.0)
    exact = np.sin(history.time) - np.sin(-3.0)
    error = np.abs(history["rail.displacement.rate"] - exact).max()
    # The derivatives of cos are bounded by 1, so the error is at most (length) h^order, twice that for safety.
    allowed = 10.0 * step**subject.cls.order + ERROR_ROUNDING if subject.fixed_step else 1e-7
    assert error < allowed, f"{subject.cls.name}: the speed under a force cos(t) from t = -3 s is off by {error:.2e}"


def check_states_of_forces(subject: Subject) -> None:
    """States of forces, which are neither coordinates nor speeds, are advanced with the rest."""
    step = 0.01
    history = subject.run(lagging_cart(), 1.0, step)
    exact = lagging_cart_solution(history.time)
    found = history["rail.displacement.rate"], history["drive.effort"]
    # Of e' = -e/T the error is at most (t/T) (h/T)^order in parts of the effort, with constants below two.
    allowed = 4 * EFFORT * (step / LAG) ** subject.cls.order + ERROR_ROUNDING if subject.fixed_step else 1e-6
    for what, numbers, expected in zip(("speed", "effort"), found, exact, strict=True):
        error = float(np.abs(numbers - expected).max())
        assert error < allowed, f"{subject.cls.name}: the {what} of a drive that lags is off by {error:.2e}"


def check_input_jump(subject: Subject) -> None:
    """An input that jumps between two samples acts from that sample on, and not before."""
    settings = {"amplitude": 0.0}
    step, jump = 0.05, 20
    push = np.where(np.arange(41) < jump, 0.0, 6.0)
    history = subject.run(pushed_mass(), 40 * step, step, settings=settings, inputs={"push": push})
    exact = 3.0 * np.maximum(0.0, history.time - jump * step)  # every consistent method is exact here
    error = np.abs(history["rail.displacement.rate"] - exact).max()
    assert error < 1e-9, f"{subject.cls.name}: the speed after a jump of the input is off by {error:.2e}"


def check_restart(subject: Subject) -> None:
    """A run continued from its own last state is the same as one run without a stop."""
    difference = _restart_difference(subject, 0.01)
    if subject.remembers:
        # What the method has forgotten at the restart must not cost it its order.
        finer = _restart_difference(subject, 0.005)
        assert finer < ERROR_ROUNDING + difference / 2 ** (subject.cls.order - 0.3), (
            f"{subject.cls.name}: a restarted run differs by {difference:.2e}, with half the step by {finer:.2e}, more than "
            f"its order {subject.cls.order} allows"
        )
        return
    # A step map without memory may not differ by a bit; a solver starts with other steps, so its tolerance shows.
    allowed = 0.0 if subject.fixed_step else 1e-6
    assert difference <= allowed, f"{subject.cls.name}: a restarted run differs by {difference:.2e}"


def _restart_difference(subject: Subject, step: float) -> float:
    whole = subject.run(pendulum(), 2.0, step)
    first = subject.run(pendulum(), 1.0, step)
    state = {name: float(first[name][-1]) for name in ("pivot.angle", "pivot.angle.rate")}
    second = subject.run(pendulum(), 2.0, step, t_start=1.0, settings=state)
    return float(np.abs(second.values[-1] - whole.values[-1]).max())


def check_repeatable(subject: Subject) -> None:
    """The same run gives the same bits."""
    one, two = (subject.run(pendulum(), 1.0, 0.01).values for _ in range(2))
    assert np.array_equal(one, two), f"{subject.cls.name}: two equal runs differ by {np.abs(one - two).max():.2e}"


def check_no_degrees_of_freedom(subject: Subject) -> None:
    """A machine that cannot move can be run."""
    history = subject.run(welded(), 0.5, 0.1)
    assert np.all(history["block-origin.z"] == 3.0), f"{subject.cls.name}: a welded body moved"


def check_no_mutation(subject: Subject) -> None:
    """The state and inputs that a run is given stay as they are."""
    step = 0.01 if subject.fixed_step else None
    simulation = prepare(
        pendulum(), 0.5, integrator=make(subject.cls, {}), plugins=subject.plugins, step=step, output_step=0.01
    )
    before = simulation.x0.copy(), simulation.inputs.copy(), simulation.p.copy()
    simulation.run()
    after = simulation.x0, simulation.inputs, simulation.p
    unchanged = all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert unchanged, f"{subject.cls.name} changed the start state, inputs or parameters it was given"


def check_order_closed_loop(subject: Subject) -> None:
    """On a machine with a closure, coordinates, speeds and multipliers converge with the declared order, to a closed form."""
    if not subject.fixed_step:
        return
    points: list[tuple[float, ...]] = []
    for halvings in range(14):
        step = 0.1 / 2**halvings
        points.append((step, *_closed_loop_errors(subject, step)))
        if sum(all(ERROR_ROUNDING < error < COARSE for error in errors) for _, *errors in points) == 3:
            break
    usable = np.array([point for point in points if all(ERROR_ROUNDING < error < COARSE for error in point[1:])])
    name, declared = subject.cls.name, subject.cls.order
    assert len(usable) >= 2, f"{name}: no two steps give usable errors on a pinned rod: {points}"
    coarse, fine = usable[-2:]
    for what, before, after in zip(("coordinates", "speeds", "multipliers"), coarse[1:], fine[1:], strict=True):
        order = math.log(before / after) / math.log(coarse[0] / fine[0])
        assert order > declared - 0.3, (
            f"{name} declares order {declared}, but on a pinned rod the error of its {what} falls with order {order:.2f}"
        )


def _closed_loop_errors(subject: Subject, step: float) -> tuple[float, float, float]:
    """Return the errors of coordinates, speeds and multipliers after 3 s; the latter relative to the weight of the rod."""
    simulation = subject.prepare(planar_pendulum(), 3.0, step, output_step=3.0)
    history = simulation.run()
    t, x = history.time[-1:], history.values[-1, :6]
    difference = np.abs(x - planar_pendulum_solution(t)[0])
    lam = np.asarray(simulation.equations.multipliers(t[0], x[:3], x[3:], [], simulation.p)).ravel()
    # The two rows of the pin are along unit vectors at right angles, so its multipliers are the components of a force.
    force = abs(float(np.linalg.norm(lam)) - float(planar_pendulum_pin_force(t)[0])) / (9.81 * ROD_MASS)
    return float(difference[:3].max()), float(difference[3:].max()), force


def check_constraint_drift(subject: Subject) -> None:
    """Closed loops stay closed to round-off, at every step."""
    if not subject.fixed_step:
        return
    simulation = subject.prepare(planar_pendulum(), 10.0, 0.01)
    history = simulation.run()
    residuals = simulation.equations.constraint_residuals.map(len(history.time))
    q, v = history.values[:, :3].T, history.values[:, 3:6].T
    p = np.tile(simulation.p[:, None], len(history.time))
    error = float(np.abs(np.asarray(residuals(history.time[None, :], q, v, p)[0])).max())
    # Coordinates of some metres have a round-off of some 1e-15.
    assert error < 1e-13, f"{subject.cls.name}: the pin of a rod is open by {error:.2e} m"


INTEGRATOR_CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_order_nonlinear,
    check_order_linear,
    check_tolerance,
    check_energy,
    check_time_dependence,
    check_states_of_forces,
    check_input_jump,
    check_restart,
    check_repeatable,
    check_no_degrees_of_freedom,
    check_no_mutation,
    check_order_closed_loop,
    check_constraint_drift,
)


def measured_order(subject: Subject, mechanism: Mechanism, solution: Callable[[FloatArray], FloatArray]) -> float | None:
    """Return the slope of error over step, or None for a method that varies its order.

    A fixed-step method is run with halved steps; a solver with tightened tolerances, its mean step being what it chose.
    """
    if subject.cls.order == 0 or (issubclass(subject.cls, Solver) and not subject.has_tolerance):
        return None
    points: list[tuple[float, float]] = []
    if subject.fixed_step:
        for halvings in range(14):
            step = 0.1 / 2**halvings
            points.append((error_at_end(subject, mechanism, solution, step=step)[0], step))
            if sum(ERROR_ROUNDING < error < COARSE for error, _ in points) == 4:
                break
    else:
        for exponent in np.arange(3.0, 9.5, 0.5):
            error, steps = error_at_end(subject, mechanism, solution, tolerance=10.0**-exponent)
            points.append((error, 1.0 / steps))
    usable = [(error, step) for error, step in points if ERROR_ROUNDING < error < COARSE]
    assert len(usable) >= 2, f"{subject.cls.name}: no two steps give an error between {ERROR_ROUNDING} and {COARSE}: {points}"
    if subject.fixed_step:
        usable = usable[-2:]
    errors, steps_taken = np.log(np.array(usable)).T
    return float(np.polyfit(steps_taken, errors, 1)[0])


def error_at_end(
    subject: Subject,
    mechanism: Mechanism,
    solution: Callable[[FloatArray], FloatArray],
    step: float = 0.01,
    tolerance: float | None = None,
) -> tuple[float, int]:
    """Return the error of the state after 3 s, about one swing, and the number of steps taken."""
    options = {} if tolerance is None else {"rtol": tolerance, "atol": 1e-2 * tolerance}
    output_step = 3.0
    history = subject.run(mechanism, 3.0, step, options=options, output_step=output_step)
    exact = solution(history.time[-1:])[0]
    error = float(np.abs(history.values[-1, : len(exact)] - exact).max())
    return error, int(history.provenance["statistics"].get("steps", 0))


def _energy_error(history: History) -> FloatArray:
    """Return the energy error over the range of the kinetic energy."""
    total = history["energy.total"]
    error: FloatArray = np.abs(total - total[0]) / (np.ptp(history["energy.kinetic"]) or 1.0)
    return error
