"""The solvers that FMUs without one are given."""

from __future__ import annotations

from typing import Literal, TypeAlias

SolverName: TypeAlias = Literal["CVode", "Euler"]
SOLVERS: tuple[SolverName, ...] = ("CVode", "Euler")
