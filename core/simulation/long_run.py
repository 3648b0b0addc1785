"""A run that is written while it goes on: memory does not grow with its length, and what ends it leaves what was written."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kingpost.base.errors import KingpostError, SolverError, listed
from kingpost.base.load_frames import COMPONENTS
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.results.metadata import Outline
from kingpost.results.run_folder import LARGE, WritersWanted, choose_writers, numbers_of
from kingpost.results.writer import Writer
from kingpost.simulation.blocks import StepWatch, run_in_blocks
from kingpost.simulation.otherwise import slow_warnings
from kingpost.simulation.provenance import run_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kingpost.simulation.run import Simulation

    Progress: TypeAlias = Callable[[float], None]

#: What the record of a run says that did not come to its end, as long as nobody knows better.
NOT_ENDED = "the run did not come to its end: it was stopped from outside, or is still under way; these are its first samples"


@dataclass(frozen=True, eq=False)
class LongRun:
    """What is known of a run whose history is in files."""

    #: The samples with the extremes of all channels, the first and the last: for summaries. Its provenance is that of the run.
    extremes: History
    files: list[Path]
    samples: int


def run_into(
    simulation: Simulation,
    folder: str | Path,
    *,
    writers: WritersWanted | None = None,
    progress: Progress = lambda fraction: None,
    plugins: PluginSet | None = None,
) -> LongRun:
    """Carry a run out and write its history while it goes on, for runs that do not fit into memory.

    The files grow in a folder ``unfinished-...`` inside of ``folder``, and replace those of an earlier run when the run has
    ended. What ends the process before that leaves that folder; :func:`kingpost.read_history` opens it, and the record in it
    says that the run did not come to its end.

    Parameters
    ----------
    simulation
        From :func:`kingpost.prepare`. Monitors, a second formalism and a check of the step need all samples at once, and are
        not for such runs.
    folder
        Where the files go.
    writers
        Formats that can be written so: ``csv``, ``hdf5`` and ``parquet``; by default Parquet if pyarrow is installed, else CSV.
    progress
        Called now and then with the fraction done.
    plugins
        Where the formats come from; the installed ones by default.

    Raises
    ------
    SolverError
        When the integration cannot go on. What was computed before is in files that begin with ``failed-``.
    KeyboardInterrupt
        When it is interrupted; the files begin with ``interrupted-``.

    """
    how = simulation.problem.how
    asked = {"monitors": how.monitors, "verify": how.verify is not None, "check_step": how.check_step is not None}
    if any(asked.values()):
        words = listed(name for name, wanted in asked.items() if wanted)
        raise KingpostError(f"{words} cannot be had of a run that is written while it goes on; leave it out, or use simulate()")
    numbers = max(LARGE + 1, numbers_of(simulation.grid.samples + 1, len(simulation.channels)))
    chosen = choose_writers(writers, plugins or simulation.plugins, numbers)
    fixed = [writer.name for writer in chosen if not writer.grows()]
    if fixed:
        raise KingpostError(
            f"{listed(fixed)} files cannot be written while a run goes on; take {listed(growing_formats(simulation.plugins))}"
        )
    return _Going(simulation, Path(folder), chosen).carried_out(progress)


def growing_formats(plugins: PluginSet) -> list[str]:
    """Return the formats that can be written while a run goes on."""
    return sorted(cls.name for cls, _ in plugins.writers.entries() if cls.grows())


class _Going:
    """A long run under way."""

    def __init__(self, simulation: Simulation, folder: Path, writers: Sequence[Writer]) -> None:
        from kingpost.results.condensed import Condensed
        from kingpost.results.growing import OUTCOME, GrowingRun
        from kingpost.simulation.small_angles import TiltWatch

        self.simulation, grid = simulation, simulation.grid
        self.statistics: dict[str, Any] = {}
        self.started = time.perf_counter()
        self.steps, self.tilts = StepWatch(simulation), TiltWatch(simulation)
        record = run_record(simulation, OUTCOME, 0.0, {})
        record |= {"warnings": [NOT_ENDED], "diverges": False}
        self.condensed = Condensed(simulation.channels, _load_vectors(simulation, record))
        outline = Outline(simulation.channels, record, even=(grid.t_start, grid.output_step))
        self.files = GrowingRun(folder, writers, outline)

    def carried_out(self, progress: Progress) -> LongRun:
        try:
            return self._carried_out(progress)
        finally:
            self.files.close()

    def _carried_out(self, progress: Progress) -> LongRun:
        simulation, samples = self.simulation, self.simulation.grid.samples
        try:
            for block in run_in_blocks(simulation, statistics=self.statistics):
                self.files.add(block.time, block.values)
                self.condensed.look(block.time, block.values)
                self.steps.look(block)
                self.tilts.look(block.time, block.values)
                progress(block.first / samples)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted at t = {self._reached():g} s{self._kept('interrupted')[1]}") from None
        except MemoryError:
            raise SolverError(
                f"there was no more memory at t = {self._reached():g} s{self._kept('failed')[1]}\nWhat else runs here takes "
                "it, or inputs that move, whose samples are all kept; give the run more, or keep samples less often"
            ) from None
        except SolverError as error:
            record, kept = self._kept("failed")
            notes = "".join(f" Note: {note}." for note in record["warnings"])
            raise type(error)(f"{error}{notes}{kept}") from None
        record = self._record("complete")
        files = self.files.finish(record)
        progress(1.0)
        return LongRun(self.condensed.history(record), files, self.files.samples)

    def _reached(self) -> float:
        count = max(1, self.files.samples)
        return float(self.simulation.grid.times_of(count - 1, count)[0])

    def _kept(self, outcome: str) -> tuple[Mapping[str, Any], str]:
        """Make the files whole as far as they go; return the record, and a sentence on where they are."""
        count = self.files.samples
        try:
            record = self._record(outcome)
            files = self.files.finish(record, f"{outcome}-")
        except MemoryError:
            return {"warnings": []}, f"; {self.files.left()}"
        words = "The sample" if count == 1 else f"The {count} samples"
        where = ", ".join(map(str, files))
        return record, f"\n{words} up to t = {self._reached():g} s {'is' if count == 1 else 'are'} in {where}"

    def _record(self, outcome: str) -> dict[str, Any]:
        record = run_record(self.simulation, outcome, time.perf_counter() - self.started, self.statistics)
        record["written"] = "while running"
        warnings = self.steps.warnings() if outcome != "interrupted" else []
        slow = slow_warnings(self.statistics, self.simulation.grid.step)
        said = [*warnings, *slow, *self.tilts.warnings(), *self.simulation.rows.notes]
        return {**record, **self.tilts.record(), "warnings": said, "diverges": bool(warnings)}


def _load_vectors(simulation: Simulation, record: Mapping[str, Any]) -> list[list[int]]:
    """Return the columns of the moment and of the force of each joint with loads."""
    columns = {channel.name: column for column, channel in enumerate(simulation.channels)}
    found = []
    for joint in record.get("loads", {}).get("joints", {}):
        names = [f"{joint}.{component}" for component in COMPONENTS]
        if all(name in columns for name in names):
            found += [[columns[name] for name in names[:3]], [columns[name] for name in names[3:]]]
    return found
