"""Machines in Python files: ``FILE.py:NAME``."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from kingpost.base.errors import FileError, KingpostError, MechanismError, PluginError, closest, listed
from kingpost.base.numbers import shown
from kingpost.base.raised import in_words
from kingpost.base.text_files import resolved
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.modelfiles.opened import OpenedModel, opened_by
from kingpost.registry.hookspecs import PREFIX
from kingpost.registry.pluginset import PluginSet, switched_off
from kingpost.registry.python_files import imported_file, line_in

#: What such a file can have.
EXPECTED = "a kingpost.Mechanism, a function without arguments that returns one, or a kingpost.Model"


def open_python(name: str, plugins: PluginSet) -> OpenedModel:
    """Run a Python file and return a machine of it.

    ``name`` is ``FILE.py:NAME``, where NAME is a mechanism, a function that makes one, or a model. If the file has hooks, its
    plugins can be used, too. Only for files that the user names: this runs their code.
    """
    file, _, wanted = name.partition(":")
    path = resolved(Path(file))
    if switched_off():
        raise PluginError(f"'{path}' is not run: plugins are switched off here, and it is Python code as they are")
    module = imported_file(path, "Python file")
    if any(entry.startswith(PREFIX) for entry in vars(module)):
        plugins = plugins.with_files([path])
    return _made(_named(module, wanted, file), path, wanted, plugins)


def _named(module: ModuleType, wanted: str, file: str) -> Any:
    """Return what a file has under a name."""
    own = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith(("_", PREFIX))
        and (isinstance(value, Mechanism) or (callable(value) and getattr(value, "__module__", "") == module.__name__))
    }
    if wanted in own:
        return own[wanted]
    there = f" It has: {listed(own)}." if own else " It has none."
    if not wanted:
        raise FileError(f"'{file}': say which machine of the file is meant, {file}:NAME, where NAME is {EXPECTED}.{there}")
    raise FileError(f"'{file}' has no machine '{wanted}'{closest(wanted, own)} Expected {EXPECTED}.{there}")


def _made(found: Any, path: Path, wanted: str, plugins: PluginSet) -> OpenedModel:
    if isinstance(found, type) and issubclass(found, Model):
        return opened_by(found(), plugins)
    if not isinstance(found, Mechanism):
        try:
            found = found()
        except KingpostError as error:
            raise MechanismError(f"{path}{line_in(error, path)}: {error}") from error
        except Exception as error:
            raise PluginError(f"{path}{line_in(error, path)}: {wanted}() failed: {in_words(error)}") from error
    if not isinstance(found, Mechanism):
        raise MechanismError(f"{path}: {wanted} gives {shown(found)}, expected {EXPECTED}")
    return OpenedModel(found, plugins)
