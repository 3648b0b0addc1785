"""The kinds of jobs: which verb each one is, what it works on, and which options it takes, as data.

A job is a command line of ours. Every option of a verb is either here or in ``LEFT_OUT``; a test compares both with the verbs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Takes = Literal["number", "count", "text", "texts", "flag", "switch", "names", "file", "inputs", "optional"]
Subject = Literal["model", "system", "study", "fmu", "result"]

#: Options that the service itself gives, or that name places on the server, by verb; "" stands for every verb.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "": ("help", "plugin", "no_plugins", "json", "out", "set", "verbose", "sandbox", "plot"),
    "cosim": ("picture", "in_process"),
    "study": ("on", "workers", "resume", "replay"),
    "fmu-check": ("list",),
    "fatigue": ("states",),
}

_HOW: dict[str, Takes] = {
    **dict.fromkeys(("formulation", "integrator", "load_method", "load_metric", "verify", "sea"), "text"),
    **dict.fromkeys(("t_end", "t_start", "step", "output_step", "tilt_limit"), "number"),
    **dict.fromkeys(("loads", "cut"), "texts"),
    **dict.fromkeys(("close_loops", "monitors"), "switch"),
    **{"from": "text", "check_step": "optional", "backend": "text"},
}
#: What an export does not ask of how a machine is solved.
NOT_EXPORTED = ("monitors", "verify", "check_step", "tilt_limit", "backend", "output_step")
_RESULTS: dict[str, Takes] = {"write": "names", "report": "flag"}
_LIMITS: dict[str, Takes] = {"timeout": "number", "run_timeout": "number"}


def _how(*names: str) -> dict[str, Takes]:
    return {name: _HOW[name] for name in names}


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    verb: str
    subject: Subject
    options: dict[str, Takes] = field(default_factory=dict)
    #: Whether numbers can be given by name (``--set``).
    settings: bool = False
    #: What ``--out`` names below the folder of results; the folder itself if empty; None for verbs without that option.
    out: str | None = ""
    #: Whether the verb prints its record with ``--json``.
    json: bool = True
    #: Whether a history is written, and a report with it unless somebody does not want it.
    history: bool = False


KINDS: dict[str, Kind] = {
    "run": Kind("run", "model", {**_HOW, "input": "inputs", **_RESULTS}, settings=True, history=True),
    "cosim": Kind(
        "cosim",
        "system",
        {
            **dict.fromkeys(("t_end", "step", "output_step"), "number"),
            **{"master": "text", "record": "texts", "check": "flag"},
            **_LIMITS,
            **_RESULTS,
        },
        history=True,
    ),
    "study": Kind("study", "study", {"plan": "flag", "retry_failed": "flag"}),
    "inverse": Kind(
        "inverse",
        "model",
        {
            **{
                "task": "text",
                "method": "text",
                "stepper": "text",
                "keep_taut": "optional",
                "taut_by": "text",
                "fatigue": "texts",
            },
            **_how("formulation", "loads", "load_method", "load_metric", "cut", "backend"),
            **_RESULTS,
        },
        settings=True,
        history=True,
    ),
    "optimise": Kind(
        "optimise",
        "model",
        {
            **{"task": "text", "horizon": "number", "intervals": "count", "control": "text", "transcription": "text"},
            **{"solver": "text", "time_limit": "number", "starts": "count", "start_from": "file", "continue": "texts"},
            **{"path": "names"},
            **_how("formulation", "integrator", "loads", "load_method", "load_metric", "backend"),
            **_RESULTS,
        },
        settings=True,
        history=True,
    ),
    "export": Kind(
        "export",
        "model",
        {
            **{"to": "text", "fmi": "count", "kind": "text", "platforms": "text", "arrays": "flag", "names": "text"},
            **{name: takes for name, takes in _HOW.items() if name not in NOT_EXPORTED},
            **{"communication_step": "number", "outputs": "texts", "inputs": "texts", "parameters": "texts"},
            **{"setpoint_inputs": "flag", "osp": "flag", "input": "inputs"},
        },
        settings=True,
        out="{name}.fmu",
    ),
    "fmu-check": Kind(
        "fmu-check",
        "fmu",
        {
            **{"only": "names", "skip": "names", "timeout": "number", "stop_time": "number", "step": "number"},
            **{"instances": "count", "strict": "flag", "kind": "text"},
        },
        out=None,
    ),
    "fmu-run": Kind(
        "fmu-run",
        "fmu",
        {
            **dict.fromkeys(("t_end", "t_start", "step", "tolerance"), "number"),
            **{"inputs": "file", "outputs": "texts", "solver": "text", "kind": "text", "quiet": "flag"},
            **_LIMITS,
            **_RESULTS,
        },
        settings=True,
        history=True,
    ),
    "report": Kind(
        "report",
        "result",
        {
            **{"title": "text", "skip": "number", "slopes": "names", "joints": "names"},
            **{"hotspots": "file", "curves": "file", "accept": "texts"},
        },
        out="report.html",
        json=False,
    ),
    "fatigue": Kind(
        "fatigue",
        "result",
        {
            **{"joint": "texts", "channel": "texts", "hotspots": "file", "curves": "file", "slopes": "names"},
            **{"f_ref": "number", "skip": "number", "threshold": "text", "accept": "texts", "spectral": "flag"},
            **{"life": "number"},
        },
        out="fatigue.json",
    ),
}
