"""Eigenvalues along a parameter as tables, records and pictures."""

from __future__ import annotations

import csv
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.errors import FileError, listed
from kingpost.base.files import json_file, write_whole
from kingpost.results.figures import FORMATS, check_installed, save
from kingpost.statics.loci import Critical, Loci

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What a file of loci may end in.
SUFFIXES = (".csv", ".json", *FORMATS)
#: Branches that a picture tells apart by colour.
COLOURS = 10


def check_suffix(path: Path) -> None:
    """Refuse a name that says no format."""
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(f"'{path}': the name of a file of loci must end in one of {listed(SUFFIXES)}")


def write_loci(loci: Loci, path: Path) -> None:
    """Write loci in the format that the suffix names."""
    check_suffix(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        write_whole(path, partial(_write_csv, loci))
    elif kind == ".json":
        write_whole(path, json_file(loci_record(loci)))
    else:
        write_whole(path, partial(save, loci_figure(loci)))


def _write_csv(loci: Loci, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        unit = f" [{loci.unit}]" if loci.unit else ""
        parts = [f"branch{k + 1}.{part} [1/s]" for k in range(loci.branches) for part in ("real", "imag")]
        writer.writerow([f"{loci.name}{unit}", *parts])
        for value, row, known in zip(loci.values, loci.eigenvalues, loci.known, strict=True):
            numbers = [f"{number:.17g}" for item in row for number in (item.real, item.imag)]
            writer.writerow([f"{value:.17g}", *(numbers if known else [""] * len(numbers))])


def loci_record(loci: Loci) -> dict[str, Any]:
    """Return loci as plain data; what was left out is null."""
    known = loci.known

    def numbers(part: Any) -> list[Any]:
        return [row.tolist() if there else None for row, there in zip(part, known, strict=True)]

    shapes = np.moveaxis(loci.shapes, 2, 1)  # value, branch, coordinate
    return {
        "model": loci.model,
        "sweep": {"name": loci.name, "unit": loci.unit, "values": loci.values.tolist()},
        "zero_eigenvalues": loci.zeros,
        "eigenvalues_real": numbers(loci.eigenvalues.real),
        "eigenvalues_imag": numbers(loci.eigenvalues.imag),
        "stable": [bool(stable) if there else None for stable, there in zip(loci.stable, known, strict=True)],
        "critical": [_critical_record(item) for item in loci.criticals],
        "left_out": [{"value": value, "why": why} for value, why in loci.left_out.items()],
        "shape_names": list(loci.shape_names),
        "shapes_real": numbers(shapes.real),
        "shapes_imag": numbers(shapes.imag),
    }


def _critical_record(item: Critical) -> dict[str, Any]:
    return {
        "value": item.value,
        "kind": item.kind,
        "what": item.words,
        "eigenvalue": [item.eigenvalue.real, item.eigenvalue.imag],
        "growing": list(item.growing),
        "pairs": list(item.pairs),
        "shape_real": item.shape.real.tolist(),
        "shape_imag": item.shape.imag.tolist(),
    }


def stable_ranges(loci: Loci) -> list[tuple[float, float]]:
    """Return where all motions die out: between values computed as stable, and on to the crossing found beside them."""
    stable = {float(value): bool(flag) for value, flag in zip(loci.values, loci.stable, strict=True)}
    crossings = {item.value for item in loci.criticals if item.kind != "pair"}
    cuts = sorted(stable.keys() | crossings)
    ranges: list[tuple[float, float]] = []
    for begin, end in pairwise(cuts):
        computed = [stable[value] for value in (begin, end) if value in stable and value not in crossings]
        if computed and all(computed):
            ranges = [*ranges[:-1], (ranges[-1][0], end)] if ranges and ranges[-1][1] == begin else [*ranges, (begin, end)]
    return ranges


def loci_figure(loci: Loci) -> Figure:
    """Return a picture: real and imaginary parts over what was swept, and both against each other."""
    check_installed()
    from kingpost.results.picture import Picture  # brings matplotlib, which is an extra, and slow to import

    figure = Picture(figsize=(13.5, 7.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    real = figure.add_subplot(grid[0, 0])
    imag = figure.add_subplot(grid[1, 0], sharex=real)
    plane = figure.add_subplot(grid[:, 1])
    unit = f" [{loci.unit}]" if loci.unit else ""
    name = loci.name.replace("$", r"\$")
    for k in range(loci.branches):
        line, colour = loci.eigenvalues[:, k], f"C{k % COLOURS}"
        real.plot(loci.values, line.real, lw=1.3, color=colour, label=f"branch {k + 1}")
        imag.plot(loci.values, line.imag, lw=1.3, color=colour)
        plane.plot(line.real, line.imag, lw=1.3, color=colour)
        for i, marker in ((0, "o"), (-1, "s")):
            known = np.flatnonzero(loci.known)[[i]]
            plane.plot(line.real[known], line.imag[known], marker, ms=5, color=colour, mfc="none")
    for axis, title, label in ((real, "real parts", "[1/s]"), (imag, "imaginary parts", "[rad/s]")):
        _dress(axis, title, label)
        axis.axhline(0, color="black", lw=0.7)
        axis.margins(x=0)
        for item in loci.criticals:
            axis.axvline(item.value, color="grey", lw=0.9, ls=":" if item.kind == "pair" else "--")
    for item in loci.criticals:
        if item.kind != "pair":
            place = real.get_xaxis_transform()
            text = f" {item.value:.5g}"
            real.text(item.value, 0.97, text, transform=place, fontsize=8, va="top", color="dimgrey")
    for begin, end in stable_ranges(loci):
        real.axvspan(begin, end, color="C2", alpha=0.08, lw=0)
    real.tick_params(labelbottom=False)
    imag.set_xlabel(f"{name}{unit}")
    _dress(
        plane, f"root locus, from {name} = {loci.values[0]:g} (circles) to {loci.values[-1]:g} (squares)", "imaginary [rad/s]"
    )
    plane.set_xlabel("real [1/s]")
    plane.axvline(0, color="black", lw=0.7)
    plane.axhline(0, color="black", lw=0.7)
    legend = real.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False)
    legend.set_alignment("left")
    figure.suptitle(loci.model.replace("$", r"\$") + ", small motions")
    return figure


def _dress(axis: Axes, title: str, label: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)
    axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-4, 6))
