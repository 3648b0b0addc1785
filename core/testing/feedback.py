"""What every feedback plugin must do, checked on machines whose motions are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.control.blocks import DiscreteBlock, block_model
from kingpost.control.servo.feedback import Feedback, ServoLoop
from kingpost.control.servo.loop_stability import LoopStability, loop_stability
from kingpost.control.servo.posing import pose_servo
from kingpost.kernel.kernel import Evaluator
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select

#: Errors on the path of a law that claims to be exact, in the unit of the measure: sampled every SAMPLE s, inputs that hold are
#: half a sample late, which moves a load that is accelerated by some m/s^2 by millimetres.
ON_PATH = 5e-3
SAMPLE = 0.002


class Subject:
    """A feedback class under test, and the problems that it takes."""

    def __init__(self, cls: type[Feedback], plugins: PluginSet | None = None, options: dict[str, object] | None = None) -> None:
        self.cls = cls
        self.plugins = plugins or PluginSet(entry_points=False)
        self.way = select(self.plugins.of("feedback"), cls, {"sample_time": SAMPLE, **(options or {})})
        self.loops: list[tuple[ServoLoop, DiscreteBlock]] = []
        self.refused: list[str] = []
        for mechanism, task in problems(self.plugins):
            loop = ServoLoop(pose_servo(mechanism, task, plugins=self.plugins))
            try:
                self.loops.append((loop, self.way.sampled(loop)))
            except KingpostError as error:
                self.refused.append(f"{mechanism.name}: {error}")
        assert self.loops, f"'{cls.name}' takes none of the problems of the kit: {'; '.join(self.refused)}"


def problems(plugins: PluginSet) -> list[tuple[Mechanism, ServoTask]]:
    """Return machines with tasks of all realisations: orthogonal, mixed and tangential."""
    found = []
    for name, task, settings in (
        ("passive-joint-arm", "003", {"damping": 0.2}),
        ("overhead-crane", "003", {}),
        ("mass-chain", "003", {}),
    ):
        model = select(plugins.models, name)
        own = model.tasks()[task]
        found.append(
            (model.build(), ServoTask(own.path, own.inputs, own.t_end, own.t_start, {**own.settings, **settings}, own.name))
        )
    return found


def check_names(subject: Subject) -> None:
    """Its inputs are channels of the machine, its outputs inputs of the machine, its parameters begin with the machine's."""
    for loop, block in subject.loops:
        e = loop.problem.equations
        channels = [quantity.name for quantity in (*e.position_quantities, *e.speed_quantities, *e.states.quantities)]
        inputs = [entry.name for entry in block.inputs]
        assert inputs[: len(channels)] == channels, f"the inputs of {block.name} are {inputs}; expected first: {channels}"
        outputs = [entry.name for entry in block.outputs]
        assert outputs == list(loop.problem.input_names), f"the outputs of {block.name} are {outputs}"
        own = [entry.name for entry in e.mechanism.parameters]
        parameters = [entry.name for entry in block.parameters]
        assert parameters[: len(own)] == own, f"the parameters of {block.name} are {parameters}; expected first: {own}"
        block_model(block)


def check_path(subject: Subject) -> None:
    """Begun on the path, the machine stays there: as near as a sampled law can be, if it claims to be exact."""
    for loop, block in subject.loops:
        largest = np.abs(_errors(loop, block, np.zeros(loop.problem.equations.nv))).max()
        allowed = ON_PATH if subject.cls.exact else 20 * ON_PATH
        assert largest < allowed, f"{block.name} leaves its path by {largest:.3g}; expected below {allowed:g}"


def check_errors_decay(subject: Subject) -> None:
    """Begun beside the path, the machine comes back to it."""
    for loop, block in subject.loops:
        aside = np.zeros(loop.problem.equations.nv)
        aside[0] = 0.05
        found = np.abs(_errors(loop, block, aside, 3.0))
        assert found[-1].max() < 0.25 * 0.05 + ON_PATH, (
            f"{block.name}: an error of 0.05 is still {found[-1].max():.3g} at the end"
        )


