"""The result of a run: time, named channels with units, and where they came from. Arrays are read-only."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import Frame, Side
from kingpost.results.choosing import MOST_NAMED, belonging, matching, window
from kingpost.results.display import html_table, in_words
from kingpost.results.figures import figure_of, usual_figure
from kingpost.results.joint_load_history import JointLoadHistory, joint_load_history
from kingpost.results.tables import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Samples of named channels over time.

    ``values[i, j]`` is channel j at ``time[i]``; ``history["slew.angle"]`` is one channel.
    """

    time: FloatArray
    channels: tuple[Channel, ...]
    values: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict)
    #: In a history from a file: the run that wrote the file, empty if it names none; None if the format has no place for it.
    run_id: str | None = None

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.time), len(self.channels)):
            raise KingpostError(
                f"a history of {len(self.time)} samples and {len(self.channels)} channels got values of shape "
                f"{self.values.shape}"
            )
        if len(self._columns) < len(self.channels):
            repeated = sorted(name for name, times in Counter(self.names).items() if times > 1)
            raise KingpostError(f"a history has several channels called {listed(repeated)}; names must differ")
        for name in ("time", "values"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        """Compare everything that was computed: times, channels, values exactly, and provenance."""
        return (
            isinstance(other, History)
            and self.channels == other.channels
            and np.array_equal(self.time, other.time)
            and np.array_equal(self.values, other.values, equal_nan=True)
            and _plain(self.provenance) == _plain(other.provenance)
        )

    __hash__ = None  # type: ignore[assignment]  # equal histories would need equal hashes of all their numbers

    def identified(self) -> History:
        """Return the same history with a ``run_id`` made from all that is in it, for the files that it is written to."""
        digest = hashlib.sha256(json.dumps([dict(self.provenance), *map(vars, self.channels)], default=repr).encode())
        digest.update(np.ascontiguousarray(self.time).data)
        digest.update(np.ascontiguousarray(self.values).data)
        same = copy.copy(self)  # the arrays, too, which may be large
        object.__setattr__(same, "run_id", digest.hexdigest()[:32])
        return same

    def __repr__(self) -> str:
        return f"<{in_words(self)}>"

    def _repr_html_(self) -> str:
        """Return a table of the first channels, for notebooks."""
        return html_table(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the channels."""
        return tuple(channel.name for channel in self.channels)

    @cached_property
    def _columns(self) -> dict[str, int]:
        """The column of each channel in ``values``."""
        return {name: column for column, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.time)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> FloatArray:
        """Return one channel by name."""
        return self.values[:, self._column(name)]

    def channel(self, name: str) -> Channel:
        """Return the description of a channel: unit, frame, side and reference point."""
        return self.channels[self._column(name)]

    def unit(self, name: str) -> str:
        """Return the unit of a channel."""
        return self.channel(name).unit

    def select(self, names: Sequence[str]) -> FloatArray:
        """Return several channels as columns."""
        return self.values[:, [self._column(name) for name in names]]

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

    def between(self, start: float | None = None, end: float | None = None) -> History:
        """Return the samples from ``start`` to ``end``, in s, both included; None for the first or the last."""
        rows = window(self.time, start, end)
        return History(self.time[rows], self.channels, self.values[rows], self.provenance)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of its own memory: times (s) as index, a column for each channel; pandas is needed.

        ``frame.attrs`` holds the name of the ``model`` and, by channel, ``units``, and where there are any ``frames``,
        ``sides`` and reference points (``at``).
        """
        return data_frame(self)

    def plot(
        self,
        *patterns: str,
        joint: str | None = None,
        start: float | None = None,
        end: float | None = None,
        size: tuple[float | None, float | None] = (None, None),
    ) -> Figure:
        """Return a picture of channels over time, a panel for each group of like quantities; matplotlib is needed.

        A notebook shows it; ``history.plot().savefig("crane.svg")`` writes it to a file.

        Parameters
        ----------
        patterns
            Names of channels, with ``*`` for any text: ``"slew.M*", "tip.z"``. By default coordinates, rates, outputs,
            energies, monitors and the total loads of joints, as far as they fit into one picture.
        joint
            Only what belongs to this joint, body or output; of a joint also the parts of its load.
        start, end
            First and last time in s.
        size
            Width and height in inches; None for what the panels need.

        """
        shown = self.between(start, end)
        if not patterns and joint is None:
            return usual_figure(shown, size)[0]
        names = self.names if joint is None else belonging(self.names, joint)
        return figure_of(shown, matching(names, patterns, joint) if patterns else names, size)

    def _column(self, name: str) -> int:
        try:
            return self._columns[name]
        except KeyError:
            raise KingpostError(
                f"no channel '{name}'{closest(str(name), self.names)} Channels: {listed(self.names, most=MOST_NAMED)}."
            ) from None


def given_away(array: FloatArray) -> FloatArray:
    """Return an array that nobody will write to again, so that a history takes it as it is: large ones are not copied."""
    array.flags.writeable = False
    return array


def _read_only(array: FloatArray) -> FloatArray:
    """Return an array of our own, or one that nobody can write to."""
    owner = array.base if isinstance(array.base, np.ndarray) else array
    if array.dtype == np.float64 and not array.flags.writeable and owner.flags.owndata and not owner.flags.writeable:
        return array
    return given_away(np.array(array, dtype=float))


def _plain(provenance: Mapping[str, Any]) -> Any:
    """Return a record as it reads back from a file, where tuples have become lists."""
    return json.loads(json.dumps(dict(provenance)))
