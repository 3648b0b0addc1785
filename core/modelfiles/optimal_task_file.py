"""Optimal tasks from files: ``[optimal]``, or several ``[optimal_tasks.NAME]``, in a file of their own or beside a machine.

docs/optimal-control.md has the whole grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kingpost.base.fields import Table, fill
from kingpost.mechanism.optimal_tasks import OptimalTask, check_optimal_task
from kingpost.modelfiles.task_tables import Machine, TaskKind

OPTIMAL, OPTIMAL_TASKS = "optimal", "optimal_tasks"


@dataclass(frozen=True)
class OptimalTaskTable:
    """What a table may say about an optimal task."""

    inputs: tuple[str, ...]
    #: A number of s, or the shortest and the longest one.
    horizon: Any = None
    end: Table = field(default_factory=dict)
    bounds: Table = field(default_factory=dict)
    rates: Table = field(default_factory=dict)
    costs: tuple[Table, ...] = ()
    free: Table = field(default_factory=dict)
    settings: Table = field(default_factory=dict)
    t_start: float = 0.0
    intervals: int = 40
    guess: Literal["constant", "line"] = "constant"
    control: Literal["constant", "linear"] = "constant"
    phases: tuple[Table, ...] = ()
    continuation: Table = field(default_factory=dict)
    model: str = ""
    name: str = ""
    description: str = ""


def read_optimal_task(source: Any, machine: Machine | None = None) -> OptimalTask:
    """Return an optimal task, checked against the machine that it is for.

    ``source`` is the name of a task that the model brings; a TOML file with ``[optimal]`` or ``[optimal_tasks.NAME]``; of a
    file with several tasks ``FILE:NAME``; the same as plain data; an :class:`OptimalTask`; or nothing, for the only task of a
    model.

    Raises
    ------
    FileError
        When there is no such file, or it is not TOML.
    MechanismError
        When there is no such task, or what it says breaks a rule; the message begins with file and line.

    """
    return OPTIMAL_KIND.find(source, machine)


def optimal_task_from_dict(data: Mapping[str, Any], name: str = "") -> OptimalTask:
    """Return the task that plain data describe, in the words of a task file."""
    what = f"optimal task '{name}'" if name else "the optimal task"
    table = fill(OptimalTaskTable, data, what)
    left_out = ("model", "name") if table.costs else ("model", "name", "costs")
    given: dict[str, Any] = {key: getattr(table, key) for key in vars(table) if key not in left_out}
    return OptimalTask(**given, name=table.name or name)


OPTIMAL_KIND = TaskKind(
    OptimalTask,
    OPTIMAL,
    OPTIMAL_TASKS,
    "optimal task",
    "optimal task",
    lambda table, base, name: optimal_task_from_dict(table, name),
    check_optimal_task,
    lambda opened: opened.optimal_tasks,
)
