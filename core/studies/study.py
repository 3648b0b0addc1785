"""A study: which runs of which machine, what is kept of them, and what must hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kingpost.base.errors import MechanismError
from kingpost.base.load_frames import COMPONENTS
from kingpost.base.numbers import shown
from kingpost.fatigue.equivalent import REFERENCE_FREQUENCY
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.sn import SNCurve
from kingpost.registry.plugin import Plugin
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make, split_selection
from kingpost.simulation.settings import RunSettings
from kingpost.studies.limits import Limit
from kingpost.studies.reducer import Reducer
from kingpost.studies.sampler import Sampler

NONE, ALL, WORST = "none", "all", "worst"
#: Statistics that every kept channel has, whatever else is asked for: extremes are fitted to them.
ALWAYS = ("max", "min")


@dataclass(frozen=True)
class Histories:
    """Which runs are kept whole: none, all, or so many of the worst."""

    which: str = NONE
    count: int = 0

    @staticmethod
    def parse(text: Any) -> Histories:
        """Return what ``"none"``, ``"all"`` or ``"worst:5"`` says."""
        name, _, number = text.partition(":") if isinstance(text, str) else ("", "", "")
        if name in (NONE, ALL) and not number:
            return Histories(name)
        if name == WORST and number.isdecimal() and len(number) < 10 and int(number) > 0:
            return Histories(WORST, int(number))
        raise MechanismError(f'histories = {shown(text)} says not which runs are kept whole; write "none", "worst:5" or "all"')


@dataclass(frozen=True)
class Keep:
    """What is kept of each run.

    Parameters
    ----------
    loads
        Joints whose six loads are kept: names, or with axes, ``slew:frame=parent``.
    channels
        Further channels.
    statistics
        Of each: ``max``, ``min``, ``mean``, ``std``, ``rms``, ``range``, ``absmax``, ``last``.
    slopes
        Inverse slopes of damage-equivalent ranges; none for none.
    f_ref
        Their reference frequency, Hz.
    spots, curves
        Hot spots whose damage is kept, and the S-N curves that they name.
    accept
        Doubts about loads that do not stop the count.
    rainflow
        By channel, the largest range of a histogram.
    blocks
        Parts of each run that have extremes of their own.
    histories
        Which runs are kept whole.
    worst_by
        The number by which runs are the worst, such as ``slew.Mx:absmax``; empty for what the study is about.
    reducers
        Further reducers, by name and options.

    """

    loads: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ("max", "min", "mean", "std")
    slopes: tuple[float, ...] = ()
    f_ref: float = REFERENCE_FREQUENCY
    spots: tuple[HotSpot, ...] = ()
    curves: Mapping[str, SNCurve] = field(default_factory=dict)
    accept: tuple[str, ...] = ()
    rainflow: Mapping[str, float] = field(default_factory=dict)
    blocks: int = 1
    histories: Histories = Histories()
    worst_by: str = ""
    reducers: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def watched(self) -> tuple[str, ...]:
        """Channels and joints whose numbers are kept, without the axes that are asked for."""
        return (*(split_selection(load)[0] for load in self.loads), *self.channels)


@dataclass(frozen=True)
class StepCheck:
    """So many of the worst runs are repeated with half the step; peaks may change by this part."""

    step_halving: int = 0
    limit: float = 0.05

    def __post_init__(self) -> None:
        if self.step_halving < 0:
            raise MechanismError(
                f"step_halving = {self.step_halving}: give a number of runs, 0 for none", path=("step_halving",)
            )
        if not 0.0 < self.limit < 1.0:
            raise MechanismError(
                f"limit = {self.limit:g}: give the part by which peaks may change, such as 0.05", path=("limit",)
            )


@dataclass(frozen=True, eq=False)
class Study:
    """Which runs of which machine, what is kept of them, and what must hold.

    Parameters
    ----------
    name
        Heading of the results.
    model
        A model with its options, or a file.
    samplers
        What the cases are combinations of.
    t_end
        End of every run, s.
    skip
        What is left out of all numbers at the start of a run, s.
    settings
        Parameters, inputs and start values of all runs, where cases do not say otherwise.
    run
        How runs are solved.
    keep, limits, check
        What is kept, what must hold, and whether the step is checked.
    path
        The file that it was read from.
    spec
        What the file says, as plain data; the contents of files that it names included.

    """

    name: str
    model: str
    samplers: tuple[Sampler, ...]
    t_end: float
    skip: float = 0.0
    settings: Mapping[str, float] = field(default_factory=dict)
    run: RunSettings = field(default_factory=RunSettings)
    keep: Keep = Keep()
    limits: tuple[Limit, ...] = ()
    check: StepCheck = StepCheck()
    plugin_files: tuple[Path, ...] = ()
    path: Path | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of cases."""
        return math.prod(sampler.count() for sampler in self.samplers)

    def plugins(self, plugins: PluginSet) -> PluginSet:
        """Return plugins with those of its own files."""
        return plugins.with_files(self.plugin_files, named_by=self.path)

    def reductions(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the reducers of each run, by name and options."""
        keep = self.keep
        found: list[tuple[str, dict[str, Any]]] = []
        if keep.watched:
            of = tuple(dict.fromkeys([*ALWAYS, *keep.statistics]))
            found.append(("statistics", {"channels": keep.watched, "of": of}))
        for limit in self.limits:
            found.append(
                ("statistics", {"channels": (limit.channel,), "of": tuple(dict.fromkeys([*ALWAYS, *limit.statistics]))})
            )
            if limit.sides:
                found.append(("exceedance", {"limits": {limit.channel: limit.sides}}))
        if keep.slopes:
            found.append(("equivalent-range", {"channels": keep.watched, "slopes": keep.slopes, "f_ref": keep.f_ref}))
        if keep.rainflow:
            found.append(("rainflow", {"largest": dict(keep.rainflow)}))
        if keep.blocks > 1:
            found.append(("extremes", {"channels": keep.watched, "blocks": keep.blocks}))
        if keep.spots:
            found.append(("hot-spots", {"spots": keep.spots, "curves": keep.curves, "accept": keep.accept}))
        return (*found, *((name, dict(options)) for name, options in keep.reducers))

    def reducers(self, plugins: PluginSet) -> tuple[Reducer, ...]:
        """Return the reducers of each run."""
        return tuple(make(plugins.of("reducers").get(name), options) for name, options in self.reductions())

    def loads(self) -> tuple[str, ...]:
        """Return the joints whose loads runs must compute, with the axes that were asked for."""
        words = {split_selection(load)[0]: load for load in self.keep.loads}
        channels = [*self.keep.channels, *self.keep.rainflow, *(limit.channel for limit in self.limits)]
        channels += [channel for spot in self.keep.spots for channel in spot.stress]
        for channel in channels:
            joint, _, component = channel.rpartition(".")
            if component in COMPONENTS:
                words.setdefault(joint, joint)
        return tuple(words.values())


def plain(value: Any) -> Any:
    """Return whatever options hold as data that JSON can write, the same for equal ones."""
    if isinstance(value, Plugin):
        return {"name": value.name, "options": plain(value.options)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
