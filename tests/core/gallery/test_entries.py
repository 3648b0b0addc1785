"""Every entry of the gallery is run, and its verdict is a good one."""

import pytest

from kingpost.gallery.catalogue import documents
from kingpost.gallery.entry import PARTLY
from kingpost.gallery.running import run_entry

#: One or two of each document that take less than two seconds of CPU time.
QUICK = {
    ("000", "T2.1"),
    ("000", "T3.1"),
    ("001", "T4.1"),
    ("001", "8.2"),
    ("002", "T5.1"),
    ("002", "4.7"),
    ("003", "10"),
    ("004", "7"),
}
EVERY = [
    pytest.param(doc, entry, id=f"{doc.name}-{entry.name}", marks=[] if (doc.name, entry.name) in QUICK else pytest.mark.slow)
    for doc in documents()
    for entry in doc.entries
]


@pytest.mark.parametrize(("doc", "entry"), EVERY)
def test_an_entry_agrees(doc, entry):
    outcome = run_entry(doc, entry)
    assert outcome.good, outcome.sentence
    assert outcome.rows
    assert outcome.pictures and all(data.startswith(b"\x89PNG") for data in outcome.pictures.values())
    assert (outcome.verdict == PARTLY) == bool(entry.short)
    # A tolerance has a reason, and a statement a place.
    assert all(row.reason or row.kind == "statement" for row in outcome.rows), [
        row.what for row in outcome.rows if not row.reason
    ]
    assert all(row.printed for row in outcome.rows if row.kind == "statement")
