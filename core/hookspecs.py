"""The hooks of Kingpost.

A plugin is a module with functions of these names, marked with ``@hookimpl``::

    from kingpost import StepMap, hookimpl

    class ExplicitEuler(StepMap):
        \"\"\"The simplest integrator there is.\"\"\"

        name = "euler-explicit"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x + h * equations.rhs(t, x, u, p)

    @hookimpl
    def kingpost_register_integrators():
        return [ExplicitEuler]

Hooks are called once, when a :class:`kingpost.pluginset.PluginSet` is made; inside a run there are only plain calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from kingpost.interfaces.command import Command
    from kingpost.interfaces.exporter import Exporter
    from kingpost.interfaces.force import Force
    from kingpost.interfaces.formulation import Formulation
    from kingpost.interfaces.integrator import Integrator
    from kingpost.interfaces.joint_loads import JointLoads
    from kingpost.interfaces.master import Master
    from kingpost.interfaces.model import Model
    from kingpost.interfaces.writer import Writer

NAME = "kingpost"
PREFIX = "kingpost_"
hookspec = pluggy.HookspecMarker(NAME)
hookimpl = pluggy.HookimplMarker(NAME)


@hookspec
def kingpost_register_formulations() -> list[type[Formulation]]:  # type: ignore[empty-body]  # a spec has no body
    """Return formulation classes."""


@hookspec
def kingpost_register_integrators() -> list[type[Integrator]]:  # type: ignore[empty-body]  # a spec has no body
    """Return integrator classes, step maps or solvers."""


@hookspec
def kingpost_register_joint_loads() -> list[type[JointLoads]]:  # type: ignore[empty-body]  # a spec has no body
    """Return joint-load classes: ways to find the wrench that a joint transmits."""


@hookspec
def kingpost_register_forces() -> list[type[Force]]:  # type: ignore[empty-body]  # a spec has no body
    """Return force classes."""


@hookspec
def kingpost_register_models() -> list[type[Model]]:  # type: ignore[empty-body]  # a spec has no body
    """Return model classes: machines that can be run by name."""


@hookspec
def kingpost_register_writers() -> list[type[Writer]]:  # type: ignore[empty-body]  # a spec has no body
    """Return writer classes: file formats for results."""


@hookspec
def kingpost_register_exporters() -> list[type[Exporter]]:  # type: ignore[empty-body]  # a spec has no body
    """Return exporter classes: forms in which a model leaves Kingpost."""


@hookspec
def kingpost_register_masters() -> list[type[Master]]:  # type: ignore[empty-body]  # a spec has no body
    """Return master classes: ways to advance coupled systems."""


@hookspec
def kingpost_register_commands() -> list[type[Command]]:  # type: ignore[empty-body]  # a spec has no body
    """Return command classes: verbs of the ``kingpost`` command line."""
