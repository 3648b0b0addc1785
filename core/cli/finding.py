"""What ``kingpost inverse`` and ``kingpost optimise`` share: verbs that find inputs of a machine for a task."""

from __future__ import annotations

import argparse
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kingpost.cli.arguments import add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import add_how_arguments, settings_from
from kingpost.cli.output import ProgressBar
from kingpost.cli.result_options import add_result_options, result_options
from kingpost.cli.results import carried_out, tell
from kingpost.cli.signals import while_doing

if TYPE_CHECKING:
    from kingpost.base.transactions import Fill
    from kingpost.modelfiles.opened import OpenedModel
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History
    from kingpost.simulation.settings import RunSettings


@dataclass(frozen=True)
class Prepared:
    """A search that is ready, and what there is to say of its preparation."""

    run: Callable[[ProgressBar], History]
    said: tuple[tuple[str, str], ...] = ()


class FindsInputs(Command):
    """A verb that opens a machine with a task, prepares a search, carries it out and writes what it finds like a run."""

    #: What kind of task it takes.
    task: ClassVar[str]
    #: The settings that it takes, by their names in :class:`RunSettings`.
    how: ClassVar[tuple[str, ...]]

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument("--task", metavar="NAME|FILE", help=f"the {self.task} task (default: the model's only one)")
        self.add_options(parser)
        add_how_arguments(parser, *self.how)
        add_result_options(parser)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.modelfiles.opened import open_model

        with while_doing(f"'{arguments.model}' was being prepared; nothing was computed"):
            opened = open_model(arguments.model, plugins, arguments.set, python=True)
            how = opened.how(settings_from(arguments))
            # Before a long preparation, and not after it.
            results = result_options(arguments, opened.mechanism.name, opened.plugins, how.write)
            prepared = self.prepare(opened, how, arguments)
        with while_doing("inputs were being found; nothing is written"):
            history, files = carried_out(
                prepared.run, opened.mechanism.name, results, lambda history: self.beside(history, arguments)
            )
        tell(history, results, lambda: _with(self.rows(history, files), prepared.said))
        self.afterwards(history, arguments)
        return 0

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add what this verb takes beside the machine, the task, how it is solved and where results go."""

    @abstractmethod
    def prepare(self, opened: OpenedModel, how: RunSettings, arguments: argparse.Namespace) -> Prepared:
        """Return the search, with everything refused that cannot work."""

    @abstractmethod
    def rows(self, history: History, files: list[Path]) -> list[tuple[str, str]]:
        """Return what is printed of a result."""

    def beside(self, history: History, arguments: argparse.Namespace) -> dict[str, Fill]:
        """Return further files of a result."""
        return {}

    def afterwards(self, history: History, arguments: argparse.Namespace) -> None:
        """Print what comes behind the summary."""


def _with(rows: list[tuple[str, str]], said: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return rows with what was said before behind the first two, the machine and the task."""
    return [*rows[:2], *said, *rows[2:]]


def task_row(task: dict[str, Any], what: str = "") -> tuple[str, str]:
    """Return the row of a summary that names the task and its inputs."""
    return "task", f"{task['name'] or 'of a file'}: {', '.join(task['inputs'])}{what}"
