"""What ``kingpost hydro --fit`` says: how good a fitted radiation memory is, and whether the hull floats as its data say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, MechanismError

if TYPE_CHECKING:
    from kingpost.marine.hydro.data import HydroData
    from kingpost.marine.hydro.fitting.fit import MemoryFit
    from kingpost.marine.hydro.fitting.report import FitReport
    from kingpost.vessels.loading import Loading


def check_memory_target(path: Path | None) -> None:
    """Refuse a name for a memory that does not end in .npz before anything is read."""
    if path is not None and path.suffix.lower() != ".npz":
        raise FileError(f"--memory {path}: the name must end in .npz")


def fitted(data: HydroData, memory: Path | None) -> tuple[MemoryFit, FitReport]:
    """Return a fit and its report; the memory is written if a file is named."""
    from kingpost.marine.hydro.fitting.files import write_memory
    from kingpost.marine.hydro.fitting.fit import fit_memory
    from kingpost.marine.hydro.fitting.report import report_fit

    fit = fit_memory(data)
    if memory is not None:
        write_memory(fit.memory, memory, fit.summary)
    return fit, report_fit(fit)


def floats(data: HydroData) -> Loading | None:
    """Return how the hull of the data floats, or None where they do not tell."""
    from kingpost.vessels.hull import floating, rigid_hull
    from kingpost.vessels.loading import loading

    try:
        hull = rigid_hull(data)
        return loading({"hull in the data": (hull.mass, hull.centre_of_gravity)}, floating(data), data.gravity)
    except MechanismError:
        return None


def text(report: FitReport, afloat: Loading | None) -> str:
    """Return both in lines."""
    if afloat is None:
        return report.text()
    note = (
        "What stands on the hull is part of this mass: with a crane of its own, give the hull's mass and centre of gravity "
        "without it, so that both together are what is displaced."
    )
    return "\n".join([report.text(), "", afloat.text(), note])


def record(report: FitReport, afloat: Loading | None) -> dict[str, Any]:
    """Return both as plain data."""
    found = asdict(report)
    root = report.rightmost
    found["rightmost"] = None if root is None else [root.real, root.imag]
    found |= {"passive": report.passive, "stable": report.stable, "warnings": list(report.warnings)}
    if afloat is not None:
        found["floating"] = {
            "mass": afloat.mass,
            "centre_of_gravity": afloat.centre_of_gravity.tolist(),
            "displaced": afloat.displaced,
            "sinkage": afloat.sinkage,
            "heel": afloat.heel,
            "trim": afloat.trim,
        }
    return found
