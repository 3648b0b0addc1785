"""``kingpost run``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import listed
from kingpost.cli.arguments import add_input_argument, add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import OPTIONS, add_how_arguments, settings_from
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import SHOWN, carried_out, channel_rows, file_row, load_rows, more_row, not_unique_rows, tell
from kingpost.cli.signals import while_doing
from kingpost.cli.state import warn_of_fitted_start

if TYPE_CHECKING:
    from kingpost.mechanism.elements import Joint
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History
    from kingpost.simulation.run import Simulation


#: How a free joint is turned.
ANGLES = ("roll", "pitch", "yaw")
#: Exit status of a run whose steps are too long for its motion; its files are kept.
DIVERGES = 11


class Run(Command):
    """Simulate a machine and write its history.

    Writes history.csv (time, coordinates, rates, outputs, energies, joint loads, motion of the bodies) and run.json (what was
    computed, by which plugins and versions, with which numbers) into the output folder; --plot draws history.png beside them.
    A history of more than ten million numbers is written while it is computed, with the 'io' extra as history.parquet.
    """

    name = "run"
    example = "kingpost run double-pendulum --t-end 10 --set length2=0.7 --integrator dop853:rtol=1e-10 --out results/dp"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_how_arguments(parser, *OPTIONS)
        add_input_argument(parser)
        add_result_options(parser)
        parser.add_argument("-v", "--verbose", action="store_true", help="say which kernel is used and where it came from")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.cli.long_runs import carried_out_long, for_size
        from kingpost.modelfiles.opened import open_model
        from kingpost.modelfiles.signal_words import with_inputs
        from kingpost.simulation.simulate import carry_out, prepare

        with while_doing(f"'{arguments.model}' was being prepared; nothing was computed"):
            opened = with_inputs(open_model(arguments.model, plugins, arguments.set, python=True), arguments.input)
            how = opened.how(settings_from(arguments))
            how = how.with_usual_loads(how.with_cuts(opened.mechanism, opened.plugins))
            results = result_options(arguments, opened.mechanism.name, opened.plugins, how.write)
            simulation = prepare(
                opened.mechanism, settings=opened.settings, inputs=opened.inputs, how=how, plugins=opened.plugins
            )
        if arguments.verbose:
            backend = {"c": "machine code", "vm": "interpreter"}[simulation.kernel.backend]
            print(f"kernel: {backend}; {simulation.kernel.note}", file=sys.stderr)
        elif simulation.kernel.backend == "vm" and how.backend != "vm":
            print(f"kingpost: {simulation.kernel.note}", file=sys.stderr)
        elif simulation.kernel.cache_obstacle:
            print(f"kingpost: {simulation.kernel.cache_obstacle}", file=sys.stderr)
        if not simulation.problem.stepper.fixed and arguments.verbose:
            print(f"loop: '{simulation.integrator.name}' chooses its steps in Python", file=sys.stderr)
        results, long = for_size(results, simulation, how.write is not None, opened.plugins)
        history, files = (
            carried_out_long(simulation, results) if long
            else carried_out(partial(carry_out, simulation), simulation.mechanism.name, results)
        )  # fmt: skip
        warn_of_fitted_start(simulation.problem)
        tell(history, results, lambda: _summary(simulation, history, files))
        return DIVERGES if history.provenance["diverges"] else 0


def _summary(simulation: Simulation, history: History, files: list[Path]) -> list[tuple[str, str]]:
    from kingpost.cli.long_runs import written_row

    grid, record = simulation.grid, history.provenance
    choice = simulation.problem.chosen
    # What most machines take needs no words.
    why = f" ({choice.reason.partition(':')[0]})" if choice and choice.formulation != "kane" else ""
    method = f"{record['formulation']}{why}, {record['integrator']['name']}"
    if record["time"]["step_s"]:
        method += f" with {grid.step:g} s"
    total = history["energy.total"]
    loads = record.get("loads", {"joints": {}})
    said = f"{len(loads['joints'])} joints by {loads['method']}" if loads["joints"] else "none (ask with --loads all)"
    rows = [
        ("model", f"{simulation.mechanism.name} ({_freedom(simulation)})"),
        ("method", method),
        ("time", f"{grid.t_start:g} s to {grid.t_end:g} s, {grid.samples + 1} samples"),
        (
            "backend",
            f"{record['backend']['name']}, {record['statistics'].get('steps', 0)} steps in {record['wall_time_s']:.3g} s",
        ),
        ("energy", f"{total[0]:.9g} J at the start, {total[-1]:.9g} J at the end"),
        ("loads", said),
    ]
    if simulation.rows.sources:
        rows.append(("inputs", listed(f"{name} ({_source(said)})" for name, said in simulation.rows.sources.items())))
    if "sea" in record:
        rows.append(("sea", sea_words(record["sea"])))
    if simulation.mechanism.closures:
        rows.insert(1, ("closures", _closures(simulation)))
    rows += not_unique_rows(history)
    if "verification" in record:
        rows.append(("verified", _verified(record["verification"])))
    check = record.get("step_check", {})
    if "largest_change" in check:
        largest = check["largest_change"]
        rows.append(
            ("step check", f"peak loads change by up to {largest['part']:.2g} ({largest['channel']}), {check['against']}")
        )
    rows += channel_rows(history, history.channels[: simulation.equations.nq])
    free = _free(simulation, history)
    rows += [(f"{joint.name} turned", _attitude(history, joint)) for joint in free[:SHOWN]]
    rows += more_row(len(free), "free joints")
    rows += load_rows(history, list(loads["joints"]))
    return [*rows, *written_row(simulation, history), file_row(files)]


def sea_words(found: Mapping[str, Any]) -> str:
    """Return what the waves of a sea amount to, beside what was asked for."""
    words = f"Hs {found['Hs_m']:.4g} m, Tz {found['Tz_s']:.4g} s of {found['components']} waves"
    if "asked" in found:
        words += f" (spectrum: {found['asked']['Hs_m']:.4g} m, {found['asked']['Tz_s']:.4g} s)"
        words += f"; repeats itself to {100 * found['repetition']:.0f} % at most within three hours"
    for name, said in found.get("forces", {}).items():
        percent = said.get("energy_outside_table_percent", 0.0)
        if percent >= 1.0:
            words += f"; {percent:.1f} % of its energy outside the frequencies of '{name}'"
    return words


def _verified(found: Mapping[str, Any]) -> str:
    """Return how far the accelerations of a second formalism are apart."""
    by, where = f"by {found['formulation']}", f"of {found['coordinate']} at {found['at_s']:g} s"
    if not found["coordinate"]:
        return f"{by}: nothing can move"
    if found["largest_difference"] is None:
        return f"{by}: its accelerations are not finite, {where}"
    words = f"{by}: accelerations differ by at most {found['largest_difference']:.2g} {found['unit']}"
    return f"{words} ({found['part']:.1g} of the largest), {where}"


def _source(said: Mapping[str, Any]) -> str:
    """Return in a few words where an input comes from."""
    place = said.get("file", said.get("trajectory", "samples"))
    return f"{place}, {said['interpolation']}" if "interpolation" in said else str(place)


def _freedom(simulation: Simulation) -> str:
    """Return how many ways the machine can move at once, and how many coordinates and constraints that takes."""
    equations = simulation.equations
    held = equations.constraints.count
    free = equations.nv - held
    words = f"{free} degree{'' if free == 1 else 's'} of freedom"
    return f"{words}: {equations.nv} speeds, {held} constraints" if held else words


def _closures(simulation: Simulation) -> str:
    """Return the closures, and those with constraints that follow from others."""
    words = listed(f"{closure.name} ({closure.kind})" for closure in simulation.mechanism.closures)
    redundant = simulation.equations.constraints.redundant
    return f"{words}; redundant: {listed(redundant)}" if redundant else words


def _free(simulation: Simulation, history: History) -> list[Joint]:
    """Return the joints whose orientation is a quaternion, which nobody reads."""
    free = [joint for joint in simulation.mechanism.joints if joint.kind == "free"]
    return [joint for joint in free if all(f"{joint.name}.{angle}" in history for angle in ANGLES)]


def _attitude(history: History, joint: Joint) -> str:
    """Return roll, pitch and yaw of a free joint (R = Rz Ry Rx), in degrees: the last ones, and the extremes."""
    import numpy as np

    words = []
    for name in ANGLES:
        degrees = np.degrees(history[f"{joint.name}.{name}"])
        words.append(f"{name} {degrees[-1]:.4g} ({degrees.min():.4g} to {degrees.max():.4g})")
    return f"{', '.join(words)} deg"
