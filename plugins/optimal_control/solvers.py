"""Solvers of nonlinear programs: IPOPT, and fatrop for programs in stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.counted import CountedTerm
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.solver import NlpSolver, SolverOptions, Stated
from kingpost.control.optimal.solving import ipopt_settings
from kingpost.plugins.optimal_control.compiled_stages import CompiledStages
from kingpost.plugins.optimal_control.stages import Stages


class Ipopt(NlpSolver):
    """IPOPT, an interior-point method for sparse programs of any structure."""

    name = "ipopt"
    casadi = "ipopt"

    def settings(self, options: SolverOptions) -> dict[str, Any]:
        return ipopt_settings(options)


class Fatrop(NlpSolver):
    """fatrop, an interior-point method with a Riccati recursion through the intervals, for tasks without phases.

    In machine code it tells about its iterations. Interpreted, CasADi differentiates the program for it, and nothing is heard
    before it ends.
    """

    name = "fatrop"
    casadi = "fatrop"
    tells = False

    def refusal(self, problem: OptimalProblem, options: SolverOptions) -> str:
        if not ca.has_nlpsol("fatrop"):
            return "this CasADi comes without fatrop; take 'ipopt'"
        if problem.phases:
            return (
                f"solver 'fatrop' goes through stages of one size, and {problem.task.title} has {len(problem.phases)} phases, "
                "each with its own; take 'ipopt'"
            )
        if any(isinstance(term, CountedTerm) for _, term in problem.terms):
            return "solver 'fatrop' goes through stages one by one, and counted ranges join distant ones; take 'ipopt'"
        if options.time_limit is not None and problem.posed.how.backend != "c":
            return (
                "solver 'fatrop' keeps a time limit in machine code alone, for it says nothing while it iterates otherwise; "
                "take backend 'c', or 'ipopt'"
            )
        return ""

    def succeeded(self, record: Mapping[str, Any]) -> bool:
        return bool(record["success"])

    def settings(self, options: SolverOptions) -> dict[str, Any]:
        return {
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "calc_lam_p": False,
            "structure_detection": "manual",
            "fatrop.print_level": 0,
            "fatrop.tol": options.tolerance,
            "fatrop.max_iter": options.iterations,
        }

    def stated(self, program: NonlinearProgram, w: FloatArray) -> Stated:
        if program.blocks.library:
            stages = Stages(program)
            compiled = CompiledStages(stages)
            stated = Stated(compiled.oracle, stages.structure(), stages.start(w), listen=compiled.listen)
        else:
            stages = Stages(replace(program, blocks=program.blocks.source or program.blocks))
            stated = Stated(stages.differentiable(), stages.structure(), stages.start(w))
        return replace(stated, variables=stages.variables, multipliers=stages.rows)
