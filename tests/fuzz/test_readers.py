"""Damaged inputs to everything that reads: refused with a sentence, whatever they are; what is accepted makes sense.

No traceback, no signal, no hang, no nonsense. An input that breaks this is kept as a file, whose name the failure tells; it is
made from the name of its reader and its number, so that it is the same everywhere.
"""

import sys

import pytest

from tests.fuzz.readers import READERS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory and time as Linux does")


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    from tests.fuzz.process import Victim

    process = Victim(tmp_path_factory.mktemp("fuzz"))
    yield process
    process.close()


@pytest.mark.parametrize("name", READERS)
def test_what_is_not_damaged_is_read(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content in READERS[name].good():
        READERS[name].read(content, tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_damaged_inputs(name, victim):
    faults = victim.read(name, READERS[name].often)
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_inputs(name, victim):
    faults = victim.read(name, READERS[name].long, first=READERS[name].often)
    assert not faults, "\n".join(faults)


def test_the_long_run_is_long_enough():
    assert sum(reader.long for reader in READERS.values()) >= 200_000
