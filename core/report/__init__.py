"""Reports: a result as one HTML file with an animated machine, plots, load roses, spectra and fatigue numbers."""

from kingpost.report.page import Report, write_report

__all__ = ["Report", "write_report"]
