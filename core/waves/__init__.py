"""Irregular seas as sums of regular waves; a door to :mod:`kingpost.marine.waves`."""

from kingpost.marine.waves import jonswap, jonswap_density, transfer_at

__all__ = ["jonswap", "jonswap_density", "transfer_at"]
