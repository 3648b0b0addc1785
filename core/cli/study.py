"""``kingpost study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, KingpostError, listed
from kingpost.base.files import safe_name
from kingpost.cli.command import Command
from kingpost.cli.output import ProgressBar, print_json, print_table
from kingpost.cli.signals import while_doing

if TYPE_CHECKING:
    from kingpost.base.transactions import Fill
    from kingpost.registry.pluginset import PluginSet
    from kingpost.studies.case import Case, Outcome
    from kingpost.studies.executor import Executor
    from kingpost.studies.folder import Written
    from kingpost.studies.planning import StudyPlan
    from kingpost.studies.running import Progress
    from kingpost.studies.store import Store
    from kingpost.studies.study import Study
    from kingpost.studies.summary.summary import Summary
    from kingpost.studies.worker import Worker

#: Exit status of a study in which no run succeeded.
NOTHING_DONE = 5
#: Sea states that are named when a machine's data do not cover them.
MOST_REFUSED = 3


class StudyCommand(Command):
    """Run a machine many times, in many sea states or with many numbers, and say what the runs make together.

    FILE.toml says which cases there are (scatter tables, grids, lists, Latin hypercubes), what is kept of each run, and which
    limits must hold. The folder gets study.sqlite, in which every finished run is at once, cases.parquet, study.json and
    study.html: operability, damage per year and lives, extreme loads. A study that was interrupted, or killed, goes on with
    --resume. Of a folder with a study, its results are made anew, or one run is made again, whole, with --replay.
    """

    name = "study"
    example = "kingpost study sea.toml --on local --workers 2 --out results/sea"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", metavar="FILE.toml|DIR", help="a study file, or the folder of a study")
        parser.add_argument("--plan", action="store_true", help="say how many runs there are and how long they take; run one")
        parser.add_argument(
            "--on",
            default="local",
            metavar="local|threads|dask|dask://ADDRESS",
            help="where runs are made: processes (default), threads, or Dask workers",
        )
        parser.add_argument("--workers", type=int, metavar="N", help="how many at a time (default: one for each processor)")
        parser.add_argument("--resume", action="store_true", help="go on with the study that the folder holds")
        parser.add_argument("--retry-failed", action="store_true", help="run failed cases once more")
        parser.add_argument(
            "--replay",
            metavar="KEY",
            help="make the run of this case again, whole, with report.html; the beginning of its key is enough",
        )
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the study (default: results/NAME)")
        parser.add_argument("--json", action="store_true", help="print study.json instead of tables")
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        _check_words(arguments)
        with while_doing("the study was being prepared; nothing was run"):
            study, folder = _opened(arguments, plugins)
            from kingpost.studies.planning import plan_study

            plan = plan_study(study, plugins)
        _tell_refused(plan)
        if arguments.plan:
            return _tell_plan(arguments, plan)
        if arguments.replay:
            return _replay(arguments, plan, folder)
        return _carry_out(arguments, plan, folder)


def _check_words(arguments: argparse.Namespace) -> None:
    if arguments.workers is not None and arguments.workers < 1:
        arguments.refuse(f"--workers {arguments.workers}: give 1 or more")
    if arguments.workers is not None and "://" in arguments.on:
        arguments.refuse(f"--workers is of use where workers are started here; those at {arguments.on} are there already")
    if arguments.plan and arguments.replay:
        arguments.refuse("--plan looks ahead and --replay back; give one of them")


def _opened(arguments: argparse.Namespace, plugins: PluginSet) -> tuple[Study, Path]:
    """Return the study that is meant, and its folder."""
    from kingpost.studies.store import Store
    from kingpost.studies.study_file import read_study

    source = Path(arguments.source)
    if not source.is_dir():
        study = read_study(source, plugins)
        return study, arguments.out or Path("results") / safe_name(study.name)
    if arguments.out is not None:
        arguments.refuse(f"--out is of use with a study file; '{source}' is a folder already")
    if not Store.exists(source):
        raise FileError(f"'{source}' is a folder without a study; name the study file, or the folder that one was run in")
    with Store(source) as store:
        file = store.fact("file")
    if not file or not Path(file).is_file():
        raise FileError(f"the study in '{source}' was read from '{file}', which is not there any more; put it back")
    return read_study(file, plugins), source


def _tell_plan(arguments: argparse.Namespace, plan: StudyPlan) -> int:
    from kingpost.cli.study_tables import plan_record, plan_rows

    worker = plan.work().prepare()
    record = plan_record(plan, worker, arguments.on, arguments.workers)
    if arguments.json:
        print_json(record)
    else:
        print_table(plan_rows(record))
    return 0


def _tell_refused(plan: StudyPlan) -> None:
    """Say which sea states the data of the machine do not cover; the first few by name."""
    if not plan.refused:
        return
    part = 100 * sum(item.weight for item in plan.refused)
    what = "sea state (of one heading) is" if len(plan.refused) == 1 else "sea states (each of one heading) are"
    print(
        f"kingpost: {len(plan.refused)} {what} not covered by the data of the machine, {part:.3g} % of the time; these cases "
        "will fail, the others are run:",
        file=sys.stderr,
    )
    for item in plan.refused[:MOST_REFUSED]:
        print(f"kingpost: {item.why}", file=sys.stderr)
    if len(plan.refused) > MOST_REFUSED:
        print(f"kingpost: and {len(plan.refused) - MOST_REFUSED} more", file=sys.stderr)


def _replay(arguments: argparse.Namespace, plan: StudyPlan, folder: Path) -> int:
    from kingpost.studies.results import RUNS
    from kingpost.studies.store import Store

    if not Store.exists(folder):
        raise FileError(f"there is no study in '{folder}' yet; run it first")
    with Store(folder) as store:
        _check_same(plan, store, folder)
        found = store.find(arguments.replay)
    place = folder / RUNS / found.case.key
    with while_doing(f"run {found.case.key} was being made again"):
        files = _whole_run(plan, found.case, place, report=True)
    labels = ", ".join(f"{name} {value}" for name, value in found.case.labels.items())
    rows = [("run", found.case.key), ("case", labels or "-"), ("sea", found.case.sea or "-")]
    if found.outcome is not None and found.outcome.error:
        rows.append(("failed", found.outcome.error))
    if found.outcome is not None and found.outcome.outside:
        rows.append(("outside", f"it left linear theory: {found.outcome.outside}"))
    print_table([*rows, ("files", ", ".join(map(str, files)))])
    return 0


def _check_same(plan: StudyPlan, store: Store, folder: Path) -> None:
    from kingpost.studies.running import RECIPE, SPEC, changes

    if store.fact(RECIPE) != plan.digest:
        changed = changes(store.fact(SPEC) or {}, dict(plan.study.spec))
        raise KingpostError(
            f"the study in '{folder}' was run with another recipe than its file has now "
            f"({listed(changed, 5) if changed else 'another model or version'}), so its runs cannot be made again; run it anew"
        )


def _whole_run(plan: StudyPlan, case: Case, place: Path, *, report: bool) -> list[Path]:
    """Make a run again and write it as an ordinary result."""
    from kingpost.report.page import report_file
    from kingpost.results.run_folder import write_run
    from kingpost.studies.replay import replay

    history = replay(plan, case)
    beside = {"report.html": report_file(history.identified())} if report else {}
    return write_run(history, place, writers=["csv"], beside=beside, plugins=plan.opened.plugins)


def _carry_out(arguments: argparse.Namespace, plan: StudyPlan, folder: Path) -> int:
    from kingpost.studies.executor import executor_named
    from kingpost.studies.folder import alone_in, write_results
    from kingpost.studies.running import UNITS, begin, carry_out, check_steps, summary_of
    from kingpost.studies.store import Store

    words = _where(arguments)
    executor = executor_named(words, plan.opened.plugins)
    with ExitStack() as stack:
        stack.enter_context(alone_in(folder))
        store = stack.enter_context(Store(folder))
        _check_resume(arguments, store, folder)
        for change in begin(plan, store):
            print(f"kingpost: the study file says otherwise than before: {change}", file=sys.stderr)
        store.note("file", str(plan.study.path and plan.study.path.resolve()))
        if arguments.retry_failed:
            store.forget_failures()
        _tell_kept(store)
        runs = _Runs(executor, store)
        bar = _StudyBar(plan.study.name)
        try:
            carry_out(plan, store, runs, bar)
            bar.label = f"{plan.study.name}, half the step"
            check_steps(plan, store, runs, bar)
        except KeyboardInterrupt:
            bar.close()
            raise KeyboardInterrupt(_interrupted(arguments, store, folder)) from None
        finally:
            bar.close()
        summary = summary_of(plan, store)
        _keep_histories(plan, summary, store, folder)
        ran = {"on": words, "compilations": runs.compilations, "units": bool(store.fact(UNITS))}
        written = write_results(folder, plan, summary, ran, _page)
    return _told(arguments, summary, written)


def _where(arguments: argparse.Namespace) -> str:
    """Return the executor that is meant, in its own words."""
    on: str = arguments.on
    if arguments.workers is None:
        return on
    return f"{on}{',' if ':' in on else ':'}workers={arguments.workers}"


def _page(record: dict[str, Any], runs: dict[str, Any]) -> Fill:
    from kingpost.report.study_page import study_file

    return study_file(record, runs)


class _Runs:
    """An executor with the work of a plan, whose kernel is compiled once, here, and travels."""

    def __init__(self, executor: Executor, store: Store) -> None:
        self.executor, self.store = executor, store
        self.workers: dict[int, Worker] = {}
        #: Kernels that had to be compiled.
        self.compilations = 0

    def worker(self, plan: StudyPlan) -> Worker:
        """Return a worker in this process, made once."""
        from kingpost.studies.running import UNITS

        if plan.halvings not in self.workers:
            worker = plan.work().prepare()
            self.workers[plan.halvings] = worker
            self.compilations += not worker.simulation.kernel.cached
            self.store.note(UNITS, {channel.name: channel.unit for channel in worker.simulation.channels})
        return self.workers[plan.halvings]

    def __call__(self, plan: StudyPlan, cases: Iterable[Case]) -> Iterator[Outcome]:
        from dataclasses import replace

        from kingpost.kernel.pack import packed

        pack = packed(self.worker(plan).simulation.kernel)
        work = plan.work() if pack is None else replace(plan.work(), packs=(pack,))
        return self.executor.outcomes(work, cases)


class _StudyBar:
    """Progress of a study on a terminal: runs, failures, pace and the time that is left."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._bar = ProgressBar(label)

    def __call__(self, progress: Progress) -> None:
        from kingpost.cli.study_tables import duration

        self._bar.label = self.label
        failed = f", {progress.failed} failed" if progress.failed else ""
        failed += f", {progress.outside} outside linear theory" if progress.outside else ""
        left = "" if progress.left is None else f", {duration(progress.left)} left"
        pace = f", {progress.now / progress.seconds:.3g} runs/s" if progress.seconds > 0 else ""
        words = f"{progress.finished}/{progress.planned} runs ({progress.fraction:.0%}){failed}{pace}{left}"
        self._bar.say(words, progress.fraction, progress.left)

    def close(self) -> None:
        self._bar.close()


