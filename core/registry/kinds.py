"""The kinds of plugins there are: a hook that returns classes, the interface they derive from, and where ours are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

from kingpost.registry.hookspecs import PREFIX


@dataclass(frozen=True)
class PluginKind:
    """A kind of plugin.

    Nothing of it is loaded before it is first asked for. A package declares kinds of its own with the hook
    ``kingpost_register_kinds``; they are then as good as the ones below.

    Parameters
    ----------
    name
        The plural by which a :class:`kingpost.PluginSet` gives its registry: ``plugins.integrators``. Its hook is
        ``kingpost_register_<name>``.
    interface
        Where the base class of these plugins stands, as ``"package.module:Class"``.
    summary
        What plugins of this kind are, for listings.
    built_in
        Modules with hook implementations that are loaded together with the kind.
    adopts
        Pairs of another kind and, as ``"package.module:function"``, what makes a class of this kind of one of that kind, or
        None: its plugins can then be selected here by the same names, though they are listed there alone.

    """

    name: str
    interface: str
    summary: str
    built_in: tuple[str, ...] = ()
    adopts: tuple[tuple[str, str], ...] = ()

    @property
    def hook(self) -> str:
        """The name of the hook that returns classes of this kind."""
        return f"{PREFIX}register_{self.name}"

    def base(self) -> Any:
        """Load and return the base class."""
        return named(self.interface)


def named(place: str) -> Any:
    """Load and return what is at ``"package.module:name"``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


#: The package itself, which has another name inside FMUs.
HERE = __name__.partition(".")[0]


def _core(name: str, interface: str, summary: str, *built_in: str) -> PluginKind:
    return PluginKind(name, f"{HERE}.{interface}", summary, tuple(f"{HERE}.{module}" for module in built_in))


#: Modules of ours that declare further kinds; named, not imported, since nothing here depends on them.
DECLARING = (f"{HERE}.fmu.hooks",)
CORE_KINDS = (
    replace(
        _core("formulations", "equations.formulation:Formulation", "equations of motion", "plugins.formulations.hooks"),
        adopts=(("formalisms", f"{HERE}.plugins.formalisms.formulation:as_formulation"),),
    ),
    _core(
        "formalisms",
        "equations.formalism:Formalism",
        "principles of mechanics, each with a road of its own to the accelerations of a machine",
        "plugins.formalisms.hooks",
    ),
    _core("integrators", "equations.integrator:Integrator", "step maps and solvers", "plugins.integrators.hooks"),
    _core("joint_loads", "loads.method:JointLoads", "ways to find the wrench in a joint", "plugins.joint_loads.hooks"),
    _core("forces", "multibody.force:Force", "what acts on bodies and joints", "plugins.forces.hooks"),
    _core("models", "mechanism.model:Model", "machines that can be run by name", "plugins.models.hooks"),
    _core(
        "inverse_dynamics",
        "control.servo.system:InverseDynamics",
        "ways to find the inputs that drive measures along a path",
        "plugins.inverse_dynamics.hooks",
    ),
    _core(
        "servo_steppers",
        "control.servo.stepping:ServoStepper",
        "steps of inverse dynamics",
        "plugins.inverse_dynamics.hooks",
    ),
    _core(
        "feedback",
        "control.servo.feedback:Feedback",
        "controllers that keep a machine on the path of a servo task",
        "plugins.feedback.hooks",
    ),
    _core(
        "optimal_control",
        "control.optimal.transcription:Transcription",
        "ways to make a nonlinear program of an optimal control problem",
        "plugins.optimal_control.hooks",
    ),
    _core(
        "cost_terms",
        "control.optimal.transcription:CostTerm",
        "terms of the cost of optimal control",
        "plugins.optimal_control.hooks",
    ),
    _core(
        "nlp_solvers",
        "control.optimal.solver:NlpSolver",
        "solvers of the nonlinear programs of optimal control",
        "plugins.optimal_control.hooks",
    ),
    _core("writers", "results.writer:Writer", "file formats for results", "plugins.writers.hooks"),
    _core("samplers", "studies.sampler:Sampler", "which cases a study has", "plugins.samplers.hooks"),
    _core("reducers", "studies.reducer:Reducer", "what is kept of a run of a study", "plugins.reducers.hooks"),
    _core("executors", "studies.executor:Executor", "where the cases of a study are run", "plugins.executors.hooks"),
    _core("commands", "cli.command:Command", "verbs of the command line", "cli.hooks", "fmu.commands.hooks"),
)
