"""One run of a study, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One run of a study.

    Parameters
    ----------
    key
        A hash of all that its numbers depend on: the same case of the same study has the same key on every machine.
    settings
        Parameters, constant inputs and start values by name.
    sea
        The sea in the words of ``--sea``; empty for none.
    labels
        What a person tells cases apart by: ``{"Hs": 2.5, "Tp": 8.0, "heading": 150.0, "seed": 3}``.
    weight
        The part of the time that it stands for; those of a whole study add up to one at most.

    """

    key: str
    settings: Mapping[str, float] = field(default_factory=dict)
    sea: str = ""
    labels: Mapping[str, float | str] = field(default_factory=dict)
    weight: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What came of a case: numbers by name, or the message of a failure; and the CPU time that it took (s).

    ``outside`` says how a floating body left the small angles of linear theory; such a case has no numbers that count.
    """

    key: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    cpu_s: float = 0.0
    outside: str = ""
