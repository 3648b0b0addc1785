"""The transcriptions, cost terms and solvers of Kingpost."""

from __future__ import annotations

from kingpost.control.optimal.solver import NlpSolver
from kingpost.control.optimal.transcription import CostTerm, Transcription
from kingpost.plugins.optimal_control.collocation import Collocation
from kingpost.plugins.optimal_control.costs import Effort, EffortRate, Load, Swing, Time, Tracking, Work
from kingpost.plugins.optimal_control.fatigue import Fatigue
from kingpost.plugins.optimal_control.gonzalez import Gonzalez, Greenspan
from kingpost.plugins.optimal_control.hamiltonian import Hamiltonian
from kingpost.plugins.optimal_control.multiple_shooting import MultipleShooting
from kingpost.plugins.optimal_control.solvers import Fatrop, Ipopt
from kingpost.plugins.optimal_control.step import Step
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_optimal_control() -> list[type[Transcription]]:
    return [Step, Collocation, MultipleShooting, Gonzalez, Greenspan, Hamiltonian]


@hookimpl
def kingpost_register_cost_terms() -> list[type[CostTerm]]:
    return [Effort, EffortRate, Time, Work, Swing, Tracking, Load, Fatigue]


@hookimpl
def kingpost_register_nlp_solvers() -> list[type[NlpSolver]]:
    return [Ipopt, Fatrop]
