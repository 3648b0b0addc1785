"""What tires the slew ring of the vessel-crane: the gradient of its fatigue damage with respect to every parameter at once.

One run and one way back give by how many per cent Miner's sum at the worst point of the ring changes with one per cent more
of each mass, length, gain or stiffness. Writes tiring.png (needs the 'viz' extra) and prints a table. Run it in any folder:

    python B9_what_tires_the_slew_ring.py
"""

from pathlib import Path

from kingpost import PluginSet, sensitivity
from kingpost.fatigue import CountingOptions, assess_hot_spots, read_hot_spots

SPOTS = Path(__file__).parent / "data" / "slew_ring_hotspots.toml"
T_END = 20.0
#: Bars that are drawn.
MOST = 12

plugins = PluginSet()
crane = plugins.models.get("vessel-crane")().build()
names = [parameter.name for parameter in crane.parameters]
spots = read_hot_spots(SPOTS)


def damage(spot):
    """Return Miner's sum at a point of the ring with its gradient."""
    return sensitivity(crane, f"damage {spot}", names, T_END, hot_spots=spots, loads=["slew"], plugins=plugins)


# Any point gives the run; the worst one is asked for then.
first = damage(spots[0].name)
counted = assess_hot_spots(first.history, spots, options=CountingOptions(accept=("residual", "noise", "step")))
worst = max(counted.results, key=lambda result: result.damage).spot.name
found = first if worst == spots[0].name else damage(worst)

ranked = sorted(found.elasticity.items(), key=lambda pair: -abs(pair[1]))
print(f"damage of {T_END:g} s at {worst}: {found.value:.6g}; one run {found.seconds['run']:.3g} s, all gradients in "
      f"{found.seconds['gradient']:.3g} s")  # fmt: skip
for name, share in ranked[:MOST]:
    print(f"{name:16s} {found.at[name]:12.6g} {found.units[name]:8s} {share:+9.3f} % damage for 1 % more")
for warning in found.warnings:
    print("note:", warning)

# The check that anyone can make: one per cent of the first, by another run.
name, share = ranked[0]
part = 1e-5
moved = sensitivity(
    *(crane, f"damage {worst}", [name], T_END),
    settings={name: found.at[name] * (1 + part)}, hot_spots=spots, loads=["slew"], plugins=plugins,
)  # fmt: skip
change = (moved.value / found.value - 1) / part
print(f"another run with {100 * part:g} % more {name} gives {change:+.3f} %, the gradient {share:+.3f} %")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = ranked[:MOST][::-1]
    figure, axis = plt.subplots(figsize=(7.5, 0.36 * len(shown) + 1.4))
    colours = ["#d0394b" if share > 0 else "#2463d4" for _, share in shown]
    bars = axis.barh([name for name, _ in shown], [share for _, share in shown], color=colours)
    axis.bar_label(bars, fmt="%+.2f", padding=3, fontsize=8)
    axis.axvline(0.0, color="#59656f", lw=0.8)
    axis.margins(x=0.15)
    axis.set(xlabel="damage [%] for 1 % more", title=f"What tires the slew ring at {worst} in {T_END:g} s")
    axis.grid(axis="x", alpha=0.3)
    figure.tight_layout()
    figure.savefig("tiring.png", dpi=110)
    print("wrote tiring.png")
