"""Trees of subsystems beside the bodies of a mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kingpost.mechanism.mechanism import Mechanism
from kingpost.modular.subsystem import SUBSYSTEMS, Subsystem
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads

if TYPE_CHECKING:
    from kingpost.modular.tree import Tree


@dataclass(frozen=True)
class SubsystemsOptions:
    """``system`` describes the tree; ``pull`` (1/s) is the rate at which errors of its invariants decay (Baumgarte)."""

    system: Subsystem
    pull: float = 0.0


class Subsystems(Force):
    """A system assembled from subsystems in whatever variables suit them, by the modular recursive method.

    Its coordinates, quasi-velocities, currents and so on become states, whose start values are fitted to its invariants at
    the time 0; a start for which its independent variables are none is refused.
    Parameters and inputs of the mechanism that have the names of its own take their place. The channel ``open`` is the largest
    value of an invariant: what errors of integration have left.
    """

    name = SUBSYSTEMS
    Options = SubsystemsOptions
    options: SubsystemsOptions

    @cached_property
    def tree(self) -> Tree:
        """The tree, put together at its start; what does that is loaded when there is one."""
        from kingpost.modular.tree import assembled

        return assembled(self.options.system, pull=self.options.pull)

    def states(self, mechanism: Mechanism) -> Sequence[ForceState]:
        system = self.tree.system
        return [
            ForceState(label, system.symbols.units.get(label, "1"), float(value))
            for label, value in zip(system.states, self.tree.x, strict=True)
        ]

    def fitted_start(
        self, starts: Mapping[str, float], given: Collection[str], parameters: Mapping[str, float], inputs: Mapping[str, float]
    ) -> Mapping[str, float]:
        system = self.tree.system
        changed = {name: starts[name] for name in given}
        own = {**parameters, **inputs}
        changed |= {name: own[name] for name in (*system.parameters, *system.inputs) if name in own}
        return dict(zip(system.states, self.tree.start_with(changed), strict=True))

    def fitted_to(self) -> Collection[str]:
        system = self.tree.system
        _, _, u, p = system.arguments
        held = ca.vertcat(*(item.expression for item in system.invariants if item.order < system.symbols.top), ca.SX(0, 1))
        names = [*system.inputs, *system.parameters]
        shaping = ca.which_depends(held, ca.vertcat(u, p), 1, False) if held.numel() else []
        return [name for name, shapes in zip(names, shaping, strict=False) if shapes]

    def loads(self, kinematics: Kinematics) -> Loads:
        system = self.tree.system
        mechanism = kinematics.mechanism
        known = {*(item.name for item in mechanism.parameters), *(item.name for item in mechanism.inputs)}
        x = ca.vertcat(ca.SX(0, 1), *(kinematics.state(label) for label in system.states))
        p, u = (
            ca.vertcat(ca.SX(0, 1), *(kinematics.value(label if label in known else value) for label, value in table.items()))
            for table in (system.symbols.values, dict.fromkeys(system.inputs, 0.0))
        )
        here = [kinematics.t, x, u, p]
        rates = self.tree.rhs.call(here)[0]
        opening = ca.SX(0)
        for invariant in system.invariants:
            if invariant.order < system.symbols.top:
                value = ca.Function("kp_open", system.arguments, [invariant.expression]).call(here)[0]
                opening = ca.fmax(opening, ca.fabs(value))
        efforts = self.tree.efforts
        exerted = efforts.function.call(here)[0]
        prefix = f"{system.subsystem.name}."
        signals = {f"{label.removeprefix(prefix)}.effort": (exerted[i], "1") for i, label in enumerate(efforts.labels)}
        changes = None if self.tree.corrections is None else self.tree.corrections.call(here)[0]
        return Loads(
            rates={label: rates[i] for i, label in enumerate(system.states)},
            signals={"open": (opening, "1"), **signals},
            corrections={} if changes is None else {label: changes[i] for i, label in enumerate(system.states)},
        )