def _check_resume(arguments: argparse.Namespace, store: Store, folder: Path) -> None:
    counts = store.counts()
    if counts.planned and counts.open and counts.stored and not arguments.resume:
        raise KingpostError(
            f"'{folder}' holds {counts.run} of {counts.planned} runs of a study that was not finished; go on "
            "with --resume, or choose another folder with --out"
        )


def _tell_kept(store: Store) -> None:
    counts = store.counts()
    if counts.run:
        failed = f", {counts.failed} of them failed (--retry-failed runs these once more)" if counts.failed else ""
        print(f"kingpost: {counts.run} of {counts.planned} runs are there already{failed}", file=sys.stderr)


def _interrupted(arguments: argparse.Namespace, store: Store, folder: Path) -> str:
    counts = store.counts()
    return (
        f"interrupted; {counts.run} of {counts.planned} runs are kept in '{folder}'\n"
        f"  go on with: kingpost study {arguments.source} --resume --out {folder}"
    )


def _keep_histories(plan: StudyPlan, summary: Summary, store: Store, folder: Path) -> None:
    from kingpost.studies.folder import wanted_histories
    from kingpost.studies.results import RUNS

    wanted = [key for key in wanted_histories(summary) if not (folder / RUNS / key / "run.json").is_file()]
    bar = ProgressBar(f"{plan.study.name}, whole runs")
    try:
        for k, key in enumerate(wanted):
            bar(k / len(wanted))
            case = store.find(key).case
            with while_doing(
                f"whole runs were being kept ({k} of {len(wanted)}); all numbers are in '{folder}', --resume goes on"
            ):
                _whole_run(plan, case, folder / RUNS / key, report=plan.study.keep.histories.which != "all")
    finally:
        bar.close()


def _told(arguments: argparse.Namespace, summary: Summary, written: Written) -> int:
    from kingpost.cli.study_tables import print_summary

    for warning in (*summary.warnings, *written.notes):
        print(f"kingpost: warning: {warning}", file=sys.stderr)
    if arguments.json:
        print_json(written.record)
    else:
        print_summary(written.record, [str(file) for file in written.files])
    return 0 if written.record["cases"]["done"] else NOTHING_DONE
