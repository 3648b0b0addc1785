"""Studies whose runs are closed forms: no machine is run, and every number of the results can be worked out by hand."""

import math
import zlib
from pathlib import Path

from kingpost import PluginSet
from kingpost.studies.case import Outcome
from kingpost.studies.planning import plan_study
from kingpost.studies.study_file import read_study

SPOTS = """
[[hotspots]]
name = "ring"
curve = "D-air"
dff = 3.0
[hotspots.stress]
"slew.Mx" = 21.0
[[hotspots]]
name = "foot"
curve = "F-air"
dff = 2.0
[hotspots.stress]
"slew.My" = 4.0
"""
SCATTER = "Hs [m],Tp [s],probability\n1.0,6.0,0.4\n2.0,6.0,0.1\n2.0,8.0,0.3\n3.0,8.0,0.2\n"
TEXT = """
name = "deck lifts"
model = "small-crane"
t_end = 600
skip = 60
step = 0.01

[sea]
components = 20
scatter = "scatter.csv"
headings = [[150, 0.25], [180, 0.75]]
seeds = 12

[[vary]]
sampler = "list"
label = "position"
cases = [
    { name = "over the side", probability = 0.3, settings = { "slew.angle" = 1.57 } },
    { name = "parked", probability = 0.7, settings = { "slew.angle" = 0.0 } },
]

[keep]
loads = ["slew"]
statistics = ["max", "min", "std", "del:3,5"]
hotspots = "spots.toml"

[limits]
"slew.Mx" = { max = 2.5e5 }
"tip.z" = { range = 1.5 }

[check]
step_halving = 2
"""
LOADS = [f"slew.{component}" for component in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
#: Scale of the Gumbel distribution of extremes, as a part of what they are proportional to.
SCALE = 0.08


def write_study(folder: Path, text: str = TEXT, scatter: str = SCATTER) -> Path:
    """Write the files of a study and return the study file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spots.toml").write_text(SPOTS)
    (folder / "scatter.csv").write_text(scatter)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def synthetic_plan(folder: Path, text: str = TEXT, scatter: str = SCATTER, plugins: PluginSet | None = None):
    plugins = plugins or PluginSet(entry_points=False)
    return plan_study(read_study(write_study(folder, text, scatter), plugins), plugins)


def uniform(key: str) -> float:
    """Return a number between 0 and 1 that is always the same for a key."""
    return (zlib.crc32(key.encode()) + 0.5) / 2**32


def level(labels) -> float:
    """Return the size of loads: it grows with the height, is largest at a period of 8 s, and over the side."""
    side = 1.0 if labels.get("position") != "parked" else 0.3
    return 1e5 * labels["Hs"] * side * (1.2 if labels["heading"] == 150 else 1.0) / (1 + ((labels["Tp"] - 8) / 4) ** 2)


def numbers(case, halved: bool = False) -> dict[str, float]:
    """Return what a run would give."""
    size = level(case.labels)
    # What happens depends on the sea and the position, not on the key, which halving the step changes.
    chance = -math.log(-math.log(uniform(f"{case.sea} {case.labels.get('position')}")))
    peak = size * (1 + SCALE * chance) * (1.002 if halved else 1.0)
    found = {}
    for k, channel in enumerate(LOADS):
        found |= {
            f"{channel}:max": peak / (k + 1),
            f"{channel}:min": -0.7 * peak / (k + 1),
            f"{channel}:std": size / 4 / (k + 1),
        }
        found |= {f"{channel}:del3": 0.5 * size / (k + 1), f"{channel}:del5": 0.7 * size / (k + 1)}
    found |= {"tip.z:max": size / 2e5, "tip.z:min": -size / 2e5, "tip.z:range": size / 1e5}
    for name, part in (("ring", 2e-3), ("foot", 5e-4)):
        found[f"hot spot {name}:damage_per_year"] = part * (peak / 1e5) ** 3
        found[f"hot spot {name}:largest_range"] = 20.0 * peak
        found[f"hot spot {name}:cycles_per_year"] = 4e6 / case.labels["Tp"]
    return found


def synthetic_runs(fails=lambda case: "", leaves=lambda case: ""):
    """Return an executor of closed forms; ``fails`` and ``leaves`` give messages of cases that fail, or leave linear theory."""

    def runs(plan, cases):
        for case in cases:
            error, outside = fails(case), leaves(case)
            found = {} if error or outside else numbers(case, plan.halvings > 0)
            yield Outcome(case.key, found, error, 0.25, outside)

    return runs
