"""A coupled system under way: its instances, where they are, and what takes them from one communication point to the next.

A run (run.py) goes on with it until its end; a live session (fmu/live) goes step by step, changes values on the way, and goes
back to states that were saved.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError, listed
from kingpost.fmu.cosim.components.described import PartnerError, Running
from kingpost.fmu.cosim.description.system import CosimError, System
from kingpost.fmu.cosim.layout import Layout
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Resumable, Turn
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.cosim.slower import start_component
from kingpost.fmu.cosim.watch import Watch
from kingpost.fmu.process.limits import checked_limit

#: Times closer than this part of a step are the same.
SAME = 1e-9


class MotionState(NamedTuple):
    """All that a coupled system needs to be where it was: components, values between them, what its master remembers."""

    t: float
    h: float
    steps: int
    following: float
    rows: tuple[FloatArray, ...]
    master: Any
    watches: tuple[Any, ...]
    partners: tuple[Any, ...]


class Motion:
    """The instances of a coupled system and where they are.

    ``going_back`` says that somebody may want to go back, or change values by name (``changeable``, by component), whatever the
    master does.
    """

    network: Coupling
    #: Those who look at the connected outputs after every step, and at what is recorded beside them at every sample.
    watch: Watch
    beside: Watch
    #: Takes one communication step, but not beyond a time.
    step: Callable[[float], None]
    #: Does what comes after the components of a step: time, energies, a look at all values.
    arrive: Callable[[], None]

    def __init__(
        self, plan: Plan, *, going_back: bool = False, changeable: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self.plan, self.system = plan, plan.system
        self.deadline = time.monotonic() + checked_limit(plan.system.run_timeout, "run_timeout")
        self.layout = Layout(plan)
        self.running: dict[str, Running] = {}
        #: The present time, the length of the last step, the number of steps, and the length of the next.
        self.t, self.h, self.count = plan.system.t_start, plan.system.step, 0
        self.following = plan.system.step
        #: Power through each bond, and the energy that was made or lost between its sides so far.
        self.energies = np.zeros((len(plan.system.bonds), 2))
        self._going_back, self._changeable = going_back or plan.master.goes_back, changeable or {}
        self._doing = "at the start"
        self._both = np.empty(len(self.layout.y) + len(self.layout.r))

    def start(self) -> None:
        """Start all components, pass start values on, and read the first outputs."""
        system, plan, layout = self.system, self.plan, self.layout
        for name, places in layout.places(self.deadline, self._going_back, self._changeable):
            self.running[name] = start_component(plan.components[name], places, system.t_start, system.t_end, system.step)
        self.network = layout.coupling(self.running)
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
        self.watch = Watch(layout.output_names, layout.y, system.growth)
        self.beside = Watch(layout.extra_names, layout.r, 0.0)
        self._recorders = [partner.record for name, partner in self.running.items() if layout.extra[name]]
        self._advance = plan.master.begin(self.network)
        self._each("reading the first outputs", "record")
        self.energies[:, 0] = [self.network.powers(bond)[0] for bond in self.network.bonds]
        self.watch.look(self.t)
        self.beside.look(self.t)
        self._doing = ""
        self.step = self._stepping(self._advance)

    def _each(self, doing: str, *calls: str) -> None:
        self._doing = f"while {doing} at t = {self.t:.9g} s"
        for partner in self.running.values():
            for call in calls:
                getattr(partner, call)()

    def _stepping(self, advance: Advance) -> Callable[[float], None]:
        system: System = self.system
        first, varies, look = system.t_start, self.plan.master.varies_steps, self.watch.look
        bonds, powers, energies = self.network.bonds, self.network.powers, self.energies
        # Without the call around it, which would cost as much as a small master.
        advance = advance.step if isinstance(advance, Resumable) else advance

        def arrive() -> None:
            self.count += 1
            # Multiplied, not accumulated, where steps are equal.
            self.t = first + self.count * self.following if not varies else self.t + self.h
            for i, bond in enumerate(bonds):
                one, other = powers(bond)
                energies[i] = one, energies[i, 1] + (one - other) * self.h
            look(self.t)

        def step(end: float) -> None:
            h = self.following
            self.h = h if end - self.t > h * (1 - SAME) else end - self.t
            following = advance(self.t, self.h)
            arrive()
            if varies:
                self.following = following

        self.arrive = arrive
        return step

    def turns(self) -> Sequence[Turn] | str:
        """Return what every step consists of, or why nobody can know."""
        who = f"master '{self.plan.master.name}': "
        if not isinstance(self._advance, Resumable):
            return f"{who}it makes its steps in Python"
        return f"{who}{self._advance.turns}" if isinstance(self._advance.turns, str) else self._advance.turns

    def record(self) -> None:
        """Read what is recorded beside the connected outputs."""
        for record in self._recorders:
            record()
        self.beside.look(self.t)

    def sample(self) -> FloatArray:
        """Return a row of all that is recorded, as it was read last."""
        y, both = self.layout.y, self._both
        both[: len(y)] = y
        both[len(y) :] = self.layout.r
        kept = both[self.layout.columns]
        return np.concatenate([kept, self.energies.ravel()]) if len(self.energies) else kept

    def change(self, values: Mapping[str, Mapping[str, float]]) -> None:
        """Change inputs that nobody feeds, and tunable parameters, by component and name; they act from the next step on."""
        self._doing = f"while its values are changed at t = {self.t:.9g} s"
        for name, own in values.items():
            self.running[name].change(own)
        self._doing = ""

    @property
    def doing(self) -> str:
        """What is under way."""
        return self._doing or f"in the step from t = {self.t:.9g} s by {self.h:g} s"

    def explained(self, error: KingpostError) -> str:
        """Return why the system cannot go on, in a sentence that names it and the component."""
        who = f"component '{error.partner}' failed {self.doing}: " if isinstance(error, PartnerError) else ""
        exploding = self.watch.suspicion() if isinstance(error, PartnerError) and hasattr(self, "watch") else ""
        what = f"{str(error).rstrip('.')}.{exploding}" if exploding else str(error)
        return f"system '{self.system.name}': {who}{what}"

    def obstacle(self) -> str:
        """Return why the system cannot go back to an earlier state, or an empty text."""
        unable = [f"'{partner.name}'" for partner in self.running.values() if not partner.can_go_back]
        if unable:
            return f"{listed(unable)} cannot save {'its' if len(unable) == 1 else 'their'} state"
        if not isinstance(self._advance, Resumable):
            return f"master '{self.plan.master.name}' does not say what it remembers between steps"
        return ""

    def save(self) -> MotionState:
        """Return where the system is; needs components and a master that can go back."""
        assert isinstance(self._advance, Resumable)
        rows = tuple(row.copy() for row in (self.layout.u, self.layout.y, self.layout.r, self.energies))
        return MotionState(
            self.t, self.h, self.count, self.following, rows, self._advance.save(), (self.watch.save(), self.beside.save()),
            tuple(partner.save() for partner in self.running.values()),
        )  # fmt: skip

    def restore(self, state: MotionState) -> None:
        """Go back to where the system was."""
        assert isinstance(self._advance, Resumable)
        self._doing = f"while it goes back to t = {state.t:.9g} s"
        for partner, own in zip(self.running.values(), state.partners, strict=True):
            partner.restore(own)
        self.t, self.h, self.count, self.following = state.t, state.h, state.steps, state.following
        for row, kept in zip((self.layout.u, self.layout.y, self.layout.r, self.energies), state.rows, strict=True):
            row[...] = kept
        self._advance.restore(state.master)
        self.watch.restore(state.watches[0])
        self.beside.restore(state.watches[1])
        self._doing = ""

    def forget(self, state: MotionState) -> None:
        """Say that a state is needed no more."""
        for partner, own in zip(self.running.values(), state.partners, strict=True):
            partner.forget(own)

    def check_deadline(self, end: float) -> None:
        """Refuse to go on when the time for the whole run is over."""
        if time.monotonic() > self.deadline:
            raise SolverError(
                f"the run was given {self.system.run_timeout:g} s, and has come to t = {self.t:.9g} s of {end:g} s; allow more "
                "(run_timeout)"
            )

    def close(self) -> list[str]:
        """End all components; return what they say against that."""
        told = []
        for partner in self.running.values():
            with contextlib.suppress(KingpostError):
                said = partner.close()
                if said:
                    told.append(said)
        return told
