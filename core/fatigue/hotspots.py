"""Hot spots: the stress at a point as a linear mix of joint loads, sigma(t) = K loads(t), combined before it is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.load_frames import COMPONENTS
from kingpost.fatigue.mean_stress import MeanStress
from kingpost.fatigue.tables import TableFile, as_number, as_table, as_tables, read_table
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.history import History

FILE_KEYS = ("hotspots", "channels", "K", "loads")
ENTRY_KEYS = (
    "name", "curve", "thickness", "scf", "dff", "stress", "loads", "mean_stress", "ultimate_strength", "walker_exponent",
    "angle_deg",
)  # fmt: skip


@dataclass(frozen=True)
class HotSpot:
    """A point whose fatigue damage is wanted.

    Parameters
    ----------
    name
        How results call it.
    curve
        Name of its S-N curve.
    stress
        Unit-load coefficients: Pa per N or per N.m, by channel.
    thickness
        Of the plate, m; used only by curves that have a thickness correction.
    scf
        Stress concentration factor; the stress is multiplied by it.
    dff
        Design fatigue factor; the life is divided by it.
    loads
        By joint: the axes, side and point in which its load is wanted. Channels of joints without an entry are taken from the
        history as they are.
    mean_stress, ultimate_strength, walker_exponent
        The rule for mean stresses and its number (:class:`kingpost.fatigue.MeanStress`); none by default.
    angle_deg
        Where it is around a ring, in degrees, for pictures.

    """

    name: str
    curve: str
    stress: Mapping[str, float]
    thickness: float | None = None
    scf: float = 1.0
    dff: float = 1.0
    loads: Mapping[str, LoadRequest] = field(default_factory=dict)
    mean_stress: str = "none"
    ultimate_strength: float | None = None
    walker_exponent: float | None = None
    angle_deg: float | None = None

    @cached_property
    def mean_rule(self) -> MeanStress:
        """The rule for mean stresses."""
        return MeanStress(self.mean_stress, self.ultimate_strength, self.walker_exponent)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints whose loads make its stress."""
        return tuple(sorted({channel.rpartition(".")[0] for channel in self.stress}))

    def __post_init__(self) -> None:
        what = f"hot spot '{self.name}'"
        try:
            _ = self.mean_rule
        except KingpostError as error:
            raise KingpostError(f"{what}: {error}") from None
        if self.angle_deg is not None and not math.isfinite(self.angle_deg):
            raise KingpostError(f"{what}: angle_deg = {self.angle_deg} must be a finite number, in degrees")
        for key in ("thickness", "scf", "dff"):
            number = getattr(self, key)
            if number is not None and not 0.0 < number < math.inf:
                raise KingpostError(f"{what}: {key} = {number:g} must be a number above 0")
        if self.thickness is not None and self.thickness > 1.0:
            raise KingpostError(f"{what}: thickness = {self.thickness:g} m is no plate thickness; give it in m, e.g. 0.04")
        if not self.stress:
            raise KingpostError(
                f'{what} has no unit-load coefficients; give some in Pa per N or per N.m, e.g. "slew.Mx" = 21.0'
            )
        for channel, number in self.stress.items():
            as_number(number, f"{what}: stress '{channel}'")
        owners = {channel.rpartition(".")[0] for channel in self.stress}
        for joint in self.loads:
            if joint not in owners:
                raise KingpostError(
                    f"{what}: loads say in which axes the load of '{joint}' is wanted, but no stress coefficient uses it"
                    f"{closest(joint, owners)} Joints with coefficients: {listed(sorted(owners))}."
                )


def stress_history(
    history: History, K: ArrayLike, channels: Sequence[str], loads: Mapping[str, LoadRequest] | None = None
) -> FloatArray:
    """Return stresses in Pa, sigma(t) = K loads(t): one row for each sample, one column for each row of K.

    Parameters
    ----------
    history
        A history with joint loads.
    K
        Unit-load coefficients in Pa per unit of the channel: a row for each stress, a column for each channel.
    channels
        The channels that the columns of K belong to.
    loads
        By joint: axes, side and point of its load, where they are not to be those of the history.

    """
    matrix = check_matrix(K, channels)
    return load_columns(history, channels, loads) @ matrix.T


def check_matrix(K: ArrayLike, channels: Sequence[str]) -> FloatArray:
    """Return a matrix of unit-load coefficients, refusing one that does not fit its channels."""
    try:
        matrix = np.asarray(K, dtype=float)
    except OverflowError:
        raise KingpostError("K holds a whole number that is too large") from None
    except (ValueError, TypeError):
        rows = K if isinstance(K, Sequence) else []
        widths = sorted({len(row) if isinstance(row, Sequence) else 0 for row in cast(Any, rows)})
        raise KingpostError(
            f"the rows of K must be lists of numbers of one length, as many as there are channels ({len(channels)}); their "
            f"lengths are {listed(map(str, widths))}"
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] != len(channels):
        width = matrix.shape[1] if matrix.ndim == 2 else matrix.shape
        raise KingpostError(
            f"K has {width} columns, but there are {len(channels)} channels ({listed(channels)}); give one column for each "
            "channel"
        )
    if not np.isfinite(matrix).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(matrix))[0])
        raise KingpostError(f"K[{i}][{j}] = {matrix[i, j]}, for channel '{channels[j]}', is not a finite number")
    return matrix


