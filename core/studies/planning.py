"""The cases of a study, each with a key that is made of all that its numbers depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError
from kingpost.base.version import __version__
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values
from kingpost.modelfiles.opened import OpenedModel, open_model
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.at_sea import at_sea, sea_settings
from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case
from kingpost.studies.sampler import Sample
from kingpost.studies.study import Study, plain
from kingpost.studies.work import StudyWork

#: Bytes of a key; with 1e5 cases two are the same once in 1e14 studies.
KEY_BYTES = 10


@dataclass(frozen=True)
class RefusedSea:
    """A sea state from one side that the data of the machine do not cover: why, and which part of the time it is."""

    why: str
    weight: float


@dataclass(frozen=True, eq=False)
class StudyPlan:
    """A study with the machine that it is about.

    ``halvings`` says how often the step of the study is halved, ``sea`` is the first one that the machine can be run in, and
    ``refused`` are those that its data do not cover: their cases fail, and the others are run.
    """

    study: Study
    opened: OpenedModel
    halvings: int = 0
    sea: str = ""
    refused: tuple[RefusedSea, ...] = ()

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.study.count

    @cached_property
    def how(self) -> RunSettings:
        """How every run is solved, before what the model and its file say; with the first sea, which makes room for all."""
        how = replace(self.study.run, loads=self.study.loads() or ("none",))
        return replace(how, sea=self.sea) if self.sea else how

    def first_case(self) -> Case:
        """Return the first case whose sea the machine can be run in."""
        return next(case for case in self.cases() if not self.refused or case.sea == self.sea)

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """What the numbers of all cases depend on, beside what makes a case: the same recipe and case give the same numbers."""
        return {
            "kingpost": __version__,
            "model": self.opened.mechanism.digest(),
            "settings": dict(self.opened.settings),
            "inputs": {name: _identity(signal) for name, signal in self.opened.inputs.items()},
            "run": self._run(),
            "skip": self.study.skip,
            "reducers": plain(self.study.reductions()),
            **({"halvings": self.halvings} if self.halvings else {}),
        }

    def _run(self) -> Any:
        """Return how runs are solved as plain data; of the sea only for how many waves there is room."""
        given = self.opened.how(self.how).given
        sea = given.pop("sea", None)
        return plain({**given, **({"waves": len(sea.components().frequency)} if sea is not None else {})})

    @cached_property
    def digest(self) -> str:
        """A hash of the recipe."""
        return _hash(self.recipe)

    def key(self, settings: Mapping[str, float], sea: str) -> str:
        """Return the key of a case."""
        text = json.dumps([self.digest, sorted(settings.items()), sea])
        return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).hexdigest()

    def cases(self) -> Iterator[Case]:
        """Yield all cases: every combination of what the samplers choose, the last one changing fastest."""
        first, *others = self.study.samplers
        rest = tuple(combined(*chosen) for chosen in _combinations([tuple(sampler.cases()) for sampler in others]))
        for outer in first.cases():
            for inner in rest:
                sample = combined(outer, inner)
                yield Case(self.key(sample.settings, sample.sea), sample.settings, sample.sea, sample.labels, sample.weight)

    def work(self) -> StudyWork:
        """Return what a worker needs to know."""
        study = self.study
        return StudyWork(
            study.model,
            study.t_end,
            settings=dict(study.settings),
            how=self.how,
            skip=study.skip,
            reducers=study.reductions(),
            plugin_files=tuple(str(file) for file in self.opened.plugins.files),
            halvings=self.halvings,
        )

    def finer(self) -> StudyPlan:
        """Return the same with half the step."""
        return replace(self, halvings=self.halvings + 1)


def plan_study(study: Study, plugins: PluginSet | None = None) -> StudyPlan:
    """Open the machine of a study; refuse names that it does not have, and a study of nothing but seas that it cannot be in."""
    opened = open_model(study.model, study.plugins(plugins or PluginSet()), study.settings)
    sea = ""
    refused: tuple[RefusedSea, ...] = ()
    for sampler in study.samplers:
        try:
            _check_settings(opened, next(sampler.cases()).settings)
            if next(sampler.cases()).sea:
                sea, refused = check_seas(opened, sampler.cases())
        except KingpostError as error:
            raise type(error)(f"{'' if study.path is None else f'{study.path}: '}sampler '{sampler.name}': {error}") from None
    return StudyPlan(study, opened, sea=sea, refused=refused)


def check_seas(opened: OpenedModel, samples: Iterable[Sample]) -> tuple[str, tuple[RefusedSea, ...]]:
    """Return the first sea that a machine can be run in, and those that its data do not cover; if that is all, refuse them.

    Every height and period is looked at from one side, every heading once, and of both what has not passed before.
    """
    machine: Mechanism | None = None
    first = ""
    passed: set[tuple[str, str]] = set()
    refused: dict[tuple[str, str], RefusedSea] = {}
    reason: KingpostError | None = None
    for sample in samples:
        if not sample.sea:
            continue
        labels = sample.labels
        place = (f"{labels.get('Hs')} {labels.get('Tp')}", str(labels.get("heading", 0.0)))
        parts = {("cell", place[0]), ("heading", place[1])}
        if place in refused:
            refused[place] = replace(refused[place], weight=refused[place].weight + sample.weight)
        elif not parts <= passed:
            try:
                if machine is None:
                    machine = at_sea(opened.mechanism, sample.sea, opened.plugins)
                sea_settings(machine, sample.sea, opened.plugins)
            except KingpostError as error:
                said = str(error)
                said = said if sample.sea in said else f"sea '{sample.sea}': {said}"
                refused[place] = RefusedSea(said, sample.weight)
                reason = reason or type(error)(said)
            else:
                passed |= parts
                first = first or sample.sea
    if reason is not None and not first:
        raise reason
    return first, tuple(refused.values())


def combined(*samples: Sample) -> Sample:
    """Return what several choices make together."""
    settings: dict[str, float] = {}
    labels: dict[str, float | str] = {}
    sea, weight = "", 1.0
    for sample in samples:
        settings.update(sample.settings)
        labels.update(sample.labels)
        sea, weight = sample.sea or sea, weight * sample.weight
    return Sample(settings, sea, labels, weight)


def _combinations(choices: Sequence[tuple[Sample, ...]]) -> Iterator[tuple[Sample, ...]]:
    if not choices:
        yield ()
        return
    for head in choices[0]:
        for tail in _combinations(choices[1:]):
            yield (head, *tail)


def _check_settings(opened: OpenedModel, settings: Mapping[str, float]) -> None:
    """Refuse names that cannot be set; states of forces are known to a run only."""
    mechanism = opened.mechanism
    known = {quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)}
    known |= {parameter.name for parameter in mechanism.parameters} | {signal.name for signal in mechanism.inputs}
    owners = {force.name for force in mechanism.forces}
    further = [name for name in settings if name not in known and name.partition(".")[0] in owners]
    resolve_values(mechanism, {**opened.settings, **settings}, further)


def _identity(signal: Any) -> Any:
    """Return what an input that moves is, files with their contents."""
    if isinstance(signal, Path):
        return hashlib.sha256(signal.read_bytes()).hexdigest() if signal.is_file() else str(signal)
    if is_dataclass(signal) and not isinstance(signal, type):
        return {"is": type(signal).__name__, **{entry.name: _identity(getattr(signal, entry.name)) for entry in fields(signal)}}
    if isinstance(signal, Mapping):
        return {str(key): _identity(value) for key, value in signal.items()}
    if isinstance(signal, list | tuple):
        return [_identity(value) for value in signal]
    return plain(signal)


def _hash(data: Any) -> str:
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).hexdigest()
