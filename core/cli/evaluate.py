"""``kingpost eval``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import listed
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.output import print_json
from kingpost.cli.state import Situation, add_state_arguments, open_situation, warn_of_fitted_start

if TYPE_CHECKING:
    from kingpost.base.arrays import FloatArray
    from kingpost.equations.equations import Equations
    from kingpost.registry.pluginset import PluginSet


class Evaluate(Command):
    """Print mass matrix, accelerations, joint loads, energies and outputs at one state, as JSON.

    STATE.json holds {"t": 0, "q": [...], "v": [...], "u": [...], "parameters": {...}}; what is left out keeps the
    model's own start value. Coordinates come in the order that the answer names. Of closed loops also errors and multipliers
    of the constraints are printed: a state that is given is taken as it is, with a warning if it does not fit; what is left
    out is fitted as in a run.
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

        parser.add_argument(
            "--close-loops",
            action="store_true",
            help="let a state that leaves loops open be changed until they close",
        )

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.loads.ports import metered_start
        from kingpost.modelfiles.source import open_source
        from kingpost.simulation.simulate import with_loads

        source = open_source(arguments.model, plugins, arguments.set)
        place = open_situation(source, arguments)
        equations = with_loads(place.assembly, place.equations, "all", arguments.load_method, source.plugins)
        x = metered_start(equations, _fitted(place, arguments.close_loops))
        answer = _answer(equations, place.t, *equations.split(x), place.u, place.p)
        for sentence in _misfits(answer.get("constraints", {})):
            print(f"kingpost: warning: {sentence}", file=sys.stderr)
        print_json(answer)
        return 0


def _fitted(place: Situation, close_loops: bool) -> FloatArray:
    """Return the state with what was not given fitted to the loops, as a run would begin; or all of it, if that is wanted."""
    import numpy as np

    from kingpost.equations.consistency import OPEN, consistent_start

    equations = place.equations
    if not equations.lam.numel() or ("v" in place.given and not close_loops):
        return place.x
    if "q" in place.given and not close_loops:
        position = equations.constraint_residuals(place.t, *equations.split(place.x), place.p)[0]
        if not np.abs(np.asarray(position)).max(initial=0.0) <= OPEN:
            return place.x
    begin = consistent_start(equations, place.t, place.x, place.p, close_loops)
    warn_of_fitted_start(begin.changes, place.names[: equations.nq])
    return begin.x


def _constraints(equations: Equations, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> dict[str, Any]:
    """Return errors and multipliers of the constraints, row by row."""
    import numpy as np

    position, speed = (np.asarray(part).ravel() for part in equations.constraint_residuals(t, q, v, p))
    return {
        "owners": list(equations.owners),
        "position": position.tolist(),
        "speed": speed.tolist(),
        "multipliers": np.asarray(equations.multipliers(t, q, v, u, p)).ravel().tolist(),
        "redundant_closures": list(equations.redundant),
    }


def _misfits(constraints: dict[str, Any]) -> list[str]:
    """Say which closures a state does not satisfy."""
    from kingpost.equations.consistency import OPEN

    found = []
    for level, what, unit in (("position", "is open by", "m or rad"), ("speed", "runs apart at", "m/s or rad/s")):
        worst: dict[str, float] = {}
        # Rows of rolling have speeds alone; they come last.
        for owner, error in zip(constraints.get("owners", ()), constraints.get(level, ()), strict=False):
            worst[owner] = max(worst.get(owner, 0.0), abs(error))
        found += [f"'{owner}' {what} {error:.4g} {unit}" for owner, error in worst.items() if not error <= OPEN]
    if not found:
        return []
    return [
        f"the state does not satisfy the loops: {listed(found)}. What is printed holds for the equations there, not for the "
        "machine; --close-loops takes the nearest state that fits"
    ]


def _answer(equations: Equations, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> dict[str, Any]:
    import numpy as np

    from kingpost.equations.equations import ENERGIES
    from kingpost.kernel.kernel import Evaluator

    mechanism = equations.mechanism
    M, f, vdot = (np.asarray(result) for result in equations.descriptor(t, q, v, u, p))
    y = Evaluator(equations.observe)(t, np.concatenate([q, v]), u, p)
    observed = {channel.name: float(value) for channel, value in zip(equations.channels, y, strict=True)}
    coordinates, speeds = equations.position_quantities, equations.speed_quantities
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
        **({"constraints": _constraints(equations, t, q, v, u, p)} if equations.lam.numel() else {}),
        "names": {
            "q": [coordinate.name for coordinate in coordinates],
            "v": [speed.name for speed in speeds],
            "u": [signal.name for signal in mechanism.inputs],
        },
        "units": {
            "q": [coordinate.unit for coordinate in coordinates],
            "v": [speed.unit for speed in speeds],
            "vdot": [f"{speed.unit.removesuffix('/s')}/s2" for speed in speeds],
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
