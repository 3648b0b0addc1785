"""What ``kingpost fatigue`` prints: tables, and what must be said about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kingpost.cli.output import print_table
from kingpost.fatigue.assessment import (
    YEAR,
    Assessment,
    CountedSignal,
    CountingOptions,
    HotSpotAssessment,
    HotSpotResult,
    LoadAssessment,
)
from kingpost.fatigue.counting import COUNTING_RULE, RESIDUE_RULE
from kingpost.fatigue.en13001 import VERIFY_CLASSES
from kingpost.fatigue.quality import ROUND_OFF
from kingpost.fatigue.records import DEL_FORMULA, LIFE_FORMULA, combined_record, rainflow_version
from kingpost.fatigue.sn import megapascals
from kingpost.fatigue.spectral import METHODS
from kingpost.fatigue.states import CombinedLoad, StateTable, assess_states, combine_hot_spots, combine_loads

Rows = list[tuple[str, str]]


class Table:
    """Lines to print: a table with a heading, and what must be said about it."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Rows) -> None:
        self.header, self.rows, self.notes = header, rows, notes

    def print(self) -> None:
        print_table(self.rows, self.header)
        print()
        print_table(self.notes)


def load_states(table: StateTable, assess: Callable[[Path], LoadAssessment]) -> tuple[dict[str, Any], Table, list[str]]:
    weighted, found = assess_states(table, assess)
    combined = combine_loads(weighted, found)
    header = ["CHANNEL", "UNIT", "MAX", "MIN", "LARGEST RANGE", "CYCLES/YEAR", *_slope_headings(found[0].options)]
    rows = [_combined_row(item) for item in combined]
    shown = Table(header, rows, [*_state_notes(table, found), _equivalent_note(found[0].options, None)])
    return combined_record(table, weighted, found, combined), shown, _run_warnings(weighted, found)


def hot_spot_states(table: StateTable, assess: Callable[[Path], HotSpotAssessment]) -> tuple[dict[str, Any], Table, list[str]]:
    weighted, found = assess_states(table, assess)
    combined = combine_hot_spots(weighted, found)
    header = ["HOT SPOT", "S-N CURVE", "LARGEST RANGE [MPa]", "CYCLES/YEAR", "DAMAGE/YEAR", "DFF", "LIFE [years]"]
    rows = [
        [
            item.spot.name,
            item.curve.name,
            f"{megapascals(item.largest_range):.5g}",
            f"{item.cycles_per_year:.5g}",
            f"{item.damage_per_year:.5g}",
            f"{item.spot.dff:g}",
            _years(item.life_years),
        ]
        for item in combined
    ]
    notes = [*_state_notes(table, found), _equivalent_note(found[0].options, None), *_damage_notes(found)]
    if found[0].options.spectral:
        header += _spectral_headings()
        rows = [[*row, *_parts(item.spectral, item.damage_per_year)] for row, item in zip(rows, combined, strict=True)]
        notes += _spectral_notes(found)
    return combined_record(table, weighted, found, combined), Table(header, rows, notes), _run_warnings(weighted, found)


def load_table(result: LoadAssessment) -> Table:
    header = ["CHANNEL", "UNIT", "MAX", "MIN", "MEAN", "LARGEST RANGE", "CYCLES", *_slope_headings(result.options)]
    rows = []
    for signal in result.signals:
        numbers = (signal.maximum, signal.minimum, signal.mean, signal.cycles.largest_range)
        equivalents = (item.range for item in signal.equivalent_ranges)
        cells = [f"{number:.5g}" for number in (*numbers, signal.cycles.total, *equivalents)]
        rows.append([signal.name, signal.unit, *cells])
    notes = [*_frame_notes(result), *_notes(result), _equivalent_note(result.options, result.window.duration)]
    notes += _class_notes(result.signals)
    return Table(header, rows, notes)


