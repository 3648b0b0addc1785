"""The kinds of plugins that this package declares; nothing of them is loaded before it is asked for."""

from __future__ import annotations

from kingpost.registry.hookspecs import hookimpl
from kingpost.registry.kinds import HERE, PluginKind


@hookimpl
def kingpost_register_kinds() -> list[PluginKind]:
    return [
        PluginKind(
            "exporters",
            f"{HERE}.simulation.exporter:Exporter",
            "forms in which a model leaves Kingpost",
            (f"{HERE}.fmu.export.hooks",),
        ),
        PluginKind(
            "masters",
            f"{HERE}.fmu.cosim.masters.interface:Master",
            "ways to advance coupled systems",
            (f"{HERE}.fmu.cosim.masters.hooks",),
        ),
    ]
