"""Assessments as plain data for JSON files: SI numbers with their units, and how they were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from kingpost.fatigue.assessment import (
    YEAR,
    Assessment,
    CountedSignal,
    CountingOptions,
    HotSpotAssessment,
    LoadAssessment,
    life_years,
)
from kingpost.fatigue.counting import COUNTING_RULE, RESIDUE_RULE
from kingpost.fatigue.en13001 import VERIFY_CLASSES
from kingpost.fatigue.equivalent import EquivalentRange
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.quality import ENOUGH_SAMPLES, RESIDUAL_LIMIT, SIGNIFICANT
from kingpost.fatigue.sn import SNCurve
from kingpost.fatigue.spectra import range_histogram
from kingpost.fatigue.spectral import SpectralAssessment
from kingpost.fatigue.states import CombinedHotSpot, CombinedLoad, StateTable, Weighted
from kingpost.fatigue.trust import NOISE_LIMIT

DEL_FORMULA = "DEL = (sum n_i R_i^m / N_eq)^(1/m), N_eq = T f_ref"
LIFE_FORMULA = "life = 1 / (DFF x damage per year)"


def rainflow_version() -> str:
    """Return the version of the library that counts."""
    try:
        return version("rainflow")
    except PackageNotFoundError:
        return "of unknown version"


def load_record(assessment: LoadAssessment) -> dict[str, Any]:
    """Return counted loads as plain data."""
    return {
        **_how(assessment),
        "channels": [_signal(signal, assessment) for signal in assessment.signals],
    }


def hot_spot_record(assessment: HotSpotAssessment) -> dict[str, Any]:
    """Return the damage at hot spots as plain data."""
    return {
        **_how(assessment),
        "damage": _damage_rules(),
        "notes": list(assessment.notes),
        "hot_spots": [
            {
                **_spot(result.spot, result.curve, result.thickness_factor),
                "damage_of_run": result.damage,
                "damage_per_year": result.damage_per_year,
                "life_years": _finite(result.life_years),
                **({} if result.spectral is None else {"spectral": _spectral(result.spectral, result.damage)}),
                "stress": _signal(result.signal, assessment),
            }
            for result in assessment.results
        ],
    }


def combined_record(
    table: StateTable,
    weighted: Sequence[Weighted],
    assessments: Sequence[Assessment],
    combined: Sequence[CombinedLoad] | Sequence[CombinedHotSpot],
) -> dict[str, Any]:
    """Return what several states make together as plain data."""
    options = assessments[0].options
    record: dict[str, Any] = {
        "counting": _counting(options),
        "equivalent_range": {**_equivalent_rules(options), "equivalent_cycles": YEAR * options.f_ref, "time": "one year"},
        "states": [asdict(state) | {"runs": [str(run) for run in state.runs]} for state in table.states],
        "probabilities": {"sum": table.total, "rest": table.rest},
        "runs": [
            {"state": part.state, "run": str(part.run), "weight": part.weight, **_run(item)}
            for part, item in zip(weighted, assessments, strict=True)
        ],
        "year_s": YEAR,
    }
    loads = [item for item in combined if isinstance(item, CombinedLoad)]
    spots = [item for item in combined if isinstance(item, CombinedHotSpot)]
    if loads:
        record["channels"] = [
            {
                "name": item.name,
                "unit": item.unit,
                "max": item.maximum,
                "min": item.minimum,
                "largest_range": item.largest_range,
                "cycles_per_year": item.cycles_per_year,
                "equivalent_range": _equivalents(item.equivalent_ranges),
            }
            for item in loads
        ]
    if spots:
        notes = [note for item in assessments if isinstance(item, HotSpotAssessment) for note in item.notes]
        record |= {"damage": _damage_rules(), "notes": list(dict.fromkeys(notes))}
        record["hot_spots"] = [
            {
                **_spot(item.spot, item.curve, item.thickness_factor),
                "unit": "Pa",
                "largest_range": item.largest_range,
                "cycles_per_year": item.cycles_per_year,
                "equivalent_range": _equivalents(item.equivalent_ranges),
                "damage_per_year": item.damage_per_year,
                "damage_per_year_by_state": dict(item.shares),
                "life_years": _finite(item.life_years),
                **({"spectral": _combined_spectral(item)} if item.spectral_shares else {}),
            }
            for item in spots
        ]
    return record


def _combined_spectral(item: CombinedHotSpot) -> dict[str, Any]:
    counted = item.damage_per_year
    return {
        "process": "stationary and Gaussian in every run; one-sided spectra by Welch's method",
        "damages": {
            method: {
                "damage_per_year": _finite(damage),
                "part_of_counted": _finite(damage / counted) if counted else None,
                "life_years": _finite(life_years(damage, item.spot.dff)),
                "damage_per_year_by_state": {state: _finite(part) for state, part in item.spectral_shares[method].items()},
            }
            for method, damage in item.spectral.items()
        },
    }


def _how(assessment: Assessment) -> dict[str, Any]:
    options = assessment.options
    duration = assessment.window.duration
    return {
        "counting": _counting(options),
        "equivalent_range": {**_equivalent_rules(options), "equivalent_cycles": duration * options.f_ref, "time": "the run"},
        **_run(assessment),
    }


def _run(assessment: Assessment) -> dict[str, Any]:
    window = assessment.window
    return {
        "time": {
            "start_s": window.start,
            "end_s": window.end,
            "duration_s": window.duration,
            "skipped_s": window.skipped,
            "step_s": window.step,
            "samples": window.samples,
        },
        "quality": {
            "samples_per_period_wanted": ENOUGH_SAMPLES,
            "significant_frequency": f"below it lies {SIGNIFICANT:.1%} of the variance (linear trend removed, Hann window)",
            "residual_limit": RESIDUAL_LIMIT,
            "residuals": [
                {
                    "channel": item.channel,
                    "unit": item.unit,
                    "largest": item.largest,
                    "load_level": item.level,
                    "relative": _finite(item.relative),
                }
                for item in assessment.residuals
            ],
            "motion_noise_limit": NOISE_LIMIT,
            "motion_noise": [asdict(item) for item in assessment.noise],
            "accepted": list(assessment.options.accept),
        },
        "warnings": list(assessment.warnings),
    }


def _counting(options: CountingOptions) -> dict[str, Any]:
    return {
        "quantity": "range, peak to valley",
        "rule": COUNTING_RULE,
        "residue": RESIDUE_RULE,
        "library": f"rainflow {rainflow_version()}",
        "threshold": options.threshold,
        "threshold_part_of_largest_range": options.relative_threshold,
    }


def _equivalent_rules(options: CountingOptions) -> dict[str, Any]:
    return {"formula": DEL_FORMULA, "f_ref_Hz": options.f_ref, "slopes": list(options.slopes)}


def _damage_rules() -> dict[str, Any]:
    return {
        "stress": "sigma(t) = SCF K loads(t), combined before counting",
        "rule": "Miner, sum of n_i / N(R_i)",
        "life": LIFE_FORMULA,
        "year_s": YEAR,
    }


def _signal(signal: CountedSignal, assessment: Assessment) -> dict[str, Any]:
    cycles = signal.cycles
    histogram = range_histogram(cycles)
    filled = np.flatnonzero(histogram.count)
    judged = signal.sampling
    slope = min(assessment.options.slopes)
    channel = signal.channel
    return {
        "name": signal.name,
        "unit": signal.unit,
        **({"frame": channel.frame} if channel.frame else {}),
        **({"side": channel.side, "at_m": list(channel.at)} if channel.side else {}),
        "max": signal.maximum,
        "min": signal.minimum,
        "mean": signal.mean,
        "standard_deviation": signal.standard_deviation,
        "largest_range": cycles.largest_range,
        "cycles": cycles.total,
        "half_cycles": cycles.half_cycles,
        "threshold": cycles.threshold,
        "equivalent_range": _equivalents(signal.equivalent_ranges),
        "en13001": [
            {
                "slope": item.slope,
                "k_m": item.spectrum_factor,
                "nu": item.relative_cycles,
                "s_m": item.s_m,
                "cycles": item.cycles,
            }
            for item in signal.history_parameters
        ],
        **({"en13001_life": _classes(signal)} if signal.crane_classes else {}),
        "sampling": judged
        and {
            "significant_frequency_Hz": judged.frequency,
            "samples_per_period": judged.samples_per_period,
            "worst_peak_loss": judged.peak_loss,
            "worst_damage_error": judged.damage_error(slope),
            "damage_error_slope": slope,
        },
        "range_histogram": {
            "classes": len(histogram.count),
            "class_width": float(histogram.edges[1]),
            "filled": [[float(histogram.edges[i]), float(histogram.edges[i + 1]), float(histogram.count[i])] for i in filled],
        },
        "round_off": signal.round_off,
        "residue": {"samples_from_start_of_count": cycles.residue_index.tolist(), "values": cycles.residue_value.tolist()},
    }


def _classes(signal: CountedSignal) -> dict[str, Any]:
    return {
        "years": signal.crane_classes[0].years,
        "note": VERIFY_CLASSES,
        "classes": [
            {
                "slope": item.parameter.slope,
                "nu": item.parameter.relative_cycles,
                "s_m": item.parameter.s_m,
                "class": item.stress_class,
            }
            for item in signal.crane_classes
        ],
    }


def _spectral(found: SpectralAssessment, counted: float) -> dict[str, Any]:
    moments = found.moments
    return {
        "process": "stationary and Gaussian; one-sided spectrum by Welch's method",
        "resolution_Hz": found.resolution,
        "variance_part": found.variance,
        "moments": {f"m{n}": getattr(moments, f"m{n}") for n in (0, 1, 2, 4)},
        **(
            {
                "crossings_Hz": moments.crossings,
                "peaks_Hz": moments.peaks,
                "alpha_1": moments.alpha1,
                "alpha_2": moments.alpha2,
            }
            if moments.m0
            else {}
        ),
        "skewness": found.skewness,
        "kurtosis": found.kurtosis,
        "damages": {
            item.method: {
                "damage_of_run": _finite(item.damage),
                "cycles": item.cycles,
                "part_of_counted": _finite(item.damage / counted) if counted else None,
            }
            for item in found.damages
        },
    }


def _equivalents(ranges: Sequence[EquivalentRange]) -> list[dict[str, float]]:
    return [{"slope": item.slope, "range": item.range, "equivalent_cycles": item.equivalent_cycles} for item in ranges]


def _spot(spot: HotSpot, curve: SNCurve, thickness_factor: float) -> dict[str, Any]:
    knee = curve.knee_range_MPa
    return {
        "name": spot.name,
        "coefficients": {"values": dict(spot.stress), "unit": "Pa per unit of the channel"},
        "loads": {joint: {"frame": item.frame, "side": item.side, "at_m": list(item.at)} for joint, item in spot.loads.items()},
        "scf": spot.scf,
        "dff": spot.dff,
        "thickness_m": spot.thickness,
        "thickness_factor": thickness_factor,
        "mean_stress": {
            "rule": spot.mean_stress,
            **({"ultimate_strength_Pa": spot.ultimate_strength} if spot.ultimate_strength is not None else {}),
            **({"walker_exponent": spot.walker_exponent} if spot.walker_exponent is not None else {}),
        },
        **({"angle_deg": spot.angle_deg} if spot.angle_deg is not None else {}),
        "curve": {key: value for key, value in asdict(curve).items() if value not in (None, "")}
        | ({"log10_a2": curve.log10_a2, "knee_range_MPa": knee} if knee is not None else {}),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
