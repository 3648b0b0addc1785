"""Parameters that are changed while a machine moves: which may be, and what is looked at before they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError
from kingpost.equations.consistency import OPEN, position_errors
from kingpost.mechanism.values import resolve_values
from kingpost.simulation.problem import Problem, check_mass_matrix, jammed


def changed_parameters(
    problem: Problem, given: Mapping[str, float], t: float, x: FloatArray, u: FloatArray, p: FloatArray
) -> FloatArray:
    """Return the parameters ``p`` of a problem with some ``given`` by name, for a machine that is at ``x`` at ``t``.

    What no machine can have is refused, and so is what would open a closed loop: the machine cannot jump to where it is closed.
    """
    mechanism, equations = problem.mechanism, problem.equations
    rows = {parameter.name: i for i, parameter in enumerate(mechanism.parameters)}
    result = p.copy()
    # Hidden ones, the numbers of waves, are as they are; of those that are named, names and ranges are looked at.
    known = {name: float(p[i]) for name, i in rows.items()}
    values = resolve_values(mechanism, {**known, **given})
    for name in given:
        result[rows[name]] = values.parameters[name]
    x = x[: equations.nx]
    check_mass_matrix(equations, x, result)
    if equations.constraints.count:
        q = equations.split(x)[0]
        before, after = (np.abs(position_errors(equations, t, q, row)) for row in (p, result))
        opened = after > before + OPEN
        if opened.any():
            worst = int(np.argmax(np.where(opened, after, 0.0)))
            raise MechanismError(
                f"{' and '.join(given)} cannot be changed while the machine moves: '{equations.constraints.owners[worst]}' "
                f"would be open by {after[worst]:.4g}; begin anew with that number"
            )
    jam = jammed(equations, t, x, u, result)
    if jam:
        raise SolverError(f"'{mechanism.name}' would be stuck: {jam}")
    return result
