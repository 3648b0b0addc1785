"""Pages of the verbs of the command line, from their parsers."""

from __future__ import annotations

import argparse
import inspect

from docsite.text import cell, from_docstring, paragraphs, plain, table
from kingpost import PluginSet
from kingpost.cli.completion import verb_parsers
from kingpost.cli.main import make_parser

FOLDER = "reference/commands"


def pages() -> dict[str, str]:
    """Return a page for every verb, and one that lists them."""
    plugins = PluginSet(entry_points=False)
    parsers = verb_parsers(make_parser(plugins))
    rows = [(f"[{name}](commands/{name}.md)", from_docstring(plugins.commands.get(name).summary())) for name in parsers]
    first = (
        "# Commands\n\nEvery verb of `kingpost`, with all of its options, as `kingpost VERB -h` says them. What they have in "
        "common, exit statuses and habits, is in [the command line](../command-line.md).\n\n"
    )
    made = {f"{FOLDER}.md": first + table(("verb", "what it does"), rows)}
    return made | {f"{FOLDER}/{name}.md": _page(name, parser, plugins) for name, parser in parsers.items()}


def _page(name: str, parser: argparse.ArgumentParser, plugins: PluginSet) -> str:
    command = plugins.commands.get(name)
    usage = argparse.HelpFormatter(parser.prog, width=100)
    usage.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    positional = [action for action in parser._actions if not action.option_strings]
    options = [action for action in parser._actions if action.option_strings]
    parts = [f"# kingpost {name}", paragraphs(inspect.getdoc(command) or "")]
    parts.append(f"```text\n{usage.format_help().strip()}\n```")
    if command.example:
        parts.append(f"For example:\n\n```console\n$ {command.example}\n```")
    if positional:
        rows = [(cell(str(action.metavar or action.dest)), _explained(action, parser)) for action in positional]
        parts.append("## Arguments\n\n" + table(("argument", "meaning"), rows))
    rows = [(_flags(action), _explained(action, parser)) for action in options]
    parts.append("## Options\n\n" + table(("option", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def _flags(action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction):
        choices = "|".join(map(str, action.choices or ()))
        given = str(action.metavar) if action.metavar else choices or action.dest.upper()
        value = f" [{given}]" if action.nargs == "?" else f" {given}"
    return ", ".join(cell(flag + (value if flag.startswith("--") else "")) for flag in action.option_strings)


def _explained(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    choices = f" One of {', '.join(f'`{choice}`' for choice in action.choices)}." if action.choices and action.metavar else ""
    return plain(text) + choices
