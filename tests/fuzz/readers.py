"""All readers."""

from tests.fuzz import containers, hydro, results, studies, texts
from tests.fuzz.table import READERS

__all__ = ["READERS", "containers", "hydro", "results", "studies", "texts"]
