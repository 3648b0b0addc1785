"""Built-in machines, and their equations at their start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost import Mechanism, PluginSet
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.kane import Kane
from kingpost.simulation.problem import derive, parameter_row, start_state


def model(plugins: PluginSet, name: str) -> Mechanism:
    return plugins.models.get(name)().build()


def place(
    mechanism: Mechanism, plugins: PluginSet, formulation: Any = Kane, settings: Mapping[str, float] | None = None
) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Return the equations of a machine, its start and its numbers, all inputs being zero."""
    assembly = assemble(mechanism, plugins)
    equations = derive(assembly, formulation, plugins)
    values = resolve_values(mechanism, settings or {})
    return equations, start_state(assembly, equations, values), np.zeros(equations.nu), parameter_row(mechanism, values)
