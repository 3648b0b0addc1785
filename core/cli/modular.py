"""``kingpost modular``."""

from __future__ import annotations

import argparse
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from kingpost.base.errors import MechanismError
from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments
from kingpost.cli.output import print_json, print_table
from kingpost.cli.state import add_state_argument, situation_of

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel
    from kingpost.modular.table import TableNode
    from kingpost.registry.pluginset import PluginSet


class Modular(Command):
    """Show how a machine is put together from subsystems: what each can do, and what the whole makes of it.

    Every node has variables q, invariants A q + b = 0 and forces f. From the motions R of its children and its own constraints
    B = A R follow the complement C, all motions S = R C, and the forces C'f along them, leaves first (Theorem 2.10 and Table
    4.1 of document 002). Without --table one line is printed for each node; with it all matrices, in numbers at the start (or
    --at), or with --symbols, for models that are described as subsystems, as expressions.
    """

    name = "modular"
    example = "kingpost modular two-rod-slider --table"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        add_state_argument(parser)
        add_how_arguments(parser, "close_loops", "start", start="around which state")
        parser.add_argument("--table", action="store_true", help="print the matrices of every node")
        parser.add_argument("--node", metavar="NAME", help="only this node, by its name or path")
        parser.add_argument("--symbols", action="store_true", help="expressions instead of numbers")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model
        from kingpost.modular.table import chosen_nodes, record_of, text_of

        root = _root(open_model(arguments.model, plugins, arguments.set, python=True), arguments)
        nodes = chosen_nodes(root, arguments.node)
        if arguments.json:
            print_json([record_of(node) for node in nodes])
        elif arguments.table:
            width = max(60, get_terminal_size((120, 24)).columns)
            print("\n\n".join(text_of(node, width=width) for node in nodes))
        else:
            header = ("NODE", "VARIABLES", "INVARIANTS", "LEFT OUT", "RANK", "MARGIN", "INDEPENDENT")
            rows = [
                (node.path, str(len(node.q)), str(len(node.qbar)), str(len(node.redundant)), str(node.rank))
                + (f"{node.margin:.3g}", ", ".join(node.independent))
                for node in nodes
            ]
            print_table(rows, header)
        return 0


def _root(opened: OpenedModel, arguments: argparse.Namespace) -> TableNode:
    """Return the nodes of a model: those of its subsystems, or its bodies and groups of bodies."""
    from kingpost.modular.machine import subsystems_of
    from kingpost.modular.table import table_at_start, table_in_symbols
    from kingpost.modular.tree import assembled

    trees = subsystems_of(opened.mechanism)
    if not trees:
        return _of_bodies(opened, arguments)
    name, subsystem = next(iter(trees.items()))
    values = {key.removeprefix(f"{name}."): value for key, value in opened.settings.items()}
    tree = assembled(subsystem, values)
    return table_in_symbols(tree) if arguments.symbols else table_at_start(tree)


def _of_bodies(opened: OpenedModel, arguments: argparse.Namespace) -> TableNode:
    if arguments.symbols:
        raise MechanismError(
            f"'{opened.mechanism.name}' is not described as subsystems, so that there are no symbols to show; leave --symbols "
            "out"
        )
    from kingpost.modular.bodies import table_of_bodies

    place = situation_of(opened, arguments).fitted()
    return table_of_bodies(place.problem.assembly, place.t, place.x, place.u, place.p)
