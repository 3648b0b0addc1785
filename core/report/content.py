"""What a report says, as plain data: made here from a history, shown by the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import FORCES, HOW_TO_GET_LOADS, MOMENTS, is_load_unit
from kingpost.fatigue.assessment import CountingOptions
from kingpost.fatigue.equivalent import SLOPES, check_slopes
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.quality import RESIDUAL_LIMIT, ROUND_OFF
from kingpost.fatigue.sn import CurveSet
from kingpost.report.channels import Inventory, JointLoad, take_inventory
from kingpost.report.cycles import counting_rules, describe_cycles
from kingpost.report.geometry import Geometry
from kingpost.report.hotspots import describe_hot_spots
from kingpost.report.monitors import describe_monitors
from kingpost.report.optimal import describe_optimal
from kingpost.report.packing import Buckets, packed, packed_time
from kingpost.report.scene import make_scene
from kingpost.report.statistics import Spectra, extremes, rose
from kingpost.results.history import History

#: Numbers that all curves together may take, and the points that a single one has at least and at most.
BUDGET = 1_000_000
FEWEST_POINTS, MOST_POINTS = 400, 6000
#: Beyond this the squares that statistics take would leave the range of floats: a run that has exploded.
HUGE = 1e140
NO_LOADS = f"No joint loads: this result holds none. To get them, {HOW_TO_GET_LOADS}."


@dataclass(frozen=True)
class Options:
    """What to put into a report."""

    title: str | None = None
    #: Seconds at the beginning that extremes, spectra, roses and cycles leave out.
    skip: float = 0.0
    #: Slopes m of S-N curves for damage-equivalent loads.
    slopes: tuple[float, ...] = SLOPES
    #: The joints whose loads are shown; None for all.
    joints: tuple[str, ...] | None = None
    #: Hot spots whose damage is shown, and S-N curves beside those that are shipped.
    spots: tuple[HotSpot, ...] = ()
    curves: CurveSet | None = None
    #: Doubts about the loads that do not stop the count.
    accept: tuple[str, ...] = ()


def make_content(history: History, options: Options) -> dict[str, Any]:
    """Return everything the page shows."""
    _check(history, options)
    history, gaps = _with_gaps(history)
    inventory = take_inventory(history)
    loads = _chosen(inventory, options.joints)
    chosen = {load.joint for load in loads}
    hidden = {name for load in inventory.loads if load.joint not in chosen for name in load.names}
    shown = tuple(name for name in inventory.plotted if name not in hidden)
    first = int(np.searchsorted(history.time, history.time[0] + options.skip * (1 - 1e-12)))
    duration = float(history.time[-1] - history.time[first])
    points = int(np.clip(BUDGET // max(len(shown), 1), FEWEST_POINTS, MOST_POINTS))
    buckets = Buckets(history.time, points)
    units = {channel.name: channel.unit for channel in history.channels}
    numbers = {name: extremes(history.time[first:], history[name][first:]) for name in shown}
    record = history.provenance.get("geometry") or {}
    geometry = Geometry.read(record, tuple(record.get("bodies") or ()))
    logarithmic = {name for panel in inventory.panels if panel.log for name in panel.names}
    content: dict[str, Any] = {
        "title": options.title or _title(history),
        "facts": _facts(history, options),
        "outcome": str(history.provenance.get("outcome", "")),
        "warnings": [*(str(warning) for warning in history.provenance.get("warnings") or []), *gaps],
        "time": packed_time(buckets.time),
        "span": [float(history.time[0]), float(history.time[-1])],
        "counted": {"from": float(history.time[first]), "skip": options.skip, "duration": duration},
        "reduction": {"samples": len(history), "points": len(buckets.time), "bucket": buckets.size},
        "series": [
            {"name": name, "unit": units[name], **numbers[name], **_packed(buckets.reduce(history[name]), name in logarithmic)}
            for name in shown
        ],
        "panels": [
            {"title": panel.title, "unit": panel.unit, "role": panel.role, "names": list(panel.names), "log": panel.log}
            for panel in inventory.panels
        ],
        "zero": list(inventory.zero),
        "memory": list(inventory.memory),
        "monitors": describe_monitors(history, inventory.monitors),
        "optimal": describe_optimal(history),
        "scene": make_scene(history, inventory, loads),
        "joints": [_joint(history, load, geometry, first) for load in loads],
        "notes": [],
        "quality": _quality(history, inventory, numbers),
    }
    apart = {name for name in inventory.optimal if name.startswith("optimal.")} | {*inventory.monitors}
    moving = [name for name in shown if name not in apart]
    content |= _analysis(history, moving, first, options, numbers)
    content["hotspots"] = describe_hot_spots(history, options.spots, options.curves, _counting(options))
    if not inventory.loads:
        content["notes"].append(NO_LOADS)
    identity = {"run_id": history.run_id} if history.run_id else {}
    content["provenance"] = plain({k: v for k, v in (identity | dict(history.provenance)).items() if k != "channels"})
    content["channels"] = [
        [channel.name, channel.unit, channel.frame, channel.side, ", ".join(f"{x:g}" for x in channel.at)]
        for channel in history.channels
    ]
    return content


def _counting(options: Options) -> CountingOptions:
    return CountingOptions(skip=options.skip, slopes=options.slopes, accept=options.accept)


def _packed(values: FloatArray, logarithmic: bool) -> dict[str, Any]:
    """Return a packed column; of what spreads over powers of ten, sizes as powers of ten, so that small ones are not lost."""
    if not logarithmic:
        return packed(values)
    sizes = np.abs(values)
    # Zero has no logarithm: it is drawn at the least that is not.
    least = float(np.min(sizes, initial=1.0, where=sizes > 0))
    return {**packed(np.log10(np.maximum(sizes, least))), "log": True}


def _check(history: History, options: Options) -> None:
    if len(history) < 2:
        raise KingpostError(f"a report needs a history of at least 2 samples; this one has {len(history)}")
    duration = float(history.time[-1] - history.time[0])
    if not duration > 0 or not np.isfinite(history.time).all() or (np.diff(history.time) < 0).any():
        worst = int(np.argmin(np.append(np.diff(history.time), 0.0)))
        raise KingpostError(
            f"a report needs times that rise: sample {worst + 1} is at {history.time[worst + 1]} s after "
            f"{history.time[worst]} s; sort the samples"
        )
    longest = float(np.max(history.time[history.time < history.time[-1]]) - history.time[0])
    if not 0 <= options.skip <= longest:
        raise KingpostError(
            f"skip = {options.skip:g} s does not fit a history that lasts {duration:g} s: two samples must be left; give a "
            f"number from 0 to {longest:g}"
        )
    check_slopes(options.slopes)


def _with_gaps(history: History) -> tuple[History, list[str]]:
    """Return the history with gaps in place of what cannot be drawn or summed, and a sentence about them."""
    values = history.values
    bad = ~(np.abs(values) <= HUGE)
    if not bad.any():
        return history, []
    names = [history.names[i] for i in np.flatnonzero(bad.any(axis=0))]
    sentence = (
        f"{int(bad.any(axis=1).sum())} samples are not finite, or beyond {HUGE:g}, in {listed(names[:5])}"
        f"{f' and {len(names) - 5} more channels' if len(names) > 5 else ''}; they are gaps here, and these channels have no "
        "spectra and cycles"
    )
    values = np.where(bad, np.nan, values)
    return History(history.time, history.channels, values, history.provenance, history.run_id), [sentence]


def _chosen(inventory: Inventory, joints: Sequence[str] | None) -> tuple[JointLoad, ...]:
    if joints is None:
        return inventory.loads
    known = {load.joint: load for load in inventory.loads}
    for name in joints:
        if name not in known:
            raise KingpostError(f"no loads of a joint '{name}'{closest(name, known)} Joints with loads: {listed(known)}.")
    return tuple(known[name] for name in dict.fromkeys(joints))


def _title(history: History) -> str:
    model = history.provenance.get("model")
    return str(model.get("name") or "Result") if isinstance(model, Mapping) else "Result"


def _facts(history: History, options: Options) -> list[list[str]]:
    """Return the head of the report as pairs of words: only what the record knows."""
    record, time = history.provenance, history.time
    facts: list[list[str]] = []
    model = record.get("model")
    if isinstance(model, Mapping):
        facts += [[label, str(model[key])] for label, key in (("Model", "name"), ("About", "description")) if model.get(key)]
    step = (time[-1] - time[0]) / (len(time) - 1)
    facts.append(["Time", f"{time[0]:g} s to {time[-1]:g} s, {len(time)} samples, {step:.4g} s apart on average"])
    if options.skip > 0:
        facts.append(["Left out", f"the first {options.skip:g} s, from all numbers and spectra (shaded in the plots)"])
    integrator = record.get("integrator")
    if isinstance(integrator, Mapping):
        method = f"{record.get('formulation', '')}, {integrator.get('name', '')}".strip(", ")
        fixed = (record.get("time") or {}).get("step_s")
        facts.append(["Method", f"{method} with steps of {fixed:g} s" if fixed else method])
    if isinstance(record.get("loads"), Mapping):
        facts.append(["Joint loads", f"by the method '{record['loads'].get('method', '')}'"])
    if record.get("kingpost"):
        finished = str(record.get("finished", "")).replace("T", " ").replace("+00:00", " UTC")
        facts.append(["Computed", f"by kingpost {record['kingpost']}" + (f", finished {finished}" if finished else "")])
    return facts


def _joint(history: History, load: JointLoad, geometry: Geometry, first: int) -> dict[str, Any]:
    channel = history.channel(load.total[0])
    joint = geometry.named(load.joint)
    letters = _plane(channel.frame, None if joint is None or joint.axis is None else [float(x) for x in joint.axis])

    def across(kind: str, i: int) -> FloatArray:
        return history[f"{load.joint}.{kind}{letters[i]}"][first:]

    return {
        "name": load.joint,
        "kind": joint.kind if joint else "",
        "bodies": [joint.parent, joint.child] if joint else [],
        "frame": channel.frame,
        "side": channel.side,
        "at": list(channel.at),
        "parts": {"total": list(load.total), **{part: list(names) for part, names in load.parts}},
        "plane": list(letters),
        "roses": {kind: rose(across(kind, 0), across(kind, 1)) for kind in ("F", "M")},
    }


def _plane(frame: str, axis: Sequence[float] | None) -> str:
    """Return the two axes across the joint's own, where that is the x or y axis of the load's frame; else x and y."""
    if axis is None or frame not in ("child", "parent"):
        return "xy"
    size = math.hypot(*axis)
    if abs(axis[0]) > 0.999 * size:
        return "yz"
    return "zx" if abs(axis[1]) > 0.999 * size else "xy"


def _quality(history: History, inventory: Inventory, numbers: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the greatest Newton-Euler residuals beside the greatest force and moment in any joint."""
    rows = []
    for name in inventory.residuals:
        letters = FORCES if name.endswith("force") else MOMENTS
        components = [f"{load.joint}.{letter}" for load in inventory.loads for letter in letters]
        scale = max((_magnitude(extremes(history.time, history[component])) for component in components), default=0.0)
        values = numbers[name]
        rows.append(
            {
                "name": name,
                "unit": history.unit(name),
                "max": values["max"],
                "time": values["tmax"],
                "scale": scale,
                "limit": RESIDUAL_LIMIT,
            }
        )
    return rows


