"""The samplers of Kingpost."""

from __future__ import annotations

from kingpost.plugins.samplers.grid import Grid
from kingpost.plugins.samplers.latin_hypercube import LatinHypercube
from kingpost.plugins.samplers.listed import Listed
from kingpost.plugins.samplers.one_at_a_time import OneAtATime
from kingpost.plugins.samplers.scatter import Scatter
from kingpost.registry.hookspecs import hookimpl
from kingpost.studies.sampler import Sampler


@hookimpl
def kingpost_register_samplers() -> list[type[Sampler]]:
    return [Scatter, Grid, Listed, LatinHypercube, OneAtATime]
