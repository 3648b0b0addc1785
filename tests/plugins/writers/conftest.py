"""The formats that can be read back."""

import pytest

from kingpost.results.history import History
from tests.core.results.synthetic import make_history

LOSSLESS = (".csv", ".npz", ".mat", ".h5", ".parquet")
BINARY = LOSSLESS[1:]


@pytest.fixture
def history() -> History:
    return make_history()


@pytest.fixture(params=LOSSLESS)
def suffix(request):
    """The suffix of each format that keeps every bit."""
    return request.param


@pytest.fixture(params=BINARY)
def binary(request):
    """The suffix of each binary format."""
    return request.param
