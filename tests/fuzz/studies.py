"""Readers of studies, of seas, of tasks for optimal control, of machines from subsystems, and of live sessions."""

from __future__ import annotations

import functools
import io
import math
import random
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.fmu.live.scenario import read_scenario, scenario_of
from kingpost.marine.hydro.fitting.files import FORM, read_memory
from kingpost.modelfiles.opened import OpenedModel, open_model
from kingpost.studies.persistence import persistence_record, weather_windows
from kingpost.studies.scatter import ScatterTable, read_scatter
from kingpost.studies.sea_series import read_sea_series
from kingpost.studies.study_file import read_study
from tests.fuzz.hydro import nonsense
from tests.fuzz.mutations import damaged
from tests.fuzz.table import reader, seeds
from tests.fuzz.texts import answer, opened, placed, plugins


@reader(".toml", seeds("study.toml"), often=80, long=9_000)
def study(content: bytes, folder: Path) -> None:
    """A study, and the first of its cases."""
    for name in ("scatter.csv", "spots.toml", "curves.toml"):
        placed(seeds(name)[0], folder, name)
    found = read_study(placed(content, folder, "study.toml"), plugins())
    assert math.isfinite(found.t_end) and 0.0 <= found.skip < found.t_end and found.count >= 1
    for sampler in found.samplers:
        for case in islice(sampler.cases(), 5):
            assert all(math.isfinite(value) for value in case.settings.values()) and math.isfinite(case.weight)
    answer(lambda: found.reducers(plugins()))


def sensible(table: ScatterTable) -> None:
    assert 0.0 <= table.total <= 1.0 + 1e-6
    assert all(math.isfinite(state.hs) and math.isfinite(state.tp) and state.hs > 0.0 < state.tp for state in table.states)


@reader(".csv", seeds("scatter.csv", "counted.csv"), often=200, long=9_000)
def scatter_csv(content: bytes, folder: Path) -> None:
    sensible(read_scatter(placed(content, folder, "scatter.csv")))


@reader(".toml", seeds("scatter.toml"), often=200, long=9_000)
def scatter_toml(content: bytes, folder: Path) -> None:
    sensible(read_scatter(placed(content, folder, "scatter.toml")))


@reader(".csv", seeds("hindcast.csv", "buoy.csv"), often=200, long=9_000)
def sea_series(content: bytes, folder: Path) -> None:
    """A record of seas, and the weather windows in it."""
    series = read_sea_series(placed(content, folder, "sea.csv"))
    assert np.isfinite(series.hours).all() and (np.diff(series.hours) > 0).all()
    for name in series.columns:
        found = answer(functools.partial(weather_windows, series, {name: 2.0}, 1.0))
        if found is not None:
            persistence_record(found)
            assert 0.0 <= found.total.within <= 1.0 + 1e-9 and np.isfinite(found.window_length).all()


@functools.cache
def pendulum() -> OpenedModel:
    return open_model("mathematical-pendulum", plugins())


@reader(".toml", seeds("optimal.toml"), often=200, long=9_000)
def optimal_task(content: bytes, folder: Path) -> None:
    task = pendulum().optimal_task(str(placed(content, folder, "task.toml")))
    assert task.intervals >= 1 and math.isfinite(task.horizon.low) and task.horizon.low > 0.0


@reader(".toml", seeds("subsystems.toml"), often=60, long=3_000)
def subsystems(content: bytes, folder: Path) -> None:
    opened(placed(content, folder, "model.toml"))


@reader(".toml", seeds("scenario.toml"), often=200, long=9_000)
def scenario(content: bytes, folder: Path) -> None:
    """What was done in a session; what was read can be written and comes back."""
    found = read_scenario(placed(content, folder, "scenario.toml"))
    assert all(math.isfinite(action.t) for action in found.actions)
    assert scenario_of(found.text()).actions == found.actions


#: A radiation memory of two motions, as a fit leaves it.
MEMORY = {
    "form": np.array(FORM),
    "source": np.array("nothing"),
    "added_mass_inf": np.eye(6),
    "reference": np.zeros(3),
    "motions_0": np.array([2, 4]),
    "poles_0": np.array([-0.5 + 1j, -0.3]),
    "residues_0": np.ones((2, 2, 2)) + 0j,
}


def packed(arrays: Mapping[str, Any]) -> bytes:
    kept = io.BytesIO()
    np.savez(kept, **arrays)
    return kept.getvalue()


def damaged_memory(rng: random.Random) -> bytes:
    """Mostly other numbers in a file that is whole."""
    if rng.random() < 0.3:
        return damaged(rng, [packed(MEMORY)], "bytes")
    arrays = dict(MEMORY)
    name = rng.choice(list(arrays))
    if rng.random() < 0.2:
        arrays[rng.choice(("poles_1", "x", "motions_x"))] = arrays.pop(name)
    else:
        arrays[name] = nonsense(rng, arrays[name].real if rng.random() < 0.3 else arrays[name])
    return packed(arrays)


@reader(".npz", lambda: [packed(MEMORY)], often=150, long=6_000, damage=damaged_memory)
def radiation_memory(content: bytes, folder: Path) -> None:
    found, _ = read_memory(placed(content, folder, "memory.npz"))
    assert np.isfinite(found.added_mass_inf).all() and np.isfinite(found.reference).all()
    for block in found.blocks:
        assert np.isfinite(block.residues).all() and (block.poles.real < 0).all()
    found.kernel(np.array([0.0, 1.0]))
    A, _, _ = found.state_space()
    assert A.shape == (found.states, found.states)
