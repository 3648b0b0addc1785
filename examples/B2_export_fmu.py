"""The vessel-crane as an FMU without Python in it: exported, validated, run by another tool, compared with the run in process.

Needs a C compiler. Writes vessel-crane.fmu into the current folder:

    python B2_export_fmu.py

The same from the command line:

    kingpost export vessel-crane -o vessel-crane.fmu
    fmpy validate vessel-crane.fmu
    fmpy simulate vessel-crane.fmu --stop-time 5 --output-interval 0.01
"""

from pathlib import Path

import fmpy
import numpy as np
from fmpy.validation import validate_fmu

from kingpost import ExportSelection, PluginSet, prepare_export, simulate

T_END, STEP = 5.0, 0.01
plugins = PluginSet()
crane = plugins.models.get("vessel-crane")().build()

# A heavier outer boom, and a push on the slewing joint; the FMU's own step is 1 ms, its user's 10 ms.
model = prepare_export(crane, settings={"m4": 50.0, "slew_torque": 200.0}, loads="all", t_end=T_END, plugins=plugins)
shown = ExportSelection(outputs=["*.angle", "hull.*", "slew.*", "tip.*"])
done = plugins.exporters.get("native-fmu")().export(model, shown, Path("vessel-crane.fmu"))
for name, value in done.facts:
    print(f"{name:10s} {value}")

problems = validate_fmu(str(done.path))
print(f"fmpy finds {len(problems)} problems in it")

result = fmpy.simulate_fmu(str(done.path), stop_time=T_END, output_interval=STEP)
history = simulate(crane, T_END, settings={"m4": 50.0, "slew_torque": 200.0}, output_step=STEP, loads="all", plugins=plugins)
differences = {
    name: np.abs(result[name] - history[name]).max() / max(np.abs(history[name]).max(), 1e-9) for name in result.dtype.names[1:]
}
worst = max(differences, key=differences.__getitem__)
print(
    f"{len(differences)} outputs at {len(result)} times; they differ by {differences[worst]:.1e} of their largest value at most"
)
print(f"largest moment about x in the slewing joint: {np.abs(result['slew.Mx']).max():.2f} N m")
