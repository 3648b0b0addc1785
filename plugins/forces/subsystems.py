"""Trees of subsystems beside the bodies of a mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
    Parameters and inputs of the mechanism that have the names of its own take their place. Errors of its invariants are taken
    away after every step, as those of closures are. The channel ``open`` is the largest value of an invariant: what is left of
    errors. A channel ``circle.effort`` is what the invariant ``circle`` exerts, along its expression: positive where it pushes
    towards larger values.
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
        from kingpost.modular.dimensions import state_units

        units = state_units(self.tree.system)
        return [ForceState(label, units[label], float(value)) for label, value in zip(units, self.tree.x, strict=True)]

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

    def record(self) -> Mapping[str, Any]:
        not_unique = self.tree.efforts.not_unique
        return {"not_unique": list(not_unique)} if not_unique else {}

    def loads(self, kinematics: Kinematics) -> Loads:
        tree, system = self.tree, self.tree.system
        mechanism = kinematics.mechanism
        known = {*(item.name for item in mechanism.parameters), *(item.name for item in mechanism.inputs)}
        x = ca.vertcat(ca.SX(0, 1), *(kinematics.state(label) for label in system.states))
        p, u = (
            ca.vertcat(ca.SX(0, 1), *(kinematics.value(label if label in known else value) for label, value in table.items()))
            for table in (system.symbols.values, dict.fromkeys(system.inputs, 0.0))
        )
        here = [kinematics.t, x, u, p]
        return Loads(
            rates=self._of_states(tree.rhs, here),
            signals={"open": (self._opening(here), "1"), **self._efforts(here)},
            corrections={} if tree.corrections is None else self._of_states(tree.corrections, here),
        )

    def _of_states(self, function: ca.Function, here: list[ca.SX]) -> dict[str, ca.SX]:
        values = function.call(here)[0]
        return {label: values[i] for i, label in enumerate(self.tree.system.states)}

    def _opening(self, here: list[ca.SX]) -> ca.SX:
        """Return the largest value of an invariant."""
        system = self.tree.system
        held = [item.expression for item in system.invariants if item.order < system.symbols.top]
        values = ca.Function("kp_open", system.arguments, [ca.vertcat(ca.SX(0), *held)]).call(here)[0]
        return ca.mmax(ca.fabs(values))

    def _efforts(self, here: list[ca.SX]) -> dict[str, tuple[ca.SX, str]]:
        """Return what each invariant exerts, by its path below the root."""
        from kingpost.modular.dimensions import effort_units

        efforts, units = self.tree.efforts, effort_units(self.tree.system)
        values, root = efforts.function.call(here)[0], f"{self.tree.system.subsystem.name}."
        return {f"{label.removeprefix(root)}.effort": (values[i], units[label]) for i, label in enumerate(efforts.labels)}