def hot_spot_table(result: HotSpotAssessment) -> Table:
    header = ["HOT SPOT", "S-N CURVE", "LARGEST RANGE [MPa]", "CYCLES", "DAMAGE", "DAMAGE/YEAR", "DFF", "LIFE [years]"]
    rows = [
        [
            item.spot.name,
            item.curve.name,
            f"{megapascals(item.signal.cycles.largest_range):.5g}",
            f"{item.signal.cycles.total:.5g}",
            f"{item.damage:.5g}",
            f"{item.damage_per_year:.5g}",
            f"{item.spot.dff:g}",
            _years(item.life_years),
        ]
        for item in result.results
    ]
    if result.options.spectral:
        header += _spectral_headings()
        rows = [[*row, *_spectral_cells(item)] for row, item in zip(rows, result.results, strict=True)]
    equivalent, spectra = _equivalent_note(result.options, result.window.duration), _spectral_notes([result])
    classes = _class_notes([item.signal for item in result.results])
    means = _mean_notes(result)
    return Table(header, rows, [*_notes(result), equivalent, *_damage_notes([result]), *means, *spectra, *classes])


def _spectral_cells(item: HotSpotResult) -> list[str]:
    """Return the damage from the spectrum by each method, as a part of the counted one."""
    return _parts({} if item.spectral is None else {found.method: found.damage for found in item.spectral.damages}, item.damage)


def _spectral_headings() -> list[str]:
    return [f"{method.upper()} / COUNTED" for method in METHODS]


def _parts(damages: Mapping[str, float], counted: float) -> list[str]:
    if not damages or not counted:
        return ["-" for _ in METHODS]
    return [f"{damages[method] / counted:.3g}" for method in METHODS]


def _spectral_notes(results: Sequence[HotSpotAssessment]) -> Rows:
    every = [item.spectral for result in results for item in result.results]
    found = [item for item in every if item is not None and item.kurtosis is not None]
    if not found:
        return []
    kurtosis = [item.kurtosis for item in found if item.kurtosis is not None]
    widths = [item.moments.alpha2 for item in found]
    return [
        (
            "spectral",
            f"damage from the spectrum of the stress (Welch, {found[0].resolution:.3g} Hz wide), as a part of the counted one; "
            "holds for a stationary Gaussian stress",
        ),
        (
            "process",
            f"alpha_2 {min(widths):.3g} to {max(widths):.3g} (1 is a narrow band); kurtosis {min(kurtosis):.3g} to "
            f"{max(kurtosis):.3g} (3 is Gaussian)",
        ),
    ]


def _mean_notes(result: HotSpotAssessment) -> Rows:
    rules: dict[str, list[str]] = {}
    for item in result.results:
        if item.spot.mean_stress != "none":
            rules.setdefault(item.spot.mean_rule.words, []).append(item.spot.name)
    words = [f"{rule}, no credit for compression: {', '.join(names)}" for rule, names in rules.items()]
    return [("mean", text) for text in words]


def _class_notes(signals: Sequence[CountedSignal]) -> Rows:
    """Return the classes of EN 13001 over a life, a row for each signal, and what to know of them."""
    rows = [
        (
            "EN 13001",
            f"{signal.name}: "
            + ", ".join(
                f"s_{item.parameter.slope:g} = {item.parameter.s_m:.4g} ({item.stress_class})" for item in signal.crane_classes
            ),
        )
        for signal in signals
        if signal.crane_classes and not signal.round_off
    ]
    if not rows:
        return []
    years = next(signal.crane_classes[0].years for signal in signals if signal.crane_classes)
    return [*rows, ("EN 13001", f"over {years:g} years of the counted time again and again; {VERIFY_CLASSES}")]


def _combined_row(item: CombinedLoad) -> list[str]:
    equivalents = (part.range for part in item.equivalent_ranges)
    numbers = (item.maximum, item.minimum, item.largest_range, item.cycles_per_year, *equivalents)
    return [item.name, item.unit, *(f"{number:.5g}" for number in numbers)]


def _slope_headings(options: CountingOptions) -> list[str]:
    return [f"DEL RANGE m={slope:g}" for slope in options.slopes]


def _counting_note(options: CountingOptions) -> tuple[str, str]:
    text = f"{COUNTING_RULE}, {RESIDUE_RULE} (rainflow {rainflow_version()})"
    if options.threshold:
        text += f"; excursions below {options.threshold:g} left out (hysteresis filter)"
    if options.relative_threshold:
        text += f"; excursions below {options.relative_threshold:.3%} of the largest range left out (hysteresis filter)"
    return "counting", text


