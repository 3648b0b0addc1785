"""Several runs weighted by how often their conditions occur: a sea-state table.

The damage per year is the sum over the states of probability times damage per time; seeds of one state are averaged, each by
its length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kingpost.base.errors import KingpostError, closest, listed
from kingpost.fatigue.assessment import YEAR, Assessment, HotSpotAssessment, HotSpotResult, LoadAssessment, life_years
from kingpost.fatigue.equivalent import EquivalentRange, combined_equivalent_range
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.sn import SNCurve
from kingpost.fatigue.spectral import METHODS
from kingpost.fatigue.tables import as_number, as_tables, read_table

#: Probabilities may miss 1 by this much.
PROBABILITY_ROUNDING = 1e-6
CALM = "calm"
STATE_KEYS = ("name", "run", "runs", "probability")

A = TypeVar("A", bound=Assessment)


@dataclass(frozen=True)
class State:
    """A condition, such as a sea state, the runs made in it (one for each seed), and the part of the time that it prevails."""

    name: str
    runs: tuple[Path, ...]
    probability: float

    def __post_init__(self) -> None:
        if not self.runs:
            raise KingpostError(
                f'state \'{self.name}\' has no run; name one, run = "DIR", or several seeds, runs = ["DIR", ...]'
            )
        if not 0.0 <= self.probability <= 1.0:
            raise KingpostError(f"state '{self.name}': probability = {self.probability:g} is not between 0 and 1")


@dataclass(frozen=True)
class StateTable:
    """States and what happens in the rest of the time: ``"calm"`` (no load), or nothing if their probabilities add up to 1."""

    states: tuple[State, ...]
    rest: str | None = None

    def __post_init__(self) -> None:
        if not self.states:
            raise KingpostError("the table of states is empty")
        if self.rest not in (None, CALM):
            raise KingpostError(
                f'rest = {self.rest!r} says nothing about the rest of the time; write rest = "{CALM}" for no load'
            )
        names = [state.name for state in self.states]
        for name, times in Counter(names).items():
            if times > 1:
                raise KingpostError(f"two states are called '{name}'; give one of them several runs, or names that differ")
        total = self.total
        if total > 1.0 + PROBABILITY_ROUNDING:
            raise KingpostError(
                f"the probabilities of the {len(names)} states add up to {total:.9g}, more than 1; correct them"
            )
        if total < 1.0 - PROBABILITY_ROUNDING and self.rest is None:
            raise KingpostError(
                f"the probabilities of the {len(names)} states add up to {total:.9g}, not 1. If there is no load in the rest "
                "of the time "
                f'({1 - total:.6g} of it), say so with rest = "{CALM}"; else complete the table'
            )

    @property
    def total(self) -> float:
        """The sum of the probabilities."""
        return math.fsum(state.probability for state in self.states)


def read_states(path: str | Path) -> StateTable:
    """Return the table in a TOML file: ``[[states]]`` with ``run`` (or ``runs``, one for each seed) and ``probability``."""
    file = read_table(path, "state table")
    file.check_keys(("states", "rest"), "a table of states")
    with file.refusing("states"):
        entries = as_tables(file.data.get("states", []), "states")
    states = []
    for i, entry in enumerate(entries):
        with file.refusing("states", i):
            states.append(_state(entry, i, file.path.parent))
    with file.refusing("rest"):
        return StateTable(tuple(states), file.data.get("rest"))


def _state(entry: Mapping[str, Any], i: int, base: Path) -> State:
    what = f"state '{entry['name']}'" if "name" in entry else f"state number {i + 1}"
    for key in entry:
        if key not in STATE_KEYS:
            raise KingpostError(f"{what} has no '{key}'{closest(key, STATE_KEYS)} It takes: {listed(STATE_KEYS)}.")
    if "probability" not in entry:
        raise KingpostError(f"{what} lacks 'probability', the part of the time that it prevails")
    if ("run" in entry) == ("runs" in entry):
        raise KingpostError(f'{what} takes either run = "DIR" or, for several seeds, runs = ["DIR", ...]')
    runs = entry["runs"] if "runs" in entry else [entry["run"]]
    if not isinstance(runs, list) or not all(isinstance(run, str) for run in runs):
        raise KingpostError(f"{what}: runs must be a list of folders or files; got {runs!r}")
    name = str(entry.get("name", ", ".join(runs)))
    return State(name, tuple(base / run for run in runs), as_number(entry["probability"], f"{what}: probability"))


@dataclass(frozen=True, eq=False)
class CombinedLoad:
    """The damage-equivalent ranges of one load over all states."""

    name: str
    unit: str
    maximum: float
    minimum: float
    largest_range: float
    #: One for each slope; N_eq is that of a year.
    equivalent_ranges: tuple[EquivalentRange, ...]
    #: Cycles in a year.
    cycles_per_year: float


@dataclass(frozen=True, eq=False)
class CombinedHotSpot:
    """The damage at one hot spot over all states."""

    spot: HotSpot
    curve: SNCurve
    thickness_factor: float
    #: Largest stress range in any state, Pa.
    largest_range: float
    damage_per_year: float
    #: Damage per year by state.
    shares: Mapping[str, float]
    equivalent_ranges: tuple[EquivalentRange, ...]
    cycles_per_year: float
    #: Damage per year from the spectra of the stresses, by method and state, if that is wanted.
    spectral_shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def life_years(self) -> float:
        """Years until the damage, times the design fatigue factor, is 1; infinite without damage."""
        return life_years(self.damage_per_year, self.spot.dff)

    @property
    def spectral(self) -> dict[str, float]:
        """Damage per year from spectra, by method."""
        return {method: math.fsum(shares.values()) for method, shares in self.spectral_shares.items()}


@dataclass(frozen=True, eq=False)
class Weighted:
    """One run of a state, with the part of the time that it stands for."""

    state: str
    run: Path
    weight: float


def assess_states(table: StateTable, assess: Callable[[Path], A]) -> tuple[tuple[Weighted, ...], tuple[A, ...]]:
    """Assess every run of a table with ``assess``; return how each weighs and its assessment."""
    weighted: list[Weighted] = []
    assessments: list[A] = []
    for state in table.states:
        found = [assess(run) for run in state.runs]
        length = math.fsum(item.window.duration for item in found)
        for run, item in zip(state.runs, found, strict=True):
            weighted.append(Weighted(state.name, run, state.probability * item.window.duration / length))
        assessments += found
    return tuple(weighted), tuple(assessments)


def combine_loads(weighted: Sequence[Weighted], assessments: Sequence[LoadAssessment]) -> tuple[CombinedLoad, ...]:
    """Combine the counted loads of several runs."""
    _check_same(weighted, [[signal.name for signal in item.signals] for item in assessments])
    weights = [item.weight for item in weighted]
    f_ref = assessments[0].options.f_ref
    combined = []
    for j, first in enumerate(assessments[0].signals):
        runs = [item.signals[j] for item in assessments]
        combined.append(
            CombinedLoad(
                first.name,
                first.unit,
                max(run.maximum for run in runs),
                min(run.minimum for run in runs),
                max(run.cycles.largest_range for run in runs),
                _ranges([run.equivalent_ranges for run in runs], weights, f_ref),
                _per_year([run.cycles.total for run in runs], weights, assessments),
            )
        )
    return tuple(combined)


def combine_hot_spots(weighted: Sequence[Weighted], assessments: Sequence[HotSpotAssessment]) -> tuple[CombinedHotSpot, ...]:
    """Combine the damage of several runs."""
    _check_same(weighted, [[result.spot.name for result in item.results] for item in assessments])
    weights = [item.weight for item in weighted]
    f_ref = assessments[0].options.f_ref
    combined = []
    for j, first in enumerate(assessments[0].results):
        runs = [item.results[j] for item in assessments]
        shares = _shares(weighted, [run.damage_per_year for run in runs])
        combined.append(
            CombinedHotSpot(
                first.spot,
                first.curve,
                first.thickness_factor,
                max(run.signal.cycles.largest_range for run in runs),
                math.fsum(number for parts in shares.values() for number in parts),
                {state: math.fsum(parts) for state, parts in shares.items()},
                _ranges([run.signal.equivalent_ranges for run in runs], weights, f_ref),
                _per_year([run.signal.cycles.total for run in runs], weights, assessments),
                _spectral(weighted, runs, [item.window.duration for item in assessments]),
            )
        )
    return tuple(combined)


def _shares(weighted: Sequence[Weighted], per_year: Sequence[float]) -> dict[str, list[float]]:
    """Return what runs add to the damage per year, by state."""
    found: dict[str, list[float]] = {}
    for part, damage in zip(weighted, per_year, strict=True):
        found.setdefault(part.state, []).append(part.weight * damage)
    return found


def _spectral(
    weighted: Sequence[Weighted], runs: Sequence[HotSpotResult], durations: Sequence[float]
) -> dict[str, dict[str, float]]:
    """Return the damage per year from spectra by method and state, seeds averaged like counted ones; nothing if unwanted."""
    spectra = [run.spectral for run in runs if run.spectral is not None]
    if len(spectra) < len(runs):
        return {}
    found = {}
    for method in METHODS:
        damages = [item.damage(method) * YEAR / duration for item, duration in zip(spectra, durations, strict=True)]
        found[method] = {state: math.fsum(parts) for state, parts in _shares(weighted, damages).items()}
    return found


def _ranges(runs: Sequence[tuple[EquivalentRange, ...]], weights: Sequence[float], f_ref: float) -> tuple[EquivalentRange, ...]:
    return tuple(combined_equivalent_range(parts, weights, YEAR, f_ref) for parts in zip(*runs, strict=True))


def _per_year(numbers: Sequence[float], weights: Sequence[float], assessments: Sequence[Assessment]) -> float:
    rates = [number * YEAR / item.window.duration for number, item in zip(numbers, assessments, strict=True)]
    return math.fsum(weight * rate for weight, rate in zip(weights, rates, strict=True))


def _check_same(weighted: Sequence[Weighted], names: Sequence[list[str]]) -> None:
    for part, own in zip(weighted, names, strict=True):
        if own != names[0]:
            raise KingpostError(
                f"run '{part.run}' of state '{part.state}' has {listed(own)}, but the first run has {listed(names[0])}; all "
                "runs of a table must have the same"
            )
