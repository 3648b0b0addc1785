"""What every transcription of optimal control must do, checked on a mass with a closed form and on a pendulum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import pi
from typing import Any

import numpy as np

from kingpost.control.optimal.optimise import prepare_optimisation
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.transcription import Transcription
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Moving
from kingpost.simulation.simulate import simulate

#: A mass that is brought over a distance in a time, from rest to rest.
MASS, DISTANCE, TIME = 2.0, 3.0, 2.0
#: The closed form: u = m d (6/T^2 - 12 t/T^3), so that the cost is 6 m^2 d^2/T^3, and the Hamiltonian u(0)^2/2.
COST, HAMILTONIAN = 6 * MASS**2 * DISTANCE**2 / TIME**3, 18 * MASS**2 * DISTANCE**2 / TIME**4
COARSE, FINE = 10, 20
#: By how much less than its order a method may gain from half the length of an interval.
SLACK = 0.35
#: Errors that need not shrink any more: the tolerance of the solver, relative.
ROUNDED = 1e-7


def _mass() -> tuple[Mechanism, OptimalTask]:
    force = Input("force", "N")
    mechanism = Mechanism(
        name="pushed-mass",
        inputs=(force,),
        bodies=(Body("mass", mass=MASS),),
        joints=(Joint("slide", "prismatic", "world", "mass", axis=(1, 0, 0), coordinates=("x",)),),
        forces=(ForceElement("joint-effort", coordinate="slide.x", effort=force),),
    )
    return mechanism, OptimalTask(("force",), TIME, end={"slide.x": DISTANCE, "slide.x.rate": 0.0})


def _pendulum() -> tuple[Mechanism, OptimalTask]:
    torque = Input("torque", "N.m")
    mechanism = Mechanism(
        name="driven-pendulum",
        inputs=(torque,),
        bodies=(Body("bob", mass=1.0, com=(0, 0, -1)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0)),),
        forces=(
            ForceElement("gravity", acceleration=(0, 0, -9.81)),
            ForceElement("joint-effort", coordinate="pivot.angle", effort=torque),
        ),
    )
    return mechanism, OptimalTask(("torque",), 2.0, end={"pivot.angle": pi / 2, "pivot.angle.rate": 0.0})


@dataclass(frozen=True, eq=False)
class TranscriptionSubject:
    """A transcription under test, and what it makes of the problems; found once."""

    method: Selection[Transcription]
    plugins: PluginSet | None = None
    integrator: Any = "midpoint"
    _found: dict[tuple[str, int], Optimum] = field(default_factory=dict)

    def optimum(self, problem: str, intervals: int) -> Optimum:
        """Return the optimum of a problem."""
        key = (problem, intervals)
        if key not in self._found:
            mechanism, task = _mass() if problem == "mass" else _pendulum()
            how = RunSettings(integrator=self.integrator, backend="vm")
            prepared = prepare_optimisation(
                mechanism, task, transcription=self.method, intervals=intervals, how=how, plugins=self.plugins
            )
            self._found[key] = prepared.run()
        return self._found[key]

    @cached_property
    def order(self) -> int:
        """The order that the transcription promises."""
        return self.optimum("mass", COARSE).transcription.order


def _shrinks(errors: Sequence[float], order: int, scale: float) -> bool:
    coarse, fine = errors
    return fine <= ROUNDED * scale or fine <= coarse / 2 ** (order - SLACK)


def check_end_is_reached(subject: TranscriptionSubject) -> None:
    """The state at the end is the one that the task prescribes, in every problem."""
    for problem, end in (("mass", (DISTANCE, 0.0)), ("pendulum", (pi / 2, 0.0))):
        found = subject.optimum(problem, COARSE)
        assert found.status == "optimal", f"{problem}: {found.status}"
        assert np.abs(found.states[-1] - end).max() < 1e-8, f"{problem}: ends at {found.states[-1]}, not at {end}"


def check_cost_converges(subject: TranscriptionSubject) -> None:
    """The cost of the pushed mass tends to that of the closed form with the order that is promised."""
    errors = [abs(subject.optimum("mass", N).cost - COST) for N in (COARSE, FINE)]
    assert errors[0] < 0.2 * COST, f"the cost with {COARSE} intervals is {errors[0]:g} off {COST:g}"
    assert _shrinks(errors, subject.order, COST), f"errors of the cost {errors} do not shrink with order {subject.order}"


def check_hamiltonian_converges(subject: TranscriptionSubject) -> None:
    """The discrete Hamiltonian of every interval tends to the constant of the closed form."""
    errors = [float(np.abs(subject.optimum("mass", N).hamiltonian - HAMILTONIAN).max()) for N in (COARSE, FINE)]
    assert _shrinks(errors, 1, HAMILTONIAN), f"errors of the Hamiltonian {errors} do not shrink"


def check_inputs_move_the_machine(subject: TranscriptionSubject) -> None:
    """A run of the pendulum with the inputs that were found ends where the task wants it, up to the order of the method."""
    errors = []
    for N in (FINE, 2 * FINE):
        found = subject.optimum("pendulum", N)
        mechanism = found.problem.posed.mechanism
        inputs = found.inputs[:, 0]

        def held(t: float, inputs: Any = inputs, h: float = found.h) -> float:
            return float(inputs[min(int(t / h + 1e-9), len(inputs) - 1)])

        step = found.h / 10
        history = simulate(
            mechanism,
            t_end=2.0,
            step=step,
            output_step=step,
            inputs={"torque": Moving(held, "hold")},
            integrator="rk4",
            backend="vm",
        )
        last = np.array([history["pivot.angle"][-1] - pi / 2, history["pivot.angle.rate"][-1]])
        errors.append(float(np.abs(last).max()))
    assert errors[0] < 0.5, f"the run ends {errors[0]:g} away from the end of the task"
    assert _shrinks(errors, subject.order, 1.0), f"errors at the end {errors} do not shrink with order {subject.order}"


TRANSCRIPTION_CHECKS = (
    check_end_is_reached,
    check_cost_converges,
    check_hamiltonian_converges,
    check_inputs_move_the_machine,
)


def check_transcription(
    method: Selection[Transcription], plugins: PluginSet | None = None, integrator: Any = "midpoint"
) -> None:
    """Check a transcription, by name, class or instance; ``integrator`` is the one of which steps are taken.

    >>> check_transcription("step")
    """
    subject = TranscriptionSubject(method, plugins, integrator)
    for check in TRANSCRIPTION_CHECKS:
        check(subject)
