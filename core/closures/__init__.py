"""Closures and their kinds; a door to :mod:`kingpost.mechanism.closures` and :mod:`kingpost.symbols.closure_kinds`."""

from kingpost.mechanism.closures import Closure
from kingpost.symbols.closure_kind import ClosureKind, Place
from kingpost.symbols.closure_kinds import CLOSURE_KINDS

__all__ = ["CLOSURE_KINDS", "Closure", "ClosureKind", "Place"]
