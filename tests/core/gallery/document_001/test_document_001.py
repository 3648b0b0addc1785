"""Document 001: its entries agree."""

import pytest

from tests.core.gallery.entries import assert_agrees, every_entry


@pytest.mark.parametrize("entry", every_entry("001", {"T4.1", "8.2"}))
def test_an_entry_agrees(entry):
    assert_agrees("001", entry)
