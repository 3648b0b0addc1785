"""From what a client asks for to a job that an executor can carry out: words of a command line, and the files that it needs.

Everything that can be refused is refused here, before the job is acknowledged; numbers and names of options are judged by the
verb itself, whose message the failed job carries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kingpost.base.errors import closest, listed
from kingpost.base.files import safe_name
from kingpost.base.toml_text import toml_text
from kingpost.fmu.service.data_guard import check_data, check_words, file_names
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.kinds import KINDS, Kind, Subject
from kingpost.fmu.service.store import Blob, Job

#: Stands for the folder of results in the words of a command line.
RESULTS = "{results}"
HASH = re.compile(r"[0-9a-f]{64}\Z")
#: What a subject may be uploaded as.
SUBJECT_FILES: dict[Subject, tuple[str, ...]] = {
    "model": ("toml", "urdf"),
    "system": ("toml", "ssp", "ssd", "xml"),
    "study": ("toml",),
    "fmu": ("fmu",),
    "result": ("csv", "npz", "mat", "h5", "parquet"),
}
#: Files that are code of somebody else.
FOREIGN = ("fmu", "ssp")
#: Files that one job may bring along, and how deep they may name each other.
MOST_FILES = 200
DEEPEST = 8


@dataclass(frozen=True)
class Asked:
    """What a client asks for."""

    kind: str
    model: str | None = None
    file: str | None = None
    system: Mapping[str, Any] | None = None
    #: The job whose results are meant, for reports and fatigue.
    job: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Uploaded files by the names under which other files refer to them.
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


@dataclass
class JobPlan:
    """What an executor needs to know of a job."""

    words: list[str]
    #: Hashes by the names that files have in the folder of the job.
    blobs: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    #: Jobs by the names of the folders in which their results are wanted.
    results: dict[str, int] = field(default_factory=dict)
    #: Whether code of somebody else runs.
    foreign: bool = False

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Known:
    """What a plan is made with: the names of models, and where files and jobs are looked up."""

    models: Callable[[], Sequence[str]]
    blob: Callable[[str], Blob]
    blob_named: Callable[[str], Blob | None]
    text_of: Callable[[Blob], Mapping[str, Any]]
    job: Callable[[int], Job]


def plan_job(asked: Asked, known: Known) -> tuple[JobPlan, str]:
    """Return the plan of a job, and a name for it."""
    kind = KINDS.get(asked.kind)
    if kind is None:
        raise ServiceError(f"there is no kind of job '{asked.kind[:80]}'{closest(asked.kind, KINDS)} Kinds: {listed(KINDS)}.")
    return _Planner(asked, kind, known).plan()


class _Planner:
    """One plan in the making."""

    def __init__(self, asked: Asked, kind: Kind, known: Known) -> None:
        self.asked, self.kind, self.known = asked, kind, known
        self.done = JobPlan([])

    def plan(self) -> tuple[JobPlan, str]:
        subject, name = self._subject()
        words = [self.kind.verb, subject]
        words += self._settings()
        options = dict(self.asked.options)
        if self.kind.history:
            options.setdefault("write", ["csv", "npz"])
            options.setdefault("report", not options.get("check", False))
        for key, value in options.items():
            words += self._option(key, value)
        if self.kind.out is not None:
            below = self.kind.out.replace("{name}", safe_name(name))
            words.append(f"--out={RESULTS}/{below}" if below else f"--out={RESULTS}")
        if self.kind.json:
            words.append("--json")
        self.done.words = words
        self.done.foreign = any(self.known.blob(digest).kind in FOREIGN for digest in self.done.blobs.values())
        return self.done, (self.asked.name or name)[:200]

    def _subject(self) -> tuple[str, str]:
        """Return the word for what the job works on, and what it is called."""
        asked, subject = self.asked, self.kind.subject
        given = [name for name in ("model", "file", "system", "job") if getattr(asked, name) is not None]
        wanted = {
            "model": ["model", "file"],
            "system": ["file", "system"],
            "study": ["file"],
            "fmu": ["file"],
            "result": ["job", "file"],
        }[subject]
        if len(given) != 1 or given[0] not in wanted:
            raise ServiceError(
                f"a job '{asked.kind}' takes {' or '.join(wanted)}, one of them; "
                f"{'none of them' if not given else ' and '.join(given)} was given"
            )
        if given[0] == "model":
            return self._model(asked.model or "")
        if given[0] == "system":
            return self._system(asked.system or {})
        if given[0] == "job":
            return self._result(asked.job or 0)
        blob = self.known.blob(asked.file or "")
        if blob.kind not in SUBJECT_FILES[subject]:
            raise ServiceError(
                f"'{blob.name}' is a file of kind '{blob.kind}'; a job '{asked.kind}' takes {listed(SUBJECT_FILES[subject])}"
            )
        return self._place(blob), blob.name.rpartition(".")[0] or blob.name

    def _model(self, name: str) -> tuple[str, str]:
        names = self.known.models()
        if name not in names:
            raise ServiceError(f"there is no model '{name[:80]}'{closest(name, names)} GET models lists them.")
        return name, name

    def _system(self, system: Mapping[str, Any]) -> tuple[str, str]:
        check_data(system, "system")
        try:
            self.done.texts["system.toml"] = toml_text(self._named(system))
        except ValueError as error:
            raise ServiceError(f"the system cannot be written as TOML: {error}") from None
        self._follow(system, 1)
        name = system.get("name")
        return "system.toml", name if isinstance(name, str) and name else "system"

    def _named(self, data: Any) -> Any:
        """Return plain data in which hashes of files are the names that the files get."""
        if isinstance(data, Mapping):
            return {key: self._named(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self._named(value) for value in data]
        if isinstance(data, str) and HASH.match(data):
            return self._place(self.known.blob(data))
        return data

    def _result(self, number: int) -> tuple[str, str]:
        job = self.known.job(number)
        if job.state not in ("done", "failed", "cancelled"):
            raise ServiceError(f"job {number} is {job.state}; wait until it has ended", status=409, code="not-ended")
        place = f"job-{number}"
        self.done.results[place] = number
        return place, job.name

    def _place(self, blob: Blob, wanted: str | None = None, depth: int = 0) -> str:
        """Let a file be in the folder of the job; return under which name."""
        name = wanted or blob.name
        stem, dot, suffix = name.rpartition(".")
        number = 1
        while self.done.blobs.get(name, blob.hash) != blob.hash or name in self.done.texts:
            number += 1
            name = f"{stem or suffix}-{number}{dot}{suffix if stem else ''}"
        if name in self.done.blobs:
            return name
        if len(self.done.blobs) >= MOST_FILES:
            raise ServiceError(f"a job may bring {MOST_FILES} files along; put them into an SSP archive")
        self.done.blobs[name] = blob.hash
        if blob.kind in ("toml", "xml", "ssd"):
            self._follow(self.known.text_of(blob), depth + 1)
        return name

    def _follow(self, data: Any, depth: int) -> None:
        """Bring along the files that a file names, where they were uploaded; the verb tells of those that were not."""
        if depth > DEEPEST:
            raise ServiceError(f"files name each other more than {DEEPEST} deep")
        for name in file_names(data):
            given = self.asked.files.get(name)
            blob = self.known.blob(given) if given is not None else self.known.blob_named(name.rpartition("/")[2])
            if blob is not None and name not in self.done.blobs:
                self._place(blob, name, depth)

    def _settings(self) -> list[str]:
        settings = self.asked.settings
        if settings and not self.kind.settings:
            raise ServiceError(f"a job '{self.asked.kind}' takes no settings; write them into its file")
        words = []
        for name, value in settings.items():
            if not name or "=" in name or not name.isprintable():
                raise ServiceError(f"settings: '{name[:80]}' is no name of a parameter, input or start value")
            if isinstance(value, str):
                check_words(value, f"settings.{name}")
            elif isinstance(value, float) and not math.isfinite(value):
                raise ServiceError(f"settings.{name}: {value} is not a finite number")
            words.append(f"--set={name}={_plain(value)}")
        return words

    def _option(self, name: str, value: Any) -> list[str]:
        takes = self.kind.options.get(name)
        if takes is None:
            raise ServiceError(
                f"a job '{self.asked.kind}' has no option '{name[:80]}'{closest(name, self.kind.options)} "
                f"It takes: {listed(self.kind.options)}."
            )
        if value is None:
            return []
        flag = f"--{name.replace('_', '-')}"
        where = f"options.{name}"
        if takes in ("flag", "switch"):
            if not isinstance(value, bool):
                raise ServiceError(f"{where}: {value!r:.80} is not true or false")
            return [flag] if value else [f"--no-{flag[2:]}"] if takes == "switch" else []
        if takes == "optional" and value is True:
            return [flag]
        if takes in ("number", "count", "optional"):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or (takes == "count" and value != int(value)):
                raise ServiceError(f"{where}: {value!r:.80} is not a {'whole ' if takes == 'count' else ''}number")
            return [f"{flag}={_plain(int(value) if takes == 'count' else value)}"]
        if takes == "file":
            if not isinstance(value, str):
                raise ServiceError(f"{where}: give the hash of an uploaded file")
            return [f"{flag}={self._place(self.known.blob(value))}"]
        if takes == "inputs" and isinstance(value, Mapping):
            return [f"{flag}={self._input(key, entry)}" for key, entry in value.items()]
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, (str, int, float)) for text in texts):
            raise ServiceError(f"{where}: {value!r:.80} is not a text, or a list of texts")
        if takes == "text" and len(texts) != 1:
            raise ServiceError(f"{where} takes one text; {len(texts)} were given")
        for text in texts:
            check_words(str(text), where)
        return [f"{flag}={','.join(map(_plain, texts))}"] if takes == "names" else [f"{flag}={_plain(text)}" for text in texts]

    def _input(self, name: str, entry: Any) -> str:
        """Return the word that lets an input follow a formula, or a column of an uploaded file."""
        if isinstance(entry, Mapping):
            digest = entry.get("file")
            parts = [entry.get(key) for key in ("column", "between")]
            if not isinstance(digest, str) or not all(part is None or isinstance(part, str) for part in parts):
                raise ServiceError(f"options.input.{name}: give a formula, or a file (its hash), a column and between")
            for part in parts:
                check_words(part or "", f"options.input.{name}")
            return ":".join([f"{name}={self._place(self.known.blob(digest))}", *(part for part in parts if part)])
        check_words(f"{name}={entry}", f"options.input.{name}")
        return f"{name}={_plain(entry)}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
