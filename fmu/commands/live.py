"""``kingpost live``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import KingpostError
from kingpost.cli.arguments import names_in
from kingpost.cli.command import Command
from kingpost.cli.how import OPTIONS, add_how_arguments
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import carried_out, channel_rows, file_row, tell
from kingpost.cli.signals import while_doing

if TYPE_CHECKING:
    from kingpost.fmu.live.scenario import Scenario
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History

#: How a machine is solved, as for a run; what looks at a run as a whole has no place here.
HOW = tuple(name for name in OPTIONS if name not in ("output_step", "monitors", "verify", "check_step"))
#: Ends of names of files; what has none of them is the name of a model.
FILES = (".toml", ".urdf", ".fmu", ".ssp", ".ssd", ".xml")


class Live(Command):
    """Drive a machine or a coupled system in the browser: in step with the clock, and back in time.

    A session plays at a pace, pauses, steps, takes other inputs and parameters while it runs, goes back to any time that it has
    seen, and keeps what was done as a scenario. With --headless a scenario is repeated without anybody watching, to the same
    bits, and its history is written as by 'kingpost run'. docs/live.md has the whole story.
    """

    name = "live"
    example = "kingpost live small-crane --sea jonswap:Hs=1,Tp=6 --record lift.toml"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "subject",
            nargs="?",
            metavar="MODEL|SYSTEM.toml|FILE",
            help="name of a model, a model file, a system (.toml, .ssp, .ssd, .xml) or an FMU; not needed with a scenario",
        )
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="start value (repeatable)")
        parser.add_argument("--scenario", type=Path, metavar="FILE", help="carry the actions in this file out when played")
        parser.add_argument("--record", type=Path, metavar="FILE", help="write what was done into this file at the end")
        parser.add_argument("--headless", action="store_true", help="no page: with --replay")
        parser.add_argument("--replay", type=Path, metavar="FILE", help="repeat a scenario and write its history")
        parser.add_argument("--frame", type=float, metavar="S", help="length of a frame in s (default: about 0.02)")
        parser.add_argument("--master", metavar="NAME[:KEY=VALUE,...]", help="of a system: how components are advanced")
        add_how_arguments(parser, *HOW, t_end="latest time of the session in s (default: four hours after its start)")
        parser.add_argument("--project", type=Path, metavar="DIR", help="folder of the service (default: one for this session)")
        parser.add_argument("--port", type=int, default=0, metavar="N", help="port of the page (default: any)")
        parser.add_argument(
            "--open", action=argparse.BooleanOptionalAction, default=True, help="open the page in a browser (default: yes)"
        )
        add_result_options(parser, subject="MODEL", report="plots, loads, animation")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        if arguments.headless != (arguments.replay is not None):
            arguments.refuse("--headless and --replay FILE go together")
        if not 0 <= arguments.port < 65536:
            arguments.refuse(f"--port {arguments.port}: give 0 to 65535")
        scenario, start, folder = self._start(arguments)
        if arguments.headless:
            return _repeat(scenario, start, folder, arguments, plugins)
        return _serve(scenario, start, folder, arguments)

    def _start(self, arguments: argparse.Namespace) -> tuple[Scenario | None, dict[str, Any], Path | None]:
        """Return the scenario, if there is one, how the session begins, and what files in that are relative to."""
        from kingpost.fmu.live.scenario import read_scenario

        path = arguments.replay or arguments.scenario
        scenario = None if path is None else read_scenario(path)
        if arguments.subject is None:
            if scenario is None:
                arguments.refuse("name a model, a system or a file, or give a scenario with --scenario or --replay")
            assert scenario is not None
            start, folder = dict(scenario.start), scenario.folder
        else:
            subject = arguments.subject
            of_file = subject.lower().endswith(FILES) or Path(subject).is_dir()
            start, folder = {"file" if of_file else "model": subject}, None
        settings, options = _given(arguments)
        start["settings"] = {**(start.get("settings") or {}), **settings}
        start["options"] = {**(start.get("options") or {}), **options}
        return scenario, start, folder


def _given(arguments: argparse.Namespace) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the settings and the options of the command line."""
    from kingpost.modelfiles.opened import parse_settings

    found = {name: getattr(arguments, name) for name in (*HOW, "frame", "master")}
    options = {name: value for name, value in found.items() if value is not None}
    if "loads" in options:
        options["loads"] = [word for text in options["loads"] for word in ([text] if ":" in text else names_in(text))]
    return parse_settings(arguments.set), options


