"""``kingpost equilibrium`` and ``kingpost linearize``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, listed
from kingpost.base.load_frames import FORCE_UNIT, MOMENT_UNIT
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments
from kingpost.cli.output import print_json, print_table
from kingpost.cli.state import add_state_argument, situation_of, warn_of_fitted_start

if TYPE_CHECKING:
    from kingpost.base.arrays import FloatArray
    from kingpost.registry.pluginset import PluginSet
    from kingpost.simulation.verbs import Situation
    from kingpost.statics.equilibrium import Equilibrium
    from kingpost.statics.linearize import Linearisation
    from kingpost.statics.loci import Loci


class FindEquilibrium(Command):
    """Find a state in which a machine stays at rest, and say how it is held there.

    Newton's method with the exact Jacobian starts from the model's start values (or --at). By default it looks for a stable
    equilibrium and leaves unstable ones that it meets; --any takes the nearest. Set-points are frozen at the time of the state.
    Closed loops are closed first, and what their closures carry is printed, too.
    """

    name = "equilibrium"
    example = "kingpost equilibrium vessel-crane --set m4=60"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_argument(parser)
        add_how_arguments(parser, "formulation", "load_metric", "cut")
        parser.add_argument("--any", action="store_true", help="take the nearest equilibrium, stable or not")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model
        from kingpost.simulation.verbs import at_rest

        place = situation_of(open_model(arguments.model, plugins, arguments.set, python=True), arguments)
        found = at_rest(place, stable=not arguments.any)
        if arguments.json:
            print_json(_equilibrium_record(place, found))
            return 0
        equations = place.equations
        names = [item.name for item in equations.position_quantities]
        places = zip(equations.position_quantities, found.x, strict=False)
        rows = [("coordinate", item.name, f"{value:.9g} {item.unit}") for item, value in places]
        led = zip(equations.states.quantities, equations.states_of(found.x), strict=True)
        rows += [("state", item.name, f"{value:.9g} {item.unit}") for item, value in led]
        print_table([*rows, *_closure_rows(place, found)])
        print(f"\nforce left over: {found.residual:.2e} along {found.residual_at}, after {found.iterations} iterations")
        if found.redundant:
            print(
                f"rigid bodies leave loads in the loops of {listed(found.redundant)} open; they are the smallest over all "
                "joints of these loops"
            )
        for q in found.passed:
            shown = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, q, strict=False))
            print(f"came past an unstable equilibrium at {shown}")
        print("stable" if found.stable else "UNSTABLE: small motions grow")
        print()
        _print_modes(found.linearisation)
        return 0


class Linearize(Command):
    """Print the small motions of a machine around a state: eigenvalues, frequencies, damping and mode shapes.

    With --json also the matrices A, B, C, D of xi' = A xi + B du, dy = C xi + D du, where xi holds a small displacement along
    every generalized speed, then the speeds, and y the model's outputs. Of closed loops, xi holds those of independent joints.

    With --sweep NAME=A..B:N the eigenvalues along a parameter, an input or a start value: branches followed from value to
    value, the values at which stability changes or pairs form, and shapes there. The machine is taken at its start, moving or
    not, at each value; with --from equilibrium, an equilibrium is followed, through instability, too.
    """

    name = "linearize"
    example = "kingpost linearize whipple-bicycle --sweep speed=0..10:101 --out loci.png"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_argument(parser)
        add_how_arguments(parser, "formulation", "start", "close_loops", "cut", start="around which state")
        parser.add_argument("--sweep", metavar="NAME=A..B[:N]", help="eigenvalues along N values (default 51) from A to B")
        parser.add_argument(
            "--out",
            metavar="FILE",
            type=Path,
            action="append",
            default=[],
            help="write a sweep to .csv, .json, .png, .svg or .pdf (repeatable)",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model
        from kingpost.simulation.verbs import linearised

        if arguments.sweep is None and arguments.out:
            raise FileError(f"--out {arguments.out[0]}: files are written of a sweep; add --sweep NAME=A..B, or use --json")
        if arguments.sweep is not None:
            return _swept(arguments, plugins)
        place, result = linearised(situation_of(open_model(arguments.model, plugins, arguments.set, python=True), arguments))
        if place.problem.how.start != "equilibrium":
            warn_of_fitted_start(place.problem)
        if arguments.json:
            print_json({**_state_record(place, place.x), **_linear_record(result)})
        else:
            _print_modes(result)
        return 0


def _swept(arguments: argparse.Namespace, plugins: PluginSet) -> int:
    """Print eigenvalues along a sweep, and write them to files."""
    from kingpost.modelfiles.opened import open_model
    from kingpost.simulation.loci_files import check_suffix, loci_record, write_loci
    from kingpost.simulation.sweep import Sweep, swept

    sweep = Sweep.parse(arguments.sweep)
    for path in arguments.out:
        check_suffix(path)
    loci = swept(situation_of(open_model(arguments.model, plugins, arguments.set, python=True), arguments), sweep)
    for path in arguments.out:
        write_loci(loci, path)
    if arguments.json:
        print_json(loci_record(loci))
        return 0
    _print_loci(loci)
    for path in arguments.out:
        print(f"written: {path}")
    return 0


def _print_loci(loci: Loci) -> None:
    import numpy as np

    known = np.flatnonzero(loci.known)
    first, last = int(known[0]), int(known[-1])
    unit = f" {loci.unit}" if loci.unit else ""
    print(f"{loci.model}: {len(known)} of {len(loci.values)} values of {loci.name}\n")
    rows = [
        (
            str(k + 1),
            _shown(loci.eigenvalues[first, k]),
            _shown(loci.eigenvalues[last, k]),
            _largest_parts(loci.shapes[first, :, k], loci.shape_names),
        )
        for k in range(loci.branches)
    ]
    ends = [f"AT {loci.values[i]:g}{unit} [1/s]" for i in (first, last)]
    print_table(rows, ("BRANCH", *ends, "LARGEST PARTS OF THE SHAPE AT THE FIRST (phase in degrees)"))
    if loci.zeros:
        print(f"\n{loci.zeros} more are zero throughout: displacements that nothing depends on")
    print()
    if loci.criticals:
        shapes = [_largest_parts(item.shape, loci.shape_names) for item in loci.criticals]
        print_table(
            [
                (f"{item.value:.8g}{unit}", _shown(item.eigenvalue), item.words, shape)
                for item, shape in zip(loci.criticals, shapes, strict=True)
            ],
            (loci.name, "EIGENVALUE [1/s]", "WHAT HAPPENS", "LARGEST PARTS OF THE SHAPE (phase in degrees)"),
        )
    else:
        print("no critical values: stability does not change, and no pair forms or parts")
    print(f"stable at {int(loci.stable.sum())} of {len(known)} values")
    for value, why in loci.left_out.items():
        print(f"left out: {loci.name} = {value:g}{unit}: {why}")


def _shown(value: complex) -> str:
    return f"{value.real:.5g}" + (f" {'+' if value.imag > 0 else '-'} {abs(value.imag):.5g}i" if value.imag else "")


def _largest_parts(shape: Any, names: Sequence[str]) -> str:
    """Return up to three parts of a shape, each with its size and, where it is not in step with the largest, its phase."""
    import numpy as np

    words = []
    for i in np.argsort(-np.abs(shape), kind="stable")[:3]:
        if abs(shape[i]) > 0.05:
            phase = float(np.degrees(np.angle(shape[i])))
            words.append(f"{names[i]} {abs(shape[i]):.2f}" + (f" at {phase:+.0f}" if abs(phase) > 0.5 else ""))
    return ", ".join(words)


def _print_modes(result: Linearisation) -> None:
    import numpy as np

    names = result.shape_names
    rows = []
    for mode in result.modes:
        largest = np.argsort(-np.abs(mode.shape), kind="stable")[:3]
        parts = [f"{names[i]} {mode.shape[i].real:+.2f}" for i in largest if abs(mode.shape[i]) > 0.05]
        value = mode.eigenvalue
        shown = f"{value.real:.4g}" + (f" +- {value.imag:.4g}i" if value.imag else "")
        rows.append((shown, f"{mode.frequency:.4g}", f"{mode.damping + 0.0:.4g}", ", ".join(parts)))
    print_table(rows, ("EIGENVALUE [1/s]", "FREQUENCY [Hz]", "DAMPING", "LARGEST PARTS OF THE SHAPE"))


def _closure_rows(place: Situation, found: Equilibrium) -> list[tuple[str, str, str]]:
    """Return what each closure carries, in words: the resultants of its wrench, or the efforts along what it ties."""
    import numpy as np

    from kingpost.multibody.constraints import efforts_of

    rows = []
    for closure in place.equations.mechanism.closures:
        words = []
        if closure.name in found.closures:
            moment, force = found.closures[closure.name][:3], found.closures[closure.name][3:]
            words += [f"force {np.linalg.norm(force):.9g} {FORCE_UNIT}", f"moment {np.linalg.norm(moment):.9g} {MOMENT_UNIT}"]
        efforts = found.closures.get(efforts_of(closure.name), ())
        words += [f"{effort:.9g} along {name}" for name, effort in zip(closure.coordinates, efforts, strict=bool(len(efforts)))]
        rows.append(("closure", closure.name, ", ".join(words)))
    return rows


def _state_record(place: Situation, x: FloatArray) -> dict[str, Any]:
    equations = place.equations
    q, v = equations.split(x)
    parts = {
        "q": (q, equations.position_quantities),
        "v": (v, equations.speed_quantities),
        **({"z": (equations.states_of(x), equations.states.quantities)} if equations.nz else {}),
    }
    return {
        "model": equations.mechanism.name,
        "t": place.t,
        **{key: values.tolist() for key, (values, _) in parts.items()},
        "names": {key: [item.name for item in quantities] for key, (_, quantities) in parts.items()},
        "units": {key: [item.unit for item in quantities] for key, (_, quantities) in parts.items()},
    }


def _linear_record(result: Linearisation) -> dict[str, Any]:
    return {
        "states": list(result.states),
        "inputs": list(result.inputs),
        "outputs": list(result.outputs),
        "shape_names": list(result.shape_names),
        "A": result.A.tolist(),
        "B": result.B.tolist(),
        "C": result.C.tolist(),
        "D": result.D.tolist(),
        "modes": [
            {
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "frequency_Hz": mode.frequency,
                "damping": mode.damping,
                "shape_real": mode.shape.real.tolist(),
                "shape_imag": mode.shape.imag.tolist(),
            }
            for mode in result.modes
        ],
    }


def _equilibrium_record(place: Situation, found: Equilibrium) -> dict[str, Any]:
    return {
        **_state_record(place, found.x),
        "stable": found.stable,
        "residual": found.residual,
        "residual_at": found.residual_at,
        "iterations": found.iterations,
        "passed_unstable": [q.tolist() for q in found.passed],
        "closures": {name: wrench.tolist() for name, wrench in found.closures.items()},
        "redundant_closures": list(found.redundant),
        "shape_names": list(found.linearisation.shape_names),
        "modes": _linear_record(found.linearisation)["modes"],
    }
