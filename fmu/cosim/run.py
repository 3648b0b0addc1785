"""Running a coupled system: one loop around its master."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kingpost.base.errors import Interrupted, KingpostError, PluginRaisedError, SolverError
from kingpost.fmu.cosim.compiled import CompiledSteps, compiled_steps
from kingpost.fmu.cosim.components.described import PartnerEnded
from kingpost.fmu.cosim.description.system import CosimError, System
from kingpost.fmu.cosim.motion import SAME, Motion
from kingpost.fmu.cosim.plan import Plan, steps_per_sample
from kingpost.fmu.cosim.record import make_history
from kingpost.fmu.cosim.samples import Samples
from kingpost.registry.failures import plugin_failure
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.results.telling import Telling

Progress = Callable[[float], None]
#: More steps than any run has.
MANY = 1e15


class Cosimulation(Plan):
    """A coupled system that is ready to go: everything read, wired and checked, and no code of an FMU run."""

    def run(self, progress: Progress = lambda fraction: None) -> History:
        """Carry the run out; see :func:`cosimulate`."""
        return _Run(self).run(progress)


def prepare_cosimulation(system: System, plugins: PluginSet | None = None) -> Cosimulation:
    """Open all components of a system and check everything that can be checked without running any of them."""
    return Cosimulation.of(system, plugins)


def cosimulate(
    system: System, *, plugins: PluginSet | None = None, progress: Progress = lambda fraction: None, **changes: Any
) -> History:
    """Run a coupled system and return the history of all its components, with channels ``component.variable``.

    Parameters
    ----------
    system
        The system.
    plugins
        Where masters and models come from.
    progress
        Is told the part of the run that is done.
    **changes
        Fields of the system that are replaced, e.g. ``step=0.005, master="iterated"``.

    Raises
    ------
    CosimError
        If what is connected does not fit together.
    SolverError
        If a component fails, crashes in a process of its own, gives numbers that are not finite, or the coupling diverges;
        ``error.history`` holds the samples before that.

    """
    return prepare_cosimulation(system.with_changes(**changes) if changes else system, plugins).run(progress)


class _Run:
    """One run: a system in motion, and the samples that are kept of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.system = plan, plan.system
        self.started = time.perf_counter()
        self.motion = Motion(plan)
        self.warnings = list(plan.notes)
        self.statistics: dict[str, Any] = {}

    def run(self, progress: Progress) -> History:
        system, motion = self.system, self.motion
        samples = Samples(len(motion.layout.sampled))

        def so_far(outcome: str) -> History | None:
            if not len(samples):
                return None
            return make_history(
                motion.layout, samples.times.copy(), samples.rows, outcome=outcome,
                wall_time=time.perf_counter() - self.started, statistics={"steps": motion.count, **self.statistics},
                warnings=self.warnings,
            )  # fmt: skip

        try:
            try:
                motion.start()
                self._march(samples, progress)
            except PartnerEnded as ended:
                self.warnings.append(f"component '{ended.partner}' ended the run at t = {motion.t:.9g} s: {ended}")
            finally:
                self.warnings += motion.close()
        except KeyboardInterrupt:
            history = so_far("interrupted")
            if history is None:
                raise KeyboardInterrupt("interrupted before the first sample") from None
            raise Interrupted(f"interrupted at t = {samples.times[-1]:g} s", history=history) from None
        except CosimError:
            raise
        except KingpostError as error:
            raise SolverError(motion.explained(error), history=so_far("failed")) from None
        except Exception as error:
            failure = plugin_failure(error)
            if failure is None:
                raise
            raise PluginRaisedError(f"system '{system.name}': {failure}", history=so_far("failed")) from error
        history = so_far("complete")
        if history is None:
            raise SolverError(f"system '{system.name}': {self.warnings[-1]}")
        return history

    def _march(self, samples: Samples, progress: Progress) -> None:
        system, motion = self.system, self.motion

        telling = Telling(progress, lambda: motion.layout.sampled, motion.layout.known)

        def tell(last: bool = False) -> None:
            if telling.due(len(samples), last=last):
                telling.tell(samples.times[telling.told :], samples.rows[telling.told :])

        samples.add(motion.t, motion.sample())
        tell()
        end, last, span = system.t_end, system.t_end - SAME * system.step, system.t_end - system.t_start
        varies, step = self.plan.master.varies_steps, motion.step
        per_sample = 1 if varies else steps_per_sample(system)
        begun = time.perf_counter()
        fast: CompiledSteps | str | None = None
        while motion.t < last:
            # The first step and the last ones, of which one may be shorter, are like those of any other run.
            ahead = 0 if motion.count == 0 else int(min((last - motion.t) / system.step, MANY)) - 1
            if fast is None and motion.count:
                fast = compiled_steps(motion, per_sample, ahead)
                self.statistics["loop"] = f"Python, because {fast}" if isinstance(fast, str) else "machine code"
            before = len(samples)
            if ahead > 0 and isinstance(fast, CompiledSteps):
                due = fast.take(ahead, samples)
            else:
                step(end)
                due = True
            if varies:
                # The last step is at most as long as the one before would have been.
                last = end - SAME * motion.following
            if due and (motion.count % per_sample == 0 or motion.t >= last):
                motion.record()
                samples.add(motion.t, motion.sample())
            if len(samples) > before:
                tell(last=motion.t >= last)
                progress(min(1.0, (motion.t - system.t_start) / span))
            if motion.t < last:
                motion.check_deadline(end)
        self.statistics["steps_s"] = round(time.perf_counter() - begun, 6)
