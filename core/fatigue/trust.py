"""Loads that must not be counted unless somebody says so: out of balance, aliased, or changing with the step of the run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.fatigue.quality import RESIDUAL_LIMIT, Residual, load_noise
from kingpost.results.history import History

#: What can be wrong with loads, by the word that accepts it.
DOUBTS = {
    "residual": "the loads do not balance the motion",
    "noise": "the motion between samples is not that of the loads",
    "step": "peaks change with the step of the run",
}
#: Accelerations, as the loads have them and as the sampled motion has them, may differ by this part of their range (rms) ...
NOISE_WARNED = 0.01
#: ... and by this one before the loads are refused: with about three samples in a period, or fewer.
NOISE_LIMIT = 0.05


@dataclass(frozen=True)
class Doubt:
    """A reason not to count loads."""

    word: str
    text: str


@dataclass(frozen=True)
class MotionNoise:
    """How far the accelerations that go into the loads of a body are from those that its sampled motion shows."""

    body: str
    #: ``"angular"`` or ``"linear"``.
    motion: str
    #: The rms of the difference, and the largest one, as parts of the range of the accelerations.
    relative_rms: float
    relative_largest: float


def checked_words(accepted: Sequence[str]) -> tuple[str, ...]:
    """Return the words of doubts that are accepted; refuse unknown ones."""
    for word in accepted:
        if word not in DOUBTS:
            raise KingpostError(
                f"'{word}' is not a doubt that can be accepted{closest(word, DOUBTS)} Doubts: {listed(DOUBTS)}."
            )
    return tuple(accepted)


def settled_doubts(doubts: Sequence[Doubt], accepted: Collection[str]) -> list[str]:
    """Return accepted doubts as warnings; refuse loads that anybody else doubts."""
    for doubt in doubts:
        if doubt.word not in accepted:
            raise KingpostError(f"{doubt.text}. To count such loads all the same, accept '{doubt.word}'")
    return [f"{doubt.text} (accepted)" for doubt in doubts]


def residual_doubts(found: Sequence[Residual]) -> Iterator[Doubt]:
    """Yield a doubt for each residual of Newton and Euler that is too large: of multipliers, say, against the motion."""
    for item in found:
        if item.relative > RESIDUAL_LIMIT:
            yield Doubt(
                "residual",
                f"the loads do not balance: {item.channel} reaches {item.largest:.3g} {item.unit}, {item.relative:.1e} of the "
                f"loads' level of {item.level:.3g} {item.unit} (more than {RESIDUAL_LIMIT:g}). Take another load method, or a "
                "smaller step",
            )


def motion_noise(history: History, rows: slice) -> tuple[MotionNoise, ...]:
    """Compare the accelerations of all bodies beside the joints with how their sampled motion changes.

    Between two samples before and after one at the distance h, Simpson's rule for angular velocities and Numerov's for places,

        (w1 - w-1) / 2 h = (a-1 + 4 a0 + a1) / 6,    (p1 - 2 p0 + p-1) / h^2 = (a-1 + 10 a0 + a1) / 12,

    hold to the fourth power of h: to 2e-5 of the range with 20 samples in a period, 0.5 % with 5. If the accelerations do
    something between the samples that these do not show, they do not hold at all. A spectrum of the samples cannot see that.
    """
    time = history.time[rows]
    if len(time) < 8 or np.ptp(np.diff(time)) > 1e-6 * (time[1] - time[0]):
        return ()
    h = float((time[-1] - time[0]) / (len(time) - 1))
    ending = ".motion.alphax"
    bodies = [channel.name.removesuffix(ending) for channel in history.channels if channel.name.endswith(ending)]
    placed = {body for body in bodies if f"{body}.pose.px" in history and f"{body}.pose.ew" in history}
    # A body that hangs on others has their rounding: of a point that stands still in a loop nothing else is left.
    fastest = max((np.abs(_columns(history, f"{body}.motion.w", "xyz", rows)).max() for body in bodies), default=0.0)
    farthest = max((np.abs(_columns(history, f"{body}.pose.p", "xyz", rows)).max() for body in placed), default=0.0)
    found = []
    for body in bodies:
        w, alpha, a = (_columns(history, f"{body}.motion.{name}", "xyz", rows) for name in ("w", "alpha", "a"))
        turned = (w[2:] - w[:-2]) / (2 * h), (alpha[:-2] + 4 * alpha[1:-1] + alpha[2:]) / 6
        found.append(_compared(body, "angular", *turned, float(fastest) / h))
        if body in placed:
            p, e = _columns(history, f"{body}.pose.p", "xyz", rows), _columns(history, f"{body}.pose.e", "wxyz", rows)
            a = _turned(e, a)
            moved = (p[2:] - 2 * p[1:-1] + p[:-2]) / h**2, (a[:-2] + 10 * a[1:-1] + a[2:]) / 12
            found.append(_compared(body, "linear", *moved, float(farthest) / h**2))
    return tuple(found)


def noise_doubts(found: Sequence[MotionNoise], step: float) -> tuple[list[Doubt], list[str]]:
    """Return doubts about loads whose accelerations the samples do not show, and warnings where there is little of it."""
    worst = max(found, key=lambda item: item.relative_rms, default=None)
    if worst is None or worst.relative_rms <= NOISE_WARNED:
        return [], []
    text = (
        f"the loads are sampled too coarsely: the {worst.motion} accelerations of body '{worst.body}' differ from its motion "
        f"between samples by {worst.relative_rms:.1%} of their range (rms, {worst.relative_largest:.0%} at worst; more than "
        f"{NOISE_WARNED:.0%}), so peaks between samples {step:.4g} s apart are missed or seen as slower ones. Run again with a "
        "shorter output step"
    )
    return ([Doubt("noise", text)], []) if worst.relative_rms > NOISE_LIMIT else ([], [text])


def step_doubts(history: History, channels: Collection[str]) -> Iterator[Doubt]:
    """Yield a doubt if the run was compared with one of half its step, and peaks of some of these channels changed."""
    check: dict[str, Any] = history.provenance.get("step_check", {})
    if "failed" in check:
        yield Doubt("step", f"the run {check['against']}, by which its step was to be checked, failed: {check['failed']}")
    changed = {name: entry for name, entry in check.get("changed", {}).items() if name in channels}
    if changed:
        name, worst = max(changed.items(), key=lambda pair: pair[1]["part"])
        more = f" (and {len(changed) - 1} more channels)" if len(changed) > 1 else ""
        yield Doubt(
            "step",
            f"peaks depend on the step of the run: '{name}' reaches {worst['peak']:.6g} {worst['unit']} and, "
            f"{check['against']}, {worst['peak_checked']:.6g}{more}; the change is {worst['part']:.1%} of the largest such "
            f"load of its joint, more than {check['limit']:.3g}. Run with a smaller step; if peaks go on changing, the motion "
            "is chaotic, and only many runs (seeds) say how large loads get",
        )


def _columns(history: History, prefix: str, axes: str, rows: slice) -> FloatArray:
    return np.stack([history[f"{prefix}{axis}"][rows] for axis in axes], axis=1)


def _turned(e: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return vectors in world axes, turned by unit quaternions."""
    w, n = e[:, :1], e[:, 1:]
    across = 2 * np.cross(n, vectors)
    return vectors + w * across + np.cross(n, across)


def _compared(body: str, motion: str, seen: FloatArray, said: FloatArray, rounding: float) -> MotionNoise:
    noise = load_noise(seen, said)
    rms, largest, extent = float(np.linalg.norm(noise.rms)), float(noise.largest.max()), float(noise.range.max())
    # Of what hardly moves only the rounding of its place is left.
    if rms <= 1e-14 * rounding or extent == 0.0:
        return MotionNoise(body, motion, 0.0, 0.0)
    return MotionNoise(body, motion, rms / extent, largest / extent)
