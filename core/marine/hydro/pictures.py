"""A picture of hydrodynamic data: added mass, damping, wave forces and motions over the frequency. Needs matplotlib."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import PluginError
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.response import known_motions
from kingpost.marine.hydro.scales import STILL, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
#: Headings that can be told apart in one panel.
MOST_HEADINGS = 7
#: Couplings below this share of their diagonals are not drawn.
NOTHING = 1e-3
#: Components below this share of those with the same unit are zero, but for rounding.
ZERO = 1e-4
TRANSLATIONS, ROTATIONS = (0, 1, 2), (3, 4, 5)
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#17becf")


def check_installed() -> None:
    """Raise :class:`PluginError`, with what to install, if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PluginError("pictures need matplotlib; install it with: pip install 'kingpost[viz]'")


def draw(data: HydroData) -> Figure:
    """Return a figure: added mass and damping above, wave forces and motions by heading below, as far as they are known."""
    check_installed()
    from matplotlib.figure import Figure

    motions = known_motions(data)
    waves = [table is not None for table in (data.excitation, motions)]
    rows = 2 + 2 * sum(waves)
    figure = Figure(figsize=(15.2, 2.9 * rows + 0.7), layout="constrained")
    axes = figure.subplots(rows, 3, squeeze=False, sharex=True)
    _radiation(
        axes[0], data, data.added_mass, "added mass", ("kg", "kg m", "kg m$^2$"), (data.added_mass_zero, data.added_mass_inf)
    )
    _radiation(axes[1], data, data.damping, "damping", ("kg/s", "kg m/s", "kg m$^2$/s"), (None, None))
    at = 2
    if data.excitation is not None:
        _by_heading(axes[at : at + 2], data, np.abs(data.excitation), "wave force", ("N/m", "N m/m"))
        at += 2
    if motions is not None:
        title = "motion" if data.motions is not None else "motion (solved here)"
        _by_heading(axes[at : at + 2], data, np.abs(motions), title, ("m/m", "rad/m"))
    for axis in axes[-1]:
        axis.set_xlabel("frequency [rad/s]")
    reference = ", ".join(f"{x:g}" for x in data.reference)
    depth = "deep water" if math.isinf(data.depth) else f"depth {data.depth:g} m"
    figure.suptitle(f"{data.name.replace('$', '')}: about ({reference}) m, {depth}")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the suffix names."""
    figure.savefig(path, format=path.suffix.lower().lstrip("."), dpi=110)


def _radiation(
    axes: list[Axes],
    data: HydroData,
    matrices: FloatArray,
    title: str,
    units: tuple[str, str, str],
    limits: tuple[FloatArray | None, FloatArray | None],
) -> None:
    """Draw the diagonals of translations and of rotations, and the couplings that are not negligible."""
    symmetric = (matrices + np.swapaxes(matrices, 1, 2)) / 2
    diagonal = scales(symmetric)
    pairs = [(i, j) for j in range(6) for i in range(j)]
    coupled = [(i, j) for i, j in pairs if np.abs(symmetric[:, i, j]).max() > NOTHING * math.sqrt(diagonal[i] * diagonal[j])]
    groups = ([(i, i) for i in TRANSLATIONS], [(i, i) for i in ROTATIONS], coupled)
    for axis, group, unit, name in zip(axes, groups, (units[0], units[2], units[1]), ("", "", ", couplings"), strict=True):
        tallest = max((float(np.abs(symmetric[:, i, j]).max()) for i, j in group), default=0.0)
        for colour, (i, j) in zip(COLOURS, group, strict=False):
            times = _magnified(float(np.abs(symmetric[:, i, j]).max()), tallest)
            label = (MOTIONS[i] if i == j else f"{MOTIONS[i]}-{MOTIONS[j]}") + (f" x {times:g}" if times > 1 else "")
            # Sway is surge, and pitch is roll, of a body of revolution: dashes let the line below them be seen.
            dashes: dict[str, Any] = {"dashes": (4, 4)} if i == j and i in (1, 4) else {}
            axis.plot(data.frequencies, times * symmetric[:, i, j], color=colour, lw=1.3, label=label, **dashes)
            for limit, marker, place in zip(limits, ("o", ">"), (0.0, data.frequencies[-1] * 1.04), strict=True):
                if limit is not None:
                    axis.plot(place, times * limit[i, j], marker, color=colour, ms=5, clip_on=False)
        drawn = min(len(group), len(COLOURS))
        left_out = f" ({len(group) - drawn} more)" if len(group) > drawn else ""
        axis.set_title(f"{title}{name}{left_out}", fontsize=10, loc="left")
        if drawn:
            _finish(axis, unit)
        else:
            axis.set_axis_off()
    if any(limit is not None for limit in limits):
        axes[0].plot([], [], "o", color="0.4", ms=5, label="limit 0")
        axes[0].plot([], [], ">", color="0.4", ms=5, label="limit inf")
        axes[0].legend(fontsize=8, frameon=False)


def _magnified(own: float, tallest: float) -> float:
    """Return by how much a line must be multiplied to be seen beside others: a power of ten, 1 for rounding."""
    if own <= STILL * tallest or tallest <= 0:
        return 1.0
    return 10.0 ** math.floor(math.log10(tallest / own))


def _by_heading(axes: NDArray[Any], data: HydroData, table: FloatArray, title: str, units: tuple[str, str]) -> None:
    """Draw moduli of the six components, a line for each of some headings."""
    chosen = np.unique(np.linspace(0, len(data.headings) - 1, MOST_HEADINGS).round().astype(int))
    left_out = len(data.headings) - len(chosen)
    for i, axis in enumerate(np.ravel(axes)):
        zero = table[:, :, i].max() <= ZERO * _like(table, i)
        for colour, m in zip(COLOURS, chosen if not zero else (), strict=False):
            degrees = math.degrees(data.headings[m])
            # A symmetric hull has the same in head and in following waves: dashes let the line below them be seen.
            dashes: dict[str, Any] = {"dashes": (4, 4)} if abs(math.remainder(degrees, 360)) > 90.001 else {}
            axis.plot(data.frequencies, table[:, m, i], color=colour, lw=1.3, label=f"{degrees:.4g}°", **dashes)
        more = f" ({left_out} more headings)" if left_out and i == 0 else ""
        axis.set_title(f"{title}: {MOTIONS[i]}{more}", fontsize=10, loc="left")
        _finish(axis, units[0] if i < 3 else units[1], legend=i == 0)
        if zero:
            axis.set_ylim(0, 1)
            axis.text(0.5, 0.5, "zero", transform=axis.transAxes, ha="center", color="0.5")


def _like(table: FloatArray, i: int) -> float:
    """Return the largest of the components with the same unit."""
    return float(table[:, :, 3 * (i // 3) : 3 * (i // 3) + 3].max())


def _finish(axis: Axes, unit: str, legend: bool = True) -> None:
    axis.set_ylabel(f"[{unit}]")
    axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4))
    axis.set_xlim(left=0)
    axis.grid(alpha=0.3)
    if legend:
        axis.legend(fontsize=8, frameon=False)
