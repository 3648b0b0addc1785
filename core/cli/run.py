"""``kingpost run``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.errors import KingpostError, MechanismError, PluginError, listed
from kingpost.base.load_frames import FORCE_UNIT, MOMENT_UNIT
from kingpost.cli.command import Command
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import SHOWN, carried_out, channel_rows, file_row, tell
from kingpost.cli.state import warn_of_fitted_start
from kingpost.equations.integrator import StepMap
from kingpost.kernel.kernel import BACKENDS
from kingpost.mechanism.load_request import LoadsWanted
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.sections import cut
from kingpost.modelfiles.source import Source, add_model_argument, open_source
from kingpost.modelfiles.toml_model import RunSettings
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.monitors import monitored_run
from kingpost.simulation.run import Simulation
from kingpost.simulation.simulate import prepare

#: Machines with at most this many joints have their loads computed unless the user says otherwise.
FEW = 12


class Run(Command):
    """Simulate a machine and write its history.

    Writes history.csv (time, coordinates, rates, outputs, energies, joint loads, motion of the bodies), run.json (what was
    computed, by which plugins and versions, with which numbers) and, with the 'viz' extra, history.png into the output folder.
    """

    name = "run"
    example = "kingpost run double-pendulum --t-end 10 --set length2=0.7 --integrator dop853:rtol=1e-10 --out results/dp"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument(
            "--formulation",
            metavar="NAME[:KEY=VALUE,...]",
            help="how the equations are written (default: kane; recursive for large machines)",
        )
        parser.add_argument("--integrator", metavar="NAME[:KEY=VALUE,...]", help="how time is advanced (default: rk4)")
        parser.add_argument("--t-end", type=float, metavar="S", help="end time in s (default: the model's own)")
        parser.add_argument("--t-start", type=float, metavar="S", help="start time in s (default: 0)")
        parser.add_argument("--step", type=float, metavar="S", help="step of a fixed-step integrator in s (default: 0.001)")
        parser.add_argument("--output-step", type=float, metavar="S", help="time between samples in s (default: about 0.01)")
        parser.add_argument(
            "--from",
            dest="start",
            choices=["start", "equilibrium"],
            help="begin at the start values, or at rest in equilibrium",
        )
        parser.add_argument(
            "--loads",
            action="append",
            metavar="JOINT[:KEY=VALUE,...]",
            help="joints whose loads are wanted: all, none, names, or e.g. slew:frame=parent,side=parent,at=0/0/0.5 "
            f"(repeatable; default: all, if there are at most {FEW} joints)",
        )
        parser.add_argument(
            "--load-method",
            metavar="NAME",
            help="how joint loads are found (default: auxiliary-speeds with kane, else recursive)",
        )
        parser.add_argument(
            "--cut",
            action="append",
            metavar="BODY=DISTANCE",
            help="cut a body by a weld, so many m from its joint, for the section load there (repeatable)",
        )
        parser.add_argument(
            "--close-loops",
            action=argparse.BooleanOptionalAction,
            help="let start values that leave loops open by more than 0.01 rad or m be changed until they close",
        )
        parser.add_argument(
            "--monitors",
            action=argparse.BooleanOptionalAction,
            help="also write energy balance, momentum, and errors, rank and condition of the constraints of closed loops",
        )
        parser.add_argument("--backend", choices=BACKENDS, help="machine code (c), interpreter (vm), or what can be had (auto)")
        add_result_options(parser)
        parser.add_argument("-v", "--verbose", action="store_true", help="say which kernel is used and where it came from")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        source = open_source(arguments.model, plugins, arguments.set)
        choice = _choices(arguments, source)
        source = dataclasses.replace(source, mechanism=_with_cuts(source, choice.get("cut") or ()))
        results = result_options(arguments, source.mechanism.name, source.plugins, choice.get("write"))
        simulation = _prepare(source, choice)
        if arguments.verbose:
            backend = {"c": "machine code", "vm": "interpreter"}[simulation.kernel.backend]
            print(f"kernel: {backend}; {simulation.kernel.note}", file=sys.stderr)
        elif simulation.kernel.backend == "vm" and choice.get("backend") != "vm":
            print(f"kingpost: {simulation.kernel.note}", file=sys.stderr)
        if not isinstance(simulation.integrator, StepMap) and arguments.verbose:
            print(f"loop: '{simulation.integrator.name}' chooses its steps in Python", file=sys.stderr)
        run = partial(monitored_run, simulation) if choice.get("monitors") else simulation.run
        history, files = carried_out(run, source.mechanism.name, results)
        warn_of_fitted_start(simulation.fitted, (quantity.name for quantity in simulation.mechanism.coordinates))
        tell(history, results, lambda: _summary(simulation, history, files))
        return 0


def _choices(arguments: argparse.Namespace, source: Source) -> dict[str, Any]:
    """Return how to run: the command line before the file, and a file before the one it takes its model from."""
    names = [field.name for field in dataclasses.fields(RunSettings)]
    layers: list[dict[str, Any]] = [
        {name: value for name in names if (value := getattr(layer, name)) is not None} for layer in (*source.run, arguments)
    ]
    choice: dict[str, Any] = {"t_end": source.t_end, "integrator": "rk4"}
    for layer in layers:
        choice |= layer
    choice["integrator"] = _selected(source.plugins.integrators, choice["integrator"])
    if "formulation" in choice:
        choice["formulation"] = _selected(source.plugins.formulations, choice["formulation"])
    if "load_method" in choice:
        choice["load_method"] = _selected(source.plugins.joint_loads, choice["load_method"])
    if isinstance(choice["integrator"], StepMap):
        choice.setdefault("step", source.step)
    elif _last_with("step", layers) < _last_with("integrator", layers):
        choice.pop("step", None)  # meant for the fixed-step integrator that this solver replaces
    return choice


def _last_with(name: str, layers: list[dict[str, Any]]) -> int:
    return max((i for i, layer in enumerate(layers) if name in layer), default=-1)


def _prepare(source: Source, choice: dict[str, Any]) -> Simulation:
    names = ("t_start", "step", "output_step", "formulation", "integrator", "backend", "start", "close_loops", "load_method")
    return prepare(
        source.mechanism,
        choice["t_end"],
        settings=source.settings,
        plugins=source.plugins,
        loads=_wanted_loads(choice.get("loads"), source.mechanism),
        **{name: choice[name] for name in names if name in choice},
    )


def _with_cuts(source: Source, cuts: Sequence[str]) -> Mechanism:
    mechanism = source.mechanism
    for text in cuts:
        body, equals, distance = text.partition("=")
        try:
            at = float(distance)
        except ValueError:
            equals = ""
        if not equals:
            raise MechanismError(f"--cut {text}: write BODY=DISTANCE with the distance in m, e.g. --cut inner-boom=0.8")
        mechanism = cut(mechanism, body.strip(), at, plugins=source.plugins)
    return mechanism


def _wanted_loads(chosen: Sequence[str] | None, mechanism: Mechanism) -> LoadsWanted | None:
    """Return the loads to compute: those of all joints unless said otherwise, but for machines with many."""
    if chosen is None:
        return "all" if len(mechanism.joints) <= FEW else None
    words = [word for text in chosen for word in ([text] if ":" in text else text.split(","))]
    if "all" in words or "none" in words:
        if len(words) > 1:
            raise KingpostError(f"--loads {', '.join(words)}: 'all' and 'none' stand alone; name the joints instead")
        return "all" if words == ["all"] else None
    return words


def _selected(registry: Any, chosen: str | Mapping[str, Any]) -> Any:
    """Return the plugin chosen by a text, or by a table ``{name = "...", option = value}`` of a run file."""
    if isinstance(chosen, str):
        return select(registry, chosen)
    options = dict(chosen)
    if "name" not in options:
        raise PluginError(f"[run] {registry.kind} = {options!r} lacks 'name', which {registry.kind} to take")
    return select(registry, options.pop("name"), options)


def _summary(simulation: Simulation, history: History, files: list[Path]) -> list[tuple[str, str]]:
    grid, record = simulation.grid, history.provenance
    method = f"{record['formulation']}, {record['integrator']['name']}"
    if record["time"]["step_s"]:
        method += f" with {grid.step:g} s"
    total = history["energy.total"]
    loads = record.get("loads", {"joints": {}})
    said = f"{len(loads['joints'])} joints by {loads['method']}" if loads["joints"] else "none (ask with --loads all)"
    rows = [
        ("model", f"{simulation.mechanism.name} ({_freedom(simulation)})"),
        ("method", method),
        ("time", f"{grid.t_start:g} s to {grid.times[-1]:g} s, {len(history)} samples"),
        (
            "backend",
            f"{record['backend']['name']}, {record['statistics'].get('steps', 0)} steps in {record['wall_time_s']:.3g} s",
        ),
        ("energy", f"{total[0]:.9g} J at the start, {total[-1]:.9g} J at the end"),
        ("loads", said),
    ]
    if simulation.mechanism.closures:
        rows.insert(1, ("closures", _closures(simulation)))
    rows += channel_rows(history, history.channels[: simulation.equations.nq][:SHOWN])
    rows += [(joint, _load_summary(history, joint)) for joint in list(loads["joints"])[:SHOWN]]
    return [*rows, file_row(files)]


def _freedom(simulation: Simulation) -> str:
    """Return how many ways the machine can move at once, and how many coordinates and constraints that takes."""
    equations = simulation.equations
    held = equations.lam.numel()
    free = equations.nv - held
    words = f"{free} degree{'' if free == 1 else 's'} of freedom"
    return f"{words}: {equations.nv} speeds, {held} constraints" if held else words


def _closures(simulation: Simulation) -> str:
    """Return the closures, and those whose reactions statics cannot tell apart."""
    words = listed(f"{closure.name} ({closure.kind})" for closure in simulation.mechanism.closures)
    redundant = simulation.equations.redundant
    return f"{words}; redundant, loads by least squares: {listed(redundant)}" if redundant else words


def _load_summary(history: History, joint: str) -> str:
    """Return the largest moment and force of a joint, and when they occur."""
    wrench = history.loads(joint).total
    words = []
    for name, part, unit in (("moment", wrench[:, :3], MOMENT_UNIT), ("force", wrench[:, 3:], FORCE_UNIT)):
        size = np.linalg.norm(part, axis=1)
        most = int(size.argmax())
        words.append(f"{name} up to {size[most]:.6g} {unit} at {history.time[most]:g} s")
    return ", ".join(words)
