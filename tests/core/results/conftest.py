"""A history to read and to write."""

import pytest

from kingpost.results.history import History
from tests.core.results.synthetic import make_history


@pytest.fixture
def history() -> History:
    return make_history()
