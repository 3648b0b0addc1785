"""Interrupts that wait for short work to be whole."""

import os
import signal
import tempfile
import threading

import pytest

from kingpost.base import scratch, transactions
from kingpost.base.interrupts import uninterrupted
from kingpost.base.scratch import Scratch
from kingpost.base.transactions import exchange

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX signals")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_and_then_comes_once():
    done = []

    def work():
        with uninterrupted():
            interrupt()
            interrupt()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_the_second_interrupt_comes_through_where_work_may_hang():
    done = []

    def work():
        with uninterrupted(once=True):
            interrupt()
            done.append(1)
            interrupt()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_that_was_there_gets_the_signal():
    came = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            assert came == []
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_nobody_handles_and_other_threads_stay_as_they_are():
    with uninterrupted():
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    done = []

    def work():
        with uninterrupted():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


def test_an_error_of_the_work_is_not_lost():
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_folder_that_is_being_made_is_not_left_behind(tmp_path, monkeypatch, number):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    take = scratch._take

    def interrupted(*arguments):
        os.kill(os.getpid(), number)
        return take(*arguments)

    monkeypatch.setattr(scratch, "_take", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), Scratch("test"):
            pytest.fail("the interrupt came before")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_nobody_closed_goes_with_its_owner(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    forgotten = Scratch("test")
    assert forgotten.path.is_dir()
    if os.fork() == 0:
        del forgotten  # a fork is not the owner
        os._exit(0)
    os.wait()
    assert forgotten.path.is_dir()
    del forgotten
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["_locked", "_is"])
def test_an_exchange_that_is_interrupted_at_its_beginning_leaves_nothing(tmp_path, monkeypatch, place):
    whole = getattr(transactions, place)

    def interrupted(*arguments):
        interrupt()
        return whole(*arguments)

    monkeypatch.setattr(transactions, place, interrupted)
    with pytest.raises(KeyboardInterrupt):
        exchange(tmp_path, {"file": lambda path: path.write_text("new") and None})
    assert list(tmp_path.iterdir()) == []
