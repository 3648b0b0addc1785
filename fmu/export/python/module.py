"""The Python files of an FMU: the module that its binary loads, and what that module uses."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.resources

from kingpost.base.errors import ExportError
from kingpost.base.version import __version__

#: The files of kingpost.fmu.export.python.runtime that need nothing but Python.
RUNTIME = ("__init__", "engine", "library", "importing", "opening", "instance", "pythonfmu_front", "bridge_front")
#: Where the binaries of pythonfmu are, by the platforms they are for.
PYTHONFMU_BINARIES = {"linux64": "libpythonfmu-export.so", "win64": "pythonfmu-export.dll"}


def slave_files(unique: str, model: str) -> dict[str, str]:
    """Return the Python files below resources/ but for those of Kingpost itself; ``unique`` is part of every name."""
    runtime = f"kingpost_fmu_{unique}"
    own = importlib.resources.files("kingpost.fmu.export.python.runtime")
    files = {"slavemodule.txt": f"slave_{unique}", f"slave_{unique}.py": _module(unique, runtime, model)}
    for name in RUNTIME:
        text = own.joinpath(f"{name}.py").read_text(encoding="utf-8")
        files[f"{runtime}/{name}.py"] = text.replace("from kingpost.fmu.export.python.runtime.", "from .")
    files |= {f"{runtime}/pythonfmu/{name}": text for name, text in _base_class().items()}
    return files


def pythonfmu_binaries() -> dict[str, bytes]:
    """Return pythonfmu's own binaries by platform."""
    folder = importlib.resources.files("pythonfmu").joinpath("resources", "binaries")
    return {
        platform: folder.joinpath(platform, name).read_bytes()
        for platform, name in PYTHONFMU_BINARIES.items()
        if folder.joinpath(platform, name).is_file()
    }


def pythonfmu_version() -> str:
    """Return the version of pythonfmu whose files are used."""
    return importlib.metadata.version("pythonfmu")


def pythonfmu_licence() -> str:
    """Return the text of pythonfmu's licence."""
    found = [file for file in importlib.metadata.files("pythonfmu") or [] if file.name.upper().startswith("LICEN")]
    return found[0].read_text(encoding="utf-8") if found else "MIT License, see the PythonFMU project."


def _base_class() -> dict[str, str]:
    """Return the files that pythonfmu's class Fmi2Slave stands in, as a package without the builder."""
    files = {"__init__.py": f'"""The base class of slaves, from pythonfmu {pythonfmu_version()}."""\n'}
    waiting = ["fmi2slave"]
    while waiting:
        name = waiting.pop()
        if f"{name}.py" not in files:
            files[f"{name}.py"] = text = _read(f"{name}.py")
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
            waiting += [node.module for node in nodes if node.level == 1 and node.module]
    return dict(sorted(files.items()))


def _read(name: str) -> str:
    try:
        return importlib.resources.files("pythonfmu").joinpath(name).read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError(
            f"pythonfmu {pythonfmu_version()} lacks a file that its slaves need: {error}. Install it again: pip install "
            "--force-reinstall pythonfmu"
        ) from None


def _module(unique: str, runtime: str, model: str) -> str:
    return f'''"""FMU {model!a}, written by Kingpost {__version__}: what its binary loads. {runtime} does the work."""

import os
import sys

if sys.version_info < (3, 8):
    raise ImportError("this FMU needs Python 3.8 or newer; this is Python " + sys.version.split()[0])

from {runtime}.bridge_front import connect
from {runtime}.pythonfmu.fmi2slave import Fmi2Slave
from {runtime}.pythonfmu.logmsg import LogMsg
from {runtime}.pythonfmu_front import Front


class Slave_{unique}(Fmi2Slave):
    """What pythonfmu's binary calls. No method raises, since an exception would damage the process of the importer.

    The binary runs this file again for every instance and then releases the dictionary of this module without having owned it;
    the methods of this class own it as many times as there are of them. Without any, the second instance would crash.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        messages = self.log_queue

        def append(status, category, text):
            messages.append(LogMsg(status, category, text))

        self._front = Front(self.instance_name, self.resources or os.path.dirname(__file__), append)

    def setup_experiment(self, start_time, stop_time=None, tolerance=None):
        self._front.setup_experiment(start_time, stop_time)

    def enter_initialization_mode(self):
        self._front.enter_initialization_mode()

    def exit_initialization_mode(self):
        self._front.exit_initialization_mode()

    def do_step(self, current_time, step_size):
        return self._front.do_step(current_time, step_size)

    def terminate(self):
        self._front.terminate()

    def get_real(self, vrs):
        return self._front.get_real(vrs)

    def set_real(self, vrs, values):
        self._front.set_real(vrs, values)

    def get_integer(self, vrs):
        self._front.none_of_type("Integer", len(vrs))
        return [0] * len(vrs)

    def get_boolean(self, vrs):
        self._front.none_of_type("Boolean", len(vrs))
        return [False] * len(vrs)

    def get_string(self, vrs):
        self._front.none_of_type("String", len(vrs))
        return [""] * len(vrs)

    def set_integer(self, vrs, values):
        self._front.none_of_type("Integer", len(vrs))

    def set_boolean(self, vrs, values):
        self._front.none_of_type("Boolean", len(vrs))

    def set_string(self, vrs, values):
        self._front.none_of_type("String", len(vrs))

    def _get_fmu_state(self):
        return self._front.get_state()

    def _set_fmu_state(self, state):
        self._front.set_state(state)

    @staticmethod
    def _fmu_state_to_bytes(state):
        return state if isinstance(state, bytes) else b""

    @staticmethod
    def _fmu_state_from_bytes(state):
        return state
'''
