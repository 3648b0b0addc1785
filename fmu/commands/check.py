"""``kingpost fmu-check``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import InternalError
from kingpost.cli.command import Command
from kingpost.cli.output import print_json
from kingpost.fmu.commands.options import add_kind_argument, add_sandbox_option, chosen_kind

if TYPE_CHECKING:
    from kingpost.fmu.checks import Report, Result
    from kingpost.registry.pluginset import PluginSet

#: Exit status if something is wrong with the FMU.
FINDINGS = 8
WIDTH = 120
WORDS = {"pass": "pass", "error": "ERROR", "warning": "warning", "note": "note", "not applicable": "-", "fault": "FAULT"}


class FmuCheck(Command):
    """Check an FMU, whoever made it: what is written in it, and how it behaves.

    Every check runs the FMU in a process of its own; a crash, a hang or an exit is a finding, not the end. Checked are, among
    others, units and model structure, nan and unknown references, exact rollback and serialisation, several instances, folder
    names, directional derivatives, memory, and what it does to the process that it runs in. What is found is an error, a
    warning or a note; exit status 8 if there is an error.
    """

    name = "fmu-check"
    example = "kingpost fmu-check crane.fmu --skip units,speed --timeout 20"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("fmu", nargs="?", type=Path, metavar="FILE.fmu", help="the FMU")
        parser.add_argument("--only", type=_names, metavar="NAME,...", help="run these checks only")
        parser.add_argument("--skip", type=_names, default=[], metavar="NAME,...", help="leave these checks out")
        parser.add_argument("--list", action="store_true", help="list the checks and what each one asks")
        parser.add_argument(
            "--timeout", type=float, default=60.0, metavar="S", help="time limit of each check in s (default: 60)"
        )
        parser.add_argument(
            "--stop-time", type=float, metavar="S", help="stop time of runs in s (default: the FMU's own, or 1 s)"
        )
        parser.add_argument("--step", type=float, metavar="S", help="communication step in s (default: the FMU's own)")
        parser.add_argument("--instances", type=int, default=100, metavar="N", help="how many instances to make (default: 100)")
        parser.add_argument("--strict", action="store_true", help="exit status 8 for warnings and notes, too")
        add_kind_argument(parser)
        add_sandbox_option(parser)
        parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.checks import CheckOptions, check_fmu

        if arguments.list:
            return _list_checks(arguments.json)
        if arguments.fmu is None:
            arguments.refuse("the following arguments are required: FILE.fmu")
        if arguments.sandbox:
            from kingpost.fmu.commands.sandbox import run_in_sandbox

            run_in_sandbox(arguments, [arguments.fmu])
        report = check_fmu(
            arguments.fmu,
            CheckOptions(arguments.timeout, arguments.stop_time, arguments.step, arguments.instances, chosen_kind(arguments)),
            only=arguments.only,
            skip=arguments.skip,
            progress=(lambda result: None) if arguments.json else show,
        )
        if arguments.json:
            print_json(report.data())
        else:
            print(_sum(report))
        if report.faults:
            names = ", ".join(result.name for result in report.faults)
            raise InternalError(f"checks failed themselves: {names}; please report this")
        return FINDINGS if report.errors or (arguments.strict and report.findings) else 0


def show(result: Result) -> None:
    """Print the line of one check, and what a finding has to say beyond that."""
    print(f"{WORDS[result.severity or result.outcome]:8}{result.name:20}{result.summary}", flush=True)
    if result.outcome in ("finding", "fault"):
        for line in result.details:
            print(textwrap.fill(line, WIDTH, initial_indent=" " * 28, subsequent_indent=" " * 30), flush=True)


def _sum(report: Report) -> str:
    counts = {word: sum((result.severity or result.outcome) == word for result in report.results) for word in WORDS}
    found = ", ".join(f"{counts[word]} {word}{'' if counts[word] == 1 else 's'}" for word in ("error", "warning", "note"))
    facts = report.fmu
    tool = f", made by {facts['generation_tool']}" if facts["generation_tool"] else ""
    return (
        f"{facts['model']} (FMI {facts['fmi']} {facts['interface']}{tool}): {len(report.results)} checks, "
        f"{counts['pass']} passed, {found}, {counts['not applicable']} not applicable"
    )


def _list_checks(as_json: bool) -> int:
    from kingpost.fmu.checks.catalogue import CHECKS

    if as_json:
        print_json([{"name": check.name, "title": check.title} for check in CHECKS])
    else:
        for check in CHECKS:
            print(f"{check.name:20}{check.title}")
    return 0


def _names(text: str) -> Sequence[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
