"""Scenario files: how a live session began and what was done in it, so that it can be repeated to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.files import write_whole
from kingpost.base.numbers import finite, shown
from kingpost.base.toml import parsed_toml, read_toml
from kingpost.base.version import __version__

KEYS = ("kingpost", "until", "start", "actions")
#: What the table [start] takes: what is run, with which numbers, and how.
START_KEYS = ("model", "system", "file", "settings", "options")
SUBJECTS = START_KEYS[:3]
HEADING = """\
# What was done in a live session of Kingpost, and when (s); docs/live.md says how it is repeated.
"""


@dataclass(frozen=True)
class Action:
    """Values that were set at a time."""

    t: float
    set: Mapping[str, float]


@dataclass(frozen=True)
class Scenario:
    """How a session began, what was done in it, and how far it came."""

    start: Mapping[str, Any]
    actions: Sequence[Action] = ()
    until: float | None = None
    #: Where it was read from; files in it are relative to that folder.
    folder: Path | None = field(default=None, compare=False)

    def text(self) -> str:
        """Return it as TOML."""
        lines = [HEADING, f"kingpost = {_toml(__version__)}"]
        if self.until is not None:
            lines.append(f"until = {_toml(self.until)}")
        lines += ["", "[start]", *(f"{_key(key)} = {_toml(value)}" for key, value in self.start.items() if value)]
        for action in self.actions:
            lines += ["", "[[actions]]", f"t = {_toml(action.t)}", f"set = {_toml(dict(action.set))}"]
        return "\n".join([*lines, ""])

    def write(self, path: Path) -> None:
        """Write it whole, or not at all."""
        content = self.text().encode("utf-8")

        def fill(beside: Path) -> None:
            beside.write_bytes(content)

        write_whole(path, fill)


def read_scenario(path: str | Path) -> Scenario:
    """Return the scenario in a file."""
    path = Path(path)
    _, data = read_toml(path, "a scenario")
    return _scenario(data, str(path), path.parent)


def scenario_of(text: str, where: str = "the scenario") -> Scenario:
    """Return the scenario in a text."""
    return _scenario(parsed_toml(text, where), where, None)


def _scenario(data: Mapping[str, Any], where: str, folder: Path | None) -> Scenario:
    _refuse_others(data, KEYS, f"{where}: a scenario")
    start = data.get("start")
    if not isinstance(start, Mapping):
        raise FileError(f'{where}: a scenario begins with a table [start], e.g. model = "small-crane"')
    _refuse_others(start, START_KEYS, f"{where}: [start]")
    if sum(key in start for key in SUBJECTS) != 1:
        raise FileError(f"{where}: [start] takes exactly one of {listed(SUBJECTS)}; got {listed(start)}")
    entries = data.get("actions", [])
    if not isinstance(entries, list):
        raise FileError(f"{where}: 'actions' must be a list of tables, each written [[actions]]")
    actions = [_action(entry, f"{where}: action {i + 1}") for i, entry in enumerate(entries)]
    for one, other in pairwise(actions):
        if other.t < one.t:
            raise FileError(f"{where}: the action at t = {other.t:g} s stands after the one at {one.t:g} s; put them in order")
    until = data.get("until")
    return Scenario(dict(start), tuple(actions), None if until is None else _time(until, f"{where}: 'until'"), folder)


def _action(entry: Any, where: str) -> Action:
    if not isinstance(entry, Mapping):
        raise FileError(f"{where} must be a table with 't' and 'set'; got {shown(entry)}")
    _refuse_others(entry, ("t", "set"), where)
    values = entry.get("set")
    if "t" not in entry or not isinstance(values, Mapping):
        raise FileError(f"{where} needs a time 't' and a table 'set' of names and numbers")
    for name, value in values.items():
        if isinstance(value, Mapping):
            raise FileError(f'{where}: names with dots are written in quotes: set = {{ "{name}.{next(iter(value), "")}" = 1 }}')
        if finite(value) is None:
            raise FileError(f"{where}: {name} = {shown(value)} is not a finite number")
    return Action(_time(entry["t"], f"{where}: 't'"), dict(values))


def _time(value: Any, where: str) -> float:
    number = finite(value)
    if number is None:
        raise FileError(f"{where} must be a finite time in s; got {shown(value)}")
    return number


def _refuse_others(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in table:
        if key not in known:
            raise FileError(f"{what} has no '{key}'{closest(key, known)} It takes: {listed(known)}.")


def _key(name: str) -> str:
    plain = name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if plain else _toml(name)


def _toml(value: Any) -> str:
    """Return plain data as a value of TOML; numbers come back to the same bits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else str(int(value))
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(str(key))} = {_toml(entry)}" for key, entry in value.items() if entry is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(entry) for entry in value)}]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    inside = "".join(letter if letter.isprintable() or letter == " " else f"\\U{ord(letter):08x}" for letter in text)
    return f'"{inside}"'
