"""What to know about a load history before its cycles are counted, and what to refuse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import RESIDUALS, roles_of
from kingpost.base.errors import KingpostError, listed
from kingpost.base.load_frames import COMPONENTS, FORCES, MOMENTS
from kingpost.base.open_loads import DECIDED, measure, open_loops
from kingpost.results.history import History

#: A step longer than this many median steps is a gap.
GAP = 1.5
#: Part of the variance that lies below the highest significant frequency.
SIGNIFICANT = 0.999
#: Fewer samples than this in a period of that frequency are warned of.
ENOUGH_SAMPLES = 20.0
#: A signal whose standard deviation is below this part of its scale is round-off; its frequency means nothing.
ROUND_OFF = 1e-9
#: Newton-Euler residuals above this part of the load level are refused.
RESIDUAL_LIMIT = 1e-6


@dataclass(frozen=True)
class Window:
    """The part of a history that is counted."""

    rows: slice
    start: float
    end: float
    samples: int
    #: Median time between samples, s.
    step: float
    #: Time left out at the start, s.
    skipped: float

    @property
    def duration(self) -> float:
        """T, the time from the first counted sample to the last, in s."""
        return self.end - self.start


def counted_window(time: ArrayLike, skip: float = 0.0) -> Window:
    """Return which samples are counted when the first ``skip`` seconds are left out; refuse times with gaps or steps back."""
    times = np.asarray(time, dtype=float)
    if len(times) < 2:
        raise KingpostError(f"the history has {len(times)} samples; cycles need at least two")
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise KingpostError(f"the time of sample {bad[0]} is {times[bad[0]]}; every sample needs a time")
    steps = np.diff(times)
    back = np.flatnonzero(steps <= 0.0)
    if back.size:
        i = int(back[0])
        raise KingpostError(
            f"time does not go on at sample {i + 1}: {times[i + 1]:.9g} s comes after {times[i]:.9g} s ({back.size} such "
            "places). Remove repeated samples, or put them in order"
        )
    step = float(np.median(steps))
    gaps = np.flatnonzero(steps > GAP * step)
    if gaps.size:
        i = int(gaps[0])
        raise KingpostError(
            f"there is a gap of {steps[i]:.6g} s after t = {times[i]:.9g} s (sample {i}), where samples are {step:.6g} s apart "
            f"({gaps.size} such places). A peak in it would be lost: run again with an even output step, or count the parts "
            "before and after it on their own"
        )
    length = float(times[-1] - times[0])
    if not 0.0 <= skip < math.inf:
        raise KingpostError(f"skip = {skip} s cannot be left out at the start; give 0 or more")
    # Half a step of tolerance would cut at the nearest sample; this keeps a sample that rounding put just before the cut.
    first = int(np.searchsorted(times, times[0] + skip - 1e-6 * step))
    if first > len(times) - 2:
        raise KingpostError(
            f"skip = {skip:g} s leaves fewer than two samples of a history of {length:g} s; skip less, or simulate longer"
        )
    kept = times[first:]
    return Window(slice(first, None), float(kept[0]), float(kept[-1]), len(kept), step, float(kept[0] - times[0]))


def check_finite(time: FloatArray, names: Sequence[str], values: FloatArray) -> None:
    """Refuse values that are not finite, naming channel and time; ``values`` has one column for each name."""
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    i, j = (int(k) for k in np.argwhere(bad)[0])
    raise KingpostError(
        f"channel '{names[j]}' is {values[i, j]} at t = {time[i]:.9g} s (sample {i}; {int(bad[:, j].sum())} of {len(time)} "
        "samples of it are not finite). Leaving them out could hide a peak; find out where they come from, or count the parts "
        "before and after on their own"
    )


@dataclass(frozen=True)
class Sampling:
    """How finely a signal is sampled.

    ``frequency`` is the highest significant one: the frequency in Hz below which 99.9 % of the variance of the signal lies, its
    linear trend taken away and a Hann window applied.
    """

    frequency: float
    samples_per_period: float

    @property
    def peak_loss(self) -> float:
        """The part of a peak that is lost at worst, with samples astride it: 1 - cos(pi / k) with k samples per period."""
        return 1.0 - math.cos(math.pi / max(self.samples_per_period, 2.0))

    def damage_error(self, slope: float) -> float:
        """Return the part of the damage that is lost with it, on an S-N curve of inverse slope ``slope``."""
        return float(1.0 - (1.0 - self.peak_loss) ** slope)

    @property
    def enough(self) -> bool:
        """Whether there are 20 samples or more in a period."""
        return self.samples_per_period >= ENOUGH_SAMPLES


def sampling(time: FloatArray, values: FloatArray, scale: float | None = None) -> Sampling | None:
    """Return how finely a signal is sampled, or None for one that has fewer than eight samples or does not vary.

    Parameters
    ----------
    time, values
        The signal.
    scale
        Size of what it is part of, such as the largest load of its joint; variation below 1e-9 of it is round-off. The largest
        value of the signal by default.

    """
    if len(values) < 8:
        return None
    step = float(np.median(np.diff(time)))
    number = len(values)
    if np.abs(np.diff(time) - step).max() > 1e-6 * step:  # a spectrum needs even steps
        even = np.linspace(time[0], time[-1], round((time[-1] - time[0]) / step) + 1)
        values, number, step = np.interp(even, time, values), len(even), float(even[1] - even[0])
    position = np.linspace(-1.0, 1.0, number)
    centred = values - values.mean()
    centred = centred - position * (position @ centred) / (position @ position)
    if centred.std() <= ROUND_OFF * (np.abs(values).max() if scale is None else scale):
        return None
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(number) / number)
    power = np.abs(np.fft.rfft(centred / np.abs(centred).max() * window)) ** 2
    power[1 : (number + 1) // 2] *= 2.0  # each stands for two of the full spectrum; 0 and the Nyquist frequency for one
    share = np.cumsum(power) / power.sum()
    place = max(int(np.searchsorted(share, SIGNIFICANT)), 1)
    frequency = place / (number * step)
    return Sampling(frequency, 1.0 / (frequency * step))


def sampling_warning(judged: dict[str, Sampling], slope: float) -> str | None:
    """Return a warning if some signals are sampled too coarsely, with the worst of them."""
    coarse = {name: item for name, item in judged.items() if not item.enough}
    if not coarse:
        return None
    name, worst = min(coarse.items(), key=lambda pair: pair[1].samples_per_period)
    others = f" (and {len(coarse) - 1} more below {ENOUGH_SAMPLES:g})" if len(coarse) > 1 else ""
    return (
        f"'{name}' has {worst.samples_per_period:.3g} samples per period of its highest significant frequency, "
        f"{worst.frequency:.4g} Hz{others}: peaks may be {worst.peak_loss:.1%} too low and damage "
        f"{worst.damage_error(slope):.1%} at m = {slope:g}. For {ENOUGH_SAMPLES:g} samples use an output step of "
        f"{1 / (ENOUGH_SAMPLES * worst.frequency):.3g} s or less"
    )


@dataclass(frozen=True)
class Residual:
    """The largest Newton-Euler residual of a history against the level of its joint loads."""

    channel: str
    unit: str
    largest: float
    #: Largest component of any joint load: of the same unit, or of the other one by way of a lever as long as the machine.
    level: float

    @property
    def relative(self) -> float:
        """The residual as a part of the load level."""
        return self.largest / self.level if self.level else (math.inf if self.largest else 0.0)


def residuals(history: History, rows: slice) -> tuple[Residual, ...]:
    """Return the residuals that the history reports, for the counted rows."""
    joints = load_joints(history)
    largest = {
        channel: max(
            (float(np.abs(history[f"{joint}.{part}"][rows]).max()) for joint in joints for part in components), default=0.0
        )
        for channel, components in zip(RESIDUALS, (FORCES, MOMENTS), strict=True)
    }
    force, moment = largest.values()
    extent = _extent(history, rows)
    # Forces make moments by their levers, and rounding does, too, where all moments cancel.
    levels = dict(zip(RESIDUALS, (max(force, moment / extent), max(moment, force * extent)), strict=True))
    return tuple(
        Residual(channel, history.unit(channel), float(np.abs(history[channel][rows]).max()), level)
        for channel, level in levels.items()
        if channel in history
    )


def _extent(history: History, rows: slice) -> float:
    """Return how far apart the bodies of a machine are at the first counted sample, in m; 1 if the history does not say."""
    bodies = [channel.name.removesuffix(".pose.px") for channel in history.channels if channel.name.endswith(".pose.px")]
    names = [[f"{body}.pose.p{axis}" for axis in "xyz"] for body in bodies]
    places = np.array([[history[name][rows][0] for name in group] for group in names if all(name in history for name in group)])
    return float(np.linalg.norm(np.ptp(places, axis=0))) or 1.0 if len(places) > 1 else 1.0


def uniqueness_warnings(history: History) -> list[str]:
    """Return a warning for loops whose loads rigid bodies leave open, unless stiffnesses of their joints decide them."""
    found = [
        f"rigid bodies leave the loads of joint {listed(loop['joints'])} open in {loop['ways']} ways; those of minimum "
        f"norm over all these joints, {measure(loop)}, were taken. Give the joints a stiffness, which decides them, or one of "
        "them more freedom, before counting them"
        for loop in open_loops(history.provenance)
        if loop["metric"] != DECIDED
    ]
    closures = history.provenance.get("redundant_closures", [])
    if closures and not open_loops(history.provenance):
        found.append(
            f"the constraints of closure {listed(closures)} follow in part from others, so loads in its loops are not unique, "
            "and the run does not say how they were shared"
        )
    return found


def load_joints(history: History) -> tuple[str, ...]:
    """Return the joints whose six load components are in a history, in its order."""
    joints = (history.provenance.get("loads") or {}).get("joints")
    if not joints:
        ending = f".{COMPONENTS[0]}"
        roles = roles_of(history.channels)
        joints = [name.removesuffix(ending) for name, role in roles.items() if role == "loads" and name.endswith(ending)]
    return tuple(joint for joint in joints if all(f"{joint}.{part}" in history for part in COMPONENTS))


def reactions_not_unique(jacobian: ArrayLike, owners: Sequence[str], tolerance: float = 1e-8) -> tuple[str, ...]:
    """Return the joints whose reactions the constraints leave open, from the rank of the constraint Jacobian G.

    In M vdot = f - G^T lam any vector of the null space of G^T can be added to the multipliers without a change of the motion;
    the constraint rows with a part in that null space have no unique multiplier. Typical are two coaxial pins of a boom foot,
    twin cylinders, and plane loops of bodies modelled in space.

    Parameters
    ----------
    jacobian
        G, one row for each constraint. Rows are scaled to unit length, so units do not matter.
    owners
        For each row, the name of the joint it belongs to.
    tolerance
        Singular values below this part of the largest count as zero.

    Returns
    -------
    names
        The joints, in the order of their first row; none if every reaction is unique.

    """
    G = np.asarray(jacobian, dtype=float)
    if G.ndim != 2 or len(G) != len(owners):
        raise KingpostError(f"a constraint Jacobian of shape {G.shape} got {len(owners)} owners; give one for each row")
    if len(G) == 0:
        return ()
    if not np.isfinite(G).all():
        row = int(np.argwhere(~np.isfinite(G))[0, 0])
        raise KingpostError(f"row {row} of the constraint Jacobian (joint '{owners[row]}') is not finite")
    length = np.linalg.norm(G, axis=1)
    scaled = G / np.where(length > 0.0, length, 1.0)[:, None]
    U, values, _ = np.linalg.svd(scaled)
    rank = int((values > tolerance * values.max(initial=0.0)).sum())
    share = np.linalg.norm(U[:, rank:], axis=1)
    # A singular value of size e turns the null space by about e over the next one; its root is far from both.
    open_rows = share > math.sqrt(tolerance)
    return tuple(dict.fromkeys(owner for owner, is_open in zip(owners, open_rows, strict=True) if is_open))


@dataclass(frozen=True)
class LoadNoise:
    """The difference of two histories of the same load, component by component, absolute and relative to the range."""

    rms: FloatArray
    largest: FloatArray
    #: Largest minus smallest value of the second history.
    range: FloatArray

    @property
    def relative_rms(self) -> FloatArray:
        """The rms of the difference as a part of the range."""
        return _part(self.rms, self.range)

    @property
    def relative_largest(self) -> FloatArray:
        """The largest difference as a part of the range."""
        return _part(self.largest, self.range)


def load_noise(a: ArrayLike, b: ArrayLike) -> LoadNoise:
    """Compare two histories of the load of one joint.

    For instance the multipliers of an integrator (a) with loads recomputed from the accelerations (b).
    Both have a row for each sample and a column for each component (or are one component).
    """
    one, two = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if one.shape != two.shape or one.ndim not in (1, 2) or len(one) == 0:
        raise KingpostError(
            f"loads of shape {one.shape} and {two.shape} cannot be compared; give the same samples and components"
        )
    one, two = one.reshape(len(one), -1), two.reshape(len(two), -1)
    difference = one - two
    return LoadNoise(np.sqrt((difference**2).mean(axis=0)), np.abs(difference).max(axis=0), np.ptp(two, axis=0))


def _part(size: FloatArray, whole: FloatArray) -> FloatArray:
    return np.where(whole > 0.0, size / np.where(whole > 0.0, whole, 1.0), np.where(size > 0.0, np.inf, 0.0))
