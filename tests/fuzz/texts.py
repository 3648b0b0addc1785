"""Readers of text: formulas, words of the command line, TOML, JSON, CSV, URDF."""

from __future__ import annotations

import functools
import io
import math
import os
import shlex
import signal
import struct
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from kingpost import PluginSet
from kingpost.base.errors import FileError, KingpostError
from kingpost.base.formulas import as_scalar, evaluate
from kingpost.base.sample_files import read_samples
from kingpost.base.toml import read_toml
from kingpost.cli.main import main
from kingpost.cli.state import _read_state
from kingpost.fatigue import assess_hot_spots, curve_set, read_curves, read_hot_spots, read_states
from kingpost.mechanism.load_request import LoadRequest
from kingpost.mechanism.meshes import read_mesh
from kingpost.modelfiles.opened import OpenedModel, open_model, parse_settings
from kingpost.modelfiles.task_file import read_entries, read_task
from kingpost.registry.selection import select
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.verbs import _vector, checked_state
from tests.core.fatigue.synthetic import cosine, load_history
from tests.fuzz.table import reader, seeds

#: How long a run may take before it is interrupted, s.
PATIENCE = 3.0


@functools.cache
def plugins() -> PluginSet:
    """The built-in plugins alone."""
    return PluginSet(entry_points=False)