def _notes(result: Assessment) -> Rows:
    window = result.window
    rows: Rows = [
        _counting_note(result.options),
        (
            "time",
            f"{window.skipped:g} s skipped at the start; counted {window.start:g} s to {window.end:g} s, T = "
            f"{window.duration:g} s, {window.samples} samples",
        ),
    ]
    signals = result.signals if isinstance(result, LoadAssessment) else ()
    if isinstance(result, HotSpotAssessment):
        signals = tuple(item.signal for item in result.results)
    judged = [(signal.sampling, signal.name) for signal in signals if signal.sampling]
    if judged:
        worst, name = min(judged, key=lambda pair: pair[0].samples_per_period)
        rows.append(
            (
                "sampling",
                f"{worst.samples_per_period:.3g} or more samples per period of the highest significant frequency (99.9 % of "
                f"the variance lies below; '{name}', {worst.frequency:.4g} Hz)",
            )
        )
    idle = [signal.name for signal in signals if signal.round_off]
    if idle:
        rows.append(("round-off", f"less than {ROUND_OFF:g} of the largest load of the joint: {', '.join(idle)}"))
    for item in result.residuals:
        rows.append(
            ("residual", f"{item.channel} up to {item.largest:.3g} {item.unit}, {item.relative:.1e} of the largest load")
        )
    if result.noise:
        noisy = max(result.noise, key=lambda item: item.relative_rms)
        rows.append(
            (
                "noise",
                f"{noisy.motion} accelerations and motion between samples differ by up to {noisy.relative_rms:.1e} of their "
                f"range (rms, body '{noisy.body}')",
            )
        )
    return rows


def _equivalent_note(options: CountingOptions, duration: float | None) -> tuple[str, str]:
    formula = DEL_FORMULA.removeprefix("DEL = ")
    if duration is None:
        return "DEL", f"{formula} = 1 year x {options.f_ref:g} Hz = {YEAR * options.f_ref:g}; R are ranges"
    return "DEL", f"{formula} = {duration:g} s x {options.f_ref:g} Hz = {duration * options.f_ref:g}; R are ranges"


def _damage_notes(found: Sequence[HotSpotAssessment]) -> Rows:
    notes = dict.fromkeys(note for item in found for note in item.notes)
    return [
        ("damage", f"Miner's sum of ranges of SCF K loads, combined before counting; {LIFE_FORMULA}; a year has 365.25 days"),
        *(("curve", note) for note in notes),
    ]


def _state_notes(table: StateTable, found: Sequence[Assessment]) -> Rows:
    rest = f", calm for the rest ({1 - table.total:.6g})" if table.rest else ""
    skipped = sorted({item.window.skipped for item in found})
    lengths = [item.window.duration for item in found]
    return [
        ("states", f"{len(table.states)} states, {len(found)} runs; probabilities add up to {table.total:.6g}{rest}"),
        _counting_note(found[0].options),
        (
            "time",
            f"{' to '.join(f'{time:g}' for time in dict.fromkeys((skipped[0], skipped[-1])))} s skipped at the start of each "
            f"run; {min(lengths):g} s to {max(lengths):g} s counted in each",
        ),
    ]


def _run_warnings(weighted: Sequence[Any], found: Sequence[Assessment]) -> list[str]:
    return [f"{part.run}: {warning}" for part, item in zip(weighted, found, strict=True) for warning in item.warnings]


def _frame_notes(result: LoadAssessment) -> Rows:
    """Say which side, axes and point the loads refer to, joints with the same ones together."""
    joints: dict[str, dict[str, None]] = {}
    for channel in (signal.channel for signal in result.signals if signal.channel.side):
        at = f"({', '.join(f'{number:g}' for number in channel.at)}) m from the joint" if any(channel.at) else "the joint"
        place = f"on the {channel.side}, {channel.frame} axes, about {at}"
        joints.setdefault(place, {})[channel.name.rpartition(".")[0]] = None
    return [("loads", f"{place}: {', '.join(names)}") for place, names in joints.items()]


def _years(years: float) -> str:
    return f"{years:.4g}" if math.isfinite(years) else "no damage"
