"""``kingpost weather``."""

from __future__ import annotations

import argparse
import calendar
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, KingpostError
from kingpost.base.files import write_json
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.studies.persistence import Persistence, Share

#: Hours in a unit of a length on the command line.
_HOURS = {"s": 1 / 3600, "min": 1 / 60, "h": 1.0, "d": 24.0}


class Weather(Command):
    """Find weather windows in a record of sea states: how much of the time is workable, by month, and how long one waits.

    The file is a CSV table: time (dates, or numbers with their unit in the heading, such as 'time [h]'), Hs in m, Tp in s, and
    any other columns. A window is an unbroken time within all limits; an operation can begin where the window lasts as long as
    it takes.
    """

    name = "weather"
    example = "kingpost weather hindcast.csv --hs 1.5 --tp 9 --length 6h --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.csv", help="sea states over time: time, Hs, Tp, ...")
        parser.add_argument("--hs", type=float, metavar="M", help="largest significant wave height (column Hs), m")
        parser.add_argument("--tp", type=float, metavar="S", help="longest peak period (column Tp), s")
        parser.add_argument(
            "--below",
            type=_limit,
            action="append",
            default=[],
            metavar="COLUMN=X",
            help="largest value of another column, in its unit, such as wind=12 (repeatable)",
        )
        parser.add_argument(
            "--length", type=_hours, required=True, metavar="TIME", help="how long the operation takes: 6h, 90min, 2d"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
        parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the JSON to this file")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.studies.persistence import persistence_record, weather_windows
        from kingpost.studies.sea_series import read_sea_series

        limits = {name: limit for name, limit in (("Hs", arguments.hs), ("Tp", arguments.tp)) if limit is not None}
        limits |= dict(arguments.below)
        if not limits:
            arguments.refuse("give at least one limit: --hs M, --tp S or --below COLUMN=X")
        series = read_sea_series(arguments.file)
        try:
            found = weather_windows(series, limits, arguments.length)
        except KingpostError as error:
            raise FileError(f"{arguments.file}: {error}") from None
        record = persistence_record(found)
        if arguments.out:
            write_json(arguments.out, record)
        if arguments.json:
            print_json(record)
        else:
            _print(found)
        return 0


def _print(found: Persistence) -> None:
    header = ["MONTH", "HOURS", "WITHIN LIMITS [%]", "WORKABLE [%]", "CAN BEGIN [%]", "MEAN WAIT [h]", "WINDOWS"]
    rows = [[calendar.month_abbr[month], *_cells(share)] for month, share in found.months.items()]
    print_table([*rows, ["all", *_cells(found.total)]], header)
    print()
    print_table(_notes(found))


def _cells(share: Share) -> list[str]:
    parts = [f"{100 * part:.1f}" for part in (share.within, share.workable, share.startable)]
    wait = "not known" if share.mean_wait is None else f"{share.mean_wait:.1f}"
    return [f"{share.hours:g}", *parts, wait, str(share.windows)]


def _notes(found: Persistence) -> list[tuple[str, str]]:
    enough = found.long_enough
    limits = ", ".join(f"{name} up to {limit:g}" for name, limit in found.limits.items())
    rows = [
        ("limits", f"{limits}; samples every {found.step:g} h, each stands for the time until the next"),
        ("windows", f"{len(found.window_length)} within the limits, {len(enough)} of them {found.length:g} h or longer"),
        ("workable", f"time in windows of {found.length:g} h or longer; 'can begin': {found.length:g} h of it are still ahead"),
    ]
    if len(enough):
        rows[1] = (rows[1][0], f"{rows[1][1]} (mean {enough.mean():.3g} h, longest {enough.max():.4g} h)")
    if found.wait_quantiles is not None:
        middle, most, longest = found.wait_quantiles
        rows.append(
            ("wait", f"half of all times at most {middle:.4g} h, nine of ten {most:.4g} h, the longest {longest:.4g} h")
        )
    if found.unknown_wait:
        rows.append(
            ("not known", f"the wait from {found.unknown_wait:.2%} of all times: the record ends, or has a gap, before")
        )
    if found.gaps:
        rows.append(("missing", f"{found.missing:g} h in {found.gaps} places; a window ends there"))
    return rows


def _hours(text: str) -> float:
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([a-z]+)\s*", text)
    try:
        hours = float(match[1]) * _HOURS[match[2]] if match else math.nan
    except (ValueError, KeyError):
        hours = math.nan
    if not 0.0 < hours < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no length of time; write a number and s, min, h or d, such as 6h")
    return hours


def _limit(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not name.strip() or not math.isfinite(limit):
        raise argparse.ArgumentTypeError(f"'{text}' is no limit; write COLUMN=X, such as wind=12")
    return name.strip(), limit
