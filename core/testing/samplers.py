"""What every sampler of studies must do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kingpost.fatigue.states import PROBABILITY_ROUNDING
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.studies.sampler import Sample, Sampler

#: Samples that are looked at.
MOST = 100_000


@dataclass(frozen=True, eq=False)
class SamplerSubject:
    """A sampler under test with its options."""

    sampler: Selection[Sampler]
    options: Mapping[str, Any]
    plugins: PluginSet | None = None

    def made(self) -> Sampler:
        """Return a new one."""
        return select((self.plugins or PluginSet()).of("samplers"), self.sampler, dict(self.options))

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """What it chooses, or the first part of that."""
        return tuple(itertools.islice(self.made().cases(), MOST))


def check_samples_come_one_by_one(subject: SamplerSubject) -> None:
    """There may be very many choices, so that they come from an iterator."""
    cases = subject.made().cases()
    assert isinstance(cases, Iterator), f"cases() returned {type(cases).__name__}; yield the choices one by one"
    first = next(cases, None)
    assert isinstance(first, Sample), f"the first choice is {first!r}, expected a kingpost.studies.sampler.Sample"


def check_the_count_is_right(subject: SamplerSubject) -> None:
    """``count`` is the number of choices."""
    count = subject.made().count()
    some = isinstance(count, int) and count >= 1
    assert some, f"count() returned {count!r}; a sampler has one choice or more"
    if count <= MOST:
        assert len(subject.samples) == count, f"count() says {count}, but there are {len(subject.samples)} choices"


def check_choices_are_the_same_every_time(subject: SamplerSubject) -> None:
    """Two samplers with the same options choose the same in the same order, and so does one that is asked twice."""
    sampler = subject.made()
    for other in (sampler.cases(), sampler.cases()):
        for k, (one, two) in enumerate(zip(subject.samples, other, strict=False)):
            assert one == two, f"choice {k} is {one}, and the next time {two}; draw random numbers from a seed"


def check_weights_are_parts_of_the_time(subject: SamplerSubject) -> None:
    """No weight is negative, and together they are 1 at most."""
    for k, sample in enumerate(subject.samples):
        assert 0.0 <= sample.weight <= 1.0, f"choice {k} has the weight {sample.weight!r}, not between 0 and 1"
    total = math.fsum(sample.weight for sample in subject.samples)
    assert total <= 1.0 + PROBABILITY_ROUNDING, f"the weights add up to {total:.9g}, more than 1"


def check_labels_tell_choices_apart(subject: SamplerSubject) -> None:
    """All choices have the same labels, with texts and finite numbers, and no two have them alike."""
    names = tuple(subject.samples[0].labels)
    seen: dict[tuple[Any, ...], int] = {}
    for k, sample in enumerate(subject.samples):
        assert tuple(sample.labels) == names, f"choice {k} has the labels {tuple(sample.labels)}, the first one {names}"
        for name, value in sample.labels.items():
            known = isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
            assert known, f"label '{name}' of choice {k} is {value!r}, neither a text nor a finite number"
        entry = tuple(sample.labels.values())
        assert entry not in seen, f"choices {seen.get(entry)} and {k} have the same labels, {dict(sample.labels)}"
        seen[entry] = k


def check_settings_are_numbers(subject: SamplerSubject) -> None:
    """Settings are finite numbers by name, and seas texts."""
    for k, sample in enumerate(subject.samples):
        for name, value in sample.settings.items():
            known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            assert known, f"choice {k} sets {name!r} to {value!r}, not to a finite number"
        assert isinstance(sample.sea, str), f"the sea of choice {k} is {sample.sea!r}, not a text"


SAMPLER_CHECKS = (
    check_samples_come_one_by_one,
    check_the_count_is_right,
    check_choices_are_the_same_every_time,
    check_weights_are_parts_of_the_time,
    check_labels_tell_choices_apart,
    check_settings_are_numbers,
)


def check_sampler(
    sampler: Selection[Sampler], options: Mapping[str, Any] | None = None, plugins: PluginSet | None = None
) -> None:
    """Check a sampler, by name, class or instance, with options.

    >>> check_sampler("grid", {"values": {"mass": [1.0, 2.0]}})
    """
    subject = SamplerSubject(sampler, options or {}, plugins)
    for check in SAMPLER_CHECKS:
        check(subject)