def check_stability(subject: Subject) -> None:
    """Around rest at the end no error grows from sample to sample."""
    for loop, block in subject.loops:
        found = loop_stability(loop, block)
        if isinstance(found, LoopStability):
            assert found.at_once < 1 + 1e-6, f"{block.name}: {found.sentence}"


def check_repeatable(subject: Subject) -> None:
    """The same sample has the same result, bit by bit, and a parameter of the machine changes it."""
    for loop, block in subject.loops:
        at = loop.start.point
        memory, p = [state.start for state in block.memory], np.array([entry.default for entry in block.parameters])
        given = np.array([entry.default for entry in block.inputs])
        first, second = (np.asarray(block.step(at.t, memory, given, p, block.sample_time)[1]).ravel() for _ in range(2))
        assert np.array_equal(first, second), f"{block.name}: two samples from the same state differ"
        assert np.isfinite(first).all(), f"{block.name}: its outputs on the path are {first}"


FEEDBACK_CHECKS: Sequence[Callable[[Subject], None]] = (
    check_names,
    check_path,
    check_errors_decay,
    check_stability,
    check_repeatable,
)


def check_feedback(cls: type[Feedback], plugins: PluginSet | None = None, **options: object) -> None:
    """Check a feedback class on an arm, a crane and a chain of masses, of which it may refuse some.

    ``options`` are those of the plugin; a sample time of 2 ms is given unless they say otherwise.
    """
    subject = Subject(cls, plugins, options)
    for check in FEEDBACK_CHECKS:
        check(subject)


def _errors(loop: ServoLoop, block: DiscreteBlock, aside: FloatArray, longer: float = 0.0) -> FloatArray:
    """Return gamma - y at all samples, begun beside the path by some displacement of the machine."""
    problem, h = loop.problem, block.sample_time
    e, s, at = problem.equations, problem.symbols, loop.start.point
    p = np.array([entry.default for entry in block.parameters])
    further = np.array([entry.default for entry in block.inputs])[e.nx :]
    moved = np.asarray(e.kinematics(at.q, aside, problem.p)).ravel()
    x = np.concatenate([at.q + moved, at.v, at.z])
    symbols = [ca.MX.sym(f"i{k}", block.step.numel_in(k)) for k in range(5)]
    sample = Evaluator(ca.Function("kp_sample_of_kit", symbols, [ca.vertcat(*block.step.call(symbols))]))
    rhs, y = Evaluator(e.rhs), Evaluator(ca.Function("y", [s.t, s.q, s.p], [ca.densify(problem.y)]))
    memory, u = np.array([state.start for state in block.memory]), problem.posed.u0.copy()
    count = round((problem.task.t_end - problem.task.t_start + longer) / h)
    times: FloatArray = np.array([problem.task.t_start + h * k for k in range(count + 1)])
    path, found = problem.signals(times, 0)[:, 0, : problem.outputs], np.zeros((count + 1, problem.outputs))
    for k, t in enumerate(times):
        found[k] = path[k] - y(t, x[: e.nq], problem.p)
        if k == count:
            break
        after = sample(t, memory, np.concatenate([x, further]), p, h)
        assert np.isfinite(after).all(), f"{block.name}: no inputs were found at t = {t:g} s"
        memory = after[: len(memory)]
        u[list(problem.driven)] = after[len(memory) :]
        x = _held(rhs, float(t), h, x, u, problem.p)
    return found


def _held(rhs: Evaluator, t: float, h: float, x: FloatArray, u: FloatArray, p: FloatArray) -> FloatArray:
    """Return the state after a sample with inputs that hold."""
    k1 = rhs(t, x, u, p)
    k2 = rhs(t + h / 2, x + h / 2 * k1, u, p)
    k3 = rhs(t + h / 2, x + h / 2 * k2, u, p)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rhs(t + h, x + h * k3, u, p))
