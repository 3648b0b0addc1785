"""Running a coupled system: one loop around its master."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, KingpostError, PluginRaisedError, SolverError
from kingpost.fmu.cosim.components.described import PartnerEnded, PartnerError, Running
from kingpost.fmu.cosim.description.system import CosimError, System
from kingpost.fmu.cosim.layout import Layout
from kingpost.fmu.cosim.plan import Plan, steps_per_sample
from kingpost.fmu.cosim.record import make_history
from kingpost.fmu.cosim.slower import start_component
from kingpost.fmu.cosim.watch import Watch
from kingpost.fmu.process.limits import checked_limit
from kingpost.registry.failures import plugin_failure
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History

Progress = Callable[[float], None]
#: Times closer than this part of a step are the same.
SAME = 1e-9


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
    """One run: instances and where they are."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.system = plan, plan.system
        self.started = time.perf_counter()
        self.deadline = time.monotonic() + checked_limit(plan.system.run_timeout, "run_timeout")
        self.running: dict[str, Running] = {}
        self.warnings = list(plan.notes)
        self.statistics: dict[str, Any] = {"steps": 0}
        self.watch: Watch | None = None
        self.layout = Layout(plan)

    def run(self, progress: Progress) -> History:
        system = self.system
        times: list[float] = []
        rows: list[FloatArray] = []
        self.t, self.h = system.t_start, system.step
        self._doing = "at the start"

        def so_far(outcome: str) -> History | None:
            if not rows:
                return None
            return make_history(
                self.layout, np.array(times), np.array(rows), outcome=outcome, wall_time=time.perf_counter() - self.started,
                statistics=self.statistics, warnings=self.warnings,
            )  # fmt: skip

        try:
            try:
                self._start()
                self._march(times, rows, progress)
            except PartnerEnded as ended:
                self.warnings.append(f"component '{ended.partner}' ended the run at t = {self.t:.9g} s: {ended}")
            finally:
                self._close()
        except KeyboardInterrupt:
            history = so_far("interrupted")
            if history is None:
                raise KeyboardInterrupt("interrupted before the first sample") from None
            raise Interrupted(f"interrupted at t = {times[-1]:g} s", history=history) from None
        except CosimError:
            raise
        except KingpostError as error:
            who = f"component '{error.partner}' failed {self.doing}: " if isinstance(error, PartnerError) else ""
            exploding = self.watch.suspicion() if isinstance(error, PartnerError) and self.watch is not None else ""
            what = f"{str(error).rstrip('.')}.{exploding}" if exploding else str(error)
            raise SolverError(f"system '{system.name}': {who}{what}", history=so_far("failed")) from None
        except Exception as error:
            failure = plugin_failure(error)
            if failure is None:
                raise
            raise PluginRaisedError(f"system '{system.name}': {failure}", history=so_far("failed")) from error
        history = so_far("complete")
        if history is None:
            raise SolverError(f"system '{system.name}': {self.warnings[-1]}")
        return history

    def _start(self) -> None:
        system, plan = self.system, self.plan
        for name, places in self.layout.places(self.deadline):
            self.running[name] = start_component(plan.components[name], places, system.t_start, system.t_end, system.step)
        self.network = self.layout.coupling(self.running)
        fault = plan.master.fault_of(self.network)
        if fault:
            raise CosimError(f"master '{plan.master.name}' cannot run system '{system.name}': {fault}")
        # As many rounds as there are components carry every start value to wherever it acts at once.
        for k in range(len(self.running) + plan.master.further_rounds):
            self._each("initialising", *(["take"] if k == 0 else ["give", "take"]))
            self.network.transfer()
        # The first outputs belong to the values that came last, as in libcosim: it matters where outputs depend on each other.
        self._each("leaving initialisation", "give", "begin")
        self._each("reading the first outputs", "take")

    def _each(self, doing: str, *calls: str) -> None:
        self._doing = f"while {doing} at t = {self.t:.9g} s"
        for partner in self.running.values():
            for call in calls:
                getattr(partner, call)()

    def _march(self, times: list[float], rows: list[FloatArray], progress: Progress) -> None:
        system, master, layout = self.system, self.plan.master, self.layout
        y, r, columns = layout.y, layout.r, layout.columns
        self.watch = watch = Watch(layout.output_names, y, system.growth)
        beside = Watch(layout.extra_names, r, 0.0)
        recorders = [partner.record for name, partner in self.running.items() if layout.extra[name]]
        both = np.empty(len(y) + len(r))
        #: Power through each bond, and the energy that was made or lost between its sides so far.
        energies = np.zeros((len(system.bonds), 2))

        def keep() -> None:
            both[: len(y)] = y
            both[len(y) :] = r
            times.append(self.t)
            rows.append(np.concatenate([both[columns], energies.ravel()]) if len(energies) else both[columns])

        advance = master.begin(self.network)
        self._each("reading the first outputs", "record")
        energies[:, 0] = [self.network.powers(bond)[0] for bond in self.network.bonds]
        watch.look(self.t)
        beside.look(self.t)
        keep()
        self._doing = ""
        h, end, span = system.step, system.t_end, system.t_end - system.t_start
        per_sample = 1 if master.varies_steps else steps_per_sample(system)
        count = 0
        begun = time.perf_counter()
        while self.t < end - SAME * h:
            self.h = h if end - self.t > h * (1 - SAME) else end - self.t
            following = advance(self.t, self.h)
            count += 1
            # Multiplied, not accumulated, where steps are equal.
            self.t = system.t_start + count * h if not master.varies_steps else self.t + self.h
            for i, bond in enumerate(self.network.bonds):
                one, other = self.network.powers(bond)
                energies[i] = one, energies[i, 1] + (one - other) * self.h
            watch.look(self.t)
            if count % per_sample == 0 or self.t >= end - SAME * h:
                for record in recorders:
                    record()
                beside.look(self.t)
                keep()
                progress(min(1.0, (self.t - system.t_start) / span))
            self.statistics["steps"] = count
            if self.t < end - SAME * h and time.monotonic() > self.deadline:
                raise SolverError(
                    f"the run was given {system.run_timeout:g} s, and has come to t = {self.t:.9g} s of {end:g} s; allow more "
                    "(run_timeout)"
                )
            h = following if master.varies_steps else h
        self.statistics["steps_s"] = round(time.perf_counter() - begun, 6)

    @property
    def doing(self) -> str:
        """What is under way."""
        return self._doing or f"in the step from t = {self.t:.9g} s by {self.h:g} s"

    def _close(self) -> None:
        for partner in self.running.values():
            with contextlib.suppress(KingpostError):
                said = partner.close()
                if said:
                    self.warnings.append(said)
