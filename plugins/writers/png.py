"""Plots of the usual channels in one picture."""

from __future__ import annotations

from pathlib import Path

from kingpost.figures import save, usual_figure
from kingpost.history import History
from kingpost.interfaces.writer import Writer


class PngWriter(Writer):
    """Picture of motion, energies and joint loads over time, one panel for each group of like quantities."""

    name = "png"
    suffix = ".png"
    needs = ("matplotlib",)
    extra = "viz"

    def write(self, history: History, path: Path) -> None:
        save(usual_figure(history)[0], path)
