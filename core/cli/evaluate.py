"""``kingpost eval``."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from kingpost.cli.output import print_json
from kingpost.cli.source import add_model_argument, open_source
from kingpost.cli.state import add_state_arguments, open_situation
from kingpost.equations import ENERGIES, Equations, FloatArray
from kingpost.interfaces.command import Command
from kingpost.kernel import Evaluator
from kingpost.loadframes import COMPONENTS
from kingpost.loads import UNITS
from kingpost.pluginset import PluginSet
from kingpost.simulate import with_loads


class Evaluate(Command):
    """Print mass matrix, accelerations, joint loads, energies and outputs at one state, as JSON.

    STATE.json holds {"t": 0, "q": [...], "v": [...], "u": [...], "parameters": {...}}; what is left out keeps the
    model's own start value. Coordinates come in the order that the answer names.
    """

    name = "eval"
    example = """echo '{"q": [0.1, 0.2]}' | kingpost eval double-pendulum --at -"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_arguments(parser)
        parser.add_argument(
            "--load-method",
            metavar="NAME",
            help="how joint loads are found (default: auxiliary-speeds with kane, else recursive)",
        )

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        source = open_source(arguments.model, plugins, arguments.set)
        place = open_situation(source, arguments)
        equations = with_loads(place.assembly, place.equations, "all", arguments.load_method, source.plugins)
        print_json(_answer(equations, place.t, *equations.split(place.x), place.u, place.p))
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
        "loads": _loads(equations, observed),
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
            "wrench": list(UNITS),
        },
        "parameters": {
            parameter.name: {"value": float(value), "unit": parameter.unit}
            for parameter, value in zip(mechanism.parameters, p, strict=True)
        },
    }


def _loads(equations: Equations, observed: dict[str, float]) -> dict[str, Any]:
    """Return the total wrench of each joint [Mx, My, Mz, Fx, Fy, Fz], and the parts it is the sum of."""

    def wrench(prefix: str) -> list[float]:
        return [observed[f"{prefix}.{component}"] for component in COMPONENTS]

    answer = {}
    for joint, record in (equations.loads.record["joints"] if equations.loads else {}).items():
        total, parts = wrench(joint), record["parts"]
        answer[joint] = {
            "wrench": total,
            "frame": record["frame"],
            "side": record["side"],
            "at": record["at"],
            "parts": {part: total if len(parts) == 1 else wrench(f"{joint}.{part}") for part in parts},
        }
    return answer
