"""Document 000: its entries agree."""

import pytest

from tests.core.gallery.entries import assert_agrees, every_entry


@pytest.mark.parametrize("entry", every_entry("000", {"T2.1", "T3.1"}))
def test_an_entry_agrees(entry):
    assert_agrees("000", entry)
