"""Table 4.1 of a tree: for every node its variables, invariants and forces, and the matrices that follow, as text and as data.

A :class:`TableNode` is all that is needed, so that trees of subsystems and machines of bodies (:mod:`kingpost.modular.bodies`)
show the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.modular.labelled import VALUE, Labelled
from kingpost.modular.recursion import Node, accelerations
from kingpost.modular.tree import Tree

#: The rows of the table, and what each is.
ROWS = {
    "A": "constraints",
    "b": "rest of constraints: A q + b = 0",
    "R": "motions of the children",
    "B": "constraints in these motions",
    "C": "complement of B",
    "S": "all motions",
    "f": "forces",
    "fbar": "forces along all motions",
}


@dataclass(frozen=True, eq=False)
class TableNode:
    """A node as a table shows it; ``entries`` are some of :data:`ROWS`, in numbers or symbols."""

    path: str
    q: tuple[str, ...]
    qbar: tuple[str, ...]
    entries: Mapping[str, Labelled]
    independent: tuple[str, ...]
    rank: int
    margin: float
    redundant: tuple[str, ...] = ()
    children: tuple[TableNode, ...] = ()
    #: What else is worth a line, by name.
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name without those of the nodes above."""
        return self.path.rpartition(".")[2]

    def everyone(self) -> Iterator[TableNode]:
        """Yield this node and all below it."""
        yield self
        for child in self.children:
            yield from child.everyone()


def table_of(node: Node, q: Labelled) -> TableNode:
    """Return the table of a node and of all below it, with forces at the accelerations ``q``: numbers, or symbols."""
    f, fbar = node.forces(q)
    entries = {"A": node.A, "b": node.b, "R": node.R, "B": node.B, "C": node.C, "S": node.S, "f": f, "fbar": fbar}
    parts = node.partition
    return TableNode(
        path=node.path,
        q=node.given.q,
        qbar=node.A.rows,
        entries=entries,
        independent=parts.independent,
        rank=parts.rank,
        margin=parts.margin,
        redundant=parts.redundant,
        children=tuple(table_of(child, q) for child in node.children),
    )


def table_at_start(tree: Tree) -> TableNode:
    """Return the table of a tree in numbers at its start; forces along all motions of the root vanish."""
    return _with_efforts(table_of(tree.start, accelerations(tree.start)), tree)


def _with_efforts(node: TableNode, tree: Tree) -> TableNode:
    """Return a node, and all below it, with what its own invariants exert at the start, and which of that is not unique."""
    found = tree.efforts
    values = dict(zip(found.labels, np.asarray(found.function(tree.t, tree.x, tree.u, tree.p)).ravel(), strict=True))
    own = [label for label in found.labels if label.rpartition(".")[0] == node.path]
    facts = dict(node.facts)
    if own:
        facts["exert"] = listed([f"{label.rpartition('.')[2]} {values[label]:.6g}" for label in own], len(own))
    shared = [label.rpartition(".")[2] for label in own if label in found.not_unique]
    if shared:
        facts["not unique"] = f"{listed(shared, len(shared))}: shared with others that say the same, smallest sum of squares"
    children = tuple(_with_efforts(child, tree) for child in node.children)
    return replace(node, facts=facts, children=children)


def table_in_symbols(tree: Tree) -> TableNode:
    """Return the table of a tree in symbols; forces are expressions in the accelerations."""
    labels = tree.system.q
    return table_of(tree.root, Labelled(tree.system.symbols.column(labels), labels))


def chosen_nodes(root: TableNode, name: str | None = None) -> list[TableNode]:
    """Return all nodes, or the one of a name or path."""
    nodes = list(root.everyone())
    if name is None:
        return nodes
    found = [node for node in nodes if name in (node.path, node.name)]
    if len(found) == 1:
        return found
    paths = [node.path for node in nodes]
    if found:
        raise MechanismError(f"several nodes are called '{name}': {listed(node.path for node in found)}; give the path of one")
    raise MechanismError(f"there is no node '{name}'{closest(name, paths)} Nodes: {listed(paths)}.")


def text_of(node: TableNode, rows: Sequence[str] = tuple(ROWS), width: int | None = None) -> str:
    """Return the table of one node as text, in lines of some width; dots are zeros."""
    lines = [
        f"{node.path}",
        *_line("variables", listed(node.q), width),
        *_line("invariants", listed(node.qbar), width),
        *_line("independent", f"{listed(node.independent)}   (rank {node.rank}, margin {node.margin:.3g})", width),
    ]
    lines += _line("follow", f"{listed(node.redundant)}: left out, since others say the same", width) if node.redundant else []
    lines += [line for name, fact in node.facts.items() for line in _line(name, fact, width)]
    for row in rows:
        if row in node.entries and min(node.entries[row].matrix.shape) > 0:
            shown = node.entries[row].lines(None if width is None else width - 4, dot=True)
            lines += [f"  {row}: {ROWS[row]}", *(f"    {line}" for line in shown)]
    return "\n".join(lines)


def _line(name: str, words: str, width: int | None) -> list[str]:
    """Return a line of the head of a table, or several below each other."""
    if width is None:
        return [f"  {name:<12} {words}"]
    return wrap(words, width, initial_indent=f"  {name:<12} ", subsequent_indent=" " * 15, break_on_hyphens=False)


def record_of(node: TableNode) -> dict[str, Any]:
    """Return one node as plain data: numbers stay numbers, symbols become texts."""
    return {
        "node": node.path,
        "children": [child.path for child in node.children],
        "q": list(node.q),
        "qbar": list(node.qbar),
        "independent": list(node.independent),
        "rank": node.rank,
        "margin": node.margin if np.isfinite(node.margin) else None,
        "redundant": list(node.redundant),
        **{name: _matrix_record(entry) for name, entry in node.entries.items()},
        **({"facts": dict(node.facts)} if node.facts else {}),
    }


def _matrix_record(entry: Labelled) -> dict[str, Any]:
    matrix = entry.matrix
    if entry.symbolic:
        values: Any = [[str(matrix[i, j]) for j in range(matrix.shape[1])] for i in range(matrix.shape[0])]
    else:
        values = [[float(value) for value in row] for row in matrix]
    columns = [] if entry.columns == (VALUE,) else list(entry.columns)
    return {"rows": list(entry.rows), "columns": columns, "values": values}
