"""Whether peak loads depend on the step of a run: the run once more with half the step, and what changed."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np

from kingpost.base.errors import Interrupted, KingpostError, SolverError
from kingpost.base.load_frames import COMPONENTS
from kingpost.results.history import History
from kingpost.simulation.run import Progress, Simulation

#: What a solver that chooses its own steps does instead of halving them.
TIGHTER = 0.1


def with_step_check(
    simulation: Simulation, history: History, limit: float, progress: Progress = lambda fraction: None
) -> History:
    """Return the history of a run with a record of how its peak loads change when the step is halved.

    The largest and the smallest value of each load channel are compared; a change counts as a part of the largest absolute
    value that any component of the same joint and unit reaches. A solver that chooses its own steps gets a tenth of its
    tolerances instead. The output times stay.
    """
    joints = history.provenance.get("loads", {}).get("joints", {})
    if not joints:
        raise KingpostError(
            "the check of the step compares peak loads, and the run has none; ask for loads, e.g. loads = 'all'"
        )
    from kingpost.results.telling import unwatched

    halved, against = finer(simulation)
    try:
        checked = halved.run(unwatched(progress))
    except Interrupted as error:
        kept = replace(history, provenance={**history.provenance, "outcome": "interrupted"})
        raise Interrupted(f"{error}, in the check of the step", history=kept) from None
    except SolverError as error:
        return _noted(
            history, {"limit": limit, "against": against, "failed": str(error)}, [f"the run {against} failed: {error}"]
        )
    entries: dict[str, dict[str, Any]] = {}
    for joint in joints:
        for components in (COMPONENTS[:3], COMPONENTS[3:]):
            names = [f"{joint}.{component}" for component in components]
            level = max(float(np.abs(run[name]).max()) for run in (history, checked) for name in names)
            entries |= {name: _entry(history, checked, name, level) for name in names}
    changed = {name: entry for name, entry in entries.items() if entry["part"] > limit}
    worst = max(entries.items(), key=lambda pair: pair[1]["part"])
    record = {
        "limit": limit,
        "against": against,
        "largest_change": {"channel": worst[0], "part": worst[1]["part"]},
        "changed": changed,
    }
    warnings = []
    if changed:
        name, entry = max(changed.items(), key=lambda pair: pair[1]["part"])
        shown = ", ".join(f"{name} by {entry['part']:.1%}" for name, entry in changed.items())
        warnings.append(
            f"peak loads depend on the step: {name} reaches {entry['peak']:.6g} {entry['unit']} and, {against}, "
            f"{entry['peak_checked']:.6g}; changes of more than {limit:.3g} of the largest load of the joint: {shown}. Take a "
            "smaller step; if peaks go on changing, the motion itself is chaotic, and only many runs say how large loads get"
        )
    return _noted(history, record, warnings)


def _noted(history: History, record: dict[str, Any], warnings: list[str]) -> History:
    provenance = {**history.provenance, "step_check": record}
    provenance["warnings"] = [*history.provenance.get("warnings", []), *warnings]
    return replace(history, provenance=provenance)


def _entry(history: History, checked: History, name: str, level: float) -> dict[str, Any]:
    one, other = history[name], checked[name]
    changes = [(abs(pick(one) - pick(other)), pick) for pick in (np.max, np.min)]
    change, pick = max(changes, key=lambda pair: pair[0])
    return {
        "unit": history.unit(name),
        "peak": float(pick(one)),
        "peak_checked": float(pick(other)),
        "part": float(change) / level if level else 0.0,
    }


def finer(simulation: Simulation) -> tuple[Simulation, str]:
    """Return the same run with half the step, or tighter tolerances, and words for that."""
    problem, grid = simulation.problem, simulation.grid
    if problem.stepper.fixed:
        half = replace(grid, step=grid.step / 2, substeps=2 * grid.substeps)
        return replace(simulation, grid=half, problem=replace(problem, step=half.step)), f"with half the step, {half.step:g} s"
    options = problem.integrator.options
    tolerances = {
        name: TIGHTER * value for name in ("rtol", "atol") if isinstance(value := getattr(options, name, None), float)
    }
    if not tolerances:
        raise KingpostError(
            f"integrator '{problem.integrator.name}' chooses its own steps and has no tolerances, so its step cannot be "
            "checked; take a fixed-step integrator such as rk4"
        )
    integrator = type(problem.integrator)(dataclasses.replace(options, **tolerances))
    words = " and ".join(f"{name} = {value:g}" for name, value in tolerances.items())
    return replace(simulation, problem=replace(problem, integrator=integrator)), f"with {words}"
