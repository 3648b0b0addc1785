"""The kinds of plugins that this package declares; nothing of them is loaded before it is asked for."""

from __future__ import annotations

from kingpost.registry.hookspecs import hookimpl
from kingpost.registry.kinds import PluginKind


@hookimpl
def kingpost_register_kinds() -> list[PluginKind]:
    return [
        PluginKind(
            "exporters",
            "kingpost.simulation.exporter:Exporter",
            "forms in which a model leaves Kingpost",
            ("kingpost.fmu.export.hooks",),
        ),
        PluginKind(
            "masters",
            "kingpost.fmu.cosim.masters.interface:Master",
            "ways to advance coupled systems",
            ("kingpost.fmu.cosim.masters.hooks",),
        ),
    ]
