"""``kingpost cosim``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kingpost.base.errors import KingpostError, MechanismError, listed
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import carried_out, channel_rows, file_row, not_unique_rows, tell
from kingpost.cli.signals import while_doing
from kingpost.fmu.commands.options import add_sandbox_option, add_time_limits

if TYPE_CHECKING:
    from kingpost.fmu.cosim.description.system import System
    from kingpost.fmu.cosim.description.system_file import SystemFile
    from kingpost.fmu.cosim.run import Cosimulation
    from kingpost.fmu.cosim.wiring.wires import Wire
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History

#: More connections between two components than this are told by their number.
MANY = 12


class Cosim(Command):
    """Run a coupled system of FMUs and Kingpost models and write its history.

    The system is a TOML file (docs/cosim.md), an SSP archive, a bare .ssd, or an OspSystemStructure.xml. Channels are called
    component.variable. FMUs run in processes of their own, so that a crash costs no results, but for those that were exported
    on this machine. If a component fails or hangs, gives numbers that are not finite, or the coupling diverges, the run stops
    and what was computed is kept.
    """

    name = "cosim"
    example = "kingpost cosim system.toml --master gauss-seidel --step 0.01 --t-end 60 --picture system.svg --report"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", type=Path, metavar="SYSTEM.toml|FILE.ssp|FILE.ssd|FILE.xml", help="the system")
        parser.add_argument("--t-end", type=float, metavar="S", help="end time in s")
        parser.add_argument("--step", type=float, metavar="S", help="communication step in s")
        parser.add_argument("--output-step", type=float, metavar="S", help="time between samples in s (default: every step)")
        parser.add_argument(
            "--master",
            metavar="NAME[:KEY=VALUE,...]",
            help="how components are advanced: jacobi, gauss-seidel, iterated, ecco ...",
        )
        parser.add_argument(
            "--record",
            action="append",
            metavar="PATTERN",
            help="what to keep, e.g. 'crane.slew.*' (repeatable; default: outputs)",
        )
        parser.add_argument("--check", action="store_true", help="describe the system, its order and its loops; run nothing")
        parser.add_argument(
            "--in-process",
            action="store_true",
            help="run FMUs in this process unless the system says isolate = true: faster, but a crash takes the results along",
        )
        add_time_limits(parser)
        add_sandbox_option(parser)
        parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the system: FILE.png, .svg or .pdf")
        add_result_options(parser, subject="SYSTEM", report="plots", json="run.json, or what --check finds,")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.fmu.cosim.description.opening import open_system

        if arguments.sandbox:
            _in_sandbox(arguments)
        with open_system(arguments.system, plugins) as file:
            return self._carry_out(file, arguments)

    def _carry_out(self, file: SystemFile, arguments: argparse.Namespace) -> int:
        from kingpost.fmu.cosim.picture import draw_system, save_picture
        from kingpost.fmu.cosim.run import prepare_cosimulation

        try:
            with while_doing(f"'{arguments.system}' was being prepared; nothing was computed"):
                plan = prepare_cosimulation(_changed(file.system, arguments), file.plugins)
        except MechanismError as error:
            raise file.located(error) from None
        if arguments.picture is not None:
            save_picture(draw_system(plan), arguments.picture)
        if arguments.check:
            if arguments.json:
                print_json(describe(plan))
            else:
                print_table(_description(plan))
            return 0
        return _run(plan, arguments)


def _in_sandbox(arguments: argparse.Namespace) -> NoReturn:
    from kingpost.fmu.commands.sandbox import files_of_system, results_folder, run_in_sandbox

    folder = results_folder(arguments, arguments.system)
    if arguments.picture is not None and not arguments.picture.resolve().is_relative_to(folder.resolve()):
        raise KingpostError(
            f"--sandbox: the picture can only be drawn in the folder of the results: --picture {folder / 'x.svg'}"
        )
    run_in_sandbox(arguments, files_of_system(arguments.system), folder)


def _changed(system: System, arguments: argparse.Namespace) -> System:
    keys = ("t_end", "step", "output_step", "master", "timeout", "run_timeout")
    changes: dict[str, Any] = {key: getattr(arguments, key) for key in keys if getattr(arguments, key) is not None}
    if arguments.record:
        changes["record"] = tuple(word for text in arguments.record for word in text.split(","))
    if arguments.in_process:
        changes["components"] = tuple(
            component if component.fmu is None or component.isolate else replace(component, isolate=False)
            for component in system.components
        )
    return system.with_changes(**changes)


def _run(plan: Cosimulation, arguments: argparse.Namespace) -> int:
    results = result_options(arguments, plan.system.name, plan.plugins, arguments.write)
    for note in plan.notes:
        print(f"kingpost: warning: {note}", file=sys.stderr)
    history, files = carried_out(plan.run, plan.system.name, results)
    tell(history, results, lambda: _summary(plan, history, files), told=plan.notes)
    return 0


def describe(plan: Cosimulation) -> dict[str, Any]:
    """Return what is known of a system before it runs, as plain data."""
    system = plan.system
    fed = {wire.names[1] for wire in plan.wires}
    return {
        "name": system.name,
        "master": plan.master.name,
        "step_s": system.step,
        "t_end_s": system.t_end,
        "order": list(plan.order),
        "components": {
            name: {
                **described.facts,
                "can_go_back": described.can_go_back,
                "open_inputs": [
                    signal.name
                    for signal in described.signals.values()
                    if signal.causality == "input" and f"{name}.{signal.name}" not in fed
                ],
            }
            for name, described in plan.components.items()
        },
        "connections": plan.connections(),
        "algebraic_loops": [{"chain": list(loop.chain), "certain": loop.certain} for loop in plan.loops],
        "warnings": list(plan.notes),
    }


def _description(plan: Cosimulation) -> list[tuple[str, str]]:
    system = plan.system
    rows = [
        ("system", f"{system.name}: {len(plan.components)} components, {len(plan.wires)} connections"),
        ("master", f"{plan.master.name}, {system.step:g} s, to t = {system.t_end:g} s"),
        ("order", " -> ".join(plan.order)),
    ]
    known = describe(plan)["components"]
    for name, facts in known.items():
        if "fmu" in facts:
            apart = ", in a process of its own" if facts["isolated"] else ""
            what = f"FMU {facts['fmu']} (FMI {facts['fmi']}{apart})"
        else:
            what = f"model {facts['model']} ({facts['integrator']} with {facts['step_s']:g} s)"
        rows.append((name, f"{what}; {'can' if facts['can_go_back'] else 'cannot'} go back"))
        if facts["open_inputs"]:
            rows.append(("", f"inputs without a connection: {listed(facts['open_inputs'])}"))
    pairs: dict[tuple[str, str], list[Wire]] = {}
    for wire in plan.wires:
        pairs.setdefault((wire.source, wire.target), []).append(wire)
    for (source, target), wires in pairs.items():
        if len(wires) > MANY:
            ends = f"{wires[0].output} -> {wires[0].input} to {wires[-1].output} -> {wires[-1].input}"
            rows.append(("connections", f"{source} -> {target}: {len(wires)} variables, {ends} (all of them with --json)"))
            continue
        for wire in wires:
            change = f" times {wire.factor:g}" if wire.factor != 1 else ""
            change += f" plus {wire.offset:g}" if wire.offset else ""
            change += ", a summand" if wire.add else ""
            change += f", with {', '.join(f'{a:g} as {b:g}' for a, b in wire.table)}" if wire.table else ""
            rows.append(("connection", f"{wire.names[0]} -> {wire.names[1]}{change}"))
    rows += [("algebraic loop", str(loop)) for loop in plan.loops] or [("algebraic loop", "none")]
    return rows


def _summary(plan: Cosimulation, history: History, files: list[Path]) -> list[tuple[str, str]]:
    statistics = history.provenance["statistics"]
    took = f" in {statistics['steps_s']:.3g} s" if "steps_s" in statistics else ""
    rows = [
        ("system", f"{plan.system.name} ({len(plan.components)} components, {len(plan.wires)} connections)"),
        ("master", plan.master.name),
        ("time", f"{history.time[0]:g} s to {history.time[-1]:g} s, {len(history)} samples"),
        ("steps", f"{statistics['steps']}{took}"),
    ]
    return [*rows, *not_unique_rows(history), *channel_rows(history, history.channels), file_row(files)]
