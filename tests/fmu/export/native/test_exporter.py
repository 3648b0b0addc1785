"""What cannot become plain C."""

import dataclasses

import pytest

from kingpost import ExportError, Force, ForceElement, Loads, PluginSet
from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
from kingpost.registry.registry import Origin
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.machines import rig


def test_python_inside_is_refused_with_all_culprits(tmp_path):
    class Gust(Force):
        """A force in plain Python."""

        name = "gust"

        def loads(self, kinematics):
            return Loads(efforts={"pivot.angle": kinematics.call(lambda angle: [angle * 0.1], kinematics.coordinate("pivot.angle"), size=1)})  # fmt: skip  # noqa: E501

    plugins = PluginSet(entry_points=False)
    plugins.forces.add(Gust, Origin("file", __file__, "tests", "local"))
    windy = dataclasses.replace(rig(), forces=(*rig().forces, ForceElement("gust"), ForceElement("gust", name="squall")))
    path = tmp_path / "windy.fmu"
    with pytest.raises(ExportError) as caught:
        NativeFmu(NativeOptions()).export(prepare_export(windy, integrator="radau", plugins=plugins), ExportSelection(), path)
    assert str(caught.value) == (
        "'rig' cannot become plain C: force 'gust' calls plain Python; force 'squall' calls plain Python; integrator 'radau' "
        "is a solver that runs in Python, not a step map. Write them with CasADi operations, or use the exporter 'fmu', which "
        "carries Python"
    )
    assert not path.exists()
