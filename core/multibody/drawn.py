"""The geometry of a machine with what its forces show, for pictures and for turning loads later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingpost.mechanism.geometry import geometry_record
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import make_forces
from kingpost.registry.pluginset import PluginSet


def machine_geometry(mechanism: Mechanism, parameters: Mapping[str, float], plugins: PluginSet) -> dict[str, Any]:
    """Return where everything is at the given parameters, as plain data; nothing for a model without bodies."""
    if not mechanism.bodies:
        return {}
    drawings = {name: force.drawing() for name, force in make_forces(mechanism, plugins).items()}
    return geometry_record(mechanism, parameters, drawings)
