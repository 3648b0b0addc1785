"""Gains that trade cycle time against damage of the kingpost joint: what document 004 leaves for future work.

The crane of document 004 slews by 90 degrees. Soft gains of the slewing drive are slow, stiff ones shake the vessel and tire
the slewing ring. How far one can be bought with the other is a front: gains at which no cycle as fast does less damage. This
walks along it by gradients of the discrete adjoint, compares the front with a coarse grid of gains, and draws both.

Writes gains_and_damage.png (needs the 'viz' and 'fatigue' extras). Run it in any folder:

    python E1_gains_and_damage.py [--points 6] [--grid 6] [--t-end 12]
"""

import argparse
import sys
from dataclasses import dataclass, replace
from math import log, pi
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from kingpost import ForceElement, Parameter, PluginSet, equilibrium, prepare_sensitivity
from kingpost.mechanism.trajectories import RestToRest

RING = Path(__file__).parent / "data" / "slew_ring_hotspots.toml"
SPOTS = [f"slew-ring-{angle:03d}" for angle in range(0, 360, 45)]
#: The slew and how long its set-point moves; where luff and knuckle are held.
FIRST, LAST, MOVING = -pi / 2, 0.0, 2.0
#: How near to its end the angle counts as there, rad.
BAND = 0.04
HELD = {"luff": pi / 4, "knuckle": -pi / 4}
GAINS = ("slew_kP", "slew_kD")
#: No cycle is of interest that goes on for more than three times as long as its set-point moves, s.
LONGEST = 4 * MOVING
#: Moment of inertia of all that slews, with the vessel held, kg m^2: the drive's frequency is sqrt(kP / INERTIA).
INERTIA = 206.0
#: One swing in the longest cycle at least, or it would not get there; 1 Hz at most, which hydraulic drives follow; rad/s.
SLOWEST, QUICKEST = 2 * pi / LONGEST, 2 * pi * 1.0
#: Damping ratios of the drive, kD / (2 sqrt(kP INERTIA)): from where it overshoots by a sixth to where it creeps.
LIVELY, LAZY = 0.5, 2.0
#: Least and largest gains that follow, N m/rad and N m s/rad.
LEAST, MOST = (
    np.array([INERTIA * rate**2, 2 * ratio * INERTIA * rate]) for rate, ratio in ((SLOWEST, LIVELY), (QUICKEST, LAZY))
)
#: The document's vessel goes on rolling for ever; this one is damped by water, N m s/rad in roll, pitch and yaw.
WATER = 5e3


def slewing_crane(plugins):
    """Return the crane of document 004 with gains of its own for the slewing drive, a damped vessel, and one move."""
    crane = plugins.models.get("vessel-crane")().build()
    gains = (
        Parameter("slew_kP", 2000.0, "N.m/rad", "proportional gain of the slewing drive", minimum=0.0),
        Parameter("slew_kD", 1000.0, "N.m.s/rad", "derivative gain of the slewing drive", minimum=0.0),
    )
    targets = {"slew": RestToRest(FIRST, LAST, 0.0, MOVING), **HELD}
    forces = []
    for force in crane.forces:
        joint = force.name.removesuffix("-drive")
        if joint != force.name:
            own = {"stiffness": gains[0], "damping": gains[1]} if joint == "slew" else {}
            force = ForceElement(force.kind, force.name, **{**force.options, **own, "target": targets[joint]})
        forces.append(force)
    water = [
        ForceElement("joint-spring", f"{angle}-water", coordinate=f"hull.{angle}", stiffness=0.0, damping=WATER)
        for angle in ("roll", "pitch", "yaw")
    ]
    starts = {"slew": FIRST, **HELD}
    joints = [replace(joint, start=starts.get(joint.name, joint.start)) for joint in crane.joints]
    return replace(
        crane, parameters=(*crane.parameters, *gains), forces=(*forces, *water), joints=tuple(joints), name="slewing-crane"
    )


@dataclass(frozen=True)
class Place:
    """Some gains, by their logarithms: cycle time and logarithm of the damage there, with their gradients."""

    y: np.ndarray
    time: float
    damage: float
    time_slope: np.ndarray
    damage_slope: np.ndarray


class Cycle:
    """One cycle of the crane as a function of its gains.

    A cycle ends when the angle stays within a band around its end. That time jumps where another swing just leaves the band. So
    what is traded is a bound of it that is as smooth as the motion: the time for which the set-point moves, and the area under
    the distance from the end behind that over the width of the band, which is at least the time spent outside (Markov's
    inequality). The damage is Miner's sum of one cycle, of all points of the ring.
    """

    def __init__(self, t_end, plugins):
        crane = slewing_crane(plugins)
        rest = equilibrium(crane, plugins=plugins)
        names = [item.name for item in crane.coordinates]
        start = dict(zip(names, rest.x.tolist(), strict=False))
        how = {"settings": start, "step": 0.004, "output_step": 0.02, "plugins": plugins}
        every = " + ".join(f"damage {spot}" for spot in SPOTS)
        self.damage = prepare_sensitivity(crane, every, GAINS, t_end, hot_spots=RING, **how)
        self.lag = prepare_sensitivity(crane, f"integral abs slew.angle from {MOVING:g}", GAINS, t_end, loads=["slew"], **how)
        self.known = {}
        self.runs = 0

    def at(self, y):
        """Return the cycle with its gradients."""
        key = tuple(np.round(y, 12))
        if key not in self.known:
            gains = dict(zip(GAINS, np.exp(y).tolist(), strict=True))
            lag, damage = self.lag.at(gains).answer(), self.damage.at(gains).answer()
            by = np.exp(y)
            slopes = [np.array([found.gradient[name] for name in GAINS]) * by for found in (lag, damage)]
            time = MOVING + lag.value / BAND
            self.known[key] = Place(np.array(y), time, log(damage.value), slopes[0] / BAND, slopes[1] / damage.value)
            self.runs += 1
        return self.known[key]

    def best_within(self, time):
        """Return the place with the least damage of all that were looked at whose cycle is no longer."""
        return min((place for place in self.known.values() if place.time <= 1.001 * time), key=lambda place: place.damage)

    def plain(self, y):
        """Return cycle time, logarithm of the damage, and when the angle has settled, of a run without gradients."""
        asked = self.damage.at(dict(zip(GAINS, np.exp(y).tolist(), strict=True)))
        history = asked.simulation.run()
        time = MOVING + self.lag.read(history).value / BAND
        outside = history.time[np.abs(history["slew.angle"]) > BAND]
        return time, log(asked.read(history).value), outside[-1]


