"""Python files that somebody names: plugins, and machines that are described in Python."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from kingpost.base.errors import PluginError
from kingpost.base.raised import in_words, path_of
from kingpost.base.text_files import is_file
from kingpost.registry.failures import FILE_MODULE


def imported_file(path: Path, what: str = "plugin file") -> ModuleType:
    """Run a Python file and return its module; whatever it raises is said with file and line."""
    if not is_file(path):
        raise PluginError(f"{what} '{path}' does not exist")
    module_name = f"{FILE_MODULE}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{what} '{path}' is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[module_name]
        raise PluginError(f"{what} {path}{line_in(error, path)}: {in_words(error)}") from error
    return module


def line_in(error: BaseException, path: Path) -> str:
    """Return ``", line n"`` for the last line of ``path`` that the traceback passes through."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    lines = [place.line for place, _ in path_of(error) if place.file == str(path)]
    return f", line {lines[-1]}" if lines else ""
