"""A crane at sea with a heave compensator that comes as somebody else's FMU.

The controller is a class of a few lines that stock PythonFMU makes an FMU of: no units, no word about what depends on what. It
sees heave and roll of the hull, as a motion sensor would, and tells the winch how much rope to pay out for the boom's tip to
rise without the load. Kingpost runs it in a process of its own, so that it could crash without harm, beside the crane,
which needs no FMU. Run it in any folder:

    python B6_crane_with_a_foreign_fmu.py
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from kingpost import PluginSet
from kingpost.fmu.cosim import Component, Connection, System, cosimulate

STEP, END, SETTLED = 0.01, 40.0, 20.0

CONTROLLER = '''
from math import asin, cos, sin

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class HeaveCompensator(Fmi2Slave):
    """Pay out as much rope as the tip, so far to port of the sensor, rises."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.heave = self.heave_rate = self.roll_qx = self.roll_rate = 0.0
        self.winch_target = self.winch_rate = 0.0
        self.lever, self.drum_radius = 0.0, 1.0
        for name in ("heave", "heave_rate", "roll_qx", "roll_rate"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        for name in ("winch_target", "winch_rate"):
            self.register_variable(Real(name, causality=Fmi2Causality.output))
        for name in ("lever", "drum_radius"):
            self.register_variable(
                Real(name, causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
            )

    def do_step(self, current_time, step_size):
        roll = 2 * asin(self.roll_qx)
        self.winch_target = (self.heave + self.lever * sin(roll)) / self.drum_radius
        self.winch_rate = (self.heave_rate + self.lever * cos(roll) * self.roll_rate) / self.drum_radius
        return True
'''

plugins = PluginSet()
radius = next(p.default for p in plugins.models.get("small-crane")().build().parameters if p.name == "drum_radius")


def build(folder):
    """Make the FMU with PythonFMU, in a process of its own as its command line would."""
    folder.mkdir(exist_ok=True)
    source = folder / "heave_compensator.py"
    source.write_text(CONTROLLER, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", source, "-d", folder], check=True, capture_output=True)
    return folder / "HeaveCompensator.fmu"


def system(fmu=None, lever=0.0):
    """Return the crane on its workboat in waves, with the compensator or without."""
    components = [Component("crane", model="small-crane", settings={"wave_amplitude": 0.2})]
    connections = []
    if fmu is not None:
        components.append(Component("compensator", fmu=fmu, settings={"drum_radius": radius, "lever": lever}))
        connections = [
            Connection("crane.hull.z", "compensator.heave"),
            Connection("crane.hull.vz", "compensator.heave_rate"),
            Connection("crane.hull.qx", "compensator.roll_qx"),
            Connection("crane.hull.wx", "compensator.roll_rate"),
            Connection("compensator.winch_target", "crane.winch_target"),
            Connection("compensator.winch_rate", "crane.winch_target_rate"),
        ]
    return System(
        "crane with a heave compensator", components, connections, step=STEP, t_end=END, master="gauss-seidel",
        record=["crane.tip.*", "crane.hook.z", "crane.rope.tension"],
    )  # fmt: skip


if __name__ == "__main__":
    fmu = build(Path("compensator"))
    free = cosimulate(system(), plugins=plugins)
    compensated = cosimulate(system(fmu, lever=free["crane.tip.y"][0]), plugins=plugins)
    heaves = []
    for name, history in (("without", free), ("with", compensated)):
        late = history.time > SETTLED
        heaves.append(np.ptp(history["crane.hook.z"][late]))
        tension = history["crane.rope.tension"][late] / 1000
        print(
            f"{name:>7} compensator: the tip moves by {np.ptp(history['crane.tip.z'][late]):.3f} m up and down, the hook by "
            f"{heaves[-1]:.3f} m; tension {tension.min():.1f} to {tension.max():.1f} kN"
        )
    facts = compensated.provenance["system"]["components"]["compensator"]
    where = "a process of its own" if facts["isolated"] else "this process"
    print(f"{100 * heaves[1] / heaves[0]:.1f} % of the hook's motion are left; by {facts['generation_tool']}, run in {where}")
