"""What every method of inverse dynamics must do, checked on masses and springs with closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, MechanismError
from kingpost.control.servo.inverse import PreparedInverse, prepare_inverse
from kingpost.control.servo.system import InverseDynamics, SteppedInverse
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import RestToRest
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History

#: The path of all problems: over 2 m in 4 s, eight times differentiable.
PATH = RestToRest(0.0, 2.0, 0.0, 4.0, profile="smooth:8")
T_END = 4.0
M1, M2, STIFFNESS, DAMPING = 2.0, 1.0, 12.0, 3.0
#: Errors of the servo-constraints (m): rounding, with Newton's tolerance.
FOLLOWED = 1e-9
#: Errors of inputs (N) of a method without steps.
EXACT = 1e-6


@dataclass(frozen=True, eq=False)
class ServoCase:
    """A machine, a task, and the force that the closed form gives at a time."""

    name: str
    mechanism: Mechanism
    task: ServoTask
    force: Callable[[FloatArray], FloatArray]


def _masses(count: int, damping: float) -> Mechanism:
    """Return masses on a line, joined by springs, with a force on the first."""
    mass = Parameter("mass", M1, "kg")
    bodies = [Body("first", mass=mass)]
    joints = [Joint("slide1", "prismatic", "world", "first", axis=(1, 0, 0), coordinates=("x",))]
    forces = [ForceElement("joint-effort", name="drive", coordinate="slide1.x", effort=Input("force", "N"))]
    if count == 2:
        # On the first mass, so that its coordinate is the stretch of the spring between them.
        bodies.append(Body("second", mass=M2))
        joints.append(Joint("slide2", "prismatic", "first", "second", axis=(1, 0, 0), coordinates=("stretch",)))
        forces.append(
            ForceElement("joint-spring", name="spring", coordinate="slide2.stretch", stiffness=STIFFNESS, damping=damping)
        )
    return Mechanism(
        name=f"masses-{count}",
        parameters=(mass,),
        inputs=(Input("force", "N"),),
        bodies=bodies,
        joints=joints,
        forces=forces,
        outputs=(),
        measures=_ends(count),
    )


def _ends(count: int) -> Sequence[Any]:
    from kingpost.mechanism.measures import Measure

    return [Measure("end", "position", body="first" if count == 1 else "second", axis="x")]


def _jets(times: FloatArray) -> FloatArray:
    return PATH.jets_at(times, 4)


def _one_mass(times: FloatArray) -> FloatArray:
    return M1 * _jets(times)[:, 2]


def _two_masses(times: FloatArray) -> FloatArray:
    # Document 003, eq. (32): the second mass is led by the spring alone.
    jets = _jets(times)
    return np.asarray(M1 * M2 / STIFFNESS * jets[:, 4] + (M1 + M2) * jets[:, 2])


def _led_first(times: FloatArray) -> FloatArray:
    """Return the force on the first mass that follows the path while the second swings behind it, damped."""
    from scipy.integrate import solve_ivp

    def rates(t: float, x: FloatArray) -> list[float]:
        # The stretch s of the spring: M2 (s'' + gamma'') = -k s - d s'.
        return [x[1], -(STIFFNESS * x[0] + DAMPING * x[1]) / M2 - float(PATH.value(t, order=2))]

    found = solve_ivp(rates, (0.0, T_END), [0.0, 0.0], t_eval=times, method="DOP853", rtol=1e-12, atol=1e-13)
    return np.asarray(M1 * _jets(times)[:, 2] - STIFFNESS * found.y[0] - DAMPING * found.y[1])


def servo_cases() -> list[ServoCase]:
    """Return problems of every kind: fully actuated, tangential without internal states, and orthogonal with stable ones."""
    inputs = ("force",)
    return [
        ServoCase("fully actuated", _masses(1, 0.0), ServoTask({"end": PATH}, inputs, T_END), _one_mass),
        ServoCase("tangential", _masses(2, 0.0), ServoTask({"end": PATH}, inputs, T_END), _two_masses),
        ServoCase("with internal states", _masses(2, DAMPING), ServoTask({"slide1.x": PATH}, inputs, T_END), _led_first),
    ]


class Subject:
    """A method, and what it makes of the problems that it takes."""

    def __init__(self, method: Selection[InverseDynamics], plugins: PluginSet | None = None) -> None:
        self.method = method
        self.plugins = plugins or PluginSet()
        self._prepared: dict[str, PreparedInverse | KingpostError] = {}
        self._found: dict[tuple[str, str, float], History] = {}

    @cached_property
    def taken(self) -> list[ServoCase]:
        """The problems that it does not refuse."""
        return [case for case in servo_cases() if not self.refusal(case)]

    def refusal(self, case: ServoCase) -> str:
        """Return what it says of a problem that it does not take."""
        prepared = self._first_look(case)
        return str(prepared) if isinstance(prepared, KingpostError) else ""

    def prepared(self, case: ServoCase) -> PreparedInverse:
        """Return how it would go about a problem that it takes."""
        prepared = self._first_look(case)
        if isinstance(prepared, KingpostError):
            raise prepared
        return prepared

    def _first_look(self, case: ServoCase) -> PreparedInverse | KingpostError:
        if case.name not in self._prepared:
            try:
                self._prepared[case.name] = prepare_inverse(case.mechanism, case.task, method=self.method, plugins=self.plugins)
            except KingpostError as error:
                self._prepared[case.name] = error
        return self._prepared[case.name]

    def solved(self, case: ServoCase, stepper: str = "bdf2", step: float = 0.01, **settings: float) -> History:
        """Return the history of a problem, with the numbers of its machine or with others."""
        steps = select(self.plugins.of("servo_steppers"), f"{stepper}:step={step!r}")
        if settings:
            return prepare_inverse(
                case.mechanism, case.task, method=self.method, stepper=steps, settings=settings, plugins=self.plugins
            ).run()
        key = (case.name, stepper, step)
        if key not in self._found:
            self._found[key] = replace(self.prepared(case), stepper=steps).run()
        return self._found[key]

    def error(self, case: ServoCase, stepper: str, step: float) -> float:
        """Return the largest error of the force."""
        history = self.solved(case, stepper, step)
        inside = (history.time >= 0.0) & (history.time <= T_END)
        times = history.time[inside]
        return float(np.abs(history["force"][inside] - case.force(times)).max())

    def stepped(self, case: ServoCase) -> bool:
        """Say whether it goes by steps."""
        return isinstance(self.prepared(case).method, SteppedInverse)


def check_takes_something(subject: Subject) -> None:
    """It takes at least one of the problems, and what it says of the others is a sentence about them."""
    assert subject.taken, f"it refuses every problem: {[subject.refusal(case) for case in servo_cases()]}"
    for case in servo_cases():
        refusal = subject.refusal(case)
        if refusal:
            assert len(refusal.split()) > 5, f"'{case.name}' is refused with {refusal!r}; say why, with the numbers"


def check_follows_the_path(subject: Subject) -> None:
    """Measures keep to their path at every sample: to rounding at the level that it holds, and better with shorter steps."""
    for case in subject.taken:
        prepared = subject.prepared(case)
        coarse, fine = (subject.solved(case, "bdf2", step).provenance["inverse"]["residuals"] for step in (0.02, 0.01))
        held = fine[prepared.method.holds]
        assert held <= FOLLOWED, (
            f"'{case.name}': the servo-constraint is off by up to {held:.2e} at {prepared.method.holds} level, expected "
            f"{FOLLOWED:g}"
        )
        drift, before = fine["position"], coarse["position"]
        assert drift <= max(FOLLOWED, 0.5 * before), (
            f"'{case.name}': the measure is up to {drift:.2e} m off its path at 0.01 s, and {before:.2e} m at 0.02 s"
        )


def check_inputs(subject: Subject) -> None:
    """Inputs are those of the closed form, or converge to them with the order of backward Euler and of bdf2."""
    for case in subject.taken:
        if not subject.stepped(case):
            error = subject.error(case, "bdf2", 0.02)
            assert error <= EXACT, f"'{case.name}': inputs are off by {error:.2e} N, expected {EXACT:g} N"
            continue
        for stepper, order in (("backward-euler", 1), ("bdf2", 2)):
            errors = [subject.error(case, stepper, step) for step in (0.02, 0.01, 0.005)]
            if errors[0] < EXACT:
                continue
            first, second = np.log2(errors[0] / errors[1]), np.log2(errors[1] / errors[2])
            # Either is the order and a part that halves with the steps; half a number tells whole ones apart.
            found = 2 * second - first
            assert found > order - 0.5, (
                f"'{case.name}' with {stepper}: errors of inputs {errors[0]:.2e}, {errors[1]:.2e} and {errors[2]:.2e} N at "
                f"0.02, 0.01 and 0.005 s, order {found:.2f}, expected {order}"
            )


def check_other_numbers(subject: Subject) -> None:
    """Other parameters give other inputs, and the same numbers again give the same."""
    for case in subject.taken:
        heavy = subject.solved(case, mass=2 * M1)
        again = subject.solved(case, mass=2 * M1)
        assert (heavy["force"] == again["force"]).all(), f"'{case.name}': the same problem twice gave different inputs"
        light = subject.solved(case)
        assert np.abs(heavy["force"] - light["force"]).max() > 0.1, f"'{case.name}': twice the mass changes nothing"


def check_counts(subject: Subject) -> None:
    """A task without enough inputs is refused before anything is computed."""
    case = servo_cases()[1]
    task = ServoTask({"end": PATH, "slide1.x": PATH}, ("force",), T_END)
    try:
        prepare_inverse(case.mechanism, task, method=subject.method, plugins=subject.plugins)
    except MechanismError:
        return
    raise AssertionError("a task with two measures and one input was not refused")


#: The checks one by one, for ``pytest.mark.parametrize``; each takes a :class:`Subject`.
INVERSE_DYNAMICS_CHECKS = (check_takes_something, check_follows_the_path, check_inputs, check_other_numbers, check_counts)


def check_inverse_dynamics(method: Selection[InverseDynamics], plugins: PluginSet | None = None) -> None:
    """Check a method of inverse dynamics: a class, an instance, or a name with options."""
    subject = Subject(method, plugins)
    for check in INVERSE_DYNAMICS_CHECKS:
        check(subject)
