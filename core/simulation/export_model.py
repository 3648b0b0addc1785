"""A model that is ready to leave Kingpost: equations, integrator, step and start values, chosen and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import ExportError
from kingpost.equations.consistency import consistent_start
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.method import JointLoads
from kingpost.loads.ports import metered_start
from kingpost.mechanism.geometry import geometry_record
from kingpost.mechanism.load_request import LoadsWanted
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.run import check_singularity
from kingpost.simulation.simulate import DEFAULT_STEP, check_pairing, default_formulation, start_state, with_loads


@dataclass(frozen=True, eq=False)
class ExportModel:
    """Everything that an exporter needs to know.

    ``step`` is the longest internal step of a fixed-step integrator in s; ``t_end`` and ``communication_step`` are what the
    exported model suggests to its user.
    """

    mechanism: Mechanism
    equations: Equations
    integrator: Integrator
    step: float
    t_end: float
    communication_step: float
    values: Values
    x0: FloatArray
    u0: FloatArray
    p0: FloatArray
    #: Settings that the user gave: start values among them are no longer formulas.
    settings: Mapping[str, float]
    plugins: PluginSet

    @property
    def geometry(self) -> dict[str, object]:
        """Where joints and masses are, as plain data."""
        return geometry_record(self.mechanism, self.values.parameters)

    def culprits(self) -> list[str]:
        """Return what keeps the model from becoming plain C: forces in Python, and an integrator that is not a step map."""
        found = [f"force '{name}' calls plain Python" for name in self.equations.python_forces]
        if not isinstance(self.integrator, StepMap):
            found.append(f"integrator '{self.integrator.name}' is a solver that runs in Python, not a step map")
        return found


def prepare_export(
    mechanism: Mechanism,
    *,
    settings: Mapping[str, float] | None = None,
    formulation: Selection[Formulation] | None = None,
    integrator: Selection[Integrator] = "rk4",
    step: float | None = None,
    communication_step: float | None = None,
    t_end: float = 10.0,
    loads: LoadsWanted | None = None,
    load_method: Selection[JointLoads] | None = None,
    plugins: PluginSet | None = None,
) -> ExportModel:
    """Derive and check what an exporter needs; the arguments are those of :func:`kingpost.simulate`.

    ``communication_step`` (s) is the step that the exported model suggests to its user, by default ten internal steps.
    """
    plugins = plugins or PluginSet()
    settings = dict(settings or {})
    internal = DEFAULT_STEP if step is None else step
    suggested = 10 * internal if communication_step is None else communication_step
    for what, value in (("step", internal), ("communication step", suggested), ("end time", t_end)):
        if not (np.isfinite(value) and value > 0):
            raise ExportError(f"the {what} is {value:g} s; it must be above zero")
    values = resolve_values(mechanism, settings)
    method = select(plugins.integrators, integrator)
    writing = select(plugins.formulations, default_formulation(mechanism) if formulation is None else formulation)
    assembly = assemble(mechanism, plugins)
    equations = writing.derive(assembly)
    check_pairing(equations, method, plugins)
    x0 = start_state(equations, values)
    p0 = np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])
    equations = without_redundant_rows(equations, 0.0, x0, p0)
    x0 = consistent_start(equations, 0.0, x0, p0).x
    check_singularity(equations, x0, 0.0)
    equations.check_mass_matrix(x0, p0)
    equations = with_loads(assembly, equations, loads, load_method, plugins)
    x0 = metered_start(equations, x0)
    u0 = np.array([values.inputs[signal.name] for signal in mechanism.inputs])
    return ExportModel(mechanism, equations, method, internal, t_end, suggested, values, x0, u0, p0, settings, plugins)
