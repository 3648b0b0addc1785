"""``kingpost fatigue``."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kingpost.base.errors import FileError, KingpostError
from kingpost.base.files import write_json
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table
from kingpost.fatigue.assessment import (
    YEAR,
    Assessment,
    CountingOptions,
    HotSpotAssessment,
    LoadAssessment,
    assess_hot_spots,
    assess_loads,
    curve_of,
)
from kingpost.fatigue.counting import COUNTING_RULE, RESIDUE_RULE, rainflow_library
from kingpost.fatigue.hotspots import read_hot_spots
from kingpost.fatigue.quality import ROUND_OFF
from kingpost.fatigue.records import (
    DEL_FORMULA,
    LIFE_FORMULA,
    combined_record,
    hot_spot_record,
    load_record,
    rainflow_version,
)
from kingpost.fatigue.sn import curve_set, megapascals
from kingpost.fatigue.states import (
    CombinedLoad,
    StateTable,
    assess_states,
    combine_hot_spots,
    combine_loads,
    read_states,
)
from kingpost.mechanism.load_request import LoadRequest
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.results.read_write import read_history

A = TypeVar("A", bound=Assessment)
T = TypeVar("T")
Rows = list[tuple[str, str]]


class Fatigue(Command):
    """Count the load ranges of a run; give equivalent ranges, and damage and life at hot spots.

    Without hot spots: for every load channel its extremes, largest range, cycles and damage-equivalent ranges. With a file of
    hot spots: stresses combined from the loads, counted and set against S-N curves. With a table of states: several runs,
    weighted by how often their conditions occur. Everything is a range (peak to valley), never an amplitude.
    """

    name = "fatigue"
    example = "kingpost fatigue results/vessel-crane --joint slew:frame=parent,side=parent --skip 2"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", nargs="?", metavar="DIR|FILE", help="run folder or history file (not with --states)")
        parser.add_argument(
            "--joint",
            action="append",
            default=[],
            metavar="NAME[:frame=..,side=..,at=x/y/z]",
            help="count the six load components of this joint, in these axes (repeatable; default: all joints with loads)",
        )
        parser.add_argument("--channel", action="append", default=[], metavar="NAME", help="count this channel (repeatable)")
        parser.add_argument("--hotspots", type=Path, metavar="FILE.toml", help="damage at these hot spots")
        parser.add_argument("--curves", type=Path, metavar="FILE.toml", help="S-N curves, beside those that are shipped")
        parser.add_argument(
            "--slopes",
            type=_slopes,
            default=(3.0, 4.0, 5.0),
            metavar="M,...",
            help="slopes m of equivalent ranges (default: 3,4,5)",
        )
        parser.add_argument(
            "--f-ref", type=float, default=1.0, metavar="HZ", help="reference frequency, N_eq = T f_ref (default: 1)"
        )
        parser.add_argument("--skip", type=float, default=0.0, metavar="S", help="leave out the first S seconds (default: 0)")
        parser.add_argument(
            "--threshold",
            type=_threshold,
            default=(0.0, 0.0),
            metavar="X|X%",
            help="leave out excursions below X, in the channel's unit (Pa at hot spots), or X %% of its largest range",
        )
        parser.add_argument("--states", type=Path, metavar="FILE.toml", help="runs with probabilities, instead of DIR|FILE")
        parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
        parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the JSON to this file")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        options = _options(arguments)
        rainflow_library()  # before files are read in vain
        if arguments.hotspots:
            spots, curves = read_hot_spots(arguments.hotspots), curve_set(arguments.curves)
            _with_file(arguments.hotspots, lambda: [curve_of(spot, curves) for spot in spots])
            damage = _on_files(plugins, lambda history: assess_hot_spots(history, spots, curves, options))
            if arguments.states:
                return _finish(arguments, *_hot_spot_states(read_states(arguments.states), damage))
            result = damage(Path(arguments.source))
            return _finish(arguments, hot_spot_record(result), _hot_spot_tables(result), result.warnings)
        joints = _joints(arguments)
        loads = _on_files(plugins, lambda history: assess_loads(history, joints, arguments.channel, options))
        if arguments.states:
            return _finish(arguments, *_load_states(read_states(arguments.states), loads))
        counted = loads(Path(arguments.source))
        return _finish(arguments, load_record(counted), _load_tables(counted), counted.warnings)


class _Table:
    """Lines to print: a table with a heading, and what must be said about it."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Rows) -> None:
        self.header, self.rows, self.notes = header, rows, notes

    def print(self) -> None:
        print_table(self.rows, self.header)
        print()
        print_table(self.notes)


