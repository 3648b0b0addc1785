"""Document 004: its entries agree."""

import pytest

from tests.core.gallery.entries import assert_agrees, every_entry


@pytest.mark.parametrize("entry", every_entry("004", {"TI", "7"}))
def test_an_entry_agrees(entry):
    assert_agrees("004", entry)
