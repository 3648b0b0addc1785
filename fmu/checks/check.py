"""What a check is, and what it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from kingpost.fmu.checks.fmu_under_test import FmuUnderTest
    from kingpost.fmu.file.opened import Fmu

#: ``fault``: the check itself is broken, which says nothing about the FMU.
Outcome: TypeAlias = Literal["pass", "finding", "not applicable", "fault"]
#: How much a finding weighs: what FMI forbids or nobody survives; what masters stumble over; what is a matter of taste.
Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Verdict:
    """What a check says about an FMU."""

    outcome: Outcome
    #: One line.
    summary: str
    #: Lines that are shown below a finding.
    details: tuple[str, ...] = ()
    #: Numbers for machines.
    data: Mapping[str, Any] = field(default_factory=dict)
    #: Of a finding.
    severity: Severity | None = None


def passed(summary: str, **data: Any) -> Verdict:
    """Nothing is wrong."""
    return Verdict("pass", summary, (), data)


def finding(summary: str, *details: str, **data: Any) -> Verdict:
    """Something is wrong with the FMU: it breaks a rule of FMI, or its process."""
    return Verdict("finding", summary, details, data, "error")


def warning(summary: str, *details: str, **data: Any) -> Verdict:
    """FMI leaves it open, but a master may stumble over it."""
    return Verdict("finding", summary, details, data, "warning")


def note(summary: str, *details: str, **data: Any) -> Verdict:
    """It could be better, but breaks nothing."""
    return Verdict("finding", summary, details, data, "note")


def not_applicable(reason: str) -> Verdict:
    """The question makes no sense for this FMU."""
    return Verdict("not applicable", reason)


@dataclass(frozen=True)
class Need:
    """What an FMU must be like for a check to make sense; ``reason`` is said if it is not."""

    reason: str
    met: Callable[[Fmu], bool]


@dataclass(frozen=True)
class Check:
    """A question to an FMU.

    ``stages`` are functions of importable modules; each runs in a process of its own, in this order, with a scratch folder in
    common. The first verdict that is not a pass stands, else the last one.
    """

    name: str
    #: What is true of a good FMU.
    title: str
    stages: tuple[Callable[[FmuUnderTest], Verdict], ...]
    needs: tuple[Need, ...] = ()
    #: Whether code of the FMU is run, and whether it takes steps.
    runs: bool = True
    steps: bool = True
    #: Whether the process ends as processes do, with everything that the FMU has planned for that moment.
    leaves_normally: bool = False
    #: Whether freed memory is overwritten, so that its use shows; for Python in the FMU that takes a new interpreter.
    poisoned: bool = False
    #: Whether the C library watches over the heap, where it can.
    watched: bool = False


@dataclass(frozen=True)
class Result:
    """The verdict of one check, and how long it took in s."""

    name: str
    title: str
    outcome: Outcome
    summary: str
    details: tuple[str, ...]
    data: Mapping[str, Any]
    severity: Severity | None
    seconds: float


@dataclass(frozen=True)
class Report:
    """What all checks say about one FMU."""

    fmu: Mapping[str, Any]
    results: tuple[Result, ...]

    @property
    def findings(self) -> tuple[Result, ...]:
        """The results that say that something is wrong with the FMU."""
        return tuple(result for result in self.results if result.outcome == "finding")

    def of_severity(self, severity: Severity) -> tuple[Result, ...]:
        """Return the findings that weigh so much."""
        return tuple(result for result in self.findings if result.severity == severity)

    @property
    def errors(self) -> tuple[Result, ...]:
        """The findings that are errors."""
        return self.of_severity("error")

    @property
    def faults(self) -> tuple[Result, ...]:
        """The checks that failed themselves."""
        return tuple(result for result in self.results if result.outcome == "fault")

    def __getitem__(self, name: str) -> Result:
        """Return the result of one check."""
        return next(result for result in self.results if result.name == name)

    def data(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "fmu": dict(self.fmu),
            "findings": len(self.findings),
            **{f"{severity}s": len(self.of_severity(severity)) for severity in SEVERITIES},
            "checks": [_plain(asdict(result)) for result in self.results],
        }


def _plain(data: Any) -> Any:
    """Return data as JSON can hold it: numbers that are not finite become texts."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
