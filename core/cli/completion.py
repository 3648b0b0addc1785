"""``kingpost completion``: what a shell offers when the tabulator key is pressed."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kingpost.cli.command import Command

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet

#: Options whose values are names of plugins, and of which kind.
SELECTIONS = {
    "formulation": "formulations",
    "verify": "formulations",
    "integrator": "integrators",
    "load_method": "joint_loads",
    "master": "masters",
    "method": "inverse_dynamics",
    "stepper": "servo_steppers",
    "feedback": "feedback",
    "transcription": "optimal_control",
    "write": "writers",
}
#: Those that mean something else in other verbs: by verb.
OWN_SELECTIONS = {
    "export": {"to": "exporters"},
    "export-controller": {"to": "exporters"},
    "optimise": {"solver": "nlp_solvers"},
}
#: What the help text of the first line of an option is cut to in menus.
LONGEST_HELP = 70


@dataclass(frozen=True)
class Offered:
    """An option: how it is written, what it does, and the words that may follow it; a file, or anything, without any."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb: what it does, its options, and words for its arguments; files can always be given."""

    name: str
    help: str
    options: tuple[Offered, ...]
    words: tuple[str, ...]


class Completion(Command):
    """Print a script that lets a shell complete verbs, options, models and names of plugins.

    bash:  kingpost completion bash > ~/.local/share/bash-completion/completions/kingpost
    zsh:   kingpost completion zsh > "${fpath[1]}/_kingpost"
    fish:  kingpost completion fish > ~/.config/fish/completions/kingpost.fish

    The script knows what is installed when it is made; make it anew after plugins have been installed.
    """

    name = "completion"
    example = "source <(kingpost completion bash)"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", choices=[*SCRIPTS], help="the shell that is to complete")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.cli.main import make_parser

        print(SCRIPTS[arguments.shell](offered_verbs(make_parser(plugins), plugins)), end="")
        return 0


def verb_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the verbs, by name."""
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(verbs.choices)


def offered_verbs(parser: argparse.ArgumentParser, plugins: PluginSet) -> list[Verb]:
    """Return what the parsers of the verbs say."""
    return [_verb(name, each, plugins) for name, each in verb_parsers(parser).items()]


def _verb(name: str, parser: argparse.ArgumentParser, plugins: PluginSet) -> Verb:
    options: list[Offered] = []
    words: list[str] = []
    kinds = SELECTIONS | OWN_SELECTIONS.get(name, {})
    names = {dest: tuple(plugins.of(kind)) for dest, kind in kinds.items() if kind in plugins.kinds}
    for action in parser._actions:
        values = tuple(map(str, action.choices or ())) or (names.get(action.dest, ()) if action.option_strings else ())
        if action.option_strings:
            options.append(Offered(tuple(action.option_strings), _short(action.help), action.nargs != 0, values))
        else:
            words += values or (plugins.models if "MODEL" in str(action.metavar) else ())
    return Verb(name, _short(plugins.commands.get(name).summary()), tuple(options), tuple(words))


def _short(text: str | None) -> str:
    """Return what is in the first part of a help text, in letters that no shell minds."""
    first = (text or "").replace("%%", "%").split("; ")[0].split(" (")[0].rstrip(".")
    cut = first if len(first) <= LONGEST_HELP else first[: LONGEST_HELP - 3].rsplit(" ", 1)[0] + "..."
    return "".join(letter for letter in cut if letter not in "'\"`$\\[]:")


def bash_script(verbs: Sequence[Verb]) -> str:
    """Return the script for bash."""
    cases, values = [], []
    names = " ".join(verb.name for verb in verbs)
    for verb in verbs:
        flags = " ".join(flag for option in verb.options for flag in option.flags)
        cases.append(f"    {verb.name}) options={shlex.quote(flags)}; words={shlex.quote(' '.join(verb.words))} ;;")
        by_values: dict[str, list[str]] = {}
        for option in verb.options:
            if option.takes_value:
                by_values.setdefault(" ".join(option.values), []).extend(f"{verb.name}:{flag}" for flag in option.flags)
        values += [f"    {'|'.join(flags)}) values={shlex.quote(found)}; takes=1 ;;" for found, flags in by_values.items()]
    return "\n".join(
        [
            "# Completion of kingpost for bash, made by 'kingpost completion bash'.",
            "_kingpost() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local verb="" options="" words="" values="" takes="" i',
            "  COMPREPLY=()",
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            '    [[ "${COMP_WORDS[i]}" == -* ]] || { verb="${COMP_WORDS[i]}"; break; }',
            "  done",
            '  case "$verb" in',
            f'    "") words="{names} --version --help" ;;',
            *cases,
            "  esac",
            '  case "$verb:$prev" in',
            *values,
            "  esac",
            '  if [[ -n "$takes" ]]; then',
            '    COMPREPLY=($(compgen -W "$values" -- "$cur"))',
            '  elif [[ -n "$verb" && "$cur" == -* ]]; then',
            '    COMPREPLY=($(compgen -W "$options" -- "$cur"))',
            "  else",
            '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            "  fi",
            "}",
            "complete -o default -o bashdefault -F _kingpost kingpost",
            "",
        ]
    )


def zsh_script(verbs: Sequence[Verb]) -> str:
    """Return the script for zsh."""
    lines = ["#compdef kingpost", "# Completion of kingpost for zsh, made by 'kingpost completion zsh'."]
    for verb in verbs:
        lines += [f"_kingpost_{verb.name.replace('-', '_')}() {{", "  _arguments -s \\"]
        for option in verb.options:
            value = (
                "" if not option.takes_value else f":value:({' '.join(option.values)})" if option.values else ":value:_files"
            )
            lines += [f"    {shlex.quote(f'*{flag}[{option.help}]{value}')} \\" for flag in option.flags]
        words = f"'*:word:{{ compadd -- {' '.join(verb.words)}; _files }}'" if verb.words else "'*:file:_files'"
        lines += [f"    {words}", "}"]
    lines += ["_kingpost() {", "  local -a verbs", "  verbs=("]
    lines += [f"    {shlex.quote(f'{verb.name}:{verb.help}')}" for verb in verbs]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe 'verb' verbs",
        "  else",
        '    local verb="${words[2]}"',
        "    shift words; (( CURRENT-- ))",
        '    (( $+functions[_kingpost_${verb//-/_}] )) && "_kingpost_${verb//-/_}"',
        "  fi",
        "}",
        "compdef _kingpost kingpost 2>/dev/null",
        "",
    ]
    return "\n".join(lines)


def fish_script(verbs: Sequence[Verb]) -> str:
    """Return the script for fish."""
    names = " ".join(verb.name for verb in verbs)
    lines = ["# Completion of kingpost for fish, made by 'kingpost completion fish'."]
    lines += [f"set -l verbs {names}"]
    for verb in verbs:
        lines.append(
            f'complete -c kingpost -f -n "not __fish_seen_subcommand_from $verbs" -a {verb.name} -d {shlex.quote(verb.help)}'
        )
        here = f'complete -c kingpost -n "__fish_seen_subcommand_from {verb.name}"'
        if verb.words:
            lines.append(f"{here} -a {shlex.quote(' '.join(verb.words))}")
        for option in verb.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            value = (
                "" if not option.takes_value else f" -x -a {shlex.quote(' '.join(option.values))}" if option.values else " -r"
            )
            lines.append(f"{here} {flags}{value} -d {shlex.quote(option.help)}")
    return "\n".join([*lines, ""])


SCRIPTS: dict[str, Callable[[Sequence[Verb]], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
