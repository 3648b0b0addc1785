"""Document 003: its entries agree."""

import pytest

from tests.core.gallery.entries import assert_agrees, every_entry


@pytest.mark.parametrize("entry", every_entry("003", {"10"}))
def test_an_entry_agrees(entry):
    assert_agrees("003", entry)