def _options(arguments: argparse.Namespace) -> CountingOptions:
    if (arguments.source is None) == (arguments.states is None):
        arguments.refuse("name either a run folder or history file, or a table of runs with --states FILE.toml")
    if arguments.hotspots and (arguments.joint or arguments.channel):
        arguments.refuse("--hotspots says which loads are used; leave out --joint and --channel")
    if arguments.curves and not arguments.hotspots:
        arguments.refuse("--curves is of use with --hotspots only")
    threshold, part = arguments.threshold
    try:
        return CountingOptions(arguments.skip, threshold, part, arguments.slopes, arguments.f_ref)
    except KingpostError as error:
        arguments.refuse(str(error))
        raise


def _joints(arguments: argparse.Namespace) -> list[str | LoadRequest]:
    """Return the joints asked for: a name alone takes the load as the history has it."""
    try:
        return [LoadRequest.parse(word) if ":" in word else word for word in arguments.joint]
    except KingpostError as error:
        arguments.refuse(f"--joint: {error}")
        raise


def _with_file(path: Path, work: Callable[[], T]) -> T:
    """Do ``work``; what it refuses is said of the file ``path``."""
    try:
        return work()
    except KingpostError as error:
        if type(error) is KingpostError:
            raise FileError(f"{path}: {error}") from None
        raise


def _on_files(plugins: PluginSet, assess: Callable[[History], A]) -> Callable[[Path], A]:
    def on_file(path: Path) -> A:
        history = read_history(path, plugins)
        return _with_file(path, lambda: assess(history))

    return on_file


def _finish(arguments: argparse.Namespace, record: dict[str, Any], table: _Table, warnings: Sequence[str]) -> int:
    if arguments.out:
        write_json(arguments.out, record)
    for warning in dict.fromkeys(warnings):
        print(f"kingpost: warning: {warning}", file=sys.stderr)
    if arguments.json:
        print_json(record)
    else:
        table.print()
    return 0


def _load_states(table: StateTable, assess: Callable[[Path], LoadAssessment]) -> tuple[dict[str, Any], _Table, list[str]]:
    weighted, found = assess_states(table, assess)
    combined = combine_loads(weighted, found)
    header = ["CHANNEL", "UNIT", "MAX", "MIN", "LARGEST RANGE", "CYCLES/YEAR", *_slope_headings(found[0].options)]
    rows = [_combined_row(item) for item in combined]
    shown = _Table(header, rows, [*_state_notes(table, found), _equivalent_note(found[0].options, None)])
    return combined_record(table, weighted, found, combined), shown, _run_warnings(weighted, found)


def _hot_spot_states(
    table: StateTable, assess: Callable[[Path], HotSpotAssessment]
) -> tuple[dict[str, Any], _Table, list[str]]:
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
    return combined_record(table, weighted, found, combined), _Table(header, rows, notes), _run_warnings(weighted, found)


def _load_tables(result: LoadAssessment) -> _Table:
    header = ["CHANNEL", "UNIT", "MAX", "MIN", "MEAN", "LARGEST RANGE", "CYCLES", *_slope_headings(result.options)]
    rows = []
    for signal in result.signals:
        numbers = (signal.maximum, signal.minimum, signal.mean, signal.cycles.largest_range)
        equivalents = (item.range for item in signal.equivalent_ranges)
        cells = [f"{number:.5g}" for number in (*numbers, signal.cycles.total, *equivalents)]
        rows.append([signal.name, signal.unit, *cells])
    notes = [*_frame_notes(result), *_notes(result), _equivalent_note(result.options, result.window.duration)]
    return _Table(header, rows, notes)


def _hot_spot_tables(result: HotSpotAssessment) -> _Table:
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
    equivalent = _equivalent_note(result.options, result.window.duration)
    return _Table(header, rows, [*_notes(result), equivalent, *_damage_notes([result])])


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


def _slopes(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers, such as 3,4,5") from None


def _threshold(text: str) -> tuple[float, float]:
    """Return the threshold in the unit of the signal, and as a part of its largest range; one of them is 0."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no threshold; write a number, such as 500, or 1% of the largest range")
    return (0.0, number / 100.0) if text.endswith("%") else (number, 0.0)
