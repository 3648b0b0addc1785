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
from kingpost.pluginset import PluginSet


class Evaluate(Command):
    """Print mass matrix, accelerations, energies and outputs at one state, as JSON.

    STATE.json holds {"t": 0, "q": [...], "v": [...], "u": [...], "parameters": {...}}; what is left out keeps the
    model's own start value. Coordinates come in the order that the answer names.
    """

    name = "eval"
    example = """echo '{"q": [0.1, 0.2]}' | kingpost eval double-pendulum --at -"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_arguments(parser)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        place = open_situation(open_source(arguments.model, plugins, arguments.set), arguments)
        print_json(_answer(place.equations, place.t, *place.equations.split(place.x), place.u, place.p))
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
