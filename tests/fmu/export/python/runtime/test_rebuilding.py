"""A model that is derived again where an FMU runs has all that was chosen at the export."""

import dataclasses
import json

import numpy as np
import pytest

from kingpost import PluginSet
from kingpost.equations.partition import Partition
from kingpost.fmu.export.python.exporter import PythonFmu, PythonOptions, _check, _definition
from kingpost.fmu.export.python.runtime.rebuilding import build
from kingpost.fmu.interface.interface import build_interface
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from kingpost.simulation.settings import RunSettings
from tests.fmu.export.python.python_fmus import run_script

SELECTION = ExportSelection()
#: A method for joint loads with an option, which changes numbers.
SCALED = """
from dataclasses import dataclass
from kingpost import hookimpl
from kingpost.plugins.joint_loads.recursive import RecursiveLoads


@dataclass(frozen=True)
class Options:
    factor: float = 1.0


class Scaled(RecursiveLoads):
    \"\"\"Loads times a factor.\"\"\"

    name = "scaled"
    Options = Options

    def constraint_wrenches(self, dynamics, equations, joints):
        found = super().constraint_wrenches(dynamics, equations, joints)
        return {name: self.options.factor * wrench for name, wrench in found.items()}


@hookimpl
def kingpost_register_joint_loads():
    return [Scaled]
"""


def again(model, plugin_files=()):
    """Return the model that is derived from what travels in an FMU, as an engine holds it."""
    interface = build_interface(model, SELECTION)
    definition = json.loads(json.dumps(_definition(model, SELECTION)))
    manifest = {
        "names": list(interface.names),
        "token": "{t}",
        "package": {"definition": definition, "check": _check(interface)},
    }
    return build(manifest, [str(file) for file in plugin_files], None, "a test")()._rebuilt.model


@pytest.mark.parametrize(
    ("formulation", "holds"),
    [
        ("kane:baumgarte=7,projection=false", lambda made: made.treatment.baumgarte == 7.0),
        ("kane:independent=auto", lambda made: isinstance(made.treatment, Partition)),
        ("recursive:baumgarte=3", lambda made: made.treatment.baumgarte == 3.0),
    ],
)
def test_options_of_formulations_are_rebuilt(formulation, holds, machine, plugins):
    model = prepare_export(machine("four-bar"), formulation=formulation, loads="all", plugins=plugins)
    rebuilt = again(model)
    assert holds(model.equations) and holds(rebuilt.equations)
    assert rebuilt.equations.treatment == model.equations.treatment
    # Off the constraints, where options of closed loops make a difference.
    x = model.x0 + 1e-3 * np.sin(np.arange(len(model.x0)))
    rates = [np.asarray(item.equations.rhs(0.0, x, item.u0, item.p0)).ravel() for item in (model, rebuilt)]
    assert (rates[0] == rates[1]).all()
    plain = prepare_export(machine("four-bar"), formulation=formulation.partition(":")[0], plugins=plugins)
    assert np.abs(rates[0] - np.asarray(plain.equations.rhs(0.0, x, plain.u0, plain.p0)).ravel()).max() > 1e-6


def test_options_of_load_methods_and_integrators_are_rebuilt(tmp_path, machine):
    (tmp_path / "scaled.py").write_text(SCALED)
    plugins = PluginSet([tmp_path / "scaled.py"], entry_points=False)
    how = {"load_method": "scaled:factor=3", "integrator": "dop853:rtol=1e-7", "loads": "all", "plugins": plugins}
    model = prepare_export(machine("double-pendulum"), **how)
    rebuilt = again(model, [tmp_path / "scaled.py"])
    assert rebuilt.problem.how.load_method.options.factor == 3.0
    assert rebuilt.integrator.options == model.integrator.options and model.integrator.options.rtol == 1e-7
    # And in an FMU, in a process of its own, where the loads are three times what they are without.
    path = tmp_path / "scaled.fmu"
    PythonFmu(PythonOptions(engine="package")).export(model, SELECTION, path)
    found = run_script(
        "with fmu() as one: one.initialize(); answer(values=dict(zip(one.outputs, map(float, one.get(one.outputs)))))", path
    )
    plain = prepare_export(machine("double-pendulum"), loads="all", plugins=plugins)
    observed = dict(
        zip(
            (c.name for c in plain.equations.channels),
            np.asarray(plain.equations.observe(0.0, plain.x0, plain.u0, plain.p0)).ravel(),
            strict=True,
        )
    )
    compared = [name for name in found["values"] if name.endswith((".Fx", ".Fz")) and abs(observed[name]) > 1]
    assert compared
    for name in compared:
        assert found["values"][name] == pytest.approx(3 * observed[name], rel=1e-9)


def test_sections_travel_with_the_mechanism(machine, plugins):
    model = prepare_export(machine("vessel-crane"), cut=("inner-boom=1.0",), loads="all", plugins=plugins)
    assert len(model.mechanism.joints) == len(machine("vessel-crane").joints) + 1
    assert again(model).mechanism.digest() == model.mechanism.digest()


def test_everything_that_can_be_chosen_travels(machine, plugins):
    """What a run can be told and an FMU does not carry is named here, with the reason."""
    elsewhere = {"output_step": "the importer's choice", "monitors": "of runs", "backend": "compiled at the export, or not"}
    elsewhere |= {
        "write": "of runs",
        "check_step": "of runs",
        "tilt_limit": "of runs",
        "verify": "of runs",
        "cut": "the mechanism that travels is the one with its sections",
        "sea": "the mechanism that travels is the one in its sea",
    }
    carried = _definition(prepare_export(machine("double-pendulum"), plugins=plugins), SELECTION)["how"]
    assert {field.name for field in dataclasses.fields(RunSettings)} == carried.keys() | elsewhere.keys()
