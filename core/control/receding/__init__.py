"""Receding-horizon control: the optimal motion over a horizon, planned anew at every sample from what is measured."""

from kingpost.control.receding.controller import RecedingHorizon, receding_horizon
from kingpost.control.receding.options import RecedingOptions

__all__ = ["RecedingHorizon", "RecedingOptions", "receding_horizon"]
