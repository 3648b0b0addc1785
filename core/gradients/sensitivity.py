"""Gradients of numbers that a run computes: :func:`sensitivity`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError, listed
from kingpost.equations.integrator import StepMap
from kingpost.gradients.backward import AdjointKernel, Collected, adjoint_kernel, gone_back, with_trail
from kingpost.gradients.courses import CourseGradient, HeldCourse, held_courses
from kingpost.gradients.forward import FEW, cheaper_forward, gone_along, tangent_functions
from kingpost.gradients.functional import check_channels, read_functional, weights_of
from kingpost.gradients.functions import adjoint_functions, refuse_python
from kingpost.gradients.load_axes import with_load_axes
from kingpost.gradients.readings import Functional, Reading, Record
from kingpost.gradients.start import start_slopes
from kingpost.gradients.targets import Directions, directions, moving_inputs, value_of
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.simulation.problem import parameter_row, start_state, started
from kingpost.simulation.run import Progress, Simulation
from kingpost.simulation.settings import RunChoices, RunSettings, fixed_step
from kingpost.simulation.signals import Signal, Signals, signals_by_name
from kingpost.simulation.simulate import prepare, run_grid

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from kingpost.fatigue import CountingOptions, CurveSet, HotSpot
    from kingpost.gradients.damage import DamageWords


Way: TypeAlias = Literal["adjoint", "tangents"]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A number that was read from a run, and its gradient."""

    #: What was asked for.
    of: str
    value: float
    #: The derivatives by name, and the values and units of what they belong to.
    gradient: Mapping[str, float]
    at: Mapping[str, float]
    units: Mapping[str, str]
    #: The run, as :func:`kingpost.simulate` gives it.
    history: History
    #: Where extremes were found, by what was looked for, in s.
    places: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    #: Seconds that the run and the way back took.
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: Of inputs that are held at one value after another, the derivatives with respect to each of these, by name.
    courses: Mapping[str, CourseGradient] = field(default_factory=dict)
    #: How it was found: ``"adjoint"``, all names on one way back, or ``"tangents"`` of one or two names, where that is quicker.
    way: Way = "adjoint"

    @property
    def elasticity(self) -> dict[str, float]:
        """By how many per cent the number changes with one per cent of each; where either is zero there is none."""
        return {
            name: slope * self.at[name] / self.value for name, slope in self.gradient.items() if self.value and self.at[name]
        }

    def record(self) -> dict[str, Any]:
        """Return everything but the history as plain data."""
        return {
            "of": self.of,
            "value": self.value,
            "gradient": dict(self.gradient),
            "at": dict(self.at),
            "units": dict(self.units),
            "elasticity": self.elasticity,
            "places": dict(self.places),
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
            "way": self.way,
            "courses": {
                name: {
                    "time_s": course.time.tolist(),
                    "values": course.values.tolist(),
                    "gradient": course.gradient.tolist(),
                    "unit": course.unit,
                }
                for name, course in self.courses.items()
            },
        }


class SensitivityChoices(RunChoices, total=False):
    """What may be chosen about a gradient, beside how the run is carried out; everything may be left out."""

    #: Parameters, start values and constant inputs by name, and inputs that move; as in :func:`kingpost.simulate`.
    settings: Mapping[str, float] | None
    inputs: Signals | None
    #: For ``damage``: hot spots or a file with some, S-N curves, and how to count; as in :mod:`kingpost.fatigue`.
    hot_spots: Sequence[HotSpot] | str | Path
    curves: CurveSet | str | Path | None
    counting: CountingOptions | None
    #: How the run is carried out, where no keyword says otherwise.
    how: RunSettings | None
    #: The plugins to choose from; by default all built-in and installed ones.
    plugins: PluginSet | None


#: What is chosen about a gradient alone; the rest is about the run.
OWN_CHOICES = tuple(name for name in SensitivityChoices.__annotations__ if name not in RunChoices.__annotations__)


def sensitivity(
    mechanism: Mechanism,
    of: str,
    to: str | Sequence[str],
    t_end: float | None = None,
    *,
    progress: Progress = lambda fraction: None,
    **choices: Unpack[SensitivityChoices],
) -> Sensitivity:
    """Run a mechanism, read a number from its history, and return that with its gradient.

    The gradient is that of the number itself, as the steps of the run make it: the discrete adjoint of a step map, not an
    approximation of that of the motion. It costs a few runs, however many names there are.

    Parameters
    ----------
    mechanism, t_end, progress
        As in :func:`kingpost.simulate`.
    of
        What is read: ``"hull.roll at 0.3"``, ``"max abs slew.My"``, ``"rms hull.roll from 5 to 20"``, ``"damage SPOT"``, sums
        and products of such.
    to
        Names of parameters, inputs that are constant, and start values; patterns such as ``"m*"``; several with commas or in a
        list. An input that is held at one value after another, as an array of values at the output times or samples with
        ``"hold"``, has a gradient with respect to every value, in ``courses``; it must be named itself.
    choices
        ``settings``, ``inputs``, ``hot_spots``, ``curves``, ``counting``, ``how``, ``plugins`` and those of a run: see
        :class:`SensitivityChoices`.

    Raises
    ------
    KingpostError
        If there is no such channel, time or name.
    SolverError
        If the integrator chooses its own steps, or if the run fails.

    """
    return prepare_sensitivity(mechanism, of, to, t_end, **choices).answer(progress)


