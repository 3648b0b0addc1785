"""In which sea states, and in which part of the year, one can work: limits held against the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.studies.case_table import CELL, CaseTable, Groups
from kingpost.studies.limits import Limit, Verdict
from kingpost.studies.store import OUTSIDE


@dataclass(frozen=True, eq=False)
class Share:
    """A group of cases: how much of the time it stands for, and the part of that in which all limits are kept."""

    labels: dict[str, float | str | None]
    #: Of the planned cases of the group.
    weight: float
    #: Of those with numbers: between 0 and 1; NaN if there are none.
    within: float
    runs: int
    done: int
    failed: int
    #: Those that left linear theory, which are not workable.
    outside: int
    #: The limit that is exceeded most often, in words; empty if none is.
    limiting: str


@dataclass(frozen=True, eq=False)
class Operability:
    """Limits held against all runs."""

    limits: tuple[Limit, ...]
    #: Largest excess of each case; NaN for those without numbers.
    excess: FloatArray
    #: Parts of the year: workable, not workable (of that outside linear theory), calm, and without results.
    workable: float
    beyond: float
    outside: float
    calm: float
    unknown: float
    #: By limit, in words: the part of the year in which it is exceeded.
    by_limit: dict[str, float]
    cells: tuple[Share, ...]
    positions: tuple[Share, ...]

    @property
    def percent(self) -> float:
        """Per cent of the year in which one can work, calm time included; what is unknown counts as not workable."""
        return 100.0 * (self.workable + self.calm)


def find_operability(table: CaseTable, limits: Sequence[Limit], calm: float = 0.0) -> Operability | None:
    """Hold limits against all runs; None without limits. ``calm`` is the part of the year that the cases leave out."""
    if not limits:
        return None
    verdicts = [verdict for limit in limits for verdict in limit.judged(table.numbers)]
    excess = np.where(table.done, np.max([verdict.excess for verdict in verdicts], axis=0), np.nan)
    within = excess <= 0.0
    weight = table.weights.of
    workable = float(weight[within].sum())
    by_limit = {verdict.words: float(weight[table.done & (verdict.excess > 0.0)].sum()) for verdict in verdicts}
    left_out = table.weights.left_out
    return Operability(
        limits=tuple(limits),
        excess=excess,
        workable=workable,
        beyond=table.weights.covered - workable,
        outside=left_out,
        calm=calm,
        unknown=table.weights.uncovered,
        by_limit={**by_limit, OUTSIDE: left_out} if left_out > 0.0 else by_limit,
        cells=_shares(table, table.groups(CELL), excess, verdicts) if table.has_cells else (),
        positions=_shares(table, table.groups(table.positions), excess, verdicts) if table.positions else (),
    )


def _shares(table: CaseTable, groups: Groups, excess: FloatArray, verdicts: Sequence[Verdict]) -> tuple[Share, ...]:
    # Where linear theory does not hold nobody can work: such cases are known, and beyond.
    done = table.done
    ran, weight = done | table.left_theory, table.weights.of + table.weights.outside
    # Cases that stand for no time, such as variants, are counted alike where nothing else is.
    alike = groups.sums(weight) <= 0.0
    counted = np.where(alike[groups.of], ran.astype(float), weight)
    known, kept = groups.sums(counted), groups.sums(np.where(excess <= 0.0, counted, 0.0))
    states = [np.ones(len(table)), *(mask.astype(float) for mask in (done, table.failed, table.left_theory))]
    numbers = [groups.sums(column) for column in (table.weight, *states)]
    exceeding = [done & (verdict.excess > 0.0) for verdict in verdicts]
    exceeded = np.array([groups.sums(np.where(mask, counted, 0.0)) for mask in (*exceeding, table.left_theory)])
    words = [*(verdict.words for verdict in verdicts), OUTSIDE]
    shares = []
    for i in range(len(groups)):
        most = int(exceeded[:, i].argmax())
        shares.append(
            Share(
                labels=groups.labelled(i),
                weight=float(numbers[0][i]),
                within=float(kept[i] / known[i]) if known[i] > 0.0 else float("nan"),
                runs=int(numbers[1][i]),
                done=int(numbers[2][i]),
                failed=int(numbers[3][i]),
                outside=int(numbers[4][i]),
                limiting=words[most] if exceeded[most, i] > 0.0 else "",
            )
        )
    return tuple(shares)
