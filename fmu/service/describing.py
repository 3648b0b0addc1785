"""Descriptions of models, systems and FMUs, made in a process of their own: opening a machine takes a second of computing.

    python -m kingpost.fmu.service.describing

reads questions, one line of JSON each, and answers each with one line. The server keeps the answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from kingpost.fmu.process.lifeline import Lifeline, end_with_starter
from kingpost.fmu.service.errors import ServiceError

#: Seconds that an answer may take, and answers that are kept.
LIMIT = 60.0
KEPT = 500
#: Bytes of memory that may be reserved.
MOST_MEMORY = 6_000_000_000
#: Variables of an FMU that are described.
MOST_VARIABLES = 20_000


class Describer:
    """The process that describes, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()

    def ask(self, what: str, subject: str, key: str | None = None) -> dict[str, Any]:
        """Return a description, as it was made before if it was; ``key`` tells subjects apart whose places change."""
        known = (what, key or subject)
        found = self._answers.get(known)
        if found is None:
            with self._lock:
                found = self._answers.get(known) or self._answer(what, subject)
                self._answers[known] = found
                while len(self._answers) > KEPT:
                    self._answers.popitem(last=False)
        if "error" in found and set(found) == {"error"}:
            raise ServiceError(found["error"], code="description")
        return found

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None

    def _answer(self, what: str, subject: str) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([what, subject]).encode() + b"\n")
            process.stdin.flush()
            return dict(json.loads(_line(process.stdout.fileno(), LIMIT)))
        except (OSError, ValueError, TimeoutError) as error:
            self.close()
            reason = f"it took more than {LIMIT:g} s" if isinstance(error, TimeoutError) else "what describes it has ended"
            raise ServiceError(f"this cannot be described: {reason}", status=503, code="description") from None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            lifeline = Lifeline()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kingpost.fmu.service.describing"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **lifeline.environment, "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=lifeline.inherited,
                start_new_session=True,
            )
            lifeline.tie(self._process)
        return self._process


