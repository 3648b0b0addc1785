"""A small study for tests: a double pendulum, some numbers of it, and reducers that misbehave."""

from pathlib import Path

from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case
from kingpost.studies.work import StudyWork

CHANNELS = ("shoulder.angle", "elbow.angle")


def cases(count, **further):
    return [Case(f"case-{k}", {"gravity": 9.0 + 0.1 * k, **further}) for k in range(count)]


def work(**changes):
    usual = {
        "model": "double-pendulum",
        "t_end": 2.0,
        "how": RunSettings(step=0.01, output_step=0.02),
        "reducers": (("statistics", {"channels": CHANNELS}),),
        "entry_points": False,
    }
    return StudyWork(**{**usual, **changes})


#: A hull on linear springs of the sea that can start at any angle.
HULL = """
name = "hull"
[[bodies]]
name = "hull"
mass = 50.0
inertia = [50.0, 50.0, 50.0]
[[joints]]
name = "roll"
kind = "revolute"
parent = "world"
child = "hull"
axis = [1.0, 0.0, 0.0]
[[forces]]
kind = "hydrostatic"
body = "hull"
matrix = [
    [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 50, 0, 0, 0],
    [0, 0, 0, 50, 0, 0], [0, 0, 0, 0, 50, 0], [0, 0, 0, 0, 0, 0],
]
[[forces]]
kind = "joint-spring"
coordinate = "roll.angle"
damping = 30.0
"""

#: A reducer that ends its process at a case in which gravity is 9.2, the first few times.
DEADLY = '''
import os, pathlib, signal
from kingpost import hookimpl
from kingpost.studies.reducer import Reducer
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    folder: str
    times: int = 1
    value: float = 0.0

class Deadly(Reducer):
    """Kills its process."""
    name = "deadly"
    Options = Options

    def channels(self, available):
        return [available[0].name]

    def reduce(self, history):
        folder = pathlib.Path(self.options.folder)
        start = history.values[0, 0]
        if abs(start - self.options.value) < 1e-12:
            past = len(list(folder.iterdir()))
            if past < self.options.times:
                (folder / f"death-{past}").write_text("")
                os.kill(os.getpid(), signal.SIGKILL)
        return {"start": start}

@hookimpl
def kingpost_register_reducers():
    return [Deadly]
'''


def deadly_work(folder, times, value):
    """Return work of which the case that starts at ``value`` kills its worker so many times."""
    plugin, trail = Path(folder) / "deadly.py", Path(folder) / "deaths"
    plugin.write_text(DEADLY)
    trail.mkdir()
    reducers = (("deadly", {"folder": str(trail), "times": times, "value": value}),)
    return work(plugin_files=(str(plugin),), reducers=reducers), trail
