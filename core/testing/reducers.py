"""What every reducer of studies must do, checked on a history of loads and motions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError
from kingpost.base.load_frames import FORCES, MOMENTS
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.studies.reducer import Reducer, StreamingReducer

SAMPLES, STEP = 2501, 0.04
#: Lengths of the blocks that a streaming reducer is fed with.
BLOCKS = (1, 7, 2048, SAMPLES)


@cache
def usual_history() -> History:
    """Return the loads of joints ``slew`` and ``luff``, and the place ``tip`` of a hook, over 100 s of a sea."""
    time: FloatArray = STEP * np.arange(SAMPLES, dtype=float)
    random = np.random.default_rng(3)
    channels = [Channel(f"{joint}.{name}", "N.m") for joint in ("slew", "luff") for name in MOMENTS]
    channels += [Channel(f"{joint}.{name}", "N") for joint in ("slew", "luff") for name in FORCES]
    channels += [Channel(f"tip.{axis}", "m") for axis in "xyz"]
    columns = []
    for k, _ in enumerate(channels):
        waves = zip(random.uniform(0.3, 3.0, 12), random.uniform(0, 2 * np.pi, 12), random.uniform(0.2, 1.0, 12), strict=True)
        columns.append((k + 1) * (0.5 + sum(a * np.cos(w * time + e) for w, e, a in waves)))
    return History(time, tuple(channels), np.column_stack(columns), {"loads": {"joints": {}}})


@dataclass(frozen=True, eq=False)
class ReducerSubject:
    """A reducer under test, its options, and the history that it is given."""

    reducer: Selection[Reducer]
    options: Mapping[str, Any]
    history: History
    plugins: PluginSet | None = None

    def made(self) -> Reducer:
        """Return a new one."""
        return select((self.plugins or PluginSet()).of("reducers"), self.reducer, dict(self.options))

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The channels that it asks for."""
        return tuple(self.made().channels(self.history.channels))

    def only(self, names: Sequence[str]) -> History:
        """Return the history with some channels alone."""
        whole = self.history
        return History(whole.time, tuple(whole.channel(name) for name in names), whole.select(names), whole.provenance)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """What it makes of the channels that it asks for."""
        return dict(self.made().reduce(self.only(self.needed)))


def check_it_asks_for_channels_that_there_are(subject: ReducerSubject) -> None:
    """It asks for some channels of a run, each once."""
    assert subject.needed, "it asks for no channel at all"
    unknown = [name for name in subject.needed if name not in subject.history]
    assert not unknown, f"it asks for {unknown}, which the run does not have"
    assert len(set(subject.needed)) == len(subject.needed), f"it asks for a channel twice: {subject.needed}"


def check_it_refuses_a_run_without_them(subject: ReducerSubject) -> None:
    """A run that lacks what it needs is refused with a sentence, before it is run."""
    try:
        subject.made().channels([Channel("nothing.that.is.needed", "1")])
    except KingpostError:
        return
    except Exception as error:
        raise AssertionError(
            f"a run without its channels raises {error!r}; raise a kingpost.KingpostError that names them"
        ) from None
    raise AssertionError("a run without any of its channels is not refused")


def check_numbers_are_numbers(subject: ReducerSubject) -> None:
    """It gives finite numbers by name."""
    assert subject.numbers, "it gives no numbers"
    for name, value in subject.numbers.items():
        called = isinstance(name, str) and bool(name)
        assert called, f"a number is called {name!r}"
        finite = isinstance(value, float) and math.isfinite(value)
        assert finite, f"'{name}' is {value!r}, not a finite number"


def check_numbers_are_the_same_every_time(subject: ReducerSubject) -> None:
    """The same history gives the same numbers, and is not changed."""
    before = subject.history.values.copy()
    reducer = subject.made()
    for _ in range(2):
        again = dict(reducer.reduce(subject.only(subject.needed)))
        assert again == subject.numbers, "the same history gives other numbers the next time"
    assert np.array_equal(before, subject.history.values), "it changes the history"


def check_other_channels_make_no_difference(subject: ReducerSubject) -> None:
    """What else a run keeps, and in which order, changes nothing."""
    assert dict(subject.made().reduce(subject.history)) == subject.numbers, "other channels in the history change its numbers"
    turned = subject.only(subject.needed[::-1])
    assert dict(subject.made().reduce(turned)) == subject.numbers, "the order of the channels changes its numbers"


def check_blocks_make_no_difference(subject: ReducerSubject) -> None:
    """One that streams finds the same numbers whatever the blocks are that samples come in, in arrays that are used again."""
    reducer = subject.made()
    if not isinstance(reducer, StreamingReducer):
        return
    whole = subject.only(subject.needed)
    for length in BLOCKS:
        found = reducer.begin(whole.channels)
        time, values = np.empty(length), np.empty((length, len(whole.channels)))
        for first in range(0, len(whole), length):
            count = min(length, len(whole) - first)
            time[:count], values[:count] = whole.time[first : first + count], whole.values[first : first + count]
            found.add(time[:count], values[:count])
        assert dict(found.numbers()) == subject.numbers, f"blocks of {length} samples give other numbers"


REDUCER_CHECKS = (
    check_it_asks_for_channels_that_there_are,
    check_it_refuses_a_run_without_them,
    check_numbers_are_numbers,
    check_numbers_are_the_same_every_time,
    check_other_channels_make_no_difference,
    check_blocks_make_no_difference,
)


def check_reducer(
    reducer: Selection[Reducer],
    options: Mapping[str, Any] | None = None,
    *,
    history: History | None = None,
    plugins: PluginSet | None = None,
) -> None:
    """Check a reducer, by name, class or instance, with options that name channels of ``history`` (:func:`usual_history`).

    >>> check_reducer("statistics", {"channels": ["slew"]})
    """
    subject = ReducerSubject(reducer, options or {}, history or usual_history(), plugins)
    for check in REDUCER_CHECKS:
        check(subject)
