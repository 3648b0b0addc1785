"""Solvers for FMUs that have none of their own; their names alone, which need no fmpy."""

from __future__ import annotations

from typing import Literal, TypeAlias

SolverName: TypeAlias = Literal["CVode", "Euler"]
SOLVERS: tuple[SolverName, ...] = ("CVode", "Euler")
