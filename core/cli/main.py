"""Entry point of the ``kingpost`` command."""

from __future__ import annotations

import argparse
import gc
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kingpost.base.errors import (
    ExportError,
    FileError,
    KingpostError,
    MechanismError,
    PluginError,
    PluginRaisedError,
    SolverError,
    closest,
    listed,
)
from kingpost.base.version import __version__

if TYPE_CHECKING:
    from kingpost.cli.command import Command
    from kingpost.cli.signals import Asked
    from kingpost.registry.pluginset import PluginSet

VERSION = f"kingpost {__version__}"
NO_PLUGINS = "--no-plugins"
#: New objects after which Python looks for garbage in the programs that we start; it usually does so after 700.
GARBAGE = 100_000
EXIT_CODES = f"""\
exit status:
  0 done    1 fault in kingpost itself    2 wrong command line    {MechanismError.exit_code} model refused
  {PluginError.exit_code} plugin missing or broken    {SolverError.exit_code} integration failed    \
{FileError.exit_code} file problem    {ExportError.exit_code} export refused    8 findings in an FMU
  {KingpostError.exit_code} what was asked for cannot be had    {PluginRaisedError.exit_code} a plugin raised    \
11 steps too long, files whole
  12 ended by the sandbox
  130 interrupted (Ctrl-C)    143 asked to end (SIGTERM)    129 terminal closed (SIGHUP)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["--version"]:
        print(VERSION)  # at once: no verbs and no plugins are needed for that
        return 0
    if argv is None:  # a program of its own: hundreds of modules are loaded that stay, among which there is no garbage to find
        gc.set_threshold(GARBAGE)
    # Our matrices are small: threads of the linear algebra library wait for each other more than they compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kingpost.cli.signals import asked_to_end

    with asked_to_end() as asked:
        return _carried_out(words, asked)


def _carried_out(words: list[str], asked: Asked) -> int:
    """Carry a command line out; whatever ends it early becomes a message and an exit status."""
    try:
        with _plugins_switched_off(words):
            from kingpost.registry.pluginset import PluginSet

            plugins = PluginSet(_plugin_files(words), announce=_announcer())
            parser = make_parser(plugins, words[0] if words and words[0] in plugins.commands else None)
            arguments, left = parser.parse_known_args(words)
            if left:
                _refuse(arguments.verb, left)
            command: Command = arguments.command
            arguments.words = words  # for a verb that starts itself again elsewhere
            from kingpost.cli.compiling import compiling_shown

            with compiling_shown(quiet=getattr(arguments, "json", False)):
                return command.run(arguments, plugins)
    except KingpostError as error:
        print(f"kingpost: {in_words_of_the_command_line(str(error))}{_said_in(error)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1
    except KeyboardInterrupt as interrupt:
        what, newline, rest = (str(interrupt) or "interrupted").partition("\n")
        print(f"\nkingpost: {what}{asked.words}{newline}{rest}", file=sys.stderr)
        return asked.status
    except Exception as error:
        return _told(error)


def make_parser(plugins: PluginSet, verb: str | None = None) -> argparse.ArgumentParser:
    """Return the parser with the verbs of all command plugins, or with one of them, which is sooner made."""
    parser = argparse.ArgumentParser(
        prog="kingpost",
        description="Multibody machines: simulate them, ask for their loads, ship them as FMUs.",
        epilog=f"{EXIT_CODES}\nexample:\n  kingpost run vessel-crane\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--plugin", action="append", default=[], metavar="FILE.py", help="load plugins from a Python file (repeatable)"
    )
    for each in (parser, shared):
        each.add_argument(NO_PLUGINS, action="store_true", help="import no plugins, neither installed ones nor files")
    for name in [verb] if verb else plugins.commands:
        command = plugins.commands.get(name)()
        words = verbs.add_parser(
            name,
            parents=[shared],
            help=command.summary(),
            description=inspect.getdoc(type(command)),
            epilog=f"example:\n  {command.example}" if command.example else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(words)
        words.set_defaults(command=command, verb=words)
    return parser


def _refuse(verb: argparse.ArgumentParser, words: Sequence[str]) -> NoReturn:
    """Refuse words that a verb does not know: options with what they may have been meant for."""
    word = next((each for each in words if each.startswith("-")), words[0])
    if not word.startswith("-"):
        verb.error(f"there is no place for {listed(map(repr, words))}")
    name = word.partition("=")[0]
    options = [option for action in verb._actions for option in action.option_strings if option.startswith("--")]
    verb.error(f"there is no option '{name}'{closest(name, options)} '{verb.prog} -h' explains those that there are")


@contextmanager
def _plugins_switched_off(words: Sequence[str]) -> Iterator[None]:
    """Switch plugins off for the time of a command, and in the processes that it starts, if its words say so.

    That must be known before the words are understood, for plugins bring verbs: what could be short for the option is taken
    for it, too.
    """
    from kingpost.registry.pluginset import SWITCH

    before = os.environ.get(SWITCH)
    if any(word.startswith("--n") and NO_PLUGINS.startswith(word) for word in words):
        os.environ[SWITCH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SWITCH, None)
        else:
            os.environ[SWITCH] = before


def _announcer() -> Callable[[Path, Path], None]:
    """Return what tells the user, once, of each Python file that a model or system file makes run."""
    told: set[Path] = set()

    def announce(file: Path, named_by: Path) -> None:
        if file not in told:
            told.add(file)
            print(f"kingpost: {named_by} runs Python code: {file}", file=sys.stderr)

    return announce


def _plugin_files(words: list[str]) -> list[str]:
    """Return the files named by ``--plugin``, before the verbs that they may bring are known."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--plugin", action="append", default=[])
    try:
        return list(early.parse_known_args(words)[0].plugin)
    except argparse.ArgumentError:
        return []  # the full parser will say what is wrong


def _told(error: Exception) -> int:
    """Say whose fault an unforeseen exception is: a plugin's, with its file and line, or ours; return the status."""
    from kingpost.registry.failures import TRACE, plugin_failure, plugin_place, strangers

    failure, place = plugin_failure(error), plugin_place(error)
    # Of a plugin that calls Kingpost wrongly, or finds a fault there, only the whole path tells which.
    if failure is None or place is None or place.called_us or os.environ.get(TRACE) == "1":
        traceback.print_exception(error)
    if failure is not None:
        advice = "" if os.environ.get(TRACE) == "1" else f"\n  {TRACE}=1 shows the whole way there"
        print(f"kingpost: {failure}{advice}", file=sys.stderr)
        return failure.exit_code
    suspects = f", or in what a plugin gave back ({listed(strangers())})" if strangers() else ""
    print(f"kingpost: this is a fault in kingpost{suspects}; please report it with the lines above", file=sys.stderr)
    return 1


def _said_in(error: KingpostError) -> str:
    """Return where in a stranger's plugin something was refused; of verbs that is of no use."""
    from kingpost.registry.failures import plugin_place

    place = None if isinstance(error, PluginRaisedError) else plugin_place(error)
    return f"\n  in {place.place}" if place is not None and place.kind != "command" else ""


def in_words_of_the_command_line(text: str) -> str:
    """Return a message in which settings that it advises, such as ``(close_loops)``, are named as the options they are here."""
    from kingpost.cli.how import OPTIONS

    flags = {name: flag for name, (flag, _) in OPTIONS.items()} | {"timeout": "--timeout", "run_timeout": "--run-timeout"}
    for name, flag in flags.items():
        text = text.replace(f"({name})", f"({flag})")
    return text
