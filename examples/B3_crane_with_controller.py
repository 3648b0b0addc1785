"""A crane FMU and a controller FMU, both made here, run together by the co-simulation engine of the Open Simulation Platform.

The crane on its vessel gets a slewing joint that is turned by an input torque; a PI controller holds its speed against
the yawing of the undamped vessel. Needs libcosimpy (pip install libcosimpy). Run it in any folder:

    python B3_crane_with_controller.py
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from kingpost import ExportSelection, ForceElement, PluginSet, prepare_export
from kingpost.fmu.blocks import export_block, pi_controller
from kingpost.fmu.export import NativeFmu
from kingpost.fmu.osp import write_osp_description, write_osp_system

TARGET, STEP, END = 0.1, 0.01, 20.0
folder = Path("crane-system")

plugins = PluginSet()
crane = plugins.models.get("vessel-crane")().build()
torque = ForceElement("joint-effort", name="slew-motor", coordinate="slew.angle", effort="slew_torque")
crane = replace(crane, forces=[torque if force.name == "slew-drive" else force for force in crane.forces])

model = prepare_export(crane, settings={"gravity": 0.0}, loads=["slew"], t_end=END, plugins=plugins)
shown = ExportSelection(outputs=["slew.*", "hull.*"], inputs=["slew_torque"])
crane_fmu = NativeFmu().export(model, shown, folder / "crane.fmu").path
controller_fmu = export_block(pi_controller(), folder / "controller.fmu", plugins=plugins).path
write_osp_description(crane_fmu)
write_osp_system(
    folder / "OspSystemStructure.xml",
    STEP,
    {"crane": crane_fmu, "controller": controller_fmu},
    [("crane.slew.angle.rate", "controller.measured"), ("controller.effort", "crane.slew_torque")],
    {"controller.target": TARGET},
)
print(f"wrote {', '.join(sorted(path.name for path in folder.iterdir()))} into {folder}/")

if __name__ == "__main__":
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.ERROR)

    execution = CosimExecution.from_osp_config_file(osp_path=str(folder))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    index = execution.slave_index_from_instance_name("crane")
    variables = {variable.name.decode(): variable.reference for variable in execution.slave_variables(slave_index=index)}
    rates = []
    for _ in range(round(END / STEP)):
        assert execution.step(), "the engine could not take a step"
        rates.append(observer.last_real_values(slave_index=index, variable_references=[variables["slew.angle.rate"]])[0])
    settled = np.abs(np.array(rates[len(rates) // 2 :]) - TARGET).max()
    print(f"slewing speed after {END:g} s: {rates[-1]:.6f} rad/s; off by less than {settled:.1e} rad/s in the second half")
