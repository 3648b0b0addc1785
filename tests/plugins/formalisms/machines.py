"""Machines at states, and what all formalisms say of them."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost import PluginSet
from kingpost.equations.machine import Machine
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formalisms.formulation import check_inertia, formalism_equations
from kingpost.plugins.formulations.loops import with_augmentation
from kingpost.registry.selection import select
from kingpost.simulation.problem import parameter_row, start_state
from kingpost.simulation.verification import free_accelerations

PLUGINS = PluginSet(entry_points=False)
FORMALISMS = list(PLUGINS.formalisms)
#: Those whose accelerations have no error but rounding.
EXACT = [name for name in FORMALISMS if PLUGINS.formalisms.get(name)().miss() < 1e-12]


def equations_by(name, machine):
    """Return the equations of a machine by one formalism; what formalisms share is derived once for each machine."""
    way = select(PLUGINS.formalisms, name)
    equations = with_augmentation(formalism_equations(way, machine))
    check_inertia(way, equations)
    return equations


@dataclass
class Place:
    """A machine at a state, with the accelerations of `kane` there."""

    machine: Machine
    row: tuple
    reference: np.ndarray
    multipliers: np.ndarray
    size: float

    def found(self, name):
        """Return accelerations and multipliers by a formalism."""
        equations = equations_by(name, self.machine)
        return numbers(equations.accelerations(*self.row)), numbers(equations.multipliers(*self.row))

    def apart(self, name):
        """Return how far the accelerations of a formalism are from those of `kane`."""
        return float(np.abs(self.found(name)[0] - self.reference).max())


def numbers(matrix):
    return np.asarray(matrix).ravel()


def place(mechanism, settings=None, seed=0, shake=0.0, t=0.0):
    """Return a machine at its start, its speeds changed at random by up to ``shake`` and then such that all closures hold."""
    assembly = assemble(mechanism, PLUGINS)
    machine = Machine(assembly)
    kane = equations_by("kane", machine)
    values = resolve_values(mechanism, settings or {}, [state.name for state in assembly.states])
    p, u = parameter_row(mechanism, values), np.array([values.inputs[signal.name] for signal in mechanism.inputs])
    x = start_state(assembly, kane, values)
    nq, nv = machine.q.numel(), machine.n
    q, v, z = np.split(x, [nq, nq + nv])
    v = v + shake * np.random.default_rng(seed).uniform(-1, 1, nv)
    if kane.constraints.count:
        A = ca.Function("A", [kane.t, kane.q, kane.v, kane.p], [ca.densify(kane.constraints.A)])
        error = numbers(kane.constraint_residuals(t, q, v, p)[1])
        v = v - np.linalg.pinv(np.asarray(A(t, q, v, p))) @ error
    row = (t, q, v, np.concatenate([u, z]), p)
    reference = numbers(kane.accelerations(*row))
    free = numbers(kane.function("free", [free_accelerations(kane)])(*row))
    size = max(float(np.abs(part).max(initial=0.0)) for part in (reference, free)) or 1.0
    return Place(machine, row, reference, numbers(kane.multipliers(*row)), size)
