"""FMUs: packaging of mechanisms, checks and runs of any FMU."""

from kingpost.fmu.running import run_fmu

__all__ = ["run_fmu"]
