"""From a scatter table to the life of a slew ring: a crane on a barge by capytaine data, in every sea state of a year.

The barge is that of the model `barge-crane`: hydrostatics, radiation memory and wave forces of a panel code. A small scatter
table, two headings, some seeds and two heights of the hook make the cases; they are run on two workers, with one kernel for
all. Out come the part of the year in which one can work, damage per year and life at eight points of the ring, and the moment
that is to be expected in three hours. Writes a study file and the folder sea-states. Run it in any folder:

    python B10_sea_states_to_life.py            # takes some minutes
    python B10_sea_states_to_life.py quick      # runs that are too short to mean much
"""

import json
import math
import subprocess
import sys
from pathlib import Path

QUICK = "quick" in sys.argv[1:]
T_END, SKIP, SEEDS = (40, 10, 3) if QUICK else (300, 60, 5)
#: A ring of mean radius R and thickness t: area 2 pi R t, second moment of area pi R^3 t.
R, T = 0.55, 0.012
AREA, BENDING = 2 * math.pi * R * T, math.pi * R**2 * T

STUDY = f"""
name = "sea states to life"
model = "barge-crane"
t_end = {T_END}
skip = {SKIP}
step = 0.005
output_step = 0.05

[sea]
spectrum = "jonswap"
components = 40
scatter = [[0.5, 6.0, 0.45], [1.0, 7.0, 0.30], [1.5, 8.0, 0.15], [2.0, 9.0, 0.05]]
rest = "calm"                         # 5 % of the year
headings = [[180, 0.6], [150, 0.4]]   # degrees, with probabilities; 180 is a head sea
seeds = {SEEDS}

[[vary]]
sampler = "list"
label = "hook"
cases = [
    {{ name = "high", probability = 0.7, settings = {{ rope_length = 4.5 }} }},
    {{ name = "low", probability = 0.3, settings = {{ rope_length = 6.5 }} }},
]

[keep]
loads = ["slew"]
statistics = ["max", "min", "std", "del:3,5"]
hotspots = "ring.toml"
accept = ["noise"]                    # the elastic rope rings faster than samples show
histories = "worst:1"

[limits]
"hook.z" = {{ range = 1.5 }}

[check]
step_halving = 1
"""


def ring() -> str:
    """Return eight points around the ring: sigma = -Fz / A - Mx sin(phi) R / I + My cos(phi) R / I."""
    spots = []
    for degrees in range(0, 360, 45):
        x, y = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        spots.append(
            f'[[hotspots]]\nname = "ring at {degrees} deg"\ncurve = "D-air"\nscf = 1.5\ndff = 3.0\n[hotspots.stress]\n'
            f'"slew.Mx" = {-y / BENDING:.6g}\n"slew.My" = {x / BENDING:.6g}\n"slew.Fz" = {-1 / AREA:.6g}\n'
        )
    return "\n".join(spots)


if __name__ == "__main__":
    Path("sea_states.toml").write_text(STUDY)
    Path("ring.toml").write_text(ring())
    words = ["study", "sea_states.toml", "--workers", "2", "--out", "sea-states"]
    subprocess.run([sys.executable, "-m", "kingpost", *words], check=True)
    record = json.loads(Path("sea-states", "study.json").read_text())
    worst = record["damage"][0]
    print(f"\nworkable {record['operability']['percent_of_year']:.1f} % of the year")
    print(f"life of the slew ring {worst['life_years']:.4g} years, at {worst['name']}, with DFF {worst['dff']:g}")
    print("everything else is in sea-states/study.html")
