"""Hulls whose memory is known: in closed form, and from panel codes."""

import functools
from pathlib import Path

import numpy as np

from kingpost.marine.hydro.cleaning import clean
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.fitting.files import read_memory
from kingpost.marine.hydro.fitting.fit import fit_memory
from kingpost.marine.hydro.reading import read_hydro

FILES = Path(__file__).parents[4] / "data" / "hydro"
SHIPPED = Path(__file__).parents[5] / "plugins" / "models" / "data" / "barge_memory.npz"
HULLS = ("barge_deep", "hemisphere_r5")
#: With so few frequencies that motions between them cannot be judged; and without the limit of the added mass.
COARSE = ("barge_h15", "cylinder_r5_d10")
#: Oscillators in the water: frequency, damping ratio, and which motions they take how strongly.
RINGING = ((0.7, 0.4, (0, 1, 0, 2, 0, 0)), (1.3, 0.3, (0, 2, 0, -1, 0, 0)), (1.9, 0.5, (0, 1, 0, 1, 0, 0)))


@functools.cache
def hull(name):
    data = read_hydro(FILES / f"{name}.nc")
    return clean(data).data if name in COARSE else data


@functools.cache
def fitted(name, **options):
    return fit_memory(hull(name), **options)


@functools.cache
def shipped():
    """The memory of the barge that comes with the package: a fit that need not be made again."""
    return read_memory(SHIPPED)[0]


def ringing_memory(s, oscillators=RINGING):
    """K(s) of oscillators g g' s / (s^2 + 2 d w s + w^2): passive by physics, zero at s = 0."""
    return sum(
        np.outer(g, g) * (s / (s**2 + 2 * d * w * s + w**2))[:, None, None]
        for w, d, g in ((w, d, np.array(g, dtype=float)) for w, d, g in oscillators)
    )


def ringing_poles(oscillators=RINGING):
    return np.array([w * (-d + 1j * np.sqrt(1 - d**2)) for w, d, _ in oscillators])


def ringing_hull(oscillators=RINGING, *, limit_known=True, w=None):
    """A hull with such water around it; sway and roll are coupled, the other motions radiate nothing."""
    w = np.linspace(0.1, 3.0, 40) if w is None else w
    K = ringing_memory(1j * w, oscillators)
    A_inf = np.diag([1.0, 6.0, 5.0, 9.0, 8.0, 7.0])
    A_inf[1, 3] = A_inf[3, 1] = 2.0
    return HydroData(
        name="ringing",
        frequencies=w,
        headings=np.array([np.pi / 2]),
        added_mass=A_inf + K.imag / w[:, None, None],
        damping=K.real,
        water_density=1.0,
        gravity=9.81,
        reference=np.zeros(3),
        added_mass_inf=A_inf if limit_known else None,
        excitation=np.tile([0, 2.0 + 1j, 3.0, 1j, 0, 0], (len(w), 1, 1)),
        restoring=np.diag([0, 0, 30.0, 20.0, 25.0, 0]),
        inertia=np.diag([10.0, 10.0, 10.0, 12.0, 14.0, 15.0]),
    )
