"""Receding-horizon control: the optimal motion over a horizon, planned anew at every sample from what is measured."""
