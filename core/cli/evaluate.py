"""``kingpost eval``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.assembly import assemble
from kingpost.cli.output import print_json
from kingpost.cli.source import add_model_argument, open_source
from kingpost.equations import ENERGIES, Equations, FloatArray
from kingpost.errors import FileError, closest, listed
from kingpost.interfaces.command import Command
from kingpost.kernel import Evaluator
from kingpost.pluginset import PluginSet
from kingpost.selection import select
from kingpost.simulate import default_formulation, start_state
from kingpost.values import resolve_values

KEYS = ("t", "q", "v", "u", "parameters")


class Evaluate(Command):
    """Print mass matrix, accelerations, energies and outputs at one state, as JSON.

    STATE.json holds {"t": 0, "q": [...], "v": [...], "u": [...], "parameters": {...}}; what is left out keeps the
    model's own start value. Coordinates come in the order that the answer names.
    """

    name = "eval"
    example = """echo '{"q": [0.1, 0.2]}' | kingpost eval double-pendulum --at -"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument(
            "--at", metavar="STATE.json", help="file with the state, or - for standard input (default: the start)"
        )
        parser.add_argument("--formulation", metavar="NAME[:KEY=VALUE,...]", help="how the equations are written")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        source = open_source(arguments.model, plugins, arguments.set)
        state = _read_state(arguments.at)
        mechanism = source.mechanism
        values = resolve_values(mechanism, {**source.settings, **state.get("parameters", {})})
        formulation = select(source.plugins.formulations, arguments.formulation or default_formulation(mechanism))
        equations = formulation.derive(assemble(mechanism, source.plugins))
        q, v = equations.split(start_state(equations, values))
        inputs = np.array([values.inputs[signal.name] for signal in mechanism.inputs])
        p = np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])
        t = state.get("t", 0.0)
        q, v, u = (_vector(state, key, start, equations) for key, start in (("q", q), ("v", v), ("u", inputs)))
        equations.check_mass_matrix(np.concatenate([q, v]), p)
        print_json(_answer(equations, t, q, v, u, p))
        return 0


def _answer(equations: Equations, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> dict[str, Any]:
    mechanism = equations.mechanism
    M, f, vdot = (np.asarray(result) for result in equations.descriptor(t, q, v, u, p))
    y = Evaluator(equations.observe)(t, np.concatenate([q, v]), u, p)
    observed = {channel.name: float(value) for channel, value in zip(equations.channels, y, strict=True)}
    coordinates = mechanism.coordinates
    return {
        "model": mechanism.name,
        "formulation": equations.formulation,
        "t": t,
        "q": q.tolist(),
        "v": v.tolist(),
        "u": u.tolist(),
        "M": M.tolist(),
        "f": f.ravel().tolist(),
        "vdot": vdot.ravel().tolist(),
        "energy": {name.partition(".")[2]: observed[name] for name in ENERGIES},
        "outputs": {channel.name: observed[channel.name] for channel in equations.output_channels},
        "names": {
            "q": [coordinate.name for coordinate in coordinates],
            "v": [speed.name for speed in mechanism.speeds],
            "u": [signal.name for signal in mechanism.inputs],
        },
        "units": {
            "q": [coordinate.unit for coordinate in coordinates],
            "v": [speed.unit for speed in mechanism.speeds],
            "vdot": [f"{speed.unit.removesuffix('/s')}/s2" for speed in mechanism.speeds],
            "u": [signal.unit for signal in mechanism.inputs],
            "energy": "J",
            "outputs": {channel.name: channel.unit for channel in equations.output_channels},
        },
        "parameters": {
            parameter.name: {"value": float(value), "unit": parameter.unit}
            for parameter, value in zip(mechanism.parameters, p, strict=True)
        },
    }


def _read_state(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        state = json.loads(text)
    except FileNotFoundError:
        raise FileError(f"--at {name}: there is no such file") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileError(f"--at {name}: {error}") from None
    if not isinstance(state, dict):
        raise FileError(f"--at {name}: expected an object with some of {listed(KEYS)}, got {state!r}")
    for key in state:
        if key not in KEYS:
            raise FileError(f"--at {name}: a state has no '{key}'{closest(key, KEYS)} It takes: {listed(KEYS)}.")
    if not _is_number(state.get("t", 0.0)):
        raise FileError(f"--at {name}: t = {state['t']!r} is not a finite number")
    if not isinstance(state.get("parameters", {}), dict):
        raise FileError(f'--at {name}: parameters must be an object, e.g. {{"mass1": 2.0}}')
    return state


def _vector(state: dict[str, Any], key: str, start: FloatArray, equations: Equations) -> FloatArray:
    given = state.get(key)
    if given is None:
        return start
    if not isinstance(given, list) or len(given) != len(start):
        names = {"u": [signal.name for signal in equations.mechanism.inputs]}.get(
            key, [coordinate.name for coordinate in equations.mechanism.coordinates]
        )
        size = len(given) if isinstance(given, list) else given
        raise FileError(f"--at: {key} must be a list of {len(start)} numbers ({listed(names)}), got {size!r}")
    for i, value in enumerate(given):
        if not _is_number(value):
            raise FileError(f"--at: {key}[{i}] = {value!r} is not a finite number")
    return np.array(given, dtype=float)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
