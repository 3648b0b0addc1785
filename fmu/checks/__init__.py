"""Behavioural checks of FMUs, ours or not, each in a process of its own.

A check of your own is a function and a line in a list::

    # mychecks.py
    from kingpost.fmu.checks import CHECKS, Check, check_fmu, finding, passed

    def cold_start(subject):
        row = subject.start().row()
        return passed("it starts at rest") if not row.any() else finding("it starts in motion")

    if __name__ == "__main__":
        from mychecks import cold_start
        report = check_fmu("crane.fmu", checks=[*CHECKS, Check("cold-start", "it starts at rest", (cold_start,))])
"""

from typing import TYPE_CHECKING, Any

from kingpost.fmu.checks.check import (
    Check,
    Need,
    Report,
    Result,
    Severity,
    Verdict,
    finding,
    not_applicable,
    note,
    passed,
    warning,
)
from kingpost.fmu.checks.processes import Nursery
from kingpost.fmu.checks.runner import CheckOptions, check_fmu

if TYPE_CHECKING:
    from kingpost.fmu.checks.catalogue import CHECKS

__all__ = [
    "CHECKS",
    "Check",
    "CheckOptions",
    "Need",
    "Nursery",
    "Report",
    "Result",
    "Severity",
    "Verdict",
    "check_fmu",
    "finding",
    "not_applicable",
    "note",
    "passed",
    "warning",
]


def __getattr__(name: str) -> Any:
    if name == "CHECKS":  # brings fmpy, which takes time to import
        from kingpost.fmu.checks.catalogue import CHECKS

        return CHECKS
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
