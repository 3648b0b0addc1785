"""Runs of a hull in regular waves: begun in the steady state that its fitted memory has, and read off as complex motions."""

import numpy as np

from kingpost import Mechanism, PluginSet, simulate
from kingpost.marine.hydro.response import motion_response
from kingpost.marine.sea import Sea
from kingpost.simulation.at_sea import at_sea, sea_settings
from kingpost.vessels.loading import loading
from kingpost.vessels.parts import make_vessel

PLUGINS = PluginSet(entry_points=False)
#: Waves so low that terms of second order are below 1e-5 of the motions.
AMPLITUDE = 1e-4


def regular(frequency, heading, amplitude=AMPLITUDE):
    return Sea(None, regular=(amplitude, float(frequency), 0.0), heading=float(np.degrees(heading)))


def machine(data, **options):
    """A hull alone, with room for one wave."""
    vessel = make_vessel(data, **{"ramp": 0.0, **options})
    mechanism = Mechanism("floating", vessel.bodies, vessel.joints, (*vessel.forces, vessel.gravity))
    return vessel, at_sea(mechanism, regular(data.frequencies[0], data.headings[0]), PLUGINS)


def predicted(vessel):
    """Motions of the reference point (n, headings, 6) by the fitted memory, in the frequency domain."""
    return motion_response(vessel.data, radiation=vessel.memory.radiation(vessel.data.frequencies))


def start_values(vessel, frequency, motion):
    """Start values of the body and the memory in a motion Re(x exp(i w t)) of the reference point."""
    x, v = motion.real, (1j * frequency * motion).real
    r = np.asarray(vessel.data.reference)
    place, speed = x[:3] - np.cross(x[3:], r), v[:3] - np.cross(v[3:], r)
    names = ("x", "y", "z", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "vx", "vy", "vz")
    values = (*place, 1.0, *x[3:] / 2, *v[3:], *speed)
    found = {f"hull.{name}": float(value) for name, value in zip(names, values, strict=True)}
    A, B, _ = vessel.memory.state_space()
    z = np.linalg.solve(1j * frequency * np.eye(len(A)) - A, B @ (1j * frequency * motion)).real
    return found, z


def motions_in(history, reference):
    """Motions of the reference point over time (k, 6), for small turns."""
    turn = 2 * history.select(["hull.qx", "hull.qy", "hull.qz"])
    place = history.select(["hull.x", "hull.y", "hull.z"]) + np.cross(turn, np.asarray(reference))
    return np.hstack([place, turn])


def at_rest(vessel):
    """Where the hull of the data floats: mass and displaced volume of a mesh may differ a little."""
    hull = vessel.hull
    return -loading({"hull": (hull.mass, hull.centre_of_gravity)}, vessel.floating, vessel.data.gravity).sinkage


def harmonic(times, values, frequency):
    """Complex amplitudes of a wave in columns of values, and the largest remainder."""
    basis = np.column_stack([np.cos(frequency * times), -np.sin(frequency * times)])
    parts = np.linalg.lstsq(basis, values, rcond=None)[0]
    return parts[0] + 1j * parts[1], np.abs(values - basis @ parts).max(axis=0)


def measured(vessel, mechanism, k, h, prediction, periods=2, steps=120, **how):
    """Complex motions per metre in waves of frequency k and heading h of the data, and remainders per metre, by a run."""
    w = float(vessel.data.frequencies[k])
    settings = sea_settings(mechanism, regular(w, vessel.data.headings[h]), PLUGINS)
    start, z = start_values(vessel, w, AMPLITUDE * prediction[k, h])
    start["hull.z"] += at_rest(vessel)
    settings |= start | dict(zip(memory_names(vessel), map(float, z), strict=True))
    step = 2 * np.pi / w / steps
    step = min(step, 0.05)
    count = int(np.ceil(periods * 2 * np.pi / w / step))
    history = simulate(mechanism, count * step, settings=settings, step=step, plugins=PLUGINS, **how)
    moved = motions_in(history, vessel.data.reference) - np.array([0, 0, at_rest(vessel), 0, 0, 0])
    found, rest = harmonic(history.time, moved, w)
    return found / AMPLITUDE, rest / AMPLITUDE


def memory_names(vessel):
    """Names of the states in the order of the memory's state space."""
    counts, names = {}, []
    for block in vessel.memory.blocks:
        for pole, _ in block.terms():
            for motion in block.names:
                for _ in range(2 if pole.imag > 0 else 1):
                    counts[motion] = counts.get(motion, 0) + 1
                    names.append(f"vessel-radiation.memory.{motion}{counts[motion]}")
    return names
