"""The result of a run: time, named channels with units, and where they came from. Arrays are read-only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import Frame, Side
from kingpost.results.joint_load_history import JointLoadHistory, joint_load_history


@dataclass(frozen=True, eq=False)
class History:
    """Samples of named channels over time.

    ``values[i, j]`` is channel j at ``time[i]``; ``history["slew.angle"]`` is one channel.
    """

    time: FloatArray
    channels: tuple[Channel, ...]
    values: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.time), len(self.channels)):
            raise KingpostError(
                f"a history of {len(self.time)} samples and {len(self.channels)} channels got values of shape "
                f"{self.values.shape}"
            )
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise KingpostError(f"a history has several channels called {listed(repeated)}; names must differ")
        for name in ("time", "values"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        """Compare everything: times, channels, values exactly, and provenance."""
        return (
            isinstance(other, History)
            and self.channels == other.channels
            and np.array_equal(self.time, other.time)
            and np.array_equal(self.values, other.values, equal_nan=True)
            and _plain(self.provenance) == _plain(other.provenance)
        )

    __hash__ = None  # type: ignore[assignment]  # equal histories would need equal hashes of all their numbers

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the channels."""
        return tuple(channel.name for channel in self.channels)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, name: str) -> FloatArray:
        """Return one channel by name."""
        return self.values[:, self._index(name)]

    def unit(self, name: str) -> str:
        """Return the unit of a channel."""
        return self.channels[self._index(name)].unit

    def select(self, names: Sequence[str]) -> FloatArray:
        """Return several channels as columns."""
        return self.values[:, [self._index(name) for name in names]]

    def loads(
        self,
        joint: str,
        *,
        frame: Frame | None = None,
        side: Side | None = None,
        at: tuple[float, float, float] | None = None,
    ) -> JointLoadHistory:
        """Return the load of a joint, converted to the axes, side and reference point asked for.

        Parameters
        ----------
        joint
            Name of a joint whose loads were asked for in the run.
        frame
            Axes: ``"child"``, ``"parent"`` (joint frames), ``"body"`` (of the body it acts on) or ``"world"``; by default as
            stored.
        side
            The body it acts on, ``"child"`` or ``"parent"``; by default as stored.
        at
            Offset in m of the reference point from the joint origin on that side, in the axes of ``frame``; by default none, or
            as stored if neither frame nor side is given.

        """
        return joint_load_history(self, joint, frame, side, at)

    def _index(self, name: str) -> int:
        names = self.names
        if name not in names:
            raise KingpostError(f"no channel '{name}'{closest(name, names)} Channels: {listed(names)}.")
        return names.index(name)


def _plain(provenance: Mapping[str, Any]) -> Any:
    """Return a record as it reads back from a file, where tuples have become lists."""
    return json.loads(json.dumps(dict(provenance)))
