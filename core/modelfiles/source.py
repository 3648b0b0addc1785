"""How the command line names a machine: a model with construction options, or a file."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kingpost.base.errors import FileError, MechanismError
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.modelfiles.toml_model import RunSettings, read_model_file
from kingpost.modelfiles.urdf import read_urdf
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select


@dataclass(frozen=True)
class Source:
    """A mechanism and what its model or file says about running it."""

    mechanism: Mechanism
    plugins: PluginSet
    settings: dict[str, float] = field(default_factory=dict)
    #: What the files say about running it, the file that was asked for last.
    run: tuple[RunSettings, ...] = ()
    t_end: float = Model.t_end
    step: float = Model.step


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument that names a machine, and ``--set``."""
    parser.add_argument(
        "model",
        metavar="MODEL|FILE.toml",
        help="name of a model (see 'kingpost models'), a model or run file, or a URDF file (FILE.urdf)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter, input or start value, e.g. --set mass1=2 --set elbow.angle=0.3 (repeatable)",
    )


def open_source(name: str, plugins: PluginSet, settings: Iterable[str] = ()) -> Source:
    """Return the machine called ``name``: a file if it looks like one, else a model plugin."""
    source = _open(name, plugins, seen=())
    return replace(source, settings={**source.settings, **parse_settings(settings)})


def _open(name: str, plugins: PluginSet, seen: tuple[Path, ...]) -> Source:
    if name.endswith(".urdf"):
        return Source(read_urdf(name), plugins)
    if not name.endswith(".toml"):
        if "/" in name or Path(name).is_file():
            raise FileError(f"'{name}' is not a model file; its name must end in .toml or .urdf")
        model = select(plugins.models, name)
        return Source(model.build(), plugins, t_end=model.t_end, step=model.step)
    path = Path(name)
    if path.resolve() in seen:
        raise FileError(f"{path} takes its model from itself")
    file = read_model_file(path, plugins)
    plugins = plugins.with_files(file.plugins)
    if file.mechanism is not None:
        return Source(file.mechanism, plugins, dict(file.settings), (file.run,))
    assert file.model is not None
    inner = str(path.parent / file.model) if file.model.endswith(".toml") else file.model
    source = _open(inner, plugins, (*seen, path.resolve()))
    return replace(source, settings={**source.settings, **file.settings}, run=(*source.run, file.run))


def parse_settings(words: Iterable[str]) -> dict[str, float]:
    """Return ``{"mass": 2.0}`` for ``["mass=2"]``."""
    settings = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not equals or not name or not math.isfinite(value):
            raise MechanismError(f"setting '{word}': write NAME=VALUE with a finite number, e.g. mass1=2.5")
        settings[name.strip()] = value
    return settings
