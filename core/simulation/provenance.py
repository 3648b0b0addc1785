"""The record of a run: everything needed to know, and to repeat, what was computed."""

from __future__ import annotations

import dataclasses
import math
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.base.version import __version__
from kingpost.multibody.drawn import machine_geometry
from kingpost.registry.plugin import Plugin
from kingpost.simulation.problem import Problem

if TYPE_CHECKING:
    from kingpost.simulation.run import Simulation


def run_record(simulation: Simulation, outcome: str, seconds: float, statistics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of a run."""
    problem, grid, kernel = simulation.problem, simulation.grid, simulation.kernel
    fixed = problem.stepper.fixed
    return {
        "kingpost": __version__,
        "outcome": outcome,
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "wall_time_s": round(seconds, 6),
        **problem_record(problem),
        "inputs": {
            signal.name: {
                "first": _number(simulation.rows.values[0, j]),
                "unit": signal.unit,
                **({"moves": dict(simulation.rows.sources[signal.name])} if signal.name in simulation.rows.sources else {}),
            }
            for j, signal in enumerate(problem.mechanism.inputs)
        },
        "time": {
            "start_s": grid.t_start,
            "end_s": grid.t_end,
            "step_s": grid.step if fixed else None,
            "output_step_s": grid.output_step,
        },
        "statistics": dict(statistics),
        "backend": {
            "name": kernel.backend,
            "note": kernel.note,
            "loop": "compiled" if fixed and kernel.backend == "c" else "python",
        },
        "channels": [vars(channel) for channel in simulation.channels],
        "plugins": problem.plugins.sources(),
        "python": platform.python_version(),
        "casadi": ca.CasadiMeta.version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
    }


def problem_record(problem: Problem) -> dict[str, Any]:
    """Return what a problem is and how it is solved, the same for a run, an FMU and a component of a coupled system."""
    mechanism, equations = problem.mechanism, problem.equations
    names = [item.name for item in equations.state_quantities]
    formulation = problem.how.formulation
    geometry = machine_geometry(mechanism, problem.values.parameters, problem.plugins)
    forces = {name: dict(record) for name, force in problem.assembly.forces.items() if (record := force.record())}
    return {
        "model": {"name": mechanism.name, "digest": mechanism.digest(), "description": mechanism.description},
        "parameters": {
            parameter.name: {"value": problem.values.parameters[parameter.name], "unit": parameter.unit}
            for parameter in mechanism.shown_parameters
        },
        **_sea_of(problem),
        **({"geometry": geometry} if geometry else {}),
        "start": dict(zip(names, problem.x0.tolist(), strict=True)),
        **({"start_from": problem.how.start} if problem.how.start else {}),
        **({"fitted_start": dict(problem.fitted)} if problem.fitted else {}),
        **({"redundant_closures": list(equations.constraints.redundant)} if equations.constraints.redundant else {}),
        "formulation": equations.formulation,
        **({"formulation_choice": problem.chosen.record()} if problem.chosen else {}),
        **({"formulation_options": plain_options(formulation)} if isinstance(formulation, Plugin) else {}),
        **equations.treatment.record(equations),
        "integrator": {"name": problem.integrator.name, "options": plain_options(problem.integrator)},
        **({"cut": list(problem.how.cut)} if problem.how.cut else {}),
        **({} if equations.observed.loads is None else {"loads": dict(equations.observed.loads.record)}),
        **({"forces": forces} if forces else {}),
    }


def _sea_of(problem: Problem) -> dict[str, Any]:
    if problem.how.sea is None:
        return {}
    from kingpost.simulation.at_sea import sea_record

    return {"sea": sea_record(problem.mechanism, problem.how.sea, problem.plugins)}


def plain_options(plugin: Plugin) -> dict[str, Any]:
    """Return the options of a plugin as plain data."""
    options = plugin.options
    if not dataclasses.is_dataclass(options):
        return {}
    return {key: value for key, value in vars(options).items() if not key.startswith("_")}


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
