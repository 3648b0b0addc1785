"""``kingpost models`` and ``kingpost plugins``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import MechanismError, PluginError, closest, listed
from kingpost.base.fields import describe_fields
from kingpost.cli.arguments import MODEL
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from kingpost.mechanism.optimal_tasks import OptimalTask
    from kingpost.registry.pluginset import PluginSet


class Models(Command):
    """List the machines that can be run by name, or show one: its parameters, inputs, coordinates and bodies."""

    name = "models"
    example = "kingpost models double-pendulum"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar=MODEL, help="show this one (default: list all)")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--toml", action="store_true", help="print the model as a model file, to change it and run that")
        parser.add_argument(
            "--schema", action="store_true", help="print the JSON Schema of model files with the plugins there are"
        )

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        if arguments.schema:
            from kingpost.modelfiles.schema import model_schema

            print_json(model_schema(plugins))
        elif arguments.toml:
            from kingpost.modelfiles.model_text import model_text
            from kingpost.modelfiles.opened import open_model

            if arguments.model is None:
                raise MechanismError("--toml: say which model is to be written, as in 'kingpost models vessel-crane --toml'")
            print(model_text(open_model(arguments.model, plugins, python=True), arguments.model), end="")
        elif arguments.model is None:
            rows = [row for row in plugins.listing() if row["kind"] == "model"]
            if arguments.json:
                print_json(rows)
            else:
                print_table([(row["name"], row["summary"]) for row in rows], ("MODEL", "WHAT IT IS"))
        else:
            self._show(arguments, plugins)
        return 0

    def _show(self, arguments: argparse.Namespace, plugins: PluginSet) -> None:

        from kingpost.modelfiles.opened import open_model

        opened = open_model(arguments.model, plugins, python=True)
        mechanism = opened.mechanism
        if arguments.json:
            print_json(mechanism.to_dict())
            return
        print_text(f"{mechanism.name}: {mechanism.description}")
        print()
        rows: list[tuple[str, ...]] = []
        rows += [("parameter", p.name, f"{p.default:g} {p.unit}", p.description) for p in mechanism.shown_parameters]
        rows += [("input", i.name, f"{i.default:g} {i.unit}", i.description) for i in mechanism.inputs]
        for joint in mechanism.joints:
            starts = zip(joint.positions, joint.start_values, strict=False)
            carries = f"{joint.kind} joint, carries '{joint.child}' on '{joint.parent}'"
            rows += [("coordinate", c.name, f"starts at {_short(start)} {c.unit}", carries) for c, start in starts]
        rows += [("output", o.name, o.unit, f"{o.quantity} of a point of '{o.body}'") for o in mechanism.outputs]
        rows += [("measure", m.name, mechanism.measure_units[m.name], m.words) for m in mechanism.measures]
        rows += [("force", f.name, f.kind, "") for f in mechanism.forces]
        rows += [
            ("servo task", name, f"{task.t_end - task.t_start:g} s", task.description) for name, task in opened.tasks.items()
        ]
        rows += [("optimal task", name, _horizon(task), task.description) for name, task in opened.optimal_tasks.items()]
        print_table(rows)


def _horizon(task: OptimalTask) -> str:
    limits = task.horizon
    return f"{limits.low:g} s" if limits.prescribed else f"{limits.low:g} to {limits.high:g} s"


def _short(start: Any) -> str:
    return f"{start:.6g}" if isinstance(start, float) else str(start)


class Plugins(Command):
    """List all plugins: kind, name, distribution and version, and those that could not be loaded."""

    name = "plugins"
    example = "kingpost plugins --kind integrator --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--kind", help="only plugins of this kind, e.g. integrator")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("-v", "--verbose", action="store_true", help="show the options of each plugin, too")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        registries = [registry for registry in plugins.registries if arguments.kind in (None, registry.kind)]
        kinds = [registry.kind for registry in registries]
        if not kinds:
            known = [registry.kind for registry in plugins.registries]
            raise PluginError(f"unknown kind '{arguments.kind}'{closest(arguments.kind, known)} Kinds: {listed(known)}.")
        rows = [row for row in plugins.listing() if row["kind"] in kinds]
        broken = [{**vars(entry.source), "reason": entry.reason} for entry in plugins.broken]
        conflicts = [message for registry in registries for message in registry.conflicts().values()]
        if arguments.json:
            print_json({"plugins": rows, "broken": broken, "conflicts": conflicts})
            return 0
        print_table(
            [(row["kind"], row["name"], f"{row['distribution']} {row['version']}", row["summary"]) for row in rows],
            ("KIND", "NAME", "FROM", "WHAT IT IS"),
        )
        if arguments.verbose:
            options = [(cls.kind, cls.name, describe_fields(cls.Options)) for r in registries for cls, _ in r.entries()]
            print()
            print_table(options, ("KIND", "NAME", "OPTIONS"))
        for fault in [*map(str, plugins.broken), *conflicts]:
            print(f"not usable: {fault}")
        return 0
