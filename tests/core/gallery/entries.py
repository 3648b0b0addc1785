"""What the tests of all documents of the gallery share: every entry is run, and its verdict is a good one."""

import pytest

from kingpost.gallery.catalogue import document
from kingpost.gallery.entry import PARTLY
from kingpost.gallery.running import run_entry


def every_entry(name, quick):
    """Return the entries of a document as cases of a test; all but the quick ones, below two seconds of CPU time, are slow."""
    return [
        pytest.param(entry, id=entry.name, marks=[] if entry.name in quick else pytest.mark.slow)
        for entry in document(name).entries
    ]


def assert_agrees(name, entry):
    """Run an entry, and ask for its verdict, its pictures, and reasons and places of its rows."""
    outcome = run_entry(document(name), entry)
    assert outcome.good, outcome.sentence
    assert outcome.rows
    assert outcome.pictures and all(data.startswith(b"\x89PNG") for data in outcome.pictures.values())
    assert (outcome.verdict == PARTLY) == bool(entry.short)
    # A tolerance has a reason, and a statement a place in the document.
    assert [row.what for row in outcome.rows if not row.reason and row.kind != "statement"] == []
    assert all(row.printed for row in outcome.rows if row.kind == "statement")
