"""A state of a machine as the command line gives it: a JSON file on top of the model's own start values."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, closest, listed
from kingpost.registry.selection import select

if TYPE_CHECKING:
    from kingpost.base.arrays import FloatArray
    from kingpost.equations.equations import Equations
    from kingpost.modelfiles.source import Source
    from kingpost.multibody.assembly import Assembly

KEYS = ("t", "q", "v", "u", "parameters")


@dataclass(frozen=True, eq=False)
class Situation:
    """The equations of a machine, and numbers for everything in them."""

    assembly: Assembly
    equations: Equations
    t: float
    x: FloatArray
    u: FloatArray
    p: FloatArray
    #: What --at gives, the rest being the model's own start values.
    given: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries of ``x``."""
        quantities = (*self.equations.position_quantities, *self.equations.speed_quantities)
        return tuple(quantity.name for quantity in quantities)

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the entries of ``x``."""
        quantities = (*self.equations.position_quantities, *self.equations.speed_quantities)
        return tuple(quantity.unit for quantity in quantities)


def add_state_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--at`` and ``--formulation``."""
    parser.add_argument("--at", metavar="STATE.json", help="file with the state, or - for standard input (default: the start)")
    parser.add_argument("--formulation", metavar="NAME[:KEY=VALUE,...]", help="how the equations are written")


def open_situation(source: Source, arguments: argparse.Namespace) -> Situation:
    """Return what ``--at`` says about the machine, and the model's own start values for the rest."""
    import numpy as np

    from kingpost.equations.consistency import without_redundant_rows
    from kingpost.mechanism.values import resolve_values
    from kingpost.multibody.assembly import assemble
    from kingpost.simulation.run import check_singularity
    from kingpost.simulation.simulate import default_formulation, start_state

    state = _read_state(arguments.at)
    mechanism = source.mechanism
    values = resolve_values(mechanism, {**source.settings, **state.get("parameters", {})})
    formulation = select(source.plugins.formulations, arguments.formulation or default_formulation(mechanism))
    assembly = assemble(mechanism, source.plugins)
    equations = formulation.derive(assembly)
    q, v = equations.split(start_state(equations, values))
    inputs = np.array([values.inputs[signal.name] for signal in mechanism.inputs])
    p = np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])
    names = {
        "q": [coordinate.name for coordinate in equations.position_quantities],
        "v": [speed.name for speed in equations.speed_quantities],
        "u": [signal.name for signal in mechanism.inputs],
    }
    q, v, u = (_vector(state, key, start, names[key]) for key, start in (("q", q), ("v", v), ("u", inputs)))
    x = np.concatenate([q, v])
    t = float(state.get("t", 0.0))
    check_singularity(equations, x, t)
    equations.check_mass_matrix(x, p)
    equations = without_redundant_rows(equations, t, x, p)
    return Situation(assembly, equations, t, x, u, p, frozenset(state))


def warn_of_fitted_start(changes: Mapping[str, float], coordinates: Iterable[str]) -> None:
    """Say on standard error which coordinates do not start where they were asked to, so that loops are closed."""
    known = set(coordinates)
    for name, change in changes.items():
        if name in known:
            print(f"kingpost: warning: '{name}' starts {change:+.4g} from its start value, to close loops", file=sys.stderr)


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


def _vector(state: dict[str, Any], key: str, start: FloatArray, names: list[str]) -> FloatArray:
    import numpy as np

    given = state.get(key)
    if given is None:
        return start
    if not isinstance(given, list) or len(given) != len(start):
        size = len(given) if isinstance(given, list) else given
        raise FileError(f"--at: {key} must be a list of {len(start)} numbers ({listed(names)}), got {size!r}")
    for i, value in enumerate(given):
        if not _is_number(value):
            raise FileError(f"--at: {key}[{i}] = {value!r} is not a finite number")
    return np.array(given, dtype=float)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
