"""Plots of the usual channels in one picture."""

from __future__ import annotations

from pathlib import Path

from kingpost.results.figures import save, usual_figure
from kingpost.results.history import History
from kingpost.results.writer import Writer


class PngWriter(Writer):
    """Picture of motion, energies and joint loads over time, one panel for each group of like quantities."""

    name = "png"
    suffix = ".png"
    needs = ("matplotlib",)
    extra = "viz"

    def write(self, history: History, path: Path) -> None:
        save(usual_figure(history)[0], path, history.run_id)
