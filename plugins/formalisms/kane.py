"""Kane's equations (sec. 3.4.1): the formulation of that name, among the formalisms."""

from __future__ import annotations

from kingpost.equations.formalism import Formalism, Road
from kingpost.equations.machine import Machine
from kingpost.plugins.formulations.kane import kane_equations


class KaneFormalism(Formalism):
    """Kane's equations: generalized active and inertia forces from partial velocities (eqs. 3.128-3.135)."""

    name = "kane"
    singular_mass = True
    becomes_formulation = False

    def derive(self, machine: Machine) -> Road:
        return Road(*kane_equations(machine.tree, machine.loads)[:2])
