"""The forms of questions and answers, from which the OpenAPI is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kingpost.fmu.service.store import LARGEST

Number = Annotated[int, Field(ge=1, le=LARGEST)]
KindName = Literal["run", "cosim", "study", "inverse", "optimise", "export", "fmu-check", "fmu-run", "report", "fatigue"]
Text = Annotated[str, StringConstraints(max_length=200)]


class Problem(BaseModel):
    """What went wrong: a sentence, and a word for programs."""

    error: str
    code: str


class JobRequest(BaseModel):
    """A job to be run; it takes one of model, file, system and job, as its kind wants."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    kind: KindName
    model: Text | None = None
    file: Text | None = Field(None, description="hash of an uploaded file")
    system: dict[str, Any] | None = Field(None, description="a co-simulation as plain data, as in a system file")
    job: Number | None = Field(None, description="the job whose results are meant, for report and fatigue")
    settings: dict[str, float | bool | str] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict, description="hashes by the names under which files name each other")
    name: Text = ""


class JobId(BaseModel):
    """The number of a job."""

    id: int


class FileEntry(BaseModel):
    """A file of a result."""

    name: str
    bytes: int


class JobView(BaseModel):
    """A job as it is now."""

    id: int
    kind: str
    name: str
    state: str
    progress: float
    time_left_s: float | None
    created: float
    started: float | None
    ended: float | None
    error: str | None
    exit_status: int | None
    command: list[str]
    attempts: int


class JobDetails(JobView):
    """A job with its files and the record that its command printed."""

    request: dict[str, Any]
    files: list[FileEntry]
    summary: Any = None
    drawable: bool = Field(description="whether there is a history, or samples of one that grows")
    words: str | None = Field(None, description="what a running command says of how far it is")
    numbers: dict[str, float] = Field(default_factory=dict, description="the numbers of these words, such as cost")


class JobList(BaseModel):
    """Jobs, the newest first, and how many there are of each state."""

    jobs: list[JobView]
    counts: dict[str, int]


class JobState(BaseModel):
    """The state of a job."""

    id: int
    state: str


class FileView(BaseModel):
    """An uploaded file."""

    hash: str
    name: str
    bytes: int
    kind: str
    summary: dict[str, Any]
    created: float


class StudyCell(BaseModel):
    """A sea state of a study: how many runs it has, what came of them, and which part of them keeps all limits."""

    labels: dict[str, float | str | None]
    weight: float
    runs: int
    done: int
    failed: int
    outside: int
    within: float | None = Field(None, description="of the runs so far, by weight; null if there are none or no limits")


class StudyMap(BaseModel):
    """A study as far as it is."""

    planned: int
    done: int
    failed: int
    outside: int
    limits: list[str]
    cells: list[StudyCell]


class ChannelView(BaseModel):
    """A channel of a history."""

    name: str
    unit: str
    role: str


class HistoryView(BaseModel):
    """A stretch of a history, thinned: of every stretch of time the least and the largest value."""

    time: list[float]
    channels: dict[str, Any]
    samples: int
    complete: bool = Field(description="whether all samples are there; those of a running job are thinned and grow")


class Health(BaseModel):
    """Whether the server works."""

    status: str
    version: str
    executors: int
    free_bytes: int


class ModelRow(BaseModel):
    """A model that can be run by name."""

    name: str
    summary: str
    kind: str


#: What every route may answer instead.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the request cannot be understood"},
    401: {"model": Problem, "description": "no token, or a wrong one"},
    403: {"model": Problem, "description": "refused: a foreign host or page, code, or a place outside of the job"},
    404: {"model": Problem, "description": "there is no such thing"},
    409: {"model": Problem, "description": "it does not go with the state that things are in"},
    413: {"model": Problem, "description": "too large"},
    422: {"model": Problem, "description": "what was asked for cannot be had"},
    503: {"model": Problem, "description": "not now"},
    507: {"model": Problem, "description": "the disk is nearly full"},
}
