"""From a history to counted loads and to the damage at hot spots: checked, cut, combined, counted."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import COMPONENTS, HOW_TO_GET_LOADS
from kingpost.fatigue.counting import Cycles, count_cycles
from kingpost.fatigue.en13001 import CraneClass, crane_class
from kingpost.fatigue.equivalent import (
    REFERENCE_FREQUENCY,
    SLOPES,
    EquivalentRange,
    HistoryParameter,
    check_slopes,
    damage_equivalent_range,
    history_parameter,
)
from kingpost.fatigue.hotspots import HotSpot, load_columns
from kingpost.fatigue.quality import (
    ROUND_OFF,
    Residual,
    Sampling,
    Window,
    check_finite,
    counted_window,
    load_joints,
    residuals,
    sampling,
    sampling_warning,
    uniqueness_warnings,
)
from kingpost.fatigue.sn import VERIFY, CurveSet, SNCurve, curve_set, miner_damage
from kingpost.fatigue.spectral import SpectralAssessment, assess_spectrum, spectral_warnings
from kingpost.fatigue.trust import (
    Doubt,
    MotionNoise,
    checked_words,
    motion_noise,
    noise_doubts,
    residual_doubts,
    settled_doubts,
    step_doubts,
)
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.choosing import MOST_NAMED
from kingpost.results.history import History

#: A year of 365.25 days, in s.
YEAR = 365.25 * 86400.0


@dataclass(frozen=True)
class CountingOptions:
    """How to count.

    Parameters
    ----------
    skip
        Time in s to leave out at the start.
    threshold
        Width of a hysteresis filter in the unit of the signal (Pa at hot spots), 0 for none.
    relative_threshold
        The same as a part of the signal's largest range; at most one of the two.
    slopes
        Inverse slopes m of damage-equivalent ranges.
    f_ref
        Their reference frequency, Hz.
    accept
        Doubts about the loads that do not stop the count (:data:`kingpost.fatigue.trust.DOUBTS`): ``"residual"``, ``"noise"``,
        ``"step"``.
    spectral
        Whether damage at hot spots is also found from the spectra of stresses (:mod:`kingpost.fatigue.spectral`).
    life
        Years over which the counted time repeats itself, for classes of EN 13001; None for no classes.

    """

    skip: float = 0.0
    threshold: float = 0.0
    relative_threshold: float = 0.0
    slopes: tuple[float, ...] = SLOPES
    f_ref: float = REFERENCE_FREQUENCY
    accept: tuple[str, ...] = ()
    spectral: bool = False
    life: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "accept", checked_words(self.accept))
        if not self.slopes:
            raise KingpostError("no inverse slope m was given for damage-equivalent ranges; give some, such as 3, 4, 5")
        check_slopes(self.slopes)
        if not 0.0 < self.f_ref < math.inf:
            raise KingpostError(f"the reference frequency is {self.f_ref:g} Hz; give one above 0, such as 1")
        if not 0.0 <= self.relative_threshold < 1.0:
            raise KingpostError(
                f"a threshold of {self.relative_threshold:.4g} of the largest range would leave nothing; give less than 1 (100 "
                "%)"
            )
        if self.life is not None and not 0.0 < self.life < math.inf:
            raise KingpostError(f"a life of {self.life:g} years has no class; give a number above 0, such as 25")
        if self.threshold and self.relative_threshold:
            raise KingpostError(
                "give the threshold either in the unit of the signal or as a part of its largest range, not both"
            )


@dataclass(frozen=True, eq=False)
class CountedSignal:
    """A signal with its counted cycles and what is read from them."""

    channel: Channel
    maximum: float
    minimum: float
    mean: float
    standard_deviation: float
    cycles: Cycles
    #: One for each slope.
    equivalent_ranges: tuple[EquivalentRange, ...]
    #: k_m, nu and s_m of EN 13001 for this signal once, one for each slope.
    history_parameters: tuple[HistoryParameter, ...]
    #: None for a signal that does not vary.
    sampling: Sampling | None
    #: Whether it varies by less than 1e-9 of the largest load of its joint (of the largest contribution, at a hot spot).
    round_off: bool
    #: Its classes of EN 13001 over a life, one for each slope, if a life is given.
    crane_classes: tuple[CraneClass, ...] = ()

    @property
    def name(self) -> str:
        """The name of the signal."""
        return self.channel.name

    @property
    def unit(self) -> str:
        """The unit of the signal and of its ranges."""
        return self.channel.unit


@dataclass(frozen=True, eq=False)
class Assessment:
    """What every assessment says about how it was made."""

    window: Window
    options: CountingOptions
    residuals: tuple[Residual, ...]
    #: How far sampled motions are from the accelerations that the loads are made of.
    noise: tuple[MotionNoise, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LoadAssessment(Assessment):
    """The counted loads of a run."""

    signals: tuple[CountedSignal, ...] = ()


@dataclass(frozen=True, eq=False)
class HotSpotResult:
    """The damage of a run at a hot spot. ``signal`` is its stress with the stress concentration factor, in Pa."""

    spot: HotSpot
    curve: SNCurve
    signal: CountedSignal
    #: What the thickness correction multiplies stress ranges by.
    thickness_factor: float
    #: Miner's sum of the run, without the design fatigue factor.
    damage: float
    damage_per_year: float
    #: The damage from the spectrum of the stress, if that is wanted.
    spectral: SpectralAssessment | None = None

    @property
    def life_years(self) -> float:
        """Years until the damage, times the design fatigue factor, is 1; infinite without damage."""
        return life_years(self.damage_per_year, self.spot.dff)


@dataclass(frozen=True, eq=False)
class HotSpotAssessment(Assessment):
    """The damage of a run at hot spots."""

    results: tuple[HotSpotResult, ...] = ()
    #: What to know about the S-N curves.
    notes: tuple[str, ...] = field(default=())


def life_years(damage_per_year: float, dff: float) -> float:
    """Return the life in years: 1 / (DFF damage per year)."""
    used_per_year = dff * damage_per_year
    # Less than the smallest number with a reciprocal is no damage, either.
    return 1.0 / used_per_year if used_per_year > sys.float_info.min else math.inf


def assess_loads(
    history: History,
    joints: Sequence[str | LoadRequest] = (),
    channels: Sequence[str] = (),
    options: CountingOptions | None = None,
) -> LoadAssessment:
    """Count the cycles of joint loads and other channels.

    Parameters
    ----------
    history
        A history with joint loads.
    joints
        Joints whose six load components are counted: by name, as the history has them, or as a request for other axes, another
        side or another point. All joints by default, if no channels are asked for either.
    channels
        Further channels, by name.
    options
        How to count.

    """
    options = options or CountingOptions()
    wanted: list[tuple[Channel, FloatArray]] = []
    known = dict.fromkeys(load_joints(history))
    if not joints and not channels:
        if not known:
            raise KingpostError(
                f"the history has no joint loads (channels such as 'slew.Mx'); {HOW_TO_GET_LOADS}. Or name the channels to "
                f"count: {listed(history.names, most=MOST_NAMED)}"
            )
        joints = tuple(known)
    for joint in joints:
        wanted += _joint_signals(history, joint, known)
    wanted += [(history.channel(name), history[name]) for name in channels]
    names = [channel.name for channel, _ in wanted]
    for name, times in Counter(names).items():
        if times > 1:
            raise KingpostError(f"'{name}' is asked for twice; ask once")
    window, found, noise, warnings = _checked(history, options, names)
    columns = np.column_stack([values[window.rows] for _, values in wanted])
    time = history.time[window.rows]
    check_finite(time, names, columns)
    scales = _scales([channel for channel, _ in wanted], columns)
    signals = tuple(
        _count(channel, time, values, scale, window, options)
        for (channel, _), values, scale in zip(wanted, columns.T, scales, strict=True)
    )
    warnings += _sampling_warnings(signals, min(options.slopes))
    return LoadAssessment(window, options, found, noise, tuple(warnings), signals)


def assess_hot_spots(
    history: History, spots: Sequence[HotSpot], curves: CurveSet | None = None, options: CountingOptions | None = None
) -> HotSpotAssessment:
    """Return the damage of a run at hot spots: stresses combined from the loads, counted, and set against S-N curves."""
    options, curves = options or CountingOptions(), curves or curve_set()
    if not spots:
        raise KingpostError("no hot spots were given")
    window, found, noise, warnings = _checked(history, options, {channel for spot in spots for channel in spot.stress})
    time = history.time[window.rows]
    results = []
    for spot in spots:
        curve = curve_of(spot, curves)
        channels = list(spot.stress)
        try:
            columns = load_columns(history, channels, spot.loads)[window.rows]
        except KingpostError as error:
            raise KingpostError(f"hot spot '{spot.name}': {error}") from None
        check_finite(time, channels, columns)
        coefficients = np.array(list(spot.stress.values()), dtype=float)
        stress = spot.scf * (columns @ coefficients)
        scale = spot.scf * float((np.abs(columns).max(axis=0) * np.abs(coefficients)).max())
        signal = _count(Channel(spot.name, "Pa"), time, stress, scale, window, options)
        results.append(_damaged(spot, curve, signal, stress, window, options))
    warnings += _sampling_warnings([result.signal for result in results], results[0].curve.m1)
    warnings += spectral_warnings({item.spot.name: item.spectral for item in results if item.spectral is not None})
    return HotSpotAssessment(window, options, found, noise, tuple(warnings), tuple(results), tuple(_notes(spots, curves)))


def _damaged(
    spot: HotSpot, curve: SNCurve, signal: CountedSignal, stress: FloatArray, window: Window, options: CountingOptions
) -> HotSpotResult:
    """Return the damage of a stress history that was counted, by its cycles and, if wanted, by its spectrum."""
    thickness = curve.thickness_factor(spot.thickness)
    try:
        damage = miner_damage(spot.mean_rule.corrected(signal.cycles), curve, thickness)
        spectral = None
        if options.spectral:
            factor = thickness * spot.mean_rule.spectral_factor(signal.mean)
            spectral = assess_spectrum(window.step, stress, curve, window.duration, factor)
    except KingpostError as error:
        raise KingpostError(f"hot spot '{spot.name}': {error}") from None
    return HotSpotResult(spot, curve, signal, thickness, damage, damage * YEAR / window.duration, spectral)


def _notes(spots: Sequence[HotSpot], curves: CurveSet) -> Iterator[str]:
    """Yield what to know about the S-N curves, and about means that are counted on them."""
    for name in dict.fromkeys(spot.curve for spot in spots):
        if curves.shipped(name):
            yield f"S-N curve '{name}' ({curves.get(name).source}) is {VERIFY}"
        corrected = [spot.name for spot in spots if spot.curve == name and spot.mean_stress != "none"]
        if corrected and curves.shipped(name):
            yield (
                f"S-N curve '{name}' is for welded details, where residual stresses stand for any mean: the correction at "
                f"{listed(corrected)} counts tensile means twice"
            )


def curve_of(spot: HotSpot, curves: CurveSet) -> SNCurve:
    """Return the S-N curve of a hot spot."""
    try:
        return curves.get(spot.curve)
    except KingpostError as error:
        raise KingpostError(f"hot spot '{spot.name}': {error}") from None


def doubts_about(history: History, options: CountingOptions, channels: Collection[str]) -> list[str]:
    """Return as sentences what an assessment of some loads would refuse unless it is accepted, and what it would warn of."""
    _, _, _, doubts, warnings = _doubted(history, options, channels)
    return [*(doubt.text for doubt in doubts), *warnings]


def _doubted(
    history: History, options: CountingOptions, channels: Collection[str]
) -> tuple[Window, tuple[Residual, ...], tuple[MotionNoise, ...], list[Doubt], list[str]]:
    window = counted_window(history.time, options.skip)
    found, noise = residuals(history, window.rows), motion_noise(history, window.rows)
    coarse, warnings = noise_doubts(noise, window.step)
    doubts = [*residual_doubts(found), *coarse, *step_doubts(history, channels)]
    return window, found, noise, doubts, [*warnings, *uniqueness_warnings(history)]


def _checked(
    history: History, options: CountingOptions, channels: Collection[str]
) -> tuple[Window, tuple[Residual, ...], tuple[MotionNoise, ...], list[str]]:
    window, found, noise, doubts, warnings = _doubted(history, options, channels)
    return window, found, noise, [*settled_doubts(doubts, options.accept), *warnings]


def _joint_signals(history: History, joint: str | LoadRequest, known: Collection[str]) -> list[tuple[Channel, FloatArray]]:
    name = joint if isinstance(joint, str) else joint.joint
    if name not in known:
        raise KingpostError(
            f"the history has no load of joint '{name}'{closest(name, known)} Joints with loads: {listed(known)}. For more, "
            f"{HOW_TO_GET_LOADS}."
        )
    names = [f"{name}.{component}" for component in COMPONENTS]
    if isinstance(joint, str):
        return [(history.channel(channel), history[channel]) for channel in names]
    values = load_columns(history, names, {name: joint})
    return [
        (Channel(channel, history.unit(channel), joint.frame, joint.side, joint.at), column)
        for channel, column in zip(names, values.T, strict=True)
    ]


def _scales(channels: Sequence[Channel], columns: FloatArray) -> list[float]:
    """Return for each signal the largest value in the same joint and unit: what is round-off beside it is no signal."""
    largest: dict[tuple[str, str], float] = {}
    sizes = np.abs(columns).max(axis=0)
    keys = [(channel.name.rpartition(".")[0], channel.unit) for channel in channels]
    for key, size in zip(keys, sizes, strict=True):
        largest[key] = max(largest.get(key, 0.0), float(size))
    return [largest[key] for key in keys]


def _count(
    channel: Channel, time: FloatArray, values: FloatArray, scale: float, window: Window, options: CountingOptions
) -> CountedSignal:
    threshold = options.threshold or options.relative_threshold * float(np.ptp(values))
    cycles = count_cycles(values, threshold)
    return CountedSignal(
        channel,
        float(values.max()),
        float(values.min()),
        float(values.mean()),
        float(values.std()),
        cycles,
        tuple(damage_equivalent_range(cycles, slope, window.duration, options.f_ref) for slope in options.slopes),
        tuple(history_parameter(cycles, slope) for slope in options.slopes),
        sampling(time, values, scale),
        0.0 < float(np.ptp(values)) <= ROUND_OFF * scale,
        ()
        if options.life is None
        else tuple(crane_class(cycles, slope, window.duration, options.life, YEAR) for slope in options.slopes),
    )


def _sampling_warnings(signals: Sequence[CountedSignal], slope: float) -> list[str]:
    judged = {signal.name: signal.sampling for signal in signals if signal.sampling is not None}
    warning = sampling_warning(judged, slope)
    return [] if warning is None else [warning]
