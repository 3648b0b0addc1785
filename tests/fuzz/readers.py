"""All readers."""

from tests.fuzz import containers, results, texts
from tests.fuzz.table import READERS

__all__ = ["READERS", "containers", "results", "texts"]
