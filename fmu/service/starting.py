"""From a job to a process: its folder filled, its command line, its surroundings."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError
from kingpost.cli.progress_file import SAMPLES
from kingpost.cli.progress_file import VARIABLE as PROGRESS
from kingpost.fmu.process.lifeline import Lifeline
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.job_process import LIMITS
from kingpost.fmu.service.planning import RESULTS
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Job

#: Variables of the environment that a job gets from the server; secrets of its user stay with the server.
HANDED_ON = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "CC", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "PYTHONPATH", "SYSTEMROOT"),
    *("XDG_CACHE_HOME", "USER", "LOGNAME", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
)
#: Files of a history, the quickest to read first; of a run that was stopped, what it had computed.
HISTORIES = tuple(
    f"{prefix}history.{suffix}"
    for prefix in ("", "interrupted-", "failed-")
    for suffix in ("npz", "parquet", "csv", "mat", "h5")
)
HISTORY = re.compile(r"(interrupted-|failed-)?history\.\w+")
#: What samples of a job are called.
SAMPLES_FILE = "samples.bin"
#: Seconds that code of somebody else may take from begin to end.
LONGEST_FOREIGN = 4 * 3600.0


@dataclass(frozen=True)
class Place:
    """The folder of one attempt at a job."""

    root: Path

    @property
    def work(self) -> Path:
        """The files that the job brings along; gone when it has ended."""
        return self.root / "work"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def scratch(self) -> Path:
        """Temporary files of the command; gone when it has ended."""
        return self.root / "tmp"

    @property
    def log(self) -> Path:
        """What the command wrote to standard error."""
        return self.root / "log.txt"

    @property
    def record(self) -> Path:
        """What the command printed: its record as JSON."""
        return self.root / "record.json"

    @property
    def telling(self) -> Path:
        """Where the command tells how far it is; gone when it has ended."""
        return self.root / "telling"

    @property
    def progress(self) -> Path:
        return self.telling / "progress.jsonl"

    @property
    def samples(self) -> Path:
        """Where the command tells its samples; they are kept if it leaves no history."""
        kept = self.root / SAMPLES_FILE
        return kept if kept.exists() else self.telling / SAMPLES_FILE

    @property
    def has_history(self) -> bool:
        return any(HISTORY.fullmatch(entry.name) for entry in _entries(self.results))

    def keep_samples(self) -> None:
        """Keep what the command told of its samples behind its end."""
        with contextlib.suppress(OSError):
            (self.telling / SAMPLES_FILE).replace(self.root / SAMPLES_FILE)

    def clear(self) -> None:
        """Remove what is of no use behind the end of the job."""
        for folder in (self.work, self.scratch, self.telling):
            shutil.rmtree(folder, ignore_errors=True)


def fill_place(folder: ProjectFolder, job: Job) -> Place:
    """Make the folder of an attempt with the files that the job needs."""
    place = Place(folder.attempt(job.id, job.attempts))
    if place.root.exists():
        shutil.rmtree(place.root)
    for part in (place.root, place.work, place.scratch, place.telling):
        part.mkdir(parents=True)
    if job.kind == "study":
        earlier = [folder.attempt(job.id, number) / "results" for number in range(job.attempts - 1, 0, -1)]
        if found := next((path for path in earlier if path.is_dir()), None):
            found.rename(place.results)  # its finished runs count
    place.results.mkdir(exist_ok=True)
    plan = job.spec["plan"]
    fill_work(folder, plan, place.work)
    for name, number in plan["results"].items():
        _copy_results(folder, int(number), place.work / name)
    return place


def fill_work(folder: ProjectFolder, plan: Mapping[str, Any], work: Path) -> None:
    """Put the files that a plan names into a folder."""
    for name, digest in plan["blobs"].items():
        _copy(blob_path(folder, digest), _inside(work, name))
    for name, text in plan["texts"].items():
        _inside(work, name).write_text(text, encoding="utf-8")


def blob_path(folder: ProjectFolder, digest: str) -> Path:
    return folder.blobs / digest[:2] / digest


def _inside(root: Path, name: str) -> Path:
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()):
        raise FileError(f"'{name}' is outside of the folder of the job")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        raise FileError(f"the uploaded file '{target.name}' is not in the folder of the project any more") from None


def results_of(folder: ProjectFolder, job: int) -> Place | None:
    """Return the place of the last attempt at a job, if there is one on the disk."""
    numbers = sorted((int(entry.name) for entry in _entries(folder.job(job)) if entry.name.isdigit()), reverse=True)
    return Place(folder.attempt(job, numbers[0])) if numbers else None


def _entries(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else []


def _copy_results(folder: ProjectFolder, job: int, target: Path) -> None:
    place = results_of(folder, job)
    target.mkdir(parents=True, exist_ok=True)
    for file in _entries(place.results) if place is not None else []:
        if file.is_file() and file.suffix != ".html":
            _copy(file, target / file.name)


def command_of(job: Job, place: Place, settings: ServiceSettings) -> list[str]:
    """Return the words of the command line, as somebody would type them."""
    words = [word.replace(RESULTS, str(place.results)) for word in job.spec["plan"]["words"]]
    if job.kind == "study":
        words.append(f"--on={settings.on}")
        if "://" not in settings.on:
            words.append(f"--workers={settings.workers}")
        words.append("--resume")
    return words


def start(job: Job, place: Place, words: list[str], settings: ServiceSettings) -> subprocess.Popen[bytes]:
    """Start the process of a job, in a session of its own, in a sandbox if it brings code of somebody else."""
    command = [sys.executable, "-m", "kingpost.fmu.service.job_process", str(place.work), *words]
    environment = _environment(place, settings)
    if job.spec["plan"]["foreign"] and not settings.trust_fmus:
        command = _in_sandbox(command, place)
    lifeline = Lifeline()
    json_wanted = "--json" in words
    with place.log.open("ab") as log, place.record.open("wb") as record:
        try:
            process = subprocess.Popen(
                command,
                cwd=place.root,
                stdin=subprocess.DEVNULL,
                stdout=record if json_wanted else log,
                stderr=log,
                env={**environment, **lifeline.environment},
                pass_fds=lifeline.inherited,
                start_new_session=True,
            )
        except OSError:
            lifeline.cut()
            raise
    lifeline.tie(process)
    return process


def _in_sandbox(command: list[str], place: Place) -> list[str]:
    from kingpost.fmu.process.sandbox import Limits, limits_in_force, sandboxed

    for path in (place.work, *place.work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # a server of root gives the command to somebody else
    limits = limits_in_force(Limits(wall=LONGEST_FOREIGN))
    return sandboxed(command, readable=[place.work], writable=[place.results, place.telling], limits=limits)


def _environment(place: Place, settings: ServiceSettings) -> dict[str, Any]:
    return {
        **handed_on(os.environ),
        PROGRESS: str(place.progress),
        SAMPLES: str(place.samples),
        LIMITS: settings.limits.words,
        "TMPDIR": str(place.scratch),
        "PYTHONUNBUFFERED": "1",
        "PYTHONSAFEPATH": "1",
    }


def handed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that programs which the server starts get."""
    return {name: value for name, value in environment.items() if name in HANDED_ON or _ours(name)}


def _ours(name: str) -> bool:
    return name.startswith("KINGPOST_") and "TOKEN" not in name
