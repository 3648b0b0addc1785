"""The history of a coupled run: its samples, the energies that went through its ports, and where the numbers came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.open_loads import open_loops
from kingpost.base.version import __version__
from kingpost.fmu.cosim.layout import Layout
from kingpost.fmu.cosim.plan import Plan, steps_per_sample
from kingpost.fmu.running.record import machine_record, software
from kingpost.mechanism.geometry import joined
from kingpost.results.history import History
from kingpost.results.turns import with_turns


def make_history(
    layout: Layout,
    times: FloatArray,
    rows: FloatArray,
    *,
    outcome: str,
    wall_time: float,
    statistics: Mapping[str, Any],
    warnings: Sequence[str],
) -> History:
    """Return the samples with everything that is known about them."""
    power = rows[:, layout.powers]
    energy = np.zeros_like(power)
    energy[1:] = np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(times)[:, None], axis=0)
    plan, system = layout.plan, layout.plan.system
    record = {
        "kingpost": __version__,
        "outcome": outcome,
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "wall_time_s": round(wall_time, 6),
        "model": {"name": system.name, "digest": "", "description": system.description},
        "integrator": {"name": plan.master.name, "options": _plain(vars(plan.master.options))},
        "system": {
            "components": {name: dict(described.facts) for name, described in plan.components.items()},
            "connections": plan.connections(),
            "bonds": [asdict(bond) for bond in system.bonds],
            "order": list(plan.order),
            "algebraic_loops": [str(loop) for loop in plan.loops],
        },
        **_machines(plan),
        "parameters": {},
        "inputs": {},
        "start_values": {
            f"{name}.{key}": _plain_value(value)
            for name, described in plan.components.items()
            for key, value in described.settings.items()
        },
        "time": {
            "start_s": system.t_start,
            "end_s": float(times[-1]),
            "step_s": None if plan.master.varies_steps else system.step,
            "output_step_s": None if plan.master.varies_steps else system.step * steps_per_sample(system),
        },
        "statistics": dict(statistics),
        "warnings": list(warnings),
        "channels": [asdict(channel) for channel in layout.channels],
        "plugins": plan.plugins.sources(),
        **software(),
    }
    return History(times, layout.channels, with_turns(layout.channels, np.hstack([rows, energy]), layout.known), record)


def _machines(plan: Plan) -> dict[str, Any]:
    """Return the geometry of all machines in the system, and the joints whose loads were recorded, under their full names."""
    parts = {
        name: machine_record(described.machine, {signal for owner, signal in plan.recorded if owner == name})
        for name, described in plan.components.items()
    }
    geometry = joined({name: part["geometry"] for name, part in parts.items() if "geometry" in part})
    loads = {name: part["loads"] for name, part in parts.items() if "loads" in part}
    joints = {f"{name}.{joint}": entry for name, record in loads.items() for joint, entry in record["joints"].items()}
    methods = dict.fromkeys(str(record.get("method", "")) for record in loads.values())
    conventions = dict.fromkeys(str(record.get("convention", "")) for record in loads.values())
    told: dict[str, Any] = {"method": ", ".join(methods), "convention": "; ".join(conventions), "joints": joints}
    told |= _not_unique(parts)
    return {**({"geometry": geometry} if geometry else {}), **({"loads": told} if joints else {})}


def _not_unique(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the joints of all machines whose loads rigid bodies leave open, under their full names."""
    loops = [
        {**loop, **{key: [f"{name}.{joint}" for joint in loop[key]] for key in ("joints", "stiffness_of") if loop.get(key)}}
        for name, part in parts.items()
        for loop in open_loops(part)
    ]
    return {"not_unique": {"joints": [joint for loop in loops for joint in loop["joints"]], "loops": loops}} if loops else {}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if not key.startswith("_")}


def _plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