def _line(handle: int, limit: float) -> bytes:
    """Return a line from a pipe; TimeoutError if it takes too long."""
    end, text = time.monotonic() + limit, bytearray()
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([handle], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        chunk = os.read(handle, 1 << 20)
        if not chunk:
            raise ValueError("the process has ended")
        text += chunk
    return bytes(text)


def describe(what: str, subject: str, plugins: Any) -> dict[str, Any]:
    """Return one description."""
    if what in ("model", "model-file"):
        return describe_model(subject, plugins)
    if what == "fmu":
        return describe_fmu(Path(subject))
    if what == "system":
        return describe_system(Path(subject), plugins)
    if what == "ports":
        return describe_ports(subject, plugins)
    from kingpost.cli.doctor import examine

    return examine(plugins)


def describe_model(name: str, plugins: Any) -> dict[str, Any]:
    """Return what a page shows of a model before it runs."""
    from kingpost.modelfiles.opened import open_model

    opened = open_model(name, plugins)
    mechanism = opened.mechanism
    how = opened.how()
    tasks = [
        *({"name": name, "kind": "servo", "summary": task.description} for name, task in opened.tasks.items()),
        *({"name": name, "kind": "optimal", "summary": task.description} for name, task in opened.optimal_tasks.items()),
    ]
    return {
        "name": mechanism.name,
        "summary": mechanism.description,
        "parameters": [_number(entry) for entry in mechanism.shown_parameters],
        "inputs": [_number(entry) for entry in mechanism.inputs],
        "coordinates": [
            {"name": coordinate.name, "unit": coordinate.unit, "default": start if isinstance(start, float) else str(start)}
            for joint in mechanism.joints
            for coordinate, start in zip(joint.positions, joint.start_values, strict=False)
        ],
        "outputs": [{"name": entry.name, "unit": entry.unit, "body": entry.body} for entry in mechanism.outputs],
        "bodies": [body.name for body in mechanism.bodies],
        "tasks": tasks,
        "options": {"step": how.step, "t_end": how.t_end},
        "t_end": how.t_end,
        "scene": _scene(opened),
    }


def describe_ports(name: str, plugins: Any) -> dict[str, Any]:
    """Return what a model gives and takes as a component of a coupled system."""
    from kingpost.fmu.cosim.components.model import open_model
    from kingpost.fmu.cosim.description.system import Component

    signals = open_model(Component("model", model=name), plugins).signals.values()
    return {
        f"{kind}s": [{"name": signal.name, "unit": signal.unit or ""} for signal in signals if signal.causality == kind]
        for kind in ("input", "output")
    }


def _number(entry: Any) -> dict[str, Any]:
    return {"name": entry.name, "default": entry.default, "unit": entry.unit, "description": entry.description}


def _scene(opened: Any) -> dict[str, Any] | None:
    """Return the machine at its start, as the report draws it; nothing if it cannot be drawn."""
    from kingpost.base.errors import KingpostError
    from kingpost.report.channels import take_inventory
    from kingpost.report.content import plain
    from kingpost.report.scene import make_scene

    step = opened.how().step or opened.step
    try:
        history = opened.simulate(t_end=step, output_step=step, step=step, loads=["all"], backend="vm")
        scene = plain(make_scene(history, take_inventory(history), ()))
    except (KingpostError, ArithmeticError, ValueError):
        return None
    return scene if "bodies" in scene else None


def describe_fmu(path: Path) -> dict[str, Any]:
    """Return what is written in an FMU; nothing of it is run."""
    from kingpost.fmu.file.opened import open_fmu

    fmu = open_fmu(path)
    found = fmu.description.modelVariables
    return {
        "kind": "fmu",
        "model": fmu.name,
        "fmi": fmu.description.fmiVersion,
        "interface": fmu.interface,
        "tool": fmu.description.generationTool,
        "summary": fmu.description.description or "",
        "t_end": fmu.default("stopTime"),
        "step": fmu.default("stepSize"),
        "platforms": fmu.binary_platforms(),
        "count": len(found),
        "variables": [
            {
                "name": variable.name,
                "causality": variable.causality,
                "variability": variable.variability,
                "type": variable.type,
                "unit": variable.unit or "",
                "start": None if variable.start is None else str(variable.start),
                "description": variable.description or "",
            }
            for variable in found[:MOST_VARIABLES]
        ],
    }


def describe_system(path: Path, plugins: Any) -> dict[str, Any]:
    """Return the components of a system and how they are connected."""
    from kingpost.base.toml import read_toml
    from kingpost.fmu.cosim.description.opening import open_system

    with open_system(path, plugins) as file:
        system = file.system
        return {
            "kind": "system",
            "name": system.name,
            "summary": system.description,
            "t_end": system.t_end,
            "step": system.step,
            "master": system.master if isinstance(system.master, str) else getattr(system.master, "name", None),
            "components": [
                {
                    "name": component.name,
                    "fmu": None if component.fmu is None else Path(component.fmu).name,
                    "model": component.model if isinstance(component.model, str) else None,
                    "set": {name: str(value) for name, value in component.settings.items()},
                }
                for component in system.components
            ],
            "connections": [{"from": entry.source, "to": entry.target} for entry in system.connections],
            "bonds": len(system.bonds),
            # What stands in a file of ours, for those who change it.
            **({"source": read_toml(path)[1]} if path.suffix == ".toml" else {}),
        }


def _limit_memory() -> None:
    """Let a description that grows beyond measure be refused, and not take the memory of the machine."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY or most > MOST_MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, most))


def main() -> None:
    """Answer questions until nobody asks."""
    end_with_starter()
    _limit_memory()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever libraries print
    from kingpost.base.errors import KingpostError
    from kingpost.registry.pluginset import PluginSet

    plugins = PluginSet()
    for line in sys.stdin.buffer:
        what, subject = json.loads(line)
        try:
            text = json.dumps(describe(what, subject, plugins), allow_nan=False)
        except KingpostError as error:
            text = json.dumps({"error": str(error).replace(subject, Path(subject).name)})
        except Exception as error:  # of a library, at a file that nobody has seen before
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        answers.write(text.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
