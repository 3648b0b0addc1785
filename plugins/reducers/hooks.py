"""The reducers of Kingpost."""

from __future__ import annotations

from kingpost.plugins.reducers.equivalent_range import EquivalentRange
from kingpost.plugins.reducers.exceedance import Exceedance
from kingpost.plugins.reducers.extremes import Extremes
from kingpost.plugins.reducers.hot_spots import HotSpots
from kingpost.plugins.reducers.rainflow import Rainflow
from kingpost.plugins.reducers.statistics import Statistics
from kingpost.registry.hookspecs import hookimpl
from kingpost.studies.reducer import Reducer


@hookimpl
def kingpost_register_reducers() -> list[type[Reducer]]:
    return [Statistics, EquivalentRange, Rainflow, HotSpots, Exceedance, Extremes]