def prepare_sensitivity(
    mechanism: Mechanism,
    of: str,
    to: str | Sequence[str],
    t_end: float | None = None,
    **choices: Unpack[SensitivityChoices],
) -> Question:
    """Derive and compile all that :func:`sensitivity` needs, whose arguments these are, to ask at many numbers.

    ``question.at({"kP": 3e4}).answer()`` gives the number and its gradient there.
    """
    from kingpost.gradients.damage import DamageWords  # brings all of fatigue

    of_run = {name: value for name, value in choices.items() if name not in OWN_CHOICES}
    plugins = choices.get("plugins") or PluginSet()
    how = RunSettings.of(of_run).over(choices.get("how") or RunSettings()).selected(plugins)
    how = how if t_end is None else replace(how, t_end=t_end)
    damage = DamageWords.read(choices.get("hot_spots", ()), choices.get("curves"), choices.get("counting"))
    return ask(mechanism, of, to, choices.get("settings"), choices.get("inputs"), how, plugins, damage)


@dataclass(frozen=True, eq=False)
class Question:
    """A run that is ready to go, what is to be read from it, and along which directions."""

    of: str
    simulation: Simulation
    functional: Functional
    channels: tuple[str, ...]
    along: Directions
    courses: tuple[HeldCourse, ...] = ()

    @cached_property
    def _rows(self) -> list[int]:
        names = [channel.name for channel in self.simulation.equations.channels]
        return [names.index(name) for name in self.channels]

    @cached_property
    def _back(self) -> list[ca.Function]:
        return adjoint_functions(self.simulation.problem.stepper, self._rows)

    @cached_property
    def _along(self) -> list[ca.Function]:
        return tangent_functions(self.simulation.problem.stepper, self._rows, self.along)

    @cached_property
    def adjoint(self) -> AdjointKernel:
        """The adjoints of a step and of the channels that are looked at."""
        return adjoint_kernel(self.simulation, self._back)

    @cached_property
    def way(self) -> Way:
        """Which way is quicker: measured where there are few names, and back for more of them and for inputs with stairs."""
        if self.courses or not self.channels or not 0 < len(self.along) <= FEW:
            return "adjoint"
        return "tangents" if cheaper_forward(self.simulation, self._along, self._back, len(self.along)) else "adjoint"

    def at(self, settings: Mapping[str, float]) -> Question:
        """Return the same question with other parameters or start values; nothing is derived or compiled once more.

        This is for those who walk by gradients. Machines with closed loops, and inputs, are asked anew by :func:`ask`.
        """
        problem = self.simulation.problem
        inputs = [signal.name for signal in problem.mechanism.inputs if signal.name in settings]
        if problem.equations.constraints.count or self.simulation.rows.sources or inputs:
            why = f"{listed(inputs)} is an input" if inputs else "its loops, or inputs that move, were made for the old ones"
            raise KingpostError(f"'{problem.mechanism.name}' cannot be asked at other numbers as it is: {why}; ask anew")
        given = {**problem.given, **settings}
        values = resolve_values(problem.mechanism, given, [state.name for state in problem.assembly.states])
        p, x = parameter_row(problem.mechanism, values), start_state(problem.assembly, problem.equations, values)
        moved = replace(problem, values=values, given=given, p=p, x0=x)
        moved = replace(moved, x0=started(moved).x0)
        # What was derived and compiled depends on no number.
        moved.__dict__["stepper"] = problem.stepper
        other = replace(self, simulation=replace(self.simulation, problem=moved))
        other.__dict__["adjoint"] = self.adjoint
        return other

    def read(self, history: History) -> Reading:
        """Return the number in a history, and how it depends on its samples."""
        return self.functional.read(Record(history.time, {name: history[name] for name in self.channels}))

    def answer(self, progress: Progress = lambda fraction: None) -> Sensitivity:
        """Carry the run out, go the way back, and return the gradient."""
        simulation = with_trail(self.simulation) if self.way == "adjoint" else self.simulation
        started = time.perf_counter()
        history = simulation.run(lambda fraction: progress(fraction / 3))
        ran = time.perf_counter()
        reading = self.read(history)
        way = self.way
        gradient, courses = self._slopes(simulation, reading, lambda fraction: progress((1 + 2 * fraction) / 3))
        back = time.perf_counter() - ran
        whole = [gradient, *(course.gradient for course in courses.values())]
        if not all(np.isfinite(part).all() for part in whole) or not np.isfinite(reading.value):
            bad = [name for name, slope in zip(self.along.names, gradient, strict=True) if not np.isfinite(slope)]
            bad += [name for name, course in courses.items() if not np.isfinite(course.gradient).all()]
            raise SolverError(f"the gradient of '{self.of}' is not finite, with respect to {listed(bad)}", history=history)
        return Sensitivity(
            self.of,
            reading.value,
            dict(zip(self.along.names, gradient.tolist(), strict=True)),
            {name: self._value(name) for name in self.along.names},
            dict(zip(self.along.names, self.along.units, strict=True)),
            history,
            reading.places,
            (*history.provenance["warnings"], *dict.fromkeys([*reading.warnings, *self.functional.doubts(history)])),
            {"run": ran - started, "gradient": back},
            courses,
            way,
        )

    def _value(self, name: str) -> float:
        inputs = self.simulation.rows.layout.names
        if name in inputs:
            return float(self.simulation.rows.values[0, inputs.index(name)])
        return value_of(self.simulation.problem, name)

    def _slopes(
        self, simulation: Simulation, reading: Reading, progress: Progress
    ) -> tuple[FloatArray, dict[str, CourseGradient]]:
        if self.way == "adjoint":
            collected = self._collected(simulation, reading, progress)
            return self._gradient(simulation, collected), self._course_gradients(simulation, collected)
        weights = weights_of(reading.slopes, self.channels, simulation.grid.samples + 1)
        kernel = Kernel(self._along, simulation.problem.how.backend or "auto")
        return gone_along(simulation, kernel, start_slopes(simulation, self.along), weights, progress), {}

    def _collected(self, simulation: Simulation, reading: Reading, progress: Progress) -> Collected | None:
        """Return how the number depends on what the run is made of; None where it depends on nothing."""
        if not self.channels or not any(slope.any() for slope in reading.slopes.values()):
            return None
        weights = weights_of(reading.slopes, self.channels, simulation.grid.samples + 1)
        return gone_back(simulation, self.adjoint, weights, progress)

    def _gradient(self, simulation: Simulation, found: Collected | None) -> FloatArray:
        if found is None or not len(self.along):
            return np.zeros(len(self.along))
        start = start_slopes(simulation, self.along)
        of_inputs = found.by_rows.sum(axis=0) @ self.along.inputs
        return np.asarray(found.by_start @ start + found.by_parameters @ self.along.parameters + of_inputs)

    def _course_gradients(self, simulation: Simulation, found: Collected | None) -> dict[str, CourseGradient]:
        gradients = {}
        for course in self.courses:
            gradient = np.zeros(len(course.time))
            if found is not None:
                start = start_slopes(simulation, course.direction(simulation))
                gradient = course.gradient(found.by_rows, float((found.by_start @ start)[0]))
            gradients[course.name] = CourseGradient(course.time, course.values, gradient, course.unit)
        return gradients