def load_columns(history: History, channels: Sequence[str], loads: Mapping[str, LoadRequest] | None = None) -> FloatArray:
    """Return channels as columns, those of the joints in ``loads`` in the axes, on the side and about the point asked for."""
    converted: dict[str, FloatArray] = {}
    columns = []
    for channel in channels:
        joint, _, component = channel.rpartition(".")
        if not loads or joint not in loads:
            columns.append(history[channel])
            continue
        if component not in COMPONENTS:
            raise KingpostError(
                f"no channel '{channel}'{closest(channel, [f'{joint}.{name}' for name in COMPONENTS])} The load of a joint "
                f"has: {listed(COMPONENTS)}."
            )
        if joint not in converted:
            request = loads[joint]
            converted[joint] = history.loads(joint, frame=request.frame, side=request.side, at=request.at).total
        columns.append(converted[joint][:, COMPONENTS.index(component)])
    return np.column_stack(columns) if columns else np.zeros((len(history), 0))


def read_hot_spots(path: str | Path) -> tuple[HotSpot, ...]:
    """Return the hot spots in a TOML file; docs/fatigue.md has the grammar."""
    file = read_table(path, "hot spot")
    file.check_keys(FILE_KEYS, "a file of hot spots")
    with file.refusing("hotspots"):
        entries = as_tables(file.data.get("hotspots", []), "hotspots")
    coefficients = _coefficients(file, entries)
    shared = _loads(file, file.data.get("loads", {}), "loads")
    spots: list[HotSpot] = []
    for i, (entry, stress) in enumerate(zip(entries, coefficients, strict=True)):
        with file.refusing("hotspots", i):
            spot = _hot_spot(file, i, entry, stress, shared)
            if spot.name in {other.name for other in spots}:
                raise KingpostError(f"two hot spots are called '{spot.name}'; names must differ")
            spots.append(spot)
    for joint in shared:
        if not any(joint in spot.loads for spot in spots):
            used = sorted({channel.rpartition(".")[0] for spot in spots for channel in spot.stress})
            with file.refusing("loads", joint):
                raise KingpostError(
                    f"loads of '{joint}' are not used by any hot spot{closest(joint, used)} Joints with coefficients: "
                    f"{listed(used)}."
                )
    return tuple(spots)


def _hot_spot(
    file: TableFile, i: int, entry: Mapping[str, Any], stress: Mapping[str, float], shared: Mapping[str, LoadRequest]
) -> HotSpot:
    what = f"hot spot '{entry['name']}'" if "name" in entry else f"hot spot number {i + 1}"
    for key in entry:
        if key not in ENTRY_KEYS:
            raise KingpostError(f"{what} has no '{key}'{closest(key, ENTRY_KEYS)} It takes: {listed(ENTRY_KEYS)}.")
    for key in ("name", "curve"):
        if key not in entry:
            raise KingpostError(f"{what} lacks '{key}'. It takes: {listed(ENTRY_KEYS)}.")
    owners = {channel.rpartition(".")[0] for channel in stress}
    own = _loads(file, entry.get("loads", {}), "hotspots", i, "loads")
    requests = {joint: request for joint, request in shared.items() if joint in owners} | own
    values = {key: value for key, value in entry.items() if key not in ("stress", "loads")}
    return fill(HotSpot, {**values, "stress": dict(stress), "loads": requests}, what)


def _coefficients(file: TableFile, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, float]]:
    """Return the unit-load coefficients of each hot spot, from its own table or from its row of the matrix."""
    if "K" not in file.data and "channels" not in file.data:
        tables = []
        for i, entry in enumerate(entries):
            with file.refusing("hotspots", i):
                name = entry.get("name", i + 1)
                if "stress" not in entry:
                    raise KingpostError(
                        f"hot spot '{name}' has no coefficients; write them as a table [hotspots.stress] of channels, or give "
                        "'channels' and a matrix 'K' for all hot spots"
                    )
                tables.append(as_table(entry["stress"], f"hot spot '{name}': stress", "[hotspots.stress]"))
        return tables
    with file.refusing("K"):
        for key, other in (("K", "channels"), ("channels", "K")):
            if key not in file.data:
                raise KingpostError(f"the file has '{other}' but no '{key}'; the matrix form takes both")
        channels = file.data["channels"]
        if not isinstance(channels, list) or not all(isinstance(name, str) for name in channels):
            raise KingpostError(f"'channels' must be a list of channel names; got {channels!r}")
        if len(set(channels)) < len(channels):
            raise KingpostError(f"'channels' names a channel twice: {listed(channels)}")
        matrix = check_matrix(file.data["K"], channels)
        if len(matrix) != len(entries):
            raise KingpostError(f"K has {len(matrix)} rows, but there are {len(entries)} hot spots; give one row for each")
    for i, entry in enumerate(entries):
        if "stress" in entry:
            with file.refusing("hotspots", i, "stress"):
                raise KingpostError("the file has a matrix K, so hot spots cannot have stress coefficients of their own too")
    return [dict(zip(channels, row, strict=True)) for row in matrix.tolist()]


def _loads(file: TableFile, table: Any, *where: str | int) -> dict[str, LoadRequest]:
    """Return the loads that are asked for in other axes than those of the history, by joint."""
    requests = {}
    with file.refusing(*where):
        for joint, entry in as_table(table, "'loads'", "[loads.JOINT]").items():
            with file.refusing(*where, joint):
                what = f"loads of '{joint}'"
                values = as_table(entry, what, f'[loads.{joint}] with frame = "parent", side = "parent", at = [0, 0, 0.5]')
                requests[joint] = fill(LoadRequest, {**values, "joint": joint}, what)
    return requests
