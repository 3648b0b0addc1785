"""The hooks of Kingpost.

A plugin is a module with functions that are marked with ``@hookimpl``, one for each kind of plugin that it brings::

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

The kinds, and so the hooks, are those of :mod:`kingpost.registry.kinds` and those that packages declare by
``kingpost_register_kinds``. A hook is called once, when its kind is first asked for; inside a run there are only plain calls.
"""

from __future__ import annotations

import pluggy

NAME = "kingpost"
PREFIX = "kingpost_"
#: The hook by which a package declares kinds of plugins of its own; it is called when a PluginSet is made.
KINDS_HOOK = f"{PREFIX}register_kinds"
hookspec = pluggy.HookspecMarker(NAME)
hookimpl = pluggy.HookimplMarker(NAME)
