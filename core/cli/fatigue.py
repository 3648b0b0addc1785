"""``kingpost fatigue``."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kingpost.base.errors import FileError, KingpostError
from kingpost.base.files import write_json
from kingpost.cli.command import Command
from kingpost.cli.output import print_json

if TYPE_CHECKING:
    from kingpost.cli.fatigue_tables import Table
    from kingpost.fatigue.assessment import Assessment, CountingOptions
    from kingpost.mechanism.load_request import LoadRequest
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History

A = TypeVar("A", bound="Assessment")
T = TypeVar("T")


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
        parser.add_argument(
            "--accept",
            action="append",
            default=[],
            metavar="DOUBT",
            help="count loads in spite of a doubt: residual (they do not balance), noise (sampled too coarsely), step (peaks "
            "change with the step); repeatable",
        )
        parser.add_argument(
            "--spectral",
            action="store_true",
            help="also the damage at hot spots from spectra: narrow band, Dirlik, Benasciutti-Tovo",
        )
        parser.add_argument(
            "--life", type=float, metavar="YEARS", help="classes of EN 13001, were the counted time to go on for so long"
        )
        parser.add_argument("--states", type=Path, metavar="FILE.toml", help="runs with probabilities, instead of DIR|FILE")
        parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
        parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the JSON to this file")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.cli.fatigue_tables import hot_spot_states, hot_spot_table, load_states, load_table
        from kingpost.fatigue.assessment import assess_hot_spots, assess_loads, curve_of
        from kingpost.fatigue.counting import rainflow_library
        from kingpost.fatigue.hotspots import read_hot_spots
        from kingpost.fatigue.records import hot_spot_record, load_record
        from kingpost.fatigue.sn import curve_set
        from kingpost.fatigue.states import read_states

        options = _options(arguments)
        rainflow_library()  # before files are read in vain
        if arguments.hotspots:
            spots, curves = read_hot_spots(arguments.hotspots), curve_set(arguments.curves)
            _with_file(arguments.hotspots, lambda: [curve_of(spot, curves) for spot in spots])
            damage = _on_files(plugins, lambda history: assess_hot_spots(history, spots, curves, options))
            if arguments.states:
                return _finish(arguments, *hot_spot_states(read_states(arguments.states), damage))
            result = damage(Path(arguments.source))
            return _finish(arguments, hot_spot_record(result), hot_spot_table(result), result.warnings)
        joints = _joints(arguments)
        loads = _on_files(plugins, lambda history: assess_loads(history, joints, arguments.channel, options))
        if arguments.states:
            return _finish(arguments, *load_states(read_states(arguments.states), loads))
        counted = loads(Path(arguments.source))
        return _finish(arguments, load_record(counted), load_table(counted), counted.warnings)


def _options(arguments: argparse.Namespace) -> CountingOptions:
    from kingpost.fatigue.assessment import CountingOptions

    if (arguments.source is None) == (arguments.states is None):
        arguments.refuse("name either a run folder or history file, or a table of runs with --states FILE.toml")
    if arguments.hotspots and (arguments.joint or arguments.channel):
        arguments.refuse("--hotspots says which loads are used; leave out --joint and --channel")
    if arguments.curves and not arguments.hotspots:
        arguments.refuse("--curves is of use with --hotspots only")
    if arguments.spectral and not arguments.hotspots:
        arguments.refuse("--spectral is of use with --hotspots only: damage needs S-N curves")
    if arguments.states and arguments.life is not None:
        arguments.refuse("--life is for one run; leave it out, or name a run instead of --states")
    threshold, part = arguments.threshold
    try:
        return CountingOptions(
            arguments.skip, threshold, part, arguments.slopes, arguments.f_ref, tuple(arguments.accept), arguments.spectral,
            arguments.life,
        )  # fmt: skip
    except KingpostError as error:
        arguments.refuse(str(error))
        raise


def _joints(arguments: argparse.Namespace) -> list[str | LoadRequest]:
    """Return the joints asked for: a name alone takes the load as the history has it."""
    from kingpost.mechanism.load_request import LoadRequest

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
    from kingpost.cli.unfinished import note_unfinished
    from kingpost.results.read_write import read_history

    def on_file(path: Path) -> A:
        history = read_history(path, plugins)
        note_unfinished(history, path)
        return _with_file(path, lambda: assess(history))

    return on_file


def _finish(arguments: argparse.Namespace, record: dict[str, Any], table: Table, warnings: Sequence[str]) -> int:
    if arguments.out:
        write_json(arguments.out, record)
    for warning in dict.fromkeys(warnings):
        print(f"kingpost: warning: {warning}", file=sys.stderr)
    if arguments.json:
        print_json(record)
    else:
        table.print()
    return 0


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