def _repeat(
    scenario: Scenario | None,
    start: Mapping[str, Any],
    folder: Path | None,
    arguments: argparse.Namespace,
    plugins: PluginSet,
) -> int:
    from kingpost.fmu.live.opening import open_session
    from kingpost.fmu.live.replay import replay

    assert scenario is not None
    with ExitStack() as files:
        with while_doing("the session was being prepared; nothing was computed"):
            session = open_session(start, plugins, folder, files)
            files.callback(session.close)
            name = session.subject.name
            results = result_options(arguments, name, plugins, arguments.write)
        for note in session.subject.notes:
            print(f"kingpost: warning: {note}", file=sys.stderr)
        history, written = carried_out(partial(_replayed, replay, session, scenario), name, results)
        if arguments.record is not None:
            _recorded(session.scenario(), start, folder, arguments.record).write(arguments.record)
        tell(history, results, lambda: _summary(name, scenario, history, written), told=session.subject.notes)
    return 0


def _replayed(replay: Any, session: Any, scenario: Scenario, bar: Any) -> History:
    history: History = replay(session, scenario, bar)
    return history


def _recorded(done: Scenario, start: Mapping[str, Any], folder: Path | None, record: Path) -> Scenario:
    from dataclasses import replace

    return replace(done, start=_told_from(start, folder, record))


def _told_from(start: Mapping[str, Any], folder: Path | None, record: Path | None) -> dict[str, Any]:
    """Return the start with its file as it is seen from the folder of the scenario that is written."""
    told = {key: value for key, value in start.items() if value}
    for key in ("file", "system", "model"):
        named = told.get(key)
        if record is not None and isinstance(named, str) and (key != "model" or named.lower().endswith(FILES)):
            told[key] = os.path.relpath((folder or Path.cwd()) / named, record.parent.resolve()).replace(os.sep, "/")
    return told


def _summary(name: str, scenario: Scenario, history: History, files: list[Path]) -> list[tuple[str, str]]:
    return [
        ("session", f"{name}: {len(scenario.actions)} actions"),
        ("time", f"{history.time[0]:g} s to {history.time[-1]:g} s, {len(history)} frames"),
        *channel_rows(history, history.channels),
        file_row(files),
    ]


def _serve(scenario: Scenario | None, start: Mapping[str, Any], folder: Path | None, arguments: argparse.Namespace) -> int:
    from kingpost.fmu.commands.serve import check_installed, open_page

    check_installed("live")
    from kingpost.fmu.service.folder import ProjectFolder
    from kingpost.fmu.service.live_routes import sessions_of
    from kingpost.fmu.service.live_sessions import live_command
    from kingpost.fmu.service.server import serve
    from kingpost.fmu.service.settings import ServiceSettings

    given = start.get("file") or start.get("model") or "system"
    name = Path(given).stem if isinstance(given, str) else "system"
    record = None if arguments.record is None else arguments.record.resolve()
    job = {
        "start": dict(start),
        "as": _told_from(start, folder, record),
        "folder": str((folder or Path.cwd()).resolve()),
        "scenario": "" if scenario is None else scenario.text(),
        "record": "" if record is None else str(record),
        "plugins": [str(Path(file).resolve()) for file in arguments.plugin],
    }
    failures: list[KingpostError] = []
    begun: list[str] = []

    async def first(app: Any) -> bool:
        try:
            program = await sessions_of(app).begin(name, start, job, None, live_command(), dict(os.environ))
        except KingpostError as error:
            failures.append(error)
            return False
        begun.append(program.id)
        return True

    def announce(address: str, token: str) -> None:
        page = f"{address}?token={token}#/live/{begun[0]}"
        print(f"kingpost: a live session of {name}; Ctrl-C ends it", flush=True)
        print(page, flush=True)
        if arguments.open:
            open_page(page)

    with ExitStack() as places:
        project = arguments.project or Path(places.enter_context(tempfile.TemporaryDirectory(prefix="kingpost-live-")))
        settings = ServiceSettings(workers=1)
        status = serve(ProjectFolder(project.resolve()), settings, port=arguments.port, announce=announce, first=first)
    if failures:
        raise failures[0]
    if record is not None and record.is_file():
        print(f"kingpost: what was done is in {arguments.record}")
    return status