def walk(cycle, count):
    """Return places along the front, from the fastest cycle on: each begins where the one before ended."""
    bounds = list(zip(np.log(LEAST), np.log(MOST), strict=True))
    options = {"maxiter": 8, "ftol": 1e-3}

    def best(what, slope, start, **more):
        found = minimize(what, start, jac=slope, bounds=bounds, method="SLSQP", options=options, **more)
        return cycle.at(np.clip(found.x, *np.array(bounds).T))

    middle = np.log(np.sqrt(LEAST * MOST))
    front = [best(lambda y: cycle.at(y).time, lambda y: cycle.at(y).time_slope, middle)]
    # Nearer to each other at the fast end, where the damage falls the most.
    times = front[0].time + (LONGEST - front[0].time) * np.linspace(0.0, 1.0, count) ** 2
    for time in times[1:]:
        here = front[-1]
        within = {
            "type": "ineq",
            "fun": lambda y, time=time: time - cycle.at(y).time,
            "jac": lambda y: -cycle.at(y).time_slope,
        }
        # From where the slopes of the last place say that the next one is as slow as it may be; else from the last place.
        ahead = here.time_slope * (time - here.time) / (here.time_slope @ here.time_slope)
        damage = (lambda y: cycle.at(y).damage, lambda y: cycle.at(y).damage_slope)
        for start in (np.clip(here.y + np.clip(ahead, -1, 1), *np.array(bounds).T), here.y, middle):
            best(*damage, start, constraints=[within])
            if cycle.best_within(time).damage < here.damage:
                break
        front.append(cycle.best_within(time))
    # What was met later may do for an earlier place, too.
    return [front[0], *(cycle.best_within(time) for time in times[1:])]


def beaten_by(front, others):
    """Return by how much, as a part of the damage, the best of other gains does less than the front at the same time."""
    times = np.array([place.time for place in front])
    order = np.argsort(times)
    # The least damage of all places that are at least as fast.
    least = np.minimum.accumulate(np.array([place.damage for place in front])[order])
    inside = [(time, damage) for time, damage, _ in others if times.min() <= time <= times.max()]
    return max(
        (1 - np.exp(damage - np.interp(np.log(time), np.log(times[order]), least)) for time, damage in inside), default=0.0
    )


def draw(front, others, file):
    """Draw the front among the gains of the grid, and the gains along it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2))
    times = [place.time for place in front]
    grid = np.array([item for item in others if item[0] <= 1.15 * LONGEST]).reshape(-1, 3)
    left.semilogy(grid[:, 0], np.exp(grid[:, 1]), ".", color="0.6", label="grid of gains")
    left.semilogy(times, np.exp([place.damage for place in front]), "o-", color="C3", lw=1.4, label="front, by gradients")
    left.set(xlabel="bound of the cycle time [s]", ylabel="damage of the ring per cycle", title="What a faster cycle costs")
    for name, column in zip(GAINS, np.exp([place.y for place in front]).T, strict=True):
        right.semilogy(times, column, "o-", lw=1.2, label=name)
    right.set(xlabel="bound of the cycle time [s]", ylabel="gain [N m/rad], [N m s/rad]", title="Gains along the front")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--points", type=int, default=6, help="places along the front")
    parser.add_argument("--grid", type=int, default=6, help="gains of the grid in each direction")
    parser.add_argument("--t-end", type=float, default=12.0, help="seconds of a cycle that are counted")
    arguments = parser.parse_args()
    cycle = Cycle(arguments.t_end, PluginSet())
    front = walk(cycle, arguments.points)
    print(f"{'time [s]':>10s} {'settled [s]':>12s} {'damage':>12s} {'slew_kP':>10s} {'slew_kD':>10s}")
    for place in front:
        kP, kD = np.exp(place.y)
        settled = cycle.plain(place.y)[2]
        print(f"{place.time:10.4f} {settled:12.2f} {np.exp(place.damage):12.4e} {kP:10.1f} {kD:10.1f}")
    print(f"{cycle.runs} gradients for {len(front)} places")
    axes = [np.linspace(*ends, arguments.grid) for ends in zip(np.log(LEAST), np.log(MOST), strict=True)]
    others = [cycle.plain(np.array([a, b])) for a in axes[0] for b in axes[1]]
    beaten = beaten_by(front, others)
    print(f"the best of {len(others)} gains of a grid does {100 * max(beaten, 0.0):.1f} % less damage than the front")
    draw(front, others, "gains_and_damage.png")
    sys.exit(0 if beaten < 0.1 else 1)


if __name__ == "__main__":
    main()