def _analysis(
    history: History, shown: Sequence[str], first: int, options: Options, numbers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return spectra of all shown channels, and cycles and the table of those that tire a structure."""
    spectra = Spectra(history.time[first:])
    described = spectra.described()
    duration = float(history.time[-1] - history.time[first])
    cycles = counting_rules(history.time[first:], options.slopes)
    largest = _largest(history, shown, numbers)
    tiring = []
    for name in shown:
        values, unit = history[name][first:], history.unit(name)
        loadlike = is_load_unit(unit) and not name.startswith("loads.residual")
        negligible = loadlike and largest[unit] > 0 and _magnitude(numbers[name]) < ROUND_OFF * largest[unit]
        if not negligible and (density := spectra.of(values)) is not None:
            described["channels"][name] = packed(np.log10(np.maximum(density, np.finfo(float).tiny)))
        if not loadlike:
            continue
        tiring.append({"name": name, "negligible": negligible})
        if "note" not in cycles and not negligible and (found := describe_cycles(values, options.slopes, duration)):
            cycles["channels"][name] = found
    return {"spectra": described, "cycles": cycles, "table": tiring}


def _largest(history: History, shown: Sequence[str], numbers: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for name in shown:
        unit = history.unit(name)
        largest[unit] = max(largest.get(unit, 0.0), _magnitude(numbers[name]))
    return largest


def _magnitude(numbers: Mapping[str, Any]) -> float:
    return max(abs(numbers["max"] or 0.0), abs(numbers["min"] or 0.0))


def plain(data: Any) -> Any:
    """Return a record as JSON can hold it; what it cannot becomes text."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(item) for item in data]
    if isinstance(data, bool | int | str) or data is None:
        return data
    if isinstance(data, float) and math.isfinite(data):
        return data
    return str(data)