def decoded(content: bytes) -> str:
    """Return text as a TOML file or a command line would have it."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileError(str(error)) from None


def placed(content: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def answer(ask: Callable[[], Any]) -> Any:
    """Return what is answered; None for what is refused."""
    try:
        return ask()
    except KingpostError as error:
        if error.exit_code == 1:
            raise
        return None


@reader(".txt", seeds("formulas.txt")[0].splitlines(), often=1500, long=40_000)
def formula(content: bytes, folder: Path) -> None:
    value = as_scalar(decoded(content))
    if isinstance(value, float):
        assert math.isfinite(value)
    else:
        evaluate(value, {"length": 2.0, "mass": -3.0, "t": 0.0})


@reader(".txt", seeds("selections.txt")[0].splitlines(), often=1000, long=30_000)
def selection(content: bytes, folder: Path) -> None:
    text = decoded(content)
    kinds = ("integrators", "formulations", "joint_loads", "writers", "models", "masters", "exporters")
    for ask in (
        *(functools.partial(select, plugins().of(kind)) for kind in kinds),
        LoadRequest.parse,
        lambda text: parse_settings([text]),
        lambda text: RunSettings.of({"loads": text, "cut": text}).wanted_loads(),
    ):
        found = answer(functools.partial(ask, text))
        for option in vars(found.options).values() if hasattr(found, "options") else ():
            assert not isinstance(option, float) or math.isfinite(option)


@reader(".txt", seeds("words.txt")[0].splitlines(), often=20, long=700)
def command_line(content: bytes, folder: Path) -> None:
    """The words of a command line, up to the files of its run."""
    try:
        words = shlex.split(decoded(content))
    except ValueError:
        return
    if any("\0" in word for word in words) or any(word.startswith(("--out", "--o", "--plugin", "--p")) for word in words):
        return  # no command line holds a NUL; and nothing is to be written elsewhere
    told = io.StringIO()
    # A run may be a long one, and yet right: then its user has enough of it.
    impatience = threading.Timer(PATIENCE, os.kill, (os.getpid(), signal.SIGINT))
    impatience.start()
    try:
        with redirect_stderr(told), redirect_stdout(io.StringIO()):
            status = main(["run", "double-pendulum", "--backend", "vm", "--write", "csv", "--out", str(folder / "out"), *words])
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        impatience.cancel()
    assert status != 1 and "Traceback" not in told.getvalue(), told.getvalue()


def opened(path: Path) -> OpenedModel:
    found = open_model(path, plugins())
    how = found.how()
    for name in ("t_start", "t_end", "step", "output_step"):
        number = getattr(how, name)
        assert number is None or math.isfinite(number)
    assert all(math.isfinite(value) for value in found.settings.values())
    return found


@reader(".toml", seeds("crane.toml", "buoy.toml", "run.toml"), often=150, long=16_000)
def model(content: bytes, folder: Path) -> None:
    for name in ("samples.csv", "part.obj"):
        placed(seeds(name)[0], folder, name)
    opened(placed(content, folder, "model.toml"))


@reader(".toml", seeds("crane.toml", "buoy.toml", "run.toml"), often=6, long=400)
def model_posed(content: bytes, folder: Path) -> None:
    """The same, and its equations with its numbers."""
    for name in ("samples.csv", "part.obj"):
        placed(seeds(name)[0], folder, name)
    opened(placed(content, folder, "model.toml")).evaluate()


@functools.cache
def rotary_crane() -> OpenedModel:
    return open_model("rotary-crane", plugins())


@reader(".toml", seeds("task.toml"), often=200, long=12_000)
def task(content: bytes, folder: Path) -> None:
    """All servo tasks in a file; the machine refuses some, and the rest can be asked for numbers."""
    placed(seeds("samples.csv")[0], folder, "samples.csv")
    path = placed(content, folder, "task.toml")
    found = read_entries(read_toml(path)[1], folder)
    answer(lambda: read_task(path, rotary_crane()))
    scope = {parameter.name: parameter.default for parameter in rotary_crane().mechanism.parameters}
    for entry in found.values():
        answer(functools.partial(entry.check, rotary_crane().mechanism))
        assert entry.task.t_end > entry.task.t_start and -1 <= entry.task.smoothness <= 8
        for trajectory in entry.task.path.values():
            for t in (entry.task.t_start, entry.task.t_end):
                jets = answer(functools.partial(trajectory.jets, t, 8, scope))
                assert jets is None or not np.isnan(jets).any()


@reader(".urdf", seeds("arm.urdf"), often=150, long=8_000, form="xml")
def urdf(content: bytes, folder: Path) -> None:
    opened(placed(content, folder, "robot.urdf"))


@functools.cache
def packed_triangles() -> bytes:
    """An STL file in binary."""
    corners = np.random.default_rng(1).random((8, 12)).astype("<f4")
    return bytes(80) + struct.pack("<I", 8) + b"".join(row.tobytes() + bytes(2) for row in corners)


def mesh(content: bytes, folder: Path, name: str) -> None:
    points, triangles = read_mesh(placed(content, folder, name))
    assert np.isfinite(points).all() and triangles.min() >= 0 and triangles.max() < len(points)


@reader(".stl", lambda: [*seeds("part.stl"), packed_triangles()], often=200, long=4_000)
def mesh_stl(content: bytes, folder: Path) -> None:
    mesh(content, folder, "part.stl")


@reader(".obj", seeds("part.obj"), often=200, long=4_000)
def mesh_obj(content: bytes, folder: Path) -> None:
    mesh(content, folder, "part.obj")


@functools.cache
def pendulum() -> Any:
    from kingpost.simulation.verbs import situation

    return situation(open_model("double-pendulum", plugins()).mechanism, plugins=plugins())


@reader(".json", seeds("state.json"), often=500, long=20_000)
def state(content: bytes, folder: Path) -> None:
    from kingpost.mechanism.values import resolve_values

    found = checked_state(_read_state(str(placed(content, folder, "state.json"))))
    mechanism = pendulum().problem.mechanism
    resolve_values(mechanism, found.get("parameters", {}))
    for key, size in (("q", 2), ("v", 2), ("z", 0), ("u", 0)):
        assert np.isfinite(_vector(found, key, np.zeros(size), ["name"] * size)).all()


@reader(".csv", seeds("samples.csv"), often=500, long=14_000)
def samples(content: bytes, folder: Path) -> None:
    times, values = read_samples(placed(content, folder, "samples.csv"), "force")
    assert np.isfinite([times, values]).all() and (np.diff(times) > 0).all()


@functools.cache
def loads() -> Any:
    time, wave = cosine(4)
    return load_history(time, {"slew.Mx": 1e6 * wave, "slew.My": wave, "slew.Fz": 1e5 * wave**2})


@reader(".toml", seeds("spots.toml", "turned.toml", "matrix.toml"), often=150, long=9_000)
def hot_spots(content: bytes, folder: Path) -> None:
    curves = curve_set(placed(seeds("curves.toml")[0], folder, "curves.toml"))
    spots = read_hot_spots(placed(content, folder, "spots.toml"))
    if any(spot.loads for spot in spots):
        return  # to turn loads takes the geometry of a machine
    for result in assess_hot_spots(loads(), spots, curves).results:
        assert not math.isnan(result.life_years) and not math.isnan(result.damage)


@reader(".toml", seeds("curves.toml"), often=300, long=9_000)
def curves(content: bytes, folder: Path) -> None:
    for curve in read_curves(placed(content, folder, "curves.toml")).values():
        cycles = curve.cycles_to_failure([0.0, 1.0, 1e6, 1e8, 1e12])
        assert not np.isnan(cycles).any() and (cycles >= 0).all()
        assert not (np.diff(cycles[np.isfinite(cycles)]) > 0).any(), "a larger range lasts longer"
        assert math.isfinite(curve.thickness_factor(0.9))


@reader(".toml", seeds("states.toml"), often=300, long=9_000)
def states(content: bytes, folder: Path) -> None:
    table = read_states(placed(content, folder, "states.toml"))
    assert 0.0 <= table.total <= 1.0 + 1e-6
