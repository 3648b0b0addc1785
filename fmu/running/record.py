"""The history of an FMU run: channels with units and frames, and where the numbers came from."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS
from kingpost.base.version import __version__
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.file.variables import Variable
from kingpost.fmu.running.inputs import InputTable
from kingpost.fmu.running.job import Job
from kingpost.results.history import History
from kingpost.results.turns import with_turns

#: The unit of what has none, or does not say.
NO_UNIT = "1"


def channels_of(fmu: Fmu, recorded: Sequence[Variable]) -> tuple[Channel, ...]:
    """Return the channels of recorded variables; Kingpost's own FMUs also know frame, side and point of loads."""
    return tuple(channel_of(fmu, label, variable.unit) for variable in recorded for label in variable.labels)


def channel_of(fmu: Fmu, label: str, unit: str | None) -> Channel:
    """Return a variable, or an element of one, as a channel, called as it is in the model if Kingpost made the FMU."""
    entry = fmu.annotation.get("channels", {}).get(label, {})
    at = tuple(float(x) for x in entry.get("at") or ())
    frame, side = str(entry.get("frame") or ""), str(entry.get("side") or "")
    return Channel(str(entry.get("name") or label), unit or str(entry.get("unit") or NO_UNIT), frame, side, at)


def make_history(
    fmu: Fmu,
    job: Job,
    variables: Mapping[str, Variable],
    table: InputTable,
    rows: FloatArray,
    facts: Mapping[str, Any],
    last: float | None = None,
) -> History:
    """Return the samples with everything that is known about them; ``facts`` are about how the run went.

    ``last`` is the time of the last sample, if that is not the one which the steps give it.
    """
    recorded = [variables[name] for name in job.outputs]
    channels = channels_of(fmu, recorded)
    times: FloatArray = job.t_start + np.arange(len(rows), dtype=np.float64) * job.step
    if last is not None:
        times[-1] = last
    record = _record(fmu, job, variables, table, channels)
    record["statistics"] = {"steps": max(0, len(rows) - 1), **facts.get("statistics", {})}
    record |= {key: value for key, value in facts.items() if key != "statistics"}
    record["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return History(times, channels, with_turns(channels, rows, known_names(fmu, variables)), record)


def known_names(fmu: Fmu, variables: Mapping[str, Variable]) -> Iterator[str]:
    """Yield the names of all that an FMU shows, recorded or not."""
    return (channel_of(fmu, label, None).name for variable in variables.values() for label in variable.labels)


def _record(
    fmu: Fmu, job: Job, variables: Mapping[str, Variable], table: InputTable, channels: Sequence[Channel]
) -> dict[str, Any]:
    description = fmu.description
    own_solver = fmu.interface == "co-simulation"
    return {
        "kingpost": __version__,
        "model": {"name": fmu.name, "digest": str(description.guid), "description": description.description or ""},
        "fmu": {
            "file": fmu.path.name,
            "sha256": fmu.sha256,
            "guid": str(description.guid),
            "fmi": description.fmiVersion,
            "interface": fmu.interface,
            "generation_tool": description.generationTool or "",
            "generation_date": description.generationDateAndTime or "",
            "start_values": {name: values[0] if len(values) == 1 else list(values) for name, values in job.settings.items()},
            "without_unit": [variable.name for variable in _real(variables, job) if not variable.unit],
        },
        "parameters": _parameters(variables, job),
        "inputs": {
            label: {"first": float(value), "unit": variable.unit or NO_UNIT}
            for variable, values in zip(table.variables, _parts(table), strict=True)
            for label, value in zip(variable.labels, values, strict=True)
        },
        "integrator": {
            "name": "the FMU's own" if own_solver else job.solver,
            "options": {} if job.tolerance is None else {"rtol": job.tolerance},
        },
        "time": {"start_s": job.t_start, "end_s": job.t_end, "step_s": job.step, "output_step_s": job.step},
        **machine_record(fmu.annotation, {channel.name for channel in channels}),
        "channels": [asdict(channel) for channel in channels],
        **software(),
    }


def software() -> dict[str, str]:
    """Return the versions of what FMUs are run by."""
    return {
        "python": platform.python_version(),
        "fmpy": version("fmpy"),
        "numpy": np.__version__,
        "platform": platform.platform(),
    }


def _real(variables: Mapping[str, Variable], job: Job) -> list[Variable]:
    return [variables[name] for name in job.outputs if variables[name].real]


def _parameters(variables: Mapping[str, Variable], job: Job) -> dict[str, Any]:
    """Return the parameters that are numbers: as set, else as the description says."""
    result = {}
    for name, variable in variables.items():
        values = job.settings.get(name) or variable.start()
        if variable.causality == "parameter" and variable.numeric and variable.elements == 1 and values:
            result[name] = {"value": values[0], "unit": variable.unit or NO_UNIT}
    return result


def _parts(table: InputTable) -> list[FloatArray]:
    edges = np.cumsum([variable.elements for variable in table.variables])[:-1]
    return np.split(table.values[0], edges) if table.variables else []


def machine_record(annotation: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return geometry and loads of the machine inside, the latter of the joints, and in the parts, that were recorded."""
    result: dict[str, Any] = {}
    if annotation.get("geometry"):
        result["geometry"] = annotation["geometry"]
    loads = annotation.get("loads") or {}

    def complete(prefix: str) -> bool:
        return names.issuperset(f"{prefix}.{component}" for component in COMPONENTS)

    joints = {
        joint: {**entry, "parts": [part for part in entry.get("parts", []) if complete(f"{joint}.{part}")]}
        for joint, entry in (loads.get("joints") or {}).items()
        if complete(joint)
    }
    if joints:
        result["loads"] = {**loads, "joints": joints}
    return result
