"""Numbers of a model that are changed while it runs as a component."""

from __future__ import annotations

from collections.abc import Mapping

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fmu.cosim.components.described import PartnerError
from kingpost.simulation.export_model import ExportModel
from kingpost.simulation.while_running import changed_parameters


def changed_values(
    name: str, model: ExportModel, values: Mapping[str, float], t: float, x: FloatArray, u: FloatArray, p: FloatArray
) -> tuple[FloatArray, dict[int, float]]:
    """Return the row of parameters, the same one if none of them changes, and new values of inputs by their places."""
    places = {signal.name: i for i, signal in enumerate(model.mechanism.inputs)}
    inputs = {places[key]: float(value) for key, value in values.items() if key in places}
    given = {key: value for key, value in values.items() if key not in places}
    try:
        return (changed_parameters(model.problem, given, t, x, u, p) if given else p), inputs
    except KingpostError as error:
        raise PartnerError(name, str(error)) from None
