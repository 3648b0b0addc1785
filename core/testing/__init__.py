"""The conformance kit: what every plugin of a kind must do. Kingpost's own plugins pass it, and so should yours.

::

    from kingpost.testing import check_integrator
    from my_package import MyIntegrator

    def test_my_integrator():
        check_integrator(MyIntegrator)

Each check raises ``AssertionError`` with a sentence that says what was expected and what came out. Fixtures for pytest
are in :mod:`kingpost.testing.fixtures`.
"""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names
from kingpost.testing.formalisms import FORMALISM_CHECKS, check_formalism
from kingpost.testing.formulations import FORMULATION_CHECKS, check_formulation
from kingpost.testing.integrators import INTEGRATOR_CHECKS, check_integrator
from kingpost.testing.joint_loads import JOINT_LOAD_CHECKS, check_joint_loads
from kingpost.testing.problems import random_tree

__all__ = [
    "EXECUTOR_CHECKS",
    "FEEDBACK_CHECKS",
    "FORMALISM_CHECKS",
    "FORMULATION_CHECKS",
    "INTEGRATOR_CHECKS",
    "INVERSE_DYNAMICS_CHECKS",
    "JOINT_LOAD_CHECKS",
    "NLP_SOLVER_CHECKS",
    "REDUCER_CHECKS",
    "SAMPLER_CHECKS",
    "TRANSCRIPTION_CHECKS",
    "check_executor",
    "check_feedback",
    "check_formalism",
    "check_formulation",
    "check_integrator",
    "check_inverse_dynamics",
    "check_joint_loads",
    "check_nlp_solver",
    "check_reducer",
    "check_sampler",
    "check_transcription",
    "random_tree",
]

if TYPE_CHECKING:
    from kingpost.testing.executors import EXECUTOR_CHECKS, check_executor
    from kingpost.testing.feedback import FEEDBACK_CHECKS, check_feedback
    from kingpost.testing.inverse_dynamics import INVERSE_DYNAMICS_CHECKS, check_inverse_dynamics
    from kingpost.testing.nlp_solvers import NLP_SOLVER_CHECKS, check_nlp_solver
    from kingpost.testing.optimal_control import TRANSCRIPTION_CHECKS, check_transcription
    from kingpost.testing.reducers import REDUCER_CHECKS, check_reducer
    from kingpost.testing.samplers import SAMPLER_CHECKS, check_sampler
else:
    # Controllers need SciPy, which the rest does without.
    __getattr__, __dir__, _ = lazy_names(
        __name__,
        {
            "executors": ("EXECUTOR_CHECKS", "check_executor"),
            "feedback": ("FEEDBACK_CHECKS", "check_feedback"),
            "inverse_dynamics": ("INVERSE_DYNAMICS_CHECKS", "check_inverse_dynamics"),
            "nlp_solvers": ("NLP_SOLVER_CHECKS", "check_nlp_solver"),
            "optimal_control": ("TRANSCRIPTION_CHECKS", "check_transcription"),
            "reducers": ("REDUCER_CHECKS", "check_reducer"),
            "samplers": ("SAMPLER_CHECKS", "check_sampler"),
        },
    )