def ask(
    mechanism: Mechanism,
    of: str,
    to: str | Sequence[str],
    settings: Mapping[str, float] | None,
    inputs: Signals | None,
    how: RunSettings,
    plugins: PluginSet,
    damage: DamageWords | None = None,
) -> Question:
    """Return a question with everything derived and checked, before a run."""
    if how.integrator is not None and not fixed_step(how.integrator):
        able = [cls.name for cls, _ in plugins.integrators.entries() if issubclass(cls, StepMap)]
        raise SolverError(
            f"integrator '{getattr(how.integrator, 'name', how.integrator)}' chooses its own steps, and which it chooses "
            f"depends on everything, so that its results have no derivative; gradients need fixed steps: {listed(able)}"
        )
    functional = read_functional(of, {} if damage is None else damage.words)
    functional.check(run_grid(how, plugins).times)
    whole = how.with_cuts(mechanism, plugins)
    how = with_load_axes(how.with_usual_loads(whole), whole, functional)
    simulation = prepare(mechanism, settings=settings, inputs=inputs, how=how, plugins=plugins)
    refuse_python(simulation.equations)
    moving = dict.fromkeys(simulation.rows.sources, "is an input that moves, and depends on nothing in the run")
    known = [channel.name for channel in simulation.equations.channels]
    channels = check_channels(functional, known, {name: why for name, why in moving.items() if name not in known})
    if how.monitors or how.verify is not None or how.check_step is not None:
        raise KingpostError("monitors, verify and check_step are for runs; a gradient is of the run alone. Leave them out")
    signals: Mapping[str, Signal] = signals_by_name(simulation.mechanism, inputs, plugins)
    courses = held_courses(simulation, moving_inputs(simulation, signals), signals)
    along, many = directions(simulation, _words(to), signals, courses)
    return Question(of, simulation, functional, tuple(channels), along, tuple(courses[name] for name in many))


def _words(to: str | Sequence[str]) -> list[str]:
    return [to] if isinstance(to, str) else list(to)
